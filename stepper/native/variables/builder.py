"""Wraps values that exist: which tracker, and which guards.

Each object with an identity has one tracker, however it is reached: the second expression that
leads to it is guarded to be the same object. Values that are only copied around are not looked at:
the items of a container are lazy until somebody takes them.
"""

from __future__ import annotations

import collections
import contextvars
import functools
import os
import random
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import (
    class_dict,
    flags_of,
    has,
    is_derived,
    lookup,
    module_of,
    note_all,
    order_of,
)
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.originals import require
from stepper.native.polyfills import FUNCTIONS
from stepper.native.source import (
    AttrSource,
    CallSource,
    GetItemSource,
    Source,
    entry,
    standing,
    viewed,
)
from stepper.native.variables import builtin_objects as _of_objects  # noqa: F401  # it says what builtins do
from stepper.native.variables import ctx_manager, higher_order, tensor_subclass
from stepper.native.variables import torch as torch_functions
from stepper.native.variables.autograd_function import APPLY_FUNCTION, ApplyVariable
from stepper.native.variables.base import (
    AttributeMutationExisting,
    Guards,
    LazyVariableTracker,
    ValueMutationExisting,
    VariableTracker,
    is_hashed_by_identity,
)
from stepper.native.variables.builtin import OF_TEXTS, BuiltinVariable
from stepper.native.variables.builtin_methods import METHODS_OF_C, BoundBuiltinMethod
from stepper.native.variables.cached_function import CACHED, CachedFunctionVariable
from stepper.native.variables.constant import CONSTANT_TYPES, ConstantVariable, is_constant
from stepper.native.variables.context_var import ContextVariable
from stepper.native.variables.dicts import (
    MOST_ENTRIES,
    ConstDictVariable,
    is_plain_record,
    key_of,
)
from stepper.native.variables.enums import (
    EnumVariable,
    NumberMemberVariable,
    is_number_flag,
    is_number_member,
    is_plain_member,
)
from stepper.native.variables.exceptions import ExceptionClassVariable
from stepper.native.variables.folding import OPERATORS
from stepper.native.variables.functions import (
    BaseUserFunctionVariable,
    CellVariable,
    UserFunctionVariable,
    UserMethodVariable,
    is_known_by_code,
)
from stepper.native.variables.iter import ListIteratorVariable
from stepper.native.variables.lists import (
    ListVariable,
    RangeVariable,
    SizeVariable,
    SliceVariable,
    TupleVariable,
)
from stepper.native.variables.mapping_proxy import MappingProxyVariable
from stepper.native.variables.misc import PythonModuleVariable, ScriptFunctionVariable, is_stand_in
from stepper.native.variables.named_tuple import (
    NamedTupleClassVariable,
    NamedTupleMakerVariable,
    NamedTupleVariable,
    is_named_tuple,
)
from stepper.native.variables.nn_module import NNModuleVariable
from stepper.native.variables.numpy_numbers import wrap_numpy
from stepper.native.variables.partial import FunctoolsPartialVariable
from stepper.native.variables.random_numbers import DRAWING, DrawingFunctionVariable, RandomVariable
from stepper.native.variables.registry import RegistryVariable
from stepper.native.variables.sets import SetVariable
from stepper.native.variables.templates import InterpolationVariable, TemplateVariable
from stepper.native.variables.tensor import TensorVariable, is_graph_method
from stepper.native.variables.torch_ops import wrap_operator
from stepper.native.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
    is_immutable,
)
from stepper.native.variables.weak_references import WeakReferenceVariable
from stepper.native.versions import (
    SCRIPTED,
    HigherOrderOperator,
    checkpoint,
    without_overrides,
)
from stepper.support.words import Classes, is_subclass, one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Translator

