"""Writes the code that runs in the frame's place.

It is the program's own code with a part put in at its beginning:

    run the graph                  (an exception goes on at "the program's code")
    make the values that are needed, and do what is pending
    return, or: do the instruction that broke the graph, and call the resume function
    the program's code, from its first instruction

So what the graph raises is raised by the program itself: nothing has been changed yet when the
graph runs, and so the frame can be run as it is, and finds its own exception, at its own line,
under its own handlers. Only a graph that changes its inputs cannot be run again like that.

Where no resume function is possible (in a `try` block, or in a loop that came here by one), the
program's code is entered at the instruction that broke the graph instead.

Objects are made once and kept in a variable when they are used twice, so that what was one object
is one object again. All values are read before the first change is done.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from bytecode import Bytecode, Instr, Label
from bytecode.instr import CellVar, FreeVar, TryBegin, TryEnd

from stepper.engines.native import opcodes
from stepper.engines.native.exc import unimplemented
from stepper.engines.native.opcodes import PYTHON, listing
from stepper.engines.native.source import AttrSource, ClosureSource, LocalSource, Source
from stepper.engines.native.variables.base import (
    NullVariable,
    VariableTracker,
)
from stepper.engines.native.variables.constant import ConstantVariable
from stepper.engines.native.variables.dicts import ConstDictVariable
from stepper.engines.native.variables.functions import CellVariable
from stepper.engines.native.variables.lists import ListVariable
from stepper.engines.native.variables.namespace import NamespaceVariable

if TYPE_CHECKING:
    from stepper.engines.native.symbolic_convert import InstructionTranslator


class PyCodegen:
    """Collects instructions; see the module's essay.

    tx: the translator whose values are written.
    line: the line of the program to which they belong.
    """

    def __init__(self, tx: InstructionTranslator) -> None:
        self.tx = tx
        self.output: list[Any] = []
        self.line = tx.f_code.co_firstlineno
        self.graph_outputs: dict[Any, int] = {}
        self._temporaries = 0
        self._kept: dict[object, str] = {}
        self._uses: dict[object, int] = {}
        self._cells: list[tuple[CellVariable, str]] = []
        self._own_cells: set[str] = set()

    # --- single instructions

    def emit(self, name: str, argument: Any = None) -> None:
        """One instruction."""
        arguments = () if argument is None else (argument,)
        self.output.append(Instr(name, *arguments, lineno=self.line))

    def load_const(self, value: Any) -> None:
        """Push any object."""
        self.output.append(Instr("LOAD_CONST", value, lineno=self.line))

    def push_null(self) -> None:
        """Push the NULL below a callable."""
        self.emit("PUSH_NULL")

    def load_callable(self, value: Any) -> None:
        """Push an object that is going to be called."""
        if not opcodes.CALLABLE_BELOW_NULL:
            self.push_null()
        self.load_const(value)
        if opcodes.CALLABLE_BELOW_NULL:
            self.push_null()

    def call(self, count: int) -> None:
        """Call what lies below so many arguments."""
        if opcodes.PRECALL:
            self.emit("PRECALL", count)
        self.emit("CALL", count)

    def load_method(self, name: str) -> None:
        """Replace an object by its method, to be called."""
        if opcodes.METHOD_FLAG_IN_LOAD_ATTR:
            self.emit("LOAD_ATTR", (True, name))
        else:
            self.emit("LOAD_METHOD", name)

    call_method = call

    def load_attr(self, name: str) -> None:
        """Replace an object by its attribute."""
        self.emit("LOAD_ATTR", (False, name) if opcodes.METHOD_FLAG_IN_LOAD_ATTR else name)

    def load_global(self, name: str) -> None:
        """Push a global variable."""
        self.emit("LOAD_GLOBAL", (False, name))

    def load_local(self, name: str) -> None:
        """Push an argument or free variable, as it was when the frame was entered."""
        code = self.tx.f_code
        if name in code.co_cellvars:
            self.emit("LOAD_DEREF", CellVar(name))
        elif name in code.co_freevars:
            self.emit("LOAD_DEREF", FreeVar(name))
        else:
            self.emit("LOAD_FAST", name)

    def subscript(self) -> None:
        """Replace an object and a key by the item."""
        self.emit("BINARY_SUBSCR")

    def build(self, name: str, count: int) -> None:
        """An instruction that builds something of so many values."""
        self.emit(name, count)

    def dup(self) -> None:
        """Push the top again."""
        self.emit("COPY", 1)

    def pop_top(self) -> None:
        """Drop the top."""
        self.emit("POP_TOP")

    def temporary(self) -> str:
        """The name of a new variable of the transformed code."""
        self._temporaries += 1
        return f"___tmp_{self._temporaries}"

    def store(self, name: str) -> None:
        """Take the top into a variable."""
        self.emit("STORE_FAST", name)

    # --- values

    def count_uses(self, roots: Iterable[VariableTracker]) -> None:
        """Learn which objects are needed more than once."""
        pending = [self._newest(root) for root in roots]
        while pending:
            tracker = pending.pop()
            key: object = tracker.mutation_type
            if key is not None:
                self._uses[key] = self._uses.get(key, 0) + 1
                if self._uses[key] > 1:
                    continue
            if isinstance(tracker, CellVariable):
                contents = self._cell_contents(tracker)
                pending += [] if contents is None else [self._newest(contents)]
            elif tracker.source is None:
                pending += [self._newest(part) for part in tracker.parts()]

    def _newest(self, tracker: VariableTracker) -> VariableTracker:
        return self.tx.output.side_effects.latest(tracker)

    def _cell_contents(self, cell: CellVariable) -> VariableTracker | None:
        return self.tx.output.side_effects.load_attr(cell, "cell_contents")

    def __call__(self, value: VariableTracker | Source) -> None:
        """Push a value."""
        if isinstance(value, Source):
            self._load_source(value)
            return
        tracker = self._newest(value)
        if isinstance(tracker, NullVariable):
            self.push_null()
        elif isinstance(tracker, CellVariable):  # its source is that of its contents
            self.load_cell(tracker)
        elif isinstance(tracker, ConstantVariable) and not (
            tracker.source is not None and tracker.source.stable
        ):
            self.load_const(tracker.value)
        elif tracker.source is not None:
            self._load_source(tracker.source)
        elif tracker.mutation_type is not None and self._uses.get(tracker.mutation_type, 0) > 1:
            self._make_once(tracker)
        else:
            tracker.reconstruct(self)

    def foreach(self, values: Iterable[VariableTracker]) -> None:
        """Push values, one after the other."""
        for value in values:
            self(value)

    def _load_source(self, source: Source) -> None:
        kept = self._kept.get(source.name())
        if kept is not None:
            self.emit("LOAD_FAST", kept)
        else:
            source.reconstruct(self)

    def _make_once(self, tracker: VariableTracker) -> None:
        key = tracker.mutation_type
        kept = self._kept.get(key)
        if kept is not None:
            self.emit("LOAD_FAST", kept)
            return
        name = self.temporary()
        if isinstance(tracker, ListVariable):
            self._kept[key] = name
            self.build("BUILD_LIST", 0)
            self.store(name)
            self.emit("LOAD_FAST", name)
            tracker.reconstruct(self)
            self.emit("LIST_EXTEND", 1)
        elif isinstance(tracker, ConstDictVariable):
            self._kept[key] = name
            self.build("BUILD_MAP", 0)
            self.store(name)
            self.emit("LOAD_FAST", name)
            tracker.reconstruct(self)
            self.emit("DICT_UPDATE", 1)
        elif isinstance(tracker, CellVariable):
            tracker.reconstruct(self)
        else:
            tracker.reconstruct(self)
            self.dup()
            self.store(name)
            self._kept[key] = name

    def load_graph_output(self, node: Any) -> None:
        """Push what the graph gives for a node."""
        number = self.graph_outputs.setdefault(node, len(self.graph_outputs))
        self.emit("LOAD_FAST", "___graph_out")
        self.load_const(number)
        self.subscript()

    def load_cell(self, cell: CellVariable) -> None:
        """Push a cell itself."""
        code = self.tx.f_code
        name = cell.local_name
        if self.tx.symbolic_locals.get(name) is cell and (
            name in code.co_cellvars or name in code.co_freevars
        ):
            kind = CellVar if name in code.co_cellvars else FreeVar
            self.emit(opcodes.LOAD_CLOSURE, kind(name))
            if name in code.co_cellvars:
                self._own_cells.add(name)
            return
        if isinstance(cell.source, ClosureSource):
            self(cell.source.base)
            self.load_attr("__closure__")
            self.load_const(cell.source.position)
            self.subscript()
            return
        if isinstance(cell.source, AttrSource):
            self(cell.source.base)
            return
        if cell.source is not None:
            raise cell.refuse("reconstruction")
        key = cell.mutation_type
        if key not in self._kept:
            import types

            made = self.temporary()
            self._kept[key] = made
            self.load_callable(types.CellType)
            self.call(0)
            self.store(made)
            self._cells.append((cell, made))
        self.emit("LOAD_FAST", self._kept[key])

    def make_function(self, fn: Any) -> None:
        """Push a function that the frame made."""
        flags = 0
        attributes: list[int] = []
        if fn.defaults:
            self.foreach(fn.defaults)
            self.build("BUILD_TUPLE", len(fn.defaults))
            attributes.append(1)
        if fn.kwdefaults:
            for key, value in fn.kwdefaults.items():
                self.load_const(key)
                self(value)
            self.build("BUILD_MAP", len(fn.kwdefaults))
            attributes.append(2)
        if fn.cells:
            self.foreach(fn.cells)
            self.build("BUILD_TUPLE", len(fn.cells))
            attributes.append(8)
        self.load_const(fn.code)
        flags = sum(attributes)
        if opcodes.FUNCTION_ATTRIBUTES_APART:
            self.emit("MAKE_FUNCTION")
            for flag in reversed(attributes):
                self.emit("SET_FUNCTION_ATTRIBUTE", flag)
        else:
            self.emit("MAKE_FUNCTION", flags)

    def fill_cells(self) -> None:
        """Put into cells that were made what they hold."""
        while self._cells:
            cell, name = self._cells.pop()
            contents = self._cell_contents(cell)
            if contents is not None:
                self(contents)
                self.emit("LOAD_FAST", name)
                self.emit("STORE_ATTR", "cell_contents")

    # --- pending changes

    def keep_sources(self, roots: Sequence[VariableTracker]) -> None:
        """Read every value that a pending change could reach, before the first change."""
        pending = [self._newest(root) for root in roots]
        seen: set[int] = set()
        while pending:
            tracker = pending.pop()
            if id(tracker) in seen:
                continue
            seen.add(id(tracker))
            source = tracker.source
            if isinstance(tracker, CellVariable):
                contents = self._cell_contents(tracker)
                pending += [] if contents is None else [self._newest(contents)]
            elif source is None:
                pending += [self._newest(part) for part in tracker.parts()]
            elif not source.stable and not isinstance(tracker, ConstantVariable):
                name = source.name()
                if name not in self._kept:
                    source.reconstruct(self)
                    kept = self.temporary()
                    self.store(kept)
                    self._kept[name] = kept

    def changed_values(self) -> list[VariableTracker]:
        """All values that pending changes need."""
        effects = self.tx.output.side_effects
        values: list[VariableTracker] = []
        for key, owner in effects.changed.items():
            if not isinstance(owner, NamespaceVariable | CellVariable):
                values.append(owner)
            newest = effects.newest.get(key)
            if newest is not None:
                values += newest.parts()
            values += effects.attributes.get(key, {}).values()
        return values

    def write_changes(self) -> None:
        """Do what is pending."""
        effects = self.tx.output.side_effects
        planned: list[tuple[VariableTracker, str, str]] = []
        for key, owner in effects.changed.items():
            newest = effects.newest.get(key)
            if newest is not None:
                self._plan_container(owner, newest, planned)
            for name, value in effects.attributes.get(key, {}).items():
                self(value)
                kept = self.temporary()
                self.store(kept)
                planned.append((owner, name, kept))
        self.fill_cells()
        for owner, name, kept in planned:
            self.emit("LOAD_FAST", kept)
            self._write_change(owner, name)

    def _plan_container(self, owner: Any, newest: Any, planned: list[Any]) -> None:
        if isinstance(newest, ListVariable):
            newest.reconstruct(self)
            name = "[:]"
        elif isinstance(newest, ConstDictVariable):
            old = list(owner.items)
            in_order = list(newest.items)[: len(old)] == old
            entries = {
                key: value
                for key, value in newest.items.items()
                if not in_order or owner.items.get(key) is not value
            }
            for key, value in entries.items():
                self.load_const(key)
                self(value)
            self.build("BUILD_MAP", len(entries))
            name = "update" if in_order else "clear"
        else:
            raise newest.refuse("a change")
        kept = self.temporary()
        self.store(kept)
        planned.append((owner, name, kept))

    def _write_change(self, owner: Any, name: str) -> None:
        """Do one change; the value is on the stack."""
        if isinstance(owner, CellVariable):
            if isinstance(owner.source, LocalSource):
                self.emit("STORE_DEREF", FreeVar(owner.local_name))
            else:
                self.load_cell(owner)
                self.emit("STORE_ATTR", "cell_contents")
        elif isinstance(owner, NamespaceVariable):
            if owner.namespace is self.tx.f_globals:
                self.emit("STORE_GLOBAL", name)
            else:
                self.load_const(owner.namespace)
                self.load_const(name)
                self.emit("STORE_SUBSCR")
        elif isinstance(owner, ListVariable):
            self(owner)
            self.load_const(None)
            self.load_const(None)
            self.build("BUILD_SLICE", 2)
            self.emit("STORE_SUBSCR")
        elif isinstance(owner, ConstDictVariable):
            kept = self.temporary()
            self.store(kept)
            for method in ("clear", "update") if name == "clear" else ("update",):
                self(owner)
                self.load_method(method)
                if method == "update":
                    self.emit("LOAD_FAST", kept)
                self.call_method(method == "update")
                self.pop_top()
        else:
            self(owner)
            self.emit("STORE_ATTR", name)

    def write_own_cells(self, names: Iterable[str]) -> None:
        """Put into the frame's own cells what they hold now."""
        written: list[str] = []
        for name in names:
            cell = self.tx.symbolic_locals.get(name)
            if not isinstance(cell, CellVariable) or cell.source is not None:
                continue
            contents = self._cell_contents(cell)
            if contents is not None and contents.source != LocalSource(name, free=True):
                self(contents)
                written.append(name)
        for name in reversed(written):
            self.emit("STORE_DEREF", CellVar(name))


