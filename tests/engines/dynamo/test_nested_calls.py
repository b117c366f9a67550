"""A call of a compiled function where something else traces what calls it: what torch makes of it
is told, once for each place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import stepper
from stepper.model.trace import Outcome
from stepper.recording.reader import Recording
from tests.engines.dynamo.watch import skips

THREE = torch.ones(3)


def plus(x: torch.Tensor) -> torch.Tensor:
    return x + 1


compiled = torch.compile(plus, backend="eager")


class Calls(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return compiled(x) * 2


class Itself(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 3


class Chooses(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def itself() -> torch.nn.Module:
    module = Itself()
    module.compile(backend="eager")
    return module


_SETTING = "since torch._dynamo.config.error_on_nested_fx_trace is"
_REFUSED = f"torch refuses it while FX traces what calls it, {_SETTING} True; at {__file__}:"
_LEFT = f"it runs as it is while FX traces what calls it, {_SETTING} False; at {__file__}:"
_JIT = f"torch refuses it while torch.jit.trace traces what calls it; at {__file__}:"
_SCRIPT = f"torch.jit.script makes TorchScript of it as it was before; at {__file__}:"

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "symbolic_trace": (lambda: torch.fx.symbolic_trace(Calls()), f"plus: {_REFUSED}"),
    "make_fx": (lambda: make_fx(compiled)(THREE), f"plus: {_REFUSED}"),
    "jit.trace": (lambda: torch.jit.trace(Calls(), THREE), f"plus: {_JIT}"),
    "jit.trace of a module": (lambda: torch.jit.trace(itself(), THREE), f"Itself: {_JIT}"),
}


@pytest.mark.parametrize("way", REFUSED)
def test_a_call_that_torch_refuses_is_told_once_with_the_rule(tmp_path: Path, way: str) -> None:
    trace, said = REFUSED[way]
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="dynamo-optimized function"):
                trace()
        compiled(torch.ones(5))
    recording = Recording.open(str(path))
    (found,) = skips(recording)
    assert found.startswith(said)
    recording.close()


LEFT: dict[str, tuple[Callable[[], Any], str]] = {
    "symbolic_trace": (lambda: torch.fx.symbolic_trace(Calls())(THREE), f"plus: {_LEFT}"),
    "make_fx": (lambda: make_fx(Calls())(THREE)(THREE), f"plus: {_LEFT}"),
    "jit.script": (lambda: torch.jit.script(Calls())(THREE), f"plus: {_SCRIPT}"),
}


@pytest.mark.parametrize("way", LEFT)
def test_a_call_that_is_traced_as_it_is_is_told_with_the_rule(tmp_path: Path, way: str) -> None:
    trace, said = LEFT[way]
    path = tmp_path / "a.stepper"
    with stepper.record(path), torch._dynamo.config.patch(error_on_nested_fx_trace=False):
        assert trace().tolist() == [4.0, 4.0, 4.0]
    recording = Recording.open(str(path))
    (found,) = skips(recording)
    assert found.startswith(said)
    assert recording.translations() == []
    recording.close()


def test_a_call_in_an_export_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        for module in (Calls(), itself(), Chooses()):
            torch.export.export(module, (THREE,), strict=False)
    recording = Recording.open(str(path))
    found = [text for text in skips(recording) if ": captured by torch.export" not in text]
    assert [text.split(": ")[0] for text in found] == ["plus", "Itself"]
    assert all(
        ": it runs as it is while " in text and f"; at {__file__}:" in text for text in found
    )
    recording.close()


@pytest.mark.skipif(
    torch.__version__.startswith("2.11."), reason="this torch fails there by itself"
)
def test_what_is_compiled_all_the_same_is_recorded_as_ever(tmp_path: Path) -> None:
    torch._dynamo.reset()
    path = tmp_path / "a.stepper"
    with stepper.record(path), torch._dynamo.config.patch(force_compile_during_fx_trace=True):
        make_fx(Calls())(THREE)
    recording = Recording.open(str(path))
    assert [each.outcome for each in recording.translations()] == [Outcome.COMPILED]
    assert skips(recording) == []
    recording.close()


def test_who_asks_whether_it_is_compiled_is_no_nested_call(tmp_path: Path) -> None:
    def asks(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if torch.compiler.is_compiling() else x

    path = tmp_path / "a.stepper"
    plain = torch._dynamo.explain(asks)(THREE)
    torch._dynamo.reset()
    with stepper.record(path):
        assert not torch.compiler.is_compiling()
        assert torch.compile(asks, backend="aot_eager")(THREE).tolist() == [2.0, 2.0, 2.0]
        torch.fx.symbolic_trace(Itself())
        torch.jit.script(plus)
        torch.jit.trace(plus, THREE)
        watched = torch._dynamo.explain(asks)(THREE)
    assert [str(each) for each in watched.out_guards] == [str(each) for each in plain.out_guards]
    recording = Recording.open(str(path))
    assert skips(recording) == []
    recording.close()
