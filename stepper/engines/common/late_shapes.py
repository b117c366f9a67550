"""What a ShapeEnv is asked after its attempt was over: by the compilation of a backward, mostly.

AOTAutograd has a backward compiled when gradients are first asked for, unless its graph takes
sizes. It decides in the forward's ShapeEnv, of which guards were made long ago: what is concluded
then is no condition of the entry. So it is told apart, as steps of that attempt that are `late`.

A ShapeEnv lives as long as torch keeps it, and who watches it as long as the ShapeEnv.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary, ref

from stepper.engines.common.shapes import Computed, ShapeWatcher, run_in_graph
from stepper.engines.common.versions import is_backward_compile, traced_frames
from stepper.model.program import PythonFrame
from stepper.model.shapes import Late, Stage, Why
from stepper.uncompiled import keep_out


class LateShapes:
    """The ShapeEnvs of attempts that are over, as long as there are these."""

    def __init__(self) -> None:
        self._watchers: WeakKeyDictionary[Any, _LateWatcher] = WeakKeyDictionary()

    def take(self, watcher: ShapeWatcher) -> None:
        """An attempt is over: who watched its ShapeEnv knows nothing any more."""
        env = watcher.env
        if env is None:
            watcher.forget()
        else:
            self._watchers[env] = _LateWatcher(watcher)

    def of(self, env: object) -> ShapeWatcher | None:
        """Who watches a ShapeEnv; None: it was of no attempt."""
        return self._watchers.get(env)

    def record(self) -> None:
        """Look up what waits, and tell what has happened."""
        for _env, watcher in list(self._watchers.items()):
            watcher.record()

    def clear(self) -> None:
        """Watch none any more."""
        self._watchers.clear()


class _LateWatcher(ShapeWatcher):
    """Watches the ShapeEnv of an attempt that is over."""

    def __init__(self, watcher: ShapeWatcher) -> None:
        super().__init__()
        self._late_env = ref(watcher.env)
        self.succeed(watcher)

    @property
    def env(self) -> Any:
        return self._late_env()

    def interprets(self, code: CodeType) -> bool:
        return False

    def builds_guards(self, code: CodeType) -> bool:
        return False

    def computed(self, frame: FrameType) -> Computed | None:
        return run_in_graph(frame)

    def user_stack(self, stage: Stage) -> tuple[PythonFrame, ...]:
        return tuple(
            PythonFrame(frame.filename, frame.lineno or 0, frame.name) for frame in traced_frames()
        )

    def why(self, source: Any, frame: FrameType | None) -> Why:
        return Why.UNKNOWN

    def late(self, frame: FrameType) -> Late:
        at: FrameType | None = frame
        while at is not None and not is_backward_compile(at.f_code):
            at = at.f_back
        return Late.OTHERWISE if at is None else Late.BACKWARD


keep_out()
