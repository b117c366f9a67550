"""Programs of many processes: loaders' workers are left alone, ranks are recorded one by one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stepper.recording.session_folder import read
from tests.ready import executable
from tests.real.running import Outcome, environment, look, record, run

pytestmark = pytest.mark.slow

LOADER = """
import sys
import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((4,), float(index)), torch.tensor([float(index * index)])


def train(kind):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    @torch.compile(backend="aot_eager")
    def step(x, y):
        return torch.nn.functional.mse_loss(model(x), y)

    loader = DataLoader(
        Squares(),
        batch_size=4,
        num_workers=2,
        multiprocessing_context=kind,
        persistent_workers=True,
    )
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = step(x, y)
            loss.backward()
            optimizer.step()
    print(f"{loss.item():.4f}")


if __name__ == "__main__":
    train(sys.argv[1])
"""


def test_workers_of_a_data_loader_are_not_the_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOADER)
    plain = run(["train.py", "fork"], tmp_path, forked=True)
    assert plain.status == 0, plain.err
    env = environment(tmp_path, PYTHON_EXEC=executable(tmp_path))
    for kind in ("fork", "spawn"):
        watched = record(tmp_path, "train.py", kind, forked=True, env=env)
        assert (watched.status, watched.out) == (plain.status, plain.out), watched.err
        # Nothing of ours but the closing line, whatever torch has to say.
        assert len(watched.err.splitlines()) == len(plain.err.splitlines()) + 1
        facts = look(tmp_path / "run.stepper")
        assert (facts.ended, facts.unfinished) == ("exit", [])
        assert facts.functions == ["train.<locals>.step"]


TRAIN = """
import os
import torch
import torch.distributed as dist


def train(rank):
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
    compiled = torch.compile(model, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        compiled(torch.ones(3, 4) * (rank + 1)).sum().backward()
        optimizer.step()
    total = sum(p.sum().item() for p in model.parameters())
    os.write(1, f"rank {rank}: {total:.4f}\\n".encode())  # one piece, so that ranks do not mix
"""
TORCHRUN = (
    TRAIN
    + """
dist.init_process_group("gloo")
train(dist.get_rank())
dist.barrier()
dist.destroy_process_group()
"""
)
SPAWN = (
    """
import sys
import torch.multiprocessing as mp
import stepper
"""
    + TRAIN
    + """

def work(rank, store, recordings):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    os.environ["RANK"] = str(rank)
    if recordings:
        with stepper.record(recordings):
            train(rank)
    else:
        train(rank)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, (os.path.abspath(sys.argv[1]), sys.argv[2]), nprocs=2)
"""
)
LAUNCH = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def settled(attempt: Callable[[], Outcome]) -> Outcome:
    """Run a program of two ranks. Now and then one of them aborts when the interpreter takes down
    gloo's threads, after all is done and with or without stepper: then it is run again."""
    outcome = attempt()
    for _ in range(2):
        if "terminate called without an active exception" in outcome.err:
            outcome = attempt()
    return outcome


def run_ranks(command: list[str], directory: Path, *, forked: bool = True) -> Outcome:
    """Run a program of two ranks; if `forked`, the ranks begin as `tests.ready` says."""
    env = environment(directory, **({"PYTHON_EXEC": executable(directory)} if forked else {}))
    return settled(lambda: run(command, directory, forked=True, env=env))


def ranks(outcome: Outcome) -> list[str]:
    assert outcome.status == 0, outcome.err
    return sorted(line for line in outcome.out.splitlines() if line.startswith("rank "))


def check_ranks(directory: Path) -> None:
    for rank in range(2):
        facts = look(directory / f"run-{rank}.stepper")
        assert (facts.rank, facts.ended, facts.unfinished) == (rank, "exit", [])
        assert len(facts.functions) > 1


def test_torchrun_starts_each_rank_under_stepper(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TORCHRUN)
    plain = ranks(run_ranks([*LAUNCH, "train.py"], tmp_path))
    assert len(plain) == 2
    under = ["-m", "stepper", "record", "-o", "run-{rank}.stepper", "train.py"]
    assert ranks(run_ranks([*LAUNCH, *under], tmp_path)) == plain
    check_ranks(tmp_path)


def test_the_launcher_itself_compiles_nothing_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TORCHRUN)
    env = environment(tmp_path, PYTHON_EXEC=executable(tmp_path))
    outcome = settled(lambda: record(tmp_path, *LAUNCH, "train.py", forked=True, env=env))
    assert len(ranks(outcome)) == 2
    why, closing = outcome.err.splitlines()[-2:]
    assert why.endswith("which `stepper record --children` records, too")
    assert closing.startswith("stepper: nothing was translated → ")


def test_torchrun_and_all_its_ranks_are_one_session(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TORCHRUN)
    command = ["-m", "stepper", "record", "--children", "-o", "session", *LAUNCH, "train.py"]
    outcome = run_ranks(command, tmp_path, forked=False)  # who waits for a rank tells its end
    assert len(ranks(outcome)) == 2
    found = read(str(tmp_path / "session"))
    workers = [each for each in found.processes if each.rank is not None]
    assert {(each.rank, each.state, each.exit) for each in workers} == {
        (0, "exited", 0), (1, "exited", 0),
    }  # fmt: skip
    first = next(each for each in found.processes if each.how == "first")
    assert {each.parent for each in workers} == {first.pid}
    for each in workers:
        facts = look(Path(each.recording))
        assert (facts.rank, facts.ended, facts.unfinished) == (each.rank, "exit", [])
        assert len(facts.functions) > 1
    asked = run(["-m", "stepper", "ranks", "session"], tmp_path)
    assert "rank" in asked.out, asked.err


def test_workers_of_a_loader_are_in_the_session_and_do_what_they_do(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOADER)
    plain = run(["train.py", "fork"], tmp_path, forked=True)
    command = ["-m", "stepper", "record", "--children", "-o", "session", "train.py", "fork"]
    watched = run(command, tmp_path, forked=True)
    assert (watched.out, watched.status) == (plain.out, plain.status)
    # Python's own helper, which is there with some versions of Python and torch.
    helper = "from multiprocessing.resource_tracker import main;main"
    processes = [p for p in read(str(tmp_path / "session")).processes if helper not in p.command]
    assert [(each.how, each.state, bool(each.recording)) for each in processes] == [
        ("first", "exited", True), ("fork", "exited", False), ("fork", "exited", False),
    ]  # fmt: skip


def test_spawned_ranks_record_themselves(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SPAWN)
    plain = ranks(run_ranks(["train.py", "plain", ""], tmp_path))
    assert len(plain) == 2
    assert ranks(run_ranks(["train.py", "watched", "run-{rank}.stepper"], tmp_path)) == plain
    check_ranks(tmp_path)


def test_ranks_that_share_a_name_do_not_take_each_others_recording(tmp_path: Path) -> None:
    waiting = "import sys; print('up', flush=True); sys.stdin.read(); print('end')"
    command = [sys.executable, "-m", "stepper", "record", "-o", "run.stepper", "-c"]
    first = subprocess.Popen(
        [*command, waiting],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None
    assert first.stdout.readline() == "up\n"
    second = record(tmp_path, "-c", "print('ran')")
    assert (second.status, second.out) == (2, "")
    assert "is recording to run.stepper at this moment; name another file" in second.err
    out, _ = first.communicate("", timeout=600)
    assert (first.returncode, out) == (0, "end\n")
    assert look(tmp_path / "run.stepper").ended == "exit"
    assert record(tmp_path, "-c", "print('ran')").out == "ran\n"
