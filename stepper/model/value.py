"""What the compiler knows of a value: the description of one VariableTracker at one moment.

A tracker has a number (`ValueId`) for as long as it lives, so that one tracker in two places is
seen as one. Its description can change, when the tracker is mutated or a lazy tracker is realized;
each change is a new `Value`, and a moment shows the newest one that is not later than the moment.
"""

from __future__ import annotations

import msgspec

from stepper.model.ranges import Ranges

ValueId = int


class TensorMeta(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The properties of a tensor that Dynamo tracks. Sizes are text, since they may be symbols
    (`s0`)."""

    dtype: str
    """Without the `torch.` prefix, e.g. `float32`."""
    shape: tuple[str, ...] | None
    """None when the rank is not known."""
    stride: tuple[str, ...] | None = None
    device: str = "cpu"
    requires_grad: bool = False
    layout: str = "strided"
    subclass: str = ""
    """Name of the tensor's class when it is not `torch.Tensor`."""

    @property
    def brief(self) -> str:
        """Dtype and shape in short form, e.g. `f32[2, 3]`."""
        short = SHORT_DTYPES.get(self.dtype, self.dtype)
        return f"{short}[{', '.join(self.shape)}]" if self.shape is not None else f"{short}[?]"


SHORT_DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8",
    "complex64": "c64", "complex128": "c128",
}  # fmt: skip


class Item(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A child of a container: an element, an entry, an attribute, a cell's content."""

    label: str
    """How a person would reach it: `[0]`, `['key']`, `.attr`."""
    value: ValueId


CLASS_FACT, MEMBER_FACT = "importable as", "member"
"""Attributes of a value that is nothing but its fields: `module:qualname` of its class; of an
enumeration, the member's name."""


MODULE_FACT = ("stands for", "an nn.Module")
"""An attribute of what is known to be a module though no tracker says so: of what nobody has
looked at yet, and of real values."""


class Value(msgspec.Struct, frozen=True, gc=False, array_like=True, omit_defaults=True):
    """The description of a VariableTracker.

    csrc/describe/facts.c packs the fields in this order."""

    cls: str
    """Name of the tracker's class, e.g. `TensorVariable`."""
    type: str = ""
    """Name of the Python type it stands for, when known without running anything."""
    text: str = ""
    """A short form for one line: the constant, the tensor's dtype and shape, the function's name.
    Bounded."""
    source: str = ""
    """Where the value comes from, e.g. `L['x'].weight`; empty for a value that was made while
    tracing."""
    mutability: str = ""
    """Dynamo's mutation type in words, e.g. `immutable`, `existing object`, `new list`."""
    items: tuple[Item, ...] = ()
    length: int | None = None
    """Number of children, when it is a container; may be more than `items` holds."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Further facts by name, in the order in which to show them."""
    constant: str | None = None
    """The constant's bounded repr, when the tracker stands for a constant."""
    tensor: TensorMeta | None = None
    node: str = ""
    """Name of the FX node (proxy) that computes it."""
    lazy: bool = False
    """True while a lazy tracker has not been realized."""
    guards: Ranges = ()
    """Ids of the guards on which the value depends, where they travel on the trackers: in the
    native engine."""

    @property
    def brief(self) -> str:
        """One line: what a person would call this value."""
        return self.text or self.type or self.cls
