"""What the subcommands have in common that can run the program of a recording again.

What would be run is shown, and run only when the user agrees: typed on the terminal, or given
before as `--yes`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from stepper.cli.arguments import UsageError
from stepper.model.printing import say

if TYPE_CHECKING:
    from stepper.analysis.line import Line
    from stepper.analysis.replays import Replays
    from stepper.client.plan import Plan
    from stepper.recording.reader import Recording


def add_options(parser: argparse.ArgumentParser, flag: str, what: str) -> None:
    """Add the option that runs the program again, described so, and those that go with it."""
    parser.add_argument(flag, action="store_true", help=what)
    parser.add_argument(
        "--seconds",
        type=float,
        default=300.0,
        metavar="N",
        help=f"with {flag}: kill a run that takes longer (default: 300)",
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help=f"with {flag}: run what the recording says without asking, in a script",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help=f"with {flag}: also when another user made the recording, or another machine, or "
        "nothing shows who did",
    )
    parser.add_argument(
        "--python",
        default="",
        metavar="PYTHON",
        help=f"with {flag}: the interpreter to run it with (default: this one)",
    )


def agreed(options: argparse.Namespace, recording: Recording, *, timed: bool = False) -> Plan:
    """What is to be run for a recording, shown to the user, who has agreed; `timed` is as for
    `plan_of`.

    Raises:
        UsageError: it cannot be run, or the user has not agreed.
    """
    from stepper.client.plan import ReplayError, plan_of

    try:
        plan = plan_of(recording, python=options.python, trust=options.trust, timed=timed)
    except ReplayError as error:
        raise UsageError(f"{options.file} cannot be replayed: {error}") from None
    for line in ("this runs again, with all that it does:", *plan.lines()):
        say(line, sys.stderr)
    if options.yes:
        return plan
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("nothing was run: there is no terminal to ask on; --yes agrees to it")
    say("run it? [y/N] ", sys.stderr, end="")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was run")
    return plan


def answer_or_replay(
    options: argparse.Namespace,
    lines: Callable[..., Iterator[Line]],
    trials: Callable[[], type[Replays]],
) -> int:
    """Print an answer, with what came of running the program again where that is asked for.

    Args:
        options: `file`, and those of `add_options` where they were added.
        lines: gives the answer for a recording; `trying` is what tries.
        trials: gives, where it is wanted, what makes that: for a recording, a plan and the seconds
            that a run may take.

    Raises:
        UsageError: the program cannot be run again.
    """
    from stepper.cli.asking import answer

    def told(recording: Recording) -> Iterator[Line]:
        if not getattr(options, "replay", False):
            return lines(recording)
        making = trials()
        plan = agreed(options, recording, timed=making.timed)
        trying = making(recording, plan, options.seconds).lines
        return lines(recording, trying=trying)

    return answer(options.file, told)
