"""The conditions of shape guards, one by one, and the values that they compare.

A condition is an expression over `L` and `G`. The native engine has a guard for each. Dynamo makes
one guard of all of them: a function in Python that runs behind the tree and tests them in turn, or
with `enable_cpp_symbolic_shape_guards` one in C++, which runs when the last of its values has been
reached. That guard's words are these expressions, with their lines, in the order in which they are
tested. Here they are taken apart, so that each can be shown, timed and asked by itself.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from stepper.support.guarded_values import values_of

SHAPE_ENV = "SHAPE_ENV"
IN_PYTHON = "LAMBDA_GUARD"
IN_CPP = "SYMBOLIC_SHAPE_GUARD"

_METHODS = frozenset({"size", "stride", "storage_offset", "item"})
"""What conditions call of tensors."""


@lru_cache(maxsize=4_000)
def values_in(condition: str) -> tuple[str, ...] | None:
    """The expressions of the values that a condition compares, each once, e.g. `L['x'].size()[0]`;
    None: it is no condition on sizes and numbers only."""
    try:
        tree = ast.parse(condition, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for call in ast.walk(tree):
        if isinstance(call, ast.Is | ast.IsNot):
            return None  # which object it is: no size
        if isinstance(call, ast.Call):
            func = call.func
            named = isinstance(func, ast.Name)
            method = isinstance(func, ast.Attribute) and (
                func.attr in _METHODS or isinstance(func.value, ast.Name)
            )
            if not (named or method):
                return None
    return tuple(dict.fromkeys(values_of(tree.body)))


@lru_cache(maxsize=1_000)
def same_object_as(code: tuple[str, ...]) -> str:
    """The second expression of a guard that two are one object; empty: it is none."""
    try:
        [compared] = [ast.parse(part, mode="eval").body for part in code]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    match compared:
        case ast.Compare(ops=[ast.Is()], comparators=[other]) if list(values_of(compared))[1:]:
            return ast.unparse(other)
    return ""


def seen(values: dict[str, Any]) -> Any:
    """What a condition saw: the value, or where it compares several, each by its expression."""
    return next(iter(values.values())) if len(values) == 1 else values
