"""Numbers for trackers, and what each was last said to be.

A tracker has a number for as long as it lives; its description is taken when it first comes into
view and again when it was touched. All knowledge of trackers hangs on weak references, so nothing
lives longer because of us.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol
from weakref import ref

from stepper.model.trace import Block
from stepper.model.value import ValueId

Flavour = Literal[0, 1, 2]
ORDINARY: Literal[0] = 0
CONSTANT: Literal[1] = 1
"""Can neither change nor have children; equal ones need not be told apart."""
LAZY: Literal[2] = 2
"""Stands for another tracker, once that is made."""


class Describer(Protocol):
    """The engine's knowledge of trackers."""

    def describe(self, tracker: object, number: Any) -> int: ...

    flavours: dict[type, Flavour]

    def flavour(self, kind: type) -> Flavour: ...
    def constant(self, tracker: object) -> int: ...
    def inner(self, tracker: object) -> object | None: ...
    def children_of(self, description: int) -> tuple[ValueId, ...]: ...
    def block(self, translator: Any, block: Any) -> Block: ...
    def speculation(self, speculation: Any) -> str: ...


class TrackerRef(ref):  # type: ignore[type-arg]
    """A weak reference to a tracker that knows the tracker's number."""

    __slots__ = ("key", "number")
    key: int
    number: int


class Trackers:
    """The trackers of one translation. The recorder reads `known`, `shown` and `fresh` directly: it
    is on the hot path."""

    def __init__(self, describer: Describer) -> None:
        self._describer = describer
        self._flavours = describer.flavours
        self.known: dict[int, TrackerRef] = {}
        """By `id`; an entry whose reference is another object is out of date."""
        self.shown: set[ValueId] = set()
        """Numbers whose description is in the newest keyframe or in a delta after it."""
        self.fresh: list[tuple[ValueId, int]] = []
        """Descriptions to go into the next delta."""
        self.undescribed: list[tuple[ValueId, Any]] = []
        self.changing: dict[int, tuple[Any, int]] = {}
        self.later_depth = -1
        """Deepest frame depth for which something waits in `_later`."""
        self._later: dict[int, tuple[Any, int]] = {}
        self._described: dict[ValueId, int] = {}
        self._constants: dict[int, ValueId] = {}
        self._same: dict[ValueId, set[ValueId]] = {}
        """Further numbers of a tracker that was reached lazily on several ways before it was
        realized."""
        self._serial = 0

    def number(self, tracker: Any) -> ValueId:
        """The number of a tracker; a new one is to be described before the moment is written."""
        entry = self.known.get(id(tracker))
        if entry is not None and entry() is tracker:
            return entry.number
        kind = type(tracker)
        flavour = self._flavours.get(kind)
        if flavour is None:
            flavour = self._describer.flavour(kind)
        if flavour == CONSTANT:
            return self._number_constant(self._describer.constant(tracker))
        inner = self._describer.inner(tracker) if flavour == LAZY else None
        if (
            inner is not None
            and (entry := self.known.get(id(inner))) is not None
            and entry() is inner
        ):
            self._remember(tracker, entry.number)
            return entry.number
        self._serial = number = self._serial + 1
        self._remember(tracker, number)
        if inner is not None:
            self._remember(inner, number)
        self.undescribed.append((number, tracker))
        return number

    def _number_constant(self, description: int) -> ValueId:
        """Equal constants are one value: they are most of what comes and goes, and nothing tells
        them apart."""
        number = self._constants.get(description)
        if number is None:
            self._serial = number = self._serial + 1
            self._constants[description] = number
            self._described[number] = description
        return number

    def _remember(self, tracker: Any, number: ValueId) -> None:
        entry = TrackerRef(tracker, self._forget)
        entry.key = id(tracker)
        entry.number = number
        self.known[entry.key] = entry

    def _forget(self, entry: TrackerRef) -> None:
        if self.known.get(entry.key) is entry:
            del self.known[entry.key]

    def describe_new(self) -> None:
        pending = self.undescribed
        while pending:  # describing a container numbers its children, which joins the queue
            number, tracker = pending.pop()
            description = self._describer.describe(tracker, self.number)
            self._described[number] = description
            self.fresh.append((number, description))
            self._show_children(number, description)

    def show(self, number: ValueId) -> None:
        """A tracker comes into view that the newest keyframe does not hold: say again what it is.

        So a reader never has to look further back than to that keyframe.
        """
        waiting = [number]
        while waiting:
            number = waiting.pop()
            description = self._described.get(number)
            # Without a description it is new, and about to be described.
            if description is not None and number not in self.shown:
                self.shown.add(number)
                self.fresh.append((number, description))
                waiting += self._describer.children_of(description)

    def _show_children(self, number: ValueId, description: int) -> None:
        """The same for what a tracker holds that has just been described."""
        self.shown.add(number)
        for child in self._describer.children_of(description):
            if child not in self.shown:
                self.show(child)

    def touched(self, tracker: Any, depth: int) -> None:
        """The tracker is about to change: its description is taken anew before the next moment."""
        self.changing[id(tracker)] = (tracker, depth)

    def describe_touched(self, depth: int) -> None:
        # When the next instruction is one of an inlined call, the change may still be to come: such
        # a tracker is looked at now, and again when the frame that touched it goes on.
        touched = self.changing
        if self._later and depth <= self.later_depth:
            for key, item in self._later.items():
                if depth <= item[1]:
                    touched.setdefault(key, item)
            self._later = {key: item for key, item in self._later.items() if depth > item[1]}
        for key, item in touched.items():
            if item[1] < depth:
                self._later[key] = item
        self.later_depth = max((item[1] for item in self._later.values()), default=-1)
        self.changing = {}
        for tracker, _ in touched.values():
            entry = self.known.get(id(tracker))
            if entry is None or entry() is not tracker:
                continue
            number = entry.number
            inner = self._describer.inner(tracker)
            if inner is not None:
                self._join(inner, number)
            description = self._describer.describe(tracker, self.number)
            for same in (number, *self._same.get(number, ())):
                if self._described.get(same) != description:
                    self._described[same] = description
                    self.fresh.append((same, description))
                    self._show_children(same, description)

    def _join(self, inner: Any, number: ValueId) -> None:
        """A lazy tracker turned out to be `inner`, which may have come into view before, as itself
        or as another."""
        entry = self.known.get(id(inner))
        if entry is None or entry() is not inner:
            self._remember(inner, number)
        elif entry.number != number:
            self._same.setdefault(entry.number, set()).add(number)

    def reachable(self, numbers: list[ValueId]) -> dict[ValueId, int]:
        """The descriptions of these and of all that they hold; from now on these are what is
        shown."""
        found: dict[ValueId, int] = {}
        waiting = numbers
        while waiting:
            number = waiting.pop()
            if number not in found and (description := self._described.get(number)) is not None:
                found[number] = description
                waiting += self._describer.children_of(description)
        self.shown.clear()
        self.shown.update(found)
        return found

    def clear(self) -> None:
        """Let go of every tracker."""
        self.known.clear()
        self.shown.clear()
        self.fresh.clear()
        self.undescribed.clear()
        self.changing.clear()
        self.later_depth = -1
        self._later.clear()
        self._described.clear()
        self._constants.clear()
        self._same.clear()
