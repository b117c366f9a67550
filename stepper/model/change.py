"""Changes to a program that can be tried from outside of it, so as to see what they come to.

They are told to the debuggee when it begins, and made there: the program's files stay as they are.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class _Change(msgspec.Struct, frozen=True, tag_field="change"):
    pass


class _OfFunction(_Change, frozen=True):
    """A change that is made when a call of a function is about to be compiled."""

    function: str
    """Its qualified name."""
    filename: str
    line: int
    """Its first line."""


class MarkSize(_OfFunction, frozen=True, tag="mark"):
    """`torch._dynamo.mark_dynamic(tensor, dim)`, or a function like it, before each call is
    compiled."""

    source: str
    """The tensor, as an expression over the function's variables, e.g. `self.weight`."""
    dim: int
    how: Literal["mark_dynamic", "maybe_mark_dynamic", "mark_unbacked"] = "mark_dynamic"

    def __str__(self) -> str:
        return f"{self.how}({self.source}, {self.dim})"


class Admit(_OfFunction, frozen=True, tag="admit"):
    """Something that is called no longer breaks the graph."""

    way: Literal["allow_in_graph", "reorder"]
    """Whether it goes into the graph, or is called after it as a function that only prints."""
    source: str
    """What is called, as an expression over the function's locals `L` and globals `G`."""
    called: str
    """What is called, as a person would name it."""
    decorators: str
    """See `Capabilities.decorators`."""

    def __str__(self) -> str:
        if self.way == "reorder":
            return f"torch._dynamo.config.reorderable_logging_functions.add({self.called})"
        return f"{self.decorators}.allow_in_graph({self.called})"


class Decorate(_OfFunction, frozen=True, tag="decorate"):
    """A decorator of the compiler's on a function of a module or class."""

    decorator: Literal["disable", "allow_in_graph"]
    decorated: str
    """The function's qualified name."""
    decorated_filename: str
    decorated_line: int
    """Its first line."""
    decorators: str
    """See `Capabilities.decorators`."""

    def __str__(self) -> str:
        return f"{self.decorators}.{self.decorator}({self.decorated})"


class Dynamic(_Change, frozen=True, tag="dynamic"):
    """`dynamic=True` for all that is compiled, also where the program says something else."""

    compile: str
    """See `Capabilities.compile`."""

    def __str__(self) -> str:
        return f"{self.compile}(dynamic=True)"


class Setting(_Change, frozen=True, tag="setting"):
    """A setting of the compiler's, from the beginning."""

    name: str
    value: bool
    of: Literal["torch._dynamo.config", "torch.fx.experimental._config"] = "torch._dynamo.config"
    """The module that it belongs to."""

    def __str__(self) -> str:
        return f"{self.of}.{self.name} = {self.value}"


Change = MarkSize | Admit | Decorate | Dynamic | Setting
