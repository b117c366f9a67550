"""The values that a condition of the compiler's is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple


def parsed(expression: str) -> ast.expr | None:
    """An expression of the compiler's, or of whoever has written a recording; None: it is none."""
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class Membership(NamedTuple):
    """That a container has an element, or that it has not."""

    kind: str
    """That of Dynamo's check, e.g. `DICT_CONTAINS`."""
    what: str
    """`keys`, `elements` or `attributes`."""
    source: str
    """The container, as it is written in the condition."""
    element: str
    """As it is written."""
    name: str | None
    """The element, where it is a text."""
    there: bool
    """Whether it must be there."""

    @property
    def words(self) -> tuple[str, str]:
        """What must be, and what is where it fails: `with 'mask'`, `without 'mask'`."""
        both = f"with {self.element}", f"without {self.element}"
        return both if self.there else (both[1], both[0])


def membership_of(condition: str) -> Membership | None:
    """What a condition of Dynamo's asks a container for; None: it asks for something else."""
    node, there = parsed(condition), True
    match node:
        case ast.UnaryOp(ast.Not(), inner):
            node, there = inner, False
    match node:
        case ast.Call(ast.Name("___dict_contains"), [element, of], []):
            kind, what = "DICT_CONTAINS", "keys"
        case ast.Call(ast.Attribute(ast.Name("set"), "__contains__"), [of, element], []):
            kind, what = "SET_CONTAINS", "elements"
        case ast.Call(ast.Name("hasattr"), [of, element], []):
            kind, what = "HASATTR" if there else "NO_HASATTR", "attributes"
        case _:
            return None
    name = element.value if isinstance(element, ast.Constant) else None
    text = name if isinstance(name, str) else None
    return Membership(kind, what, ast.unparse(of), ast.unparse(element), text, there)


def compared_with_constant(condition: str) -> tuple[str, str] | None:
    """What a condition wants to be equal to a constant, and the constant, as they are written;
    None: it asks for something else."""
    match parsed(condition) if " == " in condition else None:
        case ast.Compare(left, [ast.Eq()], [right]) if _is_constant(right):
            if not isinstance(left, ast.Constant):
                return ast.unparse(left), ast.unparse(right)
    return None


def _is_constant(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(ast.USub(), ast.Constant()):
            return True
    return False


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
