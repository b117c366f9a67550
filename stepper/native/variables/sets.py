"""Sets.

In which order a set gives its elements depends on all that was ever done to it, and so is part of
what a program can see. A set that the frame makes is therefore known by its recipe: what it began
as, and what was done to it, step by step. Following the recipe gives the same order, while tracing
and in transformed code, unless the hash of an element comes of where it lies: other addresses at
each call. Of a set that existed only the order is known that it has now; once it is changed, or
something is made of it, nobody knows the order of that until it is there, and going through it is
refused.

Of a set of constants that existed all elements are guarded. Of one with objects only what is asked
for is: whether something is in it, how many are, or each of them, where it stands.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from stepper.native.exc import RestartAnalysis, unimplemented
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.source import CallSource, Kept, Recipe, Written, entry, member
from stepper.native.variables.base import (
    Arguments,
    Guards,
    Keywords,
    TrackedKey,
    ValueMutationExisting,
    ValueMutationNew,
    VariableTracker,
    refuse_finalizers,
    trackers_among,
)
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable, is_constant
from stepper.native.variables.dicts import (
    MOST_ENTRIES,
    ConstDictVariable,
    DictViewVariable,
    key_of,
    refuse_unhashable,
    tracker_of_key,
)
from stepper.native.variables.exceptions import ObservedException, observed
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.lists import BaseListVariable, TupleVariable
from stepper.native.variables.registry import is_in

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.base import TrackerOptions

Elements = set[object] | frozenset[object]
Step = tuple[object, ...]
"""A method of `set`, and its arguments: a key, or what `_given` gives."""

_OPERATORS: dict[object, str] = {
    operator.or_: "union",
    operator.and_: "intersection",
    operator.sub: "difference",
    operator.xor: "symmetric_difference",
    operator.ior: "update",
    operator.iand: "intersection_update",
    operator.isub: "difference_update",
    operator.ixor: "symmetric_difference_update",
}
_MAKING = ("union", "intersection", "difference", "symmetric_difference", "copy")
_CHANGING = frozenset({"clear", *(name for name in _OPERATORS.values() if "update" in name)})
_ASKING = frozenset({"issubset", "issuperset", "isdisjoint"})
_COMPARISONS = frozenset(
    {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
)


_OF_VIEWS: dict[object, str] = {
    operator.or_: "update",
    operator.sub: "difference_update",
    operator.xor: "symmetric_difference_update",
}


class SetVariable(HasBuiltinMethods):
    """A set or frozenset.

    begun: what it began as: a set that existed; a function that made it, with what that was given
        (`_given`); or None: empty.
    steps: what was done to it then.
    elements: the keys of what is in it now, in any order.
    absent: the keys of what is known not to be in it, where there may be elements that nobody has
        asked for; None: there are none.
    size: how many elements it has.
    used_at: the instruction of the frame that has made something of it, where that cannot be made
        later; None: it can.
    layout: another one once something was done to it that may have changed the order.
    """

    used_at: int | None = None

    def __init__(
        self,
        begun: Any,
        steps: Iterable[Step],
        elements: frozenset[object],
        absent: frozenset[object] | None = None,
        **options: Unpack[TrackerOptions],
    ) -> None:
        super().__init__(**options)
        self.begun = begun
        self.steps = tuple(steps)
        self.elements = elements
        self.absent = absent
        self.size = len(elements if absent is None else begun)
        self.layout = object()

    @classmethod
    def new(cls, steps: Sequence[Step], guards: Guards) -> SetVariable:
        """A set that the frame makes, step by step."""
        elements = frozenset(_follow(set(), steps))
        return cls(None, steps, elements, guards=guards, mutation_type=ValueMutationNew())

    @classmethod
    def existing(
        cls, value: Elements, *, known: bool, **options: Unpack[TrackerOptions]
    ) -> SetVariable:
        """A set that was there before.

        known: whether all its elements are constants, and are guarded.
        """
        elements = frozenset(value) if known else frozenset()
        options["mutation_type"] = ValueMutationExisting() if isinstance(value, set) else None
        return cls(value, (), elements, None if known else frozenset(), **options)

    @property
    def existed(self) -> bool:
        """Whether it was there before, or is a constant."""
        return self.begun is not None and not isinstance(self.begun, tuple)

    @property
    def began_empty(self) -> bool:
        """Whether all that it may let go of has come since the frame was entered."""
        return self.existed and not self.begun

    def python_type(self) -> type:
        return frozenset if self.mutation_type is None else set

    def truth(self, tx: Translator) -> bool:
        self.length(tx)
        return bool(self.size)

    def length(self, tx: Translator) -> VariableTracker:
        """`len(set)`."""
        guards = self.guards
        if self.absent is not None:
            asked = tx.output.install_guard(self.source, GuardBuilder.LIST_LENGTH, self.begun)
            tx.output.chosen(asked)
            guards |= asked
        return ConstantVariable(self.size, guards=guards)

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        if issubclass(item.python_type(), set):
            raise self.refuse("a membership test of a set")
        key = _key_of(tx, item, self.elements)
        if key in self.elements or self.absent is None or key in self.absent:
            return key in self.elements
        return is_in(tx, self, self.begun, item)

    def complete(self, tx: Translator) -> SetVariable:
        """This set, with all its elements known."""
        if self.absent is None:
            return self
        begun = self._begun_elements(tx)
        keys = {_key_of(tx, each) for each in begun} - self.absent
        elements = self.elements | keys
        return self.with_fields(elements=elements, absent=None, **self.propagate(self, begun))

    def _begun_elements(self, tx: Translator) -> list[VariableTracker]:
        """The elements of a set that existed, in its order."""
        if all(map(is_constant, self.begun)):
            return [self._element(element) for element in self.begun]
        if len(self.begun) > MOST_ENTRIES or self.source is None:
            raise self.refuse("all that is in it, the elements")
        guards = tx.output.install_guard(self.source, GuardBuilder.LIST_LENGTH, self.begun)
        tx.output.chosen(guards)
        places = [CallSource(self.source, entry, ("__iter__", at)) for at in range(len(self.begun))]
        found = zip(places, self.begun, strict=True)
        return [tx.build(place, each).with_guards(guards) for place, each in found]

    def _element(self, element: object) -> VariableTracker:
        """A constant of a set that existed: the object itself, where one could tell."""
        if type(element) is not tuple or self.source is None:
            return wrap_constant(element, self.guards)
        items = [wrap_constant(item, self.guards) for item in element]
        source = CallSource(self.source, member, (element,))
        return TupleVariable(items, source=source, guards=self.guards)

    def made_anew(self) -> Any:
        """A set of which everything is as it is of the program's own."""
        if self.begun is None:
            return _follow(set(), map(self._placed, self.steps))
        if self.existed:
            raise self.refuse("the order")
        function, *given = self._placed(self.begun)
        assert callable(function)
        return _follow(function(*map(_anew, given)), map(self._placed, self.steps))

    def _placed(self, step: Step) -> Step:
        """The step, if it puts and seeks all where the program's own does."""
        if any(isinstance(key, TrackedKey) and key.hashed is None for key in _keys_in(step)):
            raise self.refuse("the order")
        return step

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        if self.existed and not self.steps:
            return self._begun_elements(tx)
        known = self.complete(tx)
        keys = known.elements if len(known.elements) < 2 else known.made_anew()
        return [tracker_of_key(key, self.guards) for key in keys]

    def become(self, tx: Translator, name: str, *given: object, because: Arguments) -> object:
        """Do one more step to the set; what that gives."""
        if self.mutation_type is None:
            raise self.refuse_method(name)
        elements = self.made_anew() if name == "pop" else set(self.elements)
        result = _called(getattr(elements, name), given)
        gone = (key.tracker for key in self.elements - elements if isinstance(key, TrackedKey))
        refuse_finalizers(tx.output, gone)
        absent = self.absent
        if absent is not None:
            absent = (absent | self.elements | {*given}) - elements
        new = self.with_fields(
            steps=(*self.steps, (name, *given)), elements=frozenset(elements), absent=absent,
            size=self.size + len(elements) - len(self.elements), layout=object(),
            **self.propagate(self, because),
        )  # fmt: skip
        tx.output.side_effects.mutate(self, new, name)
        return result

    def combine(
        self, tx: Translator, operation: Callable[[object, object], object], other: SetVariable
    ) -> VariableTracker:
        """An operator of two sets, comparisons included."""
        if operation in _COMPARISONS:
            both = self.complete(tx), other.complete(tx)
            answer = operation(*(each.elements for each in both))
            return ConstantVariable(bool(answer), **self.propagate(both))
        if operation not in _OPERATORS:
            raise self.refuse(f"operator {operation.__name__}")
        name = _OPERATORS[operation]
        if name in _CHANGING and self.python_type() is frozenset:
            name = name.removesuffix("_update").replace("update", "union")
        made = self.call_method(tx, name, [other], {})
        return tx.output.side_effects.latest(self) if name in _CHANGING else made

    def as_it_is(self, tx: Translator) -> SetVariable:
        """This set, to make something of: of one that existed, and was changed, nobody can make it
        later any more."""
        known = self.complete(tx)
        if not isinstance(self.mutation_type, ValueMutationExisting) or not self.steps:
            return known
        return known.with_fields(used_at=tx.root.current_instruction.index)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        match name, args:
            case "discard" | "remove", [item] if issubclass(item.python_type(), set):
                raise self.refuse(f"method {name} with a set")  # it is taken as a frozenset
            case "add" | "discard" | "remove", [item]:
                was = self.contains(tx, item)
                if name == "remove" and not was:
                    raise observed(KeyError, item)
                known = self
                if self.absent is not None and was:
                    known = self.with_fields(elements=self.elements | {_key_of(tx, item)})
                known.become(tx, name, _key_of(tx, item), because=args)
                return ConstantVariable(None)
            case "update", [other] if self.absent is not None and not _has_places(other):
                for item in other.unpack(tx):
                    tx.output.side_effects.latest(self).call_method(tx, "add", [item], {})
                return ConstantVariable(None)
        known = self.complete(tx)
        options = self.propagate(known, args)
        others = [each for each in args if each.identity is not self.identity]
        if name in ("union", "update"):
            args = others  # it does nothing with itself
        elif name == "intersection" and args and not others:
            name, args = "union", others  # a copy
        elif name in _CHANGING and len(others) < len(args):
            raise self.refuse(f"method {name} with itself")
        match name, args:
            case "pop", []:
                if not known.elements:
                    raise observed(KeyError, "pop from an empty set")
                popped = known.become(tx, name, because=args)
                return tracker_of_key(popped, options["guards"])
            case _, [other] if name in _ASKING:
                answer = getattr(known.elements, name)(_elements(_given(tx, other)))
                return ConstantVariable(answer, **options)
            case _ if name in _CHANGING and not kwargs:
                given = [_given(tx, each) for each in args]
                if _is_of_before(self) and any(map(_is_of_before, given)):
                    raise self.refuse(f"method {name} with a set that was there before")
                known.become(tx, name, *given, because=args)
                return ConstantVariable(None)
            case _ if name in _MAKING and not kwargs:
                kind = self.python_type()
                return made_by(tx, getattr(kind, name), [known, *args], kind)
        raise self.refuse_method(name)

    def parts(self) -> Sequence[VariableTracker]:
        begun = [self.begun] if isinstance(self.begun, tuple) else []
        return [*trackers_among((*begun, *self.steps))]

    def reconstruct(self, codegen: Codegen) -> None:
        if isinstance(self.begun, frozenset):  # a constant
            codegen.push(self.begun)
        else:
            codegen.make(*map(_as_it_was, self.begun or (set,)))
        if self.steps:
            made = codegen.temporary()
            codegen.store(made)
            self.write_steps(codegen, made)
            codegen.emit("LOAD_FAST", made)

    def push_as_it_was(self, codegen: Codegen) -> None:
        """Push a set that is like this one was; what was done to it since does not count."""
        if self.used_at is not None:
            why = self.refuse("use in a set, once it was changed,")
            raise RestartAnalysis(self.used_at, str(why))
        if self.source is not None:
            codegen(self.source)
        else:
            SetVariable.reconstruct(self, codegen)

    def write_steps(self, codegen: Codegen, variable: str) -> None:
        """Do all steps to the set in the variable, past all methods of its class."""
        for method, *given in self.steps:
            function = getattr(set, str(method))
            codegen.do(function, Kept(variable), *map(_as_it_was, given))

    def given(self) -> Recipe:
        """What a class makes it of."""
        return tuple(map(_as_it_was, self.begun[1:]))


