"""The values that a condition of the compiler's is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def values_of(node: ast.expr) -> Iterator[str]:
    """The longest expressions in it that begin at a local or a global."""
    inner = node
    while isinstance(inner, ast.Attribute | ast.Subscript | ast.Call):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    if isinstance(inner, ast.Name) and inner.id in ("L", "G") and inner is not node:
        yield ast.unparse(node)
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from values_of(child)
        elif isinstance(child, ast.keyword):
            yield from values_of(child.value)
