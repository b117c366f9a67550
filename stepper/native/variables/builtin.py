"""Builtin functions and operators."""

from __future__ import annotations

import abc
import bisect
import builtins
import functools
import math
import operator
import os
import pickle
import re
import struct
import sys
import types
import typing
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from stepper.native import break_contexts, polyfills, versions
from stepper.native.exc import SkipFrame, unimplemented
from stepper.native.guards.class_dicts import has, is_derived, lookup, says_its_class
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.library import is_library
from stepper.native.skip_reasons import copies_its_variables
from stepper.native.source import ConstantSource
from stepper.native.variables import containers, dicts, iter, lists, polyfilled, sets
from stepper.native.variables.base import (
    Arguments,
    Keywords,
    TrackedKey,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin_methods import (
    IN_PLACE,
    METHODS_OF_C,
    BoundBuiltinMethod,
    GenericAliasVariable,
)
from stepper.native.variables.constant import ConstantVariable, is_constant, is_none, name_of
from stepper.native.variables.ctx_manager import set_grad_mode
from stepper.native.variables.enums import EnumVariable, is_number_flag, is_plain_member
from stepper.native.variables.exceptions import NAMES, observed
from stepper.native.variables.folding import NUMPY_NUMBERS, OPERATORS, fold, wrap_constant
from stepper.native.variables.functions import CellVariable, UserFunctionVariable
from stepper.native.variables.named_tuple import NamedTupleVariable
from stepper.native.variables.numpy_arrays import NumpyArrayVariable, call_numpy
from stepper.native.variables.overrides import operator_of_objects
from stepper.native.variables.subclasses import asked_of_objects, counts_as
from stepper.native.variables.sym_node import SymNodeVariable, call_symbolic, specialize
from stepper.native.variables.tensor import DTYPE_CLASSES, TensorVariable
from stepper.native.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
)
from stepper.native.variables.user_iterator import UserIteratorVariable
from stepper.native.variables.user_operators import refuse_operands, user_operator
from stepper.native.versions import NATIVE_MODULE, set_grad_enabled
from stepper.support.words import Classes, class_name, one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator

OF_TEXTS: frozenset[object] = frozenset(
    {
        re.compile, re.escape, re.findall, re.fullmatch, re.match, re.search, re.split, re.sub,
        re.subn,
    }
)  # fmt: skip
"""Functions in Python that do nothing but look at texts."""
_PURE: frozenset[object] = OF_TEXTS | frozenset(
    {
        abs, bool, bytes, chr, complex, divmod, float, format, frozenset, int, len, max, min, ord,
        pow, repr, round, str, sum, range, all, any, sorted, bin, hex, oct, ascii, tuple,
        operator.index, operator.truth, hash, callable, int.from_bytes, float.fromhex, os.fspath,
        sys.intern, bisect.bisect_left, bisect.bisect_right, struct.pack, struct.unpack,
        struct.calcsize, str.maketrans,
        *filter(callable, vars(math).values()),
    }
)  # fmt: skip
"""Functions that are called when all their arguments are constants."""


_OF_ALL_ITEMS = (str, repr, ascii, format, hash)
"""Those that ask all that is in a container."""


def all_constant(args: Sequence[VariableTracker], kwargs: Keywords) -> bool:
    """Whether all arguments are constants."""
    return all(arg.is_python_constant() for arg in (*args, *kwargs.values()))


def has_symbol(value: VariableTracker) -> bool:
    """Whether a value is a symbolic number, or a sequence with one."""
    items = value.items if isinstance(value, lists.BaseListVariable) else ()
    return isinstance(value, SymNodeVariable) or any(map(has_symbol, items))


_OUTSIDE = "call it before or after the compiled function"
_OF_NUMBERS = (abs, pow, round, divmod)
_DTYPES: dict[object, torch.dtype] = {bool: torch.bool, int: torch.int64, float: torch.float64}
"""What operators take these for."""
_OF_CLASSES = Classes(
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType
)


