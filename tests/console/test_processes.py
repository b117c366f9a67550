"""The console on a program of several processes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.client.families import FORKED
from tests.ready import executable
from tests.real.running import console, environment, run

pytestmark = pytest.mark.slow

SPAWNED = """
import multiprocessing, os

def work(number):
    import torch

    @torch.compile(backend="eager")
    def compiled(x):
        return x.sin() + number

    print("worked", compiled(torch.ones(2)).shape, flush=True)

if __name__ == "__main__":
    spawned = multiprocessing.get_context("spawn")
    children = [spawned.Process(target=work, args=(n,)) for n in (1, 2)]
    for child in children:
        child.start()
        child.join()
    print("joined", flush=True)
"""


def test_a_script_goes_through_the_processes_that_stop(tmp_path: Path) -> None:
    (tmp_path / "spawned.py").write_text(SPAWNED)
    commands = ["processes", "n", "c", "info", "process 1", "c", "processes"]
    options = ["--children", "-o", "session", "-b", "function:*compiled"]
    env = environment(tmp_path, PYTHON_EXEC=executable(tmp_path))
    program = [*options, "spawned.py"]
    ended = console(tmp_path, *commands, program=program, forked=True, env=env)
    listed, stepped, other, info, nobody, end, last = re.split(
        r"^\(stepper\) .*\n", ended.out, flags=re.MULTILINE
    )[1:]
    (here,) = re.findall(r"^-> (\d+) .* stopped, breakpoint 1: ", listed, re.MULTILINE)
    assert re.search(r"^   \d+ .* runs, .*wait in ", listed, re.MULTILINE) or "runs" in listed
    assert "return x.sin() + number" in stepped
    assert "worked torch.Size([2])" in other
    (there,) = re.findall(r"^now: process (\d+)$", other, re.MULTILINE)
    assert there != here
    assert f"process    {there}" in info
    assert "there is no process 1" in nobody
    assert "joined" in end
    assert "the program ended with exit code 0" in end
    assert len(re.findall(r"SpawnProcess-\d +exited$", last, re.MULTILINE)) == 2
    assert f"the recording is in {tmp_path / 'session'}" in last
    assert ended.status == 1  # of the command that could not be carried out
    _the_folder_is_gone_through(tmp_path, here, there)


def _the_folder_is_gone_through(tmp_path: Path, one: str, other: str) -> None:
    """What the processes have recorded is looked at in one console."""
    commands = ["b graph-break", f"process {other}", "frames", "b", "processes", "process 1"]
    opened = console(tmp_path, *commands, f"process {one}", program=["--process", one, "session"])
    _, went, frames, breakpoints, listed, nobody, back = re.split(
        r"^\(stepper\) .*\n", opened.out, flags=re.MULTILINE
    )[1:]
    assert went.startswith(f"now: process {other}\nmoment 1/")
    assert re.search(r"^->  0/0 .*compiled", frames, re.MULTILINE)
    assert "breakpoint 1: graph-break" in breakpoints
    marked = re.findall(r"^-> (\d+) .*1 translation +SpawnProcess-\d$", listed, re.MULTILINE)
    assert marked == [other]
    assert "there is no process 1" in nobody
    assert back.startswith(f"now: process {one}\n")
    assert opened.status == 1


def test_leaving_ends_all_processes_that_stand(tmp_path: Path) -> None:
    (tmp_path / "forked.py").write_text(FORKED.replace("in sys.stdin", "in '01'"))
    options = ["--children", "-o", "session", "-b", "function:work"]
    ended = console(tmp_path, "processes", program=[*options, "forked.py"], forked=True)
    assert re.search(r"^-> \d+ .* stopped, breakpoint 1: ", ended.out, re.MULTILINE)
    asked = run(["-m", "stepper", "query", "session", "SELECT state FROM processes"], tmp_path)
    assert "running" not in asked.out


def test_without_children_there_is_only_the_program(tmp_path: Path) -> None:
    code = "import torch; torch.compile(abs, backend='eager')(torch.ones(2)); f = torch.compile("
    code += "lambda x: x + 1, backend='eager'); f(torch.ones(2))"
    alive = console(
        tmp_path,
        "processes",
        "process 1",
        "c",
        program=["-o", "r.stepper", "-c", code],
        forked=True,
    )
    assert alive.out.count("stepper console --children does that") == 2
    over = console(tmp_path, "processes", "process 1", program=["r.stepper"])
    assert over.out.count("stepper record --children makes one") == 2
