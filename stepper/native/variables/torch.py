"""Functions of torch: which of them may be nodes, and which answer at once."""

from __future__ import annotations

import contextlib
import os
import types
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import torch.nn.functional

from stepper.native import versions
from stepper.native.exc import unimplemented
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.scope import is_immortal
from stepper.native.library import OPTIMIZERS, TORCH
from stepper.native.source import AttrSource
from stepper.native.variables import overrides
from stepper.native.variables.base import (
    Arguments,
    Keywords,
    TrackedKey,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin import has_attribute, has_symbol
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.exceptions import NAMES, no_attribute
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.functions import UserFunctionVariable
from stepper.native.variables.lists import SizeVariable, TupleVariable
from stepper.native.variables.numpy_arrays import MADE_OF_ARRAYS, NumpyArrayVariable, tensor_of
from stepper.native.variables.overrides import OVERRIDE
from stepper.native.variables.sym_node import SymNodeVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.support import break_kinds
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.base import GuardOptions

F = TypeVar("F")

_jit: Any = torch.jit
_OPTIMIZER = os.path.join(OPTIMIZERS, "optimizer.py")

_REFUSED = frozenset(
    {
        "from_file", "is_nonzero", "equal", "allclose", "set_", "resize_as_",
        "_sync", "_to_functional_tensor", "detach_", "is_same_size", "frombuffer", "from_blob",
        "squeeze_", "unsqueeze_",
    }
)  # fmt: skip

_PYTHON_FUNCTIONS: frozenset[object] = frozenset(
    {
        torch.functional.einsum, torch.functional.split, torch.functional.norm,
        torch.functional.meshgrid, torch.functional.cdist, torch.functional.tensordot,
        torch.functional.broadcast_tensors, torch.functional.atleast_1d,
        torch.functional.atleast_2d, torch.functional.atleast_3d, torch.functional.chain_matmul,
        torch.functional.block_diag, torch.functional.cartesian_prod, torch.functional.stft,
    }
)  # fmt: skip


def _set_by_node(told: object, tx: Translator) -> object:
    if not tx.f_code.co_filename.startswith(TORCH):
        raise unimplemented("what transforms set, which is set by itself")
    return told


_STATE: dict[object, object] = {
    torch.is_grad_enabled: lambda tx: tx.output.grad_enabled,
    torch.get_default_dtype: lambda tx: torch.get_default_dtype(),
    torch.cuda.is_available: lambda tx: torch.cuda.is_available(),
    torch.is_inference_mode_enabled: lambda tx: _in_inference_mode(tx),
    torch.compiler.is_compiling: lambda tx: not _computes_otherwise(tx),
    torch.compiler.is_dynamo_compiling: lambda tx: not _computes_otherwise(tx),
    torch.compiler.is_exporting: lambda tx: False,
    _jit.is_scripting: lambda tx: False,
    _jit.is_tracing: lambda tx: False,
    versions.is_tracing: lambda tx: False,
    versions.tracing_state: lambda tx: None,
    versions.are_transforms_active: lambda tx: bool(tx.output.transforms),
    versions.is_torch_function_enabled: lambda tx: tx.output.state.torch_function,
    versions.cudnn_enabled: lambda tx: versions.cudnn_enabled(),
    versions.own_backend_name: lambda tx: versions.own_backend_name(),
    versions.log_usage: lambda tx: None,
    versions.load_decompositions: lambda tx: versions.load_decompositions(),
    **{each: partial(_set_by_node, told) for each, told in versions.SET_BY_NODES.items()},
}
"""What these give is part of the guarded state, or a matter of being captured.

`is_compiling` asks whether it is captured, and is told so, as by Dynamo. Libraries leave out what
needs the data then: with eager's answer, no model of `transformers` with a mask is one graph."""


def _computes_otherwise(tx: Translator) -> bool:
    """Whether it is code of torch's that would compute with tensors where it computes with numbers
    in eager, and optimizers would give other parameters; or would leave out what makes a function
    look like the one that it wraps."""
    code = tx.f_code
    if code is versions.WRAPS_FUNCTION:
        return True
    return code.co_filename == _OPTIMIZER and code.co_name in ("_get_value", "_stack_if_compiling")


def _in_inference_mode(tx: Translator) -> bool:
    tx.output.install_guard(None, GuardBuilder.INFERENCE_MODE)
    return tx.output.inference


_OF_AUTOCAST = frozenset(
    {torch.is_autocast_enabled, torch.is_autocast_cache_enabled, torch.get_autocast_dtype}
)
_QUESTIONS = _OF_AUTOCAST | frozenset(
    {
        torch.is_floating_point, torch.is_complex, torch.is_tensor, torch.is_storage,
        torch.overrides.has_torch_function, torch.overrides.has_torch_function_unary,
        torch.overrides.has_torch_function_variadic, torch.overrides.handle_torch_function,
        torch.result_type, torch.promote_types,
        torch.can_cast, torch.finfo, torch.iinfo, torch.broadcast_shapes, torch.device, torch.Size,
        torch.overrides.is_tensor_like, versions.is_batched, torch.get_default_device,
        versions.is_traceable_wrapper,
    }
)  # fmt: skip


_AS_METHODS: dict[object, str] = {torch.numel: "numel", torch.equal: "equal"}
"""Functions that tensors answer, as if it were their method."""


_allowed: weakref.WeakSet[object] = weakref.WeakSet()
_disallowed: weakref.WeakSet[object] = weakref.WeakSet()


def allow_in_graph(fn: F) -> F:
    """Have calls of a function be nodes: it is called with tensors and constants, and returns
    such."""
    _disallowed.discard(fn)
    _allowed.add(fn)
    return fn


def disallow_in_graph(fn: F) -> F:
    """Have calls of a function of torch break the graph."""
    _allowed.discard(fn)
    _disallowed.add(fn)
    return fn


def graph_break() -> None:
    """Break the graph here; in code that is not captured, nothing."""


def is_graph_function(value: object) -> bool:
    """Whether a function may be a node."""
    if _allowed and value in _allowed:
        return True
    if _disallowed and value in _disallowed:
        return False
    if value in versions.OF_TRANSFORMS:
        return True
    if type(value) is types.FunctionType:
        if value in _PYTHON_FUNCTIONS:
            return True
        return (
            value.__module__ == "torch.nn.functional"
            and not value.__name__.startswith("_")  # these help others, and are interpreted
            and getattr(torch.nn.functional, value.__name__, None) is value
        )
    name = getattr(value, "__name__", "")
    if name in _REFUSED or type(value).__name__ not in (
        "builtin_function_or_method",
        "method_descriptor",
    ):
        return False
    if getattr(value, "__module__", "") is None:  # `__and__` and the like: no graph can name it
        return False
    if getattr(versions.VARIABLE_FUNCTIONS, name, None) == value:
        return True
    return any(getattr(each, name, None) is value for each in versions.FUNCTION_NAMESPACES)


def is_torch_function(value: object) -> bool:
    """Whether `TorchInGraphFunctionVariable` knows what to do with a function."""
    try:
        known = answer_of(value) is not None or value in _QUESTIONS or value in versions.CHECKS
        return known or value in _AS_METHODS or is_graph_function(value)
    except TypeError:  # not hashable
        return False


def answer_of(value: Any) -> Any:
    """What gives the answer of a function that is about the state; None: it is no such function."""
    if getattr(value, "__module__", None) in versions.ASKED_WHETHER_COMPILING:
        # Another name of the same question; Dynamo is imported late, if at all.
        value = getattr(torch.compiler, getattr(value, "__name__", ""), value)
    return _STATE.get(value)


@tracker_class
class TorchInGraphFunctionVariable(VariableTracker):
    """A function of torch."""

    value: Any
    """The function."""

    def describe(self) -> str:
        return f"torch function {getattr(self.value, '__name__', '')}"

    def as_key(self, tx: Translator) -> TrackedKey:
        return super().as_key(tx) if self.source is None else TrackedKey.guarded(self, self.value)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute; in what is written in C nobody stores one."""
        if not is_immortal(self.value):
            raise self.refuse("hasattr")
        return hasattr(self.value, name)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if type(self.value) is types.FunctionType and name in NAMES and self.source is not None:
            return tx.build(AttrSource(self.source, name), getattr(self.value, name))
        if not self.has_attribute(tx, name):
            raise no_attribute(type(self.value), name)
        return wrap_constant(getattr(self.value, name), self.guards)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        options = self.propagate(self, args, list(kwargs.values()))
        if (state := answer_of(self.value)) is not None:
            if tx.output.function_modes and self.value is torch.is_grad_enabled:
                raise self.refuse("a call in a mode that is asked")
            if self.value is versions.cudnn_enabled:  # no part of the global state
                tx.output.install_guard(None, GuardBuilder.CUDNN_ENABLED)
            return wrap_constant(state(tx), options["guards"])
        if self.value in versions.CHECKS:
            return self._check(tx, args, kwargs, options)
        if (method := _AS_METHODS.get(self.value)) and args and isinstance(args[0], TensorVariable):
            return args[0].call_method(tx, method, args[1:], kwargs)
        if self.value is torch.overrides.handle_torch_function:
            return overrides.handled(tx, args, kwargs)
        if self.value in _QUESTIONS:
            return self._answer(tx, args, kwargs, options)
        if (told := self._overridden(tx, args, kwargs)) is not None:
            return told
        if "out" in kwargs:
            return self._write_to(tx, args, kwargs)
        alone = len(args) == 1 and not kwargs
        if self.value is torch.as_tensor and alone and isinstance(args[0], TensorVariable):
            return args[0]
        if args and isinstance(args[0], NumpyArrayVariable) and self.value in MADE_OF_ARRAYS:
            return tensor_of(tx, self.value, args[0], kwargs)
        if self.value is torch.tensor and any(isinstance(arg, TensorVariable) for arg in args):
            raise unimplemented("torch.tensor of a tensor")
        copies = self.value is torch.tensor or self.value is torch.as_tensor
        called = versions.INSTEAD.get(self.value, self.value)
        if copies and any(map(has_symbol, args)):
            called = versions.tensor_of_symbols
        tx.output.calls_program |= called in _allowed
        result = tx.call_in_graph("call_function", called, args, kwargs)
        return result.with_guards(self.guards)

    def _overridden(
        self, tx: Translator, args: Arguments, kwargs: Keywords
    ) -> VariableTracker | None:
        """What an argument's `__torch_function__` says, which is asked before all else; None: no
        argument has one."""
        asked = overrides.in_order_of_classes(
            tx, overrides.given_to_torch(tx, [*args, *kwargs.values()])
        )
        if not asked and not tx.output.function_modes:
            return None
        if not tx.output.state.torch_function:
            raise self.refuse("a call with an object that has __torch_function__")
        if type(self.value) is types.FunctionType:  # it asks itself
            function = UserFunctionVariable(self.value, source=self.source, guards=self.guards)
            return function.call_function(tx, args, kwargs)
        return overrides.ask_objects(tx, asked, asked, self, args, kwargs or None)

    def _check(
        self, tx: Translator, args: Arguments, kwargs: Keywords, options: GuardOptions
    ) -> VariableTracker:
        """A check that succeeds; one that does not has more to say."""
        if not args or args[0].python_type() not in (bool, torch.SymBool) or kwargs:
            raise self.refuse("a call")
        if isinstance(args[0], SymNodeVariable) and not args[0].is_python_constant():
            if len(args) > 1:
                raise self.refuse("a call with a message, about what is not known,")
            return tx.call_in_graph("call_function", versions.check, args, {})
        if not args[0].truth(tx):
            raise self.refuse("a call that raises an exception")
        return ConstantVariable(None, **options)

    def _write_to(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """A call with `out=`: a change in place, of a tensor that has the size already."""
        out = kwargs["out"]
        if isinstance(out, ConstantVariable) and out.value is None:
            return tx.call_in_graph("call_function", self.value, args, kwargs)
        written = out.unpack(tx) if isinstance(out, TupleVariable) else [out]
        tensors = [each for each in written if isinstance(each, TensorVariable)]
        if len(tensors) != len(written):
            raise unimplemented("an operator with out=", "use what it returns, without out=")
        before = [(each.fake.shape, each.fake.stride()) for each in tensors]
        result = tx.call_in_graph("call_function", self.value, args, kwargs)
        if [(each.fake.shape, each.fake.stride()) for each in tensors] != before:
            reason = "an operator with out= of another size"
            raise unimplemented(reason, kind=break_kinds.OUT)
        return result.with_guards(self.guards)

    def _answer(
        self, tx: Translator, args: Arguments, kwargs: Keywords, options: GuardOptions
    ) -> VariableTracker:
        if "has_torch_function" in self.value.__name__ and args and not kwargs:
            asked = args[0].unpack(tx) if self.value is torch.overrides.has_torch_function else args
            found = any(overrides.given_to_torch(tx, [*asked]))
            found = found and tx.output.state.torch_function
            return ConstantVariable(found or bool(tx.output.function_modes), **options)
        about = self.value is torch.is_tensor or self.value is torch.overrides.is_tensor_like
        if about and len(args) == 1 and not kwargs:
            found = isinstance(args[0], TensorVariable)
            if not found and self.value is not torch.is_tensor:
                found = has_attribute(tx, args[0], OVERRIDE)
            return ConstantVariable(found, **options)
        if self.value is torch.Size and len(args) == 1 and not kwargs:
            sizes = args[0].listed(tx)
            if any(each.python_type() is not int for each in sizes):
                raise self.refuse("a call with these sizes")
            return SizeVariable(sizes, **options)
        asks = any(isinstance(arg, TensorVariable) and arg.asks(tx) for arg in args)
        if asks or tx.output.function_modes:
            raise self.refuse("a call with a tensor whose class is asked")
        values = [
            arg.fake if isinstance(arg, TensorVariable) else arg.as_python_constant()
            for arg in args
        ]
        named = {key: value.as_python_constant() for key, value in kwargs.items()}
        try:
            with contextlib.ExitStack() as stack:
                for mode in tx.output.modes:
                    stack.enter_context(mode())
                result = self.value(*values, **named)
        except Exception as error:
            raise unimplemented(f"{type(error).__name__}: {error}") from None
        if self.value in _OF_AUTOCAST:
            for device in (*values, *named.values(), "cpu"):
                tx.output.install_guard(None, GuardBuilder.AUTOCAST, device, key=device)
        if isinstance(result, torch.finfo | torch.iinfo):
            return TypeInfoVariable(result, **options)
        return wrap_constant(result, options["guards"])

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_const(self.value)


@tracker_class
class TypeInfoVariable(VariableTracker):
    """`torch.finfo(dtype)` or `torch.iinfo(dtype)`."""

    value: object
    """What holds the facts."""

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        return wrap_constant(getattr(self.value, name), self.guards)

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_const(self.value)


keep_out()
