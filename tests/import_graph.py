"""Who imports whom in `stepper`, as its sources say it, and in which circles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Graph = dict[str, set[str]]


def imports(package: str) -> Graph:
    """For each module in a package, the modules in it that it imports: also within functions, and
    for type checkers only."""
    paths = {_module(path): path for path in (ROOT / package.replace(".", "/")).rglob("*.py")}
    return {
        module: {name for name in _imported(path) if name in paths} - {module}
        for module, path in paths.items()
    }


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def circles(graph: Graph) -> list[set[str]]:
    """Modules that reach each other, the largest circle first."""
    reached = {module: _reachable(graph, module) for module in graph}
    found: list[set[str]] = []
    for module, ahead in reached.items():
        circle = {other for other in ahead if module in reached[other]}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return sorted(found, key=len, reverse=True)


def _reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    pending = [start]
    while pending:
        for name in graph[pending.pop()] - seen:
            seen.add(name)
            pending.append(name)
    return seen
