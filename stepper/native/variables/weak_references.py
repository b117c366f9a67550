"""Weak references: what they refer to, where it is certain that it is still alive.

Transformed code lets go of things later than the program does, if it makes them at all. So it may
be asked, or made, only where the program holds its object; else the graph is broken before the
reference: then Python has objects that are as dead or alive as the program's, also where a cycle
keeps one. References with a callback, which whoever lets go would have to call, are Python's, too.
"""

from __future__ import annotations

import operator
import weakref
from typing import TYPE_CHECKING

import torch

from stepper.native.bytecode.bytecode_analysis import argument_count
from stepper.native.exc import RestartAnalysis
from stepper.native.polyfills import is_polyfill
from stepper.native.source import CallSource, LocalSource
from stepper.native.variables.base import (
    Arguments,
    Keywords,
    TrackedKey,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin import BuiltinVariable, handles
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.functions import (
    CellVariable,
    NestedUserFunctionVariable,
    UserFunctionVariable,
    UserMethodVariable,
)
from stepper.native.variables.lists import BaseListVariable
from stepper.native.variables.sets import SetVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.native.variables.user_defined import UserDefinedVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe

_TARGETS = (
    UserDefinedVariable, TensorVariable, SetVariable, UserFunctionVariable,
    NestedUserFunctionVariable, BuiltinVariable,
)  # fmt: skip
"""Trackers of objects that are not made by reading them, as methods are."""
_HOLDERS = (*_TARGETS, BaseListVariable, ConstDictVariable, CellVariable, UserMethodVariable)
"""Trackers of objects that hold all their parts; an iterator lets go of some."""


@tracker_class
class WeakReferenceVariable(VariableTracker):
    """A weak reference."""

    value: weakref.ReferenceType[object] | None
    """The weak reference; None: the frame makes it."""
    target: VariableTracker | None = None
    """What it refers to, if the frame makes it."""
    place: int = 0
    """The instruction that makes it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target is not None:  # Python makes one for each object
            self.identity = ("weak reference", self.target.identity)

    def python_type(self) -> type:
        return weakref.ReferenceType if self.value is None else type(self.value)

    def as_key(self, tx: Translator) -> TrackedKey:
        """It has the hash of what it refers to, and is equal to others that refer to an equal."""
        referred = self.call_function(tx, [], {})
        if issubclass(referred.python_type(), torch.Tensor):  # it is compared, as no key is
            raise self.refuse("use as a key")
        of = referred.as_key(tx)
        return TrackedKey(self, ("weak reference", of.equals), of.hashed)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        if args or kwargs:
            raise self.refuse_call()
        target = self.target
        if target is not None and target.source is None and not _is_held(tx, target):
            raise RestartAnalysis(self.place, _LET_GO)
        if (target is None or target.source) and not _holds_all(tx):
            raise self.refuse("a call, once something may have been let go,")
        if target is not None:
            return tx.output.side_effects.latest(target).with_guards(self.guards)
        assert self.value is not None
        assert self.source is not None
        source = CallSource(self.source, operator.call)
        return tx.build(source, self.value()).with_guards(self.guards)

    def recipe(self) -> Recipe | None:
        return None if self.target is None else (weakref.ReferenceType, self.target)

    def reconstruct(self, codegen: Codegen) -> None:
        assert self.target is not None
        if self.target.source is None and not codegen.is_shared(self.target):
            raise RestartAnalysis(self.place, _LET_GO)
        super().reconstruct(codegen)


_LET_GO = "a weak reference to what the frame makes and lets go"


@handles(weakref.ReferenceType)
def _reference(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    target, *rest = args
    if [each.as_python_constant() for each in rest] not in ([], [None]):
        return None
    able: int = type.__dict__["__weakrefoffset__"].__get__(target.python_type())
    if not able or not isinstance(target, _TARGETS):
        return None
    place = tx.root.current_instruction.index
    return WeakReferenceVariable(None, target, place, **VariableTracker.propagate(args))


def _holds_all(tx: Translator) -> bool:
    """Whether nothing has been let go that was there when the frame was entered: it has its
    arguments still, but for what was None, and has changed nothing but sets that were empty."""
    code, variables = tx.root.f_code, tx.root.symbolic_locals
    for name in code.co_varnames[: argument_count(code)]:
        source, value = LocalSource(name), variables.get(name)
        if value is None or value.source != source:
            if tx.root.f_locals.get(name, tx) is not None:
                return False
            tx.output.chosen_by(tx.build(source, None))
    changed = tx.output.side_effects.changed.values()
    return all(isinstance(each, SetVariable) and each.began_empty for each in changed)


def _is_held(tx: Translator, target: VariableTracker) -> bool:
    """Whether a variable of the functions that run, or their stacks, hold what the frame made."""
    effects = tx.output.side_effects
    frame: Translator | None = tx
    pending: list[VariableTracker] = []
    while frame is not None:
        if not is_polyfill(frame.f_code):  # which has variables where the builtin has none
            pending += [*frame.stack, *frame.symbolic_locals.values()]
        frame = frame.parent
    seen: set[object] = set()
    while pending:
        tracker = effects.latest(pending.pop())
        if tracker.identity == target.identity:
            return True
        if tracker.identity not in seen and isinstance(tracker, _HOLDERS):
            seen.add(tracker.identity)
            pending += [*tracker.parts(), *effects.stored(tracker).values()]
    return False
