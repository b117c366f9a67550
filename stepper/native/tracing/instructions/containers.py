"""Opcodes that build containers and texts, and take them apart."""

from __future__ import annotations

from typing import Any

from stepper.native.bytecode import opcodes
from stepper.native.bytecode.opcodes import Instruction
from stepper.native.exc import unimplemented
from stepper.native.guards.class_dicts import has, lookup
from stepper.native.protocols import Translator
from stepper.native.variables.base import VariableTracker
from stepper.native.variables.builtin import BuiltinVariable
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable, key_of, pairs_of
from stepper.native.variables.exceptions import ExceptionVariable, cannot_unpack
from stepper.native.variables.folding import fold
from stepper.native.variables.iter import iterate
from stepper.native.variables.lists import ListVariable, TupleVariable
from stepper.native.variables.named_tuple import NamedTupleVariable
from stepper.native.variables.sets import SetVariable, made_of
from stepper.native.variables.templates import InterpolationVariable, TemplateVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.support import break_kinds

_SHOWN = UserDefinedObjectVariable | ExceptionVariable | NamedTupleVariable | SetVariable
"""What has no text of its own, but by methods of its class."""


class ContainerInstructions(Translator):
    """Containers and texts."""

    # --- containers

    def BUILD_TUPLE(self, inst: Instruction) -> None:
        items = self.popn(inst.argval)
        self.push(TupleVariable(items, **VariableTracker.propagate(items)))

    def BUILD_LIST(self, inst: Instruction) -> None:
        items = self.popn(inst.argval)
        self.push(ListVariable.new(items, VariableTracker.propagate(items)["guards"]))

    def BUILD_MAP(self, inst: Instruction) -> None:
        flat = self.popn(inst.argval * 2)
        items = {key_of(self, k): v for k, v in zip(flat[::2], flat[1::2], strict=True)}
        self.push(ConstDictVariable.new(items, VariableTracker.propagate(flat)["guards"]))

    def BUILD_CONST_KEY_MAP(self, inst: Instruction) -> None:
        keys = self.pop().as_python_constant()
        values = self.popn(inst.argval)
        items = dict(zip(keys, values, strict=True))
        self.push(ConstDictVariable.new(items, VariableTracker.propagate(values)["guards"]))

    def BUILD_SET(self, inst: Instruction) -> None:
        self.push(made_of(self, self.popn(inst.argval)))

    def SET_ADD(self, inst: Instruction) -> None:
        value = self.pop()
        self._at(inst).call_method(self, "add", [value], {})

    def SET_UPDATE(self, inst: Instruction) -> None:
        value = self.pop()
        self._at(inst).call_method(self, "update", [value], {})

    def BUILD_STRING(self, inst: Instruction) -> None:
        parts = self.popn(inst.argval)
        self.push(fold(lambda *texts: "".join(texts), parts, {}))

    def LIST_APPEND(self, inst: Instruction) -> None:
        value = self.pop()
        self._at(inst).call_method(self, "append", [value], {})

    def _at(self, inst: Instruction) -> Any:
        return self.output.side_effects.latest(self.stack[-inst.argval])

    def MAP_ADD(self, inst: Instruction) -> None:
        key, value = self.popn(2)
        self._at(inst).setitem(self, key, value)

    def LIST_EXTEND(self, inst: Instruction) -> None:
        value = self.pop()
        self._at(inst).call_method(self, "extend", [value], {})

    def _mapping(self) -> VariableTracker:
        value = self.pop()
        if not has(value.python_type(), "keys"):
            raise value.refuse("use as a mapping")
        return value

    def DICT_UPDATE(self, inst: Instruction) -> None:
        value = self._mapping()
        self._at(inst).call_method(self, "update", [value], {})

    def DICT_MERGE(self, inst: Instruction) -> None:
        value = self._mapping()
        target = self._at(inst)
        given = pairs_of(self, value)
        if not target.items.keys().isdisjoint(given):
            raise unimplemented("TypeError: a keyword argument that is given twice")
        target.become(self, {**target.items, **given}, "update", value)

    def LIST_TO_TUPLE(self, inst: Instruction) -> None:
        value = self.pop()
        assert isinstance(value, ListVariable)
        self.push(TupleVariable(value.items, **VariableTracker.propagate(value)))

    def UNPACK_SEQUENCE(self, inst: Instruction) -> None:
        value = self.pop()
        if isinstance(value, ConstantVariable) and not isinstance(value.value, str | bytes):
            raise cannot_unpack(value, inst.argval)
        items = value.unpack(self)
        self.output.chosen_by(value)
        if len(items) != inst.argval:
            raise cannot_unpack(value, inst.argval, count=len(items))
        for item in reversed(items):
            self.push(item.with_guards(value.guards))

    def UNPACK_EX(self, inst: Instruction) -> None:
        before, after = inst.argval & 0xFF, inst.argval >> 8
        value = self.pop()
        if isinstance(value, ConstantVariable) and not isinstance(value.value, str | bytes):
            raise cannot_unpack(value, before, after)
        iterator = iterate(self, value)
        first = iterator.take(self, before)
        rest = self.output.side_effects.latest(iterator).listed(self)
        self.output.chosen_by(value)
        if len(first) < before or len(rest) < after:
            raise cannot_unpack(value, before, after, len(first) + len(rest))
        end = len(rest) - after
        middle = ListVariable.new(rest[:end], value.guards)
        for item in reversed([*first, middle, *rest[end:]]):
            self.push(item)

    # --- text

    def FORMAT_VALUE(self, inst: Instruction) -> None:
        flags = inst.arg or 0
        spec = self.pop() if flags & 4 else ConstantVariable("")
        self.push(self._format(self.pop(), (None, str, repr, ascii)[flags & 3], spec))

    def CONVERT_VALUE(self, inst: Instruction) -> None:
        convert = (None, str, repr, ascii)[inst.arg or 0]
        assert convert is not None
        self.push(BuiltinVariable(convert).call_function(self, [self.pop()], {}))

    def FORMAT_SIMPLE(self, inst: Instruction) -> None:
        self.push(self._format(self.pop(), None, ConstantVariable("")))

    def FORMAT_WITH_SPEC(self, inst: Instruction) -> None:
        value, spec = self.popn(2)
        self.push(self._format(value, None, spec))

    def BUILD_INTERPOLATION(self, inst: Instruction) -> None:
        number = inst.arg or 0
        has_spec = number & opcodes.INTERPOLATION_HAS_SPEC
        spec = self.pop() if has_spec else ConstantVariable("")
        letter = (None, "s", "r", "a")[number >> opcodes.INTERPOLATION_CONVERSION]
        self.push(InterpolationVariable.new(*self.popn(2), ConstantVariable(letter), spec))

    def BUILD_TEMPLATE(self, inst: Instruction) -> None:
        self.push(TemplateVariable.new(*self.popn(2)))

    def _format(self, value: VariableTracker, convert: Any, spec: VariableTracker) -> Any:
        of_class = issubclass(value.python_type(), type)
        if convert is None and (of_class or isinstance(value, _SHOWN)):
            if isinstance(value, UserDefinedObjectVariable) and value.has_special("__format__"):
                return value.special(self, "__format__", [spec])
            by_text = lookup(value.python_type(), "__format__") is object.__dict__["__format__"]
            convert = str if by_text and not spec.as_python_constant() else None
        if convert is not None:
            value = BuiltinVariable(convert).call_function(self, [value], {})
        value = value.looked_into(self)
        if not value.is_python_constant():
            raise value.refuse("the text", kind=break_kinds.TEXT)
        return fold(format, [value, spec], {})
