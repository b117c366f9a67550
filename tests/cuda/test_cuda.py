"""Programs on a GPU: watching changes nothing, and what is told of them is so.

Where torch has no GPU none of it can run. Each program says in its head what is special about it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
import torch

from tests.conftest import CORPUS, clean_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
]

PROGRAMS = CORPUS / "cuda"
EACH = pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.py")))
NATIVE = ["moved", "breaks", "late_error", "no_memory", "two_devices"]
"""Those that also run with the native engine, which serves them without Inductor."""
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")

Outcome = subprocess.CompletedProcess[str]
Run = Callable[..., Outcome]
Alone = Callable[[str], tuple[int, str]]


def _python(folder: Path, *arguments: str, **variables: str) -> Outcome:
    """Runs Python in a folder of its own, with what Inductor and Triton have made for no other."""
    caches = {name: str(folder / name) for name in CACHES}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=clean_environment() | caches | variables,
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs Python in a folder of its own."""
    return partial(_python, tmp_path)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """What a program does without stepper, by its name."""

    @cache
    def run(name: str) -> tuple[int, str]:
        done = _python(tmp_path_factory.mktemp(name), str(PROGRAMS / f"{name}.py"))
        return done.returncode, done.stdout

    return run


def recorded(run: Run, name: str, *options: str, **variables: str) -> Outcome:
    """The program's run under stepper, which leaves its recording in the folder."""
    program = str(PROGRAMS / f"{name}.py")
    return run("-m", "stepper", "record", "-o", "run.stepper", *options, program, **variables)


def asked(run: Run, question: str, *arguments: str) -> str:
    """What is answered about that recording."""
    answer = run("-m", "stepper", question, "run.stepper", *arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@EACH
@pytest.mark.parametrize("options", [(), ("--lookups", "--execute")], ids=["plain", "all"])
def test_watching_changes_nothing(
    name: str, options: tuple[str, ...], run: Run, alone: Alone
) -> None:
    """Not the results, nor how much of the device's memory is in use, nor how many CUDA graphs are
    recorded; and nothing waits for the device because of us."""
    done = recorded(run, name, *options)
    assert (done.returncode, done.stdout) == alone(name)
    assert "stopped watching" not in done.stderr
    assert ("Traceback" in done.stderr) is (done.returncode != 0)


@pytest.mark.parametrize("name", NATIVE)
def test_the_native_engine_does_what_is_done_without_it(name: str, run: Run, alone: Alone) -> None:
    done = recorded(run, name, "--engine", "native", "--lookups")
    assert (done.returncode, done.stdout) == alone(name)
    assert "stopped watching" not in done.stderr


@pytest.mark.parametrize("name", ["late_error", "late_error_inside"])
def test_no_operation_is_blamed_for_what_the_device_says_late(name: str, run: Run) -> None:
    recorded(run, name)
    said = asked(run, "why-failed")
    assert "AcceleratorError when its compiled code ran\n" in said
    assert (
        "a device may fail earlier than that is noticed: which operation failed is not recorded"
        in said
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [("late_error", "functional.embedding(ids, table)\n"), ("late_error_inside", "embedding(ids")],
)
def test_what_fails_is_blamed_where_each_operation_is_waited_for(
    name: str, line: str, run: Run
) -> None:
    recorded(run, name, CUDA_LAUNCH_BLOCKING="1")
    said = asked(run, "why-failed")
    assert f"{name}.py:8 in look_up\n" in said
    assert line in said


def test_memory_that_there_is_not_is_told_of_its_node(run: Run) -> None:
    recorded(run, "no_memory")
    said = asked(run, "why-failed")
    assert "OutOfMemoryError when its compiled code ran" in said
    assert "no_memory.py:9 in outer\n     return small[:, None] @ small[None, :]" in said
    assert "for the node matmul" in said


def test_a_tensor_that_a_module_does_not_move_is_named(run: Run) -> None:
    recorded(run, "two_devices")
    said = asked(run, "why-failed")
    assert "self.mask is on cpu" in said
    assert "only as a buffer: register_buffer" in said


def test_a_change_of_device_is_told(run: Run) -> None:
    recorded(run, "moved", "--lookups")
    said = asked(run, "why-recompile")
    assert "device of x changes: cuda:0, cpu" in said
    assert "dtype of x changes: float32, float16" in said


def test_entries_are_asked_and_run_by_hand(run: Run) -> None:
    other = "(torch.full((4,), 2.0, device='cuda'), 2.0)"
    commands = [
        "break recompile", "continue", "check", f"compare-eager {other}", f"run-entry 1 {other}",
        f"witness 1 4 {other}", "cache", "quit",
    ]  # fmt: skip
    arguments = [part for command in commands for part in ("-x", command)]
    said = run("-m", "stepper", "console", *arguments, str(PROGRAMS / "moved.py")).stdout
    assert "device cuda:0 ≠ cpu" in said
    assert "f32[4] on cuda:0" in said
    assert "CUDA is in use: no input can be tried in a copy of this process" in said