def _key_of(tx: Translator, item: VariableTracker, among: Iterable[object] = ()) -> object:
    """See `dicts.key_of`."""
    refuse_unhashable(item, lambda made: {made})
    return key_of(tx, item, among)


def _has_places(value: VariableTracker) -> bool:
    """Whether a set makes room for all that is in it before it takes the first."""
    return isinstance(value, SetVariable | ConstDictVariable)


def made_by(
    tx: Translator, function: Callable[..., Iterable[object]], args: Arguments, kind: type
) -> VariableTracker:
    """What a method, or a class, makes of sets and what else there is."""
    given = [_given(tx, each) for each in args]
    if function in (frozenset, frozenset.copy) and args and args[0].python_type() is frozenset:
        return args[0]
    mutation = ValueMutationNew() if kind is set else None
    elements = frozenset(_called(function, given))
    options = VariableTracker.propagate(args)
    return SetVariable((function, *given), (), elements, mutation_type=mutation, **options)


def made_of(tx: Translator, items: Sequence[VariableTracker]) -> VariableTracker:
    """A new set, into which each of these is put by itself."""
    guards = VariableTracker.propagate(items)["guards"]
    return SetVariable.new([("add", _key_of(tx, item)) for item in items], guards)


_ITERABLES = (SetVariable, DictViewVariable, ConstDictVariable, BaseListVariable)


