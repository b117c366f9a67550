"""Sets of objects that are hashed by their identity: tensors, modules, functions and others.

Whether such an object is in a set is known without its hash: it is the same object as one that was
put in, or it was there from the beginning, which is asked once and guarded. In which order the set
gives its elements depends on their addresses, other ones at each call, and so going through it is
refused. Elements are objects that existed or that the frame makes, and tensors that operators have
made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import torch

from stepper.native.guards.class_dicts import lookup
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationNew,
    Guards,
    Keywords,
    ValueMutationNew,
    VariableTracker,
)
from stepper.native.variables.builtin_methods import HasBuiltinMethods
from stepper.native.variables.constant import ConstantVariable
from stepper.support.words import one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.variables.base import TrackerOptions

Step = tuple[str, Sequence[VariableTracker]]
"""A method of `set`, and the elements that it is called with: `update` takes any number."""


class ObjectSetVariable(HasBuiltinMethods):
    """A set or frozenset.

    begun: the set that existed; None: the frame began with an empty one.
    steps: what was done to it then.
    known: of elements that were asked for, put in or taken out, by their identity: the tracker, and
        whether it is in the set now.
    grown: how many more elements it has now than in the beginning.
    """

    def __init__(
        self,
        begun: set[object] | frozenset[object] | None,
        steps: Iterable[Step] = (),
        known: dict[object, tuple[VariableTracker, bool]] | None = None,
        grown: int = 0,
        **options: Unpack[TrackerOptions],
    ) -> None:
        super().__init__(**options)
        self.begun = begun
        self.steps = tuple(steps)
        self.known = known or {}
        self.grown = grown

    @classmethod
    def new(cls, tx: Translator, steps: Iterable[Step], guards: Guards) -> ObjectSetVariable:
        """A set that the frame makes, step by step."""
        made = cls(None, guards=guards, mutation_type=ValueMutationNew())
        for method, items in steps:
            made = made.after(tx, method, items)
        return made

    def python_type(self) -> type:
        return frozenset if type(self.begun) is frozenset else set

    def truth(self, tx: Translator) -> bool:
        return bool(self._count(tx)[0])

    def length(self, tx: Translator) -> VariableTracker:
        """`len(set)`."""
        count, guards = self._count(tx)
        return ConstantVariable(count, guards=self.guards | guards)

    def _count(self, tx: Translator) -> tuple[int, Guards]:
        if self.begun is None:
            return self.grown, frozenset()
        guards = tx.output.install_guard(self.source, GuardBuilder.LIST_LENGTH, self.begun)
        tx.output.chosen(guards)
        return len(self.begun) + self.grown, guards

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        known = self.known.get(item.identity)
        if known is not None:
            return known[1]
        if not are_elements([item]):
            raise item.refuse("use in a set of objects")
        if item.source is None:
            return False
        name = item.source.name()
        install = tx.output.install_guard
        others = [
            f"{name} is not {each.source.name()}"
            for each, _ in self.known.values()
            if each.source is not None
        ]
        if others:
            tx.output.chosen(
                install(item.source, GuardBuilder.EXPRESSION, name=" and ".join(others))
            )
        if self.begun is None:
            return False
        assert self.source is not None
        present = any(_is_of(tx, each, item) for each in self.begun)
        condition = f"({name} in {self.source.name()}) == {present}"
        tx.output.chosen(install(item.source, GuardBuilder.EXPRESSION, name=condition))
        return present

    def after(
        self, tx: Translator, method: str, items: Sequence[VariableTracker]
    ) -> ObjectSetVariable:
        """What the set is when one more step has been done."""
        made = self
        inside = method in ("add", "update")
        for item in items:
            was = made.contains(tx, item)
            known = {**made.known, item.identity: (item, inside)}
            made = self._with(self.steps, known, made.grown + inside - was, items)
        return self._with((*self.steps, (method, items)), made.known, made.grown, items)

    def _with(
        self, steps: Iterable[Step], known: Any, grown: int, because: Sequence[VariableTracker]
    ) -> ObjectSetVariable:
        return ObjectSetVariable(
            self.begun, steps, known, grown, source=self.source, mutation_type=self.mutation_type,
            **self.propagate(self, because),
        )  # fmt: skip

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        if self._count(tx)[0]:
            raise self.refuse("the order")
        return []

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        if self.mutation_type is None or kwargs or len(args) != 1:
            raise self.refuse(f"method {name}")
        match name:
            case "add" | "discard" | "remove":
                if name == "remove" and not self.contains(tx, args[0]):
                    raise self.refuse("method remove of what is not in it")
                items = args
            case "update":
                items = args[0].unpack(tx)
            case _:
                raise self.refuse(f"method {name}")
        tx.output.side_effects.mutate(self, self.after(tx, name, items), name)
        return ConstantVariable(None)

    def parts(self) -> Sequence[VariableTracker]:
        return [item for _, items in self.steps for item in items]

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.build("BUILD_SET", 0)
        self.write_steps(codegen, self.steps)

    def write_steps(self, codegen: Codegen, steps: Iterable[Step]) -> None:
        """Do this to the set on the stack, which stays there."""
        for method, items in steps:
            codegen.dup()
            codegen.load_method(method)
            codegen.foreach(items)
            if method == "update":
                codegen.build("BUILD_TUPLE", len(items))
            codegen.call_method(1)
            codegen.pop_top()


def is_hashed_by_identity(kind: type) -> bool:
    """Whether objects of a class are equal to themselves only."""
    if one_of(kind, (torch.Tensor, torch.nn.Parameter)):
        return True
    return (
        lookup(kind, "__hash__") is object.__hash__
        and lookup(kind, "__eq__") is object.__dict__["__eq__"]
    )


def are_elements(items: Iterable[VariableTracker]) -> bool:
    """Whether all these can be elements."""
    return all(
        not item.is_python_constant()
        and (
            item.source is not None
            or isinstance(item.mutation_type, AttributeMutationNew)
            or issubclass(item.python_type(), torch.Tensor)
        )
        and is_hashed_by_identity(item.python_type())
        for item in items
    )


def _is_of(tx: Translator, value: object, item: VariableTracker) -> bool:
    """Whether a value is the object that a tracker stands for."""
    known = tx.output.variables.get(id(value))
    return known is not None and known[0] is value and known[1].identity is item.identity
