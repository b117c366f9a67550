"""A program that runs with other text in its files sees of itself what it always sees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from stepper.debuggee import scratch_main
from tests.conftest import ROOT, clean_environment

MAIN = '''"""Its text."""
import inspect, linecache, sys
import helper

def shown():
    return 1

for name in sorted(globals()):
    print(name, globals()[name] if name in ("__name__", "__file__", "__doc__") else "")
print(__spec__ and __spec__.name, __spec__ and __spec__.origin)
print(sys.argv, sys.path[0], inspect.getsource(shown), helper.value, helper.__file__)
print(sys.modules["__main__"].__dict__ is globals())
'''


def run(folder: Path, kind: str, files: dict[str, str], *words: str) -> str:
    """What the program prints: as it is without `files`, and else with this text in them."""
    usual = ["program.py"] if kind == "script" else ["-m", "program"]
    command = [*usual, *words]
    if files:
        target = "program.py" if kind == "script" else "program"
        told = folder / "scratch.json"
        told.write_text(json.dumps({"kind": kind, "target": target, "files": files}))
        command = [str(scratch_main.__file__), str(told), *words]
    environment = clean_environment() | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["script", "module"])
def test_what_it_sees_of_itself_is_the_same(kind: str, tmp_path: Path) -> None:
    path, helper = tmp_path / "program.py", tmp_path / "helper.py"
    path.write_text(MAIN)
    helper.write_text("value = 1\n")
    usual = run(tmp_path, kind, {}, "a", "b")
    assert "helper.py" in usual
    assert run(tmp_path, kind, {str(path): MAIN}, "a", "b") == usual
    changed = {
        str(path): MAIN.replace("return 1", "return 2"),
        str(helper): "\nvalue = 10\n",
    }
    expected = usual.replace("return 1", "return 2").replace("\n 1 ", "\n 10 ")
    assert run(tmp_path, kind, changed, "a", "b") == expected
    assert helper.read_text() == "value = 1\n"


RAISES = """import traceback

try:
    raise ValueError(1)
except ValueError:
    print(traceback.format_exc())
"""


def test_the_lines_that_are_shown_are_those_that_ran(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("x = 1\n")
    said = run(tmp_path, "script", {str(path): RAISES})
    assert "line 4, in <module>\n    raise ValueError(1)\nValueError: 1" in said
