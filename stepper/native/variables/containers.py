"""What objects of the program hold that are dictionaries, lists or tuples by inheritance.

Such an object has a class of the program's, and inside what its builtin base keeps. That is a
tracker of its own: of an object that was there before, what a copy of the inside holds, read past
all methods of the class (`BareSource`), and never changed here; of one that the frame makes, a
container that it fills. Methods and operators that the class leaves to its base are done on it, by
`call_inherited`; all others are the program's functions, and are interpreted.

The inside is no object of the program's: what would have to hand it out, such as an iterator over
it that lives on across a graph break, has the graph broken where it was made.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Unpack

from stepper import _C
from stepper.native.exc import RestartAnalysis
from stepper.native.guards.class_dicts import find, has, lookup, order_of
from stepper.native.source import BareSource, Source, bare
from stepper.native.variables.base import Keywords, ValueMutationNew, VariableTracker
from stepper.native.variables.builtin_methods import BoundBuiltinMethod
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable, key_of, pairs_of
from stepper.native.variables.exceptions import observed
from stepper.native.variables.iter import iterate
from stepper.native.variables.lists import BaseListVariable, ListVariable, TupleVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.base import TrackerOptions

_BASES: tuple[type, ...] = (OrderedDict, dict, list, tuple)

_READS: dict[type, frozenset[str]] = {
    dict: frozenset({"keys", "values", "items", "get", "__getitem__", "__contains__", "__len__",
                     "__iter__", "copy"}),
    OrderedDict: frozenset({"keys", "values", "items", "get", "__getitem__", "__contains__",
                            "__len__", "__iter__"}),
    list: frozenset({"index", "count", "__getitem__", "__contains__", "__len__", "__iter__",
                     "copy"}),
    tuple: frozenset({"index", "count", "__getitem__", "__contains__", "__len__", "__iter__"}),
}  # fmt: skip
_CHANGES: dict[type, frozenset[str]] = {
    dict: frozenset({"__init__", "__setitem__", "__delitem__", "pop", "setdefault", "update",
                     "clear"}),
    OrderedDict: frozenset({"__init__", "__setitem__", "__delitem__", "pop", "setdefault",
                            "update", "clear", "move_to_end", "popitem"}),
    list: frozenset({"__init__", "__setitem__", "__delitem__", "append", "extend", "insert", "pop",
                     "remove", "reverse", "clear"}),
    tuple: frozenset(),
}  # fmt: skip
_BY_ITEM = frozenset({"__init__", "pop", "setdefault", "update"})
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

    def refuse(self, what: str) -> Exception:
        """See `VariableTracker.refuse`."""


def container_of(kind: type) -> type | None:
    """The builtin container that a class is; None: it is none."""
    order = order_of(kind)
    return next((base for base in _BASES if base in order), None)


def inherits(kind: type, name: str, start: int = 0) -> bool:
    """Whether a class leaves a method to the container that it is; the search begins at `start` of
    the order of classes."""
    base = container_of(kind)
    if base is None or name not in _READS[base] | _CHANGES[base]:
        return False
    owner, found = find(kind, name, start)
    if owner not in (base, dict) or found is not owner.__dict__[name]:
        return False
    if base is OrderedDict and name in _BY_ITEM:
        own = (lookup(kind, each) for each in _OF_ITEMS)
        return all(
            each in (OrderedDict.__dict__.get(item), dict.__dict__[item])
            for item, each in zip(_OF_ITEMS, own, strict=True)
        )
    return True


def call_inherited(
    tx: Translator, owner: Holder, name: str, args: list[VariableTracker], kwargs: Keywords
) -> VariableTracker:
    """Do what the method of the builtin base does."""
    kind = owner.python_type()
    base = container_of(kind)
    assert base is not None
    if name in _CHANGES[base] and not owner.is_new:
        raise owner.refuse(f"method {name}")
    contents = owner.contents(tx)
    match name, args:
        case "__init__", _:
            return _begin(tx, owner, contents, args, kwargs)
        case "__getitem__", [key]:
            if has(kind, "__missing__") and not contents.contains(tx, key):
                raise owner.refuse("a missing key")
            return contents.getitem(tx, key)
        case "__setitem__", [key, value]:
            contents.setitem(tx, key, value)
            return ConstantVariable(None)
        case "__contains__", [item]:
            answer = contents.contains(tx, item)
            return ConstantVariable(answer, **VariableTracker.propagate(contents, item))
        case "__len__", []:
            assert isinstance(contents, ConstDictVariable | BaseListVariable)
            return ConstantVariable(len(contents.items), guards=contents.guards)
        case "__iter__", []:
            return iterate(tx, contents)
        case "move_to_end" | "popitem", _:
            return _reorder(tx, contents, name, args, kwargs)
    return contents.call_method(tx, name, args, kwargs)


def _begin(
    tx: Translator,
    owner: Holder,
    contents: VariableTracker,
    args: list[VariableTracker],
    kwargs: Keywords,
) -> VariableTracker:
    if isinstance(contents, ConstDictVariable):
        return contents.call_method(tx, "update", args, kwargs)
    if len(args) > 1 or kwargs or not isinstance(contents, ListVariable):
        raise owner.refuse("a call of __init__ with these arguments")
    contents.become(tx, args[0].unpack(tx) if args else [], "extend", *args)
    return ConstantVariable(None)


def _reorder(
    tx: Translator,
    contents: VariableTracker,
    name: str,
    args: list[VariableTracker],
    kwargs: Keywords,
) -> VariableTracker:
    assert isinstance(contents, ConstDictVariable)
    items = dict(contents.items)
    given = {"last": ConstantVariable(True), **kwargs}
    if name == "move_to_end":
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
        return TupleVariable([ConstantVariable(taken), tx.realize(value)], guards=guards)
    found = key_of(key)
    if found not in items:
        raise observed(KeyError, found)
    value = items.pop(found)
    items = {**items, found: value} if last else {found: value, **items}
    contents.become(tx, items, name, key)
    return ConstantVariable(None)


class BareDictVariable(ConstDictVariable):
    """What is in an object that is a dictionary.

    place: the instruction to leave to Python, should it be needed as an object.
    """

    def __init__(
        self, items: Mapping[object, VariableTracker], place: int,
        **options: Unpack[TrackerOptions],
    ) -> None:  # fmt: skip
        super().__init__(dict(items), **options)
        self.place = place

    def reconstruct(self, codegen: Codegen) -> None:
        raise RestartAnalysis(self.place, "what is inside of an object lives on")


class BareListVariable(ListVariable):
    """What is in an object that is a list; see `BareDictVariable`."""

    def __init__(
        self, items: Sequence[VariableTracker], place: int, **options: Unpack[TrackerOptions]
    ) -> None:
        super().__init__(items, **options)
        self.place = place

    def reconstruct(self, codegen: Codegen) -> None:
        raise RestartAnalysis(self.place, "what is inside of an object lives on")


def existing_contents(
    tx: Translator, value: object, source: Source, base: type
) -> VariableTracker | None:
    """What an object holds that was there before; None: something that is not known here."""
    found = tx.build(BareSource(source, base), bare(value, base))
    place = tx.root.current_instruction.index
    if isinstance(found, ConstDictVariable):
        return BareDictVariable(found.items, place, guards=found.guards)
    if isinstance(found, ListVariable):
        return BareListVariable(found.items, place, guards=found.guards)
    return found if isinstance(found, TupleVariable) else None


def new_contents(tx: Translator, base: type, args: list[VariableTracker]) -> VariableTracker:
    """What an object holds that is made, before its `__init__`; `args` are those of `__new__`."""
    place = tx.root.current_instruction.index
    if base is tuple:
        items = args[0].unpack(tx) if args else []
        return TupleVariable(items, **VariableTracker.propagate(args))
    if base is list:
        return BareListVariable([], place, mutation_type=ValueMutationNew())
    return BareDictVariable({}, place, mutation_type=ValueMutationNew())


def write_contents(codegen: Codegen, contents: VariableTracker, base: type, variable: str) -> None:
    """Put into the object in the variable what it holds."""
    if base is tuple:
        return  # it is made with them
    codegen.load_callable(_fill)
    codegen.emit("LOAD_FAST", variable)
    if isinstance(contents, ConstDictVariable):
        ConstDictVariable.reconstruct(contents, codegen)
    else:
        assert isinstance(contents, ListVariable)
        ListVariable.reconstruct(contents, codegen)
    codegen.call(2)
    codegen.pop_top()


def _fill(made: object, items: dict[object, object] | list[object]) -> None:
    """Past all methods of the class."""
    if isinstance(items, list):
        assert isinstance(made, list)
        list.extend(made, items)
    elif isinstance(made, OrderedDict):
        for key, value in items.items():
            OrderedDict.__setitem__(made, key, value)
    else:
        assert isinstance(made, dict)
        dict.update(made, items)


_C.set_skip(_fill.__code__, "recursive")


class InheritedMethodVariable(BoundBuiltinMethod):
    """A method that an object's class leaves to its builtin base, bound.

    by_name: whether reading the attribute gives it.
    """

    def __init__(
        self, obj: VariableTracker, name: str, by_name: bool, **options: Unpack[TrackerOptions]
    ) -> None:
        super().__init__(obj, name, **options)
        self.by_name = by_name

    def call_function(
        self,
        tx: Translator,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        owner: Holder = self.obj  # type: ignore[assignment]  # it is made for no others
        return call_inherited(tx, owner, self.name, args, kwargs)

    def reconstruct(self, codegen: Codegen) -> None:
        if not self.by_name:
            raise self.refuse("reconstruction")
        super().reconstruct(codegen)


def mapping_items(tx: Translator, owner: VariableTracker) -> dict[object, VariableTracker]:
    """What `dict.update` takes from an object that has `keys`."""
    kind = owner.python_type()
    if container_of(kind) is dict and lookup(kind, "__iter__") is dict.__dict__["__iter__"]:
        contents = owner.contents(tx)  # type: ignore[attr-defined]  # all such objects have
        return pairs_of(tx, contents)
    keys = owner.var_getattr(tx, "keys").call_function(tx, [], {}).unpack(tx)
    return {key_of(key): owner.getitem(tx, key) for key in keys}
