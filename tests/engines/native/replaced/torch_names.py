"""Every name of torch's modules, put to another use while a program is captured and after it.

The program uses functions of torch that it holds itself. In each state it is called by itself and
captured: the same comes of it, and functions of the program's that stand under the name are called
as often. So a capture goes through nothing that has been replaced, or leaves the program alone.
"""

from __future__ import annotations

import logging
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from stepper import native
from stepper.native.runtime.convert_frame import reset
from tests.engines.native.harness import run_graph
from tests.engines.native.replaced.running import LOG, alike, fresh, swapped

_MODULES: tuple[Any, ...] = (
    torch, F, torch.nn, torch._C._nn, torch.utils, torch.overrides, torch._C, torch.fx,
    torch.autograd, torch.compiler, torch.nn.modules.module, torch._tensor, torch.functional,
)  # fmt: skip
_LATE = ("torch._dynamo",)
"""What torch loads when it first needs it."""
_PLAIN = (types.FunctionType, types.BuiltinFunctionType)

_relu, _softmax, _no_grad, _narrow = torch.relu, F.softmax, torch.no_grad, torch.narrow
_linear = torch.nn.Linear(3, 3)
_given = torch.tensor([1.0, -2.0, 3.0])


def _program(x: Any) -> Any:
    with _no_grad():
        y = _linear(x) * 2
    z = _softmax(_relu(y), 0)
    return (2 - z).sin().sum(), z.split(1)[0], _narrow(x, 0, 0, 2), z.dim(), z.dtype


class Replaced(NamedTuple):
    """A name, and what is put there: a function that notes its call, or a thing of no use."""

    module: types.ModuleType
    name: str
    useless: bool

    def __str__(self) -> str:
        return f"{self.module.__name__}.{self.name}{' is an object' if self.useless else ''}"

    def value(self) -> Any:
        """What is put there."""
        if self.useless:
            return object()
        before = vars(self.module)[self.name]

        def noted(*args: Any, **kwargs: Any) -> Any:
            LOG.append(self.name)
            return before(*args, **kwargs)

        return noted


def all_names() -> list[Replaced]:
    """All there are."""
    return [
        Replaced(module, name, useless)
        for module in _MODULES
        for name, value in vars(module).items()
        for useless in (False, True)
        if not name.startswith("__") and (useless or isinstance(value, _PLAIN))
        if f"{module.__name__}.{name}" not in _LATE
    ]


class _Told(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        LOG.append(record.getMessage())


def _did(program: Any) -> Any:
    LOG.clear()
    result = raised = None
    try:
        result = program(_given)
    except Exception as error:
        raised = type(error), str(error)
    return result, raised, list(LOG)


def differences(replaced: Replaced) -> list[str]:
    """In what the captured program does something else than the program."""
    program = fresh(_program)
    captured = native.optimize(run_graph)(program)
    told = _Told()
    log = logging.getLogger("stepper.native")
    log.addHandler(told)
    found: list[tuple[str, Any, Any]] = []

    def call_in(state: str) -> None:
        # Whatever torch does once, it has done then.
        found.extend((state, _did(program), _did(captured)) for _ in range(2))

    try:
        with swapped(replaced.module, replaced.name, replaced.value()):
            call_in("while it is captured")
        reset()
        call_in("afterwards")
        with swapped(replaced.module, replaced.name, replaced.value()):
            call_in("after it is captured")
        call_in("when it is back")
    finally:
        log.removeHandler(told)
        reset()
    return [
        f"{replaced} {state}: {expected} became {got}"
        for state, expected, got in found
        if not all(map(alike, expected, got))
    ]


def stale(every: int = 1) -> Iterator[str]:
    """What differs, of every so many of all names."""
    for replaced in all_names()[::every]:
        yield from differences(replaced)[:1]
