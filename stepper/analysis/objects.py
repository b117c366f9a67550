"""Which objects entries want: guards on identity have the number of each.

Two compilations that want objects of other numbers at one source were made for other objects. What
an object is called is known where a guard on a global wants the very same: a member of an
enumeration that the code compares with, say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from stepper.analysis.reasons import identity_in
from stepper.analysis.sources import path_of, spelled, unscoped
from stepper.model.datum import UNKNOWN, Words
from stepper.model.lookup import Difference
from stepper.model.trace import Translation
from stepper.recording.reader import Recording

_OBJECT = "object"


class Objects:
    """The objects of a recording's compilations; each is looked into once."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known: dict[int, dict[str, tuple[str, Words]]] = {}

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