_FUNCTIONS: dict[Any, Callable[..., VariableTracker]] = {
    checkpoint: higher_order.HigherOrderVariable,
    collections.namedtuple: NamedTupleMakerVariable,
    APPLY_FUNCTION: ApplyVariable,
    **dict.fromkeys(DRAWING, DrawingFunctionVariable),
    **tensor_subclass.OVERRIDES,
    **dict.fromkeys(OF_TEXTS, BuiltinVariable),
}
"""Functions of which it is known what they do when they are called."""
_OVER_SEQUENCES = Classes(type(iter(())), type(iter([])), type(iter(range(0))))
"""Classes of iterators that say where they stand."""
_GIVING_VIEWS = [
    (type(getattr(of(), name)()), getattr(of, name))
    for of in (dict, collections.OrderedDict)
    for name in ("keys", "values", "items")
]
"""Classes of views of dictionaries, each with the method that gives such."""
_VIEWS = Classes(*(of for of, _ in _GIVING_VIEWS))
_WITH_METHODS = Classes(
    dict, list, set, frozenset, str, tuple, torch.Tensor, torch.nn.Parameter, random.Random
)  # fmt: skip
"""Classes of which a method may be there with its object."""
_FUNCTION_KINDS = Classes(
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType,
)  # fmt: skip


_CLASS = GuardBuilder.CLASS_MATCH
_OF_TORCH = torch_functions.TorchInGraphFunctionVariable


