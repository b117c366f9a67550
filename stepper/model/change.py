"""Changes to a program that can be tried from outside of it, so as to see what they come to.

They are told to the debuggee when it begins, and made there: the program's files stay as they are.
"""

from __future__ import annotations

import msgspec


class _Change(msgspec.Struct, frozen=True, tag_field="change"):
    pass


class MarkSize(_Change, frozen=True, tag="mark"):
    """`torch._dynamo.mark_dynamic(tensor, dim)` before each call of a function is compiled."""

    function: str
    """Its qualified name."""
    filename: str
    line: int
    """Its first line."""
    source: str
    """The tensor, as an expression over the function's variables, e.g. `self.weight`."""
    dim: int

    def __str__(self) -> str:
        return f"mark_dynamic({self.source}, {self.dim})"


class Setting(_Change, frozen=True, tag="setting"):
    """A setting of `torch._dynamo.config`, from the beginning."""

    name: str
    value: bool

    def __str__(self) -> str:
        return f"torch._dynamo.config.{self.name} = {self.value}"


Change = MarkSize | Setting
