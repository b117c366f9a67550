"""Which objects entries want: guards on identity have the number of each.

Two compilations that want objects of other numbers at one source were made for other objects. What
an object is called is known where a guard on a global wants the very same: a member of an
enumeration that the code compares with, say.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from stepper.analysis.reasons import identity_in
from stepper.analysis.sources import path_of, spelled, unscoped
from stepper.analysis.walks import free_variables
from stepper.model.datum import UNKNOWN, Words
from stepper.model.lookup import Difference
from stepper.model.trace import Translation
from stepper.recording.reader import Recording

CODE = ".__code__"
"""By what a function is guarded."""
_OBJECT = "object"


class Objects:
    """The objects of a recording's compilations; each is looked into once."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known: dict[int, dict[str, tuple[str, Words]]] = {}
        self._called: dict[int, dict[str, tuple[int, Words]]] = {}

    def of(self, item: Translation) -> dict[str, tuple[str, Words]]:
        """Which objects the entry wants that a compilation made, by their sources: the number of
        each, and what it is called."""
        if item.id not in self._known:
            attempts = self._recording.attempts(item.id)
            guards = self._recording.guards(None, attempt=attempts[-1].id) if attempts else []
            found = (identity_in(part) for guard in guards for part in guard.code)
            self._known[item.id] = {
                unscoped(source): (number, words) for source, number, words in filter(None, found)
            }
        return self._known[item.id]

    def others(self, entry: Translation, item: Translation) -> Iterator[tuple[str, Difference]]:
        """What two compilations want to be another object each."""
        now = self.of(item)
        for source, (number, words) in self.of(entry).items():
            if source in now and now[source][0] != number:
                yield source, Difference(_OBJECT, words)

    def other_functions(
        self, entry: Translation, item: Translation
    ) -> Iterator[tuple[str, Difference]]:
        """Which functions that the compiled one wraps, as a decorator's does, are others in two
        compilations: each was followed into."""
        now = self._wrapped(item)
        for source, (code, words) in self._wrapped(entry).items():
            if source in now and now[source][0] != code:
                yield f"{source}{CODE}", Difference(_OBJECT, words, now[source][1])

    def _wrapped(self, item: Translation) -> dict[str, tuple[int, Words]]:
        """The code of each function that a compilation followed into and that is a variable of a
        function around the compiled one, by the variable."""
        if item.id not in self._called:
            found: dict[str, tuple[int, Words]] = {}
            free = free_variables(self._recording.code(item.code))
            first = self._recording.attempts(item.id)[:1] if free else []
            frames = {
                frame.call_moment: self._recording.code(frame.code)
                for attempt in first
                for frame in self._recording.frames(attempt.id)
            }
            for attempt in first:
                for guard in self._recording.guards(None, attempt=attempt.id):
                    path = path_of(guard.source) if guard.kind == "CLOSURE_MATCH" else None
                    code = frames.get(guard.moment)
                    if path and not path.steps and path.root in free and code is not None:
                        place = f"{os.path.basename(code.filename)}:{code.first_line}"
                        words = Words(f"{code.qualname} at {place}")
                        found[unscoped(guard.source)] = code.id, words
            self._called[item.id] = found
        return self._called[item.id]

    def named(
        self,
        difference: Difference,
        source: str,
        entry: Translation,
        item: Translation,
        all_made: Iterable[Translation],
    ) -> Difference:
        """A difference of objects with their names, as far as a global of these compilations has
        them."""
        was, now = self.of(entry).get(source), self.of(item).get(source)
        if difference.what != _OBJECT or was is None or now is None:
            return difference
        names = {
            number: Words(spelled(known))
            for made in (*all_made, item)
            for known, (number, _) in self.of(made).items()
            if _is_global(known)
        }
        expected = names.get(was[0], difference.expected)
        return msgspec.structs.replace(
            difference, expected=expected, actual=names.get(now[0], UNKNOWN)
        )


def _is_global(source: str) -> bool:
    path = path_of(source)
    return path is not None and path.globally is True and bool(path.steps)
