"""Source text as spans with roles. Pygments is loaded when the first function is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepper.tui.palette import Span

_ROLES = (
    ("Token.Keyword.Constant", "constant"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Builtin.Pseudo", "type"),
    ("Token.Name.Builtin", "type"),
    ("Token.Name.Function", "function"),
    ("Token.Name.Class", "type"),
    ("Token.Name.Decorator", "function"),
    ("Token.Literal.String.Interpol", ""),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "constant"),
    ("Token.Comment", "comment"),
)


def python_spans(lines: Sequence[str]) -> list[tuple[Span, ...]]:
    """The spans of each line of Python source; broken source is plain from where it breaks."""
    from pygments.lexers.python import PythonLexer

    lexer = PythonLexer(stripnl=False, ensurenl=True)
    found: list[list[Span]] = [[]]
    for token, text in lexer.get_tokens("\n".join(lines)):
        role = _role(str(token))
        for at, part in enumerate(text.split("\n")):
            if at:
                found.append([])
            if part:
                found[-1].append((part, role))
    return [tuple(spans) for spans in found[: len(lines)]]


def _role(token: str) -> str:
    return next((role for prefix, role in _ROLES if token.startswith(prefix)), "")


def mark(spans: Sequence[Span], start: int, end: int, role: str) -> Iterator[Span]:
    """The same spans, with `role` added to the characters from `start` up to `end`."""
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


def character(line: str, byte: int) -> int:
    """Position in characters of a column that CPython counts in UTF-8 bytes."""
    return byte if line.isascii() else len(line.encode()[:byte].decode(errors="ignore"))