class VariableBuilder:
    """Wraps the value that a source leads to: `VariableBuilder(tx, source)(value)`."""

    def __init__(self, tx: Translator, source: Source) -> None:
        self.tx = tx
        self.source = source

    def __call__(self, value: object) -> VariableTracker:
        if type(value) is int or type(value) is float:
            symbolic = self.tx.output.symbolic_number(self.source, value)
            if symbolic is not None:
                return symbolic
        if type(value) in CONSTANT_TYPES:
            return self._made(ConstantVariable, GuardBuilder.CONSTANT_MATCH, value, value)
        output = self.tx.output
        known = output.variables.get(id(value))
        if known is not None and known[0] is value:
            return self._again(known[1])
        made = self._wrap(value)
        output.remember_variable(value, made)
        if made.mutation_type is not None:
            output.note_mutable(self.source)
        return made

    def install_guards(self, create_fn: Any, value: object) -> Guards:
        """Have the value checked."""
        return self.tx.output.install_guard(self.source, create_fn, value)

    def _made(
        self, made: Callable[..., VariableTracker], create_fn: Callable[..., None], value: object,
        *given: object, **options: object,
    ) -> VariableTracker:  # fmt: skip
        """A tracker made of what is given, of the value, which is checked."""
        guards = self.install_guards(create_fn, value)
        return made(*given, source=self.source, guards=guards, **options)

    def _again(self, known: VariableTracker) -> VariableTracker:
        first = known.source
        if first is None or first.name() == self.source.name():
            return known
        guards = self.install_guards(GuardBuilder.DUPLICATE_INPUT, first.name())
        return known.with_guards(guards)

    def _wrap(self, value: Any) -> VariableTracker:
        kind = type(value)
        if kind is torch.Tensor or kind is torch.nn.Parameter or _is_plain_parameter(kind):
            return self._wrap_tensor(value)
        if kind is tuple or kind is list or is_named_tuple(kind):
            return self._wrap_sequence(value)
        if kind is dict and all(map(is_key, value)):
            return self._wrap_dict(value)
        if kind is dict and 0 < len(value) <= MOST_ENTRIES and all(map(_is_known_key, value)):
            return self._wrap_dict_of_objects(value)
        if kind is dict and len(value) > MOST_ENTRIES and all(map(_is_plain_key, value)):
            return self._made(RegistryVariable, GuardBuilder.TYPE_MATCH, value, value)
        if (kind is set or kind is frozenset) and all(map(_is_element, value)):
            return self._wrap_set(value)
        if kind is torch.Size and all(type(item) is int for item in value):
            guards = self.install_guards(GuardBuilder.EQUALS_MATCH, value)
            items = [ConstantVariable(item, guards=guards) for item in value]
            return SizeVariable(items, source=self.source, guards=guards)
        if kind in _OVER_SEQUENCES:
            return self._wrap_iterator(value)
        if kind is range:
            return self._made(RangeVariable, GuardBuilder.EQUALS_MATCH, value, value)
        if kind is slice and is_constant((value.start, value.stop, value.step)):
            items = [ConstantVariable(v) for v in (value.start, value.stop, value.step)]
            return self._made(SliceVariable, GuardBuilder.EQUALS_MATCH, value, items)
        if issubclass(kind, torch.nn.Module) and "_parameters" in value.__dict__:
            of_torch = module_of(kind).startswith(("torch.nn.", "torch.ao."))
            self.tx.output.shapes.modules[self.source.name()] = of_torch
            changes = AttributeMutationExisting()
            match = GuardBuilder.NN_MODULE
            return self._made(NNModuleVariable, match, value, value, mutation_type=changes)
        if kind is types.CellType:
            return self._wrap_cell(value)
        if kind is contextvars.ContextVar:
            changes = AttributeMutationExisting()
            return self._made(
                ContextVariable, GuardBuilder.TYPE_MATCH, value, value, mutation_type=changes
            )
        if kind is types.MappingProxyType:
            base = self.tx.build(CallSource(self.source, viewed), viewed(value))
            guards = base.guards | self.install_guards(GuardBuilder.TYPE_MATCH, value)
            return MappingProxyVariable(base, source=self.source, guards=guards)
        if kind in _VIEWS:
            owner = self.tx.build(CallSource(self.source, viewed), viewed(value))
            method = next(each for of, each in _GIVING_VIEWS if of is kind)
            view = BuiltinVariable(method).call_function(self.tx, [owner], {})
            guards = view.guards | self.install_guards(GuardBuilder.TYPE_MATCH, value)
            return view.with_fields(source=self.source, guards=guards)
        if kind is weakref.ReferenceType or kind is weakref.KeyedRef:
            return self._made(WeakReferenceVariable, GuardBuilder.TYPE_MATCH, value, value)
        if kind is types.UnionType or kind is type(sys.version_info):
            return self._made(ConstantVariable, GuardBuilder.EQUALS_MATCH, value, value)
        if value is os.environ:
            return self._made(RegistryVariable, GuardBuilder.ID_MATCH, value, value)
        if kind is functools.partial:
            return self._wrap_partial(value)
        if kind is CACHED:
            changes = AttributeMutationExisting()
            match = GuardBuilder.ID_MATCH
            return self._made(CachedFunctionVariable, match, value, value, mutation_type=changes)
        for fixed in (TemplateVariable, InterpolationVariable):
            if kind is fixed.kind:
                guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
                return fixed.wrap(self.tx, self.source, value, guards)
        if tensor_subclass.is_only_derived(kind) and _is_strided(value):
            guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
            return tensor_subclass.existing(self.tx, value, self.source, guards)
        if is_plain_member(value):
            return self._made(EnumVariable, GuardBuilder.ID_MATCH, value, value)
        if is_number_member(value) or is_number_flag(value):
            guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
            guards |= self.install_guards(GuardBuilder.CONSTANT_SUBCLASS_MATCH, value)
            known = EnumVariable if is_number_flag(value) else NumberMemberVariable
            return known(value, source=self.source, guards=guards)
        if kind is torch.autocast and ctx_manager.is_mode(self.tx.output, kind):
            guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
            return ctx_manager.existing_autocast(self.tx, value, self.source, guards)
        if is_subclass(HigherOrderOperator, kind) and value in higher_order.OPERATORS:
            return self._made(higher_order.HigherOrderVariable, GuardBuilder.ID_MATCH, value, value)
        found = wrap_operator(self, value) or wrap_numpy(self, value) or self._wrap_callable(value)
        if found is not None:
            return found
        changes = AttributeMutationExisting()
        match = GuardBuilder.TYPE_MATCH
        made = RandomVariable if issubclass(kind, random.Random) else UserDefinedObjectVariable
        made = ScriptFunctionVariable if kind is SCRIPTED else made
        return self._made(made, match, value, value, mutation_type=changes)

    def _wrap_iterator(self, value: Iterator[object]) -> VariableTracker:
        sequence, index = standing(value)
        guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
        stands = CallSource(self.source, standing)
        name = f"{stands.name()}[1] == {index}"
        guards |= self.tx.output.install_guard(stands, GuardBuilder.EXPRESSION, name=name)
        base = self.tx.build(GetItemSource(stands, 0), sequence)
        if not isinstance(base, TupleVariable | ListVariable | RangeVariable):
            raise base.refuse("iteration")
        return ListIteratorVariable(
            base, index, source=self.source, guards=guards | base.guards,
            mutation_type=ValueMutationExisting(),
        )  # fmt: skip

    def _wrap_callable(self, value: Any) -> VariableTracker | None:
        kind = type(value)
        source = self.source
        if kind is types.ModuleType or is_stand_in(value):
            return self._made(PythonModuleVariable, GuardBuilder.PYMODULE_MATCH, value, value)
        if kind is types.MethodType and type(value.__func__) is types.FunctionType:
            return self._wrap_method(value)
        if issubclass(kind, type):
            reads = lookup(kind, "__getattribute__") is type.__dict__["__getattribute__"]
            plain = reads and is_hashed_by_identity(kind)  # else what looks at it asks its class
            if plain and ctx_manager.is_mode(self.tx.output, value):
                return self._made(ctx_manager.ModeClassVariable, _CLASS, value, value)
            if plain and torch_functions.is_torch_function(value):
                return self._made(_OF_TORCH, _CLASS, value, value)
            if module_of(value) == "builtins":
                of_errors = issubclass(value, BaseException)
                found = ExceptionClassVariable if of_errors else BuiltinVariable
                return self._made(found, GuardBuilder.BUILTIN_MATCH, value, value)
            if value is weakref.ReferenceType or value is functools.partial:
                return self._made(BuiltinVariable, _CLASS, value, value)
            of = NamedTupleClassVariable if is_named_tuple(value) else UserDefinedClassVariable
            return self._made(of, _CLASS, value, value)
        if kind not in _FUNCTION_KINDS:
            return None
        if (known := _FUNCTIONS.get(value)) is not None:
            return self._made(known, GuardBuilder.FUNCTION_MATCH, value, value)
        if kind is types.FunctionType and (
            made := ctx_manager.context_function(self.tx.output, value)
        ):
            return made.with_guards(self.install_guards(GuardBuilder.FUNCTION_MATCH, value))
        if torch_functions.is_torch_function(value):
            return self._made(_OF_TORCH, GuardBuilder.FUNCTION_MATCH, value, value)
        name = getattr(value, "__name__", "")
        if getattr(torch.Tensor, name, None) is value and is_graph_method(name):
            return self._made(BuiltinVariable, GuardBuilder.FUNCTION_MATCH, value, value)
        if kind is types.FunctionType:
            by_code = is_known_by_code(value, self.tx.root)
            match = GuardBuilder.CLOSURE_MATCH if by_code else GuardBuilder.FUNCTION_MATCH
            return self._made(UserFunctionVariable, match, value, value, by_code=by_code)
        if kind in METHODS_OF_C or (
            kind is types.BuiltinFunctionType
            and (is_builtin(value) or is_immutable(value.__self__))
        ):
            return self._made(BuiltinVariable, GuardBuilder.BUILTIN_MATCH, value, value)
        if kind is types.BuiltinFunctionType and type(value.__self__) in _WITH_METHODS:
            owner = self.tx.build(AttrSource(source, "__self__"), value.__self__)
            guards = owner.guards | self.install_guards(GuardBuilder.TYPE_MATCH, value)
            name = f"{source.name()}.__name__ == {value.__name__!r}"
            guards |= self.tx.output.install_guard(source, GuardBuilder.EXPRESSION, name=name)
            return BoundBuiltinMethod(owner, value.__name__, source=source, guards=guards)
        return None

    def _wrap_method(self, value: types.MethodType) -> VariableTracker:
        guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
        function = self.tx.build(AttrSource(self.source, "__func__"), value.__func__)
        owner = self.tx.build(AttrSource(self.source, "__self__"), value.__self__)
        if not isinstance(function, BaseUserFunctionVariable):
            return UserDefinedObjectVariable(value, source=self.source, guards=guards)
        if isinstance(value.__self__, torch.autocast):
            known = ctx_manager.existing_exit(self.tx, value, self.source, owner)
            if known is not None:
                return known.with_guards(guards | function.guards)
        options = VariableTracker.propagate(function, owner)
        return UserMethodVariable(
            function, owner, source=self.source, guards=guards | options["guards"]
        )

    def _wrap_partial(self, value: functools.partial[object]) -> VariableTracker:
        guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
        func = self.tx.build(AttrSource(self.source, "func"), value.func)
        args = self.tx.build(AttrSource(self.source, "args"), value.args)
        keywords = self.tx.build(AttrSource(self.source, "keywords"), value.keywords)
        if not isinstance(args, TupleVariable) or not isinstance(keywords, ConstDictVariable):
            raise unimplemented("a partial of these arguments")
        guards |= VariableTracker.propagate(func, args, keywords)["guards"]
        return FunctoolsPartialVariable(
            func, args.items, keywords.items, value, source=self.source, guards=guards
        )

    def _wrap_cell(self, value: types.CellType) -> VariableTracker:
        guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
        source = AttrSource(self.source, "cell_contents")
        try:
            contents = self.tx.lazy(source, value.cell_contents)
        except ValueError:
            raise unimplemented("a cell that is empty") from None
        return CellVariable(
            "cell", contents, source=source, guards=guards,
            mutation_type=AttributeMutationExisting(),
        )  # fmt: skip

    def _wrap_tensor(self, value: torch.Tensor) -> VariableTracker:
        if not _is_strided(value):
            return self._made(UserDefinedObjectVariable, GuardBuilder.TYPE_MATCH, value, value)
        require(self.tx.output, type(value), "__getattribute__", "__getattr__")
        plain = not (value.requires_grad or value.is_conj() or value.is_neg())
        if value.is_inference() and not (plain and self.tx.output.state.inference):
            raise unimplemented(f"tensor {self.source.name()} was made in inference mode")
        proxy = self.tx.output.placeholder(self.source, value)
        guards = self.install_guards(GuardBuilder.TENSOR_MATCH, value)
        return TensorVariable(proxy, type(value), source=self.source, guards=guards)

    def _wrap_sequence(self, value: Any) -> VariableTracker:
        guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
        guards |= self.install_guards(GuardBuilder.LIST_LENGTH, value)
        items = [
            LazyVariableTracker(item, GetItemSource(self.source, index))
            for index, item in enumerate(value)
        ]
        if type(value) is tuple:
            return TupleVariable(items, source=self.source, guards=guards)
        if type(value) is not list:
            return NamedTupleVariable(items, type(value), source=self.source, guards=guards)
        return ListVariable(
            items, source=self.source, guards=guards, mutation_type=ValueMutationExisting()
        )

    def _wrap_dict(self, value: Any) -> VariableTracker:
        self._note_weak(value.values())
        guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
        guards |= self.install_guards(GuardBuilder.DICT_KEYS, value)
        items: dict[object, VariableTracker] = {
            key: LazyVariableTracker(item, GetItemSource(self.source, key))
            for key, item in value.items()
        }
        return ConstDictVariable(
            items, source=self.source, guards=guards, mutation_type=ValueMutationExisting()
        )

    def _wrap_set(self, value: set[object] | frozenset[object]) -> VariableTracker:
        self._note_weak(value)
        guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
        known = all(map(is_key, value))
        if known:
            guards |= self.install_guards(GuardBuilder.DICT_KEYS, value)
        found = SetVariable.existing(value, known=known, source=self.source, guards=guards)
        return found if all(map(_is_asked_for, value)) else found.complete(self.tx)

    def _note_weak(self, held: Iterable[object]) -> None:
        """What is in a table or set that is looked into; see `note_let_go`."""
        if any(issubclass(type(each), weakref.ReferenceType) for each in held):
            self.tx.output.holds_weakly = True
            if self.tx.output.lets_go:
                raise unimplemented("a table that may hold weakly what was let go")

    def _wrap_dict_of_objects(self, value: dict[object, object]) -> VariableTracker:
        guards = self.install_guards(GuardBuilder.TYPE_MATCH, value)
        guards |= self.install_guards(GuardBuilder.LIST_LENGTH, value)
        self._note_weak(value)
        items: dict[object, VariableTracker] = {}
        for place, (key, item) in enumerate(value.items()):
            source = CallSource(self.source, entry, ("keys", place))
            known = key
            if is_key(key):
                guards |= self.tx.output.install_guard(source, GuardBuilder.EQUALS_MATCH, key)
            else:
                tracker = self.tx.build(source, key)
                if isinstance(tracker, TupleVariable):
                    tracker = TupleVariable(tracker.unpack(self.tx), guards=tracker.guards)
                guards |= tracker.guards
                known = key_of(self.tx, tracker)
            found = CallSource(self.source, entry, ("values", place))
            items[known] = LazyVariableTracker(item, found)
        return ConstDictVariable(
            items, source=self.source, guards=guards, mutation_type=ValueMutationExisting()
        )


