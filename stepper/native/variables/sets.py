"""Sets of constants.

In which order a set gives its elements depends on all that was ever done to it, and so is part of
what a program can see. A set that the frame makes is therefore known by its recipe: what it began
as, and what was done to it, step by step. Following the recipe gives the same order, while tracing
and in transformed code. Of a set that existed only the order is known that it has now, which is
guarded; once it is changed, or something is made of it, nobody knows the order of that until it is
there, and going through it is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

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
from stepper.native.variables.dicts import key_of as key_in_dicts
from stepper.native.variables.exceptions import observed
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.lists import BaseListVariable, TupleVariable
from stepper.native.variables.object_sets import ObjectSetVariable, are_elements

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.base import TrackerOptions

Step = tuple[str, object]
"""A method of `set`, and its argument: a constant, or a tuple or frozenset of constants."""

_OPERATORS: dict[str, object] = {
    "union": operator.or_,
    "intersection": operator.and_,
    "difference": operator.sub,
    "symmetric_difference": operator.xor,
}
_COMPARISONS = frozenset(
    {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
)


def key_of(item: VariableTracker) -> object:
    """The value of an element that is known: a constant, or an object."""
    key = key_in_dicts(item)
    if isinstance(key, TrackedKey):
        raise item.refuse("use in a set with others")
    return key


class SetVariable(HasBuiltinMethods):
    """A set or frozenset.

    begun: what it began as: a set that existed, an operator and two trackers of sets, `frozenset`
        and that of a set, or None: empty.
    steps: what was done to it then.
    elements: what is in it now, in any order.
    layout: another one once something was done to it that may have changed the order.
    """

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
        elements = frozenset(follow(set(), steps))
        return cls(None, steps, elements, guards=guards, mutation_type=ValueMutationNew())

    def python_type(self) -> type:
        if isinstance(self.begun, tuple) and self.begun[0] is frozenset:
            return frozenset
        return type(self.begun) if isinstance(self.begun, frozenset) else set

    def truth(self, tx: Translator) -> bool:
        return bool(self.elements)

    def length(self, tx: Translator) -> VariableTracker:
        """`len(set)`."""
        return ConstantVariable(len(self.elements), guards=self.guards)

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        if self.may_hold_objects and are_elements([item]):
            return False
        return key_of(item) in self.elements

    @property
    def may_hold_objects(self) -> bool:
        """Whether nothing was ever in it, as far as one can tell."""
        return not self.elements and not self.steps and not isinstance(self.begun, tuple)

    def made_anew(self) -> set[object]:
        """A set of which everything is as it is of the program's own."""
        if self.begun is None:
            return follow(set(), self.steps)
        if not isinstance(self.begun, tuple):
            raise self.refuse("the order")
        operation, *sets = self.begun
        return follow(operation(*[each.made_anew() for each in sets]), self.steps)

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

    def become(self, tx: Translator, step: Step, *because: VariableTracker) -> VariableTracker:
        """Do one more step to the set."""
        if self.mutation_type is None:
            raise self.refuse(f"method {step[0]}")
        new = SetVariable(
            self.begun, (*self.steps, step), frozenset(follow(set(self.elements), [step])),
            source=self.source, mutation_type=self.mutation_type, **self.propagate(self, because),
        )  # fmt: skip
        tx.output.side_effects.mutate(self, new, step[0])
        return new

    def combine(self, operation: Any, other: SetVariable) -> VariableTracker:
        """An operator of two sets, comparisons included."""
        options = self.propagate(self, other)
        if operation in _COMPARISONS:
            return ConstantVariable(operation(self.elements, other.elements), **options)
        if operation not in _OPERATORS.values() or self.python_type() is not set:
            raise self.refuse(f"operator {operation.__name__}")
        for each in (self, other):
            each.refuse_if_changed(f"operator {operation.__name__}")
        elements = operation(self.elements, other.elements)
        return SetVariable(
            (operation, self, other), (), elements, mutation_type=ValueMutationNew(), **options
        )

    def refuse_if_changed(self, what: str) -> None:
        """What is made of a set that existed is made of it as it was.

        Raises:
            Unsupported: it was changed.
        """
        if isinstance(self.mutation_type, ValueMutationExisting) and self.steps:
            raise self.refuse(f"{what}, once it was changed,")

    def frozen(self) -> SetVariable:
        """`frozenset(set)`."""
        self.refuse_if_changed("a copy")
        if self.python_type() is frozenset:
            return self
        return SetVariable((frozenset, self), (), self.elements, guards=self.guards)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        if self.may_hold_objects and self.mutation_type is not None and len(args) == 1:
            listed = name == "update" and isinstance(args[0], BaseListVariable)
            items = args[0].unpack(tx) if listed else args if name == "add" else []
            if items and are_elements(items):
                return self.of_objects().call_method(tx, name, args, kwargs)
        match name, args:
            case "add" | "discard" | "remove", [item]:
                if name == "remove" and key_of(item) not in self.elements:
                    raise observed(KeyError, key_of(item))
                self.become(tx, (name, key_of(item)), item)
                return ConstantVariable(None)
            case "update", [other] if not isinstance(other, SetVariable):
                self.become(tx, (name, constants_of(tx, other)), other)
                return ConstantVariable(None)
            case "issubset" | "issuperset" | "isdisjoint", [SetVariable() as other]:
                answer = getattr(self.elements, name)(other.elements)
                return ConstantVariable(answer, **self.propagate(self, args))
            case "issubset" | "issuperset" | "isdisjoint", [other] if not isinstance(
                other, ObjectSetVariable
            ):
                answer = getattr(self.elements, name)(constants_of(tx, other))
                return ConstantVariable(answer, **self.propagate(self, args))
            case _, [SetVariable() as other] if name in _OPERATORS:
                return self.combine(_OPERATORS[name], other)
        raise self.refuse(f"method {name}")

    def of_objects(self) -> ObjectSetVariable:
        """This set, while it is empty, as one of objects."""
        return ObjectSetVariable(
            self.begun, source=self.source, mutation_type=self.mutation_type, guards=self.guards
        )

    def parts(self) -> Sequence[VariableTracker]:
        return self.begun[1:] if isinstance(self.begun, tuple) else ()

    def reconstruct(self, codegen: Codegen) -> None:
        if self.begun is None:
            codegen.build("BUILD_SET", 0)
        else:
            operation, *sets = self.begun
            codegen.load_callable(operation)
            for each in sets:
                each.push_as_it_was(codegen)
            codegen.call(len(sets))
        self.write_steps(codegen, self.steps)

    def push_as_it_was(self, codegen: Codegen) -> None:
        """Push a set that is like this one was; what was done to it since does not count."""
        if self.source is not None:
            codegen(self.source)
        else:
            self.reconstruct(codegen)

    def write_steps(self, codegen: Codegen, steps: Iterable[Step]) -> None:
        """Do this to the set on the stack, which stays there."""
        for method, argument in steps:
            codegen.dup()
            codegen.load_method(method)
            codegen.load_const(argument)
            codegen.call_method(1)
            codegen.pop_top()


def made_of(tx: Translator, method: str, items: Sequence[VariableTracker]) -> VariableTracker:
    """A new set, of constants or of objects: each item is put in by itself (`add`), or all at once
    (`update`)."""
    guards = VariableTracker.propagate(items)["guards"]
    if items and are_elements(items):
        together = method == "update"
        steps = [(method, items)] if together else [(method, [item]) for item in items]
        return ObjectSetVariable.new(tx, steps, guards)
    keys = tuple(map(key_of, items))
    return SetVariable.new(
        [(method, keys)] if method == "update" else [(method, k) for k in keys], guards
    )


def follow(made: set[object], steps: Iterable[Step]) -> set[object]:
    """Do the steps to a set."""
    for method, argument in steps:
        getattr(made, method)(argument)
    return made


def constants_of(tx: Translator, value: VariableTracker) -> object:
    """What a set is updated with, as what gives its elements in the same way."""
    if isinstance(value, ConstantVariable) and isinstance(value.value, frozenset | str | bytes):
        return value.value
    return tuple(key_of(item) for item in value.unpack(tx))
