"""Generators of Python's `random`.

Their methods are written in Python, and are interpreted, but for those few that ask the generator
itself. What these give follows from its state, which is known as soon as the frame has seeded it,
or given it a state: it is kept like an attribute, and put into the generator when the frame is
left. Of one that was seeded before nobody knows it: numbers that it gives are drawn before the
graph, see `tracing.random_draws`, and what is chosen by one breaks the graph.
"""

from __future__ import annotations

import _random
import random
from functools import partial
from typing import TYPE_CHECKING, Any

from stepper.native import break_contexts
from stepper.native.guards.class_dicts import find
from stepper.native.variables.base import Arguments, Keywords, VariableTracker, tracker_class
from stepper.native.variables.builtin_methods import METHODS_OF_C, KnownCallVariable
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.exceptions import observed_error
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.functions import UserFunctionVariable
from stepper.native.variables.new_object import KEEPING_MORE, NewObjectVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.support import break_kinds
from stepper.support.words import one_of
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepper.native.protocols import Translator

_STATE = "(state)"
"""Under which name the state is kept: no attribute has it."""


def _put_state(generator: _random.Random, name: str, state: tuple[int, ...]) -> None:
    _random.Random.setstate(generator, state)


@tracker_class
class RandomVariable(UserDefinedObjectVariable):
    """A generator."""

    def in_own_dict(self, name: str) -> bool:
        return name != _STATE and super().in_own_dict(name)

    def stores_by(self, name: str) -> Callable[..., object] | None:
        return _put_state if name == _STATE else super().stores_by(name)

    def attribute_of_class(self, tx: Translator, name: str, start: int = 0) -> VariableTracker:
        found = find(type(self.value), name, start)[1]
        if type(found) in METHODS_OF_C and found is vars(_random.Random).get(name):
            return KnownCallVariable(partial(self._ask, name), guards=self.guards)
        return super().attribute_of_class(tx, name, start)

    def _ask(self, name: str, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """Call a method of the generator itself."""
        generator: Any = _random.Random(0)
        given = [each.as_python_constant() for each in args]
        state = tx.output.side_effects.load_attr(self, _STATE)
        known = [type(each) for each in given] == [int] if name == "seed" else name == "setstate"
        if name in ("random", "getrandbits") and state is None:
            drawn = _draw(tx, vars(_random.Random)[name], self, args, kwargs)
            if drawn is not None:
                return drawn
        if kwargs or not (known or state):
            context = break_contexts.function_context(vars(_random.Random)[name])
            what = f"a state that is not known, method {name}"
            raise self.refuse(what, kind=break_kinds.SKIPPED, context=context)
        if state is not None:
            generator.setstate(state.as_python_constant())
        try:
            said = getattr(generator, name)(*given)
        except (TypeError, ValueError) as error:
            raise observed_error(error) from None
        if name != "getstate":
            tx.output.side_effects.store_attr(self, _STATE, ConstantVariable(generator.getstate()))
        return wrap_constant(said, self.propagate(self, args)["guards"])


@tracker_class
class NewRandomVariable(RandomVariable, NewObjectVariable):
    """A generator that the frame made."""


class DrawingFunctionVariable(UserFunctionVariable):
    """A method that gives a number of a generator, and is written in Python."""

    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        drawn = _draw(tx, self.fn, args[0], args[1:], kwargs) if args else None
        return super().call_function(tx, args, kwargs) if drawn is None else drawn


DRAWING: tuple[object, ...] = tuple(
    vars(random.Random)[name]
    for name in (
        "randrange", "randint", "uniform", "triangular", "normalvariate", "expovariate",
        "betavariate", "gammavariate",
    )
)  # fmt: skip
_BITS = 62
"""So many are surely an int64."""


def _draw(
    tx: Translator,
    method: Callable[..., float],
    of: VariableTracker,
    args: Arguments,
    kwargs: Keywords,
) -> VariableTracker | None:
    """A number that a method gives; None: it hangs on a state that is known, or raises an
    exception, or is no plain number, or not known to be one."""
    generator = tx.realize(of)
    if type(generator) is not RandomVariable or type(generator.value) is not random.Random:
        return None
    given = [*args, *kwargs.values()]
    stored = tx.output.side_effects.stored(generator) or tx.output.calls_program
    if stored or not all(each.is_python_constant() for each in given):
        return None
    values = tuple(each.as_python_constant() for each in args)
    named = {key: each.as_python_constant() for key, each in kwargs.items()}
    numbers = [*values, *named.values()]
    most = _BITS if method is vars(_random.Random)["getrandbits"] else 2**_BITS
    if not all(one_of(type(each), (int, float)) and abs(each) <= most for each in numbers):
        return None
    try:
        example = method(random.Random(0), *values, **named)
    except Exception:
        return None
    guards = VariableTracker.propagate(generator, given)["guards"]
    return tx.output.draw((generator, method, values, named), example, guards)


KEEPING_MORE.append((_random.Random, NewRandomVariable))

keep_out()
