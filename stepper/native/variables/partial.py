"""`functools.partial`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stepper import _C
from stepper.native.guards.class_dicts import has
from stepper.native.source import AttrSource
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationNew,
    Keywords,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.builtin import handles
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.exceptions import no_attribute
from stepper.native.variables.functions import has_stored
from stepper.native.variables.lists import TupleVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.source import Recipe


def make_partial(
    func: Any, args: tuple[object, ...], names: tuple[str, ...], values: tuple[object, ...]
) -> object:
    """A partial of these arguments; nothing is captured under it."""
    return functools.partial(func, *args, **dict(zip(names, values, strict=True)))


_C.set_skip(make_partial.__code__, "recursive")


@handles(functools.partial)
def _partial(tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker | None:
    func, *rest = args
    if not has(func.python_type(), "__call__"):
        return None
    options = VariableTracker.propagate(args, list(kwargs.values()))
    if isinstance(func, FunctoolsPartialVariable):  # they are made one
        rest, kwargs = [*func.args, *rest], {**func.keywords, **kwargs}
        func = func.func
    return FunctoolsPartialVariable(
        func, rest, kwargs, mutation_type=AttributeMutationNew(), **options
    )


class PartialKeywordsVariable(ConstDictVariable):
    """The `keywords` of a partial that the frame made, to look into.

    partial: the partial.
    """

    def __init__(self, partial: FunctoolsPartialVariable) -> None:
        super().__init__(partial.keywords, guards=partial.guards)
        self.partial = partial

    def parts(self) -> Sequence[VariableTracker]:
        return [self.partial]

    def reconstruct(self, codegen: Codegen) -> None:
        codegen.make(getattr, self.partial, "keywords")


@tracker_class
class FunctoolsPartialVariable(VariableTracker):
    """A function with some of its arguments."""

    python_class = functools.partial

    func: VariableTracker
    args: Sequence[VariableTracker]
    keywords: Keywords
    value: functools.partial[object] | None = None
    """The object; None: the frame makes it."""

    def describe(self) -> str:
        return f"partial of {self.func.describe()}"

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name == "func":
            return tx.realize(self.func).with_guards(self.guards)
        if name == "keywords" and self.source is None:
            return PartialKeywordsVariable(self)
        if name == "keywords":
            assert self.source is not None
            assert self.value is not None
            return tx.build(AttrSource(self.source, name), self.value.keywords)
        if name == "args":
            return TupleVariable(self.args, guards=self.guards)
        if not self.has_attribute(tx, name):
            raise no_attribute(functools.partial, name)
        if self.source is None or self.value is None or has(functools.partial, name):
            raise self.refuse(f"attribute {name}")
        found = tx.build(AttrSource(self.source, name), getattr(self.value, name))
        return found.with_guards(self.guards)

    def has_attribute(self, tx: Translator, name: str) -> bool:
        """Whether it has the attribute: one that all partials have, or one that was stored."""
        return has(functools.partial, name) or has_stored(tx, self, self.value, name)

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        positional = [*map(tx.realize, self.args), *args]
        named = {key: tx.realize(value) for key, value in self.keywords.items()} | kwargs
        return tx.realize(self.func).call_function(tx, positional, named).with_guards(self.guards)

    def recipe(self) -> Recipe:
        names, values = tuple(self.keywords), tuple(self.keywords.values())
        return make_partial, self.func, tuple(self.args), names, values
