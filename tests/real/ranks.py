"""Ranks of a real process group, one of which does something else: each kind of that.

    python -m tests.real.ranks --ranks 8

runs all kinds with so many ranks and prints what `stepper ranks` says of each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import clean_environment
from tests.ready import stepper

PROGRAM = """
import os, signal, sys
import torch, torch._dynamo
import torch.distributed as dist

kind, world = sys.argv[1], int(sys.argv[2])


def work(rank):
    store = os.path.abspath(f"store-{kind}")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    odd = rank == 1
    if kind == "environment" and odd:
        os.environ["FAST"] = "1"

    def helper(x):
        return x.sin() + 1

    @torch.compile(backend="eager")
    def step(x, scale=2, odd=False):
        y = helper(x) * scale
        if odd:
            y = y - 1  # only on one rank
        if os.environ.get("FAST") == "1":
            y = y.relu()
        if kind == "break" and odd:
            torch._dynamo.graph_break()
        if kind == "traced":
            dist.all_reduce(y)  # in the graph
        return y + x

    if kind == "cache" and odd:
        step(torch.ones(7), 3)  # before all others
    for number, size in enumerate((4, 4, 5)):
        if kind == "skip" and odd and number == 2:
            continue
        if kind == "hang" and odd and number == 2:
            signal.pause()
        step(torch.ones(8 if kind == "shape" and odd else size), odd=odd and kind in ODD)
        if kind == "collective" and odd and number == 1:
            dist.broadcast(torch.ones(2), 0, async_op=True)  # the wrong one
        else:
            dist.all_reduce(torch.ones(2), async_op=kind == "collective")  # the usual one
    if kind == "collective":
        os._exit(0)


ODD = ("branch", "break")
children = []
for rank in range(world):
    child = os.fork()
    if not child:
        try:
            work(rank)
        finally:
            os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""
KINDS = ("same", "traced", "shape", "branch", "environment", "break", "cache", "skip", "collective")
"""Those that end; in `hang`, one rank never begins a collective in which the others then wait."""


def record(folder: Path, kind: str, ranks: int) -> subprocess.Popen[str]:
    """Record a kind into a session folder of its name."""
    (folder / "program.py").write_text(PROGRAM)
    command = stepper("record", "--children", "-o", kind, "program.py", kind, ranks)
    environment = clean_environment() | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


ROOT = Path(__file__).resolve().parents[2]


def line(part: str) -> int:
    """Number of a line of the program."""
    (found,) = [at for at, text in enumerate(PROGRAM.splitlines(), 1) if part in text]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.real.ranks")
    parser.add_argument("--ranks", type=int, default=8)
    ranks = parser.parse_args().ranks
    with tempfile.TemporaryDirectory() as made:
        for kind in KINDS:
            recording = record(Path(made), kind, ranks)
            said, _ = recording.communicate()
            if recording.returncode:
                sys.exit(said)
            print(f"== {kind}, {ranks} ranks", flush=True)
            subprocess.run([sys.executable, "-m", "stepper", "ranks", kind], cwd=made, check=False)


if __name__ == "__main__":
    main()