def combine_views(
    tx: Translator, operation: object, a: VariableTracker, b: VariableTracker
) -> VariableTracker | None:
    """An operator with a view of a dictionary's keys or items, which is done with sets; None: it is
    another one."""
    views = [each for each in (a, b) if isinstance(each, DictViewVariable) and each.is_set]
    kinds = SetVariable if operation in _COMPARISONS else _ITERABLES
    if not views or not all(each in views or isinstance(each, kinds) for each in (a, b)):
        return None
    try:
        if callable(operation) and operation in _COMPARISONS:
            left, right = (made_by(tx, set, [each], set) for each in (a, b))
            assert isinstance(left, SetVariable)
            assert isinstance(right, SetVariable)
            return left.combine(tx, operation, right)
        if operation not in _OF_VIEWS or (
            operation is operator.xor and all(each.view == "items" for each in views)
        ):
            return None
        if isinstance(a, DictViewVariable) and a.view == "keys" and a.owner is None:
            a = a.newest(tx)  # the set makes room for all
        made = made_by(tx, set, [a], set)
        made.call_method(tx, _OF_VIEWS[operation], [b], {})
    except ObservedException as error:  # its values need no hash
        raise unimplemented(error.msg) from None
    return tx.output.side_effects.latest(made)


def _follow(made: Any, steps: Iterable[Step]) -> Any:
    """Do the steps to a set."""
    for method, *given in steps:
        getattr(made, str(method))(*map(_anew, given))
    return made


