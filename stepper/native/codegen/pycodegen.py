"""Writes instructions that push values: what Dynamo's `PyCodegen` does.

Objects are made once and kept in a variable when they are used twice, so that what was one object
is one object again.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterable
from operator import getitem
from typing import TYPE_CHECKING, Any

import torch.fx

from stepper.native.bytecode import opcodes
from stepper.native.codegen.resume_info import info_of
from stepper.native.exc import RestartAnalysis
from stepper.native.source import (
    AttrSource,
    ChainedSource,
    ClosureSource,
    ConstantSource,
    GlobalSource,
    Kept,
    LocalSource,
    MadeSource,
    Source,
    Written,
)
from stepper.native.tracing.random_draws import DRAWN
from stepper.native.variables.base import (
    NullVariable,
    TrackedKey,
    VariableTracker,
)
from stepper.native.variables.constant import ConstantVariable, is_constant
from stepper.native.variables.dicts import ConstDictVariable
from stepper.native.variables.functions import CellVariable
from stepper.native.variables.lists import ListVariable
from stepper.native.variables.new_object import NewObjectVariable
from stepper.support.bytecode_package import CellVar, FreeVar, Instr, Label

if TYPE_CHECKING:
    from stepper.native.tracing.symbolic_convert import InstructionTranslator

_IN_THE_MAKING = ""
"""In the place of a variable: the object is not there yet."""


class PyCodegen:
    """Collects instructions.

    tx: the translator whose values are written.
    output: what is collected.
    line: the line of the program to which instructions belong.
    graph_outputs: the nodes whose values are used, each with its place in what the graph returns.
    kept: variables of the transformed code that hold an object, by its `identity` or by the name
        of its source.
    cells: cells that were made and are still empty, each with its variable.
    own_cells: names of the frame's own cells that were used.
    entered: where the program's own code is entered: the label that is jumped to, and the rank of
        the instruction.
    """

    def __init__(self, tx: InstructionTranslator) -> None:
        self.tx = tx
        self._prefix = info_of(tx.f_code).prefix
        self.output: list[Any] = []
        self.line = tx.f_code.co_firstlineno
        self.graph_outputs: dict[torch.fx.Node, int] = {}
        self._temporaries = 0
        self.kept: dict[object, str] = {}
        self._uses: dict[object, int] = {}
        self.cells: list[tuple[CellVariable, str]] = []
        self.own_cells: set[str] = set()
        self.entered: list[tuple[Label, int]] = []
        self._shared: dict[str, str] = {}
        self._texts: dict[int, tuple[str, str]] = {}

    # --- single instructions

    def emit(self, name: str, argument: object = None) -> None:
        """One instruction."""
        arguments = () if argument is None else (argument,)
        self.output.append(Instr(name, *arguments, lineno=self.line))

    def load_const(self, value: object) -> None:
        """Push any object."""
        self.output.append(Instr("LOAD_CONST", value, lineno=self.line))

    def push_null(self) -> None:
        """Push the NULL below a callable."""
        self.emit("PUSH_NULL")

    def load_callable(self, value: object) -> None:
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
        if opcodes.SUBSCRIPT is None:
            self.emit("BINARY_SUBSCR")
        else:
            self.emit("BINARY_OP", opcodes.SUBSCRIPT)

    def build(self, name: str, count: int) -> None:
        """An instruction that builds something of so many values."""
        self.emit(name, count)

    def dup(self) -> None:
        """Push the top again."""
        self.emit("COPY", 1)

    def pop_top(self) -> None:
        """Drop the top."""
        self.emit("POP_TOP")

    def own_name(self, name: str) -> str:
        """The name of a variable that the transformed code has beside the program's."""
        return self._prefix + name

    def on_stack(self, place: int) -> str:
        """The variable that holds what is at this place of the stack."""
        return self.own_name(f"stack{place}")

    def temporary(self) -> str:
        """The name of a new variable of the transformed code."""
        self._temporaries += 1
        return self.own_name(f"tmp_{self._temporaries}")

    def drop_temporaries(self) -> None:
        """Let go of what was kept on the way: the program's frame would not have it."""
        if self.graph_outputs:
            self.emit("DELETE_FAST", self.own_name("graph_out"))
        if self.tx.output.drawn:
            self.emit("DELETE_FAST", self.own_name(DRAWN))
        for number in range(1, self._temporaries + 1):
            self.emit("DELETE_FAST", self.own_name(f"tmp_{number}"))

    def store(self, name: str) -> None:
        """Take the top into a variable."""
        self.emit("STORE_FAST", name)

    # --- values

    def count_uses(self, roots: Iterable[VariableTracker]) -> None:
        """Learn which objects are needed more than once."""
        self._uses = self.uses(roots)

    def is_shared(self, tracker: VariableTracker) -> bool:
        """Whether the object is needed more than once."""
        return self._uses.get(tracker.identity, 0) > 1

    def uses(self, roots: Iterable[VariableTracker]) -> dict[object, int]:
        """How often each object is needed to push these, by its identity."""
        uses: dict[object, int] = {}
        pending = [self.newest(root) for root in roots]
        while pending:
            tracker = pending.pop()
            key = tracker.identity
            uses[key] = uses.get(key, 0) + 1
            if uses[key] > 1:
                continue
            pending += self.parts_of(tracker)
        return uses

    def parts_of(self, tracker: VariableTracker) -> list[VariableTracker]:
        """What has to be there to push the object, as it is now."""
        if isinstance(tracker, CellVariable):
            contents = self.cell_contents(tracker)
            return [] if contents is None else [self.newest(contents)]
        if tracker.source is not None:
            return []
        stored = self.tx.output.side_effects.stored(tracker)
        return [self.newest(part) for part in (*tracker.parts(), *stored.values())]

    def newest(self, tracker: VariableTracker) -> VariableTracker:
        """What the object is now."""
        return self.tx.output.side_effects.latest(tracker)

    def cell_contents(self, cell: CellVariable) -> VariableTracker | None:
        """What the frame has put into the cell; None: nothing."""
        return self.tx.output.side_effects.load_attr(cell, "cell_contents")

    def __call__(self, value: VariableTracker | Source) -> None:
        """Push a value."""
        if isinstance(value, Source):
            self._load_source(value)
            return
        tracker = self.newest(value)
        if isinstance(tracker, NullVariable):
            self.push_null()
        elif isinstance(tracker, CellVariable):  # its source is that of its contents
            self.load_cell(tracker)
        elif isinstance(tracker, ConstantVariable) and not (
            tracker.source is not None and tracker.source.stable
        ):
            self._load_constant(tracker)
        elif tracker.source is not None:
            self._load_source(tracker.source)
        elif isinstance(tracker, NewObjectVariable) or (
            tracker.is_made and self.is_shared(tracker)
        ):
            self._make_once(tracker)
        else:
            tracker.reconstruct(self)

    def _load_constant(self, tracker: ConstantVariable) -> None:
        if tracker.source is not None or not tracker.would_be_interned:
            self.load_const(tracker.value)
            return
        text = tracker.value
        if id(text) in self._texts:
            self.emit("LOAD_FAST", self._texts[id(text)][1])
            return
        tracker.reconstruct(self)
        name = self.temporary()
        self._texts[id(text)] = text, name
        self.dup()
        self.store(name)

    def foreach(self, values: Iterable[VariableTracker]) -> None:
        """Push values, one after the other."""
        for value in values:
            self(value)

    def load_arguments(self, sources: list[Source]) -> None:
        """Push what is at these sources; what several are reached through is looked up once."""
        seen: set[str] = set()
        for source in sources:
            self._note_bases(source, seen)
        for source in sources:
            self(source)
        for variable in filter(None, self._shared.values()):
            self.emit("DELETE_FAST", variable)
        self.kept.clear()

    def _note_bases(self, source: Source, seen: set[str]) -> None:
        while isinstance(source, ChainedSource) and isinstance(source.base, ChainedSource):
            source = source.base
            name = source.name()
            if name in seen:
                self._shared.setdefault(name, "")
                return
            seen.add(name)

    def _load_source(self, source: Source) -> None:
        name = source.name()
        kept = self.kept.get(name)
        if kept is not None:
            self.emit("LOAD_FAST", kept)
            return
        self.load_anew(source)
        if name in self._shared:
            variable = self._shared[name] = self.kept[name] = self.temporary()
            self.dup()
            self.store(variable)

    def load_anew(self, source: Source) -> None:
        """Push what a source leads to, from where it begins."""
        match source:
            case ChainedSource():
                self.make(*source.recipe())
            case LocalSource():
                self.load_local(source.local_name)
            case GlobalSource(namespace=None):
                self.load_global(source.global_name)
            case GlobalSource():
                self.make(getitem, ConstantSource(source.namespace), source.global_name)
            case MadeSource():
                raise RestartAnalysis(source.place, f"{source.value!r}, which is made, lives on")
            case ConstantSource():
                self.load_const(source.value)

    def make(self, function: object, *given: object) -> None:
        """Push what a function gives; see `Recipe`."""
        if function is getattr:
            self.push(given[0])
            self.load_attr(str(given[1]))
            return
        if function is not getitem:
            self.load_callable(function)
        for each in given:
            self.push(each)
        if function is getitem:
            self.subscript()
        else:
            self.call(len(given))

    def do(self, function: object, *given: object) -> None:
        """Call a function, and let go of what it gives."""
        self.make(function, *given)
        self.pop_top()

    def push(self, value: object) -> None:
        """Push a part of a recipe."""
        match value:
            case VariableTracker() | Source():
                self(value)
            case TrackedKey():
                self(value.tracker)
            case torch.fx.Node():
                self._load_graph_output(value)
            case Written():
                value.write(self)
            case Kept():
                self.emit("LOAD_FAST", value.variable)
            case dict():
                for each in itertools.chain.from_iterable(value.items()):
                    self.push(each)
                self.build("BUILD_MAP", len(value))
            case list() | tuple() if not is_constant(value):
                for each in value:
                    self.push(each)
                self.build(f"BUILD_{type(value).__name__.upper()}", len(value))
            case _:
                self.load_const(value)

    def _make_once(self, tracker: VariableTracker) -> None:
        key = tracker.identity
        kept = self.kept.get(key)
        if kept is not None:
            if kept == _IN_THE_MAKING:
                raise tracker.refuse("a value that contains itself, reconstruction")
            self.emit("LOAD_FAST", kept)
            return
        name = self.temporary()
        if isinstance(tracker, ListVariable):
            self.kept[key] = name
            self.build("BUILD_LIST", 0)
            self.store(name)
            self.emit("LOAD_FAST", name)
            tracker.reconstruct(self)
            self.emit("LIST_EXTEND", 1)
        elif isinstance(tracker, ConstDictVariable):
            self.kept[key] = name
            self.build("BUILD_MAP", 0)
            self.store(name)
            tracker.fill(self, name)
        elif isinstance(tracker, NewObjectVariable):
            tracker.begin(self)
            self.store(name)
            self.kept[key] = name
            tracker.fill(self, name)
            self.emit("LOAD_FAST", name)
        elif isinstance(tracker, CellVariable):
            tracker.reconstruct(self)
        else:
            self.kept[key] = _IN_THE_MAKING
            tracker.reconstruct(self)
            self.dup()
            self.store(name)
            self.kept[key] = name

    def _load_graph_output(self, node: torch.fx.Node) -> None:
        number = self.graph_outputs.setdefault(node, len(self.graph_outputs))
        self.emit("LOAD_FAST", self.own_name("graph_out"))
        self.load_const(number)
        self.subscript()

    def load_cell(self, cell: VariableTracker) -> None:
        """Push a cell itself."""
        assert isinstance(cell, CellVariable)
        code = self.tx.f_code
        name = cell.local_name
        if self.tx.symbolic_locals.get(name) is cell and (
            name in code.co_cellvars or name in code.co_freevars
        ):
            kind = CellVar if name in code.co_cellvars else FreeVar
            self.emit(opcodes.LOAD_CLOSURE, kind(name))
            if name in code.co_cellvars:
                self.own_cells.add(name)
            return
        if isinstance(cell.source, ClosureSource):
            self(cell.source.cell)
            return
        if isinstance(cell.source, AttrSource):
            self(cell.source.base)
            return
        if cell.source is not None:
            raise cell.refuse("reconstruction")
        key = cell.identity
        if key not in self.kept:
            made = self.temporary()
            self.kept[key] = made
            self.make(types.CellType)
            self.store(made)
            self.cells.append((cell, made))
        self.emit("LOAD_FAST", self.kept[key])

    def fill_cells(self) -> None:
        """Put into cells that were made what they hold."""
        while self.cells:
            cell, name = self.cells.pop()
            contents = self.cell_contents(cell)
            if contents is not None:
                self(contents)
                self.emit("LOAD_FAST", name)
                self.emit("STORE_ATTR", "cell_contents")
