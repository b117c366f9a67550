"""`stepper diff`: two recordings, or two frames, attempts or moments of them."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import UsageError

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
        "differ. With --of, only two frames (0/0 0/1), attempts (0/0:1 0/0:2) or moments (120 "
        "140); both of A, when B is left out.",
        allow_abbrev=False,
    )
    parser.add_argument("a", metavar="A", help="a recording")
    parser.add_argument("b", nargs="?", metavar="B", help="another one")
    parser.add_argument(
        "--of",
        nargs=2,
        metavar=("X", "Y"),
        help="compare only X of A with Y of B: two compile ids, ID:ATTEMPT each, or two moments",
    )
    parser.set_defaults(handler=diff)


def diff(options: argparse.Namespace) -> int:
    """Print what differs. Returns 1 when two recordings do, as `diff` does."""
    from stepper.analysis.run_lines import run_lines
    from stepper.analysis.runs import compare_runs
    from stepper.cli.asking import opened, say

    if options.b is None and options.of is None:
        raise UsageError("which second recording? Give A and B, or A and --of X Y")
    width = shutil.get_terminal_size((120, 24)).columns - 2
    with opened(options.a) as a, opened(options.b or options.a) as b:
        if options.of is not None:
            say(_chosen(a, b, options.of, width))
            return 0
        found = compare_runs(a, b)
        say(run_lines(a, b, found, width=width))
        return int(found.first is not None)


def _chosen(a: Recording, b: Recording, of: list[str], width: int) -> Iterator[Line]:
    """What X of A and Y of B have different."""
    from stepper.analysis.run_lines import entry_lines

    one, other = of
    if one.isdecimal() and other.isdecimal():
        return _moments(a, b, int(one), int(other))
    if ":" in one and ":" in other:
        return _attempts(a, b, _attempt(a, one), _attempt(b, other))
    return entry_lines(a, _frame(a, one), b, _frame(b, other), width=width)


def _moments(a: Recording, b: Recording, one: int, other: int) -> Iterator[Line]:
    from stepper.analysis.line import Line
    from stepper.console.comparing import state_diff_lines

    if a.path != b.path:
        raise UsageError("two moments are compared within one recording: leave B out")
    lines = state_diff_lines(a, one, other)
    return map(Line, lines or ["nothing changed"])


def _attempts(a: Recording, b: Recording, one: Attempt, other: Attempt) -> Iterator[Line]:
    from stepper.analysis.line import Line
    from stepper.console.comparing import attempt_diff_lines

    if a.path != b.path:
        raise UsageError("two attempts are compared within one recording: leave B out")
    return map(Line, attempt_diff_lines(a, one, other))


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
