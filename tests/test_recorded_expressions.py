"""Nothing that a recording holds as an expression is run, whoever wrote it: not where it is read,
and not where its program runs again to try advice, which names values by such expressions."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import ready
from tests.conftest import clean_environment
from tests.stored import inflated
from tests.tui.screen import until
from tests.tui.test_app import WIDE, opened
from tests.tui.test_why_screen import text

PROGRAM = """
import torch
from stepper import native

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 10

    def forward(self, x):
        self.calls += 1
        return x * self.calls

def shout(x):
    torch._dynamo.graph_break()
    return x

def by_size(x, mode):
    shout(x)
    print("a size")
    return x * x.shape[0] + len(mode)

compiled = native.optimize(lambda module, inputs: module.forward) if NATIVE else torch.compile(
    backend="eager"
)
net, by_size = compiled(Net()), compiled(by_size)
for size in (2, 3, 4):
    net(torch.ones(2))
    by_size(torch.ones(size), "m" * size)
"""

RUNS = "system('touch PLANTED')"
HOSTILE = {
    "import": f"(__import__('os').{RUNS}, {{}})[1]",
    # What is evaluated without builtins is so to keep torch's words apart, and holds nobody off.
    "without builtins": "[each for each in ().__class__.__base__.__subclasses__() if each.__name__"
    " == '_wrap_close'][0].__init__.__globals__['system']('touch PLANTED') or {}",
}
ROOTS = ("L[", "G[", "x", "mode", "self", "len(", "type(", "print", "shout", "torch.")


def record(folder: Path, engine: str) -> Path:
    """A recording of a program that lies beside it, made by this user here."""
    (folder / "program.py").write_text(PROGRAM.replace("NATIVE", str(engine == "native")))
    path = folder / "hostile.stepper"
    stepper(folder, "record", "--engine", engine, "--lookups", "-o", path.name, "program.py")
    return path


def stepper(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ready.stepper(*words), cwd=folder, env=clean_environment(), capture_output=True, text=True,
        timeout=600, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def spoiled(item: Any, change: Callable[[str], str]) -> Any:
    """The same with every expression in it changed, in whatever is packed in it, too."""
    if isinstance(item, str):
        return change(item) if item.startswith(ROOTS) else item
    if isinstance(item, bytes):
        try:
            inner = msgspec.msgpack.decode(inflated(item), strict=True)
        except msgspec.DecodeError:
            return item
        return msgspec.msgpack.encode(spoiled(inner, change))
    if isinstance(item, list | tuple):
        return [spoiled(each, change) for each in item]
    if isinstance(item, dict):
        return {key: spoiled(each, change) for key, each in item.items()}
    return item


def spoil(path: Path, expression: str) -> int:
    """Replace the expressions of a recording; how many there were."""
    count = 0

    def change(text: str) -> str:
        nonlocal count
        count += 1
        return expression.format(text)

    connection = sqlite3.connect(path)
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in tables:
        if table in ("session", "code", "output"):  # what is run again, and the names of functions
            continue
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        for row in connection.execute(f"SELECT rowid, * FROM {table}").fetchall():
            cells = [*spoiled(row[1:], change), row[0]]
            settings = ", ".join(f"{name} = ?" for name in columns)
            connection.execute(f"UPDATE {table} SET {settings} WHERE rowid = ?", cells)
    connection.commit()
    connection.close()
    return count


ASKING = (
    ("why-recompile", "--replay", "--yes", "--trust"),
    ("why-break", "--replay", "--yes", "--trust"),
    ("why-guard", "*", "--experiment", "--yes", "--trust"),
)
JUDGED = r"\b(proven|no help|not advised|failed): "
TRIED = {"why-recompile": JUDGED, "why-break": JUDGED, "why-guard": "by experiment:"}
"""What says that the program was run again, and how that went."""
READING = (
    ("why-recompile",), ("why-break",), ("why-guard", "*"), ("is-guarded", "x"), ("idle-guards",),
    ("report", "--format", "json"), ("query", "select * from guards"), ("post-mortem",),
    ("report", "--format", "markdown"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "how"), [("dynamo", "without builtins"), ("native", "import")])
async def test_none_is_run(engine: str, how: str, tmp_path: Path) -> None:
    path = record(tmp_path, engine)
    assert spoil(path, HOSTILE[how]) > 60
    planted = tmp_path / "PLANTED"
    for command, *words in (*READING, *ASKING):
        said = stepper(tmp_path, command, path.name, *words)
        assert not planted.exists(), (command, *words)
        if command in TRIED and "--yes" in words:
            assert re.search(TRIED[command], said), said
    with ready.forking():
        async with opened(path, WIDE) as (app, pilot):
            await pilot.press("W", "x")
            assert "Run this again on this machine" in text(app)
            await pilot.press("r")
            await until(pilot, lambda: re.search(JUDGED, text(app)) is not None)
    assert not planted.exists()
