"""One thing to check, as it travels on trackers, and as an entry keeps it.

A `Guard` says of what (a source's name) and how (a method of `GuardBuilder`) something is to be
checked before captured code may run. They are made while values are wrapped, travel on the trackers
that depend on them, and are all installed: what travels says which of them a value needs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import torch

from stepper.native.source import GuardSource, Source

if TYPE_CHECKING:
    from stepper.native.guards.guard_builder import GuardBuilder


class Guard(msgspec.Struct, frozen=True, eq=False):
    """One thing to check; `OutputGraph.install_guard` makes equal ones one.

    name: the expression that is checked; empty for those that are about no value.
    source: what kind of source that is.
    create_fn: the method of `GuardBuilder` that writes the check.
    """

    name: str
    source: GuardSource
    create_fn: Callable[[GuardBuilder, Guard], None]
    origin: Source | None = None
    value: Any = None
    """What was there; not kept longer than the translation."""
    code_list: list[str] = []
    """The conditions, once they are written."""

    def __repr__(self) -> str:
        return f"<Guard {self.kind} {self.name}>"  # never the value's own

    @property
    def kind(self) -> str:
        """The name of the method: `TENSOR_MATCH`, …"""
        function = self.create_fn
        while isinstance(function, functools.partial):
            function = function.func
        return function.__name__

    def create(self, builder: GuardBuilder) -> None:
        """Write the check."""
        self.create_fn(builder, self)


class Constant(NamedTuple):
    """A plain value that a guard wants: a constant, a length, a dictionary's keys."""

    value: object


class ExpectedTensor(NamedTuple):
    """What a guard wants of a tensor; None: a size or stride that shape guards speak of."""

    cls: str
    dtype: torch.dtype
    shape: tuple[int | None, ...]
    stride: tuple[int | None, ...]
    device: torch.device
    requires_grad: bool
    layout: torch.layout
    gradients: bool
    """Whether it has the keys for gradients, which inference mode takes away."""


class GuardPart(msgspec.Struct, frozen=True):
    """A guard as a cache entry keeps it, without what was there.

    expected: what the value must be: in words, where it is no plain value and no tensor.
    reachable: whether `name` is the expression of one value.
    """

    kind: str
    name: str
    source: str
    code: tuple[str, ...]
    expected: str | Constant | ExpectedTensor = ""
    reachable: bool = False

    def __str__(self) -> str:
        return " and ".join(self.code) or f"{self.kind} {self.name}"


ADDED = "ADDED"
"""The kind of a guard that somebody has written by hand."""


@dataclass(frozen=True)
class Dims:
    """What a tensor's guard asks of sizes and strides; None: what shape guards say."""

    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]

    def __str__(self) -> str:
        return ", ".join("?" if size is None else str(size) for size in self.sizes)
