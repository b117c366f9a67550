"""Who captures, when: the thread's callback, and the functions that set it for a call."""

from __future__ import annotations

import copy
import functools
import os
import types
from collections.abc import Callable, Sized
from typing import Any, TypeVar, cast, overload

import torch

from stepper import _C
from stepper.native import config
from stepper.native.exc import not_one_graph
from stepper.native.guards.scope import is_called_plainly, is_immortal
from stepper.native.library import is_library
from stepper.native.runtime import convert_frame
from stepper.native.runtime.backends import Backend, lookup
from stepper.native.skip_reasons import demanded, wrappers
from stepper.native.trace_rules import wrap_inline
from stepper.native.versions import set_eval_frame
from stepper.support.per_object import PerCode
from stepper.uncompiled import keep_out

_C.dynamo_callback_set_by(set_eval_frame)

F = TypeVar("F")
"""A function or module, and what is called in its place."""


class TorchDynamoContext(_C.Capturing):
    """Sets the thread's callback: as a decorator, a wrapper, or a context manager.

    callback: for `_C.set_frame_callback`.
    backend: what is captured for.
    nopython: a call of a wrapped function becomes one graph, or is an error.
    """

    _runs = False
    """Whether what is in the cache is used, and nothing is captured."""

    def __call__(self, fn: F) -> F:
        """The function or module, captured when it is called."""
        if isinstance(fn, torch.nn.Module):
            return cast(F, OptimizedModule(fn, self))
        if isinstance(fn, type):
            raise TypeError("a class cannot be optimized; optimize its methods or instances")
        if not callable(fn):
            raise TypeError(f"a {type(fn).__name__} is not callable")
        return cast(F, self._wrap(fn))

    def _wrap(self, fn: Callable[..., object]) -> Callable[..., object]:
        """A function that calls another and captures it."""
        call = self.call
        if self.nopython or self._runs:
            fn = _unwrapped(fn)
        called = wrap_inline(fn) if _is_torchs(fn) else fn
        demanded = _Demanded(called) if self.nopython else None

        @functools.wraps(fn)
        def _fn(*args: object, **kwargs: object) -> object:
            return call(called if demanded is None else demanded.target(), args, kwargs)

        made: Any = _fn
        _C.set_skip(made.__code__, "frame")
        made._torchdynamo_orig_callable = fn
        made._captures = self.backend is not None or self._runs
        return _fn


def _unwrapped(fn: F) -> F:
    """What a function captures that was given for another, or runs from the cache: where captures
    are nested only the outermost counts."""
    while getattr(fn, "_captures", False):
        fn = fn._torchdynamo_orig_callable  # type: ignore[attr-defined]  # `_captures` goes with it
    return fn


class OptimizedModule(torch.nn.Module):
    """A module whose calls are captured; everything else is the module's."""

    stands_for_module = "_orig_mod"
    """Where the module is; captured code that calls this one calls that."""

    def __init__(self, mod: torch.nn.Module, context: TorchDynamoContext) -> None:
        super().__init__()
        self._orig_mod = mod
        del self.__dict__["training"]  # it is the module's, whoever sets it
        self.__dict__["_context"] = context
        self.__dict__["_call"] = context._wrap(mod)

    def forward(self, *args: object, **kwargs: object) -> object:
        """Call the module."""
        return self.__dict__["_call"](*args, **kwargs)

    __call__ = forward

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)

    def __deepcopy__(self, memo: dict[int, object]) -> OptimizedModule:
        """A copy that calls the copied module: `_call` knows the one it was made for."""
        made = memo[id(self)] = OptimizedModule(
            copy.deepcopy(self._orig_mod, memo), self.__dict__["_context"]
        )
        return made

    def __len__(self) -> int:
        return len(cast(Sized, self._orig_mod))

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(self._orig_mod)})

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)


