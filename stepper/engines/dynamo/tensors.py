"""The properties of fake tensors and symbols, read without dispatching to anybody.

A fake tensor's `shape` is answered by C++ unless a torch function mode or a subclass is in the way; both are disabled
while we look. A symbol is shown by the expression it was made with: asking for a simplified or hinted one could add
guards.
"""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensor

from stepper.model.value import TensorMeta

_DTYPE_NAMES: dict[object, str] = {}


def dtype_name(dtype: object) -> str:
    """`float32` for `torch.float32`."""
    name = _DTYPE_NAMES.get(dtype)
    if name is None:
        name = _DTYPE_NAMES[dtype] = str(dtype).removeprefix("torch.")
    return name


def symbol_text(value: object) -> str:
    """The expression of a SymInt, SymFloat or SymBool, e.g. `s0 + 1`; a plain number as it is."""
    if type(value) in (torch.SymInt, torch.SymFloat, torch.SymBool):
        node = value.node  # type: ignore[attr-defined]
        return str(node.__dict__.get("_expr", node) if hasattr(node, "__dict__") else node)
    return repr(value) if type(value) in (int, float, bool) else "?"


def fake_tensor_meta(value: object) -> TensorMeta | None:
    """What Dynamo knows of a node's example value; None when it is no plain (fake) tensor."""
    if type(value) not in (FakeTensor, torch.Tensor, torch.nn.Parameter):
        return None
    assert isinstance(value, torch.Tensor)
    with torch._C.DisableTorchFunctionSubclass():
        strided = value.layout is torch.strided
        return TensorMeta(
            dtype=dtype_name(value.dtype),
            shape=tuple(symbol_text(size) for size in value.shape),
            stride=tuple(symbol_text(step) for step in value.stride()) if strided else None,
            device=str(value.device),
            requires_grad=value.requires_grad,
            layout=str(value.layout).removeprefix("torch."),
        )