@tracker_class
class BuiltinVariable(VariableTracker):
    """A builtin function or class."""

    fn: Any
    """The function."""

    def describe(self) -> str:
        return f"builtin {getattr(self.fn, '__name__', '')}"

    def python_type(self) -> type:
        return type(self.fn)

    def as_python_constant(self) -> object:
        return self.fn

    def as_key(self, tx: Translator) -> TrackedKey:
        known = isinstance(self.fn, type) or type(self.fn) in _OF_CLASSES
        return TrackedKey.guarded(self, self.fn) if known else super().as_key(tx)

    def as_proxy(self) -> object:
        return _DTYPES[self.fn] if self.fn in _DTYPES else super().as_proxy()

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.load_const(self.fn)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        found = getattr(self.fn, name, None)
        if name in NAMES and type(found) is str:
            return ConstantVariable(found, guards=self.guards)
        if isinstance(self.fn, type) and type(found) in _OF_CLASSES:
            return BuiltinVariable(found, guards=self.guards)
        if isinstance(self.fn, type) and not hasattr(self.fn, name):
            text = f"type object {self.fn.__name__!r} has no attribute {name!r}"
            raise observed(AttributeError, text, name=name)
        raise self.refuse(f"attribute {name}")

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        if type(self.fn) is not tuple:  # a table of the polyfills'
            raise self.refuse("a membership test")
        return item.as_python_constant() in self.fn

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        if not isinstance(self.fn, type) or not hasattr(self.fn, "__class_getitem__"):
            raise self.refuse("subscription")
        known = GenericAliasVariable.of(self, self.fn, key)
        return known or GenericAliasVariable(self, key, **self.propagate(self, key))

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        handler = _HANDLERS.get(self.fn)
        if handler is not None and fits(self.fn, len(args), bool(kwargs)):
            found = handler(tx, args, kwargs)
            if found is not None:
                return found
        if self.fn in (divmod, pow) and len(args) == 2 and not kwargs:
            answered = user_operator(tx, self.fn, *args)
            if answered is not None:
                return answered
        if self.fn in OPERATORS and not kwargs:
            if len(args) == 2:
                return binary_op(tx, self.fn, *args)
            if len(args) == 1 and isinstance(args[0], TensorVariable):
                return tx.call_in_graph("call_function", self.fn, args, {})
            if len(args) == 1 and isinstance(args[0], NumpyArrayVariable):
                return call_numpy(tx, self.fn, args, {})
        if not kwargs and (symbolic := call_symbolic(tx, self.fn, args)) is not None:
            return symbolic
        if args and not kwargs and (said := self._of_protocol(tx, *args)) is not None:
            return said
        if self.fn in _OF_ALL_ITEMS:
            args = [arg.looked_into(tx) for arg in args]
        if self.fn in _OF_NUMBERS and any(isinstance(arg, NumpyArrayVariable) for arg in args):
            return call_numpy(tx, self.fn, args, kwargs)
        if any(isinstance(arg, TensorVariable) for arg in args):
            if self.fn in _OF_NUMBERS:
                return tx.call_in_graph("call_function", self.fn, args, kwargs)
            if self.fn in (int, float) and len(args) == 1 and tx.output.shapes.scalars:
                return self.call_function(tx, [args[0].call_method(tx, "item", [], {})], kwargs)
        elif (
            (self.fn in _PURE or self.fn in OPERATORS)
            and all_constant(args, kwargs)
            and not (self.fn in (max, min, math.prod) and any(map(has_symbol, args)))
        ):
            return fold(self.fn, args, kwargs)
        if (interpreted := polyfilled.call(tx, self.fn, self, args, kwargs)) is not None:
            return interpreted
        if args and self._is_method_of(args[0].python_type()):
            owner, name = args[0], self.fn.__name__
            if isinstance(owner, UserDefinedObjectVariable):
                method = owner.attribute_of_class(tx, name)
            else:
                method = BoundBuiltinMethod(owner, name)
            return method.call_function(tx, args[1:], kwargs)
        if not kwargs and (told := self._told_by_torch(tx, args)) is not None:
            return told
        if self.fn is locals and not args and copies_its_variables(tx.f_code):
            return self._variables(tx)
        if self.fn in (eval, exec) or (self.fn in (locals, vars, dir) and not args):
            raise SkipFrame(f"it may read its own frame ({self.fn.__name__})")
        tensors = any(isinstance(arg, TensorVariable) for arg in args)
        given = None if tensors else [*map(break_contexts.type_in_words, args)]
        kind, context = break_contexts.of_function(self.fn, given, by_name=bool(kwargs))
        hint = _OUTSIDE if self.fn in (print, input, open) else ""
        raise self.refuse("a call", hint, kind=kind, context=context)

    def _variables(self, tx: Translator) -> VariableTracker:
        """The variables of the function that is interpreted."""
        code, found = tx.f_code, {}
        cells = (*code.co_cellvars, *code.co_freevars)
        for name in dict.fromkeys((*code.co_varnames, *cells)):
            value = tx.symbolic_locals.get(name)
            if name in cells and isinstance(value, CellVariable):
                value = None if value.is_empty(tx) else value.contents(tx)
            if value is not None:
                found[name] = value
        return dicts.ConstDictVariable.new(found, self.guards)

    def _is_method_of(self, kind: type) -> bool:
        """Whether the function is what instances of the class have by its name."""
        of_c = type(self.fn) in METHODS_OF_C
        of_tensors = type(self.fn) is types.FunctionType and issubclass(kind, torch.Tensor)
        return (of_c or of_tensors) and lookup(kind, self.fn.__name__) is self.fn

    def _told_by_torch(self, tx: Translator, args: Arguments) -> VariableTracker | None:
        """What a function of torch's C says of its state, asked again by a guard; None: it is no
        such function, or the frame may have changed what it says."""
        text = str(getattr(self.fn, "__name__", "")).lstrip("_")
        named = text.startswith(("is_", "get_")) and any(each in text for each in _SETTINGS)
        of_torch = getattr(self.fn, "__self__", None) is NATIVE_MODULE
        texts = all(isinstance(arg, ConstantVariable) and type(arg.value) is str for arg in args)
        if not (named and of_torch and texts) or self.source is None or tx.output.modes:
            return None
        given = [arg.as_python_constant() for arg in args]
        said = wrap_constant(self.fn(*given), VariableTracker.propagate(self, args)["guards"])
        call = f"{self.source.name()}({', '.join(map(repr, given))})"
        name = f"repr({call}) == {repr(said.as_python_constant())!r}"
        guards = tx.output.install_guard(self.source, GuardBuilder.EXPRESSION, name=name)
        return said.with_guards(guards)

    def _of_protocol(
        self, tx: Translator, value: VariableTracker, *given: VariableTracker
    ) -> VariableTracker | None:
        """What the method of an object's class says that a builtin calls; None: there is none.

        given: to how many digits it is to be rounded, where that is said.
        """
        given = tuple(each for each in given if not is_none(each)) if self.fn is round else given
        name, kind = _PROTOCOL.get(self.fn, ("", object))
        if not name or not isinstance(value, UserDefinedObjectVariable):
            return None
        if given and (self.fn is not round or len(given) > 1):
            return None
        if not value.has_special(name):
            if self.fn in OPERATORS and not has(value.python_type(), name):
                refuse_operands(self.fn, value)
            return None
        said = value.special(tx, name, [*given])
        if kind is not object and said.python_type() is not kind:
            raise value.refuse(f"what {name} gives, the result")
        if self.fn is hash and not -1 != int(said.as_python_constant()) <= sys.maxsize:
            raise value.refuse("a hash that is another number,")
        return said


