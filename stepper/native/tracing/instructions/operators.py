"""Opcodes of operators, comparisons, subscripts and attributes."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

import torch

from stepper.native.bytecode import opcodes
from stepper.native.bytecode.opcodes import Instruction
from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import has
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.protocols import Translator
from stepper.native.variables.base import (
    NullVariable,
    VariableTracker,
)
from stepper.native.variables.builtin import BuiltinVariable, binary_op
from stepper.native.variables.builtin_methods import BoundBuiltinMethod
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.functions import UserFunctionVariable
from stepper.native.variables.lists import (
    SliceVariable,
    TupleVariable,
)
from stepper.native.variables.misc import SuperVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.support.words import Classes

_SINGLETONS = Classes(type(None), bool, type(...), type(NotImplemented), torch.dtype, torch.layout)
"""Classes of constants of which there is one object for each value."""


class OperatorInstructions(Translator):
    """What values do with each other."""

    # --- operators

    def BINARY_OP(self, inst: Instruction) -> None:
        if inst.arg == opcodes.SUBSCRIPT:
            self.BINARY_SUBSCR(inst)
            return
        a, b = self.popn(2)
        self.push(binary_op(self, opcodes.BINARY_OPERATORS[inst.arg or 0], a, b))

    def COMPARE_OP(self, inst: Instruction) -> None:
        a, b = self.popn(2)
        found = binary_op(self, opcodes.compare_operator(inst.arg or 0), a, b)
        self.push(found)

    def IS_OP(self, inst: Instruction) -> None:
        a, b = self.popn(2)
        answer = self._is(a, b) is not bool(inst.argval)
        self.push(ConstantVariable(answer, **VariableTracker.propagate(a, b)))

    def _is(self, a: VariableTracker, b: VariableTracker) -> bool:
        if a.identity is b.identity:
            return True
        if isinstance(a, ConstantVariable) and isinstance(b, ConstantVariable):
            if any(type(v) in _SINGLETONS for v in (a.value, b.value)):
                return a.value is b.value
            if type(a.value) is not type(b.value):
                return False
            if type(a.value) is int and (a.value != b.value or -5 <= a.value <= 256):
                return bool(a.value == b.value)  # of a small number Python has one object
            raise unimplemented("the identity of constants")
        for constant, other in ((a, b), (b, a)):
            if isinstance(constant, ConstantVariable):
                return False
            del other
        if a.mutation_type is not None or b.mutation_type is not None:
            if a.mutation_type is b.mutation_type:
                return True
            of_c = isinstance(a, BuiltinVariable) or isinstance(b, BuiltinVariable)
            # One of them was handed to a resume function.
            if of_c and a.python_type() is b.python_type():
                raise unimplemented("the identity of values")
            self._guard_distinct(a, b)
            return False
        if isinstance(a, TensorVariable) and isinstance(b, TensorVariable):
            if a.proxy.node is b.proxy.node:
                return True
            self._guard_distinct(a, b)
            return False
        lengths = [len(v.items) for v in (a, b) if isinstance(v, TupleVariable)]
        if a.python_type() is not b.python_type() or len({*lengths}) > 1:
            return False
        for each in (a, b):
            if isinstance(each, UserFunctionVariable):
                each.tell_apart()
        values = [getattr(v, "value", getattr(v, "fn", None)) for v in (a, b)]
        if values[0] is not None and values[1] is not None:
            return values[0] is values[1]
        raise unimplemented("the identity of values")

    def _guard_distinct(self, a: VariableTracker, b: VariableTracker) -> None:
        if a.source is not None and b.source is not None:
            name = f"{a.source.name()} is not {b.source.name()}"
            install = self.output.install_guard
            self.output.chosen(install(a.source, GuardBuilder.EXPRESSION, name=name))

    def CONTAINS_OP(self, inst: Instruction) -> None:
        item, container = self.popn(2)
        found = container.contains(self, item)
        options = VariableTracker.propagate(item, container)
        self.push(ConstantVariable(found is not bool(inst.argval), **options))

    def _unary(self, operation: Callable[..., object]) -> None:
        self.push(BuiltinVariable(operation).call_function(self, [self.pop()], {}))

    def UNARY_NEGATIVE(self, inst: Instruction) -> None:
        self._unary(operator.neg)

    def UNARY_POSITIVE(self, inst: Instruction) -> None:
        self._unary(operator.pos)

    def UNARY_INVERT(self, inst: Instruction) -> None:
        self._unary(operator.invert)

    def UNARY_NOT(self, inst: Instruction) -> None:
        value = self.pop()
        self.push(ConstantVariable(not value.truth(self), guards=value.guards))

    def TO_BOOL(self, inst: Instruction) -> None:
        following = itertools.islice(self.instructions, self.instruction_pointer, None)
        jump = next(each.opname for each in following if each.opname != "EXTENDED_ARG")
        if isinstance(self.stack[-1], TensorVariable) and jump.startswith("POP_JUMP"):
            return  # the jump is where the graph is broken
        value = self.pop()
        self.push(ConstantVariable(value.truth(self), guards=value.guards))

    def BINARY_SUBSCR(self, inst: Instruction) -> None:
        container, key = self.popn(2)
        self.push(container.getitem(self, key))

    def STORE_SUBSCR(self, inst: Instruction) -> None:
        value, container, key = self.popn(3)
        self.output.chosen_by(key)
        container.setitem(self, key, value)

    def DELETE_SUBSCR(self, inst: Instruction) -> None:
        container, key = self.popn(2)
        self.output.chosen_by(key)
        if not has(container.python_type(), "__delitem__"):
            raise container.refuse("deletion of an item")
        container.call_method(self, "__delitem__", [key], {})

    def BUILD_SLICE(self, inst: Instruction) -> None:
        items = self.popn(inst.argval)
        if len(items) == 2:
            items.append(ConstantVariable(None))
        self.push(SliceVariable(items, **VariableTracker.propagate(items)))

    def BINARY_SLICE(self, inst: Instruction) -> None:
        container, start, stop = self.popn(3)
        key = SliceVariable([start, stop, ConstantVariable(None)])
        self.push(container.getitem(self, key).with_guards(start.guards | stop.guards))

    def STORE_SLICE(self, inst: Instruction) -> None:
        value, container, start, stop = self.popn(4)
        self.output.chosen_by(start, stop)
        container.setitem(self, SliceVariable([start, stop, ConstantVariable(None)]), value)

    # --- attributes

    def LOAD_ATTR(self, inst: Instruction) -> None:
        if opcodes.METHOD_FLAG_IN_LOAD_ATTR and (inst.arg or 0) & 1:
            self.LOAD_METHOD(inst)
            return
        owner = self.pop()
        self.push(self._attribute(owner, inst.argval))

    def _attribute(self, owner: VariableTracker, name: str) -> VariableTracker:
        return owner.var_getattr(self, name).with_guards(owner.guards)

    def LOAD_METHOD(self, inst: Instruction) -> None:
        owner = self.pop()
        found = self._attribute(owner, inst.argval)
        if isinstance(found, BoundBuiltinMethod) and (unbound := found.unbound(owner)) is not None:
            self.push(unbound)
            self.push(owner)
        elif opcodes.CALLABLE_BELOW_NULL:
            self.push(found)
            self.push(NullVariable())
        else:
            self.push(NullVariable())
            self.push(found)

    def STORE_ATTR(self, inst: Instruction) -> None:
        value, owner = self.popn(2)
        owner.var_setattr(self, inst.argval, value)

    def DELETE_ATTR(self, inst: Instruction) -> None:
        self.pop().var_delattr(self, inst.argval)

    def LOAD_SUPER_ATTR(self, inst: Instruction) -> None:
        _, typevar, objvar = self.popn(3)
        found = self._attribute(SuperVariable(typevar, objvar), inst.argval)
        method = (inst.arg or 0) & 1
        if method and not opcodes.CALLABLE_BELOW_NULL:
            self.push(NullVariable())
        self.push(found)
        if method and opcodes.CALLABLE_BELOW_NULL:
            self.push(NullVariable())
