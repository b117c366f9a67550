"""Opcodes of `match` statements: what a subject is, and what it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepper.native import polyfills
from stepper.native.bytecode.opcodes import Instruction
from stepper.native.guards.class_dicts import flags_of, is_fixed
from stepper.native.protocols import Translator
from stepper.native.variables.base import VariableTracker
from stepper.native.variables.builtin import BuiltinVariable
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.subclasses import counts_as

_SEQUENCE, _MAPPING = 1 << 5, 1 << 6  # Py_TPFLAGS_SEQUENCE, Py_TPFLAGS_MAPPING


class PatternInstructions(Translator):
    """Patterns."""

    def MATCH_MAPPING(self, inst: Instruction) -> None:
        self._push_whether(_MAPPING, Mapping)

    def MATCH_SEQUENCE(self, inst: Instruction) -> None:
        self._push_whether(_SEQUENCE, Sequence)

    def _push_whether(self, flag: int, abstract: type) -> None:
        """Whether the subject's class has a flag, which it gets once it counts as a subclass."""
        value = self.realize(self.stack[-1])
        kind = value.python_type()
        answer = bool(flags_of(kind) & flag)
        if not answer and not is_fixed(kind) and counts_as(self, kind, abstract):
            raise value.refuse("a pattern")
        self.push(ConstantVariable(answer, guards=value.guards))

    def MATCH_KEYS(self, inst: Instruction) -> None:
        subject, keys = self.realize(self.stack[-2]), self.stack[-1]
        if not isinstance(subject, ConstDictVariable):
            raise subject.refuse("a pattern of keys")
        self.push(self.interpret(polyfills.match_keys, [subject, keys], {}))

    def MATCH_CLASS(self, inst: Instruction) -> None:
        subject, kind, names = self.popn(3)
        count = ConstantVariable(inst.arg or 0)
        self.push(self.interpret(polyfills.match_class, [subject, kind, count, names], {}))

    def GET_LEN(self, inst: Instruction) -> None:
        value: VariableTracker = self.realize(self.stack[-1])
        self.push(BuiltinVariable(len).call_function(self, [value], {}))
