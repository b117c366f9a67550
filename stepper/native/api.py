"""What programs call; `stepper.native` has all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, overload

from stepper import _C
from stepper.native import config as config
from stepper.native.exc import Unsupported as Unsupported
from stepper.native.explanation import Explanation
from stepper.native.export import export as export
from stepper.native.runtime.backends import Backend
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.native.runtime.convert_frame import reset as reset
from stepper.native.runtime.eval_frame import F, optimize
from stepper.native.runtime.eval_frame import disable as disable
from stepper.native.runtime.eval_frame import optimize_assert as optimize_assert
from stepper.native.runtime.eval_frame import run as run
from stepper.native.runtime.eval_frame import skip as skip
from stepper.native.runtime.translation import register_bytecode_hook as register_bytecode_hook
from stepper.native.variables.assumed_constant import (
    assume_constant_result as assume_constant_result,
)
from stepper.native.variables.torch import allow_in_graph as allow_in_graph
from stepper.native.variables.torch import disallow_in_graph as disallow_in_graph
from stepper.native.variables.torch import graph_break as graph_break
from stepper.native.watching import WATCHING
from stepper.uncompiled import keep_out

P = ParamSpec("P")


@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Backend = "inductor",
    mode: str | None = None,
    options: dict[str, object] | None = None,
    disable: bool = False,
) -> Callable[[F], F]: ...
@overload
def compile(
    model: F,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Backend = "inductor",
    mode: str | None = None,
    options: dict[str, object] | None = None,
    disable: bool = False,
) -> F: ...
def compile(
    model: object = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Backend = "inductor",
    mode: str | None = None,
    options: dict[str, object] | None = None,
    disable: bool = False,
) -> object:
    """`optimize` with the signature of `torch.compile`.

    Raises:
        ValueError: `mode` or `options` are given: a backend that has them is given itself.
    """
    if mode is not None or options is not None:
        raise ValueError("mode and options are not supported: give a backend that has them")
    if disable:
        return model if model is not None else (lambda fn: fn)
    context = optimize(backend, nopython=fullgraph, dynamic=dynamic)
    return context if model is None else context(model)


def explain(f: Callable[P, object]) -> Callable[P, Explanation]:
    """A function that calls `f` with its arguments, capturing anew, and says what was captured:
    graphs, graph breaks and their reasons, frames that were not captured and why."""

    def inner(*args: P.args, **kwargs: P.kwargs) -> Explanation:
        before = WATCHING.explanation
        listening = WATCHING.explanation = Explanation()
        try:
            optimize(lambda gm, inputs: gm.forward)(f)(*args, **kwargs)
        finally:
            WATCHING.explanation = before
        return listening

    return inner


def export_guards(f: object) -> list[str]:
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


keep_out()
