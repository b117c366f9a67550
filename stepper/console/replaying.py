"""What the commands have in common that can run the program of the recording again.

What would be run is shown, and run only with `--yes`: the console may read from a pipe, where
nobody could be asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepper.console.commands import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepper.analysis.replays import Replays
    from stepper.console.shell import Shell

_OPTIONS = ("--replay", "--yes", "--all")


def parted(argument: str) -> tuple[str, frozenset[str]]:
    """A command's argument: the function that is asked about, and the options."""
    words = argument.split()
    function = " ".join(word for word in words if word not in _OPTIONS)
    return function, frozenset(word for word in words if word in _OPTIONS)


def trying(shell: Shell, options: frozenset[str], make: type[Replays]) -> Callable[..., Any] | None:
    """What tries it, where that is asked for and agreed to; None: nothing is to be tried.

    Args:
        shell: where it is asked.
        options: that were given.
        make: makes it, for a recording and a plan.

    Raises:
        CommandError: it cannot be run, or was not agreed to.
    """
    from stepper.client.plan import ReplayError, plan_of

    if "--replay" not in options:
        return None
    try:
        plan = plan_of(shell.recording, timed=make.timed)
    except ReplayError as error:
        raise CommandError(f"the program cannot be run again: {error}") from None
    shell.screen.say("this runs again, with all that it does:")
    shell.screen.lines(plan.lines())
    if "--yes" not in options:
        raise CommandError("nothing was run: --replay --yes agrees to it")
    return make(shell.recording, plan).lines
