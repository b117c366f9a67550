"""The house keeps its shape: who imports whom, how long a file may be, what a start costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 800


def test_import_contracts_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    outcome = subprocess.run(
        [command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_native_engine_takes_nothing_of_dynamos_tracer() -> None:
    """Only the registry of backends. (Import contracts know torch as a whole, not its parts.)"""
    allowed = {"torch._dynamo.backends.registry"}
    taken = {
        f"{path.relative_to(ROOT)}: {name}"
        for room in ("native", "common")
        for path in (ROOT / "stepper/engines" / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _imported(node)
        if name.startswith("torch._dynamo") and name not in allowed
    }
    assert not taken


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module == "torch":
        return [f"torch.{alias.name}" for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_no_file_is_too_long() -> None:
    too_long = [
        f"{path.relative_to(ROOT)} has {count} lines"
        for folder in ("stepper", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (count := len(path.read_text().splitlines())) > LONGEST
    ]
    assert not too_long


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("stepper", {"torch", "textual", "sqlite3"}),
        ("stepper.model", {"torch", "textual", "sqlite3"}),
        ("stepper.recording", {"torch", "textual"}),
        ("stepper.client", {"torch", "textual"}),
        ("stepper.analysis", {"torch", "textual", "sqlite3"}),
        ("stepper.console", {"torch", "textual"}),
        ("stepper.cli", {"torch", "textual"}),
        ("stepper.tui", {"torch"}),
        ("stepper.debuggee", {"textual"}),
        ("stepper.engines.dynamo", {"textual"}),
    ],
)
def test_import_loads_nothing_heavy(
    module: str,
    unwanted: set[str],
    run_python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    outcome = run_python("-c", f"import sys, {module}; print(*(set(sys.modules) & {unwanted!r}))")
    assert outcome.returncode == 0, outcome.stderr
    assert not outcome.stdout.split()
