"""What a breakpoint will do: how many places it fits, and why it can fit none.

A breakpoint on a file that is not there, or on a line without code, never stops, and who set it
waits. So it is refused with the nearest that exists, as far as that can be known: a module that the
program has not loaded yet is no mistake.
"""

from __future__ import annotations

import difflib
import dis
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import takewhile
from types import CodeType

from stepper.client.text import plural
from stepper.model.breakpoint import (
    CACHE_KINDS,
    GUARD_KINDS,
    SHAPE_KINDS,
    Breakpoint,
    BreakpointError,
    BreakpointKind,
)
from stepper.model.matching import (
    entry_index,
    entry_matches,
    glob_matches,
    instruction_matches,
    path_matches,
)
from stepper.model.method_names import Entered, Owner, walk_names
from stepper.model.program import Code
from stepper.model.trace import EventKind
from stepper.recording.navigation import finding_moments
from stepper.recording.occurrences import event_fits, event_has_name
from stepper.recording.reader import Recording

_MOST = 4 << 20
"""Bytes of a file that is looked into."""
_SOME = 4


def placed_text(breakpoint: Breakpoint, recording: Recording | None, *, live: bool) -> str:
    """What a breakpoint fits so far, e.g. `fits 2 places so far`; empty where there is nothing to
    say.

    Args:
        breakpoint: what is to be set.
        recording: what is known of the program; None: nothing yet.
        live: whether more can come.

    Raises:
        BreakpointError: it cannot stop anywhere; with the nearest that could.
    """
    if not breakpoint.kind.on_instruction:
        return _happened(breakpoint, recording, live)
    codes = list(recording.codes()) if recording is not None else []
    by_line = breakpoint.kind in (BreakpointKind.LINE, BreakpointKind.FUNCTION)
    # A function's transformed code, and what goes on after a break, have its lines once more.
    places: set[tuple[object, ...]] = {
        (code.filename, row.line) if by_line else (code.filename, code.label, row.line, row.offset)
        for code in codes
        for at, row in enumerate(code.instructions)
        if instruction_matches(breakpoint, code, at)
    }
    owners: list[Owner] = []
    if breakpoint.kind is BreakpointKind.FUNCTION and recording is not None:
        entries = list(_entries(recording))
        owners = [entered.owner for _, entered in entries]
        for code, entered in entries:
            at = entry_index(code)
            by_name = instruction_matches(breakpoint, code, at)  # and counted already
            if not by_name and entry_matches(breakpoint, code, at, entered):
                places.add(entered.owner)
    if places:
        return f"fits {plural(len(places), 'place')}{' so far' if live else ''}"
    name = breakpoint.pattern
    match breakpoint.kind:
        case BreakpointKind.LINE:
            _check_line(breakpoint, codes, live)
            if live and not _is_there(name, codes):
                return f"waits for a module that is not loaded: there is no {name} here"
        case BreakpointKind.OPCODE:
            known = {*dis.opmap, *(row.opname for code in codes for row in code.instructions)}
            if name not in known:
                raise BreakpointError(f"there is no instruction {name}{_nearest(name, known)}")
        case _ if not live:
            shown = {path or type for path, type in owners} | {type for _, type in owners}
            near = _nearest_path(name, shown) or _nearest(name, {c.label for c in codes} | shown)
            raise BreakpointError(f"no function {name!r} is recorded{near}")
        case _:
            pass
    if not live:
        raise BreakpointError(f"nothing that is recorded fits {breakpoint}")
    return "waits: nothing that has been compiled so far fits it"


def _entries(recording: Recording) -> Iterator[tuple[Code, Entered]]:
    """The frames that run methods of modules, each with its code."""
    codes = {code.id: code for code in recording.codes()}
    for attempt in recording.attempts():
        recording.owners.learn(attempt.id)
        for frame in recording.frames(attempt.id):
            entered = recording.owners.entered(frame.id)
            if entered is not None and frame.code in codes:
                yield codes[frame.code], entered


def _happened(breakpoint: Breakpoint, recording: Recording | None, live: bool) -> str:
    """
    Raises:
        BreakpointError: it names a function of which nothing is recorded, and nothing more comes.
    """
    if recording is None:
        return ""
    kinds = (EventKind(breakpoint.kind),)
    if not (breakpoint.pattern or breakpoint.source):
        count = recording.event_count(kinds)
    elif event_has_name(breakpoint.kind):
        events = recording.events(kinds=kinds)
        count = sum(event_fits(recording, breakpoint, event) for event in events)
    else:
        moments = finding_moments(recording, breakpoint)
        assert moments is not None, "what has a pattern is an event with a name, or was found"
        count = sum(1 for attempt in recording.attempts() for _ in moments(attempt))
    if count:
        return f"happened {plural(count, 'time')}{' so far' if live else ''}"
    near = _nearest(breakpoint.pattern, _names(breakpoint, recording))
    if live:
        return f"has not happened so far{near}"
    if breakpoint.kind in CACHE_KINDS and breakpoint.pattern:
        _check_function(breakpoint.pattern, recording)
    if near:
        raise BreakpointError(f"nothing that is recorded fits {breakpoint}{near}")
    return "never happened in what is recorded"


