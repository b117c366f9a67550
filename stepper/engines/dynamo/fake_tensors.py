"""How long Dynamo takes to find out each node's result, with tensors that have no data.

It is asked for a node, and then set as that node's example value. A node whose result is asked for
and not set has no time.
"""

from __future__ import annotations

from collections.abc import Callable

from torch.fx import Node

from stepper.debuggee.engine import Recorder
from stepper.debuggee.phase_times import PhaseMark
from stepper.model.timing import FAKE_TENSORS
from stepper.uncompiled import keep_out


class FakeTensors:
    """Hears when a result is asked for, and when it is known; see `versions.points`."""

    def __init__(self, translation: Callable[[], int | None]) -> None:
        """`translation` gives the number of the innermost that is under way."""
        self._translation = translation
        self._recorder: Recorder
        self._asked = 0
        """The id of the node; it is not kept alive for this."""
        self._mark: PhaseMark | None = None

    def begin(self, recorder: Recorder) -> None:
        """Report to a recorder from now on."""
        self._recorder = recorder

    def on_result_asked(self, node: Node) -> None:
        self._asked, self._mark = id(node), self._recorder.phase_mark()

    def on_result_known(self, node: Node) -> None:
        mark = self._mark
        if mark is not None and id(node) == self._asked:
            self._mark = None
            self._recorder.phase_took(FAKE_TENSORS, mark, self._translation())


keep_out()
