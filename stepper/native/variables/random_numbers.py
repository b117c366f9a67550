"""Generators of Python's `random`, once they are seeded.

Their methods are written in Python, and are interpreted, but for those few that ask the generator
itself. What these give follows from its state, which is known as soon as the frame has seeded it,
or given it a state: it is kept like an attribute, and put into the generator when the frame is
left. Of one that was seeded before nobody knows it: it is another one at each call.
"""

from __future__ import annotations

import _random
from functools import partial
from typing import TYPE_CHECKING, Any

from stepper.native import break_contexts
from stepper.native.guards.class_dicts import find
from stepper.native.variables.base import Arguments, Keywords, VariableTracker, tracker_class
from stepper.native.variables.builtin_methods import METHODS_OF_C, KnownCallVariable
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.exceptions import observed_error
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.new_object import KEEPING_MORE, NewObjectVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.support import break_kinds
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


KEEPING_MORE.append((_random.Random, NewRandomVariable))

keep_out()
