"""Interprets a frame's bytecode on trackers, one instruction at a time.

`InstructionTranslatorBase.step` runs one instruction: it looks up the method of its name and calls
it. The methods are in `instructions`. An `InstructionTranslator` interprets the frame itself; for
each Python function that it calls, an `InliningInstructionTranslator` interprets that one.

When an instruction of the frame itself cannot be done, all that it has done so far is taken back,
and the graph is broken before it. When one of an inlined function cannot, the exception reaches the
frame, and it is the call that could not be done. So a graph is broken in the frame itself only.

Where it is broken: before the instruction, unless that stands in a `with` block of a mode under
which nothing would be captured, or an exception is being handled. Neither can be left half-way;
then the translation begins again, and the break is before the block, or before the instruction that
raised the exception.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from stepper.native import config
from stepper.native.bytecode.bytecode_transformation import Program
from stepper.native.bytecode.opcodes import Instruction, handler_of, listing
from stepper.native.exc import (
    RestartAnalysis,
    SkipFrame,
    Unsupported,
    unimplemented,
)
from stepper.native.guards.class_dicts import module_of
from stepper.native.polyfills import Polyfill, is_polyfill
from stepper.native.polyfills.table import refuse
from stepper.native.protocols import InlinedTranslator, Position, Translator
from stepper.native.source import ConstantSource, LocalSource, Source, type_of
from stepper.native.trace_rules import is_hint_of_torch, why_not_inline
from stepper.native.tracing.instructions import Instructions
from stepper.native.variables.base import (
    Arguments,
    AttributeMutationExisting,
    Keywords,
    LazyVariableTracker,
    VariableTracker,
)
from stepper.native.variables.builder import VariableBuilder
from stepper.native.variables.builtin import BuiltinVariable, binary_op
from stepper.native.variables.constant import ConstantVariable, is_nan
from stepper.native.variables.ctx_manager import ExitVariable
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.exceptions import (
    ExceptionVariable,
    ObservedException,
    TracebackVariable,
    raised,
)
from stepper.native.variables.functions import CellVariable, UserFunctionVariable
from stepper.native.variables.generators import LocalGeneratorObjectVariable
from stepper.native.variables.lists import BaseListVariable, SliceVariable, TupleVariable
from stepper.native.variables.tensor_subclass import dispatched
from stepper.support import break_kinds

if TYPE_CHECKING:
    from stepper.native.tracing.output_graph import OutputGraph

_GENERATOR = 0x20
_COROUTINES = 0x80 | 0x200
"""Flags of code."""


class InstructionTranslatorBase(Instructions):
    """What both translators share.

    f_code, f_globals: of the function that is interpreted.
    instructions: all of them; `instruction_pointer` is the index of the next.
    stack: the symbolic value stack, the top last.
    symbolic_locals: trackers by name of variable; of cells, the cell's.
    block_stack: the `with` blocks that have been entered, each with the index of its instruction.
    handled: the exceptions that are being handled in this function, the outermost first.
    output: what the whole translation makes.
    """

    output: OutputGraph
    depth: int
    parent: InstructionTranslatorBase | None
    root: InstructionTranslatorBase

    def __init__(
        self,
        output: OutputGraph,
        f_code: types.CodeType,
        f_globals: dict[str, object],
        symbolic_locals: dict[str, VariableTracker],
        parent: InstructionTranslatorBase | None,
    ) -> None:
        read = listing(f_code)
        self.output = output
        self.newest = output.side_effects.newest
        self.watcher = output.translation.watcher
        self.f_code = f_code
        self.f_globals = f_globals
        self.instructions = read.instructions
        self.instruction_pointer = 0
        self.current_instruction: Instruction = self.instructions[0]
        self.stack: list[VariableTracker] = []
        self.symbolic_locals = symbolic_locals
        self.f_locals: dict[str, object] = {}
        self.block_stack: list[tuple[int, VariableTracker]] = []
        self.kw_names: tuple[str, ...] = ()
        self.handled: list[ExceptionVariable] = []
        self.current_speculation = None
        self.parent = parent
        self.root = self if parent is None else parent.root
        self.depth = 0 if parent is None else parent.depth + 1
        self.result = None
        self.yielded = None

    # --- the stack

    def push(self, value: VariableTracker) -> None:
        """Put a value on the stack."""
        # Here and below without a call of `latest`: these are what most instructions do.
        key = value.mutation_type
        self.stack.append(value if key is None else self.newest.get(key, value))

    def pop(self) -> VariableTracker:
        """Take a value from the stack."""
        value = self.stack.pop()
        key = value.mutation_type
        return value if key is None else self.newest.get(key, value)

    def popn(self, n: int) -> list[VariableTracker]:
        """Take n values from the stack, the deepest first."""
        if n == 0:
            return []
        taken = self.stack[-n:]
        del self.stack[-n:]
        newest = self.newest
        return [newest.get(v.mutation_type, v) for v in taken] if newest else taken  # type: ignore[arg-type]  # None is no key of it

    # --- values

    def lazy(self, source: Source, value: object) -> VariableTracker:
        """A tracker that is made when it is needed."""
        return LazyVariableTracker(value, source)

    def build(self, source: Source, value: object) -> VariableTracker:
        """The tracker of an existing value, with its guards."""
        return self.output.side_effects.latest(VariableBuilder(self, source)(value))

    def realize(self, tracker: VariableTracker) -> VariableTracker:
        """What a lazy tracker stands for; anything else is the newest of itself."""
        if isinstance(tracker, LazyVariableTracker):
            assert tracker.source is not None
            return self.build(tracker.source, tracker.value)
        key = tracker.mutation_type
        return tracker if key is None else self.newest.get(key, tracker)

    def call_in_graph(
        self, op: str, target: object, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        """Add an operation to the graph."""
        if self.output.asks:
            answered = dispatched(self, op, target, args, kwargs)
            if answered is not None:
                return answered
        args = [self._for_graph(arg) for arg in args]
        kwargs = {key: self._for_graph(arg) for key, arg in kwargs.items()}
        output = self.output
        output.beside = output.beside or output.side_effects.pending or self.may_be_caught()
        return self.output.call(op, target, args, kwargs)

    def may_be_caught(self) -> bool:
        tx: InstructionTranslatorBase | None = self
        while tx is not None and tx.current_instruction.handler is None:
            tx = tx.parent
        return tx is not None

    def _for_graph(self, arg: VariableTracker) -> VariableTracker:
        arg = self.realize(arg)
        if isinstance(arg, BaseListVariable | SliceVariable) and (
            not arg.is_python_constant()
            or any(isinstance(item, LazyVariableTracker) for item in arg.items)
        ):
            items = [self._for_graph(item) for item in arg.items]
            # An operator takes a named tuple as a tuple.
            kind = TupleVariable if isinstance(arg, TupleVariable) else type(arg)
            return kind(items, guards=arg.guards, mutation_type=arg.mutation_type)
        if isinstance(arg, ConstDictVariable):
            raise unimplemented("a dictionary as an argument of an operator")
        return arg

    def class_variable(self, value: VariableTracker) -> VariableTracker:
        """`type(value)`."""
        kind = value.python_type()
        if module_of(kind) == "builtins":
            known = self.output.variables.get(id(kind))
            made = BuiltinVariable(kind) if known is None else known[1]
            if known is None:
                self.output.remember_variable(kind, made)
            return made.with_guards(value.guards)
        made_of = getattr(value, "cls", None)
        if isinstance(made_of, VariableTracker):
            return made_of.with_guards(value.guards)
        of_torch = issubclass(kind, torch.Tensor | torch.Size)
        named = module_of(kind) in ("torch.return_types", "numpy", "weakref")
        if value.source is None and (of_torch or named):
            return self.build(ConstantSource(kind), kind).with_guards(value.guards)
        if value.source is None:
            raise value.refuse("the type")
        return self.build(type_of(value.source), kind).with_guards(value.guards)

    def same_or_equal(self, a: VariableTracker, b: VariableTracker) -> bool:
        """`a is b or a == b`, as containers compare."""
        if a.identity is b.identity:
            return True
        if is_nan(a) and is_nan(b):
            raise a.refuse("whether it is the same NaN as another")
        return binary_op(self, operator.eq, a, b).truth(self)

    def spend(self, count: int) -> None:
        """Count work, so that a translation ends."""
        self.output.spent += count
        if self.output.spent > config.max_instructions:
            raise SkipFrame(f"more than {config.max_instructions} instructions to interpret")

    # --- calls

    def call_function(self, fn: VariableTracker, args: Arguments, kwargs: Keywords) -> None:
        """Call, and push the result."""
        effects = self.output.side_effects
        changes = effects.changes
        result = self.realize(fn).call_function(self, args, kwargs)
        if effects.changes != changes:  # where, and how often, constants have said
            given = (*args, *kwargs.values())
            self.output.chosen_by(fn, *(arg for arg in given if isinstance(arg, ConstantVariable)))
        self.push(result.with_guards(fn.guards))

    def interpret(self, function: Polyfill, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """What a polyfill gives."""
        assert isinstance(function, types.FunctionType)
        if self.f_code is function.__code__:  # it was to be known, given what is given here
            raise refused(function.__code__)
        made = UserFunctionVariable(function).call_function(self, args, kwargs)
        return made.with_guards(VariableTracker.propagate(args, list(kwargs.values()))["guards"])

    def inline_user_function(
        self,
        fn: VariableTracker,
        function: types.FunctionType,
        bind: Callable[[], dict[str, VariableTracker]],
    ) -> VariableTracker:
        """Interpret a function that is called; its result."""
        code = function.__code__
        if code is refuse.__code__:
            asked: InstructionTranslatorBase = self
            while asked.parent is not None and is_polyfill(asked.parent.f_code):
                asked = asked.parent
            raise refused(asked.f_code)
        if is_hint_of_torch(function, self.f_code):
            return ConstantVariable(None)
        reason = why_not_inline(function)
        if reason:
            raise unimplemented(reason)
        if code.co_flags & _COROUTINES:
            reason = f"a coroutine, {function.__qualname__}"
            raise unimplemented(reason, "wait outside of the compiled function")
        if self.depth >= config.max_inline_depth:
            raise unimplemented(f"more than {config.max_inline_depth} nested calls")
        symbolic_locals = bind()
        self.output.chosen_by(fn)
        tx = InliningInstructionTranslator(self, function, symbolic_locals)
        if code.co_flags & _GENERATOR:
            return LocalGeneratorObjectVariable.begin(tx)
        tx.run_inlined()
        assert tx.result is not None
        return tx.result

    # --- running

    def step(self) -> bool:
        """Interpret one instruction; whether there is one more."""
        inst = self.current_instruction = self.instructions[self.instruction_pointer]
        if self.watcher.step(self):
            return True
        self.instruction_pointer += 1
        method = getattr(self, inst.opname, None)
        if method is None:
            reason, context = f"instruction {inst.opname}", f"{inst.opname} of {inst.argval!r}"
            kind = (
                break_kinds.CLASS if inst.opname == "LOAD_BUILD_CLASS" else break_kinds.INSTRUCTION
            )
            raise unimplemented(reason, kind=kind, context=context)
        try:
            method(inst)
        except ObservedException as error:
            self._handle(inst, error)
        return self.result is None and self.yielded is None

    def _handle(self, inst: Instruction, error: ObservedException) -> None:
        """Go on where the function handles an exception that the instruction has raised."""
        value: ExceptionVariable = error.value
        if not error.again:
            self._note_raised(value)
            error.again = True
            error.in_polyfill = is_polyfill(self.f_code)
        entry = handler_of(self.f_code, inst.index)
        if entry is None:
            if error.in_polyfill and not (self.parent and is_polyfill(self.parent.f_code)):
                raise unimplemented(error.msg)  # what it stands for may raise another one
            raise error
        self.caught(inst, value)
        self.output.chosen_by_all()
        del self.stack[entry.depth :]
        if entry.lasti:
            self.push(ConstantVariable(inst.offset))
        self.push(value)
        self.kw_names = ()
        self.instruction_pointer = entry.target

    def _note_raised(self, value: ExceptionVariable) -> None:
        effects = self.output.side_effects
        effects.store_attr(value, "__traceback__", TracebackVariable())
        context = self.handled_exception()
        if context is None or context.identity is value.identity:
            return
        before: VariableTracker | None = context
        while before is not None:
            before = effects.load_attr(before, "__context__")
            if before is not None and before.identity is value.identity:
                raise unimplemented("exceptions that are each other's context")
        effects.store_attr(value, "__context__", context)

    def caught(self, inst: Instruction, value: ExceptionVariable) -> None:
        """An exception of the instruction is caught in this function."""

    def run(self) -> None:
        """Interpret until the function returns."""
        output, most = self.output, config.max_instructions
        while self.step():
            output.spent += 1
            if output.spent > most:
                self.spend(0)

    def leave_block(self, exit_function: VariableTracker) -> None:
        """A `with` block is left through its exit function."""
        if self.block_stack and self.block_stack[-1][1] is exit_function:
            self.block_stack.pop()


def refused(code: types.CodeType) -> Exception:
    """To be raised where what is interpreted in place of a builtin does not know what to do."""
    name = code.co_name.strip("_")
    kind = break_kinds.SORTING if name == "sorted" else break_kinds.WITH_THESE_VALUES
    return unimplemented(f"a call of builtin {name} with these values", kind=kind)


def builtins_of(function: Any) -> dict[str, object]:
    """Where a function looks for names that are not global."""
    found: dict[str, object] = function.__builtins__
    return found


class InstructionTranslator(InstructionTranslatorBase):
    """Interprets the frame itself.

    break_at: index of the instruction before which the graph must be broken, and why.
    """

    def __init__(
        self,
        output: OutputGraph,
        function: types.FunctionType,
        f_locals: dict[str, object],
        break_at: dict[int, str],
    ) -> None:
        code = function.__code__
        symbolic_locals: dict[str, VariableTracker] = {}
        arguments = set(code.co_varnames)
        for name, value in f_locals.items():
            if name in arguments:
                source = LocalSource(name, free=name in code.co_cellvars)
                symbolic_locals[name] = LazyVariableTracker(value, source)
        super().__init__(output, code, function.__globals__, symbolic_locals, None)
        self.f_builtins: dict[str, object] = builtins_of(function)
        self.break_at = break_at
        self.f_locals = f_locals
        self.raised_at: dict[object, int] = {}
        """For each exception that was caught here, the instruction that first raised it."""
        self._add_free_variables(function, f_locals)

    @cached_property
    def program(self) -> Program:
        """The frame's code, to be copied from."""
        return Program.of(self.f_code)

    def _add_free_variables(
        self, function: types.FunctionType, f_locals: dict[str, object]
    ) -> None:
        cells = function.__closure__ or ()
        for name, cell in zip(self.f_code.co_freevars, cells, strict=True):
            source = LocalSource(name, free=True)
            contents = LazyVariableTracker(f_locals[name], source) if name in f_locals else None
            tracker = CellVariable(
                name, contents, source=source, mutation_type=AttributeMutationExisting()
            )
            self.symbolic_locals[name] = tracker
            self.output.remember_variable(cell, tracker)

    def caught(self, inst: Instruction, value: ExceptionVariable) -> None:
        self.raised_at.setdefault(value.identity, inst.index)

    def _exception_before(self, error: Unsupported) -> int | None:
        """The instruction that raised what is being handled, or passed on; None: nothing is."""
        first = self.handled[0] if self.handled else getattr(error, "value", None)
        return None if first is None else self.raised_at.get(first.identity)

    def cleanup(self) -> None:
        """Let go of the program's objects, and of itself; see `OutputGraph.cleanup`."""
        self.stack.clear()
        self.symbolic_locals.clear()
        del self.root

    def run(self) -> None:
        """Interpret until the function returns or the graph breaks; then make the code."""
        while True:
            self.spend(1)
            stack = self.stack.copy()
            symbolic_locals = self.symbolic_locals.copy()
            blocks = self.block_stack.copy()
            at = self.instruction_pointer
            mark = self.output.mark()
            kw_names = self.kw_names
            self.output.altered.clear()
            try:
                if at in self.break_at:
                    self.current_instruction = self.instructions[at]
                    raise unimplemented(self.break_at[at])
                more = self.step()
            except Unsupported as error:
                reason = error.msg
                raised_at = self._exception_before(error)
                if raised_at is not None and raised_at != at:
                    raise RestartAnalysis(raised_at, reason) from None
                for entered, leave in blocks:
                    if not isinstance(leave, ExitVariable) or leave.manager is None:
                        raise RestartAnalysis(entered, reason) from None
                if self.output.altered:
                    raise RestartAnalysis(at, reason) from None
                self.output.refuse_function_modes(reason)
                self.output.rollback(mark)
                if error.at_break is not None:
                    error.at_break()
                self.stack, self.symbolic_locals = stack, symbolic_locals
                self.kw_names, self.instruction_pointer = kw_names, at
                for _, leave in reversed(blocks):
                    assert isinstance(leave, ExitVariable)
                    leave.leave(self, True)
                self.output.translation.graph_broke(self, self.instructions[at], reason)
                return
            if not more:
                self.output.refuse_function_modes("a mode that lives on")
                self.output.translation.returned(self)
                return


