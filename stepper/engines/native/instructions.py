"""One method for each opcode of CPython 3.11, 3.12 and 3.13."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any

from stepper.engines.native import opcodes
from stepper.engines.native.exc import unimplemented
from stepper.engines.native.guard_builder import GuardBuilder
from stepper.engines.native.opcodes import Instruction
from stepper.engines.native.source import BuiltinSource, GlobalSource
from stepper.engines.native.variables.base import (
    AttributeMutationExisting,
    NullVariable,
    VariableTracker,
)
from stepper.engines.native.variables.builtin import binary_op, fold, unary_op
from stepper.engines.native.variables.constant import ConstantVariable, is_constant, wrap_constant
from stepper.engines.native.variables.ctx_manager import GradModeVariable
from stepper.engines.native.variables.dicts import ConstDictVariable, key_of, pairs_of
from stepper.engines.native.variables.functions import CellVariable, NestedUserFunctionVariable
from stepper.engines.native.variables.iter import IteratorVariable, iterate
from stepper.engines.native.variables.lists import (
    BaseListVariable,
    ListVariable,
    SliceVariable,
    TupleVariable,
)
from stepper.engines.native.variables.misc import SuperVariable
from stepper.engines.native.variables.tensor import TensorVariable


class NamespaceVariable(VariableTracker):
    """A module's global variables, as something that the frame changes.

    namespace: the dictionary.
    """

    def __init__(self, namespace: dict[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self.namespace = namespace


class Instructions:
    """The methods; see `InstructionTranslatorBase` for what they use."""

    if TYPE_CHECKING:
        output: Any
        stack: list[VariableTracker]
        symbolic_locals: dict[str, VariableTracker]
        block_stack: list[tuple[int, VariableTracker]]
        kw_names: tuple[str, ...]
        f_code: Any
        f_globals: dict[str, Any]
        f_builtins: dict[str, Any]
        instructions: tuple[Instruction, ...]
        instruction_pointer: int
        result: VariableTracker | None
        yielded: VariableTracker | None
        root: Any
        push: Any
        pop: Any
        popn: Any
        realize: Any
        build: Any
        call_function: Any

    # --- nothing

    def NOP(self, inst: Instruction) -> None:
        pass

    RESUME = CACHE = EXTENDED_ARG = PRECALL = COPY_FREE_VARS = NOP

    # --- the stack

    def POP_TOP(self, inst: Instruction) -> None:
        self.stack.pop()

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

    LOAD_FAST_CHECK = LOAD_CLOSURE = LOAD_FAST

    def _load_fast(self, name: str) -> None:
        found = self.symbolic_locals.get(name)
        if found is None:
            raise unimplemented(f"UnboundLocalError: {name}")
        value = self.realize(found)
        if value is not found:
            self.symbolic_locals[name] = value
        self.stack.append(value)

    def LOAD_FAST_AND_CLEAR(self, inst: Instruction) -> None:
        self.push(self.symbolic_locals.pop(inst.argval, None) or NullVariable())

    def LOAD_FAST_LOAD_FAST(self, inst: Instruction) -> None:
        for name in inst.argval:
            self._load_fast(name)

    def STORE_FAST(self, inst: Instruction) -> None:
        self._store_fast(inst.argval)

    STORE_FAST_MAYBE_NULL = STORE_FAST

    def _store_fast(self, name: str) -> None:
        value = self.pop()
        if isinstance(value, NullVariable):
            self.symbolic_locals.pop(name, None)
        else:
            self.symbolic_locals[name] = value

    def STORE_FAST_LOAD_FAST(self, inst: Instruction) -> None:
        self._store_fast(inst.argval[0])
        self._load_fast(inst.argval[1])

    def STORE_FAST_STORE_FAST(self, inst: Instruction) -> None:
        for name in inst.argval:
            self._store_fast(name)

    def DELETE_FAST(self, inst: Instruction) -> None:
        if inst.argval not in self.symbolic_locals:
            raise unimplemented(f"UnboundLocalError: {inst.argval}")
        del self.symbolic_locals[inst.argval]

    def MAKE_CELL(self, inst: Instruction) -> None:
        name = inst.argval
        value = self.symbolic_locals.get(name)
        self.symbolic_locals[name] = CellVariable.new(self, name, value)  # type: ignore[arg-type]

    def _cell(self, name: str) -> CellVariable:
        cell = self.symbolic_locals[name]
        if not isinstance(cell, CellVariable):
            raise unimplemented(f"variable {name} that is no cell")
        return cell

    def LOAD_DEREF(self, inst: Instruction) -> None:
        self.push(self._cell(inst.argval).contents(self))  # type: ignore[arg-type]

    def STORE_DEREF(self, inst: Instruction) -> None:
        cell = self._cell(inst.argval)
        self.output.side_effects.store_attr(cell, "cell_contents", self.pop())

    def LOAD_CONST(self, inst: Instruction) -> None:
        self.push(self._constant(inst.argval))

    def _constant(self, value: Any) -> VariableTracker:
        if is_constant(value):
            return wrap_constant(value)
        return ConstantVariable(value)  # a code object, for MAKE_FUNCTION

    def LOAD_ASSERTION_ERROR(self, inst: Instruction) -> None:
        raise unimplemented("an assertion that fails")

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
            found: NamespaceVariable = known[1]
            return found
        made = NamespaceVariable(self.f_globals, mutation_type=AttributeMutationExisting())
        self.output.remember_variable(self.f_globals, made)
        return made

    def _global(self, name: str) -> VariableTracker:
        if self.output.side_effects.attributes:
            stored = self.output.side_effects.load_attr(self._namespace(), name)
            if stored is not None:
                return stored  # type: ignore[no-any-return]
        source = self._global_source(name)
        if name in self.f_globals:
            return self.build(source, self.f_globals[name])  # type: ignore[no-any-return]
        if name not in self.f_builtins:
            raise unimplemented(f"NameError: {name}")
        self.output.install_guard(source, GuardBuilder.EXPRESSION, name=source.missing())
        return self.build(  # type: ignore[no-any-return]
            BuiltinSource(name, self.f_builtins), self.f_builtins[name]
        )

    def _global_source(self, name: str) -> GlobalSource:
        if self.f_globals is self.root.f_globals:
            return GlobalSource(name)
        module = self.f_globals.get("__name__")
        known = sys.modules.get(module) if type(module) is str else None
        if known is None or getattr(known, "__dict__", None) is not self.f_globals:
            raise unimplemented(f"global variables of {module}, which is no module")
        return GlobalSource(name, str(module), self.f_globals)

    def STORE_GLOBAL(self, inst: Instruction) -> None:
        self._global_source(inst.argval)
        self.output.side_effects.store_attr(self._namespace(), inst.argval, self.pop())

    def IMPORT_NAME(self, inst: Instruction) -> None:
        level, names = self.popn(2)
        module = sys.modules.get(inst.argval)
        if level.as_python_constant() or module is None:
            raise unimplemented(f"import of {inst.argval}")
        if names.as_python_constant() is None:
            module = sys.modules[inst.argval.partition(".")[0]]
        source = GlobalSource(module.__name__, "sys.modules", sys.modules)
        self.push(self.build(source, module))

    def IMPORT_FROM(self, inst: Instruction) -> None:
        self.push(self.stack[-1].var_getattr(self, inst.argval))  # type: ignore[arg-type]

    # --- operators

    def BINARY_OP(self, inst: Instruction) -> None:
        a, b = self.popn(2)
        self.push(binary_op(self, opcodes.BINARY_OPERATORS[inst.arg or 0], a, b))  # type: ignore[arg-type]

    def COMPARE_OP(self, inst: Instruction) -> None:
        a, b = self.popn(2)
        found = binary_op(self, opcodes.compare_operator(inst.arg or 0), a, b)  # type: ignore[arg-type]
        self.push(found)

    def IS_OP(self, inst: Instruction) -> None:
        a, b = self.popn(2)
        answer = self._is(a, b) is not bool(inst.argval)
        self.push(ConstantVariable(answer, **VariableTracker.propagate(a, b)))

    def _is(self, a: VariableTracker, b: VariableTracker) -> bool:
        if isinstance(a, ConstantVariable) and isinstance(b, ConstantVariable):
            if any(v is None or type(v) in (bool, type(...)) for v in (a.value, b.value)):
                return a.value is b.value
            if type(a.value) is not type(b.value):
                return False
            raise unimplemented("the identity of constants")
        if a is b:
            return True
        for constant, other in ((a, b), (b, a)):
            if isinstance(constant, ConstantVariable):
                return False
            del other
        if a.mutation_type is not None or b.mutation_type is not None:
            if a.mutation_type is b.mutation_type:
                return True
            self._guard_distinct(a, b)
            return False
        if isinstance(a, TensorVariable) and isinstance(b, TensorVariable):
            if a.proxy.node is b.proxy.node:
                return True
            self._guard_distinct(a, b)
            return False
        values = [getattr(v, "value", getattr(v, "fn", None)) for v in (a, b)]
        if values[0] is not None and values[1] is not None:
            return values[0] is values[1]
        raise unimplemented("the identity of values")

    def _guard_distinct(self, a: VariableTracker, b: VariableTracker) -> None:
        if a.source is not None and b.source is not None:
            name = f"{a.source.name()} is not {b.source.name()}"
            self.output.install_guard(a.source, GuardBuilder.EXPRESSION, name=name)

    def CONTAINS_OP(self, inst: Instruction) -> None:
        item, container = self.popn(2)
        found = container.contains(self, item)
        options = VariableTracker.propagate(item, container)
        self.push(ConstantVariable(found is not bool(inst.argval), **options))

    def UNARY_NEGATIVE(self, inst: Instruction) -> None:
        self.push(unary_op(self, operator.neg, self.pop()))  # type: ignore[arg-type]

    def UNARY_POSITIVE(self, inst: Instruction) -> None:
        self.push(unary_op(self, operator.pos, self.pop()))  # type: ignore[arg-type]

    def UNARY_INVERT(self, inst: Instruction) -> None:
        self.push(unary_op(self, operator.invert, self.pop()))  # type: ignore[arg-type]

    def UNARY_NOT(self, inst: Instruction) -> None:
        value = self.pop()
        self.push(ConstantVariable(not value.truth(self), guards=value.guards))

    def TO_BOOL(self, inst: Instruction) -> None:
        following = self.instructions[self.instruction_pointer].opname
        if isinstance(self.stack[-1], TensorVariable) and following.startswith("POP_JUMP"):
            return  # the jump is where the graph is broken
        value = self.pop()
        self.push(ConstantVariable(value.truth(self), guards=value.guards))

    def BINARY_SUBSCR(self, inst: Instruction) -> None:
        container, key = self.popn(2)
        self.push(container.getitem(self, key))

    def STORE_SUBSCR(self, inst: Instruction) -> None:
        value, container, key = self.popn(3)
        container.setitem(self, key, value)

    def DELETE_SUBSCR(self, inst: Instruction) -> None:
        container, key = self.popn(2)
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
        container.setitem(self, SliceVariable([start, stop, ConstantVariable(None)]), value)

    # --- attributes

    def LOAD_ATTR(self, inst: Instruction) -> None:
        if opcodes.METHOD_FLAG_IN_LOAD_ATTR and (inst.arg or 0) & 1:
            self.LOAD_METHOD(inst)
            return
        owner = self.pop()
        self.push(self._attribute(owner, inst.argval))

    def _attribute(self, owner: VariableTracker, name: str) -> VariableTracker:
        return owner.var_getattr(self, name).with_guards(owner.guards)  # type: ignore[arg-type]

    def LOAD_METHOD(self, inst: Instruction) -> None:
        found = self._attribute(self.pop(), inst.argval)
        if opcodes.CALLABLE_BELOW_NULL:
            self.push(found)
            self.push(NullVariable())
        else:
            self.push(NullVariable())
            self.push(found)

    def STORE_ATTR(self, inst: Instruction) -> None:
        value, owner = self.popn(2)
        owner.var_setattr(self, inst.argval, value)

    def LOAD_SUPER_ATTR(self, inst: Instruction) -> None:
        _, typevar, objvar = self.popn(3)
        found = self._attribute(SuperVariable(typevar, objvar), inst.argval)
        method = (inst.arg or 0) & 1
        if method and not opcodes.CALLABLE_BELOW_NULL:
            self.push(NullVariable())
        self.push(found)
        if method and opcodes.CALLABLE_BELOW_NULL:
            self.push(NullVariable())

    # --- containers

    def BUILD_TUPLE(self, inst: Instruction) -> None:
        items = self.popn(inst.argval)
        self.push(TupleVariable(items, **VariableTracker.propagate(items)))

    def BUILD_LIST(self, inst: Instruction) -> None:
        items = self.popn(inst.argval)
        self.push(ListVariable.new(items, VariableTracker.propagate(items)["guards"]))

    def BUILD_MAP(self, inst: Instruction) -> None:
        flat = self.popn(inst.argval * 2)
        items = {key_of(k): v for k, v in zip(flat[::2], flat[1::2], strict=True)}
        self.push(ConstDictVariable.new(items, VariableTracker.propagate(flat)["guards"]))

    def BUILD_CONST_KEY_MAP(self, inst: Instruction) -> None:
        keys = self.pop().as_python_constant()
        values = self.popn(inst.argval)
        items = dict(zip(keys, values, strict=True))
        self.push(ConstDictVariable.new(items, VariableTracker.propagate(values)["guards"]))

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

    def DICT_UPDATE(self, inst: Instruction) -> None:
        value = self.pop()
        self._at(inst).call_method(self, "update", [value], {})

    def DICT_MERGE(self, inst: Instruction) -> None:
        value = self.pop()
        target = self._at(inst)
        if set(pairs_of(self, value)) & set(target.items):  # type: ignore[arg-type]
            raise unimplemented("TypeError: a keyword argument that is given twice")
        target.call_method(self, "update", [value], {})

    def LIST_TO_TUPLE(self, inst: Instruction) -> None:
        value = self.pop()
        self.push(TupleVariable(value.items, **VariableTracker.propagate(value)))

    def UNPACK_SEQUENCE(self, inst: Instruction) -> None:
        value = self.pop()
        items = value.unpack(self)
        if len(items) != inst.argval:
            raise unimplemented("ValueError: not as many values to unpack")
        for item in reversed(items):
            self.push(item.with_guards(value.guards))

    def UNPACK_EX(self, inst: Instruction) -> None:
        before, after = inst.argval & 0xFF, inst.argval >> 8
        value = self.pop()
        items = value.unpack(self)
        if len(items) < before + after:
            raise unimplemented("ValueError: not enough values to unpack")
        end = len(items) - after
        middle = ListVariable.new(items[before:end], value.guards)
        for item in reversed([*items[:before], middle, *items[end:]]):
            self.push(item)

    def GET_LEN(self, inst: Instruction) -> None:
        value = self.stack[-1]
        if not isinstance(value, BaseListVariable):
            raise unimplemented("the length of a subject")
        self.push(ConstantVariable(len(value.items), guards=value.guards))

    # --- text

    def FORMAT_VALUE(self, inst: Instruction) -> None:
        flags = inst.arg or 0
        spec = self.pop() if flags & 4 else ConstantVariable("")
        self.push(self._format(self.pop(), (None, str, repr, ascii)[flags & 3], spec))

    def CONVERT_VALUE(self, inst: Instruction) -> None:
        convert = (None, str, repr, ascii)[inst.arg or 0]
        assert convert is not None
        self.push(fold(convert, [self.pop()], {}))

    def FORMAT_SIMPLE(self, inst: Instruction) -> None:
        self.push(self._format(self.pop(), None, ConstantVariable("")))

    def FORMAT_WITH_SPEC(self, inst: Instruction) -> None:
        value, spec = self.popn(2)
        self.push(self._format(value, None, spec))

    def _format(self, value: VariableTracker, convert: Any, spec: VariableTracker) -> Any:
        if not value.is_python_constant():
            raise unimplemented(f"the text of {value.describe()}")
        if convert is not None:
            value = fold(convert, [value], {})
        return fold(format, [value, spec], {})

    # --- calls

    def KW_NAMES(self, inst: Instruction) -> None:
        self.kw_names = self.f_code.co_consts[inst.arg]

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
        positional = len(args) - len(names)
        kwargs = dict(zip(names, args[positional:], strict=True))
        self.call_function(fn, args[:positional], kwargs)

    def CALL_FUNCTION_EX(self, inst: Instruction) -> None:
        kwargs: dict[str, VariableTracker] = {}
        if inst.argval & 1:
            mapping = self.pop()
            if not isinstance(mapping, ConstDictVariable):
                raise unimplemented("keyword arguments of another mapping")
            kwargs = {key: self.realize(value) for key, value in mapping.items.items()}
        args = self.pop().unpack(self)
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
            case _:
                raise unimplemented(f"CALL_INTRINSIC_1 {inst.arg}")

    def MAKE_FUNCTION(self, inst: Instruction) -> None:
        code = self.pop().as_python_constant()
        flags = (inst.arg or 0) if not opcodes.FUNCTION_ATTRIBUTES_APART else 0
        cells = self.pop().items if flags & 8 else ()
        if flags & 4:
            self.pop()
        kwdefaults = self.pop().items if flags & 2 else None
        defaults = self.pop().unpack(self) if flags & 1 else ()
        self.push(
            NestedUserFunctionVariable(
                code, self.f_globals, None, defaults, kwdefaults, cells, bool(flags & 4)
            )
        )

    def SET_FUNCTION_ATTRIBUTE(self, inst: Instruction) -> None:
        attribute, fn = self.popn(2)
        values = [fn.defaults, fn.kwdefaults, fn.cells, fn.annotated]
        match inst.arg:
            case 1:
                values[0] = attribute.unpack(self)
            case 2:
                values[1] = attribute.items
            case 4:
                values[3] = True
            case 8:
                values[2] = attribute.items
        self.push(NestedUserFunctionVariable(fn.code, fn.f_globals, None, *values))

    def RETURN_VALUE(self, inst: Instruction) -> None:
        self.result = self.pop()

    def RETURN_CONST(self, inst: Instruction) -> None:
        self.result = self._constant(inst.argval)

    def RETURN_GENERATOR(self, inst: Instruction) -> None:
        self.push(ConstantVariable(None))

    def YIELD_VALUE(self, inst: Instruction) -> None:
        self.yielded = self.pop()

    # --- jumps

    def _jump(self, inst: Instruction) -> None:
        assert inst.target is not None
        self.instruction_pointer = inst.target

    JUMP_FORWARD = JUMP_BACKWARD = JUMP_BACKWARD_NO_INTERRUPT = JUMP_ABSOLUTE = _jump

    def _truth(self, value: VariableTracker) -> bool:
        return value.truth(self)  # type: ignore[arg-type]

    def POP_JUMP_IF_TRUE(self, inst: Instruction) -> None:
        if self._truth(self.pop()):
            self._jump(inst)

    def POP_JUMP_IF_FALSE(self, inst: Instruction) -> None:
        if not self._truth(self.pop()):
            self._jump(inst)

    def POP_JUMP_IF_NONE(self, inst: Instruction) -> None:
        if self._is(self.pop(), ConstantVariable(None)):
            self._jump(inst)

    def POP_JUMP_IF_NOT_NONE(self, inst: Instruction) -> None:
        if not self._is(self.pop(), ConstantVariable(None)):
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
        self.push(iterate(self, value))  # type: ignore[arg-type]

    def FOR_ITER(self, inst: Instruction) -> None:
        iterator = self.output.side_effects.latest(self.stack[-1])
        if not isinstance(iterator, IteratorVariable):
            raise unimplemented(f"iteration of {iterator.describe()}")
        value = iterator.next_variable(self)  # type: ignore[arg-type]
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

    # --- blocks

    def BEFORE_WITH(self, inst: Instruction) -> None:
        manager = self.pop()
        if not isinstance(manager, GradModeVariable):
            raise unimplemented(f"a with block of {manager.describe()}")
        exit_function, value = manager.enter(self)  # type: ignore[arg-type]
        self.block_stack.append((inst.index, exit_function))
        self.push(exit_function)
        self.push(value)
