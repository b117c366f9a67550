"""Several threads: one captures at a time, and each is told by itself."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from stepper import _C, native
from stepper.model.trace import Outcome
from stepper.native.runtime import convert_frame
from tests.engines.native.harness import run_graph
from tests.engines.native.watch import record

pytestmark = pytest.mark.evaluator_out


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(*calls: Callable[[], object]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def first(x: torch.Tensor) -> torch.Tensor:
    for n in range(40):
        x = x.sin() + n
    return x


def second(x: torch.Tensor) -> torch.Tensor:
    for n in range(40):
        x = x.cos() * n
    return x


def test_translations_of_two_threads_are_kept_apart(tmp_path: Path, switching: None) -> None:
    native.reset()
    captured = [native.optimize(run_graph)(function) for function in (first, second)]
    both = threading.Barrier(2)

    def work(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        both.wait()
        function(torch.ones(3))

    def run() -> None:
        in_threads(*(lambda each=each: work(each) for each in captured))

    recording = record(tmp_path / "a.stepper", run)
    done = recording.translations()
    assert {each.name for each in done} == {"first", "second"}
    assert len({each.thread for each in done}) == 2
    for item in done:
        assert item.outcome is Outcome.COMPILED
        for moment in range(item.first_moment, (item.last_moment or 0) + 1):
            frame = recording.frame(recording.state(moment).top.frame)
            assert recording.code(frame.code).name == item.name


def test_what_another_thread_captures_meanwhile_is_not_captured_again(switching: None) -> None:
    native.reset()
    seen: list[str] = []
    inside = threading.Event()

    def slow(module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
        seen.append(threading.current_thread().name)
        inside.set()
        return module.forward

    def f(x: torch.Tensor) -> torch.Tensor:
        return first(x) + 1

    captured = native.optimize(slow)(f)
    in_threads(*[lambda: captured(torch.ones(3))] * 3)
    assert len(seen) == 1
    assert len(_C.code_cache(f.__code__)) == 1


def test_a_forked_process_does_not_wait_for_a_thread_that_is_not_there() -> None:
    native.reset()
    captured = native.optimize(run_graph)(first)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with convert_frame.compile_lock:
            held.set()
            done.wait(600)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(600)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        child = os.fork()
    if not child:
        try:
            captured(torch.ones(3))
            os._exit(0 if len(_C.code_cache(first.__code__)) == 1 else 1)
        finally:
            os._exit(2)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