class InliningInstructionTranslator(InstructionTranslatorBase, InlinedTranslator):
    """Interprets a function that is called."""

    def __init__(
        self,
        parent: InstructionTranslatorBase,
        function: types.FunctionType,
        symbolic_locals: dict[str, VariableTracker],
    ) -> None:
        super().__init__(
            parent.output, function.__code__, function.__globals__, symbolic_locals, parent
        )
        self.f_builtins: dict[str, object] = builtins_of(function)

    def position(self) -> Position:
        """Where it stands now."""
        return Position(
            self.instruction_pointer,
            tuple(self.stack),
            dict(self.symbolic_locals),
            tuple(self.block_stack),
            tuple(self.handled),
        )

    def resumed(self, caller: Translator, at: Position) -> InliningInstructionTranslator:
        """Another translator of the same call, which goes on at a position, for this caller."""
        assert isinstance(caller, InstructionTranslatorBase)
        running = object.__new__(InliningInstructionTranslator)
        running.__dict__.update(self.__dict__)
        running.parent, running.depth = caller, caller.depth + 1
        running.instruction_pointer = at.instruction_pointer
        running.stack, running.block_stack = list(at.stack), list(at.block_stack)
        running.symbolic_locals = dict(at.symbolic_locals)
        running.handled = [*at.handled]  # type: ignore[list-item]  # as it was left
        return running

    def throw_in(self, value: VariableTracker) -> None:
        """Have the instruction that gave a value raise an exception."""
        assert isinstance(value, ExceptionVariable)
        inst = self.current_instruction = self.instructions[self.instruction_pointer - 1]
        self._handle(inst, raised(value))

    def run_inlined(self) -> None:
        """Interpret until the function returns or yields."""
        watcher = self.output.translation.watcher
        watcher.enter(self)
        try:
            self.run()
        finally:
            watcher.leave(self)
