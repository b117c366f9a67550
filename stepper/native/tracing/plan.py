"""How the attempts of a translation go.

A frame is interpreted from its first instruction until it returns, or the graph is broken. Where
the graph cannot be broken, the translation begins again, and breaks it earlier; what it has found
out about that is its plan. Who watches it may have it begin again by another plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepper.native.exc import NativeError, RestartAnalysis, SkipFrame

if TYPE_CHECKING:
    from stepper.native.guards.guard import Guard


class AnotherPlan(NativeError):
    """Begin again, by this plan."""

    def __init__(self, plan: Plan, reason: str) -> None:
        super().__init__(reason)
        self.plan = plan
        self.msg = reason


class Plan:
    """As the program has it.

    break_at: indices of instructions before which the graph must be broken, and why.
    """

    def __init__(self) -> None:
        self.break_at: dict[int, str] = {}

    def after(self, error: Exception) -> tuple[Plan, str]:
        """An attempt has ended with an exception: the plan of the next, and why it begins.

        Raises:
            SkipFrame: the frame cannot be captured.
            Exception: the same exception; the translation is over.
        """
        if isinstance(error, AnotherPlan):
            return error.plan, error.msg
        if isinstance(error, RestartAnalysis):
            if error.index in self.break_at:
                raise SkipFrame(error.msg) from None
            self.break_at[error.index] = error.msg
            return self, error.msg
        if isinstance(error, RecursionError):
            raise SkipFrame("too little room on the stack") from None
        raise error

    def settle(self) -> None:
        """Before anything is made that lasts.

        Raises:
            AnotherPlan: what was only to be tried ends here.
        """

    def keeps(self, guard: Guard) -> bool:
        """Whether a guard is to be checked."""
        return True
