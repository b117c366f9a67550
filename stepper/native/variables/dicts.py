"""Dictionaries whose keys are known, and their views."""

from __future__ import annotations

import operator
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from stepper import _C
from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import lookup
from stepper.native.source import Kept
from stepper.native.variables.base import (
    Arguments,
    Guards,
    Keywords,
    TrackedKey,
    ValueMutationNew,
    VariableTracker,
    refuse_finalizers,
    tracker_class,
    trackers_among,
)
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable, is_constant
from stepper.native.variables.exceptions import observed, observed_error
from stepper.native.variables.folding import OF_DICTS, wrap_constant
from stepper.native.variables.lists import TupleVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe
    from stepper.native.variables.base import TrackerOptions


MOST_ENTRIES = 32
"""How long a dictionary or set with objects may be, if they are found one by one."""


class DictionaryVariable(VariableTracker):
    """A dictionary of the program's, or that of an object's attributes."""

    def known(self, tx: Translator) -> ConstDictVariable:
        """All that is in it now."""
        raise self.refuse("the contents")


class ConstDictVariable(HasBuiltinMethods, DictionaryVariable):
    """A dictionary.

    items: trackers of the values, by key, in the dictionary's order.
    layout: another one once a key has come or gone, also if all keys are as before.
    begun: the keys that it began with.
    steps: by which method which key has come or gone since, one after the other. What an iterator
        gives that there is, and its size in bytes, come of that, and not only of what it holds.
    """

    python_class = dict

    def __init__(
        self,
        items: dict[Any, VariableTracker],
        layout: object = None,
        **options: Unpack[TrackerOptions],
    ) -> None:
        super().__init__(**options)
        self.items = dict(items)
        self.layout = object() if layout is None else layout
        self.begun = tuple(self.items)
        self.steps: tuple[tuple[str, object], ...] = ()

    @classmethod
    def new(cls, items: dict[Any, VariableTracker], guards: Guards) -> ConstDictVariable:
        """A dictionary that the frame makes."""
        return cls(items, guards=guards, mutation_type=ValueMutationNew())

    def known(self, tx: Translator) -> ConstDictVariable:
        return self

    def looked_into(self, tx: Translator) -> VariableTracker:
        items = {key: tx.realize(each).looked_into(tx) for key, each in self.items.items()}
        return self.with_fields(items=items, **self.propagate(self, [*items.values()]))

    def is_python_constant(self) -> bool:
        constant = all(item.is_constant_item() for item in self.items.values())
        return constant and all(map(is_constant, self.items))

    def as_python_constant(self) -> object:
        return {key: item.as_python_constant() for key, item in self.items.items()}

    def as_proxy(self) -> object:
        if not all(map(is_constant, self.items)):
            raise self.refuse("use in the graph")
        return {key: item.as_proxy() for key, item in self.items.items()}

    def truth(self, tx: Translator) -> bool:
        return bool(self.items)

    def parts(self) -> Sequence[VariableTracker]:
        keys = dict.fromkeys((*self.begun, *(key for _, key in self.steps), *self.items))
        return [*trackers_among(keys), *self.items.values()]

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        return [tracker_of_key(key, self.guards) for key in self.items]

    def key(self, tx: Translator, key: VariableTracker) -> object:
        """By what something is found in it."""
        return key_of(tx, key, self.items)

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        found = self.items.get(self.key(tx, key))
        if found is None:
            raise observed(KeyError, key)
        return tx.realize(found).with_guards(self.guards | key.guards)

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        return self.key(tx, item) in self.items

    def become(
        self,
        tx: Translator,
        items: dict[Any, VariableTracker],
        what: str,
        *because: VariableTracker,
    ) -> None:
        """The dictionary gets these items."""
        gone = (v for key, v in self.items.items() if items.get(key) is not v)
        keys = (
            key.tracker for key in self.items if isinstance(key, TrackedKey) and key not in items
        )
        refuse_finalizers(tx.output, (*gone, *keys))
        layout = self.layout if list(items) == list(self.items) else None
        newest = tx.output.side_effects.latest(self)
        assert isinstance(newest, ConstDictVariable)
        if self.mutation_type is None or newest.items is not self.items:  # e.g. by what it is given
            raise self.refuse("a change")
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, items=dict(items), **self.propagate(self, because))
        new.layout = object() if layout is None else layout
        new.steps += tuple(self._steps_to(items, what))
        tx.output.side_effects.mutate(self, new, what)

    def _steps_to(
        self, items: dict[object, VariableTracker], what: str
    ) -> Iterable[tuple[str, object]]:
        if what == "clear":
            return [(what, None)]
        gone = [(what, key) for key in self.items if key not in items]
        return gone + [("__setitem__", key) for key in items if key not in self.items]

    def setitem(self, tx: Translator, key: VariableTracker, value: VariableTracker) -> None:
        self.become(tx, {**self.items, self.key(tx, key): value}, "setitem", key, value)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        options = self.propagate(self, args)
        none = ConstantVariable(None)
        match name, args:
            case "keys" | "values" | "items", []:
                return DictViewVariable(self, name, **options)
            case "get", [key] | [key, _] if not kwargs:
                found = self.items.get(self.key(tx, key), args[1] if len(args) == 2 else none)
                return tx.realize(found).with_guards(options["guards"])
            case "pop", [key] | [key, _]:
                items = dict(self.items)
                popped = items.pop(self.key(tx, key), args[1] if len(args) == 2 else None)
                if popped is None:
                    raise observed(KeyError, key)
                if len(items) != len(self.items):
                    self.become(tx, items, name, key)
                return tx.realize(popped).with_guards(options["guards"])
            case "popitem", []:
                if not self.items:
                    raise observed(KeyError, "popitem(): dictionary is empty")
                items = dict(self.items)
                key, popped = items.popitem()
                self.become(tx, items, name)
                pair = [tracker_of_key(key, self.guards), tx.realize(popped)]
                return TupleVariable(pair, **options)
            case "setdefault", [key] | [key, _]:
                if self.key(tx, key) not in self.items:
                    self.setitem(tx, key, args[1] if len(args) == 2 else none)
                current = tx.output.side_effects.latest(self)
                return current.getitem(tx, key)
            case "update", _ if len(args) < 2:
                items = dict(self.items)
                for other in args:
                    items.update(pairs_of(tx, other))
                self.become(tx, {**items, **kwargs}, name, *args, *kwargs.values())
                return none
            case "copy", []:
                return ConstDictVariable.new(self.items, self.guards)
            case "clear", []:
                self.become(tx, {}, name)
                return none
            case "__delitem__", [key]:
                items = dict(self.items)
                if self.key(tx, key) not in items:
                    raise observed(KeyError, key)
                del items[self.key(tx, key)]
                self.become(tx, items, name, key)
                return none
        raise self.refuse_method(name)

    @property
    def only_grew(self) -> bool:
        """Whether no key has gone, not for a while either."""
        return all(method == "__setitem__" for method, _ in self.steps)

    def planned(self, begun: Sequence[object] = ()) -> Recipe:
        """What `follow_steps` wants; keys of `begun` come first."""
        steps = (*(("__setitem__", key) for key in begun), *self.steps)
        return tuple(method for method, _ in steps), tuple(key for _, key in steps), self.items

    def fill(self, codegen: Codegen, name: str) -> None:
        """Put into the empty dictionary in the variable what it holds, and push it."""
        if self.only_grew:
            codegen.push(Kept(name))
            codegen.push(self.items)
            codegen.emit("DICT_UPDATE", 1)
        else:
            codegen.make(follow_steps, Kept(name), self.planned(self.begun))

    def reconstruct(self, codegen: Codegen) -> None:
        if self.only_grew:
            codegen.push(self.items)
        else:
            codegen.make(follow_steps, {}, self.planned(self.begun))


