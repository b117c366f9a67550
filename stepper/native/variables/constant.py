"""Constants: values that are known, immutable, and as good as any other with the same bits.

Of texts the program can see more: Python makes those that look like names one object each, when
they stand in code. A text that the program has made is another one, and has to stay that.
"""

from __future__ import annotations

import builtins
import operator
import re
import sys
import types
from typing import TYPE_CHECKING, Any

import torch

from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import module_of
from stepper.native.variables.base import Arguments, Keywords, VariableTracker, tracker_class
from stepper.native.variables.builtin_methods import BoundBuiltinMethod
from stepper.native.versions import ATTENTION_KINDS
from stepper.support.words import Classes, one_of

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, Translator

CONSTANT_TYPES = Classes(
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented),
    torch.dtype, torch.device, torch.layout, torch.memory_format, ATTENTION_KINDS, re.Pattern,
)  # fmt: skip


_OF_NUMBERS = frozenset(
    {"astype", "conjugate", "item", "is_integer", "max", "min", "round", "sum", "tolist"}
)
"""Methods of NumPy's numbers that do nothing but compute."""


_NAMES = frozenset({"co_name", "co_qualname"})
"""What can be replaced of a code, which does the same then."""


def is_nan(tracker: VariableTracker) -> bool:
    """Whether it is a number that is not equal to itself: whether it is the same object as another
    such number no guard tells."""
    return isinstance(tracker, ConstantVariable) and (
        one_of(type(tracker.value), (float, complex)) and tracker.value != tracker.value
    )


@tracker_class
class ConstantVariable(VariableTracker):
    """A constant."""

    is_made = False

    value: Any
    """A constant of one of `CONSTANT_TYPES`, or a frozenset of such."""

    def python_type(self) -> type:
        return type(self.value)

    def is_python_constant(self) -> bool:
        return True

    def as_python_constant(self) -> object:
        return self.value

    def as_proxy(self) -> object:
        if module_of(type(self.value)) == "numpy":
            if type(self.value).__name__ != "int64":  # others are not always taken for Python's
                raise self.refuse("use in the graph")
            return int(self.value)
        return self.value

    def truth(self, tx: Translator) -> bool:
        return builtins.bool(self.value)

    def unpack(self, tx: Translator) -> list[VariableTracker]:
        if not isinstance(self.value, str | bytes):
            raise self.refuse("iteration")
        return [ConstantVariable(item, guards=self.guards) for item in self.value]

    def var_getattr(self, tx: Translator, name: str) -> VariableTracker:
        if name == "__class__":
            return tx.class_variable(self)
        try:
            value = getattr(self.value, name)
        except AttributeError:
            from stepper.native.variables.exceptions import no_attribute

            raise no_attribute(type(self.value), name) from None
        if callable(value):
            return BoundBuiltinMethod(self, name, guards=self.guards)
        if isinstance(self.value, types.CodeType) and name == "co_consts":
            raise self.refuse(f"attribute {name}")  # another tuple would be made of it
        from stepper.native.variables.folding import wrap_constant

        return wrap_constant(value, self.guards)

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        from stepper.native.variables.folding import fold
        from stepper.native.variables.lists import TupleVariable

        texts = all(each.python_type() is str for each in kwargs.values())
        by_name = name == "replace" and not args and texts and kwargs.keys() <= _NAMES
        if by_name and isinstance(self.value, types.CodeType):
            given = {key: str(each.as_python_constant()) for key, each in kwargs.items()}
            options = self.propagate(self, list(kwargs.values()))
            code = self.value.replace(**given)  # type: ignore[arg-type]  # these two are texts
            return ConstantVariable(code, **options)
        if module_of(type(self.value)) == "numpy" and name not in _OF_NUMBERS:
            raise self.refuse_method(name)
        if name == "join" and len(args) == 1 and not args[0].is_python_constant():
            args = [TupleVariable(args[0].iterated(tx), **self.propagate(args))]
        return fold(getattr(self.value, name), [self, *args], kwargs, skip=1)

    def getitem(self, tx: Translator, key: VariableTracker) -> VariableTracker:
        from stepper.native.variables.folding import fold

        return fold(operator.getitem, [self, key], {})

    def contains(self, tx: Translator, item: VariableTracker) -> bool:
        if not item.is_python_constant():
            raise self.refuse("a membership test")
        try:
            return item.as_python_constant() in self.value
        except TypeError as error:
            raise unimplemented(f"TypeError: {error}") from None

    @property
    def would_be_interned(self) -> bool:
        """Whether it is a text that would become another object by standing in code."""
        text = self.value
        return (
            type(text) is str
            and text.isascii()
            and text.replace("_", "a").isalnum()
            # A copy, or what asks would intern the text itself; of one character there is none.
            and sys.intern("".join((text[:1], text[1:]))) is not text
        )

    def reconstruct(self, codegen: Codegen) -> None:
        text = self.value
        if not self.would_be_interned:
            codegen.load_const(text)
        elif len(text) == 1:  # Python 3.11 has one beside that in code
            codegen.make(operator.getitem, text + text, 0)
        else:
            codegen.make(operator.add, text[:1], text[1:])


def name_of(tracker: VariableTracker) -> str:
    """The text that a tracker stands for, where an attribute is called by it."""
    name = tracker.as_python_constant()
    if not isinstance(name, str):
        raise tracker.refuse("use as the name of an attribute")
    return name


def is_none(value: VariableTracker) -> bool:
    """Whether it is None."""
    return isinstance(value, ConstantVariable) and value.value is None


def is_constant(value: object) -> bool:
    """Whether a value is a constant, or made of nothing else."""
    kind = type(value)
    if kind is tuple or kind is frozenset or kind is torch.Size:
        return all(map(is_constant, value))  # type: ignore[call-overload]  # its exact type was asked for
    return kind in CONSTANT_TYPES
