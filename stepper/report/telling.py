"""What a report may say: every text of a recording goes through here, and nothing goes around.

Two things are seen to. The texts of a recording are anybody's: names and reprs can hold what acts
on a terminal or a page, cannot be encoded, or is a megabyte long. And a report is sent to others:
with `redact` no text of the program is left in it. Source text, constants and free words are left
out. Of the rest every word stays that is Python's, torch's or stepper's own (see
`stepper.report.vocabulary`), and every other one becomes `name1`, `name2` …, the same one for the
same word. So it still tells which functions call which, but not what anything is called.

`Told` is a type of its own for that reason: the records of a report hold nothing else, so the type
checker finds a text that was let through without a thought. What a text is decides what is left of
it, so there is a method for each.
"""

from __future__ import annotations

import re
from typing import NewType

from stepper.client.names import brief_source
from stepper.client.text import clip, function_name, one_line, short_name, short_path
from stepper.model.printing import printable
from stepper.model.resume_names import BEGINS, RESUME_NAME
from stepper.report.vocabulary import torch_folder, words

Told = NewType("Told", str)
"""A text that may be shown: bounded, without controls, and redacted where that was asked for."""

REDACTED = "…"
NOTHING = Told("")

_LONGEST = 2_000
_LONGEST_NAME = 300
_STRING = re.compile(r"""(?i:\b[bru]{1,2})?(['"])(?:\\.|(?!\1).)*(?:\1|$)""", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\w.]*|\.\d\w*)(?:(?<=[eE])[-+]\d+)?")
_KEPT = re.compile(r"\b([LG])⟨(\w+)⟩")
_SUBSCRIPT = re.compile(r"\[[^\[\]]*\]")
_SCOPED = re.compile(r"\b([LG])\['(\w+)'\]")
_PATH = re.compile(r"(?:~|\.{0,2})/(?:[^\s'\"`:,;()/]+/)*([^\s'\"`:,;()/]*)")
_FACTOR = re.compile(r"(?<!\d)\d++(?:\.\d*(?:e[-+]?\d+)?|e[-+]?\d+)")
_COMPARED = re.compile(r"(==|!=) .*")
_OBJECT = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"\w+")
_OURS = re.compile(r"(?:name|file|s|u|gb|cu)?\d+|\d+[A-Za-z]{1,2}\d*")
"""Names that this file makes, symbolic sizes, numbers with their units."""
_NUMBERED = re.compile(r"_\d+$")
_PAGE = re.compile(r"https://[a-z-]+\.(?:org|github\.io)/[a-z/-]*gb\d+\.html")
_TORCH = re.compile(r".*/(?:site|dist)-packages/torch/(?P<rest>[^.][\w/]*\.py)")
_UNNAMED = frozenset({"<string>", "<stdin>", "<unknown>", "<eval_with_key>"})
_TRUTH = re.compile(r"\b(?:True|False)\b")


class Teller:
    """Lets the texts of a recording into a report.

    Args:
        cwd: the directory that paths are told from.
        redact: leave out all text of the program.
    """

    def __init__(self, cwd: str, *, redact: bool = False) -> None:
        self.redact = redact
        self._cwd = cwd
        self._names: dict[str, str] = {}
        """What words and files are called instead."""

    def own(self, text: str) -> Told:
        """Words of stepper's, of CPython's instructions or of torch's types, of what was told."""
        return self._told(text, _LONGEST)

    def name(self, text: str) -> Told:
        """The name of a function, a class, a variable or a node."""
        return self._told(function_name(one_line(text)), _LONGEST_NAME)

    def path(self, path: str) -> Told:
        """A path as somebody in the program's directory would write it."""
        if not self.redact:
            return _bounded(short_path(path, self._cwd), _LONGEST_NAME)
        if not path or path in _UNNAMED:
            return Told(path)
        folder, match = torch_folder(), _TORCH.fullmatch(path)
        if folder is not None and match is not None and (folder / match["rest"]).is_file():
            return Told(f"torch/{match['rest']}")
        return Told(self._instead(path, "file") + (".py" if path.endswith(".py") else ""))

    def file(self, name: str) -> Told:
        """The name of the recording's file."""
        return Told("recording.stepper") if self.redact else _bounded(name, _LONGEST)

    def page(self, address: str) -> Told:
        """The address of Dynamo's page on a kind of graph break."""
        hidden = self.redact and not _PAGE.fullmatch(address)
        return NOTHING if hidden else _bounded(address, _LONGEST)

    def source(self, source: str) -> Told:
        """Dynamo's expression for a value: `L['self'].fc.weight`. Keys are constants."""
        return self.code(brief_source(one_line(source)))

    def code(self, text: str) -> Told:
        """Code that the compiler made, with names and constants: a guard's check, arguments."""
        return self._told(_scrubbed(text) if self.redact else short_name(one_line(text)), _LONGEST)

    def sizes(self, text: str) -> Told:
        """Dtypes and sizes. A size can be an expression, with the program's factors in it."""
        return self._told(_FACTOR.sub(REDACTED, text) if self.redact else text, _LONGEST)

    def constant(self, text: str) -> Told:
        """A value of the program, or what was made of one."""
        if self.redact:
            return Told(REDACTED if text else "")
        return _bounded(one_line(text), _LONGEST)

    def line(self, text: str) -> Told:
        """A line of the program's source."""
        return NOTHING if self.redact else _bounded(text, _LONGEST)

    def words(self, text: str) -> Told:
        """Somebody's words, which can quote anything: Dynamo's explanations, an exception's."""
        return NOTHING if self.redact else _bounded(one_line(text), _LONGEST)

    def kind(self, text: str) -> Told:
        """Words of a fixed list, mostly: the name of a kind of graph break, advice."""
        return self._told(_scrubbed(text) if self.redact else one_line(text), _LONGEST)

    def _told(self, text: str, width: int) -> Told:
        if self.redact:
            text = RESUME_NAME.sub(
                lambda match: f"{BEGINS}{self._word(match['function'])}_at_{match['line']}",
                clip(text, 2 * _LONGEST),
            )
            text = _WORD.sub(lambda match: self._word(match[0]), text)
        return _bounded(text, width)

    def _word(self, word: str) -> str:
        if _OURS.fullmatch(word) or word in words() or _NUMBERED.sub("", word) in words():
            return word
        rest = RESUME_NAME.fullmatch(word)
        if rest is not None and self._word(rest["function"]) == rest["function"]:
            return word  # the name in it was seen to
        return self._instead(word, "name")

    def _instead(self, text: str, what: str) -> str:
        return self._names.setdefault(f"{what} {text}", f"{what}{len(self._names) + 1}")


def _bounded(text: str, width: int) -> Told:
    return Told(printable(clip(text, width)))


def _scrubbed(text: str) -> str:
    """A text without strings, numbers, keys, reprs and directories; names of locals and globals
    stay."""
    text = _SCOPED.sub(r"\1⟨\2⟩", short_name(one_line(clip(text, 2 * _LONGEST))))
    text = _COMPARED.sub(rf"\1 {REDACTED}", _STRING.sub(REDACTED, text))
    while (shorter := _SUBSCRIPT.sub("⟦⟧", text)) != text:
        text = shorter
    text = _PATH.sub(lambda match: match[1] or REDACTED, text)
    for constant in (_OBJECT, _TRUTH, _NUMBER):
        text = constant.sub(REDACTED, text)
    return _KEPT.sub(r"\1['\2']", text.replace("⟦⟧", f"[{REDACTED}]"))
