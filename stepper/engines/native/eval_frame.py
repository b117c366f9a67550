"""Who captures, when: the thread's callback, and the functions that set it for a call."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch

from stepper import _C
from stepper.engines.native import convert_frame
from stepper.engines.native.current_backend import current_backend, set_current_backend


class _TorchDynamoContext:
    """Sets the thread's callback: as a decorator, a wrapper, or a context manager.

    callback: for `_C.set_frame_callback`.
    backend: what is captured for.
    """

    def __init__(self, callback: Any, backend: Any) -> None:
        self.callback = callback
        self.backend = backend
        self._before: list[Any] = []

    def __enter__(self) -> None:
        ensure_hook()
        self._before.append((_C.set_frame_callback(self.callback, self.backend), current_backend()))
        set_current_backend(self.backend)

    def __exit__(self, *exc: object) -> None:
        before, backend = self._before.pop()
        set_current_backend(backend)
        _C.set_frame_callback(*before)

    def __call__(self, fn: Any) -> Any:
        if isinstance(fn, torch.nn.Module):
            return OptimizedModule(fn, self)
        if isinstance(fn, type):
            raise TypeError("a class cannot be optimized; optimize its methods or instances")
        if not callable(fn):
            raise TypeError(f"a {type(fn).__name__} is not callable")
        return self._wrap(fn)

    def _wrap(self, fn: Callable[..., Any]) -> Any:
        callback, backend = self.callback, self.backend
        ensure_hook()
        set_callback = _C.set_frame_callback

        @functools.wraps(fn)
        def _fn(*args: Any, **kwargs: Any) -> Any:
            before = set_callback(callback, backend)
            outer = current_backend()
            set_current_backend(backend)
            try:
                return fn(*args, **kwargs)
            finally:
                set_current_backend(outer)
                set_callback(*before)

        made: Any = _fn
        _C.set_skip(made.__code__, "frame")
        made._torchdynamo_orig_callable = fn
        return made


class OptimizedModule(torch.nn.Module):
    """A module whose calls are captured; everything else is the module's."""

    def __init__(self, mod: torch.nn.Module, context: _TorchDynamoContext) -> None:
        super().__init__()
        self._orig_mod = mod
        code = getattr(mod.forward, "__code__", None)
        of_torch = code is not None and convert_frame.is_library(code.co_filename)
        self.__dict__["_call"] = context._wrap(convert_frame.wrap_inline(mod) if of_torch else mod)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.__dict__["_call"](*args, **kwargs)

    __call__ = forward

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)


def ensure_hook() -> None:
    """Be there when functions are called."""
    if not _C.hook_installed():
        _C.install_hook()


def optimize(
    backend: Any = "inductor", *, nopython: bool = False, dynamic: bool | None = None
) -> _TorchDynamoContext:
    """Capture what is called: a decorator, a wrapper of functions and modules, and a context.

    backend: a name that torch's registry knows, or `(gm, example_inputs) -> callable`.
    nopython: a graph break is an error.
    dynamic: whether sizes and ints are symbols, so that one capture serves many: True: all; False:
        only sizes that are marked; None: those that have changed since the last capture.
    """
    from stepper.engines.native.backends import lookup

    compiler = lookup(backend)
    callback = convert_frame.callback_for(compiler, nopython, dynamic)
    return _TorchDynamoContext(callback, compiler)


def optimize_assert(backend: Any = "inductor", *, dynamic: bool | None = None) -> Any:
    """`optimize` with `nopython`."""
    return optimize(backend, nopython=True, dynamic=dynamic)


def run(fn: Any = None) -> Any:
    """Use what has been captured, and capture nothing: a decorator or, without `fn`, a context."""
    context = _TorchDynamoContext(False, None)
    return context if fn is None else context(fn)


def disable(fn: Any = None, recursive: bool = True) -> Any:
    """Have a function, and all that it calls, run as it is; without `recursive`, only itself."""
    if fn is None:
        return functools.partial(disable, recursive=recursive)
    if not recursive:
        return skip(fn)
    fn = getattr(fn, "_torchdynamo_orig_callable", fn)
    return _TorchDynamoContext(None, None)(fn)


def skip(fn: Any = None) -> Any:
    """Have a function run as it is, but not what it calls."""
    if fn is None:
        return skip
    code = getattr(fn, "__code__", None)
    if type(code) is not types.CodeType:
        raise TypeError("only Python functions can be skipped")
    _C.set_skip(code, "frame")
    return fn
