"""Changes of a program's own text, made in a copy that only one run of it sees.

A change is a set of edits, each a place in a file, by line and column, and what stands there
instead; all else of the file stays byte for byte what it is. The user's files are read and never
written. The run that tries the change is started with `stepper.debuggee.scratch_main` in the
program's place, which hands Python the changed text where it would read the file.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
from collections.abc import Iterable, Iterator

import msgspec

import stepper.debuggee
from stepper.client.launch import LaunchSpec
from stepper.client.plan import Plan, ReplayError
from stepper.client.program import program_file
from stepper.client.text import short_path, without_colours

_LARGEST = 2_000_000
"""Bytes of a file that is looked into."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CONTEXT = 2
"""Lines of a patch around each change."""


class Edit(msgspec.Struct, frozen=True):
    """A place of a file, and what is to stand there instead; lines are counted from 1, columns in
    bytes from 0, as `ast` does."""

    path: str
    line: int
    col: int
    end_line: int
    end_col: int
    text: str


class Sources:
    """The files of a plan, of which an edit can be made: those that the user was shown."""

    def __init__(self, plan: Plan) -> None:
        self._allowed = frozenset(plan.files)
        self._known: dict[str, bytes | None] = {}
        self.main = program_file(plan.spec.kind, plan.spec.target, plan.folder)
        """The program's own file."""

    @property
    def paths(self) -> list[str]:
        """The files, the program's own first."""
        return sorted(self._allowed, key=lambda path: (path != self.main, path))

    def text(self, path: str) -> bytes | None:
        """A file's text; None: it is none of the program's, or none that could be edited."""
        if path not in self._known:
            self._known[path] = self._read(path) if path in self._allowed else None
        return self._known[path]

    def _read(self, path: str) -> bytes | None:
        if not path.endswith(".py"):
            return None
        try:
            with open(path, "rb") as file:
                text = file.read(_LARGEST + 1)
            # Columns are of UTF-8, so nothing else can be edited by them.
            text.decode("utf-8")
        except (OSError, ValueError):
            return None
        plain = len(text) <= _LARGEST and not text.startswith(_BYTE_ORDER_MARK)
        return text if plain else None

    def edited(self, edits: Iterable[Edit]) -> dict[str, bytes]:
        """The files that edits are about, as they are to be.

        Raises:
            ReplayError: a file cannot be edited, or two edits are about one place.
        """
        by_path: dict[str, list[Edit]] = {}
        for each in edits:
            by_path.setdefault(each.path, []).append(each)
        found = {}
        for path, some in by_path.items():
            text = self.text(path)
            if text is None:
                raise ReplayError(f"{path} cannot be edited")
            found[path] = applied(text, some)
            try:
                ast.parse(found[path])
            except SyntaxError as error:
                raise ReplayError(
                    f"{short_path(path)} cannot be edited so: {error.msg} in line {error.lineno}"
                ) from None
        return found

    def patch(self, edits: Iterable[Edit], folder: str = "") -> Iterator[str]:
        """The lines of a unified diff, without line ends."""
        for path, after in self.edited(edits).items():
            before = self.text(path) or b""
            name = short_path(path, folder).lstrip("/")
            one, other = (_lines(text.decode("utf-8")) for text in (before, after))
            yield from difflib.unified_diff(
                one, other, f"a/{name}", f"b/{name}", n=_CONTEXT, lineterm=""
            )


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def applied(text: bytes, edits: Iterable[Edit]) -> bytes:
    """A file's text with edits made, of which none is about what another one is about.

    Raises:
        ReplayError: two are, or a place is not there.
    """
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    end = b"\r\n" if b"\r\n" in text[: starts[min(1, len(starts) - 1)]] else b"\n"

    def at(line: int, col: int) -> int:
        if not 1 <= line < len(starts) + 1 or starts[line - 1] + col > len(text):
            raise ReplayError(f"there is no line {line}")
        return starts[line - 1] + col

    # Of insertions at one place, the first comes first.
    places = [
        (at(each.line, each.col), at(each.end_line, each.end_col), number, each)
        for number, each in enumerate(edits)
    ]
    done, before = b"", 0
    for start, stop, _, each in sorted(places, key=lambda place: place[:3]):
        if start < before or stop < start:
            raise ReplayError(f"two changes of line {each.line} exclude each other")
        done += text[before:start] + each.text.encode("utf-8").replace(b"\n", end)
        before = stop
    return done + text[before:]


def line_before(edits: Iterable[Edit], path: str, line: int) -> int:
    """The line that a line of an edited file had before."""
    moved = 0
    for each in sorted(edits, key=lambda each: (each.line, each.col)):
        if each.path != path:
            continue
        added = each.text.count("\n") - (each.end_line - each.line)
        last = each.end_line + moved + added
        begins_line = each.text.endswith("\n") or not (each.text or each.col)
        if line > last or (line == last and begins_line):
            moved += added
    return line - moved


def line_after(edits: Iterable[Edit], path: str, line: int) -> int:
    """The first line that a function has in an edited file, by its first line before: that of a
    decorator, where one was put there."""
    some = [each for each in edits if each.path == path]
    most = sum(each.text.count("\n") + each.end_line - each.line for each in some)
    near = range(max(1, line - most), line + most + 1)
    found = [now for now in near if line_before(some, path, now) == line] or [line]
    decorated = any(each.line == line and each.text.lstrip().startswith("@") for each in some)
    return found[0] if decorated else found[-1]


def in_scratch(spec: LaunchSpec, plan: Plan, texts: dict[str, bytes], folder: str) -> LaunchSpec:
    """How to start a program that has other text in some of its files.

    Args:
        spec: what would be started.
        plan: what the user has agreed to.
        texts: by the file's path.
        folder: one that is gone when the run is over.

    Raises:
        ReplayError: it is no file of Python's that is run.
    """
    script = os.path.join(plan.folder, spec.target)
    if spec.kind == "script" and not (script.endswith(".py") and os.path.isfile(script)):
        raise ReplayError(f"{spec.target} is no file of Python source")
    told = {
        "kind": spec.kind,
        "target": spec.target,
        "files": {path: text.decode("utf-8") for path, text in texts.items()},
    }
    path = os.path.join(folder, "scratch.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(told, file)
    main = os.path.join(os.path.dirname(stepper.debuggee.__file__), "scratch_main.py")
    return msgspec.structs.replace(spec, kind="script", target=main, args=(path, *spec.args))


def exception_line(output: str) -> str:
    """The exception's message in a program's output: the first line of it, and neither a frame of
    the traceback nor the marks below its code; without a traceback the last line. (On a terminal
    a traceback has colours, since Python 3.13.)"""
    lines = [line.rstrip() for line in without_colours(output).splitlines()]
    begun = [at for at, line in enumerate(lines) if line.startswith("Traceback (most recent call")]
    if begun:
        for line in lines[begun[-1] + 1 :]:
            if line.strip() and not line.startswith((" ", "\t")):
                return line
    said = [line.strip() for line in lines if line.strip(" ^~")]
    return said[-1] if said else ""
