"""The compiler's own ways to run: Inductor, and a server whose threads compile at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.real.running import Outcome, look, record, run

INDUCTOR = """
import torch


@torch.compile
def loss(x, y):
    return (x @ y).relu().sum()


torch.manual_seed(0)
x = torch.randn(8, 8, requires_grad=True)
result = loss(x, torch.randn(8, 8))
result.backward()
print(round(result.item(), 3), round(x.grad.sum().item(), 3))
"""
SERVER = """
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
compiled = torch.compile(layers.eval(), backend="eager", dynamic=True)
together = threading.Barrier(4)


def infer(number):
    if number < 4:
        together.wait()
    with torch.inference_mode():
        return tuple(compiled(torch.ones(number + 2, 4)).shape)


with ThreadPoolExecutor(4) as pool:
    print(sorted(pool.map(infer, range(12))))
"""


def both(folder: Path) -> tuple[Outcome, Outcome]:
    """The program alone, and recorded."""
    return run(["program.py"], folder, forked=True), record(folder, "program.py", forked=True)


@pytest.mark.slow
@pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++"))), reason="Inductor needs a C++ compiler"
)
def test_inductor_compiles_forward_and_backward(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(INDUCTOR)
    plain, watched = both(tmp_path)
    assert plain.status == 0, plain.err
    assert (watched.status, watched.out) == (plain.status, plain.out), watched.err
    facts = look(tmp_path / "run.stepper")
    assert (facts.functions, facts.unfinished) == (["loss"], [])


def test_threads_of_a_server_compile_at_once(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SERVER)
    plain, watched = both(tmp_path)
    assert plain.status == 0, plain.err
    assert (watched.status, watched.out) == (plain.status, plain.out), watched.err
    facts = look(tmp_path / "run.stepper")
    assert facts.functions
    assert not facts.unfinished
