"""The native engine: stepper's own implementation of the system that TorchDynamo's documents
describe.

    @stepper.native.optimize(my_compiler)
    def toy_example(a, b): ...

Names are those of the documents. What cannot be captured runs as Python runs it, and says why
(`explain`); results, exceptions and side effects are always those of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepper import _C
from stepper.engines.native import config
from stepper.engines.native.convert_frame import GuardedCode, register_bytecode_hook, reset
from stepper.engines.native.eval_frame import disable, optimize, optimize_assert, run, skip
from stepper.engines.native.exc import Unsupported
from stepper.engines.native.observer import OBSERVERS, Explanation
from stepper.engines.native.variables.torch import (
    allow_in_graph,
    disallow_in_graph,
    graph_break,
)

__all__ = [
    "Unsupported",
    "allow_in_graph",
    "compile",
    "config",
    "disable",
    "disallow_in_graph",
    "explain",
    "export_guards",
    "graph_break",
    "optimize",
    "optimize_assert",
    "register_bytecode_hook",
    "reset",
    "run",
    "skip",
]


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """`optimize` with the signature of `torch.compile`.

    Raises:
        ValueError: `mode` or `options` are given, which are for inductor only.
    """
    if mode is not None or options is not None:
        raise ValueError("mode and options are not supported: give a backend that has them")
    if disable:
        return model if model is not None else (lambda fn: fn)
    context = optimize(backend, nopython=fullgraph, dynamic=dynamic)
    return context if model is None else context(model)


def explain(f: Callable[..., Any]) -> Callable[..., Explanation]:
    """A function that calls `f` with its arguments, capturing anew, and says what was captured:
    graphs, graph breaks and their reasons, frames that were not captured and why."""

    def inner(*args: Any, **kwargs: Any) -> Explanation:
        before = OBSERVERS.explanation
        listening = OBSERVERS.explanation = Explanation()
        try:
            optimize(lambda gm, inputs: gm.forward)(f)(*args, **kwargs)
        finally:
            OBSERVERS.explanation = before
        return listening

    return inner


def export_guards(f: Callable[..., Any]) -> list[str]:
    """For each entry of a function, in the order in which they are tried, the source of its
    `check_fn`.

    Raises:
        TypeError: it is no Python function or module.
    """
    f = getattr(f, "_torchdynamo_orig_callable", f)
    f = getattr(getattr(f, "_orig_mod", f), "forward", f)
    code = getattr(f, "__code__", None)
    if code is None:
        raise TypeError(f"a {type(f).__name__} has no code")
    entries = _C.code_cache(code).entries
    return [entry.manager.source for entry in entries if isinstance(entry, GuardedCode)]
