"""What is not written into a recording unless somebody asks for it: keys and the environment.

A recording is sent to others, and a compiler looks at more than the program meant to show it: code
that reads one variable of `os.environ` makes Dynamo describe them all. So whatever is about to be
written passes through here, of any table, and what is withheld is written as `<withheld>`:

- what looks like a key, wherever it stands: `sk-…`, `ghp_…`, `AKIA…`, a private key in PEM, the
  password in a URL;
- what has the name of a secret: `password = '…'`, `L['cfg']['token'] == '…'`, `--api-key …`;
- the values of environment variables. What comes out of `os.environ` is told by its source. Where a
  value went from there nobody knows, so it is looked for by what it is, unless that is a number, a
  file that exists, a short word, or a setting of the terminal or of torch.

A value that was seen under such a name is looked for from then on as well. A common word is found
only where it is written in quotes and is no key: with `MODE=training`, `'training'` is withheld;
`training` and `L['training']` are names. This is a net, not a proof: what a program makes of a key
(a part of it, its hash) is not known, nor are values of less than four characters.

Nearly all that is written holds nothing of this kind. `stepper._C.Sieve` sees to that with one look
at each byte, and only what it keeps is decoded and read.
"""

from __future__ import annotations

import itertools
import os
import re
import string
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from stepper._C import Sieve
from stepper.model.trace import WITHHELD, SessionFacts
from stepper.recording.secret_patterns import (
    ANYTHING,
    BEGINS,
    CUT,
    ENDS,
    ENVIRONMENT,
    KEY_PATTERNS,
    KEYS,
    NAMED,
    NAMES,
    NOT_SECRET,
    OPTION,
    READ,
    SETTINGS,
    VALUE,
    VARIABLE_NAMES,
)

_NO_WORD = re.compile(r"[^a-z_ ]")
_NUMBER = re.compile(r"[\d.,:;+x-]*")
_TURNS = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_RANDOM_TURNS = 3
_EDGE_BEFORE, _EDGE_AFTER = re.compile(r"[\w/\\.-]$"), re.compile(r"[\w/\\]")
_CUT = re.compile(CUT)
_HEAD = 8
_SHORTEST, _LONG_WORD = 4, 6

_LONGEST_NAME = 64
_LINES = 100
"""In which a secret ends that begins in the first of them."""
_GOES_ON = re.compile(r"[=(:\\]\s*$|\'\'\'|\"\"\"|(?i:[a-z])\s*$")
"""How a line ends of which a part stands in the next."""
_DOCSTRING = re.compile(r"\]?\s*:[ \t]*\n\s*[rR]?(?:'''|\"\"\")")
"""What follows a name in `class Token:` and `def next() -> Token:`."""
_OF_A_NAME = string.ascii_letters + string.digits + "_-"

_OPNAME, _ARGUMENT = 1, 3
"""Places in an Instruction."""
_TYPE, _TEXT, _SOURCE, _CONSTANT = 1, 2, 3, 8
"""Places in a Value."""

_decode = msgspec.msgpack.decode
_encode = msgspec.msgpack.encode


_IS_KNOWN, _IS_KEY, _IS_NAMED, _IS_READ = 1, 2, 4, 8
_ENVIRONMENT_SOURCES = (b"._data[b", b"environ[", b"environb[")
_QUOTED, _ALONE, _ANYWHERE = range(3)


class _Known(NamedTuple):
    """A text that is not written."""

    text: str
    where: int
    """In quotes; where it is no part of a longer word or of a path; or anywhere."""


def is_secret_name(name: str) -> bool:
    """Whether something of this name is a secret, by the name."""
    lower = name.lower()
    if not lower.endswith(NAMES):
        return False
    if not lower.endswith("token"):
        return True
    before = re.split(r"[\W_]+", name[: -len("token")].rstrip("_-. "))[-1]
    return before.lower() not in NOT_SECRET


def _named_by(source: str) -> str | None:
    """The name by which a value from there is a secret, if it is one."""
    end = source[-_LONGEST_NAME:].removesuffix("]").removesuffix("'").removesuffix('"')
    name = _word_before(end)
    return name if is_secret_name(name) else None


def _variable(source: str) -> str | None:
    """The variable of `os.environ` whose value it is, if it is one's."""
    if not source.endswith(("]", ")", ".decode")):
        return None
    ends = (match for match in ENVIRONMENT.finditer(source) if match.end() == len(source))
    return next((match["variable"] for match in ends), None)