def _names(breakpoint: Breakpoint, recording: Recording) -> set[str]:
    """What was found of a breakpoint's kind, by the names that its pattern can give."""
    if not breakpoint.pattern:
        return set()
    attempts = [attempt.id for attempt in recording.attempts()]
    if breakpoint.kind in GUARD_KINDS:
        return {guard.kind for each in attempts for guard in recording.guards_installed(each)}
    if breakpoint.kind is BreakpointKind.NODE:
        nodes = [node for each in attempts for node in recording.nodes_made(each)]
        return {name for node in nodes for name in (node.name, node.target.rpartition(".")[2])}
    if breakpoint.kind in SHAPE_KINDS:
        steps = [step for each in attempts for step in recording.shape_steps(None, attempt=each)]
        return {name for step in steps for name in (step.symbol, step.source) if name}
    return set()


def _check_function(pattern: str, recording: Recording) -> None:
    """
    Raises:
        BreakpointError: no function that was compiled has a name like this.
    """
    known: set[str] = set()
    for walk in recording.translations():
        known.update(walk_names(walk.name, walk.resume_of, recording.owners.of_walk(walk)))
    if not any(glob_matches(pattern, name) for name in known):
        raise BreakpointError(f"no function {pattern!r} is recorded{_nearest(pattern, known)}")


def _check_line(breakpoint: Breakpoint, codes: Iterable[Code], live: bool) -> None:
    """
    Raises:
        BreakpointError: there is no such file, or no code on the line.
    """
    pattern, line = breakpoint.pattern, breakpoint.number
    files = {code.filename for code in codes}
    known = [code for code in codes if path_matches(pattern, code.filename)]
    path = os.path.abspath(pattern)
    lines = _lines_of(path) if live else frozenset()
    lines = lines or frozenset(_recorded_lines(known) if not live else ())
    if lines and line not in lines:
        below = max((each for each in lines if each < line), default=None)
        above = min((each for each in lines if each > line), default=None)
        near = " and ".join(str(each) for each in (below, above) if each is not None)
        code = "code" if live else "recorded code"
        raise BreakpointError(
            f"{pattern}:{line} has no {code}; the nearest lines that have: {near}"
        )
    if not live and not known:
        near = _nearest(os.path.basename(pattern), {os.path.basename(name) for name in files})
        raise BreakpointError(f"nothing of {pattern} is recorded{near or _some(files)}")
    if known or os.path.exists(path):
        return
    names = {os.path.basename(name) for name in (*files, *_beside(path))}
    name = os.path.basename(pattern)
    if name not in names and (near := _nearest(name, names)):
        raise BreakpointError(f"there is no file {pattern}{near} Else give its whole path.")
    if os.path.isabs(pattern):
        raise BreakpointError(f"there is no file {pattern}")


def _is_there(pattern: str, codes: Iterable[Code]) -> bool:
    """Whether there is such a file in this folder, or anything of it has been compiled."""
    return os.path.exists(pattern) or any(path_matches(pattern, code.filename) for code in codes)


def _recorded_lines(codes: Iterable[Code]) -> Iterator[int]:
    for code in codes:
        for row in code.instructions:
            if row.line is not None:
                yield row.line


def _beside(path: str) -> Iterator[str]:
    """The Python files of the folder that a path is in."""
    try:
        with os.scandir(os.path.dirname(path)) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    yield entry.name
    except OSError:
        return


def _lines_of(path: str) -> frozenset[int]:
    """The lines of a file of this folder that have code; none when that cannot be told. Nothing of
    it is run."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return frozenset()
        with open(path, "rb") as file:
            waiting = [compile(file.read(_MOST), path, "exec", dont_inherit=True)]
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return frozenset()
    found: set[int] = set()
    while waiting:
        code = waiting.pop()
        found.update(line for _, _, line in code.co_lines() if line)
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]
    return frozenset(found)


def _nearest_path(path: str, known: Iterable[str]) -> str:
    """The place in a model that ends as this one does, in most of its steps."""
    steps = path.replace("[", ".[").split(".")[::-1]

    def common(other: str) -> int:
        its = other.replace("[", ".[").split(".")[::-1]
        return sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(steps, its, strict=False))
        )

    best = max(sorted(known), key=common, default="")
    return f": did you mean {best}?" if best and common(best) > 1 else ""


def _some(files: Iterable[str]) -> str:
    """Some of the files that there are."""
    names = sorted({os.path.basename(name) for name in files})
    more = ", …" if len(names) > _SOME else ""
    return f": there is {', '.join(names[:_SOME])}{more}" if names else ""


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), 1, 0.75)
    return f": did you mean {near[0]}?" if near else ""