# --- whole codes


def compile_return(tx: InstructionTranslator) -> None:
    """The frame returns: write its code."""
    assert tx.result is not None
    codegen = PyCodegen(tx)
    roots = [tx.result]
    _prepare(codegen, roots)
    codegen(tx.result)
    kept = "___result"
    simple = not tx.output.side_effects.pending
    if not simple:
        codegen.store(kept)
        codegen.write_changes()
        codegen.emit("LOAD_FAST", kept)
    _settle_cells(codegen)
    codegen.emit("RETURN_VALUE")
    finish(codegen, None)


def _settle_cells(codegen: PyCodegen) -> None:
    while codegen._cells or codegen._own_cells:
        codegen.fill_cells()
        names, codegen._own_cells = codegen._own_cells, set()
        codegen.write_own_cells(sorted(names))


def _prepare(codegen: PyCodegen, roots: list[VariableTracker]) -> None:
    changed = codegen.changed_values()
    codegen.count_uses([*roots, *changed])
    if codegen.tx.output.side_effects.pending or codegen.tx.f_code.co_cellvars:
        codegen.keep_sources([*roots, *changed])


def compile_break(tx: InstructionTranslator, inst: opcodes.Instruction) -> None:
    """The graph is broken before an instruction: write the frame's code."""
    from stepper.engines.native.resume_execution import write_break

    write_break(tx, inst)


