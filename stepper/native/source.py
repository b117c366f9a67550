"""Where a value came from when the frame was entered: an expression over the frame's variables.

A source is a way to say a value's name (`L['x'].y[0]`), to find it again when a guard is checked
(the name is the expression), and to load it in transformed code (`recipe`). It always means
the value that was there when the frame began, whatever the frame has done since.

`L` are the frame's arguments and free variables, `G` its globals. Globals of other modules have
names like `__import_torch_dot_nn_dot_functional`, as in Dynamo.
"""

from __future__ import annotations

import collections
import enum
import gc
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import getitem
from typing import Any, cast

from stepper._C import instance_dict, set_skip
from stepper.native.guards.class_dicts import lookup
from stepper.native.library import is_library

Recipe = tuple[object, ...]
"""How a value is had anew: a function, and what it is given: trackers, keys, sources and constants,
or tuples, lists and dictionaries of such. `getattr` and `getitem` stand for instructions."""


@dataclass(frozen=True)
class Written:
    """A part of a recipe that writes itself."""

    write: Callable[..., None]


@dataclass(frozen=True)
class Kept:
    """What is in a variable of the transformed code, as a part of a recipe."""

    variable: str


class GuardSource(enum.Enum):
    """What kind of source a guard belongs to."""

    LOCAL = "local"
    GLOBAL = "global"
    SHAPE_ENV = "shape_env"
    BACKEND = "backend"
    GLOBAL_STATE = "global_state"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Source:
    """The base of all sources."""

    def name(self) -> str:
        """The expression, written once: sources that are chained to this begin with it."""
        kept: dict[str, Any] = self.__dict__
        if "written" not in kept:
            kept["written"] = self.expression()
        text: str = kept["written"]
        return text

    def expression(self) -> str:
        """Write the expression."""
        raise NotImplementedError

    def guard_source(self) -> GuardSource:
        """What kind it is."""
        raise NotImplementedError

    def scope(self) -> dict[str, object]:
        """What names in the expression mean, beside `L` and `G`."""
        return {}

    @property
    def stable(self) -> bool:
        """Whether nothing that the frame does changes what it means."""
        return False


@dataclass(frozen=True)
class LocalSource(Source):
    """An argument or free variable of the frame.

    free: it is in a cell, and may be set while the frame is left in order.
    """

    local_name: str
    free: bool = False

    def expression(self) -> str:
        return f"L[{self.local_name!r}]"

    def guard_source(self) -> GuardSource:
        return GuardSource.LOCAL

    @property
    def stable(self) -> bool:
        return not self.free


@dataclass(frozen=True)
class GlobalSource(Source):
    """A global variable, of the frame's module or of the module `module`."""

    global_name: str
    module: str = ""
    namespace: dict[str, Any] | None = field(default=None, compare=False, repr=False)

    def expression(self) -> str:
        return f"{self._dict_name()}[{self.global_name!r}]"

    def guard_source(self) -> GuardSource:
        return GuardSource.GLOBAL

    def scope(self) -> dict[str, object]:
        return {} if self.namespace is None else {self._dict_name(): self.namespace}

    def _dict_name(self) -> str:
        return f"__import_{self.module.replace('.', '_dot_')}" if self.module else "G"

    def missing(self) -> str:
        """The expression that says that there is no such global."""
        return f"{self.global_name!r} not in {self._dict_name()}"


@dataclass(frozen=True)
class BuiltinSource(GlobalSource):
    """A name of Python's builtins."""

    def _dict_name(self) -> str:
        return "__builtins_dict__"


@dataclass(frozen=True, eq=False)
class ConstantSource(Source):
    """A constant of the code: the same object each time."""

    value: object

    def expression(self) -> str:
        plain = isinstance(self.value, str)
        return repr(self.value) if plain else f"___constant_{id(self.value)}"

    def guard_source(self) -> GuardSource:
        return GuardSource.CONSTANT

    def scope(self) -> dict[str, object]:
        return {self.name(): self.value}

    @property
    def stable(self) -> bool:
        return True


@dataclass(frozen=True)
class MadeSource(ConstantSource):
    """What the program makes at each call, and the translation once: it cannot live on.

    place: the instruction that makes it.
    """

    place: int


@dataclass(frozen=True)
class ChainedSource(Source):
    """A value reached through another."""

    base: Source

    def recipe(self) -> Recipe:
        """How: nothing of it changes anything, or is captured."""
        raise NotImplementedError

    def guard_source(self) -> GuardSource:
        return self.base.guard_source()

    def scope(self) -> dict[str, object]:
        return self.base.scope()


def _in_scope(called: Any) -> str:
    return "type" if called is type else f"___{called.__name__}"


def _as_argument(given: object) -> str:
    if isinstance(given, Source):
        return given.name()
    return _in_scope(given) if isinstance(given, type) else repr(given)


@dataclass(frozen=True)
class AttrSource(ChainedSource):
    """An attribute."""

    member: str

    def expression(self) -> str:
        return f"{self.base.name()}.{self.member}"

    def recipe(self) -> Recipe:
        return getattr, self.base, self.member