def _is_strided(value: torch.Tensor) -> bool:
    """Whether it is a tensor with plain data; its class is not asked."""
    with without_overrides():
        return not (value.is_quantized or value.is_nested or value.layout != torch.strided)


def _is_plain_parameter(kind: type) -> bool:
    """Whether objects of a class are parameters to everybody: it adds names to `Parameter`, and has
    nothing else for those that this has."""
    parameter, lazy = torch.nn.Parameter, torch.nn.UninitializedParameter
    if not is_derived(kind, parameter) or is_derived(kind, lazy):
        return False
    own = order_of(kind)[: -len(order_of(parameter))]
    note_all(kind, "__getattr__", "__setattr__", "__del__")
    added = {name for each in own for name in class_dict(each)} - _OF_ALL_CLASSES
    special = any(name.startswith("__") for name in added)
    return not special and not any(has(parameter, name) for name in added)


_OF_ALL_CLASSES = frozenset(vars(type("_", (), {}))) | {
    "__annotations__", "__annotate_func__", "__annotations_cache__", "__new__", "__init__",
    "__deepcopy__", "__repr__", "__reduce_ex__",
    "__orig_bases__", "__parameters__", "__firstlineno__", "__static_attributes__",
}  # fmt: skip
"""Names that a class has anyway, or that are of no concern where its objects are there already."""


