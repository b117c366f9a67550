"""Opcodes that go on elsewhere: jumps, loops, `with` blocks."""

from __future__ import annotations

from stepper.native.bytecode import opcodes
from stepper.native.bytecode.opcodes import Instruction
from stepper.native.exc import unimplemented
from stepper.native.tracing.instructions.operators import OperatorInstructions
from stepper.native.variables.base import (
    VariableTracker,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.ctx_manager import ContextManagerVariable
from stepper.native.variables.iter import IteratorVariable, iterate
from stepper.native.variables.user_defined import UserDefinedObjectVariable


class FlowInstructions(OperatorInstructions):
    """Jumps, loops and blocks."""

    # --- jumps

    def _jump(self, inst: Instruction) -> None:
        assert inst.target is not None
        self.instruction_pointer = inst.target

    JUMP_FORWARD = JUMP_BACKWARD = JUMP_BACKWARD_NO_INTERRUPT = _jump

    def _truth(self, value: VariableTracker) -> bool:
        truth = value.truth(self)
        self.output.chosen_by(value)
        return truth

    def _is_none(self, value: VariableTracker) -> bool:
        answer = self._is(value, ConstantVariable(None))
        self.output.chosen_by(value)
        return answer

    def POP_JUMP_IF_TRUE(self, inst: Instruction) -> None:
        if self._truth(self.pop()):
            self._jump(inst)

    def POP_JUMP_IF_FALSE(self, inst: Instruction) -> None:
        if not self._truth(self.pop()):
            self._jump(inst)

    def POP_JUMP_IF_NONE(self, inst: Instruction) -> None:
        if self._is_none(self.pop()):
            self._jump(inst)

    def POP_JUMP_IF_NOT_NONE(self, inst: Instruction) -> None:
        if not self._is_none(self.pop()):
            self._jump(inst)

    POP_JUMP_FORWARD_IF_TRUE = POP_JUMP_BACKWARD_IF_TRUE = POP_JUMP_IF_TRUE
    POP_JUMP_FORWARD_IF_FALSE = POP_JUMP_BACKWARD_IF_FALSE = POP_JUMP_IF_FALSE
    POP_JUMP_FORWARD_IF_NONE = POP_JUMP_BACKWARD_IF_NONE = POP_JUMP_IF_NONE
    POP_JUMP_FORWARD_IF_NOT_NONE = POP_JUMP_BACKWARD_IF_NOT_NONE = POP_JUMP_IF_NOT_NONE

    def JUMP_IF_TRUE_OR_POP(self, inst: Instruction) -> None:
        if self._truth(self.output.side_effects.latest(self.stack[-1])):
            self._jump(inst)
        else:
            self.stack.pop()

    def JUMP_IF_FALSE_OR_POP(self, inst: Instruction) -> None:
        if not self._truth(self.output.side_effects.latest(self.stack[-1])):
            self._jump(inst)
        else:
            self.stack.pop()

    # --- loops

    def GET_ITER(self, inst: Instruction) -> None:
        value = self.pop()
        self.push(iterate(self, value))

    def FOR_ITER(self, inst: Instruction) -> None:
        iterator = self.output.side_effects.latest(self.stack[-1])
        if not isinstance(iterator, IteratorVariable):
            raise unimplemented(f"iteration of {iterator.describe()}")
        value = iterator.next_variable(self)
        self.output.chosen_by(iterator)
        if value is not None:
            self.push(value)
            return
        if not opcodes.ITERATOR_STAYS:
            self.stack.pop()
        self._jump(inst)
        if opcodes.END_FOR:
            self.instruction_pointer += 1

    def END_FOR(self, inst: Instruction) -> None:
        raise unimplemented("END_FOR that is reached")

    # --- generators within generators

    GET_YIELD_FROM_ITER = GET_ITER

    def SEND(self, inst: Instruction) -> None:
        self.pop()  # what was sent: None, for there is no `send` here
        receiver = self.pop()
        if not isinstance(receiver, IteratorVariable):
            raise unimplemented(f"yield from {receiver.describe()}")
        value = receiver.next_variable(self)
        self.output.chosen_by(receiver)
        self.push(receiver)
        if value is not None:
            self.push(value)
            return
        ended = self.stack[-1] if opcodes.SENT_TO_STAYS else self.stack.pop()
        returned = getattr(ended, "returned", None) or ConstantVariable(None)
        self.push(returned.with_guards(receiver.guards))
        self._jump(inst)

    def END_SEND(self, inst: Instruction) -> None:
        _, value = self.popn(2)
        self.push(value)

    # --- blocks

    def BEFORE_WITH(self, inst: Instruction) -> None:
        manager = self.pop()
        self.output.chosen_by(manager)
        if isinstance(manager, UserDefinedObjectVariable):
            leave = manager.bound_special(self, "__exit__")
            value = manager.special(self, "__enter__", [])
            self.push(leave)
            self.push(value)
            return
        if not isinstance(manager, ContextManagerVariable):
            raise unimplemented(f"a with block of {manager.describe()}")
        exit_function, value = manager.enter(self)
        self.block_stack.append((inst.index, exit_function))
        self.push(exit_function)
        self.push(value)
