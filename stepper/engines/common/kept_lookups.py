"""Lookups that were told in full, to be told again: what engines compare them by.

A call is another occasion where it comes from another place of the program, in another thread, or
with tensors of other sizes; of each occasion the lookup that was told last is kept. An engine finds
out which guards may have seen something else, and looks at those again; everything else that is
told of a lookup is compared here.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Hashable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import torch

from stepper.debuggee.described import Described
from stepper.debuggee.engine import Recorder
from stepper.debuggee.told_again import ToldLookup
from stepper.engines.common.lookup_walk import Call
from stepper.engines.common.rebuildable import describe_whole
from stepper.engines.common.shape_conditions import values_in
from stepper.engines.common.values import unchanged
from stepper.engines.common.versions import without_torch_function
from stepper.model.program import PythonFrame
from stepper.support.per_object import PerObject
from stepper.support.words import one_of
from stepper.uncompiled import keep_out

_MOST_KEPT = 131_072
"""Guards and arguments of the lookups that are kept, of all entries, some 16 MB: of an entry, one
of each place of the program from which it is called, and of each set of sizes that it is called
with there."""
A_LOOKUP = 32
"""As what a lookup counts by itself."""
TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
ONE_VALUE: frozenset[type] = frozenset({int, str, bool, type(None)})
"""Types of values that are the same if they are equal, and of the same type."""
_SIZES = (".size()[", ".stride()[")
"""How an expression of a tensor's size or stride goes on behind the tensor."""

K = TypeVar("K")
Varying = TypeVar("Varying")


class KeptLookup(NamedTuple, Generic[Varying]):
    """A lookup that was told in full."""

    told: ToldLookup
    names: tuple[str, ...]
    """Those of the arguments."""
    arguments: tuple[Described, ...]
    varying: tuple[Varying, ...]
    """Guards that may see something else and pass, and what they saw."""

    def has(self, arguments: dict[str, Any]) -> bool:
        """Whether all that is told of a call's arguments is what was told of those of this one."""
        return tuple(arguments) == self.names and unchanged.alike(
            tuple(arguments.values()), self.arguments
        )

    def tensors(self) -> Iterator[str]:
        """The expressions of the tensors that its arguments are or hold: all that is told of them
        is compared at each call."""
        for name, each in zip(self.names, self.arguments, strict=True):
            yield from _tensors(f"L['{name}']", each)


class KeptEntry(Generic[Varying]):
    """What is kept of an entry."""

    def __init__(self) -> None:
        self.hits = 0
        self.order: object = None
        """In which its guards are asked, in the lookups that are kept."""
        self.entries: object = ()
        """All entries of the code, then: each is told of in a lookup."""
        self.lookups: dict[Hashable, KeptLookup[Varying]] = {}
        """By the occasion."""

    def find(self, occasion: Hashable, arguments: dict[str, Any]) -> KeptLookup[Varying] | None:
        """The lookup that a call repeats, as far as its guards see the same; None: it is to be told
        in full."""
        if _is_measured(self.hits + 1):
            return None
        found = self.lookups.get(occasion)
        return found if found is not None and found.has(arguments) else None

    def tell_again(self, recorder: Recorder, lookup: KeptLookup[Varying], began: int) -> int | None:
        """Tell a lookup again, for a call that began then, by `time.perf_counter_ns`; returns the
        number of the new one, None: it is to be told in full."""
        number = recorder.lookup_again(lookup.told, began)
        self.hits += number is not None
        return number


class KeptLookups(Generic[K, Varying]):
    """Those of all entries, up to a limit; `K`: by what of an entry they are known."""

    def __init__(self) -> None:
        self.entries: PerObject[K, KeptEntry[Varying]] = PerObject()
        self._kept: deque[tuple[weakref.ref[KeptEntry[Varying]], Hashable, int]] = deque()
        """Whose lookups are kept, which, and as what each counts; the oldest is the first to go."""
        self._counted = 0

    def clear(self) -> None:
        """Forget all."""
        self.entries.clear()
        self._kept.clear()
        self._counted = 0

    def measures(self, key: K) -> bool:
        """A hit of an entry is about to be told in full: whether times are to be measured."""
        entry = self.entries.get(key) or self.entries.set(key, KeptEntry())
        entry.hits += 1
        return _is_measured(entry.hits)

    def keep(
        self, entry: KeptEntry[Varying], occasion: Hashable, lookup: KeptLookup[Varying]
    ) -> None:
        """Keep a lookup of an entry, in place of the one of that occasion."""
        if occasion not in entry.lookups:
            size = A_LOOKUP + len(lookup.varying)
            while self._kept and self._counted + size > _MOST_KEPT:
                oldest, other, counted = self._kept.popleft()
                self._counted -= counted
                if (found := oldest()) is not None:
                    found.lookups.pop(other, None)
            self._kept.append((weakref.ref(entry), occasion, size))
            self._counted += size
        entry.lookups[occasion] = lookup


def _is_measured(hit: int) -> bool:
    return hit & (hit - 1) == 0


def comparable(call: Call, told: ToldLookup) -> KeptLookup[Any] | None:
    """A lookup without its guards; None: what is told of its arguments cannot be compared."""
    arguments = (*map(describe_whole, call.f_locals.values()),)
    found: KeptLookup[Any] = KeptLookup(told, tuple(call.f_locals), arguments, ())
    return found if all(map(_says_all, arguments)) and found.has(call.f_locals) else None


def occasion_of(
    thread: str, python_stack: tuple[PythonFrame, ...], arguments: dict[str, Any]
) -> Hashable:
    """What a call is an occasion of."""
    with without_torch_function():  # or a mode of the program's would be asked
        sizes: list[torch.Size] = []
        for each in arguments.values():
            # `one_of` would take three times as long, and each call waits for this.
            kind = type(each)
            if kind is torch.Tensor or kind is torch.nn.Parameter:
                sizes.append(each.shape)
            elif kind is list or kind is tuple or kind is dict:
                held = list(each.values()) if kind is dict else each
                sizes += [item.shape for item in held if type(item) is torch.Tensor]
    return thread, python_stack, tuple(sizes)


def is_about_sizes(condition: str, tensors: frozenset[str]) -> bool:
    """Whether a condition compares only sizes and strides of some tensors."""
    compared = values_in(condition) or ()
    return bool(compared) and all(_whose_size(each) in tensors for each in compared)


def _whose_size(expression: str) -> str:
    """The tensor of which an expression is a size or a stride; empty: it is none."""
    return next((expression.rpartition(each)[0] for each in _SIZES if each in expression), "")


def _says_all(described: Described) -> bool:
    """Whether what is said of an argument can be compared with another one: of a long container
    all is said in one text, beside the first of what it holds."""
    return not described.children or (
        described.value.constant is None
        and all(_says_all(child) for _, child in described.children)
    )


def _tensors(source: str, described: Described) -> Iterator[str]:
    if described.kind is not None and one_of(described.kind, TENSORS):
        yield source
    for label, child in described.children:
        yield from _tensors(f"{source}{label}", child)


keep_out()