_SETTINGS = (
    "autocast", "cudnn", "cublas", "mkldnn", "onednn", "deterministic", "num_threads",
    "num_interop", "matmul_precision", "sdp_enabled", "anomaly",
)  # fmt: skip
"""What functions of torch's C are about that say what is set, and that the translation leaves."""
_PROTOCOL: dict[object, tuple[str, type]] = {
    repr: ("__repr__", str), str: ("__str__", str), int: ("__int__", int),
    float: ("__float__", float), complex: ("__complex__", complex),
    operator.index: ("__index__", int), abs: ("__abs__", object), round: ("__round__", object),
    math.floor: ("__floor__", object), math.ceil: ("__ceil__", object),
    math.trunc: ("__trunc__", object), hash: ("__hash__", int), operator.neg: ("__neg__", object),
    operator.pos: ("__pos__", object), operator.invert: ("__invert__", object),
}  # fmt: skip
"""By builtin, the method that it calls of its argument, and of which class the result has to be."""


# --- operators

Operation = Callable[..., object]


def binary_op(
    tx: Translator, operation: Operation, a: VariableTracker, b: VariableTracker
) -> VariableTracker:
    """An operator of two values, comparisons included."""
    if operation is operator.getitem:
        return a.getitem(tx, b)
    if (answered := user_operator(tx, operation, a, b)) is not None:
        return answered
    if isinstance(a, NumpyArrayVariable) or isinstance(b, NumpyArrayVariable):
        return call_numpy(tx, operation, [a, b], {})
    if isinstance(a, TensorVariable) or isinstance(b, TensorVariable):
        if (answered := operator_of_objects(tx, operation, a, b)) is not None:
            return answered
        a, b = _as_torch_takes(a), _as_torch_takes(b)
        for each in (a, b):
            if not isinstance(each, TensorVariable | SymNodeVariable) and not (
                each.is_python_constant() and isinstance(each.as_python_constant(), _NUMBERS)
            ):
                raise unimplemented(f"an operator of a tensor and {each.describe()}")
        if not isinstance(a, TensorVariable):  # what stands left is not changed, and has no name
            operation = IN_PLACE.get(operation, operation)
        return tx.call_in_graph("call_function", operation, [a, b], {})
    if isinstance(a, SymNodeVariable) or isinstance(b, SymNodeVariable):
        symbolic = call_symbolic(tx, operation, [a, b])
        return symbolic or binary_op(tx, operation, specialize(a), specialize(b))
    options = VariableTracker.propagate(a, b)
    if operation is operator.iadd and isinstance(a, lists.ListVariable):
        return a.become(tx, [*a.items, *b.listed(tx)], "extend", b)
    if isinstance(a, lists.BaseListVariable) and isinstance(b, lists.BaseListVariable):
        if operation in _COMPARISONS:
            return lists.compare_sequences(tx, operation, a, b)
        if operation in (operator.add, operator.iadd, operator.concat):
            if a.python_type() is b.python_type():
                return a.make([*a.items, *b.items], options["guards"])
            joined = lists.joined(operation, a, b)
            if joined is not None:
                return joined([*a.items, *b.items], **options)
    if operation in (operator.mul, operator.imul):
        for sequence, count in ((a, b), (b, a)):
            if not isinstance(sequence, lists.BaseListVariable):
                continue
            asked = sequence is a or operation is operator.mul  # an object in place asks no other
            if isinstance(count, EnumVariable) and asked:
                count = count.bare()
            if isinstance(count, ConstantVariable):
                if operation is operator.imul and isinstance(sequence, lists.ListVariable):
                    break
                if type(count.value) is not int:
                    break
                tx.spend(len(sequence.items) * max(0, count.value))
                return sequence.make(list(sequence.items) * count.value, options["guards"])
    of_sets = sets.as_set(a), sets.as_set(sets.inside(tx, b))
    if isinstance(of_sets[0], sets.SetVariable) and isinstance(of_sets[1], sets.SetVariable):
        return of_sets[0].combine(tx, operation, of_sets[1])
    if (combined := sets.combine_views(tx, operation, a, b)) is not None:
        return combined
    if isinstance(a, dicts.ConstDictVariable) and isinstance(b, dicts.ConstDictVariable):
        if operation in (operator.eq, operator.ne):
            return dicts.equal_dicts(tx, operation, a, b)
        if operation is operator.or_:
            return dicts.ConstDictVariable.new({**a.items, **b.items}, options["guards"])
    if operation is operator.or_ and (union := _union(a, b)) is not None:
        return ConstantVariable(union, **options)
    immutable = a.mutation_type is None and b.mutation_type is None
    if immutable and a.is_python_constant() and b.is_python_constant():
        return fold(operation, [a, b], {})
    if isinstance(a, ConstantVariable) and a.python_type() is str and operation is operator.mod:
        if isinstance(b, NamedTupleVariable):
            b = b.as_tuple(tx)
        return fold(operation, [a, b], {})
    if operation in (operator.eq, operator.ne) and (
        isinstance(a, ConstantVariable) is not isinstance(b, ConstantVariable)
    ):
        builtin_types = (lists.BaseListVariable, dicts.ConstDictVariable, ConstantVariable)
        if isinstance(a, builtin_types) and isinstance(b, builtin_types):
            return ConstantVariable(operation is operator.ne, **options)
    if operation in (operator.eq, operator.ne):
        known = [identity_of(each) for each in (a, b)]
        if None not in known:
            return ConstantVariable((known[0] is known[1]) is (operation is operator.eq), **options)
    function = polyfills.OPERATIONS.get((operation, a.python_type()))
    if function is not None:
        return tx.interpret(function, [a, b], {})
    refuse_operands(operation, a, b)
    raise unimplemented(f"operator {operation.__name__} of {a.describe()} and {b.describe()}")


