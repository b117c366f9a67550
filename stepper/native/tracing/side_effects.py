"""What the frame has changed, and has not been done yet.

Trackers do not change (see `variables.base`). Here is, for each object that can, what it holds
now: the newest tracker of a container, the stored attributes of an object, the contents of a cell.
All of it is keyed by the object's `mutation_type`, so that two names of one object see one state.

Transformed code does what is pending after the graph has run, in the order in which objects were
first changed; between the two, nobody else runs. Whatever could see a pending change is a graph
break, before which everything is written back.

Changes can be taken back: each notes on the output's trail how to undo it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepper.native.variables.base import (
    DELETED,
    AttributeMutationExisting,
    AttributeMutationNew,
    MutationType,
    ValueMutationExisting,
    VariableTracker,
)

_MISSING: object = object()
State = tuple[int, int, dict[tuple[MutationType, str], object]]
"""What is in the objects that were made between two others, of which the births are before it."""
Told = Callable[["VariableTracker", str, "VariableTracker | None"], None]


class SideEffects:
    """Pending changes of one translation.

    trail: where it is noted how to undo them.
    on_change: told of each change, see `TranslationWatcher.changed`.
    """

    def __init__(self, trail: list[Callable[[], object]], on_change: Told | None) -> None:
        self._trail = trail
        self.on_change = on_change
        self.newest: dict[MutationType, VariableTracker] = {}
        """What each container is now that was changed."""
        self.attributes: dict[MutationType, dict[str, VariableTracker]] = {}
        """What was stored in each object. A cell has `cell_contents`, a namespace its
        variables."""
        self.changed: dict[MutationType, VariableTracker] = {}
        """Each object that existed before and was changed, in the order of the first change."""
        self.changes = 0
        """How often anything was changed, also what was taken back."""

    def cleanup(self) -> None:
        """Let go of all trackers."""
        self.newest.clear()
        self.attributes.clear()
        self.changed.clear()
        self.on_change = None

    def latest(self, tracker: VariableTracker) -> VariableTracker:
        """What the object is now."""
        key = tracker.mutation_type
        return tracker if key is None else self.newest.get(key, tracker)

    def mutate(self, old: VariableTracker, new: VariableTracker, what: str) -> None:
        """The container becomes `new`, which has the same `mutation_type`."""
        key = old.mutation_type
        assert key is not None
        assert new.mutation_type is key
        key.changed = True
        if self.on_change is not None:
            self.on_change(old, what, None)
        self._set(self.newest, key, new)
        self._note(key, old)

    def store_attr(self, owner: VariableTracker, name: str, value: VariableTracker) -> None:
        """An attribute, cell or variable gets a value."""
        key = owner.mutation_type
        assert isinstance(key, AttributeMutationNew | AttributeMutationExisting)
        if self.on_change is not None:
            self.on_change(owner, name, value)
        if key not in self.attributes:
            self._set(self.attributes, key, {})
        self._set(self.attributes[key], name, value)
        self._note(key, owner)

    def delete_attr(self, owner: VariableTracker, name: str, before: bool) -> None:
        """An attribute is gone that was stored in the object, or was there before."""
        if before:
            self.store_attr(owner, name, DELETED)
            return
        assert owner.mutation_type is not None
        if self.on_change is not None:
            self.on_change(owner, name, None)
        self._remove(self.attributes[owner.mutation_type], name)

    def forget(self, owner: VariableTracker) -> None:
        """What was stored in the object has been put back: it is as it was."""
        key = owner.mutation_type
        if self.on_change is not None:
            self.on_change(owner, "reset", None)
        for where in (self.attributes, self.changed):
            self._remove(where, key)

    def load_attr(self, owner: VariableTracker, name: str) -> VariableTracker | None:
        """What was stored, None: nothing was."""
        key = owner.mutation_type
        if key is None:
            return None
        return self.attributes.get(key, {}).get(name)

    def stored(self, owner: VariableTracker) -> dict[str, VariableTracker]:
        """All that was stored in the object, by name, in order."""
        key = owner.mutation_type
        return dict(() if key is None else self.attributes.get(key, {}))

    def stored_names(self, owner: VariableTracker) -> frozenset[str]:
        """The names of all that was stored in the object."""
        key = owner.mutation_type
        return frozenset(() if key is None else self.attributes.get(key, {}))

    def made_since(self, begun: MutationType) -> State:
        """What is in the objects that the frame has made since then."""
        ended = MutationType()
        return begun.born, ended.born, self._contents(begun.born, ended.born)

    def is_still(self, state: State | None) -> bool:
        """Whether nothing has been changed of what these objects held."""
        return state is None or self._contents(*state[:2]) == state[2]

    def _contents(self, first: int, last: int) -> dict[tuple[MutationType, str], object]:
        """What is in the objects that were made between two others."""
        found: dict[tuple[MutationType, str], object] = {}
        for key, newest in self.newest.items():
            if first < key.born < last:
                found[key, ""] = newest
        for key, stored in self.attributes.items():
            if first < key.born < last:
                found.update({(key, name): value for name, value in stored.items()})
        return found

    @property
    def pending(self) -> bool:
        """Whether anything that existed before was changed."""
        return bool(self.changed)

    def _note(self, key: MutationType, owner: VariableTracker) -> None:
        existing = isinstance(key, ValueMutationExisting | AttributeMutationExisting)
        if existing and key not in self.changed:
            self._set(self.changed, key, owner)

    def _remove(self, where: dict[Any, Any], key: object) -> None:
        self.changes += 1
        before = where.pop(key)
        self._trail.append(lambda: where.update({key: before}))

    def _set(self, where: dict[Any, Any], key: object, value: object) -> None:
        self.changes += 1
        before = where.get(key, _MISSING)
        where[key] = value

        def undo() -> None:
            if before is _MISSING:
                del where[key]
            else:
                where[key] = before

        self._trail.append(undo)
