"""What was in a cache is told with where the program had that loaded."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

from stepper.analysis.slow_lines import slow_lines
from stepper.recording.reader import Recording
from stepper.recording.session_folder import read
from tests.conftest import ROOT, clean_environment
from tests.engines.dynamo.watch import skips
from tests.ready import stepper

# One product is no work for a compiler of C++.
PROGRAM = """
import sys, torch
from torch._inductor.utils import fresh_cache

@torch.compile
def f(x):
    return x @ x

with fresh_cache():
    f(torch.ones(4, 4))
    saved, _ = torch.compiler.save_cache_artifacts()

with fresh_cache():
    torch._dynamo.reset()
    torch.compiler.load_cache_artifacts(saved)  # here
    f(torch.ones(4, 4))
    torch._dynamo.reset()
    torch._functorch.config.enable_autograd_cache = False
    f(torch.ones(4, 4))

torch._functorch.config.enable_autograd_cache = True
torch._dynamo.config.caching_precompile = True

def g(x):
    return x @ x

with fresh_cache():
    torch.compile(g)(torch.ones(4, 4))
    saved, _ = torch.compiler.save_cache_artifacts()

with fresh_cache():
    torch._dynamo.reset()
    torch.compiler.load_cache_artifacts(saved)  # package
    torch.compile(g)(torch.ones(4, 4))  # installed
"""
PARENT = """
import subprocess, sys
subprocess.run([sys.executable, "program.py"], check=True)
"""


def marked(mark: str) -> str:
    """Where the program has this comment."""
    lines = enumerate(PROGRAM.splitlines(), 1)
    number = next(number for number, line in lines if line.endswith(f"  # {mark}"))
    return f"program.py:{number} in <module>"


@pytest.mark.parametrize("children", [False, True])
def test_a_graph_from_artifacts_that_were_loaded(tmp_path: Path, *, children: bool) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "parent.py").write_text(PARENT)
    words = ("--children", "-o", "s", "parent.py") if children else ("-o", "s", "program.py")
    subprocess.run(
        stepper("record", *words), cwd=tmp_path, check=True, capture_output=True,
        env=clean_environment() | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    path = str(tmp_path / "s")
    if children:
        (path,) = [each.recording for each in read(path).processes if "program.py" in each.command]
    with contextlib.closing(Recording.open(path)) as recording:
        lines = [line.text.strip() for line in slow_lines(recording)]
        (said,) = skips(recording)
    found = [line for line in lines if line.startswith("what the backend made was in")]
    assert len(found) == 2
    for cache, line in zip(("autograd_cache", "fx_graph_cache"), found, strict=True):
        assert line.startswith(f"what the backend made was in {cache}, which load_cache_artifacts")
        assert marked("here") in line
    loaded, installed = said.split(": it is not translated here; at ")
    assert loaded.startswith("g: (")
    assert "loaded from a package of precompiled code, which load_cache_artifacts had" in loaded
    assert loaded.endswith(marked("package"))
    assert installed.endswith(marked("installed"))
