"""NumPy's numbers, and what NumPy makes of numbers.

A number of NumPy's is immutable, and as good as any other with the same bits: a constant, of a
class that is none of Python's. Beside a tensor, torch takes it for the number of Python's that it
is equal to; not so what is complex or a truth value.

A function of NumPy's that does nothing but compute is called while tracing, when all its arguments
are constants. NumPy warns of what it cannot compute, at each call: where it would, nothing is
folded.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from stepper.native.exc import Unsupported
from stepper.native.guards.class_dicts import module_of
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.library import NUMPY
from stepper.native.variables.base import Arguments, Keywords, VariableTracker
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.folding import NUMPY_NUMBERS, fold
from stepper.native.variables.numpy_arrays import FUNCTIONS, call_numpy, wrap_array
from stepper.native.variables.torch import TypeInfoVariable
from stepper.native.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
    UserDefinedVariable,
)
from stepper.support.words import Classes

if TYPE_CHECKING:
    from stepper.native.protocols import Translator
    from stepper.native.variables.builder import VariableBuilder

_NAMES = (
    "all", "amax", "amin", "any", "argmax", "argmin", "around", "max", "mean", "min", "ndim",
    "prod", "round", "size", "std", "sum", "var",
)  # fmt: skip
_FACTS: frozenset[object] = frozenset()
_FUNCTIONS: frozenset[object] = frozenset()
_KINDS = Classes()
if NUMPY is not None:
    _FACTS = frozenset({NUMPY.finfo, NUMPY.iinfo})
    _ufuncs = (each for each in vars(NUMPY).values() if type(each) is NUMPY.ufunc)
    _FUNCTIONS = frozenset({*_ufuncs, *(getattr(NUMPY, name) for name in _NAMES)})
    _KINDS = Classes(*map(type, FUNCTIONS))


def wrap_numpy(builder: VariableBuilder, value: object) -> VariableTracker | None:
    """The tracker of an array or number of NumPy's, of a class of such, or of what computes with
    them; None: it is none of these."""
    if NUMPY is None or not module_of(type(value)).startswith(("numpy", "builtins")):
        return None
    if type(value) is NUMPY.ndarray:
        return wrap_array(builder.tx, builder.source, value)
    if type(value) in NUMPY_NUMBERS:
        guards = builder.install_guards(GuardBuilder.EQUALS_MATCH, value)
        return ConstantVariable(value, source=builder.source, guards=guards)
    if issubclass(type(value), type) and (value in NUMPY_NUMBERS or value in _FACTS):
        guards = builder.install_guards(GuardBuilder.CLASS_MATCH, value)
        return NumpyClassVariable(value, source=builder.source, guards=guards)
    if type(value) in _KINDS and value in FUNCTIONS:
        guards = builder.install_guards(GuardBuilder.ID_MATCH, value)
        return NumpyFunctionVariable(value, source=builder.source, guards=guards)
    return None


class _FoldingVariable(UserDefinedVariable):
    def call_function(self, tx: Translator, args: Arguments, kwargs: Keywords) -> VariableTracker:
        if self.value in _FACTS:
            (of,) = (arg.as_python_constant() for arg in args)
            return TypeInfoVariable(self.value(of), **self.propagate(self, args))
        known = all(arg.is_python_constant() for arg in (*args, *kwargs.values()))
        if known and (self.value in _FUNCTIONS or self.value in NUMPY_NUMBERS):
            with contextlib.suppress(Unsupported):
                return fold(self.value, args, kwargs).with_guards(self.guards)
        if self.value not in FUNCTIONS:
            raise self.refuse("a call with what is no constant")
        return call_numpy(tx, self.value, args, kwargs).with_guards(self.guards)


class NumpyClassVariable(_FoldingVariable, UserDefinedClassVariable):
    """A class of NumPy's numbers, or of facts about such."""

    def is_python_constant(self) -> bool:
        return True


class NumpyFunctionVariable(_FoldingVariable, UserDefinedObjectVariable):
    """A function of NumPy's."""