def is_known_object(key: object) -> bool:
    """Whether a dictionary's key is an object that is guarded to be this one, and equal to itself
    only."""
    if one_of(type(key), (torch.Tensor, torch.nn.Parameter)):
        return True
    if isinstance(key, torch.nn.Module):
        return "_parameters" in key.__dict__ and is_hashed_by_identity(type(key))
    if type(key) is types.BuiltinFunctionType:
        return torch_functions.is_torch_function(key)
    if issubclass(type(key), type) and is_hashed_by_identity(type(key)):
        return True
    plain = type(key) is types.FunctionType or type(key) in METHODS_OF_C
    return plain or is_plain_member(key)


def _is_known_key(key: object) -> bool:
    if type(key) is weakref.ReferenceType:
        return (referred := key()) is not None and _is_known_key(referred)
    several = type(key) is tuple and all(map(_is_known_key, key))
    known = several or is_key(key) or is_known_object(key) or is_plain_record(type(key))
    return known or is_number_member(key) or _is_of_program(type(key))


def _is_of_program(kind: type) -> bool:
    """Whether objects of a class have their attributes from Python, and are equal to themselves
    only."""
    other = issubclass(kind, type | torch.Tensor)
    return bool(flags_of(kind) & 1 << 9) and not other and is_hashed_by_identity(kind)


def _is_plain_key(key: object) -> bool:
    """Whether a dictionary's key is equal to itself only, or to the same constant."""
    if type(key) is types.BuiltinFunctionType:
        return is_builtin(key) or torch_functions.is_torch_function(key)
    return is_key(key) or (is_known_object(key) and not isinstance(key, torch.Tensor))


def _is_asked_for(element: object) -> bool:
    """Whether it can be asked of a set whether this is in it."""
    return is_hashed_by_identity(type(element)) or _is_plain_key(element)


def _is_element(value: object) -> bool:
    return _is_asked_for(value) or _is_known_key(value)


_MAKERS: frozenset[object] = frozenset({object.__dict__["__new__"], tuple.__dict__["__new__"]})


def is_builtin(value: Any) -> bool:
    """Whether a C function belongs to Python, and to no object, or is known by what it does."""
    owner = value.__self__
    known = value in OPERATORS or value in _MAKERS or value in FUNCTIONS
    return known or owner is None or type(owner) is types.ModuleType


def is_key(value: object) -> bool:
    """Whether a dictionary's key, or an element of a set, is a constant that can be found again."""
    return is_constant(value) and value == value