def _given(tx: Translator, value: VariableTracker) -> object:
    """What a set is made of or updated with, as what gives its elements in the same way: a
    constant, a dictionary of keys, or the tracker of a set."""
    if isinstance(value := inside(tx, value), SetVariable):
        return value.as_it_is(tx)
    if isinstance(value, ConstantVariable) and isinstance(value.value, frozenset | str | bytes):
        return value.value
    keys = tuple(_key_of(tx, item) for item in value.unpack(tx))
    return dict.fromkeys(keys) if isinstance(value, ConstDictVariable) else keys


def inside(tx: Translator, value: VariableTracker) -> VariableTracker:
    """What an object holds that is a set by inheritance; anything else as it is."""
    if hasattr(value, "contents") and issubclass(value.python_type(), set | frozenset):
        value = value.contents(tx)
    return value


class _Frozen(frozenset[object]):
    """A frozenset of which another one is made step by step, as one of the program's class is."""


def held_frozen(tx: Translator, args: Arguments) -> SetVariable:
    """What an object holds that is a frozenset by inheritance, made of these."""
    given = [_given(tx, each) for each in args]
    elements = frozenset(_called(_Frozen, given))
    return SetVariable((_Frozen, *given), (), elements, **VariableTracker.propagate(args))


def as_set(value: VariableTracker) -> VariableTracker:
    """The tracker of a set for a constant that is one."""
    if isinstance(value, ConstantVariable) and isinstance(value.value, frozenset):
        return SetVariable(value.value, (), value.value, guards=value.guards)
    return value


def _anew(given: object) -> object:
    return given.made_anew() if isinstance(given, SetVariable) else given


def _elements(given: object) -> Any:
    if isinstance(given, SetVariable):
        return given.python_type()(given.elements)
    return given


def _called(function: Callable[..., Any], given: Iterable[object]) -> Any:
    """What a method, or a class, gives of sets."""
    try:
        return function(*map(_elements, given))
    except TypeError as error:
        raise unimplemented(f"TypeError: {error}") from None


def _is_of_before(given: object) -> bool:
    return isinstance(given, SetVariable) and isinstance(given.mutation_type, ValueMutationExisting)


def _keys_in(given: Iterable[object]) -> Iterator[object]:
    """What stands in steps, and in what they are given."""
    for each in given:
        if isinstance(each, tuple | dict):
            yield from _keys_in(each)
        else:
            yield each


def _as_it_was(given: object) -> object:
    return Written(given.push_as_it_was) if isinstance(given, SetVariable) else given