class _Demanded:
    """Something of which each call is to become one graph, unless the program has disabled it.

    What its call comes to must be a frame of the program's: of the function itself, or of a
    module's `forward`. Where it is not (a function of torch's, an object, a module with hooks) a
    function around it is captured.
    """

    def __init__(self, fn: Callable[..., object]) -> None:
        self._fn = fn
        self._around: Callable[..., object] | None = None
        self._code = _code_of(fn)
        self._runs_as_it_is = hasattr(fn, "_captures")

    def target(self) -> Callable[..., object]:
        """What is to be called.

        Raises:
            Unsupported: it is never captured.
        """
        fn, code = self._fn, self._code
        if self._runs_as_it_is:
            return fn
        if code is None or (isinstance(fn, torch.nn.Module) and not is_called_plainly(fn)):
            if self._around is None:
                self._around = wrap_inline(fn)
            fn, code = self._around, self._around.__code__
        if _skipped.get(code):
            raise not_one_graph(code, "it was marked to be skipped")
        demanded.set(code, True)
        return fn


def _code_of(fn: object) -> types.CodeType | None:
    """The code that a call of a function or module comes to; None: nobody knows."""
    code = getattr(fn.forward if isinstance(fn, torch.nn.Module) else fn, "__code__", None)
    return code if type(code) is types.CodeType else None


def _is_torchs(fn: object) -> bool:
    """Whether a call comes to code of a library, or of C: no frame that is captured by itself."""
    if hasattr(fn, "_captures"):  # one of ours
        return False
    while isinstance(fn, functools.partial):
        fn = fn.func
    code = _code_of(fn)
    if code is not None:
        return is_library(code.co_filename) and not wrappers.get(code)
    return is_immortal(fn)


_skipped: PerCode[bool] = PerCode()
"""Codes that the program wants to run as they are (`skip`)."""


def optimize(
    backend: str | Backend = "inductor",
    *,
    nopython: bool = False,
    dynamic: bool | None = None,
    disable: bool = False,
) -> TorchDynamoContext:
    """Capture what is called: a decorator, a wrapper of functions and modules, and a context.

    Args:
        backend: a name that torch's registry knows, or `(gm, example_inputs) -> callable`.
        nopython: a graph break is an error.
        dynamic: whether sizes and ints are symbols, so that one capture serves many: True: all;
            False: only sizes that are marked; None: those that changed since the last capture.
        disable: capture nothing; what is called runs as it is, as with the environment's
            `TORCHDYNAMO_DISABLE=1`.
    """
    if disable or os.environ.get("TORCHDYNAMO_DISABLE") == "1":
        return TorchDynamoContext(None, None)
    compiler = lookup(backend)
    callback = convert_frame.callback_for(
        compiler, lambda: convert_frame.Settings(dynamic, config.cache_size_limit)
    )
    return TorchDynamoContext(callback, compiler, nopython)


def optimize_assert(
    backend: str | Backend = "inductor", *, dynamic: bool | None = None
) -> TorchDynamoContext:
    """`optimize` with `nopython`."""
    return optimize(backend, nopython=True, dynamic=dynamic)


@overload
def run() -> TorchDynamoContext: ...
@overload
def run(fn: F) -> F: ...
def run(fn: object = None) -> object:
    """Use what has been captured, and capture nothing: a decorator or, without `fn`, a context."""
    context = TorchDynamoContext(False, None)
    context._runs = True
    return context if fn is None else context(fn)


@overload
def disable(*, recursive: bool = True) -> Callable[[F], F]: ...
@overload
def disable(fn: F, recursive: bool = True) -> F: ...
def disable(fn: object = None, recursive: bool = True) -> object:
    """Have a function, and all that it calls, run as it is; without `recursive`, only itself."""
    if fn is None:
        return functools.partial(disable, recursive=recursive)
    if not recursive:
        return skip(fn)
    fn = getattr(fn, "_torchdynamo_orig_callable", fn)
    return TorchDynamoContext(None, None)(fn)


@overload
def skip() -> Callable[[F], F]: ...
@overload
def skip(fn: F) -> F: ...
def skip(fn: object = None) -> object:
    """Have a function run as it is, but not what it calls."""
    if fn is None:
        return skip
    code = getattr(fn, "__code__", None)
    if type(code) is not types.CodeType:
        raise TypeError("only Python functions can be skipped")
    _C.set_skip(code, "frame")
    _skipped.set(code, True)
    return fn


keep_out()
