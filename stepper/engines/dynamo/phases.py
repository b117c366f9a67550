"""The phases that torch times of itself by `dynamo_timed`, from tracing to Inductor's passes."""

from __future__ import annotations

from collections.abc import Callable

from stepper.debuggee.engine import Recorder
from stepper.engines.dynamo import versions
from stepper.uncompiled import keep_out


class Phases:
    """Hands each on, with the translation in whose midst it is."""

    def __init__(self, translation: Callable[[], int | None]) -> None:
        """`translation` gives the number of the innermost that is under way."""
        self._translation = translation
        self._recorder: Recorder

    def begin(self, recorder: Recorder) -> None:
        """Report to a recorder from now on."""
        self._recorder = recorder

    def on_phase_began(self, event_name: str) -> None:
        """See `versions`."""
        self._recorder.phase_began(event_name)

    def on_phase_ended(self, event_name: str) -> None:
        """See `versions`."""
        translation = self._translation()
        compile_id = versions.compiled_now() if translation is None else ""
        self._recorder.phase_ended(event_name, translation, compile_id)


keep_out()
