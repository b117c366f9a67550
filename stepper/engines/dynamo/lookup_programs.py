"""The programs that lookups are: the entries of a code in their order, the guards of an entry in
theirs.

A lookup changes the order for the next one: an entry that matched moves to the front, and in an
entry's tree what failed moves ahead of what did not. What can be read of Dynamo when a lookup is
over is therefore the order of the *next* one. So the order is remembered from one lookup to the
next. Where it is not known (entries that were there before anybody looked), what is there now is
shown; only the places of what is tried before the first failure can be others then.

Names of objects that guards know by identity are remembered too, from when the entry was made or
hit: an id says nothing to a person, and when the guard fails the object may be gone.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Sequence
from types import CodeType
from typing import Any

import msgspec

from stepper.engines.common.lookup_walk import ENDS, ENTRY, REGION, Row, Told, died, rows
from stepper.engines.dynamo.bytecode import CodeTable
from stepper.engines.dynamo.cache import BOOK, backend_name, entries_of, is_alive
from stepper.engines.dynamo.guard_tree import Check, GuardTree, leaves_of_kind, length_of
from stepper.engines.dynamo.kept_guards import Kept, Key, again, keep, key_of, keys_of
from stepper.engines.dynamo.lookup_words import checked_guard
from stepper.engines.dynamo.safe_reader import (
    MissingValue,
    SafeReader,
    WouldRunUserCode,
    words,
)
from stepper.engines.dynamo.versions import asks_few_guards
from stepper.engines.dynamo.versions.cache import region_of
from stepper.model.cache import GuardRow, Origin
from stepper.model.datum import Words
from stepper.model.lookup import BACKEND, INVALID, CheckedGuard
from stepper.model.program import Code
from stepper.support.per_object import PerCode, PerObject
from stepper.uncompiled import keep_out

PRECOMPILED = "PRECOMPILED"

EVERYBODY = -1
"""The region of everybody."""

_KNOWS_AN_OBJECT = "ID_MATCH"
"""The kind of guards that know an object by identity."""
_DEAD = re.compile(r"^Cache line invalidated because (.*) got deallocated$")


class Candidate:
    """An entry that a lookup may try. Holds Dynamo's objects: to be dropped with the lookup."""

    def __init__(
        self, origin: Origin, entry: Any, memory: Memory, *, followed: bool = True
    ) -> None:
        """`followed`: each of its lookups is told, so that it is worth while to remember the order
        of its guards for the next one."""
        self._followed = followed
        self.wrapper: Any = entry.guard_manager
        self.precompiled = origin is Origin.PRECOMPILED
        self.region = EVERYBODY if self.precompiled else region_of(entry)
        self.backend: Any = None if self.precompiled else entry.backend
        known = BOOK.by_wrapper(self.wrapper)
        self._draft = None if known is None else known.draft
        code = None if self.precompiled else entry.code
        if self._draft is not None:
            code = self._draft.code
        self.code: CodeType | None = code if type(code) is CodeType else None
        self.memory = memory
        self.label = "precompiled" if self.precompiled else str(entry.compile_id)
        self.tree: GuardTree | None = None
        self.checks: list[Check] = []

    @property
    def valid(self) -> bool:
        """Whether its guards can pass at all: what it depends on has not died."""
        return is_alive(self.wrapper)

    @property
    def dead(self) -> str:
        """What has died of it if it is not valid, as its guards call that; empty where Dynamo does
        not say it."""
        return _DEAD.sub(r"\1", getattr(self.wrapper, "invalidation_reason", ""))

    def read(self) -> None:
        """Read its guards, in the order in which this lookup tried them."""
        memory, few = self.memory, self.asks_few
        remembers = self.remembers
        self.tree = memory.tree(self.wrapper) if remembers else memory.read(self.wrapper, few=few)
        if self._draft is not None:
            # Dynamo runs them as functions of ours, behind one that asks whether it is in use.
            for index, check in enumerate(self._draft.kept_checks, 1):
                row = msgspec.structs.replace(check.row, index=index)
                self.tree.checks[index] = check._replace(row=row)
        order = memory.order if remembers else None
        if order is not None and order is memory.kept_order:
            self.checks = self.tree.checks
            return
        found = dict(zip(keys_of(self.tree.checks), self.tree.checks, strict=True))
        if order is not None and set(order) == set(found):
            self.checks = [found[key] for key in order]
        else:
            self.checks = list(self.tree.checks)
            if remembers:
                self.remember()
        if self._draft is None and remembers:
            memory.keep(self.tree.root, self.checks)

    def time(self, reader: SafeReader) -> int | None:
        """Nanoseconds of its guards, which pass; None: they are a draft's, run as functions."""
        return None if self.tree is None or self._draft else reader.time_of(self.tree.root)

    @property
    def edited(self) -> bool:
        """Whether its guards are functions that somebody has put there."""
        return self._draft is not None

    @property
    def asks_few(self) -> bool:
        """Whether the lookup asks not all of its guards; of what is precompiled it does."""
        return not self.precompiled and asks_few_guards()

    @property
    def remembers(self) -> bool:
        """Whether the next lookup knows the order of its guards from this one."""
        return self._followed and not self.asks_few

    @property
    def scope(self) -> dict[str, Any]:
        """The names that the words of its guards use besides L and G."""
        tree = self.tree if self._draft is None else self._draft.tree
        return {} if tree is None else tree.scope

    def remember(self) -> None:
        """Remember the order in which the next lookup will try its guards: in the same list, where
        it is what it was."""
        # Not from what is kept: the order may be another now.
        tree = self.memory.read(self.wrapper) if self.valid else None
        order = keys_of(tree.checks) if tree else None
        if order != self.memory.order:
            self.memory.order = order

    @property
    def own_rows(self) -> tuple[CheckedGuard, ...]:
        """The rows that are about the entry as a whole; those of its guards come behind them."""
        if not self.valid:
            return (CheckedGuard(INVALID, self.dead, (died(self.dead),)),)
        if self.precompiled:
            return ()
        return (CheckedGuard(BACKEND, "", (), Words(backend_name(self.backend))),)

    def guards(self) -> tuple[CheckedGuard, ...]:
        """All its rows, as they are now that it has been read."""
        rows, own = [check.row for check in self.checks], self.own_rows
        memory = self.memory
        known = memory.listed
        if known is not None and known[:3] == (rows, own, len(memory.names)):
            return known[3]
        named = (memory.names.get(key_of(row), "") for row in rows)
        found = (*own, *map(checked_guard, rows, named))
        memory.listed = rows, own, len(memory.names), found
        return found


