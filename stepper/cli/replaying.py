"""Options of questions that can be answered by running the program again."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from stepper.cli.arguments import UsageError

if TYPE_CHECKING:
    from stepper.analysis.line import Line
    from stepper.recording.reader import Recording


class _Trials(Protocol):
    @property
    def lines(self) -> Callable[..., Any]: ...


def add_options(parser: argparse.ArgumentParser, replay: str) -> None:
    """Add `--replay`, described so, and `--seconds`."""
    parser.add_argument("--replay", action="store_true", help=replay)
    parser.add_argument(
        "--seconds",
        type=float,
        default=300.0,
        metavar="N",
        help="with --replay: kill a run that takes longer (default: 300)",
    )


def answer_or_replay(
    options: argparse.Namespace,
    lines: Callable[..., Iterator[Line]],
    trials: Callable[[Recording, float], _Trials],
) -> int:
    """Print an answer, with what came of running the program again where that is asked for.

    Args:
        options: those of `add_options`, `file` and `function`.
        lines: gives the answer for a recording and a function; `trying` is what tries.
        trials: makes that, for a recording and the seconds that a run may take.

    Raises:
        UsageError: the program cannot be run again.
    """
    from stepper.cli.asking import answer
    from stepper.client.replay import ReplayError, program_of

    def told(recording: Recording) -> Iterator[Line]:
        if not options.replay:
            return lines(recording, options.function)
        try:
            program_of(recording)
        except ReplayError as error:
            raise UsageError(f"{options.file} cannot be replayed: {error}") from None
        trying = trials(recording, options.seconds).lines
        return lines(recording, options.function, trying=trying)

    return answer(options.file, told)
