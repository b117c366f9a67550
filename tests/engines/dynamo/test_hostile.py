"""Objects that would notice being looked at, and objects whose death somebody waits for."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.engines.dynamo.watch import record

pytestmark = pytest.mark.filterwarnings("ignore")

calls: Counter[str] = Counter()


def _count(name: str, answer: Any) -> Callable[..., Any]:
    def counting(self: Any, *rest: Any) -> Any:
        calls[name] += 1
        return answer(self, *rest)

    return counting


class Meta(type):
    """A metaclass of which everything that a describer could ask is counted."""

    __hash__ = _count("meta hash", lambda cls: 7)
    __eq__ = _count("meta eq", lambda cls, other: cls is other)
    __repr__ = _count("meta repr", lambda cls: "class")
    __bool__ = _count("meta bool", lambda cls: True)
    __len__ = _count("meta len", lambda cls: 1)
    __instancecheck__ = _count("meta instancecheck", lambda cls, other: False)


class Odd(metaclass=Meta):
    """An object of which everything is counted."""

    def __init__(self) -> None:
        self.factor = 3

    __repr__ = _count("repr", lambda self: "odd")
    __str__ = _count("str", lambda self: "odd")
    __hash__ = _count("hash", lambda self: 5)
    __eq__ = _count("eq", lambda self, other: self is other)
    __bool__ = _count("bool", lambda self: True)
    __len__ = _count("len", lambda self: 1)
    __format__ = _count("format", lambda self, spec: "odd")


class Attentive:
    """An object that counts every look at an attribute."""

    def __init__(self) -> None:
        object.__setattr__(self, "factor", 2)

    def __getattribute__(self, name: str) -> Any:
        calls[f"attribute {name}"] += 1
        return object.__getattribute__(self, name)


class Pretender:
    """An object that says it is of another class, and runs code to say so."""

    factor = 4

    @property  # type: ignore[misc]  # it cannot be set
    def __class__(self) -> type:
        calls["class"] += 1
        return int


class Named(type):
    """A metaclass whose classes compute their names."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]  # it answers whatever asks
        calls["name"] += 1
        return "computed"


class Renamed(metaclass=Named):
    factor = 5


class Endless:
    """An object that hangs when it is shown."""

    factor = 6

    def __repr__(self) -> str:
        while True:
            pass

    __str__ = __repr__


def _multiplied(x: torch.Tensor, thing: Any) -> torch.Tensor:
    held = [thing, {"thing": thing}, (thing,)]
    return x * held[0].factor


def _kind(x: torch.Tensor, thing: Any) -> torch.Tensor:
    kind = type(thing)
    held = [kind, thing]
    return x + len(held) + (kind is None)


def _passed(x: torch.Tensor, thing: Any) -> torch.Tensor:
    y = x + 1
    held = {"thing": thing}
    return y * len(held)


@pytest.mark.parametrize("function", [_multiplied, _kind, _passed])
@pytest.mark.parametrize("make", [Odd, Attentive, Pretender, Renamed, Endless])
def test_nothing_is_asked_of_an_object_because_of_us(
    make: Callable[[], Any], function: Callable[..., Any], tmp_path: Path
) -> None:
    thing = make()

    def run() -> tuple[str, Counter[str]]:
        torch._dynamo.reset()
        calls.clear()
        try:
            result = str(torch.compile(function, backend="eager")(torch.ones(2), thing))
        except Exception as error:
            result = type(error).__name__
        return result, calls.copy()

    run()  # Dynamo remembers some answers
    alone = run()
    found: list[Any] = []
    recording = record(tmp_path / "hostile.stepper", lambda: found.append(run()))
    assert found == [alone]
    if recording.newest:
        shown = recording.state(recording.newest).values.values()
        assert all(len(value.text) < 300 for value in shown)


def test_what_dies_while_translating_dies_at_the_same_time(tmp_path: Path) -> None:
    log: list[str] = []

    class Held:
        def __init__(self, name: str) -> None:
            self.name = name
            weakref.finalize(self, log.append, f"{name} died").atexit = False

    def backend(graph: Any, inputs: Any) -> Any:
        log.append("backend")
        return graph

    def function(x: torch.Tensor, held: Held) -> torch.Tensor:
        return x + len(held.name)

    def run() -> list[str]:
        torch._dynamo.reset()
        log.clear()
        gc.collect()
        gc.disable()
        try:
            compiled = torch.compile(function, backend=backend)
            for name in ("a", "bb"):
                held = Held(name)
                compiled(torch.ones(2), held)
                log.append(f"{name} compiled, {sys.getrefcount(held)} references")
                del held
                log.append(f"{name} let go")
            gc.collect()
            log.append("collected")
        finally:
            gc.enable()
        return log.copy()

    alone = run()
    assert "a died" in alone
    found: list[Any] = []
    record(tmp_path / "dying.stepper", lambda: found.append(run()))
    assert found == [alone]


def test_a_recording_holds_nothing_when_the_translation_is_over(tmp_path: Path) -> None:
    class Held:
        size = 3

    alive: list[bool] = []

    def function(x: torch.Tensor, held: Any) -> torch.Tensor:
        kept = [held, x]
        torch._dynamo.graph_break()
        return x + held.size + len(kept)

    def run() -> None:
        held = Held()
        tensor = torch.ones(2)
        weak: list[weakref.ref[Any]] = [weakref.ref(held), weakref.ref(tensor)]
        torch.compile(function, backend="eager")(tensor, held)
        del held, tensor
        gc.collect()
        alive.extend(each() is not None for each in weak)

    record(tmp_path / "over.stepper", run)
    assert alive == [False, False]


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    record(
        tmp_path / "quiet.stepper",
        lambda: torch.compile(_multiplied, backend="eager")(torch.ones(2), Odd()),
    )
    out = capfd.readouterr()
    assert (out.out, out.err) == ("", "")


def _logged(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("put off to the end of the graph")
    return y * 2


def test_what_is_on_the_stack_need_be_no_tracker(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """torch 2.11 has None itself there after a call that it puts off."""
    compiled = torch.compile(_logged, backend="eager")
    with torch._dynamo.config.patch(reorderable_logging_functions={print}):
        recording = record(tmp_path / "run.stepper", lambda: compiled(torch.ones(2)))
    moment = recording.moment(recording.newest)
    code = recording.code(recording.frame(moment.frame).code)
    assert code.instructions[moment.ip].opname == "RETURN_VALUE"
    recording.close()
    assert capfd.readouterr() == ("put off to the end of the graph\n", "")
