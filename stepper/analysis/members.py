"""Which keys, elements and attributes compilations have asked for, and whether they were there.

An entry for a call in which a key was not there does not serve one in which it is. That follows
where the compilation for that other call asks for the same, or reaches the value: it was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stepper.analysis.sources import Path, path_of, unscoped
from stepper.model.datum import Words
from stepper.model.lookup import Difference
from stepper.model.trace import Translation
from stepper.recording.reader import Recording
from stepper.support.guarded_values import Membership, membership_of

_STEPS = {"keys": "[{}]", "attributes": ".{}"}
"""How a path goes on to a member."""


class Other(NamedTuple):
    """A guard of an entry on a member that another compilation has found otherwise."""

    kind: str
    source: str
    difference: Difference


class _Asked(NamedTuple):
    """What a compilation has asked for."""

    members: dict[tuple[str, str, str], Membership]
    """By container, what of it, and element."""
    reached: set[Path]
    """What has a guard, so that it was there."""


class Members:
    """The members of a recording's compilations; each is looked into once."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known: dict[int, _Asked] = {}

    def others(self, entry: Translation, item: Translation) -> Iterator[Other]:
        """What an entry wants to be there, or not to be, and a later one has found otherwise."""
        now = self._of(item)
        for key, member in self._of(entry).members.items():
            same = now.members.get(key)
            otherwise = same.there != member.there if same is not None else _reached(member, now)
            if otherwise and (same is not None or not member.there):
                expected, actual = map(Words, member.words)
                yield Other(member.kind, key[0], Difference(member.what, expected, actual))

    def _of(self, item: Translation) -> _Asked:
        if item.id not in self._known:
            attempts = self._recording.attempts(item.id)
            guards = self._recording.guards(None, attempt=attempts[-1].id) if attempts else []
            found = (membership_of(part) for guard in guards for part in guard.code)
            self._known[item.id] = _Asked(
                {(unscoped(each.source), each.what, each.element): each for each in found if each},
                {path for guard in guards if (path := path_of(guard.source)) is not None},
            )
        return self._known[item.id]


def _reached(member: Membership, now: _Asked) -> bool:
    container, step = path_of(member.source), _STEPS.get(member.what)
    if container is None or step is None or (member.what == "attributes" and not member.name):
        return False
    element = member.name if member.what == "attributes" else member.element
    there = Path(container.root, (*container.steps, step.format(element)), container.globally)
    return any(there.leads_to(path) for path in now.reached)
