"""Opcodes that move values: between the stack, local and global variables, and modules."""

from __future__ import annotations

import builtins
import sys
import types

import torch

from stepper.native.bytecode import opcodes
from stepper.native.bytecode.opcodes import Instruction
from stepper.native.exc import Unsupported, unimplemented
from stepper.native.guards.class_dicts import MISSING, has_finalizer
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.polyfills import is_polyfill
from stepper.native.protocols import Translator
from stepper.native.source import BuiltinSource, ConstantSource, GlobalSource, LocalSource
from stepper.native.variables.base import (
    AttributeMutationExisting,
    NullVariable,
    VariableTracker,
    note_let_go,
    refuse_replaced,
)
from stepper.native.variables.builtin import BuiltinVariable
from stepper.native.variables.constant import CONSTANT_TYPES, ConstantVariable, is_constant
from stepper.native.variables.exceptions import ExceptionClassVariable, observed
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.functions import CellVariable, UserFunctionVariable
from stepper.native.variables.lists import TupleVariable
from stepper.native.variables.namespace import NamespaceVariable, global_source, vars_of
from stepper.support import break_kinds
from stepper.support.words import one_of

_IMPORT = builtins.__import__


class NameInstructions(Translator):
    """The stack, and what has a name."""

    # --- nothing

    def NOP(self, inst: Instruction) -> None:
        pass

    RESUME = CACHE = EXTENDED_ARG = PRECALL = COPY_FREE_VARS = NOT_TAKEN = NOP

    # --- the stack

    def POP_TOP(self, inst: Instruction) -> None:
        self._let_go(self.stack.pop())

    def _let_go(self, value: VariableTracker | None) -> None:
        """To be asked when one variable less has the value."""
        if value is None or not isinstance(value.source, LocalSource):
            return
        held = self.f_locals.get(value.source.local_name)
        if any(value is each for each in (*self.stack, *self.symbolic_locals.values())):
            return
        if has_finalizer(held):
            raise value.refuse("letting go")
        note_let_go(self.output, value, held)

    POP_ITER = POP_TOP

    def PUSH_NULL(self, inst: Instruction) -> None:
        self.push(NullVariable())

    def COPY(self, inst: Instruction) -> None:
        self.push(self.stack[-inst.argval])

    def SWAP(self, inst: Instruction) -> None:
        stack, n = self.stack, inst.argval
        stack[-1], stack[-n] = stack[-n], stack[-1]

    # --- variables

    def LOAD_FAST(self, inst: Instruction) -> None:
        self._load_fast(inst.argval)

    LOAD_FAST_CHECK = LOAD_FAST_BORROW = LOAD_CLOSURE = LOAD_FAST

    def _load_fast(self, name: str) -> None:
        found = self.symbolic_locals.get(name)
        if found is None:
            raise unbound(name)
        value = self.realize(found)
        if value is not found:
            self.symbolic_locals[name] = value
        self.stack.append(value)

    def LOAD_FAST_AND_CLEAR(self, inst: Instruction) -> None:
        held = self.symbolic_locals
        self.push(held.pop(inst.argval) if inst.argval in held else NullVariable())

    def LOAD_FAST_LOAD_FAST(self, inst: Instruction) -> None:
        for name in inst.argval:
            self._load_fast(name)

    LOAD_FAST_BORROW_LOAD_FAST_BORROW = LOAD_FAST_LOAD_FAST

    def STORE_FAST(self, inst: Instruction) -> None:
        self._store_fast(inst.argval)

    def _store_fast(self, name: str) -> None:
        value = self.pop()
        if isinstance(value, NullVariable):
            self.symbolic_locals.pop(name, None)
        else:
            before = self.symbolic_locals.get(name)
            self.symbolic_locals[name] = value
            self._let_go(before)

    def STORE_FAST_LOAD_FAST(self, inst: Instruction) -> None:
        self._store_fast(inst.argval[0])
        self._load_fast(inst.argval[1])

    def STORE_FAST_STORE_FAST(self, inst: Instruction) -> None:
        for name in inst.argval:
            self._store_fast(name)

    def DELETE_FAST(self, inst: Instruction) -> None:
        if inst.argval not in self.symbolic_locals:
            raise unbound(inst.argval)
        self._let_go(self.symbolic_locals.pop(inst.argval))

    def MAKE_CELL(self, inst: Instruction) -> None:
        name = inst.argval
        value = self.symbolic_locals.get(name)
        self.symbolic_locals[name] = CellVariable.new(self, name, value)

    def _cell(self, name: str) -> CellVariable:
        cell = self.symbolic_locals[name]
        if not isinstance(cell, CellVariable):
            raise unimplemented(f"variable {name} that is no cell")
        return cell

    def LOAD_DEREF(self, inst: Instruction) -> None:
        self.push(self._cell(inst.argval).contents(self))

    def STORE_DEREF(self, inst: Instruction) -> None:
        self._cell(inst.argval).store(self, self.pop())

    def LOAD_CONST(self, inst: Instruction) -> None:
        self.push(self._constant(inst.argval))

    def LOAD_SMALL_INT(self, inst: Instruction) -> None:
        self.push(ConstantVariable(inst.arg or 0))

    def LOAD_COMMON_CONSTANT(self, inst: Instruction) -> None:
        value = opcodes.COMMON_CONSTANTS[inst.arg or 0]
        if isinstance(value, type) and issubclass(value, BaseException):
            self.push(ExceptionClassVariable(value))
        else:
            self.push(BuiltinVariable(value))

    def _constant(self, value: object) -> VariableTracker:
        if type(value) in CONSTANT_TYPES:
            return ConstantVariable(value)
        if type(value) is tuple and is_constant(value):
            return TupleVariable(map(self._constant, value), source=ConstantSource(value))
        if is_constant(value):
            return wrap_constant(value)
        return ConstantVariable(value)  # a code object, for MAKE_FUNCTION

    # --- global variables

    def LOAD_GLOBAL(self, inst: Instruction) -> None:
        null = inst.arg is not None and inst.arg & 1
        if null and not opcodes.CALLABLE_BELOW_NULL:
            self.push(NullVariable())
        self.push(self._global(inst.argval))
        if null and opcodes.CALLABLE_BELOW_NULL:
            self.push(NullVariable())

    def LOAD_NAME(self, inst: Instruction) -> None:
        raise unimplemented("code of a module or class body")

    def _namespace(self) -> NamespaceVariable:
        known = self.output.variables.get(id(self.f_globals))
        if known is not None:
            if not isinstance(known[1], NamespaceVariable):
                raise unimplemented("a global variable, beside the dictionary of all of them")
            return known[1]
        made = NamespaceVariable(self.f_globals, mutation_type=AttributeMutationExisting())
        self.output.remember_variable(self.f_globals, made)
        return made

    def _global(self, name: str) -> VariableTracker:
        if self.output.side_effects.attributes:
            stored = self.output.side_effects.load_attr(self._namespace(), name)
            if stored is not None:
                return stored
        key = id(self.f_globals), name
        value = self.f_globals.get(name, self.f_builtins.get(name, MISSING))
        known = self.output.globals.get(key)
        if known is not None and known[0] is value:
            return self.realize(known[1])
        found = self._found_global(name)
        self.output.remember_global(key, value, found)
        return found

    def _found_global(self, name: str) -> VariableTracker:
        if is_polyfill(self.f_code):  # no concern of the program's, and of no guard
            value = self.f_globals.get(name, self.f_builtins.get(name))
            if value is torch:
                return self.build(ConstantSource(value), value)
            return _in_polyfill(value)
        source = self._global_source(name)
        if name in self.f_globals:
            return self.build(source, self.f_globals[name])
        install = self.output.install_guard
        guards = install(source, GuardBuilder.EXPRESSION, name=source.missing())
        if name not in self.f_builtins:
            builtin = BuiltinSource(name, namespace=self.f_builtins)
            guards |= install(builtin, GuardBuilder.EXPRESSION, name=builtin.missing())
            self.output.chosen(guards)
            raise observed(NameError, f"name {name!r} is not defined", name=name)
        found = self.build(BuiltinSource(name, namespace=self.f_builtins), self.f_builtins[name])
        return found.with_guards(guards)

    def _global_source(self, name: str) -> GlobalSource:
        return global_source(self, self.f_globals, name)

    def STORE_GLOBAL(self, inst: Instruction) -> None:
        source, variables = self._global_source(inst.argval), self._namespace()
        refuse_replaced(self, variables, inst.argval, source, self.f_globals)
        self.output.side_effects.store_attr(variables, inst.argval, self.pop())

    def IMPORT_NAME(self, inst: Instruction) -> None:
        level, names = self.popn(2)
        full = self._module_name(inst.argval, level.as_python_constant())
        module = sys.modules.get(full)
        if module is None:
            raise unimplemented(f"import of {full or inst.argval}", kind=break_kinds.IMPORT)
        wanted = names.as_python_constant()
        if wanted is None:
            module = sys.modules[full.partition(".")[0]]
        elif any(name not in vars_of(module) for name in wanted):
            raise unimplemented(f"import from {full}, which may import a module of it")
        importer = BuiltinSource("__import__", namespace=self.f_builtins)
        if self.f_builtins.get("__import__") is not _IMPORT:
            raise unimplemented("an import by a function that is not Python's own")
        self.output.install_guard(importer, GuardBuilder.BUILTIN_MATCH, _IMPORT)
        source = GlobalSource(module.__name__, "sys.modules", sys.modules)
        self.push(self.build(source, module))

    def _module_name(self, name: str, level: int) -> str:
        """The whole name of a module that is imported; empty: nobody can tell."""
        if not level:
            return name
        if "__package__" not in self.f_globals:
            return ""
        package = self._global("__package__").as_python_constant()
        if type(package) is not str or not package:
            return ""
        first, *up = package.rsplit(".", level - 1)
        return ".".join(filter(None, (first, name))) if len(up) == level - 1 else ""

    def IMPORT_FROM(self, inst: Instruction) -> None:
        self.push(self.stack[-1].var_getattr(self, inst.argval))


def unbound(name: str) -> Unsupported:
    """To be raised where a local variable has no value."""
    text = f"cannot access local variable {name!r} where it is not associated with a value"
    return observed(UnboundLocalError, text, name=None)


def _in_polyfill(value: object) -> VariableTracker:
    if isinstance(value, types.FunctionType):
        return UserFunctionVariable(value)
    if isinstance(value, type) and issubclass(value, BaseException):
        return ExceptionClassVariable(value)
    if one_of(type(value), (int, bytes, types.NotImplementedType)):
        return ConstantVariable(value)
    return BuiltinVariable(value)
