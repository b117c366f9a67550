"""Opcodes that go on elsewhere: jumps, loops, `with` blocks."""

from __future__ import annotations

import torch

from stepper.native.bytecode import opcodes
from stepper.native.bytecode.bytecode_analysis import only_raises
from stepper.native.bytecode.opcodes import Instruction
from stepper.native.exc import unimplemented
from stepper.native.tracing.instructions.operators import OperatorInstructions
from stepper.native.variables.base import NullVariable, VariableTracker
from stepper.native.variables.builtin_methods import KnownCallVariable
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.ctx_manager import ContextManagerVariable, manager_of
from stepper.native.variables.iter import IteratorVariable, iterate
from stepper.native.variables.tensor import TensorVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.native.versions import assert_true
from stepper.support import break_kinds


class FlowInstructions(OperatorInstructions):
    """Jumps, loops and blocks."""

    _entered: VariableTracker
    """What `as` gets, between the LOAD_SPECIAL of an exit function and that of its `__enter__`."""

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

    def _branch(self, inst: Instruction, jumps: bool) -> None:
        value = self.pop()
        way = self._without_error(inst, value, jumps)
        if (self._truth(value) if way is None else way) is jumps:
            self._jump(inst)

    def _without_error(self, inst: Instruction, value: VariableTracker, jumps: bool) -> bool | None:
        """Where one way of a branch on data can only raise an exception, the truth that leads the
        other way. That it is so the graph asserts: where it is not, the frame is run as it is, and
        raises what it raises. None: it is no such branch, or there may be a handler."""
        if not isinstance(value, TensorVariable) or not value.is_one_on_cpu or self.may_be_caught():
            return None
        assert inst.target is not None
        raises = only_raises(self.f_code, inst.target), only_raises(self.f_code, inst.index + 1)
        if raises[0] is raises[1]:
            return None
        way = jumps is not raises[0]
        if not way:
            value = self.call_in_graph("call_function", torch.logical_not, [value], {})
        self.call_in_graph("call_function", assert_true, [value], {})
        self.output.beside = True
        self.output.chosen_by(value)
        return way

    def POP_JUMP_IF_TRUE(self, inst: Instruction) -> None:
        self._branch(inst, True)

    def POP_JUMP_IF_FALSE(self, inst: Instruction) -> None:
        self._branch(inst, False)

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

    def _jump_or_pop(self, inst: Instruction, jumps: bool) -> None:
        if self._truth(self.output.side_effects.latest(self.stack[-1])) is jumps:
            self._jump(inst)
        else:
            self.stack.pop()

    def JUMP_IF_TRUE_OR_POP(self, inst: Instruction) -> None:
        self._jump_or_pop(inst, True)

    def JUMP_IF_FALSE_OR_POP(self, inst: Instruction) -> None:
        self._jump_or_pop(inst, False)

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
        manager = manager_of(self.pop())
        self.output.chosen_by(manager)
        if isinstance(manager, UserDefinedObjectVariable):
            leave = manager.bound_special(self, "__exit__")
            value = manager.special(self, "__enter__", [])
            self.push(leave)
            self.push(value)
            return
        if not isinstance(manager, ContextManagerVariable):
            raise manager.refuse("a with block", kind=break_kinds.MANAGER)
        exit_function, value = manager.enter(self)
        self.block_stack.append((inst.index, exit_function))
        self.push(exit_function)
        self.push(value)

    def LOAD_SPECIAL(self, inst: Instruction) -> None:
        name = opcodes.SPECIAL_METHODS[inst.arg or 0]
        manager = manager_of(self.pop())
        self.output.chosen_by(manager)
        if isinstance(manager, UserDefinedObjectVariable):
            found = manager.bound_special(self, name)
        elif not isinstance(manager, ContextManagerVariable):
            raise manager.refuse("a with block", kind=break_kinds.MANAGER)
        elif name == "__exit__":
            found, self._entered = manager.enter(self)
            # Before the COPY: what is entered and what is left are one object.
            self.block_stack.append((inst.index - 1, found))
        else:
            entered = self._entered
            found = KnownCallVariable(lambda *given: entered, guards=manager.guards)
        self.push(found)
        self.push(NullVariable())
