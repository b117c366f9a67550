"""Sets of constants.

In which order a set gives its elements depends on all that was ever done to it, and so is part of
what a program can see. A set that the frame makes is therefore known by its recipe: what it began
as, and what was done to it, step by step. Following the recipe gives the same order, while tracing
and in transformed code. Of a set that existed only the order is known that it has now, which is
guarded; once it is changed, or something is made of it, nobody knows the order of that until it is
there, and going through it is refused.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from stepper.native.exc import RestartAnalysis, unimplemented
from stepper.native.source import CallSource, member
from stepper.native.variables.base import (
    Arguments,
    Guards,
    Keywords,
    TrackedKey,
    ValueMutationExisting,
    ValueMutationNew,
    VariableTracker,
)
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable, refuse_unhashable
from stepper.native.variables.dicts import key_of as key_in_dicts
from stepper.native.variables.exceptions import observed
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.lists import BaseListVariable, TupleVariable
from stepper.native.variables.object_sets import ObjectSetVariable, are_elements

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.base import TrackerOptions

Step = tuple[object, ...]
"""A method of `set`, and its arguments: an element, or what `_given` gives."""

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


def key_of(tx: Translator, item: VariableTracker) -> object:
    """The value of an element that is known: a constant, or an object."""
    refuse_unhashable(item, lambda made: {made})
    key = key_in_dicts(tx, item)
    if isinstance(key, TrackedKey):
        raise item.refuse("use in a set with others")
    return key


class SetVariable(HasBuiltinMethods):
    """A set or frozenset.

    begun: what it began as: a set that existed; a function that made it, with what that was given
        (`_given`); or None: empty.
    steps: what was done to it then.
    elements: what is in it now, in any order.
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
        layout: object = None,
        **options: Unpack[TrackerOptions],
    ) -> None:
        super().__init__(**options)
        self.begun = begun
        self.steps = tuple(steps)
        self.elements = elements
        self.layout = object() if layout is None else layout

    @classmethod
    def new(cls, steps: Sequence[Step], guards: Guards) -> SetVariable:
        """A set that the frame makes, step by step."""
        elements = frozenset(_follow(set(), steps))
        return cls(None, steps, elements, guards=guards, mutation_type=ValueMutationNew())

    def python_type(self) -> type:
        if isinstance(self.begun, tuple):
            function, *given = self.begun
            kind: type = function if function in (set, frozenset) else given[0].python_type()
            return kind
        return type(self.begun) if isinstance(self.begun, frozenset) else set

    def truth(self, tx: Translator) -> bool:
        return bool(self.elements)

    def length(self, tx: Translator) -> VariableTracker:
        """`len(set)`."""
        return ConstantVariable(len(self.elements), guards=self.guards)

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        if self.may_hold_objects and are_elements([item]):
            return False
        if issubclass(item.python_type(), set):
            raise self.refuse("a membership test of a set")
        return key_of(tx, item) in self.elements

    @property
    def may_hold_objects(self) -> bool:
        """Whether nothing was ever in it, as far as one can tell."""
        return not self.elements and not self.steps and not isinstance(self.begun, tuple)

    def made_anew(self) -> set[object]:
        """A set of which everything is as it is of the program's own."""
        if self.begun is None:
            return _follow(set(), self.steps)
        if not isinstance(self.begun, tuple):
            raise self.refuse("the order")
        function, *given = self.begun
        return _follow(function(*map(_anew, given)), self.steps)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        if isinstance(self.begun, set | frozenset) and not self.steps:
            return [self._element(element) for element in self.begun]
        return [wrap_constant(element, self.guards) for element in self.made_anew()]

    def _element(self, element: object) -> VariableTracker:
        """An element of a set that existed: the object itself, where one could tell."""
        if type(element) is not tuple or self.source is None:
            return wrap_constant(element, self.guards)
        items = [wrap_constant(item, self.guards) for item in element]
        source = CallSource(self.source, member, (element,))
        return TupleVariable(items, source=source, guards=self.guards)

    def become(self, tx: Translator, name: str, *given: object, because: Arguments) -> object:
        """Do one more step to the set; what that gives."""
        if self.mutation_type is None:
            raise self.refuse(f"method {name}")
        elements = self.made_anew() if name == "pop" else set(self.elements)
        result = _called(getattr(elements, name), given)
        new = SetVariable(
            self.begun, (*self.steps, (name, *given)), frozenset(elements),
            source=self.source, mutation_type=self.mutation_type, **self.propagate(self, because),
        )  # fmt: skip
        tx.output.side_effects.mutate(self, new, name)
        return result

    def combine(
        self, tx: Translator, operation: Callable[[object, object], object], other: SetVariable
    ) -> VariableTracker:
        """An operator of two sets, comparisons included."""
        if operation in _COMPARISONS:
            answer = operation(self.elements, other.elements)
            return ConstantVariable(bool(answer), **self.propagate(self, other))
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
        if not isinstance(self.mutation_type, ValueMutationExisting) or not self.steps:
            return self
        clone = copy.copy(self)
        clone.used_at = tx.root.current_instruction.index
        return clone

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        options = self.propagate(self, args)
        if self.may_hold_objects and self.mutation_type is not None and len(args) == 1:
            listed = name == "update" and isinstance(args[0], BaseListVariable)
            items = args[0].unpack(tx) if listed else args if name == "add" else []
            if items and are_elements(items):
                return self.of_objects().call_method(tx, name, args, kwargs)
        match name, args:
            case "discard" | "remove", [item] if issubclass(item.python_type(), set):
                raise self.refuse(f"method {name} with a set")  # it is taken as a frozenset
            case "add" | "discard" | "remove", [item]:
                if name == "remove" and key_of(tx, item) not in self.elements:
                    raise observed(KeyError, key_of(tx, item))
                self.become(tx, name, key_of(tx, item), because=args)
                return ConstantVariable(None)
            case "pop", []:
                if not self.elements:
                    raise observed(KeyError, "pop from an empty set")
                return wrap_constant(self.become(tx, name, because=args), options["guards"])
            case _, [other] if name in _ASKING:
                answer = getattr(self.elements, name)(_elements(_given(tx, other)))
                return ConstantVariable(answer, **options)
            case _ if name in _CHANGING and not kwargs:
                given = [_given(tx, each) for each in args]
                if self.source is not None and any(_is_of_before(each) for each in given):
                    raise self.refuse(f"method {name} with a set that was there before")
                self.become(tx, name, *given, because=args)
                return ConstantVariable(None)
            case _ if name in _MAKING and not kwargs:
                kind = self.python_type()
                return made_by(tx, getattr(kind, name), [self, *args], kind)
        raise self.refuse(f"method {name}")

    def of_objects(self) -> ObjectSetVariable:
        """This set, while it is empty, as one of objects."""
        return ObjectSetVariable(
            self.begun, source=self.source, mutation_type=self.mutation_type, guards=self.guards
        )

    def parts(self) -> Sequence[VariableTracker]:
        begun = [self.begun] if isinstance(self.begun, tuple) else []
        given = [each for _, *given in (*begun, *self.steps) for each in given]
        return [each for each in given if isinstance(each, SetVariable)]

    def reconstruct(self, codegen: Codegen) -> None:
        if self.begun is None:
            codegen.build("BUILD_SET", 0)
        elif isinstance(self.begun, frozenset):  # a constant
            codegen.load_const(self.begun)
        else:
            function, *given = self.begun
            codegen.load_callable(function)
            _push(codegen, given)
            codegen.call(len(given))
        self.write_steps(codegen, self.steps)

    def push_as_it_was(self, codegen: Codegen) -> None:
        """Push a set that is like this one was; what was done to it since does not count."""
        if self.used_at is not None:
            why = self.refuse("use in a set, once it was changed,")
            raise RestartAnalysis(self.used_at, str(why))
        if self.source is not None:
            codegen(self.source)
        else:
            self.reconstruct(codegen)

    def write_steps(self, codegen: Codegen, steps: Iterable[Step]) -> None:
        """Do this to the set on the stack, which stays there."""
        for method, *given in steps:
            codegen.dup()
            codegen.load_method(str(method))
            _push(codegen, given)
            codegen.call_method(len(given))
            codegen.pop_top()


