"""Opcodes that raise exceptions and handle them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepper.engines.native.exc import unimplemented
from stepper.engines.native.instructions.state import TranslatorState
from stepper.engines.native.opcodes import Instruction
from stepper.engines.native.variables.base import VariableTracker
from stepper.engines.native.variables.builtin import class_of
from stepper.engines.native.variables.constant import ConstantVariable
from stepper.engines.native.variables.exceptions import (
    ExceptionClassVariable,
    ExceptionVariable,
    TracebackVariable,
    is_exception_class,
    raised,
)
from stepper.engines.native.variables.lists import TupleVariable


class RaisingInstructions(TranslatorState):
    """Exceptions; the value stack has them where CPython's has."""

    if TYPE_CHECKING:
        handled_exception: Any

    def LOAD_ASSERTION_ERROR(self, inst: Instruction) -> None:
        self.push(ExceptionClassVariable(AssertionError))

    def _exception(self, value: VariableTracker) -> ExceptionVariable:
        if is_exception_class(value):
            value = value.call_function(self, [], {})  # type: ignore[arg-type]
        if not isinstance(value, ExceptionVariable):
            raise unimplemented(f"raising {value.describe()}")
        return value

    def RAISE_VARARGS(self, inst: Instruction) -> None:
        if not inst.argval:
            current = self.handled_exception()
            if current is None:
                raise unimplemented("RuntimeError: no active exception to raise again")
            raise raised(current, again=True)
        cause = self.pop() if inst.argval == 2 else None
        value = self._exception(self.pop())
        if cause is not None:
            is_none = isinstance(cause, ConstantVariable) and cause.value is None
            effects = self.output.side_effects
            effects.store_attr(value, "__cause__", cause if is_none else self._exception(cause))
            effects.store_attr(value, "__suppress_context__", ConstantVariable(True))
        raise raised(value)

    def RERAISE(self, inst: Instruction) -> None:
        raise raised(self._exception(self.pop()), again=True)

    def PUSH_EXC_INFO(self, inst: Instruction) -> None:
        value = self.pop()
        before = self.handled_exception()
        self.push(ConstantVariable(None) if before is None else before)
        self.push(value)
        self.handled.append(value)

    def POP_EXCEPT(self, inst: Instruction) -> None:
        self.pop()
        self.handled.pop()

    def CHECK_EXC_MATCH(self, inst: Instruction) -> None:
        classes = self.pop()
        value = self.stack[-1]
        several = isinstance(classes, TupleVariable)
        kinds = classes.unpack(self) if several else [classes]
        if not all(map(is_exception_class, kinds)):
            raise unimplemented(f"except {classes.describe()}")
        found = any(class_of(kind) in value.python_type().__mro__ for kind in kinds)
        options = VariableTracker.propagate(value, classes, kinds)
        self.push(ConstantVariable(found, **options))

    def WITH_EXCEPT_START(self, inst: Instruction) -> None:
        value = self.stack[-1]
        assert isinstance(value, ExceptionVariable)
        arguments = [value.cls, value, TracebackVariable()]
        self.push(self.stack[-4].call_function(self, arguments, {}))  # type: ignore[arg-type]
