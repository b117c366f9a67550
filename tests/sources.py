"""The syntax trees of our own sources, for tests that look at all of them.

They are a million objects: made once for all tests of a module, and let go of after it, since
the garbage collector would walk through them each time.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

Nodes = Callable[[Path], list[ast.AST]]
"""The nodes of a file's syntax tree, its module's first."""


def parsed() -> Iterator[Nodes]:
    """Parse each file once, with the collector at rest; for a fixture of a module."""

    @cache
    def nodes(path: Path) -> list[ast.AST]:
        return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]

    gc.disable()
    try:
        yield nodes
    finally:
        gc.enable()
