"""Breaks inside of `with` and `try` blocks: what comes behind them is captured, in the block."""

from __future__ import annotations

import contextlib
import itertools
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, same

pytestmark = pytest.mark.evaluator_out

LOG: list[Any] = []
PROGRAMS: list[Callable[[torch.Tensor], Any]] = []


def note(word: object, error: type[Exception] | None = None) -> None:
    """Breaks the graph, since it reads its frame; tells the gradient mode, and may fail."""
    LOG.append((word, torch.is_grad_enabled(), sys._getframe().f_code.co_name))
    if error is not None:
        raise error(word)


class Swallowing:
    """A context of the program's."""

    def __enter__(self) -> Swallowing:
        LOG.append("enter")
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        LOG.append(("exit", kind, str(value)))
        return kind is ValueError


class Telling:
    """A context that breaks the graph, and may fail, when it is entered."""

    def __init__(self, error: type[Exception] | None = None) -> None:
        self.error = error

    def __enter__(self) -> str:
        note("enter", self.error)
        return "told"

    def __exit__(self, *about: object) -> None:
        note("exit")


FAILING = (
    "an_error_leaves_a_block",
    "an_error_of_the_program",
    "an_error_and_a_finally",
    "an_entering_that_fails",
)
"""Those in which the call that breaks the graph fails: the program's own code handles that."""


def program(function: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    PROGRAMS.append(function)
    return function


@program
def one_block(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x * 2
        note("in")
        z = y + x
    return z, y * x, torch.is_grad_enabled()


@program
def blocks_in_blocks(x: torch.Tensor) -> Any:
    with torch.no_grad():
        a = x + 1
        with torch.enable_grad(), contextlib.nullcontext(3) as three:
            b = x * 2
            note("inner")
            c = b * three
        note("outer")
        d = x * c
    return a, b, c, d


@program
def an_entering_in_a_block(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x * 2
        with Telling() as told:
            y = y + x
        y = y * 3
    return y, told, x + 1


@program
def an_entering_that_fails(x: torch.Tensor) -> Any:
    try:
        with torch.no_grad():
            y = x * 2
            with Telling(KeyError):
                y = y + x
    except KeyError as error:
        return x * y, str(error), torch.is_grad_enabled()
    return y


@program
def a_mode_that_stays(x: torch.Tensor) -> Any:
    torch.set_grad_enabled(False)
    y = x * 2
    note("off")
    z = x * 3
    torch.set_grad_enabled(True)
    return y, z, x + 1


@program
def a_mode_within_a_block(x: torch.Tensor) -> Any:
    with torch.set_grad_enabled(False):
        torch.set_grad_enabled(True)
        y = x * 2
        note("on")
        y = y * 3
    return y, x + 1


@program
def an_error_leaves_a_block(x: torch.Tensor) -> Any:
    y = x + 1
    try:
        with torch.no_grad():
            y = y * 2
            note("bad", KeyError)
            y = y * 100
    except KeyError as error:
        return y * x, str(error), torch.is_grad_enabled()
    return y


@program
def an_error_behind_a_break(x: torch.Tensor) -> Any:
    y = x + 1
    try:
        with torch.no_grad():
            note("first")
            y = y * 2
            raise IndexError("here")
    except IndexError as error:
        y = y * x
        return y, str(error), torch.is_grad_enabled()


@program
def an_error_of_the_program(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x * 2
        note("left", RuntimeError)
    return y


@program
def a_finally(x: torch.Tensor) -> Any:
    y = x + 1
    try:
        y = y * 2
        note("try")
        y = y * 3
        return y
    finally:
        LOG.append("finally")
        y = y + 1


@program
def an_error_and_a_finally(x: torch.Tensor) -> Any:
    y = x + 1
    try:
        y = y * 2
        note("bad", ValueError)
        y = y * 3
    except ValueError:
        y = y - 1
    else:
        y = y * 100
    finally:
        y = y + x
    return y


@program
def a_loop_of_blocks(x: torch.Tensor) -> Any:
    for index in range(3):
        with torch.no_grad():
            x = x * 2
            if index == 1:
                continue
            note(index)
            x = x + index
    return x


@program
def swallowed(x: torch.Tensor) -> Any:
    with Swallowing():
        x = x + 1
        note("before")
        x = x * 2
        note("bad", ValueError)
        x = x * 100
    with Swallowing() as context:
        x = x * 3
        note(type(context).__name__)
        x = x + 2
    return x * 2


@program
def data_in_a_block(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        z = y.sum().item() * x
    return y, z


@program
def made_on_devices(x: torch.Tensor) -> Any:
    with torch.device("meta") as given, torch.no_grad():
        y = torch.ones(3)
        note("inside")
        with torch.device("cpu"):
            x = x + torch.ones(2)
        kinds = torch.arange(2).device, torch.zeros(2, device="cpu").device, given
    return x, y.device, kinds, torch.ones(1), torch.get_default_device()


@program
def without_gradients_in_autocast(x: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        y = x * 2
        note("inside")
        z = x[:, None] @ x[None]
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16), torch.enable_grad():
        note("inside")
        w = x[:, None] @ x[None]
    return y, z, w, x * 3


def on_devices(x: torch.Tensor, devices: Any) -> Any:
    try:
        with devices[0]:
            y = torch.ones(2)
            with devices[1]:
                z = torch.full((2,), 3.0), torch.empty_like(x)
                if x.shape[0] == 3:
                    raise ValueError(x.shape)
    except ValueError:
        x = x + 1
    return x * 2, y.device, [each.device for each in z], torch.get_default_device()


def test_a_block_on_a_device_is_in_the_graph_whatever_the_default_is() -> None:
    for devices in itertools.product(map(torch.device, ("cpu", "meta")), repeat=2):
        for size in (2, 3):
            explanation = check(on_devices, torch.ones(size), devices)
            assert (explanation.graph_count, explanation.breaks) == (1, [])


def test_what_is_captured_is_captured_under_a_default_device() -> None:
    def made(x: torch.Tensor) -> Any:
        return x + 1, torch.ones(2).device, torch.get_default_device(), torch.zeros(1, device="cpu")

    graphs: list[Any] = []
    captured = native.optimize(lambda gm, inputs: graphs.append(gm) or gm.forward, nopython=True)(
        made
    )
    x = torch.ones(2, device="cpu")
    try:
        for device in ("meta", None, "cpu", "meta", None, "cpu"):
            torch.set_default_device(device)
            assert same(captured(x), made(x))
    finally:
        torch.set_default_device(None)
    assert len(graphs) == 3


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_what_comes_behind_is_eager_s(function: Callable[[torch.Tensor], Any]) -> None:
    graphs: list[Any] = []

    def backend(gm: Any, inputs: list[Any]) -> Any:
        graphs.append(gm)
        return gm.forward

    captured = native.optimize(backend)(function)
    for _ in range(2):
        assert same(_done(function), _done(captured))
        assert torch.is_grad_enabled()
    one_graph = {
        *FAILING,
        made_on_devices.__name__,
    }  # under a device's own mode nothing is captured
    assert (len(graphs) > 1) is (function.__name__ not in one_graph)


def _done(function: Any) -> Any:
    """What a call gives or raises, with the lines, and what was noted."""
    LOG.clear()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    given: Any = None
    try:
        given = function(x)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        given = str(error), [f.lineno for f in frames if f.filename == __file__][1:]
    return given, list(LOG)
