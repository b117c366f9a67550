"""Source text as spans with roles.

One regular expression that knows words, numbers, strings and comments. A real lexer (Pygments')
tells a little more, but costs 60 ms before its first line, and 20 ms for a function of 200 lines:
more than all the rest of a key press. What it cannot know is broken source, and that is plain here
too.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator, Sequence

from stepper.tui.palette import Span

_TOKEN = re.compile(
    r"""
    (?P<comment>    \#[^\n]* )
  | (?P<string>     (?:\b[rbfut]{1,2})? (?:
                      (?P<triple>\"{3}|'{3}) (?:\\.|[^\\])*? (?:(?P=triple)|\Z)
                    | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? ) )
  | (?P<number>     \b (?: 0[xXoObB][\da-fA-F_]+
                    | (?:\d[\d_]*\.?[\d_]*) (?:[eE][+-]?\d+)? [jJ]? ) )
  | (?P<decorator>  ^[ ]*@[\w.]+ )
  | (?P<defined>    (?<=\bdef[ ])\w+ )
  | (?P<klass>      (?<=\bclass[ ])\w+ )
  | (?P<attribute>  (?<=\.)[^\W\d]\w* )
  | (?P<word>       [^\W\d]\w* )
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL | re.IGNORECASE,
)

_ROLES = {
    "comment": "comment",
    "string": "string",
    "number": "constant",
    "decorator": "function",
    "defined": "function",
    "klass": "type",
}

_WORDS = {
    **{name: "type" for name in dir(builtins) if not name.startswith("_")},
    **dict.fromkeys(("self", "cls"), "type"),
    **dict.fromkeys(keyword.kwlist, "keyword"),
    **dict.fromkeys(("None", "True", "False"), "constant"),
}


def python_spans(lines: Sequence[str]) -> list[tuple[Span, ...]]:
    """The spans of each line of Python source."""
    text = "\n".join(lines)
    found: list[list[Span]] = [[]]
    at = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        role = _WORDS.get(match[0], "") if kind == "word" else _ROLES.get(kind, "")
        if role:
            _add(found, text[at : match.start()], "")
            _add(found, match[0], role)
            at = match.end()
    _add(found, text[at:], "")
    return [tuple(spans) for spans in found[: len(lines)]]


def _add(found: list[list[Span]], text: str, role: str) -> None:
    """Add a piece of text to the last line, and begin new ones where it does."""
    for number, part in enumerate(text.split("\n")):
        if number:
            found.append([])
        if part:
            found[-1].append((part, role))


def mark(spans: Sequence[Span], start: int, end: int, role: str) -> Iterator[Span]:
    """These spans, with `role` added to the characters from `start` up to `end`."""
    at = 0
    for text, roles in spans:
        first, last = max(0, start - at), max(0, end - at)
        at += len(text)
        if text[:first]:
            yield text[:first], roles
        if text[first:last]:
            yield text[first:last], f"{roles} {role}".strip()
        if text[max(first, last) :]:
            yield text[max(first, last) :], roles
