"""What `torch.compile` makes while the native compiler serves it; see `torch_compile`."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch

from stepper import _C
from stepper.engines.native import versions
from stepper.native.library import is_library
from stepper.native.runtime.backends import Backend, lookup
from stepper.native.runtime.convert_frame import Settings, callback_for
from stepper.native.runtime.eval_frame import TorchDynamoContext
from stepper.native.skip_reasons import Call, has_tensor_in_frame, why_skip
from stepper.native.trace_rules import wrap_inline
from stepper.native.watching import WATCHING
from stepper.support.per_object import PerCode
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.debuggee.engine import Say

F = TypeVar("F")
R = TypeVar("R")

_settings = versions.settings()
_seen: PerCode[bool] = PerCode()
"""Codes that were called once in a stance that compiles from the second call on."""
_backends: list[Backend] = []
"""The backends that torch has made for `mode` and `options`: one for all that are equal, since
entries are found by the very backend."""


def served(
    say: Say,
    backend: str | Backend = "inductor",
    *,
    nopython: bool = False,
    dynamic: bool | None = None,
    recompile_limit: int | None = None,
    disable: bool = False,
    **others: object,
) -> Served:
    """What `torch._dynamo.optimize` returns, but for the native compiler."""
    for name, value in others.items():
        if value:
            say(f"{name} of torch.compile is not known to the native engine: without it")
    return Served(_one_for_all(backend), nopython, dynamic, recompile_limit)


def _one_for_all(backend: str | Backend) -> Backend:
    # torch packs those that have neither a mode nor options, too.
    if not getattr(backend, "kwargs", True):
        backend = getattr(backend, "compiler_fn", backend)
    found = lookup(backend)
    for known in _backends:
        if known == found:
            return known
    if found is not backend or type(found) is not types.FunctionType:
        _backends.append(found)
    return found


class Served(TorchDynamoContext):
    """Captures natively what is called, as the stance of the moment says."""

    settings: Callable[[], Settings]
    _asked: tuple[bool | None, int | None]
    """`dynamic` and `recompile_limit`."""

    def __new__(
        cls,
        backend: Backend,
        nopython: bool,
        dynamic: bool | None,
        recompile_limit: int | None,
    ) -> Served:
        def settings() -> Settings:
            chosen = dynamic
            if dynamic is None and not _settings.automatic_dynamic_shapes:
                chosen = not _settings.assume_static_by_default
            return Settings(chosen, recompile_limit or _settings.recompile_limit)

        self = super().__new__(cls, callback_for(backend, settings), backend, nopython)
        self.settings = settings
        self._asked = dynamic, recompile_limit
        return self

    def __call__(self, fn: F) -> F:
        """See `optimize`; a class has its instances' calls captured, as by Dynamo."""
        if isinstance(fn, type):
            made: Any = fn
            made.__call__ = self(made.__call__)
            return cast(F, made)
        if isinstance(fn, torch.nn.Module):
            return cast(F, versions.as_optimized_module(fn, self))
        if (call := versions.call_of_module(cast("Callable[..., object]", fn))) is not None:
            module, called = call
            # What the module's call comes to may be torch's own.
            code = getattr(module.forward, "__code__", None)
            of_torch = code is None or is_library(code.co_filename)
            return cast(F, self._wrap(wrap_inline(called) if of_torch else called))
        return super().__call__(fn)

    def __reduce__(self) -> tuple[object, ...]:
        return Served, (self.backend, self.nopython, *self._asked)

    def call(
        self, function: Callable[..., R], args: tuple[object, ...], kwargs: dict[str, object], /
    ) -> R:
        """Call a function in the stance of the moment."""
        stance = versions.stance()
        if stance.stance == "default" and stance.backend is None:
            return super().call(function, args, kwargs)
        return self._in(stance).call(function, args, kwargs)

    def _in(self, stance: versions.Stance) -> _C.Capturing:
        if stance.stance == "force_eager":
            return _C.Capturing(None, None)
        if stance.stance == "eager_on_recompile":
            return _C.Capturing(False, self.backend)
        if stance.stance == "fail_on_recompile":
            return _C.Capturing(partial(_fail, self.backend), self.backend, self.nopython)
        if stance.stance in ("eager_then_compile", "aot_eager_then_compile"):
            return _C.Capturing(self._from_the_second_call, self.backend)
        assert stance.backend is not None  # `call` has looked
        backend = _one_for_all(stance.backend)
        return _C.Capturing(callback_for(backend, self.settings), backend, self.nopython)

    def _from_the_second_call(
        self, code: types.CodeType, function: types.FunctionType, f_locals: dict[str, object]
    ) -> object:
        if _seen.get(code):
            return self.callback(code, function, f_locals)
        _seen.set(code, True)
        return None


def _fail(
    backend: object,
    code: types.CodeType,
    function: types.FunctionType,
    f_locals: dict[str, object],
) -> None:
    call = Call(code, function, f_locals)
    if why_skip(call) is None and has_tensor_in_frame(*call):
        message = (
            "Detected recompile when torch.compile stance is 'fail_on_recompile'. "
            f"filename: '{code.co_filename}', function name: '{code.co_name}', "
            f"line number: {code.co_firstlineno}"
        )
        WATCHING.watcher.refused(call, backend, message)
        raise RuntimeError(message)


_C.set_skip(Served.call.__code__, "frame")

keep_out()
