"""The graphs that transformed code calls by global names, `__compiled_fn_…`."""

from __future__ import annotations

from types import CodeType
from typing import Any

from torch.fx import GraphModule

from stepper.engines.common.graphs import graph_behind

ORIGINAL = "_torchdynamo_orig_callable"
"""The attribute of a wrapper that disables the compiler, for what it calls."""


def compiled_names(code: CodeType) -> tuple[str, ...]:
    """The globals by which a transformed code calls its graphs."""
    return tuple(name for name in code.co_names if name.startswith("__compiled_fn_"))


def graph_of(code: CodeType, wrapper: Any) -> GraphModule | None:
    """The graph that a transformed code calls, if its backend kept it. `wrapper` is the entry's
    guard manager, which knows the globals."""
    scope = wrapper.global_scope if wrapper is not None else None
    namespace = scope.get("G") if scope else None
    if namespace is None:
        return None
    for name in compiled_names(code):
        if (found := graph_behind(namespace.get(name))) is not None:
            return found
    return None
