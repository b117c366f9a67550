"""Objects that have a `__torch_function__`: functions of torch and operators ask it.

A function in C asks before all else, one in Python where it says so itself, and is interpreted. Of
an operator it is heard from torch itself for which function it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch

from stepper.native.guards.class_dicts import has, is_derived, lookup
from stepper.native.source import ConstantSource
from stepper.native.variables.base import NO_GUARDS, Arguments, Keywords, VariableTracker
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.lists import BaseListVariable, TupleVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.support.words import one_of
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.native.protocols import Translator

OVERRIDE = "__torch_function__"


def given_to_torch(tx: Translator, args: Arguments) -> Iterator[VariableTracker]:
    """The arguments, and items of sequences, that have a `__torch_function__` of their own."""
    for each in map(tx.realize, args):
        if isinstance(each, BaseListVariable):
            yield from given_to_torch(tx, each.items)
        elif isinstance(each, TensorVariable):
            if each.asks(tx):
                yield each
        elif isinstance(each, UserDefinedObjectVariable) and has(each.python_type(), OVERRIDE):
            yield each


def in_order_of_classes(
    tx: Translator, relevant: Iterable[VariableTracker]
) -> list[VariableTracker]:
    """The first of each class that has a `__torch_function__`, those of derived classes before."""
    asked: list[VariableTracker] = []
    for each in map(tx.realize, relevant):
        kind = each.python_type()
        known = [other.python_type() for other in asked]
        if has(kind, OVERRIDE) and not one_of(kind, known):
            derived = (n for n, other in enumerate(known) if is_derived(kind, other))
            asked.insert(next(derived, len(asked)), each)
    return asked


def ask_objects(
    tx: Translator,
    relevant: Sequence[VariableTracker],
    asked: Sequence[VariableTracker],
    function: VariableTracker,
    args: Arguments,
    kwargs: Keywords | None,
) -> VariableTracker:
    """What the first `__torch_function__` says that says anything: a mode's before all others,
    which is left meanwhile.

    relevant: of whose classes they are told.
    """
    kinds = [tx.class_variable(each) for each in relevant]
    given = [function, TupleVariable(kinds), TupleVariable([*args])]
    given += [] if kwargs is None else [ConstDictVariable.new(dict(kwargs), NO_GUARDS)]
    if modes := tx.output.function_modes:
        tx.output.set_function_modes(modes[:-1])
        try:
            said = modes[-1].var_getattr(tx, OVERRIDE).call_function(tx, given, {})
        finally:
            tx.output.set_function_modes(modes)
        if isinstance(said, ConstantVariable) and said.value is NotImplemented:
            raise function.refuse("a call that a mode does not answer")
        return said.with_guards(function.guards)
    for each in asked:
        if type(lookup(each.python_type(), OVERRIDE)) is not classmethod:
            raise each.refuse("a plain method as __torch_function__, of which torch warns,")
        said = tx.class_variable(each).var_getattr(tx, OVERRIDE).call_function(tx, [*given], {})
        if not (isinstance(said, ConstantVariable) and said.value is NotImplemented):
            return said.with_guards(function.guards)
    raise function.refuse("a call that no __torch_function__ answers")


def handled(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
    """What `torch.overrides.handle_torch_function` gives."""
    function, given, *others = args
    relevant = in_order_of_classes(tx, given.unpack(tx))
    asked = [e for e in relevant if not isinstance(e, TensorVariable) or e.asks(tx)]
    return ask_objects(tx, relevant, asked, function, others, kwargs)


class _Asked(NamedTuple):
    """What `__torch_function__` is called with."""

    function: object
    kinds: tuple[type, ...]
    args: tuple[object, ...]
    named: bool


class _Side:
    """Stands for an object in an operator, to hear what that is called for torch."""

    @classmethod
    def __torch_function__(
        cls,
        func: object,
        types: tuple[type, ...],
        args: tuple[object, ...] = (),
        kwargs: object = None,
    ) -> _Asked:
        return _Asked(func, types, args, kwargs is not None)


class TensorSide(_Side, torch.Tensor):
    """Stands for a tensor whose class is asked, or of which a mode is told."""


def operator_of_objects(
    tx: Translator, operation: Callable[..., object], a: VariableTracker, b: VariableTracker
) -> VariableTracker | None:
    """An operator of a tensor and an object that has `__torch_function__`; None: it is another."""
    tensor, other = (a, b) if isinstance(a, TensorVariable) else (b, a)
    plain = tensor.python_type() is torch.Tensor and isinstance(other, UserDefinedObjectVariable)
    if not plain or not has(other.python_type(), OVERRIDE) or not tx.output.state.torch_function:
        return None
    side, number = _Side(), torch.ones(())
    try:
        heard = operation(*((number, side) if tensor is a else (side, number)))
    except TypeError:  # it is none of theirs
        return None
    assert isinstance(heard, _Asked)
    name = getattr(heard.function, "__name__", "")
    if vars(torch.Tensor).get(name, getattr(torch.Tensor, name, None)) is not heard.function:
        return None
    cls = tx.build(ConstantSource(torch.Tensor), torch.Tensor)
    relevant = [tensor if each is torch.Tensor else other for each in heard.kinds]
    args = [other if each is side else tensor for each in heard.args]
    function = cls.var_getattr(tx, name)
    return ask_objects(tx, relevant, [other], function, args, {} if heard.named else None)


keep_out()
