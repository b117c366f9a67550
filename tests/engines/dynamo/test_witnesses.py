"""Whether a guard is needed is shown by running the code with what it refuses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.console.test_programs import commands, console

PROGRAM = """
import torch

FACTOR = 3

class Config:
    def __init__(self):
        self.names = {"a": 1, "b": 2.0}

@torch.compile(backend="aot_eager", dynamic=True)
def f(x, w, mode, flag, pair, config, unused):
    y = x * w + len(pair) * FACTOR
    if flag:
        y = y + 1
    if x.shape[0] > 3:
        y = y * 2
    for name in config.names:
        y = y + len(name) + config.names[name]
    if w.dtype is torch.float32:
        y = y + 1
    if unused == "z":
        pass
    return y + len(mode)

f(torch.ones(6, 2), torch.ones(2, requires_grad=True), "a", True, [1, 2], Config(), "z")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("witnesses")
    (path / "program.py").write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, list[str]]:
    """What is said of each guard of the entry: kind and source, and the lines."""
    rows = range(40)
    texts = [f"witness 1 {row}" for row in rows]
    said = console(folder, "-b", "execute:f", *commands(*texts, "q"), folder / "program.py")
    parts = re.split(r"^\(stepper\) .*\n", said, flags=re.M)[1:]
    found: dict[str, list[str]] = {}
    for part in parts:
        lines = part.splitlines()
        name = re.split(r":? (?:is needed|no (?:witness|input))|: ", lines[0])[0]
        found.setdefault(name, []).extend(lines)
    return found


@pytest.mark.parametrize(
    ("guard", "with_what"),
    [
        ("TENSOR_MATCH L['w']", "torch.float64 instead of torch.float32"),
        ("EQUALS_MATCH L['mode']", "'ax' instead of 'a'"),
        ("EQUALS_MATCH G['FACTOR']", "4 instead of 3"),
        ("TRUE_MATCH L['flag']", "False instead of True"),
        ("LENGTH_CHECK L['pair']", "3 items instead of 2"),
        ("GLOBAL_STATE", "grad mode off instead of on"),
    ],
)
def test_a_needed_guard_has_a_witness(
    guard: str, with_what: str, answers: dict[str, list[str]]
) -> None:
    first, *more = answers[guard]
    assert "is needed: without it the code was run with" in first
    assert with_what in first
    assert "NOT the same as eager" in first
    assert more[0].startswith("  entry: ")
    assert more[1].startswith("  eager: ")


def test_dictionaries_and_sizes_are_tried(answers: dict[str, list[str]]) -> None:
    dicts = [lines[0] for guard, lines in answers.items() if "names" in guard]
    assert any("is needed" in line and "key" in line for line in dicts)
    sizes = [
        line
        for guard, lines in answers.items()
        if guard.startswith(("LAMBDA_GUARD", "SYMBOLIC_SHAPE_GUARD"))
        for line in lines
    ]
    assert any("run with L['x']: shape[0] 1 instead of 6, and is NOT" in line for line in sizes)


def test_without_a_witness_what_was_tried_is_said(answers: dict[str, list[str]]) -> None:
    first, *tried = answers["EQUALS_MATCH L['unused']"]
    assert first.endswith("no witness was found (3 inputs run without it). Tried:")
    assert any("'zx' instead of 'z': the same as eager" in line for line in tried)


def test_what_cannot_be_built_or_is_wrong_is_said(folder: Path) -> None:
    said = console(
        folder, "-b", "execute:f", *commands("entry 1", "witness 1 99", "witness 1", "q"),
        folder / "program.py",
    )  # fmt: skip
    assert "has no guard 99" in said
    assert "witness takes an entry and the number of a guard" in said
    row = re.search(r"^ +(\d+)  ID_MATCH", said, re.M)
    assert row is not None
    said = console(
        folder, "-b", "execute:f", *commands(f"witness 1 {row[1]}", "q"), folder / "program.py"
    )
    assert "no input can be built that differs in just what it watches" in said


DIES = """
import os
import torch

def backend(graph, inputs):
    def run(*args):
        if any(torch.is_tensor(arg) and arg.shape[0] != 4 for arg in args):
            os.kill(os.getpid(), 11)
        return graph(*args)
    return run

@torch.compile(backend=backend, dynamic=False)
def f(x):
    return x * 2

f(torch.ones(4))
print("lives")
"""


def test_code_that_takes_the_process_with_it_is_a_witness(tmp_path: Path) -> None:
    program = tmp_path / "dies.py"
    program.write_text(DIES, encoding="utf-8")
    said = console(tmp_path, "-b", "execute:f", *commands("entry 1"), program)
    row = re.search(r"^ +(\d+)  TENSOR_MATCH", said, re.M)
    assert row is not None
    said = console(
        tmp_path, "-b", "execute:f", *commands(f"witness 1 {row[1]}", "clear all", "c"), program
    )
    assert "shape[0] 5 instead of 4, and the process died of SIGSEGV" in said
    assert "| lives" in said


def test_why_guard_runs_the_program_again_for_it(folder: Path) -> None:
    environment = clean_environment() | {"PYTHONPATH": str(ROOT)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ready.stepper(*words),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    assert run("record", "-o", "r.stepper", "program.py").returncode == 0
    told = run("why-guard", "r.stepper", "*_MATCH:mode", "--experiment", "--yes")
    assert told.returncode == 0, told.stderr
    assert "by experiment:\n  CONSTANT_MATCH L['mode'] of 0/0 f\n" in told.stdout
    assert "EQUALS_MATCH L['mode'] is needed: without it" in told.stdout
    told = run("why-guard", "r.stepper", "GRAD_MODE", "--experiment", "--yes")
    assert "GLOBAL_STATE is needed" in told.stdout
    (folder / "program.py").touch()
    told = run("why-guard", "r.stepper", "GRAD_MODE", "--experiment", "--yes")
    assert told.returncode == 2
    assert "program.py has changed since" in told.stderr
