"""What Dynamo knows of who asks about sizes; see `stepper.engines.common.shapes`."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import LiveAttempt
from stepper.engines.common.node_words import called, stack_of
from stepper.engines.common.shapes import MARKED, Computed, ShapeWatcher, run_in_graph
from stepper.engines.common.versions import source_name, traced_frames
from stepper.engines.dynamo import versions
from stepper.model.program import PythonFrame
from stepper.model.shapes import Stage, Why
from stepper.uncompiled import keep_out

_LISTED = (Why.LISTED_UNBACKED, Why.LISTED)


class DynamoShapes(ShapeWatcher):
    """Watches the ShapeEnv of one of Dynamo's attempts."""

    def begin_early(self, recorder: Recorder, attempt: LiveAttempt, env: Any) -> None:
        """Begin before the first frame is entered: an export makes the symbols of its inputs then.
        Nothing, if the ShapeEnv is another's."""
        if versions.traces_with(env) and not self.is_of(env):
            self.begin(recorder, attempt, env)
            self._earliest = recorder.moment + 1

    def interprets(self, code: CodeType) -> bool:
        return versions.is_interpreting(code)

    def builds_guards(self, code: CodeType) -> bool:
        return code.co_name == "build_guards"

    def computed(self, frame: FrameType) -> Computed | None:
        """The FX node whose example value is computed, or that a later stage is at."""
        if frame.f_code is versions.FAKE_VALUE_CODE:
            node = frame.f_locals["node"]
            return Computed(node.name, called(node.target), stack_of(node.stack_trace))
        return run_in_graph(frame)

    def user_stack(self, stage: Stage) -> tuple[PythonFrame, ...]:
        return tuple(
            PythonFrame(frame.filename, frame.lineno or 0, frame.name) for frame in traced_frames()
        )

    def why(self, source: Any, frame: FrameType | None) -> Why:
        """What the tensor is marked with, or torch's settings."""
        index = getattr(source, "idx", None)
        if (wrapped := _wrapped(frame)) is not None:
            if index is not None and (marked := _marked(wrapped["e"], index)):
                return marked
            if wrapped["tx"].export:
                return Why.EXPORT
        name = source_name(source if index is None else source.base)
        if listed := next((why for why in _LISTED if versions.lists(why, name, index)), None):
            return listed
        return Why.AUTOMATIC if versions.assumes_static() else Why.DYNAMIC

    def marked_static(self, source: Any, frame: FrameType | None) -> bool:
        """See `ShapeWatcher`. Asked of each size of each tensor, where sizes are numbers."""
        index = getattr(source, "idx", None)
        if index is None or (wrapped := _wrapped(frame)) is None:
            return False
        return _marked(wrapped["e"], index) is Why.MARKED_STATIC


def _wrapped(frame: FrameType | None) -> dict[str, Any] | None:
    """The variables of what wraps the tensor whose sizes are asked for; None: nothing does."""
    while frame is not None and not versions.is_interpreting(frame.f_code):
        if frame.f_code is versions.WRAP_CODE:
            return frame.f_locals
        frame = frame.f_back
    return None


def _marked(tensor: Any, index: int) -> Why | None:
    return next((why for name, why in MARKED.items() if index in getattr(tensor, name, ())), None)


keep_out()
