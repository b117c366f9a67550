"""What objects hold that are dictionaries, lists, tuples, sets or deques by inheritance, or are
containers of `collections`.

Such an object has a class, and inside what its builtin base keeps. That is a tracker of its own: of
an object that was there before, what a copy of the inside holds, read past all methods of the class
(`bare`); of one that the frame makes, a container that it fills. What comes to be in it is
written past all methods of the class, too (`put_contents`; of a set, step by step). Methods and
operators that the class leaves to its base are done on it, by `call_inherited`; all others are
Python functions, and are interpreted.

The inside is no object of the program's: what would have to hand it out, such as an iterator over
it that lives on across a graph break, has the graph broken where it was made.
"""

from __future__ import annotations

import operator
import sys
from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, Protocol, Self

from stepper import _C
from stepper.native import polyfills
from stepper.native.exc import RestartAnalysis, unimplemented
from stepper.native.guards.class_dicts import find, has, lookup, order_of
from stepper.native.source import CallSource, Kept, Source, bare
from stepper.native.variables.base import (
    Arguments,
    Keywords,
    ValueMutationExisting,
    ValueMutationNew,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin_methods import METHODS_OF_C, BoundBuiltinMethod
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import (
    ConstDictVariable,
    DictViewVariable,
    key_of,
    pairs_of,
    tracker_of_key,
)
from stepper.native.variables.exceptions import ObservedException, observed
from stepper.native.variables.iter import ElementIteratorVariable, iterate
from stepper.native.variables.lists import BaseListVariable, ListVariable, TupleVariable
from stepper.native.variables.sets import SetVariable, as_set, held_frozen, inside
from stepper.support.words import one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe

MAKERS: tuple[type, ...] = (dict, list, tuple, deque, set, frozenset)
"""Containers of which `__new__` makes an object."""
_BASES: tuple[type, ...] = (OrderedDict, defaultdict, *MAKERS)

_OF_DICTS = (
    "keys values items get pop setdefault update clear __init__ __getitem__ __setitem__ "
    "__delitem__ __contains__ __len__ __iter__ __reversed__ __ior__"
)
_OF_SEQUENCES = "index count __getitem__ __contains__ __len__ __iter__"
_OF_LISTS = (
    f"{_OF_SEQUENCES} __init__ __setitem__ __delitem__ append extend pop remove reverse clear "
    "__iadd__"
)
_OF_SETS = (
    "union intersection difference symmetric_difference issubset issuperset isdisjoint __or__ "
    "__and__ __sub__ __xor__ __contains__ __len__ __iter__"
)
_METHODS: dict[type, frozenset[str]] = {
    dict: frozenset(f"{_OF_DICTS} copy".split()),
    OrderedDict: frozenset(f"{_OF_DICTS} move_to_end popitem".split()),
    defaultdict: frozenset(f"{_OF_DICTS} __missing__".split()),
    tuple: frozenset(_OF_SEQUENCES.split()),
    list: frozenset(f"{_OF_LISTS} insert copy".split()),
    deque: frozenset(f"{_OF_LISTS} appendleft extendleft popleft rotate".split()),
    frozenset: frozenset(_OF_SETS.split()),
    set: frozenset(
        f"{_OF_SETS} __init__ __ior__ __iand__ __isub__ __ixor__ add discard remove pop clear copy "
        "update intersection_update difference_update symmetric_difference_update".split()
    ),
}
"""What is known of the builtin containers."""
_OF_ONE = ("add", "discard", "remove", "__contains__")
"""Methods of sets that are about an element."""
_BY_ITEM = frozenset({"__init__", "__ior__", "pop", "setdefault", "update"})
"""Methods of `OrderedDict` that go through the methods for single items."""
_OF_ITEMS = ("__getitem__", "__setitem__", "__delitem__", "__contains__")


class Holder(Protocol):
    """An object that is a container by inheritance.

    is_new: whether the frame made it.
    """

    is_new: bool

    def python_type(self) -> type:
        """The class of the value."""

    def contents(self, tx: Translator) -> VariableTracker:
        """What it holds now."""

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        """See `VariableTracker.var_getattr`."""

    def special(self, tx: Translator, name: str, args: Arguments) -> VariableTracker:
        """Call a method that Python looks for in the class only."""

    def refuse(self, what: str) -> Exception:
        """See `VariableTracker.refuse`."""


def container_of(kind: type) -> type | None:
    """The builtin container that a class is; None: it is none."""
    order = order_of(kind)
    return next((base for base in _BASES if one_of(base, order)), None)


def inherits(kind: type, name: str, start: int = 0) -> bool:
    """Whether a class leaves a method to the container that it is; the search begins at `start` of
    the order of classes."""
    base = container_of(kind)
    if base is None or name not in _METHODS[base]:
        return False
    owner, found = find(kind, name, start)
    if (owner is not base and owner is not dict) or found is not owner.__dict__[name]:
        return False
    if base is OrderedDict and name in _BY_ITEM:
        own = (lookup(kind, each) for each in _OF_ITEMS)
        return all(
            each in (OrderedDict.__dict__.get(item), dict.__dict__[item])
            for item, each in zip(_OF_ITEMS, own, strict=True)
        )
    return True


def name_inherited(kind: type, name: str) -> str | None:
    """By which name a class leaves a method to the container that it is, None: it does not. For a
    dictionary's it may have another name: `__getattr__ = dict.__getitem__`."""
    found: Any = lookup(kind, name)
    if type(found) in METHODS_OF_C and dict.__dict__.get(own := found.__name__) is found:
        name = own
    return name if inherits(kind, name) else None


def call_inherited(
    tx: Translator, owner: Holder, name: str, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    """Do what the method of the builtin base does."""
    kind = owner.python_type()
    base = container_of(kind)
    assert base is not None
    contents = owner.contents(tx)
    if kwargs and name not in ("__init__", "update", "move_to_end", "popitem"):
        raise owner.refuse(f"an argument of {name} by its name")
    if isinstance(contents, SetVariable) and name not in _OF_ONE:
        args = [inside(tx, each) for each in args]
    match name, args:
        case "__init__", _:
            return _begin(tx, owner, contents, args, kwargs)
        case "__getitem__" | "__setitem__" | "__delitem__", [key, *_] if (
            base is deque and not _is_in(contents, key)
        ):
            raise owner.refuse("a missing item")
        case "__getitem__", [key]:
            if has(kind, "__missing__") and not contents.contains(tx, key):
                return owner.special(tx, "__missing__", [key])
            return contents.getitem(tx, key)
        case "__missing__", [key]:
            return _made_by_factory(tx, owner, contents, key)
        case "__setitem__", [key, value]:
            contents.setitem(tx, key, value)
            return ConstantVariable(None)
        case "__contains__", [item]:
            answer = contents.contains(tx, item)
            return ConstantVariable(answer, **VariableTracker.propagate(contents, item))
        case "__len__", [] if isinstance(contents, SetVariable):
            return contents.length(tx)
        case "__len__", []:
            assert isinstance(contents, ConstDictVariable | BaseListVariable)
            return ConstantVariable(len(contents.items), guards=contents.guards)
        case "__iter__", [] if base is deque:
            return ElementIteratorVariable.begin(tx, contents)
        case "__iter__" | "keys" | "values" | "items", [] if issubclass(base, dict):
            which = name.replace("__iter__", "keys")
            view = DictViewVariable(contents, which, owner, guards=contents.guards)  # type: ignore[arg-type]  # a tracker is a holder
            return iterate(tx, view) if name == "__iter__" else view
        case "__iter__", []:
            return iterate(tx, contents)
        case _, [other] if isinstance(contents, SetVariable) and name.startswith("__"):
            if not isinstance(other := as_set(other), SetVariable):
                raise owner.refuse(f"method {name} with what is no set")
            made = contents.combine(tx, getattr(operator, name), other)
            return owner if name.startswith("__i") else made  # type: ignore[return-value]  # a tracker is a holder
        case "__iadd__" | "__ior__", [_]:
            call_inherited(tx, owner, "extend" if name == "__iadd__" else "update", args, {})
            return owner  # type: ignore[return-value]  # a tracker is a holder
        case "move_to_end" | "popitem", _:
            return _reorder(tx, contents, name, args, kwargs)
    if base is deque:
        return _of_deque(tx, owner, contents, name, args)
    return contents.call_method(tx, name, args, kwargs)


def _is_in(contents: VariableTracker, key: VariableTracker) -> bool:
    assert isinstance(contents, BaseListVariable)
    if not key.is_python_constant():
        return False
    index, size = key.as_python_constant(), len(contents.items)
    return type(index) is int and -size <= index < size


def _made_by_factory(
    tx: Translator, owner: Holder, contents: VariableTracker, key: VariableTracker
) -> VariableTracker:
    """What a `defaultdict` has for a key that it had not."""
    factory = owner.var_getattr(tx, "default_factory")
    if isinstance(factory, ConstantVariable):
        raise observed(KeyError, key)
    value = factory.call_function(tx, [], {})
    owner.special(tx, "__setitem__", [key, value])
    return value


def polyfill_of(kind: type, method: object) -> polyfills.Polyfill | None:
    """What is interpreted in the place of a builtin container's method; None: there is nothing, or
    it would ask a method of the class that the builtin does not ask."""
    base = container_of(kind)
    plain = base and all(inherits(kind, each) for each in _ASKED if hasattr(base, each))
    return polyfills.METHODS.get(method) if plain else None


_ASKED = ("__iter__", "__len__", "__getitem__", "__setitem__", "extend", "clear")


def shows(kind: type, name: str) -> bool:
    """Whether an attribute of a class tells how a container was made."""
    return name == "maxlen" and lookup(kind, name) is deque.__dict__[name]


def _of_deque(
    tx: Translator, owner: Holder, contents: VariableTracker, name: str, args: Arguments
) -> VariableTracker:
    """A method that only a deque has, or one that keeps to its length."""
    assert isinstance(contents, ListVariable)
    items, maxlen = list(contents.items), owner.var_getattr(tx, "maxlen").as_python_constant()
    if name.startswith("pop") and items and not args:
        return contents.call_method(tx, "pop", [ConstantVariable(0)] * (name == "popleft"), {})
    match name, args:
        case "append" | "appendleft", [item]:
            given = [item]
        case "extend" | "extendleft", [other]:
            given = other.unpack(tx)
        case "rotate", [] | [_]:
            count = args[0].as_python_constant() if args else 1
            if type(count) is not int or abs(count) > sys.maxsize:
                raise owner.refuse("a rotation by that")
            at = -count % len(items) if items else 0
            given, items = [], [*items[at:], *items[:at]]
        case "pop" | "popleft", _:
            raise owner.refuse(f"method {name}, which has nothing,")
        case _:
            try:
                return contents.call_method(tx, name, args, {})
            except ObservedException as error:  # its text names a list
                raise unimplemented(error.msg) from None
    left = name.endswith("left")
    items = [*given[::-1], *items] if left else [*items, *given]
    if maxlen is not None and len(items) > maxlen:
        items = items[:maxlen] if left else items[len(items) - maxlen :]
    contents.become(tx, items, name, *args)
    return ConstantVariable(None)


def _begin(
    tx: Translator, owner: Holder, contents: VariableTracker, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    base = container_of(owner.python_type())
    store, none = tx.output.side_effects.store_attr, ConstantVariable(None)
    if not owner.is_new:
        raise owner.refuse("a call of __init__")
    if isinstance(contents, SetVariable):
        if kwargs or len(args) > 1 or contents.steps:
            raise owner.refuse("a call of __init__ with these arguments")
        return contents.call_method(tx, "update", args, {})
    if base is defaultdict:
        factory, *args = args or [none]
        factory = tx.realize(factory)
        if factory.python_type() is not type(None) and not has(factory.python_type(), "__call__"):
            raise observed(TypeError, "first argument must be callable or None")
        store(owner, "default_factory", factory)  # type: ignore[arg-type]  # a tracker is a holder
    if isinstance(contents, ConstDictVariable):
        return contents.call_method(tx, "update", args, kwargs)
    known = ("iterable", "maxlen") if base is deque else ("iterable",)
    given = dict(zip(known, args, strict=False)) | kwargs
    unknown = len(args) > len(known) or given.keys() - known or (kwargs and base is not deque)
    if unknown or not isinstance(contents, ListVariable):
        raise owner.refuse("a call of __init__ with these arguments")
    iterable = given.get("iterable", TupleVariable([]))
    items = iterable.unpack(tx) if base is deque else iterable.listed(tx)
    if base is deque:
        maxlen = given.get("maxlen", none)
        most = maxlen.as_python_constant()
        if most is not None and (type(most) is not int or most < 0):
            raise owner.refuse("a call of __init__ with these arguments")
        store(owner, "maxlen", maxlen)  # type: ignore[arg-type]  # a tracker is a holder
        items = items if most is None else items[max(0, len(items) - most) :]
    contents.become(tx, items, "extend", *args)
    return none


def _reorder(
    tx: Translator, contents: VariableTracker, name: str, args: Arguments, kwargs: Keywords
) -> VariableTracker:
    assert isinstance(contents, ConstDictVariable)
    items = dict(contents.items)
    given = {"last": ConstantVariable(True), **kwargs}
    if name == "move_to_end":
        if not args and "key" not in given:
            raise contents.refuse(f"method {name}")
        key = given.pop("key", None) or args.pop(0)
    if len(args) > 1 or len(given) > 1:
        raise contents.refuse(f"method {name}")
    last = (args[0] if args else given["last"]).truth(tx)
    if name == "popitem":
        if not items:
            raise observed(KeyError, "dictionary is empty")
        taken = list(items)[-1 if last else 0]
        value = items.pop(taken)
        contents.become(tx, items, name, *args)
        guards = contents.guards
        key_taken = tracker_of_key(taken, guards)
        return TupleVariable([key_taken, tx.realize(value)], guards=guards)
    found = key_of(tx, key)
    if found not in items:
        raise observed(KeyError, *(found if type(found) is tuple else (found,)))
    value = items.pop(found)
    items = {**items, found: value} if last else {found: value, **items}
    contents.become(tx, items, name, key)
    return ConstantVariable(None)


class _BareVariable(VariableTracker):
    """What is in an object that is a container.

    place: the instruction to leave to Python, should it be needed as an object.
    holder: the object, if it was there before.
    """

    place: int
    holder: Holder | None = None

    @classmethod
    def held(cls, tx: Translator, *given: object, **fields: object) -> Self:
        """What is made of these, with these fields."""
        options = {key: fields.pop(key) for key in ("guards", "mutation_type") if key in fields}
        make: Callable[..., Self] = cls
        made = make(*given, **options)
        return made.with_fields(place=tx.root.current_instruction.index, **fields)

    def reconstruct(self, codegen: Codegen) -> None:
        raise RestartAnalysis(self.place, "what is inside of an object lives on")

    def fill(self, codegen: Codegen, name: str) -> None:
        """What is used twice is filled."""
        self.reconstruct(codegen)


class BareDictVariable(_BareVariable, ConstDictVariable):
    """What is in an object that is a dictionary."""


class BareListVariable(_BareVariable, ListVariable):
    """What is in an object that is a list."""


class BareSetVariable(_BareVariable, SetVariable):
    """What is in an object that is a set. Of one that was there before it has begun as a dictionary
    of its keys, in their order."""

    def _begun_elements(self, tx: Translator) -> list[VariableTracker]:
        return [tracker_of_key(key, self.guards) for key in self.begun]

    def parts(self) -> Sequence[VariableTracker]:
        return super().parts() if self.holder is None else [self.holder]  # type: ignore[list-item]  # a tracker is a holder

    def push_as_it_was(self, codegen: Codegen) -> None:
        if self.holder is not None and not self.steps:
            codegen(self.holder)  # type: ignore[arg-type]  # a tracker is a holder
        else:
            super().push_as_it_was(codegen)


def existing_contents(
    tx: Translator, owner: Holder, value: object, source: Source, base: type
) -> VariableTracker | None:
    """What an object holds that was there before; None: something that is not known here."""
    found = tx.build(CallSource(source, bare, (base,)), bare(value, base))
    if not isinstance(found, ConstDictVariable | ListVariable):
        return found if isinstance(found, TupleVariable) else None
    mutation = None if base is frozenset else ValueMutationExisting()
    of: type[_BareVariable] = BareListVariable
    of = BareDictVariable if isinstance(found, ConstDictVariable) else of
    given: tuple[object, ...] = (found.items,)
    if base in (set, frozenset):
        of, given = BareSetVariable, (found.items, (), frozenset(found.items))
    return of.held(tx, *given, guards=found.guards, mutation_type=mutation, holder=owner)


def new_contents(tx: Translator, base: type, args: Arguments) -> VariableTracker:
    """What an object holds that is made, before its `__init__`; `args` are those of `__new__`."""
    if base is tuple:
        items = args[0].listed(tx) if args else []
        return TupleVariable(items, **VariableTracker.propagate(args))
    if base is frozenset:
        return held_frozen(tx, args)
    if base is set:
        return BareSetVariable.held(tx, None, (), frozenset(), mutation_type=ValueMutationNew())
    if base in (list, deque):
        return BareListVariable.held(tx, [], mutation_type=ValueMutationNew())
    return BareDictVariable.held(tx, {}, mutation_type=ValueMutationNew())


def given_to_make(held: VariableTracker | None) -> Recipe:
    """What an object is made with that holds this from the beginning."""
    if isinstance(held, SetVariable) and held.python_type() is frozenset:
        return held.given()
    return (tuple(held.items),) if isinstance(held, TupleVariable) else ()


def write_contents(
    codegen: Codegen,
    contents: VariableTracker,
    base: type,
    variable: str,
    maxlen: VariableTracker | None,
) -> None:
    """Put into the object in the variable what it holds; a deque has `maxlen`, too."""
    if base in (tuple, frozenset):
        return  # it is made with them
    if isinstance(contents, SetVariable):
        contents.write_steps(codegen, variable)
        return
    assert isinstance(contents, ConstDictVariable | ListVariable)
    most = () if maxlen is None else (maxlen,)
    codegen.do(put_contents, Kept(variable), contents.items, *most)


def put_contents(
    made: object, items: dict[object, object] | list[object], maxlen: int | None = None
) -> None:
    """Have an object hold these, past all methods of its class.

    maxlen: of a deque that is new.
    """
    match made:
        case list():
            list.__setitem__(made, slice(None), items)
        case deque():
            if maxlen is not None:
                deque.__init__(made, maxlen=maxlen)
            deque.clear(made)
            deque.extend(made, items)
        case OrderedDict():
            OrderedDict.clear(made)
            for key, value in dict.items(items):  # type: ignore[arg-type]  # what it holds is one
                OrderedDict.__setitem__(made, key, value)
        case dict():
            dict.clear(made)
            dict.update(made, items)  # type: ignore[arg-type]  # the same


_C.set_skip(put_contents.__code__, "recursive")


@tracker_class
class InheritedMethodVariable(BoundBuiltinMethod):
    """A method that an object's class leaves to its builtin base, bound.

    by_name: whether reading the attribute gives it.
    known: whether it is one of a container's whose contents are known.
    polyfill: what is interpreted in its place.
    """

    by_name: bool
    known: bool
    polyfill: polyfills.Polyfill | None = None

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        if self.polyfill is not None:
            return tx.interpret(self.polyfill, [self.obj, *args], kwargs)
        if not self.known:
            raise self.refuse_call()
        owner: Holder = self.obj  # type: ignore[assignment]  # it is made for no others
        return call_inherited(tx, owner, self.name, args, kwargs)

    def recipe(self) -> Recipe | None:
        return super().recipe() if self.by_name else None


def mapping_items(tx: Translator, owner: VariableTracker) -> dict[object, VariableTracker]:
    """What `dict.update` takes from an object that has `keys`."""
    kind = owner.python_type()
    if container_of(kind) is dict and lookup(kind, "__iter__") is dict.__dict__["__iter__"]:
        contents = owner.contents(tx)  # type: ignore[attr-defined]  # all such objects have
        return pairs_of(tx, contents)
    keys = owner.var_getattr(tx, "keys").call_function(tx, [], {}).unpack(tx)
    return {key_of(tx, key): owner.getitem(tx, key) for key in keys}
