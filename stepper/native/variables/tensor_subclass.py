"""Tensors of classes derived from `torch.Tensor` that keep no data of their own.

Each is a plain tensor, an alias of its data, that has a class: the graph sees the plain one. Who is
asked what an operation with it gives is as in torch: the `__torch_function__` of its class, which
is interpreted, down to torch's own. That does the operation with the plain tensors, and has what
comes of it be of the class. Before all of them the modes are asked that the frame has entered
(`TorchFunctionMode`), also what comes of operations with plain tensors.
"""

from __future__ import annotations

import operator
import types
from typing import TYPE_CHECKING

import torch

from stepper import _C
from stepper.native.guards.class_dicts import MISSING, has, is_derived, lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import AttrSource, CallSource, ConstantSource, Source
from stepper.native.variables import overrides
from stepper.native.variables.base import (
    Arguments,
    Guards,
    Keywords,
    TrackedKey,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin import handles
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.exceptions import no_attribute
from stepper.native.variables.functions import UserFunctionVariable
from stepper.native.variables.lists import ListVariable, TupleVariable
from stepper.native.variables.tensor import (
    GraphOutputVariable,
    StructSequenceVariable,
    TensorVariable,
    require_methods,
)
from stepper.native.variables.user_defined import UserDefinedClassVariable
from stepper.native.versions import (
    DEFAULT_OVERRIDE,
    NO_DISPATCH,
    NO_OVERRIDE,
    pop_function_mode,
    push_function_mode,
    without_overrides,
)
from stepper.support.words import one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe


def bare_tensor(value: torch.Tensor) -> torch.Tensor:
    """The plain tensor that has its data, and gives gradients to it."""
    with without_overrides(), torch.enable_grad():
        return value.as_subclass(torch.Tensor)


def of_class(value: torch.Tensor, cls: type[torch.Tensor]) -> torch.Tensor:
    """A tensor of a class, with the data of a plain one."""
    with without_overrides():
        return value.as_subclass(cls)


for function in (bare_tensor, of_class):
    _C.set_skip(function.__code__, "recursive")


def is_only_derived(kind: type) -> bool:
    """Whether tensors of a class are aliases of plain ones: nothing of theirs is asked below
    `__torch_function__`, or when one is made or ends."""
    return (
        is_derived(kind, torch.Tensor)
        and type(kind) is type(torch.Tensor)
        and lookup(kind, "__torch_dispatch__") is NO_DISPATCH
        and lookup(kind, "__torch_function__") is not NO_OVERRIDE
        and not is_derived(kind, torch.nn.Parameter)
        and lookup(kind, "__del__") is MISSING
        and lookup(kind, "__getattr__") is MISSING
        and not _own_protocols(kind)
    )


_OF_CLASSES = frozenset(
    {
        "__annotations__", "__copy__", "__deepcopy__", "__dict__", "__dir__", "__doc__",
        "__format__", "__getstate__", "__init__", "__init_subclass__", "__module__", "__new__",
        "__reduce__", "__reduce_ex__", "__repr__", "__setstate__", "__str__",
        "__torch_function__", "__weakref__",
    }
)  # fmt: skip
"""Special names of a class that no operation on its tensors looks up, or that are interpreted."""


def _own_protocols(kind: type) -> bool:
    """Whether a class has special methods of its own in place of a tensor's, as for `+` or `len`:
    Python calls those, and torch is asked only if they do."""
    bases = [base for base in kind.__mro__ if base not in torch.Tensor.__mro__]
    names = {name for base in bases for name in vars(base)} - _OF_CLASSES
    special = (name for name in names if name.startswith("__") and name.endswith("__"))
    return any(
        has(torch.Tensor, name) and lookup(kind, name) is not lookup(torch.Tensor, name)
        for name in special
    )


def existing(
    tx: Translator, value: torch.Tensor, source: Source, guards: Guards
) -> VariableTracker:
    """A tensor that was there before."""
    tx.output.asks = True
    bare = CallSource(source, bare_tensor)
    example = bare_tensor(value)
    proxy = tx.output.placeholder(bare, example)
    guards |= tx.output.install_guard(bare, GuardBuilder.TENSOR_MATCH, example)
    tx.output.note_key(source)
    return SubclassTensorVariable(proxy, type(value), value, source=source, guards=guards)


@tracker_class
class SubclassTensorVariable(TensorVariable):
    """One of them."""

    is_made = True

    value: torch.Tensor | None = None
    """The tensor, if it was there before."""
    plain: VariableTracker | None = None
    """Whose data it has, if that was there before: it may be no output of the graph's."""

    def __post_init__(self) -> None:
        self.identity = object()

    def describe(self) -> str:
        return f"{super().describe()} of class {self.class_type.__name__}"

    def asks(self, tx: Translator) -> bool:
        return tx.output.state.torch_function and not tx.output.overrides_off

    def as_key(self, tx: Translator) -> TrackedKey:
        raise self.refuse("use as a key")

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name == "__class__":
            return tx.class_variable(self)
        of_tensors = lookup(torch.Tensor, name)
        found = lookup(self.class_type, name)
        own = found is MISSING or not has(type(found), "__set__")
        if own and self._stores(tx, name):
            held = AttrSource(self._source(), name)
            return tx.build(held, vars(self.value)[name]).with_guards(self.guards)
        if found is MISSING:
            raise no_attribute(self.class_type, name)
        if found is not of_tensors:
            return self._of_class(tx, name, found)
        if name in _OF_OBJECTS and not self.asks(tx):
            raise self.refuse(f"attribute {name}")
        return super().var_getattr(tx, name)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        found = lookup(self.class_type, name)
        if found is not MISSING and type(found) is not property:
            return True
        if found is not MISSING:
            raise self.refuse("hasattr")
        return self._stores(tx, name)

    def _stores(self, tx: Translator, name: str) -> bool:
        """Whether it was stored on the object itself."""
        if self.value is None:
            return False
        stored = name in vars(self.value)
        condition = f"({name!r} in {self._source().name()}.__dict__) == {stored}"
        tx.output.install_guard(self._source(), GuardBuilder.EXPRESSION, name=condition)
        return stored

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        raise self.refuse(f"assignment to attribute {name}")

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        if name in _OF_OBJECTS and not self.asks(tx):
            raise self.refuse_method(name)
        return super().call_method(tx, name, args, kwargs)

    def recipe(self) -> Recipe:
        return of_class, self.plain or self.proxy.node, self.class_type

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.make(*self.recipe())


_OF_OBJECTS = frozenset(
    {
        "is_leaf", "grad", "grad_fn", "_base", "data", "requires_grad_", "detach_", "unsqueeze_",
        "squeeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "register_hook", "output_nr",
    }
)  # fmt: skip
"""What is another matter of the plain tensor."""


@tracker_class
class GetterVariable(VariableTracker):
    """`torch.Tensor.shape.__get__`, and the like."""

    name: str
    """What the attribute is called."""

    def python_type(self) -> type:
        return types.MethodWrapperType

    def describe(self) -> str:
        return f"the getter of attribute {self.name}"

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute: one that all have."""
        return has(types.MethodWrapperType, name)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name != "__name__":
            raise self.refuse(f"attribute {name}")
        return ConstantVariable("__get__")

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        return args[0].var_getattr(tx, self.name)


class DefaultOverrideVariable(UserFunctionVariable):
    """`torch.Tensor.__torch_function__`, the function of the class method."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        given = [*args, *kwargs.values()]  # nobody gives them in another order
        if len(given) < 3 or [*kwargs] not in ([], ["args"], ["kwargs"], ["args", "kwargs"]):
            raise self.refuse_call()
        cls, function, kinds, *rest = given
        arguments = rest[0].unpack(tx) if rest else []
        named = tx.realize(rest[1]) if len(rest) > 1 else ConstDictVariable.new({}, self.guards)
        if isinstance(named, ConstantVariable) and named.value is None:
            named = ConstDictVariable.new({}, self.guards)
        if not isinstance(cls, UserDefinedClassVariable) or not isinstance(
            named, ConstDictVariable
        ):
            raise self.refuse_call()
        of = [each.as_python_constant() for each in kinds.unpack(tx)]
        if not all(is_derived(cls.value, each) for each in of):
            return ConstantVariable(NotImplemented)
        output, before = tx.output, tx.output.overrides_off
        output.set_overrides_off(True)
        keywords = {str(key): each for key, each in named.items.items()}
        try:
            found = tx.realize(function).call_function(tx, arguments, keywords)
        finally:
            output.set_overrides_off(before)
        if isinstance(function, GetterVariable) and function.name in ("grad", "_base", "_grad"):
            return found
        return _converted(found, cls.value)


def _converted(found: VariableTracker, cls: type) -> VariableTracker:
    """What comes of an operation, with tensors of a class."""
    if isinstance(found, TensorVariable) and not is_derived(found.class_type, cls):
        return with_class(found, cls)
    if one_of(type(found), (TupleVariable, ListVariable)):
        items = [_converted(each, cls) for each in found.items]  # type: ignore[attr-defined]  # both have them
        made: VariableTracker = found.make(items, found.guards)  # type: ignore[attr-defined]  # as above
        return made
    if isinstance(found, GraphOutputVariable):
        items = [_converted(each, cls) for each in found.items]
        return StructSequenceVariable(items, found.kind, guards=found.guards)
    return found


def with_class(tensor: VariableTracker, cls: type) -> VariableTracker:
    """`tensor.as_subclass(cls)`."""
    known = cls is not torch.Tensor and is_only_derived(cls)
    if not known or not isinstance(tensor, TensorVariable):
        raise tensor.refuse_method("as_subclass")
    plain = tensor if tensor.source is not None else None
    return SubclassTensorVariable(tensor.proxy, cls, plain=plain, guards=tensor.guards)


def dispatched(
    tx: Translator, op: str, target: object, args: Arguments, kwargs: Keywords
) -> VariableTracker | None:
    """What the classes of tensors say that an operation gives; None: it is one of plain tensors."""
    given = [*args, *kwargs.values()]
    asked = overrides.in_order_of_classes(tx, overrides.given_to_torch(tx, given))
    modes = tx.output.function_modes
    if not asked and not modes:
        made = op == "call_method" and target == "as_subclass"
        return with_class(args[0], args[1].as_python_constant()) if made else None
    require_methods(tx.output, op, target, args)
    if target is getattr:
        function: VariableTracker = GetterVariable(args[1].as_python_constant())
        return overrides.ask_objects(tx, asked, asked, function, args[:1], None)
    given, named, name = [*args], kwargs or None, getattr(target, "__name__", "")
    if op == "call_method":
        function = tensor_method(tx, str(target))
    elif target is operator.getitem or target is operator.setitem:
        function = tensor_method(tx, f"__{name}__")
    elif callable(target) and (getattr(operator, name, None) is target or target in _BUILTINS):
        standing = [_stand_in(each, asked=bool(modes)) for each in args]
        heard = target(*standing)
        function, named = tensor_method(tx, heard.function.__name__), {} if heard.named else None
        given = [
            next((a for a, b in zip(args, standing, strict=True) if b is each), None)
            or ConstantVariable(each)
            for each in heard.args
        ]
    else:
        function = tx.build(ConstantSource(target), target)
    return overrides.ask_objects(tx, asked, asked, function, given, named)


_BUILTINS = (abs, pow, round, divmod)


def _stand_in(value: VariableTracker, *, asked: bool) -> object:
    if isinstance(value, TensorVariable):
        asked = asked or isinstance(value, SubclassTensorVariable)
        return torch.ones(()).as_subclass(overrides.TensorSide) if asked else torch.ones(())
    return value.as_python_constant()


def tensor_method(tx: Translator, name: str) -> VariableTracker:
    """`torch.Tensor.name`."""
    cls = tx.build(ConstantSource(torch.Tensor), torch.Tensor)
    return cls.var_getattr(tx, name)


OVERRIDES = {DEFAULT_OVERRIDE: DefaultOverrideVariable}
"""Functions that are known, beside others."""


@handles(push_function_mode)
def _push_function_mode(
    tx: Translator, args: Arguments, kwargs: Keywords
) -> VariableTracker | None:
    output = tx.output
    if output.modes or output.state.default_device or not output.state.torch_function:
        return None
    if not output.function_modes:
        output.asks, output.asked_since = True, tx.root.current_instruction.index
    output.set_function_modes((*output.function_modes, args[0]))
    return ConstantVariable(None)


@handles(pop_function_mode)
def _pop_function_mode(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if not (modes := tx.output.function_modes):
        return None
    tx.output.set_function_modes(modes[:-1])
    return modes[-1]