class Secrets:
    """Takes out of texts and records what is not to be written.

    Args:
        environment: the variables whose values are withheld; they are looked at again and again,
            and none of their methods but a dictionary's is called.
    """

    def __init__(self, environment: Mapping[Any, Any] | None = None) -> None:
        # The dictionary itself: `os.environ` would decode each value each time.
        self._environment: Mapping[Any, Any]
        self._environment = getattr(os.environ, "_data", {}) if environment is None else environment
        self._seen: dict[Any, Any] = {}
        self._known: dict[str, _Known] = {}
        self._heads: list[tuple[str, _Known]] = []
        self._sieve: Sieve
        self._changed = True
        self._refresh()

    def text(self, text: str) -> str:
        """A text without what is withheld."""
        self._refresh()
        return self._text(text)

    def may_hold(self, text: str) -> bool:
        """Whether something of a text may have to be withheld."""
        self._refresh()
        return self._sieve.kinds(text) != 0

    def heads(self) -> set[str]:
        """How the texts begin that are looked for because they were seen to be secrets."""
        return {head for head, _ in self._heads}

    def facts(self, facts: SessionFacts) -> SessionFacts:
        """A session's facts; of its command line also what follows `--password`."""
        argv = list(facts.argv)
        for at, word in enumerate(argv):
            option, equals, value = word.partition("=")
            if not is_secret_name(option):
                continue
            if equals:
                self._learn(value)
                argv[at] = f"{option}={WITHHELD}"
            elif option.startswith("-") and argv[at + 1 : at + 2]:
                self._learn(argv[at + 1])
                argv[at + 1] = WITHHELD
        self._refresh()
        told = msgspec.to_builtins(facts) | {"argv": argv}
        # An engine's capabilities are names of its own, whatever variables have the same values.
        cleaned = self._walked(told) | {"capabilities": told.get("capabilities", {})}
        return msgspec.convert(cleaned, SessionFacts)

    def clean(
        self, rows: Mapping[str, list[object]], *, codes: str, values: str, data: Collection[str]
    ) -> None:
        """Take out of values that are about to be written what is withheld, in their place.

        Args:
            rows: lists of columns' values, under any names.
            codes: the name of what holds code objects.
            values: the name of what holds descriptions of values.
            data: the names of what holds values as data.
        """
        special_of: dict[str, Callable[[Any], None]] = dict.fromkeys(data, self._as_data)
        special_of |= {codes: self._in_code, values: self._described}
        again = True
        while again:
            self._refresh()
            for name, columns in rows.items():
                special = special_of.get(name)
                for at in self._sieve.kept(columns):
                    columns[at] = self._column(columns[at], special)
            again = self._changed  # more was learned, which may stand in what was seen before

    # What is known

    def _refresh(self) -> None:
        # What is interrupted in the midst is done again: it counts as done in the end only.
        if self._environment != self._seen:
            seen = dict(self._environment)
            for name, value in seen.items():
                if isinstance(name, (str, bytes)) and isinstance(value, (str, bytes)):
                    self._look_at_variable(os.fsdecode(name), os.fsdecode(value))
            self._seen = seen
        if self._changed:
            longest_first = sorted(self._known.values(), key=lambda known: -len(known.text))
            self._heads = [(known.text[:_HEAD], known) for known in longest_first]
            heads = {head.encode("utf-8", "surrogateescape") for head, _ in self._heads}
            patterns = [(head, ANYTHING, _IS_KNOWN) for head in sorted(heads)]
            patterns += [(text, follows, _IS_KEY) for text, follows in KEY_PATTERNS]
            patterns += [(name.encode(), VALUE, _IS_NAMED) for name in NAMES]
            patterns += [(source, ANYTHING, _IS_READ) for source in _ENVIRONMENT_SOURCES]
            self._sieve = Sieve(patterns)
            self._changed = False

    def _look_at_variable(self, name: str, value: str) -> None:
        if SETTINGS.match(name):
            return
        if is_secret_name(name) or VARIABLE_NAMES.search(name):
            self._learn(value)
        elif _is_word(value):
            if len(value) >= _LONG_WORD:
                self._know(value, _QUOTED)
        elif len(value) >= _HEAD and not _is_common(value):
            self._know(value, _ALONE)

    def _learn(self, value: str) -> None:
        """A secret, by its name."""
        is_word = len(value) < _LONG_WORD or not _NO_WORD.search(value)
        self._know(value, _QUOTED if is_word else _ANYWHERE)

    def _know(self, value: str, where: int) -> None:
        if value == WITHHELD:  # it has been seen before
            return
        # A text is shown by its repr, or line by line.
        lines = value.splitlines()
        pieces = {value}
        if len(lines) > 1:  # a line without a word is one of any text's: blanks, a brace
            pieces = {repr(value)[1:-1], *(line for line in lines if any(map(str.isalnum, line)))}
        pieces |= {repr(piece)[1:-1] for piece in pieces}
        for piece in pieces:
            before = self._known.get(piece)
            if len(piece.strip()) >= _SHORTEST and (before is None or before.where < where):
                self._changed = True
                self._known[piece] = _Known(piece, where)

    # What is written

    def _column(self, value: object, special: Callable[[Any], None] | None) -> object:
        if isinstance(value, str):
            return self._text(value)
        assert isinstance(value, bytes)
        return self._packed(value, special)

    def _packed(self, packed: bytes, special: Callable[[Any], None] | None = None) -> bytes:
        try:
            record = _decode(packed)
        except (msgspec.DecodeError, UnicodeError):
            return packed  # no record of ours: none has been handed in
        if isinstance(record, list) and all(isinstance(each, bytes) for each in record):
            for at in self._sieve.kept(record):
                record[at] = self._packed(record[at], special)
            return _encode(record)
        record = self._walked(record)
        if special is not None:
            special(record)
        return _encode(record)

    def _walked(self, data: Any) -> Any:
        """Data without what is withheld; nothing that the sieve lets through is looked into."""
        if isinstance(data, str):
            return self._text(data)
        if isinstance(data, bytes):
            return self._packed(data) if self._sieve.kept([data]) else data
        if isinstance(data, dict):
            return {self._walked(key): self._walked(value) for key, value in data.items()}
        if not isinstance(data, (list, tuple)):
            return data
        items = list(data)
        kept = self._sieve.kept(items)
        if kept and len(items) > 1:
            self._look_over_lines(items, kept)
        for at in kept:
            items[at] = self._walked(items[at])
        if kept and any(isinstance(item, str) and BEGINS in item for item in data):
            return _without_keys_in_lines(data, items)
        return items

    def _look_over_lines(self, lines: list[Any], kept: list[int]) -> None:
        """Learn the secrets that begin in one line of source and end in another."""
        for at in kept:
            line = lines[at]
            if not isinstance(line, str) or not _GOES_ON.search(line):
                continue
            following = itertools.takewhile(lambda each: isinstance(each, str), lines[at:])
            for match in NAMED.finditer("\n".join(itertools.islice(following, _LINES))):
                if match.start() > len(line):
                    break
                is_one_line = len(match["quote"]) == 1
                if "\n" in match[0] and not (is_one_line and "\n" in match["value"]):
                    self._named(match)

    def _text(self, text: str) -> str:
        kinds = self._sieve.kinds(text)
        if kinds & _IS_KNOWN:
            for head, known in self._heads:
                if head in text:
                    text = _without(text, head, known)
        if kinds & _IS_KEY:
            text = KEYS.sub(WITHHELD, text)
        if kinds & _IS_NAMED:
            text = OPTION.sub(self._option, NAMED.sub(self._named, text))
        if kinds & _IS_READ:
            text = READ.sub(self._read, text)
        return text

    def _named(self, match: re.Match[str]) -> str:
        start = max(0, match.start() - _LONGEST_NAME)
        name = _word_before(match.string[start : match.start()]) + match["name"]
        if not is_secret_name(name) or _DOCSTRING.match(match.string, match.end("name")):
            return match[0]
        return _without_given(match, self._learn)

    def _read(self, match: re.Match[str]) -> str:
        return _without_given(match, partial(self._look_at_variable, match["variable"]))

    def _described(self, value: Any) -> None:
        """A Value: without its text, where its source says that it is a secret."""
        if not isinstance(value, list) or len(value) <= _SOURCE:
            return
        if value[_TYPE] not in ("str", "bytes"):
            return
        variable = _variable(value[_SOURCE])
        if variable is None and _named_by(value[_SOURCE]) is None:
            return
        for at in (_TEXT, _CONSTANT):
            if len(value) > at and isinstance(value[at], str) and value[at] != WITHHELD:
                text = value[at].removeprefix("b")[1:-1]
                if variable is None:
                    self._learn(text)
                else:  # its own rules say whether it is looked for elsewhere: it may be a folder
                    self._look_at_variable(variable, text)
                value[at] = WITHHELD

    def _in_code(self, code: Any) -> None:
        """A Code: without its constants that are words, which have no quotes there."""
        for instruction in code["instructions"] if isinstance(code, dict) else ():
            is_constant = "CONST" in instruction[_OPNAME] and len(instruction) > _ARGUMENT
            if is_constant and instruction[_ARGUMENT] in self._known:
                instruction[_ARGUMENT] = WITHHELD

    def _as_data(self, found: Any) -> None:
        """Values as data: without those that are withheld, which have no quotes there."""
        for at, each in enumerate(found):
            if isinstance(each, str) and each in self._known:
                found[at] = WITHHELD
            elif isinstance(each, list):
                if len(each) == 2 and isinstance(each[1], bytes):
                    text = each[1].decode("latin-1")
                    if text in self._known or self._text(text) != text:
                        found[at] = ["words", WITHHELD]
                else:
                    self._as_data(each)

    def _option(self, match: re.Match[str]) -> str:
        if not is_secret_name(match[1][:-1]):
            return match[0]
        self._learn(match[2])
        return match[1] + WITHHELD


