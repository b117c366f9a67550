"""Tuples, lists and other sequences."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import torch

from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import has, module_of
from stepper.native.variables.base import (
    Arguments,
    Guards,
    Keywords,
    MutationType,
    ValueMutationNew,
    VariableTracker,
    refuse_finalizers,
)
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.exceptions import observed, observed_error
from stepper.support.words import one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe
    from stepper.native.variables.base import TrackerOptions

Operation = Callable[[object, object], object]


class _OfItems(HasBuiltinMethods):
    """What is made of parts that are known.

    items: their trackers.
    """

    def __init__(self, items: Iterable[VariableTracker], **options: Unpack[TrackerOptions]) -> None:
        super().__init__(**options)
        self.items = list(items)

    def parts(self) -> Sequence[VariableTracker]:
        return self.items


class BaseListVariable(_OfItems):
    """A sequence whose items are known."""

    kind: type = object

    def python_type(self) -> type:
        return self.kind

    def is_python_constant(self) -> bool:
        return self.mutation_type is None and all(item.is_constant_item() for item in self.items)

    def as_python_constant(self) -> Any:
        return self.kind([item.as_python_constant() for item in self.items])

    def as_proxy(self) -> object:
        return self.kind([item.as_proxy() for item in self.items])

    def truth(self, tx: Translator) -> bool:
        return bool(self.items)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return [tx.realize(item).with_guards(self.guards) for item in self.items]

    def make(self, items: Sequence[VariableTracker], guards: Guards) -> VariableTracker:
        """Another of the same type."""
        return type(self)(items, guards=guards)

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        index = index_of(tx, key)
        guards = self.guards | key.guards
        try:
            found = self.items[index]
        except IndexError:
            name = "tuple" if issubclass(self.kind, tuple) else self.kind.__name__
            raise observed(IndexError, f"{name} index out of range") from None
        if isinstance(index, slice):
            if type(self) is TupleVariable and range(len(self.items))[index] == range(
                len(self.items)
            ):
                return self.with_guards(guards)  # as CPython does
            return self.make(self.items[index], guards)
        assert isinstance(found, VariableTracker)
        return tx.realize(found).with_guards(guards)

    def looked_into(self, tx: Translator) -> VariableTracker:
        items = [tx.realize(each).looked_into(tx) for each in self.items]
        return self.with_fields(items=items, **self.propagate(self, items))

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        return any(tx.same_or_equal(tx.realize(each), item) for each in self.items)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        options = self.propagate(self, args)
        if name == "index" and 0 < len(args) < 4 and not kwargs:
            bounds = [index_of(tx, each) for each in args[1:]]
            if not all(type(each) is int for each in bounds):
                raise self.refuse_method(name)
            within = slice(*([*bounds, None] if len(bounds) == 1 else bounds or [None]))
            for position in range(*within.indices(len(self.items))):
                if tx.same_or_equal(tx.realize(self.items[position]), args[0]):
                    return ConstantVariable(position, **options)
            if isinstance(args[0], ConstantVariable):
                empty = ListVariable if self.kind is list else TupleVariable
                return call_of_constant(empty([]), name, args[:1], {})  # an error
        elif name == "count" and len(args) == 1 and not kwargs:
            same = [tx.same_or_equal(tx.realize(item), args[0]) for item in self.items]
            return ConstantVariable(sum(same), **options)
        raise self.refuse_method(name)


class TupleVariable(BaseListVariable):
    """A tuple."""

    kind = tuple

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.push(tuple(self.items))


class SizeVariable(BaseListVariable):
    """A `torch.Size`."""

    kind = torch.Size

    def as_proxy(self) -> object:
        return tuple(item.as_proxy() for item in self.items)

    def make(self, items: Sequence[VariableTracker], guards: Guards) -> VariableTracker:
        return SizeVariable(items, guards=guards)

    def recipe(self) -> Recipe:
        return torch.Size, tuple(self.items)


class ListVariable(BaseListVariable):
    """A list."""

    kind = list

    @classmethod
    def new(cls, items: Sequence[VariableTracker], guards: Guards) -> ListVariable:
        """A list that the frame makes."""
        return cls(items, guards=guards, mutation_type=ValueMutationNew())

    def make(self, items: Sequence[VariableTracker], guards: Guards) -> VariableTracker:
        return ListVariable.new(items, guards)

    def is_python_constant(self) -> bool:
        return all(item.is_constant_item() for item in self.items)

    def become(
        self, tx: Translator, items: Sequence[VariableTracker], what: str, *because: VariableTracker
    ) -> VariableTracker:
        """The list gets these items; the guards of those that are `because` count."""
        key: MutationType | None = self.mutation_type
        grew = len(items) > len(self.items) and all(map(operator.is_, self.items, items))
        if not grew:
            kept = {id(item) for item in items}
            refuse_finalizers(tx.output, (each for each in self.items if id(each) not in kept))
        newest = tx.output.side_effects.latest(self)
        assert isinstance(newest, ListVariable)
        if key is None or newest.items is not self.items:  # e.g. by what it is extended by
            raise self.refuse("a change")
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, items=list(items), **self.propagate(self, because))
        tx.output.side_effects.mutate(self, new, what)
        return new

    def setitem(self, tx: Translator, key: VariableTracker, value: VariableTracker) -> None:
        index = index_of(tx, key)
        items = list(self.items)
        try:
            items[index] = value.iterated(tx) if isinstance(index, slice) else value
        except (IndexError, ValueError) as error:
            raise observed_error(error) from None
        self.become(tx, items, "setitem", key, value)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        items = list(self.items)
        none = ConstantVariable(None)
        match name, args:
            case "copy", []:
                return ListVariable.new(items, self.guards)
            case "remove", [item]:
                for position, each in enumerate(items):
                    if tx.same_or_equal(tx.realize(each), item):
                        del items[position]
                        self.become(tx, items, name, item)
                        return none
                return call_of_constant(ListVariable([]), name, [none], {})  # an error
        taken = _TAKEN.get(name, ())
        if name not in _TAKEN or len(args) > len(taken):
            return super().call_method(tx, name, args, kwargs)
        given = [take(tx, each) for take, each in zip(taken, args, strict=False)]
        try:
            result = getattr(items, name)(*given)
        except (IndexError, TypeError) as error:
            raise observed_error(error) from None
        self.become(tx, items, name, *args)
        return none if result is None else tx.realize(result).with_guards(self.guards)

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.push(self.items)


def _index(tx: Translator, value: VariableTracker) -> object:
    return index_of(tx, value)


def _itself(tx: Translator, value: VariableTracker) -> object:
    return value


def _items(tx: Translator, value: VariableTracker) -> object:
    return value.listed(tx)


_TAKEN: dict[str, tuple[Callable[[Translator, VariableTracker], object], ...]] = {
    "append": (_itself,), "extend": (_items,), "insert": (_index, _itself), "pop": (_index,),
    "clear": (), "reverse": (), "__delitem__": (_index,),
}  # fmt: skip
"""As what methods that change a list take their arguments, of which some may be left out."""
_PARTS = ("start", "stop", "step")


class PartsVariable(_OfItems):
    """A slice or a range: start, stop and step."""

    python_class: ClassVar[type]

    def has_attribute(self, tx: Translator, name: str) -> bool:
        return has(self.python_class, name)

    def is_python_constant(self) -> bool:
        return all(item.is_python_constant() for item in self.items)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name not in _PARTS:
            return super().var_getattr(tx, name)
        return tx.realize(self.items[_PARTS.index(name)]).with_guards(self.guards)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        return call_of_constant(self, name, args, kwargs)

    def recipe(self) -> Recipe:
        return self.python_class, *self.items


class SliceVariable(PartsVariable):
    """A slice."""

    python_class = slice

    def as_python_constant(self) -> object:
        return slice(*[item.as_python_constant() for item in self.items])

    def as_proxy(self) -> object:
        return slice(*[item.as_proxy() for item in self.items])


class RangeVariable(PartsVariable):
    """A range.

    value: the range itself.
    """

    python_class = range

    def __init__(self, value: range, **options: Unpack[TrackerOptions]) -> None:
        super().__init__([ConstantVariable(getattr(value, name)) for name in _PARTS], **options)
        self.value = value

    def as_python_constant(self) -> object:
        return self.value

    def truth(self, tx: Translator) -> bool:
        return bool(self.value)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        tx.spend(len(self.value))
        return [ConstantVariable(item, guards=self.guards) for item in self.value]

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        return call_of_constant(self, "__getitem__", [key], {})

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        return item.as_python_constant() in self.value


def call_of_constant(
    value: VariableTracker, name: str, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    """A method of an immutable value, of constants."""
    from stepper.native.variables.folding import fold

    return fold(getattr(value.python_type(), name), [value, *args], kwargs)


def joined(
    operation: Operation, a: BaseListVariable, b: BaseListVariable
) -> type[BaseListVariable] | None:
    """What a tuple and a `torch.Size` are together; None: they are something else."""
    kinds = [torch.Size if isinstance(each, SizeVariable) else tuple for each in (a, b)]
    if not all(isinstance(each, TupleVariable | SizeVariable) for each in (a, b)):
        return None
    return TupleVariable if type(operation(kinds[0](), kinds[1]())) is tuple else SizeVariable


def index_of(tx: Translator, key: VariableTracker) -> Any:
    """The index or slice that a tracker stands for, as Python takes it."""
    has_special, special = (getattr(key, name, None) for name in ("has_special", "special"))
    if has_special and special and has_special("__index__"):
        effects, owner = tx.output.side_effects, key
        changes = effects.changes
        key = special(tx, "__index__", [])
        if key.python_type() is not int or effects.changes != changes:  # of what it is to find
            raise owner.refuse("what __index__ gives, the index")
        tx.output.chosen_by(key)
    if not key.is_python_constant():
        raise key.refuse("use as an index")
    value = key.as_python_constant()
    if not one_of(type(value), (int, bool, slice)):
        of_numpy = module_of(type(value)) == "numpy" and hasattr(value, "__index__")
        if of_numpy or isinstance(value, int):
            return operator.index(value)
        raise unimplemented(f"TypeError: an index of type {type(value).__name__}")
    if not isinstance(value, slice) and not -sys.maxsize <= value <= sys.maxsize:
        raise unimplemented("an index that no sequence has")
    return value


def compare_sequences(
    tx: Translator, operation: Operation, a: BaseListVariable, b: BaseListVariable
) -> VariableTracker:
    """Equality of two sequences, or their order where all is constant."""
    options = VariableTracker.propagate(a, b)
    read = a, b
    if operation not in (operator.eq, operator.ne):
        if issubclass(a.python_type(), tuple) and issubclass(b.python_type(), tuple):
            # Named tuples are compared as what they inherit from.
            read = tuple(TupleVariable(each.items, guards=each.guards) for each in read)  # type: ignore[assignment]  # two still
        read = tuple(each.looked_into(tx) for each in read)  # type: ignore[assignment]  # sequences still
        options = VariableTracker.propagate(read)
    if all(each.is_python_constant() for each in read):
        left, right = (each.as_python_constant() for each in read)
        try:
            return ConstantVariable(bool(operation(left, right)), **options)
        except TypeError as error:
            raise observed_error(error) from None
    if operation not in (operator.eq, operator.ne):
        raise a.refuse("comparison")
    kinds = {a.python_type(), b.python_type()}
    equal = len(a.items) == len(b.items) and (len(kinds) == 1 or list not in kinds)
    if equal:
        for left, right in zip(a.items, b.items, strict=True):
            if not tx.same_or_equal(tx.realize(left), tx.realize(right)):
                equal = False
                break
    return ConstantVariable(equal is (operation is operator.eq), **options)