OF_DICTS.append(ConstDictVariable.new)


def follow_steps(
    made: dict[object, object],
    planned: tuple[tuple[str, ...], tuple[object, ...], dict[object, object]],
) -> dict[object, object]:
    """Have keys come to a dictionary, and go, as they did, and have it hold the values then."""
    methods, keys, items = planned
    for method, key in zip(methods, keys, strict=True):
        match method:
            case "clear" | "popitem":
                getattr(made, method)()
            case "__setitem__":
                made[key] = items.get(key)
            case _:
                getattr(made, method)(key)
    made.update(items)
    return made


_C.set_skip(follow_steps.__code__, "recursive")


@tracker_class
class DictViewVariable(HasBuiltinMethods):
    """`keys()`, `values()` or `items()` of a dictionary."""

    base: DictionaryVariable
    """The dictionary."""
    view: str
    """The name of the method that gives the view."""
    owner: VariableTracker | None = None
    """The object, where `base` is what an object holds that is a dictionary by inheritance."""

    @property
    def of(self) -> type:
        """The class whose views it is one of."""
        kind = dict if self.owner is None else self.owner.python_type()
        return OrderedDict if issubclass(kind, OrderedDict) else dict

    @property
    def is_set(self) -> bool:
        """Whether it is one that does what sets do."""
        return self.view != "values"

    def of_nothing(self) -> Any:
        """Such a view of an empty dictionary."""
        return getattr(self.of(), self.view)()

    def python_type(self) -> type:
        return type(self.of_nothing())

    def newest(self, tx: Translator) -> ConstDictVariable:
        """The dictionary, as it is now."""
        newest = tx.output.side_effects.latest(self.base)
        assert isinstance(newest, DictionaryVariable)
        return newest.known(tx)

    def truth(self, tx: Translator) -> bool:
        return bool(self.newest(tx).items)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        base = self.newest(tx)
        if self.view == "keys":
            return base.unpack(tx)
        values = [tx.realize(value).with_guards(base.guards) for value in base.items.values()]
        if self.view == "values":
            return values
        keys = base.unpack(tx)
        return [
            TupleVariable(pair, **self.propagate(pair)) for pair in zip(keys, values, strict=True)
        ]

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        if self.view == "keys":
            return self.newest(tx).contains(tx, item)
        return any(tx.same_or_equal(each, item) for each in self.unpack(tx))

    def recipe(self) -> Recipe:
        return getattr(self.of, self.view), self.owner or self.base


