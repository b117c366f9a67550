"""Which walks somebody means who names a function.

Those of what has the name. But a library's method is often compiled as the wrapper of a decorator,
into which it is inlined (`forward` of each model of `transformers`): who names the method then
means the wrapper's, rather than nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from stepper.client.frame_names import compiled_name
from stepper.model.trace import Phase, Translation
from stepper.recording.reader import Recording


def is_named(recording: Recording, item: Translation, function: str) -> bool:
    """Whether a walk's function has this in its name, in either case: its qualified name, or the
    one that it is shown as; empty: each has."""
    wanted = function.lower()
    return wanted in item.name.lower() or wanted in compiled_name(recording, item).lower()


def is_meant(recording: Recording, item: Translation, function: str) -> bool:
    """Whether somebody who asks about functions with this in their name means a walk's."""
    if is_named(recording, item, function):
        return True
    return item.code in recording.derived(_Inlining).into(function)


def inlined_as_meant(recording: Recording, function: str) -> Mapping[int, tuple[str, ...]]:
    """The names of functions with this in theirs that are only inlined, by the code of what they
    are inlined into; none: a function that is compiled by itself has the name, or none at all."""
    return recording.derived(_Inlining).into(function)


class _Inlining:
    """What is inlined, by name, in all that is recorded."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._walks = recording.translations()
        self._known: dict[str, Mapping[int, tuple[str, ...]]] = {}
        self._labels: dict[int, set[str]] | None = None

    def into(self, function: str) -> Mapping[int, tuple[str, ...]]:
        """See `inlined_as_meant`."""
        if function not in self._known:
            named = any(is_named(self._recording, item, function) for item in self._walks)
            self._known[function] = {} if named else self._inlined(function.lower())
        return self._known[function]

    def _inlined(self, wanted: str) -> Mapping[int, tuple[str, ...]]:
        if self._labels is None:
            self._labels = self._read()
        found = {
            code: tuple(sorted(label for label in labels if wanted in label.lower()))
            for code, labels in self._labels.items()
        }
        return {code: labels for code, labels in found.items() if labels}

    def _read(self) -> dict[int, set[str]]:
        labels: dict[int, set[str]] = {}
        for item in self._walks:
            if item.phase is Phase.TRANSLATE:
                codes = {frame.code for frame in self._recording.frames_inlined(item.id)[1:]}
                names = {self._recording.code(code).label for code in codes}
                labels.setdefault(item.code, set()).update(names)
        return labels
