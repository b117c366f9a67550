"""Opcodes that call, make functions and leave them."""

from __future__ import annotations

from stepper.native.bytecode import opcodes
from stepper.native.bytecode.opcodes import Instruction
from stepper.native.exc import unimplemented
from stepper.native.tracing.instructions.containers import ContainerInstructions
from stepper.native.tracing.instructions.names import NameInstructions
from stepper.native.tracing.instructions.operators import OperatorInstructions
from stepper.native.variables.base import (
    Keywords,
    NullVariable,
    VariableTracker,
)
from stepper.native.variables.builtin_methods import UnboundMethodVariable
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.functions import NestedUserFunctionVariable


class CallInstructions(ContainerInstructions, NameInstructions, OperatorInstructions):
    """Calls, functions and their ends."""

    result: VariableTracker | None
    yielded: VariableTracker | None

    # --- calls

    def KW_NAMES(self, inst: Instruction) -> None:
        self.kw_names = self.f_code.co_consts[inst.arg or 0]

    def CALL(self, inst: Instruction) -> None:
        names, self.kw_names = self.kw_names, ()
        self._call(inst.argval, names)

    def CALL_KW(self, inst: Instruction) -> None:
        self._call(inst.argval, self.pop().as_python_constant())

    def _call(self, count: int, names: tuple[str, ...]) -> None:
        args = self.popn(count)
        first, second = self.popn(2)
        if opcodes.CALLABLE_BELOW_NULL:
            fn = first
            if not isinstance(second, NullVariable):
                args.insert(0, second)
        elif isinstance(first, NullVariable):
            fn = second
        else:
            fn = first
            args.insert(0, second)
        if isinstance(fn, UnboundMethodVariable):
            fn = fn.bound
            del args[0]
        positional = len(args) - len(names)
        kwargs = dict(zip(names, args[positional:], strict=True))
        self.call_function(fn, args[:positional], kwargs)

    def CALL_FUNCTION_EX(self, inst: Instruction) -> None:
        kwargs: Keywords = {}
        mapping = self.pop() if opcodes.ALWAYS_A_KEYWORD_SLOT or inst.argval & 1 else NullVariable()
        if not isinstance(mapping, NullVariable):
            if not isinstance(mapping, ConstDictVariable):
                raise unimplemented("keyword arguments of another mapping")
            if not all(type(key) is str for key in mapping.items):
                raise unimplemented("TypeError: keywords must be strings")
            kwargs = {key: self.realize(value) for key, value in mapping.items.items()}
        args = self.pop().listed(self)
        if opcodes.CALLABLE_BELOW_NULL:
            self.pop()
            fn = self.pop()
        else:
            fn = self.pop()
            self.pop()
        self.call_function(fn, args, kwargs)

    def CALL_INTRINSIC_1(self, inst: Instruction) -> None:
        match inst.arg:
            case 5:  # INTRINSIC_UNARY_POSITIVE
                self.UNARY_POSITIVE(inst)
            case 6:  # INTRINSIC_LIST_TO_TUPLE
                self.LIST_TO_TUPLE(inst)
            case 3:  # INTRINSIC_STOPITERATION_ERROR
                if self.stack[-1].python_type() is StopIteration:
                    raise unimplemented("StopIteration in a generator")
            case _:
                raise unimplemented(f"CALL_INTRINSIC_1 {inst.arg}")

    def MAKE_FUNCTION(self, inst: Instruction) -> None:
        code = self.pop().as_python_constant()
        flags = (inst.arg or 0) if not opcodes.FUNCTION_ATTRIBUTES_APART else 0
        attributes = {flag: self.pop() for flag in (8, 4, 2, 1) if flags & flag}
        self.push(NestedUserFunctionVariable(code, self.f_globals, attributes))

    def SET_FUNCTION_ATTRIBUTE(self, inst: Instruction) -> None:
        attribute, fn = self.popn(2)
        assert isinstance(fn, NestedUserFunctionVariable)
        assert inst.arg is not None
        attributes = {**fn.attributes, inst.arg: attribute}
        self.push(NestedUserFunctionVariable(fn.code, self.f_globals, attributes))

    def RETURN_VALUE(self, inst: Instruction) -> None:
        self.result = self.pop()

    def RETURN_CONST(self, inst: Instruction) -> None:
        self.result = self._constant(inst.argval)

    def RETURN_GENERATOR(self, inst: Instruction) -> None:
        self.push(ConstantVariable(None))

    def YIELD_VALUE(self, inst: Instruction) -> None:
        self.yielded = self.pop()
        if inst.handler is not None:  # runs, too, when the generator is let go of
            self.output.beside = True