@dataclass(frozen=True)
class CallSource(ChainedSource):
    """What a function gives for a value.

    given: further arguments: constants, classes of Python's, and sources.
    """

    function: Callable[..., object]
    given: tuple[object, ...] = ()

    def expression(self) -> str:
        given = [_as_argument(each) for each in self.given]
        return f"{_in_scope(self.function)}({', '.join([self.base.name(), *given])})"

    def scope(self) -> dict[str, object]:
        named = [self.function, *(each for each in self.given if isinstance(each, type))]
        found = {**self.base.scope(), **{_in_scope(each): each for each in named}}
        for each in self.given:
            found |= each.scope() if isinstance(each, Source) else {}
        return found

    def recipe(self) -> Recipe:
        return self.function, self.base, *self.given


def instance_dict_of(base: Source) -> CallSource:
    """The object's own dictionary, whatever its class does to attributes."""
    return CallSource(base, instance_dict)


def type_of(base: Source) -> CallSource:
    """The class of a value."""
    return CallSource(base, type)


@dataclass(frozen=True)
class GetItemSource(ChainedSource):
    """An item of a tuple or list, or the value of a constant key."""

    index: object

    def expression(self) -> str:
        return f"{self.base.name()}[{self.index!r}]"

    def recipe(self) -> Recipe:
        return getitem, self.base, self.index


@dataclass(frozen=True)
class KeyedSource(ChainedSource):
    """What a key that has a source of its own leads to in a dictionary."""

    key: Source

    def expression(self) -> str:
        return f"{self.base.name()}[{self.key.name()}]"

    def scope(self) -> dict[str, object]:
        return {**self.base.scope(), **self.key.scope()}

    def recipe(self) -> Recipe:
        return getitem, self.base, self.key


def entry(entries: dict[object, object], view: str, place: int) -> object:
    """What stands there in a dictionary's order, in its `keys` or `values`."""
    return next(islice(getattr(entries, view)(), place, None))


set_skip(entry.__code__, "recursive")


def standing(iterator: Iterator[object]) -> tuple[object, int]:
    """What an iterator over a sequence goes through, and the place of its next item."""
    _, (sequence,), *state = cast("tuple[object, tuple[object], int | None]", iterator.__reduce__())
    return sequence, (state[0] if state else None) or 0


set_skip(standing.__code__, "recursive")


def subclasses(of: type) -> list[type]:
    """The classes that have a class among their bases, whatever its own class says of them."""
    return type.__subclasses__(of)


set_skip(subclasses.__code__, "recursive")


def viewed(view: object) -> object:
    """The mapping that a proxy, or a view of a dictionary, shows: all that it refers to."""
    (mapping,) = gc.get_referents(view)
    return cast("object", mapping)


set_skip(viewed.__code__, "recursive")


def member(elements: Iterable[object], value: object) -> object:
    """The element that is equal to a value, which one is."""
    return next(each for each in elements if each == value)


set_skip(member.__code__, "recursive")


def bare(value: Any, of: type) -> object:
    """What the object holds, read past the methods of its class; None: to read it, keys would be
    asked for their hashes more often than the program asks."""
    if issubclass(of, dict) and not _is_copied_whole(type(value)):
        if any(type(key) is not str and _asks_the_program(key) for key in dict.keys(value)):
            return None
        order = of.__iter__(value)
        return {key: dict.__getitem__(value, key) for key in order}
    if issubclass(of, set | frozenset):
        elements = [*of.__iter__(value)]
        return None if any(map(_asks_the_program, elements)) else dict.fromkeys(elements)
    if of is tuple:
        return tuple.__getitem__(value, slice(None))
    if of is collections.deque:
        return [*collections.deque.__iter__(value)]
    return list.copy(value) if of is list else dict.copy(value)


set_skip(bare.__code__, "recursive")


def _is_copied_whole(kind: type) -> bool:
    """Whether `dict.copy` takes what a dictionary holds as it is, without asking it for keys."""
    return lookup(kind, "__iter__") is dict.__dict__["__iter__"]


def _asks_the_program(key: object) -> bool:
    """Whether what the hash of a key is, a function of the program's says."""
    if type(key) is tuple:
        return any(map(_asks_the_program, key))
    found = lookup(type(key), "__hash__")
    return type(found) is types.FunctionType and not (
        found.__code__.co_filename == "<string>" or is_library(found.__code__.co_filename)
    )


@dataclass(frozen=True)
class ClosureSource(ChainedSource):
    """What a function's free variable holds."""

    position: int
    variable: str

    @property
    def cell(self) -> Source:
        """Where the cell is."""
        return GetItemSource(AttrSource(self.base, "__closure__"), self.position)

    def expression(self) -> str:
        return f"{self.cell.name()}.cell_contents"

    def recipe(self) -> Recipe:
        return getattr, self.cell, "cell_contents"
