"""What a report may say: every text of a recording goes through here, and nothing goes around.

Two things are seen to. The texts of a recording are anybody's: names and reprs can hold what acts
on a terminal or a page, cannot be encoded, or is a megabyte long. And a report is sent to others:
with `redact` it names functions, variables, types and sizes, but shows no source text, no constant,
and of a path the last part only.

`Told` is a type of its own for that reason: the records of a report hold nothing else, so the type
checker finds a text that was let through without a thought. What a text is decides what is left of
it, so there is a method for each.
"""

from __future__ import annotations

import re
from typing import NewType

from stepper.client.names import brief_source
from stepper.client.text import clip, one_line, printable, short_name, short_path

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
_FACTOR = re.compile(r"\d+(?:\.\d*(?:e[-+]?\d+)?|e[-+]?\d+)")
_COMPARED = re.compile(r"(==|!=) .*")
_OBJECT = re.compile(r"<[^<>]*>")
_TRUTH = re.compile(r"\b(?:True|False)\b")


class Teller:
    """Lets the texts of a recording into a report.

    Args:
        cwd: the directory that paths are told from.
        redact: leave out source text, constants and directories.
    """

    def __init__(self, cwd: str, *, redact: bool = False) -> None:
        self.redact = redact
        self._cwd = cwd

    def own(self, text: str) -> Told:
        """Words of stepper's, of CPython's instructions or of torch's types, of what was told."""
        return _bounded(text, _LONGEST)

    def name(self, text: str) -> Told:
        """The name of a function, a class, a variable or a node."""
        return _bounded(short_name(one_line(text)), _LONGEST_NAME)

    def path(self, path: str) -> Told:
        """A path as somebody in the program's directory would write it."""
        if self.redact and not path.startswith("<"):
            return _bounded(path.replace("\\", "/").rpartition("/")[2], _LONGEST_NAME)
        return _bounded(short_path(path, self._cwd), _LONGEST_NAME)

    def source(self, source: str) -> Told:
        """Dynamo's expression for a value: `L['self'].fc.weight`. Keys are constants."""
        brief = brief_source(one_line(source))
        if self.redact:
            return self.code(brief)
        return _bounded(brief, _LONGEST)

    def code(self, text: str) -> Told:
        """Code that the compiler made, with names and constants: a guard's check, arguments."""
        return _bounded(_scrubbed(text) if self.redact else short_name(one_line(text)), _LONGEST)

    def sizes(self, text: str) -> Told:
        """Dtypes and sizes. A size can be an expression, with the program's factors in it."""
        return _bounded(_FACTOR.sub(REDACTED, text) if self.redact else text, _LONGEST)

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
        return _bounded(_scrubbed(text) if self.redact else one_line(text), _LONGEST)


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
