"""What the commands have in common that can run the program of the recording again.

What would be run is shown, and run only with `--yes`: the console may read from a pipe, where
nobody could be asked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from stepper.console.commands import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepper.analysis.questions import Question
    from stepper.analysis.replays import Replays
    from stepper.console.shell import Shell

_REPLAYING = frozenset({"--replay", "--yes"})
_WORD = re.compile(
    r"""(?:[^\s\[('"]|\[[^]]*(?:]|$)|\([^)]*(?:\)|$)|'[^']*(?:'|$)|"[^"]*(?:"|$))+"""
)
"""A word, in which spaces between brackets and quotes are no ends."""


def parted(argument: str, question: Question) -> tuple[list[str], frozenset[str]]:
    """A command's argument: what is said of the question, and the options that it has."""
    known = (_REPLAYING if question.trials else frozenset()) | (
        {"--all"} if question.every else set()
    )
    given = _WORD.findall(argument)
    words = [word for word in given if word not in known]
    if len(words) > len(question.arguments):
        words = [" ".join(words)]
    return words, known & {*given}


def trying(
    shell: Shell, options: frozenset[str], make: Callable[[], type[Replays]]
) -> Callable[..., Any] | None:
    """What tries it, where that is asked for and agreed to; None: nothing is to be tried.

    Args:
        shell: where it is asked.
        options: that were given.
        make: gives what makes it, for a recording and a plan.

    Raises:
        CommandError: it cannot be run, or was not agreed to.
    """
    from stepper.client.plan import ReplayError, plan_of

    if "--replay" not in options:
        return None
    try:
        making = make()
        plan = plan_of(shell.recording, timed=making.timed)
    except ReplayError as error:
        raise CommandError(f"the program cannot be run again: {error}") from None
    shell.screen.say("this runs again, with all that it does:")
    shell.screen.lines(plan.lines())
    if "--yes" not in options:
        raise CommandError("nothing was run: --replay --yes agrees to it")
    return making(shell.recording, plan).lines