def made_by(
    tx: Translator, function: Callable[..., Iterable[object]], args: Arguments, kind: type
) -> VariableTracker:
    """What a method, or a class, makes of sets and what else there is."""
    given = [_given(tx, each) for each in args]
    if kind is frozenset and len(args) == 1 and args[0].python_type() is frozenset:
        return args[0]
    mutation = ValueMutationNew() if kind is set else None
    elements = frozenset(_called(function, given))
    options = VariableTracker.propagate(args)
    return SetVariable((function, *given), (), elements, mutation_type=mutation, **options)


def made_of(tx: Translator, method: str, items: Sequence[VariableTracker]) -> VariableTracker:
    """A new set, of constants or of objects: each item is put in by itself (`add`), or all at once
    (`update`)."""
    guards = VariableTracker.propagate(items)["guards"]
    if items and are_elements(items):
        together = method == "update"
        steps = [(method, items)] if together else [(method, [item]) for item in items]
        return ObjectSetVariable.new(tx, steps, guards)
    keys = tuple(key_of(tx, item) for item in items)
    return SetVariable.new(
        [(method, keys)] if method == "update" else [(method, k) for k in keys], guards
    )


def _follow(made: set[object], steps: Iterable[Step]) -> set[object]:
    """Do the steps to a set."""
    for method, *given in steps:
        getattr(made, str(method))(*map(_anew, given))
    return made


def _given(tx: Translator, value: VariableTracker) -> object:
    """What a set is made of or updated with, as what gives its elements in the same way: a
    constant, a dictionary of constants, or the tracker of a set."""
    if isinstance(value, SetVariable):
        return value.as_it_is(tx)
    if isinstance(value, ConstantVariable) and isinstance(value.value, frozenset | str | bytes):
        return value.value
    keys = tuple(key_of(tx, item) for item in value.unpack(tx))
    return dict.fromkeys(keys) if isinstance(value, ConstDictVariable) else keys


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
    return isinstance(given, SetVariable) and given.source is not None


def _push(codegen: Codegen, given: Sequence[object]) -> None:
    for each in given:
        if isinstance(each, SetVariable):
            each.push_as_it_was(codegen)
        else:
            codegen.load_const(each)
