"""Limits on what a block of a test may compile."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from stepper.analysis.limits import Limits, excess_lines, excesses
from stepper.testing.recorded import RecordedTest
from stepper.uncompiled import keep_out

_MOST_LINES = 200


class LimitsExceeded(AssertionError):
    """More graphs, graph breaks, recompilations or seconds of compiling than a test allows; the
    message is the post-mortem."""


class Limited:
    """A `with` block that may compile so much and no more.

    What a block raises by itself goes on as it is: a test that has failed is not asked again.

    Raises:
        LimitsExceeded: at the end of the block.
    """

    def __init__(self, test: RecordedTest, limits: Limits) -> None:
        self._test = test
        self._limits = limits
        self._after = 0

    def begin(self) -> None:
        """Count from here on."""
        self._after = self._test.newest_walk()

    def __enter__(self) -> None:
        self.begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True  # pytest shows the test's line instead of ours
        if error is None and (text := self.exceeded()):
            raise LimitsExceeded(text)

    def exceeded(self) -> str:
        """The post-mortem since the beginning; empty when all is well."""
        with self._test.reader() as recording:
            found = excesses(recording, self._limits, after=self._after)
            if not found:
                return ""
            lines = [line.text for line in excess_lines(recording, found, after=self._after)]
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES:] = [f"… {len(lines) - _MOST_LINES} more lines"]
        return "\n".join(lines)


def limits_for(test: RecordedTest) -> Callable[..., Limited]:
    """What makes blocks of a test; see the fixture `stepper_limits`."""

    def limits(
        *,
        graphs: int | None = None,
        breaks: int | None = None,
        recompilations: int | None = None,
        seconds: float | None = None,
    ) -> Limited:
        return Limited(
            test,
            Limits(graphs=graphs, breaks=breaks, recompilations=recompilations, seconds=seconds),
        )

    return limits


keep_out()