_Rows = tuple[list[GuardRow], tuple[CheckedGuard, ...], int, tuple[CheckedGuard, ...]]
"""Its guards, the rows about the entry as a whole, how many names were known, and all its rows."""
_Listed = tuple["weakref.ref[CodeType]", tuple[str, Sequence[CheckedGuard]], Code]
"""Whose call it was, the label of the entry and its rows, and what they became."""


class Memory:
    """What is remembered of an entry from one lookup to the next; holds nothing of the program."""

    __slots__ = (
        "_trees", "kept_order", "learned", "lengths", "listed", "names", "order", "place",
        "program", "told",
    )  # fmt: skip

    def __init__(self, place: int) -> None:
        self.order: list[tuple[Key, int]] | None = None
        self.names: dict[Key, str] = {}
        self.lengths: dict[str, int] = {}
        """How many keys the dicts had when it was made, by source."""
        self.place = place
        """Entries that were met earlier have lower numbers."""
        self.told: Told = {}
        """What was told last of each of its rows."""
        self._trees: PerObject[Any, Kept] = PerObject()
        self.kept_order: list[tuple[Key, int]] | None = None
        """The order in which its guards are kept; None: they are not."""
        self.listed: _Rows | None = None
        """Its rows as they were recorded last."""
        self.program: _Listed | None = None
        """Its rows as they were listed last."""
        self.learned = False
        """Whether it was seen at a call for which its guards pass."""

    def tree(self, wrapper: Any) -> GuardTree:
        """The entry's guards; read anew where they cannot be kept."""
        root = wrapper.root
        if root is None:
            return self.read(wrapper)
        kept = self._trees.get(root)
        checks = None if kept is None else again(kept, root)
        if checks is not None:
            return GuardTree(wrapper, checks=checks)
        self.kept_order = None
        return self.read(wrapper)

    def read(self, wrapper: Any, *, few: bool = False) -> GuardTree:
        """The entry's guards, read anew; `few`: only those that have told entries apart."""
        return GuardTree(wrapper, lengths=self.lengths, few=few)

    def keep(self, root: Any, checks: list[Check]) -> None:
        """Keep its guards as they were put into the order that is remembered, where they can be."""
        if (kept := keep(root, checks)) is not None:
            self._trees.set(root, kept)
            self.kept_order = self.order

    def learn(self, wrapper: Any, reader: SafeReader) -> None:
        """What the objects are called that the entry's guards know by identity, and how many keys
        dicts have: at a call for which they pass, they are there."""
        if self.learned or not is_alive(wrapper):
            return
        self.learned = True
        for source, code in leaves_of_kind(wrapper, _KNOWS_AN_OBJECT):
            try:
                found = reader.reach(source)
            except (MissingValue, WouldRunUserCode):
                continue
            if code is not None:
                self.names[_KNOWS_AN_OBJECT, source, code] = words(found)
            elif (length := length_of(found)) is not None:
                self.lengths[source] = length
        if self.lengths:  # what was kept does not know them
            self._trees.clear()