def _word_before(text: str) -> str:
    """The word at the end of a text."""
    return text[len(text.rstrip(_OF_A_NAME)) :]


def _without_given(match: re.Match[str], learn: Callable[[str], None]) -> str:
    """What stands there, without the values, which are learned."""
    whole, begin = match[0], match.start()
    for group in ("differs", "value"):
        if match[group] is not None:
            learn(match[group])
            start, end = match.span(group)
            whole = whole[: start - begin] + WITHHELD + whole[end - begin :]
    return whole


def _is_word(value: str) -> bool:
    """Whether a variable's value is a word as programs are full of, by whatever name."""
    return not _NO_WORD.search(value) or (
        value.isidentifier() and len(_TURNS.findall(value)) < _RANDOM_TURNS
    )


def _is_common(value: str) -> bool:
    """Whether it is a number, or the name of a file."""
    return _NUMBER.fullmatch(value) is not None or any(map(_is_file, value.split(os.pathsep)))


def _is_file(name: str) -> bool:
    """Whether it is the name of a file, or of one that could be made beside others."""
    if name[:1] not in ("/", "~", "."):
        return False
    path = os.path.expanduser(name)
    folder = os.path.dirname(path.rstrip("/"))
    return os.path.exists(path) or (len(folder) > 1 and os.path.exists(folder))


