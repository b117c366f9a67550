"""Opcodes that raise exceptions and handle them."""

from __future__ import annotations

from stepper.native.bytecode import opcodes
from stepper.native.bytecode.opcodes import Instruction
from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import is_derived
from stepper.native.protocols import Translator
from stepper.native.variables.base import VariableTracker
from stepper.native.variables.builtin import class_of
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.exceptions import (
    ExceptionClassVariable,
    ExceptionVariable,
    TracebackVariable,
    is_exception_class,
    observed,
    raised,
)
from stepper.native.variables.lists import TupleVariable


class RaisingInstructions(Translator):
    """Exceptions; the value stack has them where CPython's has."""

    handled: list[ExceptionVariable]

    def handled_exception(self) -> ExceptionVariable | None:
        """The exception that is being handled, here or by who called this function."""
        if self.handled:
            return self.handled[-1]
        caller = self.parent
        return caller.handled_exception() if isinstance(caller, RaisingInstructions) else None

    def LOAD_ASSERTION_ERROR(self, inst: Instruction) -> None:
        self.push(ExceptionClassVariable(AssertionError))

    def _exception(self, value: VariableTracker) -> ExceptionVariable:
        if is_exception_class(value):
            value = value.call_function(self, [], {})
        if not isinstance(value, ExceptionVariable):
            raise unimplemented(f"raising {value.describe()}")
        return value

    def RAISE_VARARGS(self, inst: Instruction) -> None:
        if not inst.argval:
            current = self.handled_exception()
            if current is None:
                raise observed(RuntimeError, "No active exception to reraise")
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
        assert isinstance(value, ExceptionVariable)
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
        found = any(is_derived(value.python_type(), class_of(kind)) for kind in kinds)
        options = VariableTracker.propagate(value, classes, kinds)
        self.push(ConstantVariable(found, **options))

    def WITH_EXCEPT_START(self, inst: Instruction) -> None:
        value = self.stack[-1]
        assert isinstance(value, ExceptionVariable)
        arguments = [value.cls, value, TracebackVariable()]
        leave = self.stack[-5 if opcodes.EXIT_BELOW_SELF else -4]
        self.push(leave.call_function(self, arguments, {}))