class Programs:
    """Makes lookups into code objects, and remembers orders."""

    def __init__(self, codes: CodeTable) -> None:
        self._codes = codes
        self._memories: PerObject[Any, Memory] = PerObject()
        self._orders: PerCode[list[int]] = PerCode()
        """The places of a code's entries, as the next lookup tries them."""
        self._count = 0

    def clear(self) -> None:
        """Forget all."""
        self._memories.clear()
        self._orders.clear()

    # -- entries -----------------------------------------------------------------------------

    def candidates(self, code: CodeType, *, followed: bool = True) -> list[Candidate]:
        """The entries of a code, in the order in which the lookup tried them that is just over;
        `followed`: its lookups are told."""
        entries = entries_of(code)
        for _, entry in reversed(entries):  # where nobody saw them made: the newest stand first
            self.memory(entry.guard_manager)
        listed = [
            Candidate(origin, entry, self.memory(entry.guard_manager), followed=followed)
            for origin, entry in entries
        ]
        known = self._orders.get(code)
        if known is None:
            return listed
        found = {each.memory.place: each for each in listed}
        before = [place for place in known if place in found]
        # A new entry goes to the front of its region's list; the winner may have moved since.
        new = sorted(found.keys() - set(known), reverse=True)
        ordered = [found[place] for place in (*new, *before)]
        ordered.sort(key=lambda each: (not each.precompiled, each.region == EVERYBODY, each.region))
        return ordered

    def order(self, code: CodeType) -> list[int]:
        """The places of a code's entries, as the next lookup will try them."""
        return [self.memory(entry.guard_manager).place for _, entry in entries_of(code)]

    def note_order(self, code: CodeType) -> list[int]:
        """Remember in which order the next lookup of a code will try its entries."""
        return self._orders.set(code, self.order(code))

    def memory(self, wrapper: Any) -> Memory:
        """What is remembered of the entry whose guard manager that is."""
        known = self._memories.get(wrapper)
        if known is None:
            self._count += 1
            known = self._memories.set(wrapper, Memory(self._count))
        return known

    # -- code objects ------------------------------------------------------------------------

    def of_entries(self, code: CodeType, candidates: list[Candidate], regions: bool) -> Code:
        """A lookup as a whole: a row for each region and entry, then how it can end."""
        found: list[Row] = []
        region: int | None = None
        for each in candidates:
            if regions and not each.precompiled and each.region != region:
                region = each.region
                found.append((REGION, region_name(region), None))
            found.append((PRECOMPILED if each.precompiled else ENTRY, entry_text(each), None))
        return self._codes.lookup(code, code.co_name, code.co_qualname, rows((*found, *ENDS)))

    def of_guards(
        self, code: CodeType, candidate: Candidate, guards: Sequence[CheckedGuard]
    ) -> Code:
        """One entry: a row for each of its checks."""
        known = candidate.memory.program
        if known is not None and known[0]() is code and known[1] == (candidate.label, guards):
            return known[2]
        name = f"guards of {candidate.label}"
        found = rows((guard.kind, guard.text, user_line(guard, code)) for guard in guards)
        made = self._codes.lookup(code, name, name, found)
        candidate.memory.program = weakref.ref(code), (candidate.label, guards), made
        return made


def entry_text(candidate: Candidate) -> str:
    """An entry in a line."""
    return "" if candidate.precompiled else candidate.label


def region_name(region: int) -> str:
    """A region in words."""
    return "of everybody" if region == EVERYBODY else f"{region}"


def user_line(row: CheckedGuard, code: CodeType) -> int | None:
    """The line that caused a guard, when it is one of the function's file."""
    place = None if row.user_line is None else row.user_line.place
    if place is None or not code.co_filename.endswith(place.filename.removeprefix("...")):
        return None
    return place.line


keep_out()