def _union(a: VariableTracker, b: VariableTracker) -> types.UnionType | None:
    """What `|` makes of two classes; None: one is none."""
    made = None
    if a.python_type() is b.python_type() is type(None):
        return None
    for each in (a, b):
        kind = getattr(each, "fn", getattr(each, "value", a))
        if kind is not None and not one_of(type(kind), (type, types.UnionType, abc.ABCMeta)):
            return None
        made = kind if each is a else made | kind  # type: ignore[operator]  # a union or class
    return made if type(made) is types.UnionType else None


def _as_torch_takes(value: VariableTracker) -> VariableTracker:
    """The number of Python's for which torch takes one of NumPy's, or flags, beside a tensor."""
    kind = value.python_type()
    if isinstance(value, EnumVariable) and is_number_flag(value.value):
        return value.bare()
    if kind not in NUMPY_NUMBERS or class_name(kind).startswith(("bool", "complex")):
        return value
    return ConstantVariable(value.as_python_constant().item(), guards=value.guards)


def identity_of(tracker: VariableTracker) -> object:
    """The object itself, for functions, classes, modules and members of enumerations, which are
    equal to themselves only; None for anything else. A constant is equal to none of them."""
    if isinstance(tracker, ConstantVariable):
        return _SOME_CONSTANT if tracker.value is None else None
    if isinstance(tracker, UserFunctionVariable):
        tracker.tell_apart()
    found = getattr(tracker, "fn", None)
    found = getattr(tracker, "value", None) if found is None else found
    kind = type(found)
    plain = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
    is_class = issubclass(kind, type) and lookup(kind, "__eq__") is object.__dict__["__eq__"]
    return found if one_of(kind, plain) or is_class or is_plain_member(found) else None