def finish(codegen: PyCodegen, enter_at: tuple[Label, int] | None) -> None:
    """Put the code together, call the backend, and give all of it to the translation.

    enter_at: where the collected instructions jump into the program's code: the label they use, and
        the index of the instruction.
    """
    tx = codegen.tx
    output = tx.output
    nodes = list(codegen.graph_outputs)
    graph_code: list[Any] = []
    again = Label()
    compiled = None
    own = PyCodegen(tx)
    if not output.is_empty:
        compiled = output.translation.compile_graph(nodes)
        arguments = [arg.source for arg in output.graphargs.values()]
        own.load_callable(compiled)
        for source in arguments:
            source.reconstruct(own)
        own.call(len(arguments))
        own.store("___graph_out")
        if output.mutates_inputs:
            # What such a graph raises cannot be raised again by the program itself.
            if output.handled:
                raise unimplemented("an operator that changes an input, under a handler")
            if output.side_effects.pending:
                raise unimplemented("an operator that changes an input, beside other changes")
            graph_code = own.output
        else:
            begin = TryBegin(again, push_lasti=False)
            graph_code = [begin, *own.output, TryEnd(begin)]
    whole = compiled is not None and not output.mutates_inputs
    body = [*graph_code, *codegen.output]
    code = assemble(
        tx.f_code, body, again if whole else None, enter_at, needs_rest=whole or bool(enter_at)
    )
    output.translation.finished(tx, code)


