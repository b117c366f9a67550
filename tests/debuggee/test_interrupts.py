"""An interrupt leaves nothing behind; `python -m tests.debuggee.interrupts` does it more often."""

from __future__ import annotations

import gc
import subprocess
import sys
import types
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import filelock  # noqa: F401  # what is listened to once it is imported, as Inductor is
import pytest
import torch
import torch._inductor.compile_fx

from stepper import _C, native
from stepper.debuggee import start
from stepper.engines.dynamo.waits import Waits
from stepper.model.launch import DebuggeeConfig
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.debuggee.interrupts import (
    TORCH_ENDED,
    Setting,
    Tracer,
    _traced,
    captured,
    fresh,
    straight,
)
from tests.debuggee.world import changes, world

SAMPLE = [
    Setting("native", "no", "opcode"),
    Setting("native", "no", "signal"),
    Setting("native", "compile", "signal"),
    Setting("native", "compile", "undo"),
    Setting("native", "everything", "thread"),
    Setting("dynamo", "compile", "opcode"),
    Setting("dynamo", "everything", "signal"),
]

pytestmark = pytest.mark.evaluator_out


@pytest.mark.slow
@pytest.mark.parametrize("setting", SAMPLE, ids="-".join)
def test_an_interrupted_capture_leaves_the_world_as_it_was(setting: Setting) -> None:
    for seed in range(1, 6):
        words = ("--only", ",".join(setting), "--count", "16", "--seed", str(seed))
        command = ready.python("-m", "tests.debuggee.interrupts", *words)
        done = subprocess.run(
            command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False
        )
        if not (setting.way == "thread" and TORCH_ENDED in done.stderr):
            break  # else nothing is known of ours: other instants
    # What ends a process is said before its stacks, which are long.
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[:3000] + done.stderr[-3000:]


def raising(
    error: type[BaseException], *, grad: bool
) -> Callable[[torch.fx.GraphModule, list[Any]], Callable[..., object]]:
    """A backend whose graphs raise once, and leave gradients so."""
    left = [error]

    def backend(gm: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., object]:
        def call(*args: torch.Tensor) -> object:
            if left:
                torch._C._set_grad_enabled(grad)
                raise left.pop()
            return gm.forward(*args)

        return call

    return backend


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_a_graph_that_raises_between_its_grad_modes_leaves_the_programs_own(
    error: type[BaseException],
) -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = x * 2
        return y + x

    x = torch.ones(2, requires_grad=True)
    native.optimize("eager")(torch.Tensor.double)(x)  # the hook comes with the first call
    captured = native.optimize(raising(error, grad=False))(double)
    before = world()
    if issubclass(error, Exception):
        assert captured(x).requires_grad
    else:
        with pytest.raises(error):
            captured(x)
    assert changes(before, world()) == []
    assert captured(x).requires_grad


def test_after_an_interrupt_in_a_graph_the_thread_captures_on() -> None:
    captured = native.optimize(raising(KeyboardInterrupt, grad=True))(lambda x: x * 2)
    with pytest.raises(KeyboardInterrupt):
        captured(torch.ones(2))
    assert sys.exc_info() == (None, None, None)
    assert native.explain(lambda x: x * 3)(torch.ones(2)).graph_count == 1


@pytest.fixture
def functions_of_torch() -> dict[types.FunctionType, types.CodeType]:
    """What a session puts its probes into."""
    found = (each for each in gc.get_objects() if type(each) is types.FunctionType)
    return {each: each.__code__ for each in found if (each.__module__ or "").startswith("torch.")}


class Outside(Tracer):
    """Counts no finalizer's instants: what is raised there reaches nobody."""

    def trace(self, frame: types.FrameType, event: str, argument: object) -> Any:
        each: types.FrameType | None = frame
        while each is not None:
            if each.f_code.co_name == "__del__":
                return None
            each = each.f_back
        super().trace(frame, event, argument)
        return self.trace


def session(engine: str, path: Path) -> start.Debuggee:
    """One that has recorded something of everything."""
    config = DebuggeeConfig(recording=str(path), engine=engine, lookups=True, execute=True)
    begun, trouble = start.try_begin(config)
    assert begun is not None, trouble
    double = captured(engine, fresh(straight))
    double(torch.ones(2))
    double(torch.ones(2))
    return begun


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "dynamo"])
def test_a_session_whose_end_is_interrupted_ends(
    engine: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    functions_of_torch: dict[types.FunctionType, types.CodeType],
) -> None:
    path = tmp_path / "first.stepper"
    session(engine, path).close()  # what is done once is done before it is counted
    path.unlink()
    tracers: list[Outside] = []

    def call_and_undo(undo: Callable[[], object], call: Callable[[], object]) -> None:
        left = [tracers[-1]]
        _C.call_and_undo(
            lambda: sys.call_tracing(_traced, (left.pop(), undo)) if left else undo(), call
        )

    monkeypatch.setattr(start, "call_and_undo", call_and_undo)
    instants, interrupts = 1, 0
    for round in range(50):
        path = tmp_path / f"{round}.stepper"
        begun = session(engine, path)
        tracer = Outside()
        tracer.at = round * instants // 49
        tracers.append(tracer)
        raised = False
        try:
            begun.close()
        except KeyboardInterrupt:
            raised = True
        assert raised == bool(tracer.place), tracer.place
        interrupts += raised
        if not round:
            instants = tracer.count - 1
        assert start.current() is None, tracer.place
        left = {f for f, code in functions_of_torch.items() if f.__code__ is not code}
        assert not left, tracer.place
        with closing(Recording.open(str(path))) as recording:
            assert recording.ended == "exit", tracer.place
            assert len(recording.translations()) == 5
        assert [each.name for each in tmp_path.iterdir()] == [path.name], tracer.place
        path.unlink()
    assert interrupts > 40


def test_what_is_left_last_is_left_though_an_interrupt_came(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    functions_of_torch: dict[types.FunctionType, types.CodeType],
) -> None:
    begun = session("dynamo", tmp_path / "r.stepper")
    leave, interrupts = Waits.leave, [KeyboardInterrupt]

    def interrupted(self: Waits) -> None:
        if interrupts:
            raise interrupts.pop()
        leave(self)

    monkeypatch.setattr(Waits, "leave", interrupted)
    with pytest.raises(KeyboardInterrupt):
        begun.close()
    assert not {f for f, code in functions_of_torch.items() if f.__code__ is not code}


def test_what_a_signals_handler_raises_in_a_capture_reaches_the_program() -> None:
    import signal

    def expire(number: int, frame: object) -> None:
        raise TimeoutError("time is up")

    def backend(gm: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., object]:
        signal.raise_signal(signal.SIGUSR1)
        return gm.forward

    before = signal.signal(signal.SIGUSR1, expire)
    try:
        with pytest.raises(TimeoutError, match="time is up"):
            native.optimize(backend)(lambda x: x * 2)(torch.ones(2))
    finally:
        signal.signal(signal.SIGUSR1, before)