_SOME_CONSTANT = object()


_NUMBERS = (int, float, bool, complex)
_COMPARISONS = frozenset(
    {operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge}
)


# --- functions

_ARGUMENTS: dict[object, tuple[int, int]] = {
    len: (1, 1), builtins.iter: (1, 2), next: (1, 2), list: (0, 1), tuple: (0, 1), dict: (0, 1),
    set: (0, 1), sorted: (1, 1), reversed: (1, 1), bool: (0, 1), isinstance: (2, 2),
    issubclass: (2, 2), type: (1, 1), repr: (1, 1), getattr: (2, 3), hasattr: (2, 2),
    setattr: (3, 3), callable: (1, 1), str: (1, 1),
    super: (0, 2), vars: (1, 1), delattr: (2, 2), zip: (0, 255), enumerate: (1, 2),
    map: (2, 255), slice: (1, 3), pickle.dumps: (1, 1),
    object: (0, 0), object.__setattr__: (3, 3), object.__new__: (1, 1), operator.contains: (2, 2),
    operator.setitem: (3, 3), object.__getattribute__: (2, 2), weakref.ReferenceType: (1, 2),
    id: (1, 1), sys.exc_info: (0, 0), types.MethodType: (2, 2), frozenset: (0, 1),
    set_grad_enabled: (1, 1), types.MappingProxyType: (1, 1), functools.partial: (1, 255),
    versions.push_function_mode: (1, 1), versions.pop_function_mode: (0, 0),
    **{each.__new__: (1, 255) for each in containers.MAKERS},
}  # fmt: skip
"""How many arguments the functions that are handled here take."""


