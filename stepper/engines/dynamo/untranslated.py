"""What is captured, or runs compiled, without a translation here: told once, so that a recording
does not look as if nothing had been there.

`torch.export.export` without `strict` runs the program and notes its operators; no bytecode is
interpreted. Code that was compiled in another process comes from a file: of a function compiled
ahead of time, or of a package of precompiled code. Each is an event that says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from stepper.debuggee.engine import Recorder
from stepper.debuggee.occurrence import Subject
from stepper.engines.common.cache_news import place
from stepper.engines.common.placed_probes import Probes
from stepper.engines.dynamo import bytecode, versions
from stepper.model.trace import EventKind
from stepper.uncompiled import keep_out

_EXPORTED = (
    "captured by torch.export without strict=True, which runs it and interprets no bytecode: "
    "not recorded"
)
_LOADED = {
    versions.AHEAD_OF_TIME: "loaded as it was compiled ahead of time",
    versions.PACKAGED: "loaded from a package of precompiled code",
}


class Untranslated:
    """Tells the recorder of it."""

    def __init__(self) -> None:
        self._probes = Probes()
        self._told: set[str] = set()

    def install(self, recorder: Recorder, safely: Callable[..., Callable[..., None]]) -> None:
        """Begin to listen."""
        self._recorder = recorder
        points = versions.points.untranslated_points()
        for meaning, point in points.items():
            self._probes.place(point, safely(getattr(self, f"_on_{meaning}")))
        # What imports Dynamo, and so begins a session, can be the export itself.
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if versions.is_export(frame.f_code):
                self._on_exported(frame.f_locals["mod"], frame.f_locals["strict"])
            frame = frame.f_back

    def uninstall(self) -> None:
        """Listen no more."""
        self._probes.remove()
        self._told.clear()

    def _on_exported(self, mod: Any, strict: bool) -> None:
        if not strict:
            self._tell(type(mod).__qualname__, f"{_EXPORTED}; {place(bytecode.is_program)}")

    _on_drafted = _on_exported

    def _on_guards_made(self, f_code: CodeType) -> None:
        # This hook, the guards' `__init__`, then who has them made.
        loaded = _LOADED.get(versions.loading(sys._getframe(1)))
        if loaded is not None:
            where = f"({f_code.co_filename}:{f_code.co_firstlineno})"
            text = f"{where} {loaded}: it is not translated here; {place(bytecode.is_program)}"
            self._tell(f_code.co_qualname, text)

    def _tell(self, name: str, text: str) -> None:
        said = f"{name}: {text}"
        if said not in self._told:
            self._told.add(said)
            self._recorder.occurred(EventKind.SKIP, said, None, Subject(name=name))


keep_out()
