"""Why compiled autograd captured a backward is told in torch's own words, which its log says in a
run of its own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from stepper.analysis.recompile_lines import recompile_lines
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import clean_environment

PROGRAM = """
import sys
import torch
from torch._dynamo.compiled_autograd import _enable

if "logged" in sys.argv:
    torch._logging.set_logs(compiled_autograd_verbose=True)
weight = torch.ones(4, requires_grad=True)


def step(x, act, dynamic=True):
    with _enable(torch.compile(backend="eager"), dynamic=dynamic):
        act(x * weight).sum().backward()


step(torch.ones(3, 4), torch.relu)
step(torch.ones(3, 4), torch.relu)  # its gradient is there by now
step(torch.ones(3, 4), torch.relu)
step(torch.ones(3, 4), torch.sin)
for size in (3, 5):
    step(torch.ones(size, 4), torch.cos, dynamic=False)
torch._dynamo.reset()
step(torch.ones(3, 4), torch.relu)
print(weight.grad)
"""
MISS = re.compile(r"Cache miss due to .*")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    (folder / "p.py").write_text(PROGRAM)
    return folder


def run(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        words, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def alone(folder: Path) -> subprocess.CompletedProcess[str]:
    return run(folder, ready.python("p.py", "logged"))


def test_each_capture_has_the_reason_that_torch_logs(
    folder: Path, alone: subprocess.CompletedProcess[str]
) -> None:
    done = run(folder, ready.stepper("record", "-o", "r.stepper", "p.py"))
    said = MISS.findall(alone.stderr)
    assert done.stdout == alone.stdout
    assert not MISS.search(done.stderr)
    recording = Recording.open(str(folder / "r.stepper"))
    told = [line.text for line in recompile_lines(recording)]
    recording.close()
    at = next(at for at, line in enumerate(told) if line.startswith("compiled autograd captured"))
    captures = told[at + 1 :]
    assert [line.strip() for line in captures[1::2]] == said
    assert all(line.endswith("p.py:13 in step") for line in captures[::2]), captures
    assert any("AccumulateGrad" in each for each in said)
    assert any("changed tensor shapes" in each for each in said)


def test_where_the_program_has_its_own_log_that_is_as_without(
    folder: Path, alone: subprocess.CompletedProcess[str]
) -> None:
    done = run(folder, ready.stepper("record", "-o", "l.stepper", "p.py", "logged"))
    assert MISS.findall(done.stderr) == MISS.findall(alone.stderr)
    recording = Recording.open(str(folder / "l.stepper"))
    told = [line.text.strip() for line in recompile_lines(recording)]
    recording.close()
    assert told.count("not recorded why") == len(MISS.findall(alone.stderr))