_WITH_KEYWORDS = (zip, enumerate, dict, functools.partial)


def fits(function: object, count: int, keywords: bool) -> bool:
    """Whether a call can be handled here; one that cannot may be a TypeError."""
    least, most = _ARGUMENTS[function]
    return least <= count <= most and (not keywords or function in _WITH_KEYWORDS)


Handler = Callable[
    ["Translator", list[VariableTracker], Keywords],
    VariableTracker | None,
]
_HANDLERS: dict[object, Handler] = {}


def handles(*functions: object) -> Callable[[Handler], Handler]:
    """The decorated function knows what these do; its None means that it does not, here."""

    def register(handler: Handler) -> Handler:
        _HANDLERS.update(dict.fromkeys(functions, handler))
        return handler

    return register


@handles(len)
def _len(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    (value,) = args
    options = VariableTracker.propagate(value)
    if isinstance(value, lists.BaseListVariable | dicts.ConstDictVariable):
        return ConstantVariable(len(value.items), **options)
    if isinstance(value, dicts.DictViewVariable):
        return ConstantVariable(len(value.unpack(tx)), **options)
    if isinstance(value, TensorVariable):
        return value.call_method(tx, "__len__", [], {})
    if hasattr(value, "length"):
        found: VariableTracker = value.length(tx)
        if found.python_type() is bool:
            found = ConstantVariable(int(found.as_python_constant()), guards=found.guards)
        whole = found.python_type() is int
        if not whole or not binary_op(tx, operator.ge, found, ConstantVariable(0)).truth(tx):
            raise value.refuse("the length")
        return found
    return None


@handles(builtins.iter)
def _iter(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if len(args) == 2:
        until = polyfills.called_until
        if not has(args[0].python_type(), "__call__"):
            return None  # an error
        return polyfilled.make_iterator(tx, type(builtins.iter(int, 0)), until, args)
    asked = args[0].obj if isinstance(args[0], UserIteratorVariable) else args[0]
    found = iter.iterate(tx, asked)
    # A loop of what stands in C's place asks it for no iterator once more, as C does not.
    in_c = polyfills.is_polyfill(tx.f_code)
    return found.obj if isinstance(found, UserIteratorVariable) and not in_c else found


@handles(next)
def _next(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    iterator = args[0]
    if isinstance(iterator, UserDefinedObjectVariable) and iterator.has_special("__next__"):
        if len(args) == 1:
            return iterator.special(tx, "__next__", [])
        iterator = UserIteratorVariable(iterator, guards=iterator.guards)
    if not isinstance(iterator, iter.IteratorVariable):
        return None
    found = iterator.next_variable(tx)
    if found is None:
        if len(args) == 1:
            raise iterator.ended(tx)
        return args[1]
    return found


def _combine(function: type[Iterator[object]]) -> Handler:
    def handler(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
        count, strict = 0, False
        if function is enumerate and (
            start := kwargs.get("start") or next(builtins.iter(args[1:]), None)
        ):
            count, args = start.as_python_constant(), args[:1]
            if not isinstance(count, int):
                return None  # an error, or its `__index__` is asked
        if function is zip and "strict" in kwargs:
            strict = bool(kwargs["strict"].as_python_constant())
        elif kwargs and function is not enumerate:
            return None
        first = 1 if function is map else 0
        items = [*args[:first], *[iter.iterate(tx, each) for each in args[first:]]]
        options = VariableTracker.propagate(args, list(kwargs.values()))
        return iter.CombinedIteratorVariable(function, items, count, strict, **options)

    return handler


_HANDLERS.update({function: _combine(function) for function in (zip, enumerate, map)})


@handles(list)
def _list(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    items = args[0].listed(tx) if args else []
    return lists.ListVariable.new(items, VariableTracker.propagate(args)["guards"])


@handles(tuple)
def _tuple(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if args and type(args[0]) is lists.TupleVariable:
        return args[0]
    items = args[0].listed(tx) if args else []
    return lists.TupleVariable(items, **VariableTracker.propagate(args))


@handles(dict)
def _dict(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    items: dict[object, VariableTracker] = {}
    for other in args:
        items.update(dicts.pairs_of(tx, other))
    options = VariableTracker.propagate(args, list(kwargs.values()))
    return dicts.ConstDictVariable.new({**items, **kwargs}, options["guards"])


@handles(set)
def _set(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if not args:
        return sets.SetVariable.new([], frozenset())
    return sets.made_by(tx, set, args, set)


@handles(sorted)
def _sorted(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if not isinstance(args[0], sets.SetVariable) or kwargs:
        return None
    known = args[0].complete(tx)
    if not is_constant(known.elements):
        return None
    return fold(sorted, [ConstantVariable(known.elements)], {}).with_guards(known.guards)


@handles(pickle.dumps)
def _dumps(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    (value,) = args
    if value.python_type() is not dict or not all_constant(args, kwargs):
        return None
    # Of other parts it also says which of them are one object.
    items: dict[object, object] = value.as_python_constant()
    alone = (type(key) is str and one_of(type(each), _ALONE) for key, each in items.items())
    return fold(pickle.dumps, args, {}) if all(alone) else None


_ALONE = (bool, int, float, type(None))


@handles(slice)
def _slice(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    none = ConstantVariable(None)
    items = [none, *args, none] if len(args) == 1 else [*args, none][:3]
    return lists.SliceVariable(items, **VariableTracker.propagate(args))


@handles(reversed)
def _reversed(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    value = args[0]
    if isinstance(value, UserDefinedObjectVariable):
        if value.has_special("__reversed__"):
            return value.special(tx, "__reversed__", [])
        if not has(value.python_type(), "__reversed__") and value.has_special("__getitem__"):
            return polyfilled.make_iterator(
                tx, reversed, polyfills.reversed_sequence, args, sized=value
            )
        if containers.inherits(value.python_type(), "__reversed__"):
            value = value.contents(tx)
    if isinstance(value, dicts.ConstDictVariable):
        value = dicts.DictViewVariable(value, "keys", guards=value.guards)
    if isinstance(value, dicts.DictViewVariable):
        return iter.ElementIteratorVariable.begin(tx, value, back=True)
    if isinstance(value, lists.RangeVariable):
        return iter.iterate(tx, lists.RangeVariable(value.value[::-1], guards=value.guards))
    text = isinstance(value, ConstantVariable) and isinstance(value.value, str | bytes)
    if not text and not isinstance(value, lists.BaseListVariable):
        return None
    of_list: type = type(builtins.reversed(list[object]()))
    kind = of_list if isinstance(value, lists.ListVariable) else reversed
    return polyfilled.make_iterator(tx, kind, polyfills.reversed_list, args)


@handles(bool)
def _bool(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if not args:
        return ConstantVariable(False)
    return ConstantVariable(args[0].truth(tx), **VariableTracker.propagate(args))


@handles(isinstance)
def _isinstance(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    value, classes = args
    kinds = _classes_of(tx, classes)
    found = [class_of(each) for each in kinds]
    kind = value.python_type()
    if says_its_class(kind) or type(lookup(kind, "__getattribute__")) is types.FunctionType:
        # `isinstance` asks the object, too.
        raise value.refuse("isinstance()")
    answer = False
    for tracker, each in zip(kinds, found, strict=True):
        if kind is each:
            answer = True
        elif isinstance(tracker, UserDefinedClassVariable) and _asks_the_program(each):
            answer = tracker.special(tx, "__instancecheck__", [value]).truth(tx)
        elif (isinstance(value, TensorVariable) and not is_derived(kind, each)) and (
            mark := next((name for name, of in _MARKED if of is each), None)
        ):
            answer = value.has_attribute(tx, mark) and value.var_getattr(tx, mark).truth(tx)
        elif type(each) is DTYPE_CLASSES:
            answer = isinstance(value, TensorVariable) and isinstance(value.fake, each)
        else:
            answer = counts_as(tx, kind, each)
            names = [] if answer else asked_of_objects(kind, each)
            if names and all(has_attribute(tx, value, name) for name in names):
                raise value.refuse(f"isinstance() with {each.__name__}")
        if answer:
            break
    return ConstantVariable(answer, **VariableTracker.propagate(value, classes, kinds))


_MARKED = (("_is_buffer", torch.nn.Buffer), ("_is_param", torch.nn.Parameter))
"""Classes of which a tensor counts as an instance if it has the attribute."""


def _classes_of(tx: Translator, classes: VariableTracker) -> list[VariableTracker]:
    """The classes of a tuple or union, which may hold others."""
    if isinstance(classes, ConstantVariable) and type(classes.value) is types.UnionType:
        each = [tx.build(ConstantSource(kind), kind) for kind in classes.value.__args__]
        return [kind.with_guards(classes.guards) for kind in each]
    if not isinstance(classes, lists.TupleVariable):
        if classes.python_type() is _NAMES_OF_CLASSES:
            return [classes.var_getattr(tx, "__origin__").with_guards(classes.guards)]
        return [classes]
    return [kind for each in classes.unpack(tx) for kind in _classes_of(tx, each)]


_NAMES_OF_CLASSES = type(typing.Hashable)
"""The class of `typing.Sequence` and others, which answer as the classes that they stand for."""


def _asks_the_program(cls: type) -> bool:
    """Whether `isinstance` calls a function of the program's, for this class."""
    found = lookup(type(cls), "__instancecheck__")
    return type(found) is types.FunctionType and not is_library(found.__code__.co_filename)


@handles(issubclass)
def _issubclass(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    value, classes = args
    kinds = _classes_of(tx, classes)
    kind = class_of(value)
    answer = any(counts_as(tx, kind, class_of(each)) for each in kinds)
    return ConstantVariable(answer, **VariableTracker.propagate(value, classes, kinds))


def class_of(tracker: VariableTracker) -> type:
    """The class that a tracker stands for."""
    found = getattr(tracker, "fn", None) if isinstance(tracker, BuiltinVariable) else None
    found = getattr(tracker, "value", None) if found is None else found
    if not isinstance(found, type):
        raise tracker.refuse("use as a class")
    return found


@handles(type)
def _type(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if len(args) != 1:
        return None
    found: VariableTracker = tx.class_variable(args[0])
    return found


@handles(getattr)
def _getattr(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    owner, name = args[0], name_of(args[1])
    if len(args) == 3 and not has_attribute(tx, owner, name):
        return args[2].with_guards(owner.guards)
    return owner.var_getattr(tx, name)


@handles(hasattr)
def _hasattr(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    owner, name = args[0], name_of(args[1])
    return ConstantVariable(has_attribute(tx, owner, name), **VariableTracker.propagate(args))


_HAVE_WHAT_THEIR_CLASS_HAS = (
    lists.BaseListVariable,
    dicts.ConstDictVariable,
    iter.IteratorVariable,
    SymNodeVariable,
)


def has_attribute(tx: Translator, owner: VariableTracker, name: str) -> bool:
    """Whether the value has an attribute of this name."""
    check = getattr(owner, "has_attribute", None)
    if check is not None:
        return bool(check(tx, name))
    if isinstance(owner, BuiltinVariable) and not isinstance(owner.fn, types.FunctionType):
        # Nobody changes those.
        return hasattr(owner.fn, name)
    if isinstance(owner, ConstantVariable):  # some say more than their classes have: unions
        return hasattr(owner.value, name)
    if isinstance(owner, _HAVE_WHAT_THEIR_CLASS_HAS):
        return has(owner.python_type(), name)
    raise owner.refuse("hasattr")


@handles(set_grad_enabled)
def _set_grad_enabled(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    mode = args[0].as_python_constant()
    if type(mode) is not bool or tx.output.function_modes:
        return None
    set_grad_mode(tx, mode)
    return ConstantVariable(None)


@handles(frozenset)
def _frozenset(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    if all_constant(args, kwargs):
        return None
    return sets.made_by(tx, frozenset, args, frozenset)


@handles(operator.contains)
def _contains(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    return ConstantVariable(args[0].contains(tx, args[1]), **VariableTracker.propagate(args))


@handles(operator.setitem)
def _setitem(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    owner, key, value = args
    owner.setitem(tx, key, value)
    return ConstantVariable(None)


@handles(callable)
def _callable(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    found = has(args[0].python_type(), "__call__")  # a class itself is callable
    return ConstantVariable(found, **VariableTracker.propagate(args))
