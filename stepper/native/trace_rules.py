"""What is inlined, and what is given up."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

from stepper import _C
from stepper.native import break_contexts
from stepper.native.exc import Reason
from stepper.native.library import STEPPER, TORCH, is_library
from stepper.native.polyfills import is_polyfill
from stepper.native.skip_reasons import reads_its_frame, wrappers
from stepper.native.variables.torch import graph_break
from stepper.support import break_kinds
from stepper.support.per_object import PerCode

_COMPILERS = (
    "_dynamo", "_inductor", "_subclasses", "_export", "export", "fx", "testing", "_library",
    "_ops.py", "_guards.py", "utils/_python_dispatch.py", "utils/checkpoint.py", "onnx",
    "multiprocessing", "package", "serialization.py", "library.py",
)  # fmt: skip
_NOT_INLINED = tuple(
    os.path.join(TORCH, name) + ("" if name.endswith(".py") else os.sep) for name in _COMPILERS
)
"""What of torch is not interpreted like the program: compilers, and what they are made of."""
_COMPTIME = os.path.join(TORCH, "_dynamo", "comptime.py")
"""What Dynamo does while it traces; in eager that is nothing, or what is to be done instead."""
_DECORATORS = os.path.join(TORCH, "_dynamo", "decorators.py")
_EVAL_FRAME = os.path.join(TORCH, "_dynamo", "eval_frame.py")
_ASKED = {
    "graph_break": break_kinds.ASKED,
    "skip_frame": break_kinds.SKIP_ASKED,
    "disable": break_kinds.DISABLING,
}
"""By the function in that file that is called."""
_HANDED_ON = tuple(
    f"OptimizedModule.{name}"
    for name in ("training", "__getattr__", "__setattr__", "__delattr__", "__len__")
)
_DISABLED = "DisableContext.__call__.<locals>._fn"
"""What torch makes of a function that is disabled."""
_given_up: PerCode[str] = PerCode()
"""Why the translation of a code has led to nothing."""


def wrap_inline(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `fn` and is captured, for code of torch's that is to be: it is
    interpreted where it is called, and left alone where it is a frame."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    inner.__code__ = inner.__code__.replace()  # with entries of its own
    wrappers.set(inner.__code__, True)
    return inner


def is_hint_of_torch(function: types.FunctionType, caller: types.CodeType) -> bool:
    """Whether a call does nothing but have Dynamo break a graph, in code of torch's: optimizers do
    it for the sake of AOTAutograd, around what changes the parameters."""
    own = caller.co_filename.startswith(TORCH)
    return (
        own
        and function.__code__.co_qualname == "graph_break"
        and function.__code__.co_filename == _DECORATORS
    )


def give_up(code: types.CodeType, reason: str) -> None:
    """Capture the code no more, since its translation has led to nothing."""
    _given_up.set(code, reason)
    _C.set_skip(code, "capture", unless_whole=True)


def forget_given_up() -> None:
    """Try again what was given up."""
    for code in _given_up.living():
        if _C.get_skip(code) == "capture":
            _C.set_skip(code, None)
    _given_up.clear()


def why_given_up(code: types.CodeType) -> str:
    """Why the translation of a code has led to nothing; empty: it has not."""
    return _given_up.get(code) or ""


def _of_torch(function: types.FunctionType) -> str:
    code = function.__code__
    name = f"{function.__module__}.{code.co_qualname}"
    if code.co_filename == _DECORATORS and code.co_name in _ASKED:
        return Reason(f"{name} of torch", kind=_ASKED[code.co_name])
    if code.co_qualname == _DISABLED:
        reason = f"{function.__qualname__}, which is disabled (torch.compiler.disable)"
        return Reason(reason, kind=break_kinds.DISABLED, context=str(function))
    context = break_contexts.function_context(function, "it is of torch's compilers")
    return Reason(f"{name} of torch", kind=break_kinds.SKIPPED, context=context)


def why_not_inline(function: types.FunctionType) -> str:
    """Why a function is not to be inlined; empty: it is."""
    code = function.__code__
    if _C.get_skip(code) in ("recursive", "frame") and not is_library(code.co_filename):
        return f"{code.co_qualname} is not to be captured"
    filename = code.co_filename
    if code is graph_break.__code__:
        return Reason("graph_break() was called", "remove the call", kind=break_kinds.ASKED)
    if is_polyfill(code) or wrappers.get(code):
        return ""
    if filename.startswith(STEPPER):
        return f"{code.co_qualname} is stepper's own"
    if filename.startswith(_NOT_INLINED) and filename != _COMPTIME:
        # What stands for a module hands on what it is asked.
        handed_on = filename == _EVAL_FRAME and code.co_qualname in _HANDED_ON
        return "" if handed_on else _of_torch(function)
    if reads_its_frame(code):
        return f"{code.co_qualname}, which may read its own frame"
    return ""