def _without(text: str, head: str, known: _Known) -> str:
    """A text without a known one, also where that was cut."""
    parts: list[str] = []
    done = 0
    at = text.find(head)
    while at >= 0:
        end = at + _in_common(known.text, text[at : at + len(known.text)])
        if end - at == len(known.text):
            found = known.where == _ANYWHERE or _stands_so(text, at, end, known.where)
        else:
            # A text that is cut says so; one that only ends as a value begins is another text.
            is_cut = _CUT.match(text, end) is not None
            found = is_cut and (known.where != _QUOTED or text[at - 1 : at] in ("'", '"'))
        if found:
            parts += (text[done:at], WITHHELD)
            done = end
        at = text.find(head, max(end, at + 1))
    return "".join((*parts, text[done:])) if parts else text


def _in_common(one: str, other: str) -> int:
    """How many characters two texts have in common from the beginning."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))


def _stands_so(text: str, start: int, end: int, where: int) -> bool:
    before, after = text[max(0, start - 3) : start], text[end : end + 2]
    if where == _ALONE:
        return not _EDGE_BEFORE.search(before) and not _EDGE_AFTER.match(after)
    if not before or before[-1] not in "'\"" or after[:1] != before[-1]:
        return False
    return not (after[1:] == "]" and before[:-1].removesuffix("b").endswith("["))


def _without_keys_in_lines(lines: Any, cleaned: list[Any]) -> list[Any]:
    """Lines of a text without the private keys that run over some of them."""
    inside = False
    for at, line in enumerate(lines):
        text = line if isinstance(line, str) else ""
        if inside:
            cleaned[at] = WITHHELD
        if BEGINS in text and "PRIVATE KEY" in text:
            inside = True
        if ENDS in text:
            inside = False
    return cleaned
