"""Which walks somebody means who names a function.

Those of what has the name. But a library's method is often compiled as the wrapper of a decorator,
into which it is inlined (`forward` of each model of `transformers`): who names the method then
means the wrapper's, rather than nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

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
    return is_named(recording, item, function) or recording.derived(_Inlining).has(item, function)


def inlined_as_meant(recording: Recording, function: str) -> Mapping[int, set[str]]:
    """The names of functions with this in theirs that are only inlined, by the translation into
    which; none: a function that is compiled by itself has the name, or none at all."""
    return recording.derived(_Inlining).into(function)


class _Inlining:
    """What is inlined, by name, in all that is recorded."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._walks = recording.translations()
        self._known: dict[str, Mapping[int, set[str]]] = {}
        self._codes: dict[str, set[int]] = {}

    def has(self, item: Translation, function: str) -> bool:
        """Whether a function with this in its name is only inlined, and into this walk; into each
        of its code, where what is inlined is seen of its translations alone."""
        if item.phase is Phase.TRANSLATE:
            return item.id in self.into(function)
        if function not in self._codes:
            into = self.into(function)
            translated = [each for each in self._walks if each.phase is Phase.TRANSLATE]
            others = {each.code for each in translated if each.id not in into}
            self._codes[function] = {each.code for each in translated if each.id in into} - others
        return item.code in self._codes[function]

    def into(self, function: str) -> Mapping[int, set[str]]:
        """See `inlined_as_meant`."""
        if function not in self._known:
            named = any(is_named(self._recording, item, function) for item in self._walks)
            self._known[function] = {} if named else self._inlined(function.lower())
        return self._known[function]

    def _inlined(self, wanted: str) -> Mapping[int, set[str]]:
        found = {
            id: {label for label in labels if wanted in label.lower()}
            for id, labels in self._labels.items()
        }
        return {id: labels for id, labels in found.items() if labels}

    @cached_property
    def _labels(self) -> dict[int, set[str]]:
        return {item.id: self._inlined_into(item) for item in self._walks}

    def _inlined_into(self, item: Translation) -> set[str]:
        if item.phase is not Phase.TRANSLATE:
            return set()
        codes = {frame.code for frame in self._recording.frames_inlined(item.id)[1:]}
        return {self._recording.code(code).label for code in codes}