def refuse_unhashable(key: VariableTracker, put: Callable[..., object]) -> None:
    """Have a list, a dictionary or a set raise what it raises when it is `put` somewhere by its
    hash."""
    if isinstance(key, HasBuiltinMethods) and (kind := key.python_type()) in (list, dict, set):
        try:
            put(kind())
        except TypeError as error:
            raise observed_error(error) from None


def key_of(tx: Translator, key: VariableTracker, among: Iterable[object] = ()) -> object:
    """The value of a key that is known.

    among: the keys among which it is looked for.
    """
    refuse_unhashable(key, lambda made: {made: None})
    if type(key) is TupleVariable and not key.is_python_constant():
        return tuple(key_of(tx, tx.realize(each)) for each in key.items)
    if not key.is_python_constant():
        others = (each for each in among if is_constant(each) and each not in tx.output.addresses)
        if any(type(each) is key.python_type() for each in others):
            raise key.refuse("use as a key, among others,")  # an `id`, among any numbers
        return key.as_key(tx)
    if key.mutation_type is not None:
        raise key.refuse("use as a key")
    value = key.as_python_constant()
    return value if is_constant(value) else key.as_key(tx)


def is_placed(key: object) -> bool:
    """Whether the hash of a key is that of the object which it stands for."""
    if type(key) is tuple:
        return all(map(is_placed, key))
    return not isinstance(key, TrackedKey) or key.hashed is not None


_WRITTEN = "__create_fn__.<locals>."
"""How the names begin of functions that `dataclasses` has written: the program's own may come from
a file with the same name."""


def is_plain_record(kind: type) -> bool:
    """Whether a class is a frozen dataclass whose objects are equal where all their fields are, as
    `dataclasses` writes it."""
    said = lookup(kind, "__dataclass_params__")
    written = [lookup(kind, name) for name in ("__hash__", "__eq__")]
    return getattr(said, "frozen", False) and all(
        type(each) is types.FunctionType and each.__code__.co_qualname.startswith(_WRITTEN)
        for each in written
    )


def tracker_of_key(key: object, guards: Guards) -> VariableTracker:
    """The tracker of a key that `key_of` has given."""
    if isinstance(key, TrackedKey):
        return key.tracker.with_guards(guards)
    if type(key) is tuple and not is_constant(key):
        return TupleVariable([tracker_of_key(each, guards) for each in key], guards=guards)
    return wrap_constant(key, guards)


def pairs_of(tx: Translator, other: VariableTracker) -> dict[object, VariableTracker]:
    """What a mapping, or an iterable of pairs, adds to a dictionary."""
    if isinstance(other, ConstDictVariable):
        return other.items
    if (found := other.mapping_items(tx)) is not None:
        return found
    pairs: dict[object, VariableTracker] = {}
    for pair in other.unpack(tx):
        items = pair.unpack(tx)
        if len(items) != 2:
            raise unimplemented("ValueError: an element that is no pair")
        pairs[key_of(tx, items[0])] = items[1]
    return pairs


def equal_dicts(
    tx: Translator, operation: object, a: ConstDictVariable, b: ConstDictVariable
) -> VariableTracker:
    """`==` and `!=` of two dictionaries."""
    equal = a.items.keys() == b.items.keys() and all(
        tx.same_or_equal(tx.realize(value), tx.realize(b.items[key]))
        for key, value in a.items.items()
    )
    answer = equal is (operation is operator.eq)
    return ConstantVariable(answer, **VariableTracker.propagate(a, b))