def assemble(
    original: CodeType,
    body: list[Any],
    again: Label | None,
    enter_at: tuple[Label, int] | None,
    *,
    needs_rest: bool,
) -> CodeType:
    """The original code with other instructions at its beginning.

    again: the label of the handler that goes on with the program's code.
    needs_rest: whether the program's code stays behind them.
    """
    listed = Bytecode.from_code(original, conserve_exception_block_stackdepth=True)
    prologue, rest, places = split(listed)
    made = Bytecode()
    copy_facts(listed, made)
    made.extend(prologue)
    made.extend(body)
    line = original.co_firstlineno
    if needs_rest:
        if again is not None:
            failed = Label()
            made.extend(
                [
                    again,
                    Instr("PUSH_EXC_INFO", lineno=line),
                    Instr("LOAD_CONST", Exception, lineno=line),
                    Instr("CHECK_EXC_MATCH", lineno=line),
                    Instr(
                        "POP_JUMP_FORWARD_IF_FALSE" if PYTHON == (3, 11) else "POP_JUMP_IF_FALSE",
                        failed,
                        lineno=line,
                    ),
                    Instr("POP_TOP", lineno=line),
                    Instr("POP_EXCEPT", lineno=line),
                    Instr("JUMP_FORWARD", start := Label(), lineno=line),
                    failed,
                    Instr("RERAISE", 0, lineno=line),
                    start,
                ]
            )
        if enter_at is not None:
            label, index = enter_at
            rest.insert(places[index], label)
        made.extend(rest)
    code = made.to_code()
    return repair_handlers(code, original) if needs_rest else code


