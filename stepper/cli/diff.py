"""`stepper diff`: two recordings, or two frames, attempts or moments of them."""

from __future__ import annotations

import argparse
import os
import re
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import UsageError

_MOMENT = re.compile(r"(.*)@(\d+)", re.DOTALL)

_BOTH = "--ranks X Y or --processes X Y"
"""How to say which two of session folders are meant."""

if TYPE_CHECKING:
    from stepper.analysis.line import Line
    from stepper.model.trace import Attempt, Translation
    from stepper.recording.reader import Recording


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "diff",
        help="where two recordings part",
        description="Two recordings of a program: the first point at which they part, and guards "
        "and graphs side by side; frames are aligned by function. The exit code is 1 when they "
        "differ. A@N and B@M are two moments: what the compiler knew at each, side by side. With "
        "--of, only two frames (0/0 0/1), attempts (0/0:1 0/0:2) or moments (120 140); both of "
        "A, when B is left out.",
        allow_abbrev=False,
    )
    parser.add_argument("a", metavar="A", help="a recording, or a moment of it: FILE@N")
    parser.add_argument("b", nargs="?", metavar="B", help="another one; @M: a moment of A's")
    parser.add_argument(
        "--of",
        nargs=2,
        metavar=("X", "Y"),
        help="compare only X of A with Y of B: two compile ids, ID:ATTEMPT each, or two moments",
    )
    parser.add_argument(
        "--time",
        action="store_true",
        help="what became slower instead: by phase, by line, and what caches saved",
    )
    two = parser.add_argument_group("in a session folder (record --children)")
    of_b = "of A, or one of A and one of B"
    two.add_argument("--ranks", nargs=2, type=int, metavar=("X", "Y"), help=f"two ranks {of_b}")
    two.add_argument(
        "--processes", nargs=2, type=int, metavar=("X", "Y"), help=f"two processes {of_b}"
    )
    parser.set_defaults(handler=diff)


def diff(options: argparse.Namespace) -> int:
    """Print what differs. Returns 1 when two recordings do, as `diff` does."""
    from stepper.analysis.compare_recordings import compare_runs
    from stepper.analysis.compare_times import time_diff_lines
    from stepper.analysis.run_lines import run_lines
    from stepper.analysis.unseen import unseen
    from stepper.cli.asking import opened, say
    from stepper.cli.choosing import recording_in

    a, b, of = options.a, options.b, options.of
    if options.ranks is not None or options.processes is not None:
        a, b = _two_of(a, b or a, options)
    if of is None and b is not None:
        a, b, of = _with_moments(a, b)
    if options.time and (of is not None or b is None):
        raise UsageError("--time compares two whole recordings: give A and B")
    if b is None and of is None:
        raise UsageError(f"which second recording? Give A and B, or A and --of X Y, or {_BOTH}")
    width = shutil.get_terminal_size((120, 24)).columns - 2
    a = recording_in(a, how=_BOTH)
    b = None if b is None else recording_in(b, how=_BOTH)
    with opened(a) as one, opened(b or a) as other:
        if of is not None:
            say(_chosen(one, other, of, width))
            return 0
        differs = False
        if options.time:
            say(time_diff_lines(one, other))
        else:
            found = compare_runs(one, other)
            differs = found.first is not None
            say(run_lines(one, other, found, width=width))
        say([*unseen(one, "a"), *unseen(other, "b")])
        return int(differs)


def _two_of(a: str, b: str, options: argparse.Namespace) -> tuple[str, str]:
    """The recordings of two processes of session folders."""
    from stepper.cli.choosing import recording_in

    if options.ranks is not None:
        one, other = options.ranks
        return recording_in(a, rank=one), recording_in(b, rank=other)
    one, other = options.processes
    return recording_in(a, process=one), recording_in(b, process=other)


def _with_moments(a: str, b: str) -> tuple[str, str, list[str] | None]:
    """The files and, where both are given with one, the moments: `run.stepper@12`."""
    one, other = _MOMENT.fullmatch(a), _MOMENT.fullmatch(b)
    if one is None and other is None:
        return a, b, None
    if one is None or other is None:
        if os.path.exists(a) and os.path.exists(b):  # what looks like a moment is a name
            return a, b, None
        raise UsageError("two moments are compared, or two recordings: give A@N and B@M")
    if os.path.exists(a) and os.path.exists(b):
        return a, b, None
    return one[1], other[1] or one[1], [one[2], other[2]]


def _chosen(a: Recording, b: Recording, of: list[str], width: int) -> Iterator[Line]:
    """What X of A and Y of B have different."""
    from stepper.analysis.line import Line
    from stepper.analysis.run_lines import attempt_lines, entry_lines
    from stepper.console.comparing import moments_diff_lines

    one, other = of
    if one.isdecimal() and other.isdecimal():
        return map(Line, moments_diff_lines(a, int(one), b, int(other), width=width))
    if ":" in one and ":" in other:
        mine, theirs = _attempt(a, one), _attempt(b, other)
        if a.path != b.path:
            return attempt_lines(a, mine, b, theirs, width=width)
        return _attempts(a, mine, theirs)
    return entry_lines(a, _frame(a, one), b, _frame(b, other), width=width)


def _attempts(recording: Recording, one: Attempt, other: Attempt) -> Iterator[Line]:
    from stepper.analysis.line import Line
    from stepper.console.comparing import attempt_diff_lines

    return map(Line, attempt_diff_lines(recording, one, other))


def _frame(recording: Recording, compile_id: str) -> Translation:
    from stepper.analysis.walks import compilations

    found = [item for item in compilations(recording) if item.compile_id == compile_id]
    if not found:
        known = ", ".join(item.compile_id for item in compilations(recording)[:12])
        raise UsageError(f"{recording.path} has no frame {compile_id}; it has {known or 'none'}")
    return found[-1]


def _attempt(recording: Recording, name: str) -> Attempt:
    compile_id, _, number = name.partition(":")
    attempts = recording.attempts(_frame(recording, compile_id).id)
    found = [each for each in attempts if str(each.number) == number]
    if not found:
        raise UsageError(f"{compile_id} has no attempt {number}; it has {len(attempts)}")
    return found[0]
