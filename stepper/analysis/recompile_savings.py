"""How many entries a function would have if something had not changed.

Of each call for which something was compiled it is known what kept it from every entry that was
there (`Recompilation.tried`). So the calls can be gone through again without some of that: a call
which nothing else keeps from an entry is served by it, and makes none. What this says of advice is
counted, and holds for all entries at once: that one thing alone saves nothing, and two do together.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec

from stepper.analysis.recompiles import Recompilation, Tried
from stepper.analysis.sources import unscoped
from stepper.model.lookup import Aspect

Changed = tuple[str, Aspect]
"""A source, and what of it."""


class Savings(msgspec.Struct, frozen=True, dict=True):
    """Counts entries that the recompilations of a function would not have made."""

    recompilations: tuple[Recompilation, ...]

    @cached_property
    def _kept_from(self) -> list[tuple[str, list[tuple[str, frozenset[Changed]]]]]:
        """The entry that was made for each call, and with each that was there what kept the call
        from that; without those of which it is not known."""
        return [
            (
                again.translation.compile_id,
                [(tried.entry, changed) for tried in again.tried if (changed := _changed(tried))],
            )
            for again in self.recompilations
        ]

    def without(self, changes: Iterable[Changed]) -> int:
        """How many of them are left when these never change."""
        never = frozenset(changes)
        made, spared = 0, set[str]()
        for entry, tried in self._kept_from:
            if any(each not in spared and changed <= never for each, changed in tried):
                spared.add(entry)
            else:
                made += 1
        return made

    def needed(self, changes: Iterable[Changed], of: Iterable[Changed]) -> bool:
        """Whether more are left where these change, and all others of some do not."""
        every = frozenset(of)
        return self.without(every) < self.without(every.difference(changes))


def _changed(tried: Tried) -> frozenset[Changed]:
    return frozenset((unscoped(each.source), each.by.aspect) for each in tried.changes)
