"""Operators that raise nothing once their arguments fit.

Should a graph that changes its inputs raise an exception half-way, the program runs on what they
held before, if there is something else that it would change. To keep that is not free, and not
needed where nothing in the graph could raise: whether sizes and dtypes fit is known from the run on
fake tensors, and of these operators the data decides nothing else. Nor do they warn of anything,
which a program can have made an error.

What they also refuse is to write where the memory is that of another tensor, too, in part. That is
looked at apart (`OutputGraph.overlaps`), and of inputs checked at each call (`frame_code`).
"""

from __future__ import annotations

import torch.fx

from stepper.native.versions import OF_MODES

_OPERATORS = frozenset(
    {
        "abs", "add", "addcdiv", "addcmul", "addmm", "all", "amax", "amin", "any", "bmm", "ceil",
        "clamp", "clamp_max", "clamp_min", "clone", "contiguous", "copy", "cos", "detach", "empty",
        "empty_like", "eq", "exp", "expand", "expm1", "fill", "flatten", "float", "floor", "full",
        "full_like", "ge", "gt", "le", "lerp", "linear", "log", "log1p", "logical_and",
        "logical_not", "logical_or", "lt", "matmul", "maximum", "mean", "minimum", "mm", "mul",
        "ne", "neg", "norm", "ones", "ones_like", "permute", "pos", "pow", "reciprocal", "relu",
        "reshape", "round", "rsqrt", "sigmoid", "sign", "sin", "size", "softmax", "sqrt", "square",
        "squeeze", "stride", "sub", "sum", "t", "tanh", "to", "transpose", "tril", "triu",
        "truediv", "type", "unsqueeze", "view", "where", "zero", "zeros", "zeros_like",
        "dropout", "gelu", "silu", "layer_norm", "batch_norm", "numel", "store_data",
    }
)  # fmt: skip
"""By their names, without what says that they do it in place."""


def cannot_fail(graph: torch.fx.Graph) -> bool:
    """Whether nothing in a graph raises an exception."""
    return all(map(_is_known, graph.nodes))


def _is_known(node: torch.fx.Node) -> bool:
    if not node.op.startswith("call") or node.target in OF_MODES:
        return True
    if _is_complex(node):  # what becomes a real number warns
        return False
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    if name == "getattr":
        return node.args[1] in ("data", "real")
    if name == "setitem" and _is_mask(node.args[1]):
        return isinstance(node.args[2], int | float)
    if name in ("getitem", "setitem"):
        return _is_plain_index(node.args[1])
    if name.startswith("_foreach_"):
        return True
    name = name.strip("_")
    if name == "div":
        return "rounding_mode" not in node.kwargs
    return name in _OPERATORS or (name.startswith("i") and name[1:] in _OPERATORS)


def _is_complex(node: torch.fx.Node) -> bool:
    """Whether an operator has to do with complex numbers."""
    values = [each.meta.get("example_value") for each in (node, *node.all_input_nodes)]
    return any(isinstance(each, torch.Tensor) and each.is_complex() for each in values)


def _is_mask(index: object) -> bool:
    """Whether an index is a tensor that says of each element whether it is meant."""
    value = index.meta.get("example_value") if isinstance(index, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and value.dtype is torch.bool


def _is_plain_index(index: object) -> bool:
    """Whether an index is of numbers alone, which the run on fake tensors has tried."""
    if isinstance(index, tuple):
        return all(map(_is_plain_index, index))
    return index is None or index is Ellipsis or isinstance(index, int | slice)