def copy_facts(source: Bytecode, target: Bytecode) -> None:
    """Give a code the name, arguments, closure and flags of another."""
    for name in (
        "argcount", "posonlyargcount", "kwonlyargcount", "name", "qualname", "filename",
        "first_lineno", "flags", "argnames", "docstring",
    ):  # fmt: skip
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
    target.freevars = list(source.freevars)
    target.cellvars = list(source.cellvars)


def split(listed: Bytecode) -> tuple[list[Any], list[Any], dict[int, int]]:
    """A code's prologue (up to RESUME), the rest, and where in the rest the instruction of an index
    stands."""
    prologue: list[Any] = []
    rest: list[Any] = []
    places: dict[int, int] = {}
    index = 0
    in_prologue = True
    for item in listed:
        if in_prologue:
            prologue.append(item)
            if isinstance(item, Instr) and item.name == "RESUME":
                in_prologue = False
            continue
        if isinstance(item, Instr):
            places[index] = len(rest)
            index += 1
        rest.append(item)
    return prologue, rest, places


def rank_of(code: CodeType, index: int) -> int:
    """The index of an instruction among those after RESUME, EXTENDED_ARG left out: what `split`
    calls its index."""
    instructions = listing(code).instructions
    resume = next(i for i, each in enumerate(instructions) if each.opname == "RESUME")
    while instructions[index].opname == "EXTENDED_ARG":
        index += 1
    return sum(each.opname != "EXTENDED_ARG" for each in instructions[resume + 1 : index])


def repair_handlers(code: CodeType, original: CodeType) -> CodeType:
    """Give the copied handlers their depths.

    The `bytecode` package computes some of them too high, and running that corrupts memory. The
    program's code is the end of the new code, so each handler is found in the original by counting
    from behind.
    """
    new = [each for each in dis.get_instructions(code) if each.opname != "EXTENDED_ARG"]
    old = [each for each in dis.get_instructions(original) if each.opname != "EXTENDED_ARG"]
    shift = len(new) - len(old)
    index_of = {each.offset: index for index, each in enumerate(new)}
    # A range can begin at an EXTENDED_ARG: take the instruction that follows.
    ends = [each.offset for each in new]
    table = opcodes.read_exception_table(original)
    entries = []
    for start, end, target, depth, lasti in opcodes.read_exception_table(code):
        at = index_of.get(start)
        if at is None:
            at = next(i for i, offset in enumerate(ends) if offset > start)
        if at - shift >= 0:
            offset = old[at - shift].offset
            covering = next((e for e in table if e[0] <= offset < e[1]), None)
            if covering is not None:
                depth, lasti = covering[3], covering[4]
        entries.append((start, end, target, depth, lasti))
    encoded = opcodes.encode_exception_table(entries)
    return code.replace(
        co_exceptiontable=encoded, co_stacksize=max(code.co_stacksize, original.co_stacksize + 2)
    )
