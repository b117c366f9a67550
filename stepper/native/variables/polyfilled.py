"""What is interpreted in place of a builtin (`stepper.native.polyfills`), and what it makes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepper.native import polyfills
from stepper.native.exc import RestartAnalysis, Unsupported, unimplemented
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationNew,
    Keywords,
    VariableTracker,
    is_hashed_by_identity,
    tracker_class,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.generators import LocalGeneratorObjectVariable
from stepper.native.variables.iter import IteratorVariable, ask_length
from stepper.native.variables.lists import TupleVariable
from stepper.support.words import one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe


def make_iterator(
    tx: Translator,
    kind: type,
    function: polyfills.Polyfill,
    args: Sequence[VariableTracker],
    kwargs: Keywords | None = None,
    *,
    sized: VariableTracker | None = None,
) -> VariableTracker:
    """An iterator of a class, of which a polyfill gives the values."""
    values = tx.interpret(function, list(args), kwargs or {})
    place = tx.root.current_instruction.index
    return PolyfilledIteratorVariable(kind, values, place, sized, guards=values.guards)


def call(
    tx: Translator, builtin: object, called: VariableTracker, args: Arguments,
    kwargs: Keywords,
) -> VariableTracker | None:  # fmt: skip
    """A call of a builtin for which something is interpreted; None: there is nothing.

    called: its tracker.
    """
    if not is_hashed_by_identity(type(builtin)) and issubclass(type(builtin), type):
        return None  # a table would ask its class
    if (function := polyfills.FUNCTIONS.get(builtin)) is not None:
        return tx.interpret(function, args, kwargs)
    if isinstance(builtin, type) and one_of(builtin, _ARRANGING):
        return _arranged(tx, builtin, args, kwargs)
    if (function := polyfills.ITERATORS.get(builtin)) is not None:
        kind = builtin if isinstance(builtin, type) else getattr(builtin, "__self__")  # noqa: B009  # not all have it
        return make_iterator(tx, kind, function, args, kwargs)
    if isinstance(builtin, type) and (function := polyfills.CALLABLES.get(builtin)) is not None:
        inner = tx.interpret(function, args, kwargs)
        return PolyfilledCallableVariable(
            called, builtin, inner, args, kwargs,
            guards=inner.guards, mutation_type=AttributeMutationNew(),
        )  # fmt: skip
    return None


_ARRANGING: tuple[type, ...] = (
    itertools.product, itertools.combinations, itertools.combinations_with_replacement,
    itertools.permutations,
)  # fmt: skip


_COUNTS = (int, bool, type(None))


def _arranged(tx: Translator, kind: type, args: Arguments, kwargs: Keywords) -> VariableTracker:
    """What one of these gives, which looks at the places of what it is given only."""
    options = VariableTracker.propagate(args, list(kwargs.values()))
    args = [*(each for name, each in kwargs.items() if name == "iterable"), *args]
    counts = {name: each for name, each in kwargs.items() if name != "iterable"}
    named = {name: each.as_python_constant() for name, each in counts.items()}
    if named.get("repeat") == 0:
        args = []  # nobody is asked
    items: list[VariableTracker] = []
    given: list[object] = []
    for each in args:
        if isinstance(each, ConstantVariable) and one_of(type(each.value), _COUNTS):
            given.append(each.value)
        else:
            held = each.listed(tx)
            given.append(range(len(items), len(items) + len(held)))
            items += held
    try:
        arranged = kind(*given, **named)
    except (TypeError, ValueError) as error:
        raise unimplemented(f"{type(error).__name__}: {error}") from None
    found: list[VariableTracker] = []
    for places in arranged:
        tx.spend(1)
        found.append(TupleVariable([items[place] for place in places], **options))
    return make_iterator(tx, kind, polyfills.given_by, [TupleVariable(found, **options)])


@tracker_class
class PolyfilledIteratorVariable(IteratorVariable):
    """An iterator of a builtin class, whose values a generator gives."""

    kind: type
    """The builtin class of the iterator."""
    values: VariableTracker
    """The generator."""
    place: int
    """The instruction by which it was made."""
    sized: VariableTracker | None = None
    """What is asked for its length when that of the iterator is."""

    def python_type(self) -> type:
        return self.kind

    def parts(self) -> Sequence[VariableTracker]:
        return [self.values]

    def listed(self, tx: Translator) -> list[VariableTracker]:
        if self.sized is not None:
            if tx.output.side_effects.latest(self.values) is not self.values:
                raise self.refuse("the rest")  # at its end nothing is asked
            ask_length(tx, self.sized)
        return self.unpack(tx)

    def next_variable(self, tx: Translator) -> VariableTracker | None:
        newest = tx.output.side_effects.latest(self.values)
        assert isinstance(newest, IteratorVariable)
        return newest.next_variable(tx)

    def reconstruct(self, codegen: Codegen) -> None:
        generator = codegen.tx.output.side_effects.latest(self.values)
        assert isinstance(generator, LocalGeneratorObjectVariable)
        try:
            generator.remake(codegen)
        except Unsupported:
            reason = f"the {self.kind.__name__} that is made lives on"
            raise RestartAnalysis(self.place, reason) from None


@tracker_class
class PolyfilledCallableVariable(VariableTracker):
    """An object of a builtin class that is there to be called.

    args, kwargs: what it was made of.
    """

    cls: VariableTracker
    """The class of the object."""
    kind: type
    inner: VariableTracker
    """The function that is interpreted."""
    args: Sequence[VariableTracker]
    kwargs: Keywords

    def python_type(self) -> type:
        return self.kind

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        return self.inner.call_function(tx, args, kwargs)

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        stored = tx.output.side_effects.load_attr(self, name)
        if stored is None:
            raise self.refuse(f"attribute {name}")
        return stored

    def var_setattr(self, tx: Translator, name: str, value: VariableTracker) -> None:
        if not self.kind.__dictoffset__:
            raise self.refuse(f"assignment to attribute {name}")
        tx.output.side_effects.store_attr(self, name, value)

    def recipe(self) -> Recipe | None:
        more = self.kwargs or self.kind.__dictoffset__  # it may hold more than it was made of
        return None if more else (self.kind, *self.args)
