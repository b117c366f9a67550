"""The debugger in lines: pdb's letters over a session, for pipes, dumb terminals and scripts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepper.client.session import Session


def run(session: Session, commands: Iterable[str] | None = None, *, at: int | None = None) -> int:
    """Read commands until `quit` or their end; from stdin when none are given. A recording is shown
    at the moment `at`, by default its first.

    Returns 0 when the user left, else the program's own exit code (128 + N for a signal); 1 instead
    of 0 when a command that nobody typed could not be carried out.
    """
    from stepper.console.shell import Shell

    return Shell(session, commands, at=at).run()
