"""What the parts of the compiler know of each other.

A tracker is asked by the interpreter and asks it in turn; both write into the graph; what they came
to is written out by the code generator, which asks them again. So that each of them can be read,
and imported, without the others, what one may ask of another is declared here: `Translator` of the
interpreter of a frame, `Output` of what a translation makes, `Codegen` of what writes code, and
`FrameTranslation` of the translation itself. The classes that are all that are
`tracing.symbolic_convert.InstructionTranslatorBase`, `tracing.output_graph.OutputGraph`,
`codegen.pycodegen.PyCodegen` and `runtime.translation.Translation`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from stepper.native.variables.base import Arguments, Keywords

if TYPE_CHECKING:
    import torch
    import torch.fx
    from torch.fx.node import Argument

    from stepper.native.bytecode.opcodes import Instruction
    from stepper.native.guards.class_dicts import Consulted
    from stepper.native.guards.guard import Guard
    from stepper.native.guards.guard_builder import GuardBuilder
    from stepper.native.guards.scope import GlobalState
    from stepper.native.polyfills import Polyfill
    from stepper.native.source import GuardSource, Source
    from stepper.native.tracing.random_draws import Drawn
    from stepper.native.tracing.side_effects import SideEffects, State
    from stepper.native.tracing.symbolic_shapes import SymbolicShapes
    from stepper.native.variables.base import Guards, VariableTracker

Modes = tuple[Callable[[], AbstractContextManager[object]], ...]
"""What makes modes in which operators run, the outermost first."""


@dataclass(frozen=True)
class FirstCall:
    """A call that is to be done before the frame; among the arguments of another: what it gives.

    parts: the function, the names of its last arguments, and all of these.
    """

    parts: tuple[object, ...]


class Found(NamedTuple):
    """What is known of a first call.

    found: what it gives, as it has been interpreted.
    modes: what makes the modes in which it is called.
    holds: what is in the objects that were made for it.
    """

    found: VariableTracker
    modes: Modes
    holds: State | None = None


class GraphArg(NamedTuple):
    """An input of the graph: where it comes from, and what it is now."""

    source: Source
    example: torch.Tensor | float


class Output(Protocol):
    """What a translation makes, as far as it is asked of while a frame is interpreted.

    trail: how to undo what was done, the newest last.
    variables: trackers of objects with an identity, by id.
    contents: what is inside of objects that are containers by inheritance, by id of the object.
    globals: trackers of global variables, by the identity of their namespace and their name.
    state: torch's, as it was when the frame was entered.
    grad_enabled: the gradient mode.
    altered: the memory of fake tensors that operators have changed.
    lets_go: whether something has been let go that was there before.
    holds_weakly: whether a table was looked into that holds what it has weakly.
    beside: whether it would be noticed if the frame is not run again.
    calls_program: whether a node calls what the program has defined.
    modes: what makes the other modes in which operators run.
    exits: exit functions of contexts that code is to leave, each with what the graph is to leave.
    mutables: sources of containers and objects that the frame might change, by name.
    keys: sources of what is told apart from other objects as a key.
    """

    trail: list[Callable[[], object]]
    graph: torch.fx.Graph
    graphargs: dict[torch.fx.Node, GraphArg]
    shapes: SymbolicShapes
    side_effects: SideEffects
    guards: dict[tuple[str, object], Guard]
    variables: dict[int, tuple[object, VariableTracker]]
    contents: dict[int, VariableTracker]
    consulted: Consulted
    globals: dict[tuple[int, str], tuple[object, VariableTracker]]
    mutables: dict[str, Source]
    keys: list[Source]
    addresses: list[int]
    state: GlobalState
    grad_enabled: bool
    inference: bool
    overrides_off: bool
    function_modes: tuple[VariableTracker, ...]
    asked_since: int
    asks: bool
    altered: list[int]
    lets_go: bool
    holds_weakly: bool
    beside: bool
    calls_program: bool
    broken: bool
    modes: Modes
    exits: tuple[tuple[VariableTracker, VariableTracker], ...]
    transforms: tuple[object, ...]

    def remember_variable(self, value: object, tracker: VariableTracker) -> None:
        """Have an object that has an identity stand for by one tracker."""

    def note_key(self, source: Source) -> None:
        """What is there is told apart from all that is like it."""

    def remember_address(self, value: object) -> None:
        """An object is guarded to be this one: nothing else has its address."""

    def note_mutable(self, source: Source) -> None:
        """The frame might change what is there."""

    def remember_contents(self, owner: object, contents: VariableTracker) -> None:
        """Have what is inside of an object, which is in `variables`, be one tracker."""

    def remember_global(self, key: tuple[int, str], value: object, found: VariableTracker) -> None:
        """Have a global variable, which has this value, stand for by one tracker."""

    def chosen_by(self, *values: VariableTracker) -> None:
        """What is interpreted next was chosen by what is known of these values."""

    def chosen(self, guards: Guards) -> None:
        """What is interpreted next was chosen by what these guards hold."""

    def chosen_by_all(self) -> None:
        """What is interpreted next was chosen by something among all that is guarded so far."""

    def install_guard(
        self,
        source: Source | None,
        create_fn: Callable[[GuardBuilder, Guard], None],
        value: object = None,
        name: str | None = None,
        kind: GuardSource = ...,
        key: object = None,
    ) -> Guards:
        """Have something checked. Returns the guard as a set."""
        ...

    def note_data(self, node: torch.fx.Node, before: torch.Tensor, place: int) -> None:
        """See `tracing.output_graph.OutputGraph`."""

    def has_altered(self, nodes: Iterable[torch.fx.Node], count: int) -> bool:
        """See `tracing.output_graph.OutputGraph`."""
        ...

    def begin_transform(self, begin: Callable[..., int], given: tuple[Argument, ...]) -> int:
        """See `tracing.output_graph.OutputGraph`."""
        ...

    def end_transform(self, end: Callable[[], object]) -> None:
        """See `tracing.output_graph.OutputGraph`."""

    def set_overrides_off(self, off: bool) -> None:
        """See `tracing.output_graph.OutputGraph`."""

    def set_function_modes(self, modes: tuple[VariableTracker, ...]) -> None:
        """See `tracing.output_graph.OutputGraph`."""

    def erase(self, node: torch.fx.Node) -> None:
        """See `tracing.output_graph.OutputGraph`."""

    def attach(self, graph: torch.fx.Graph) -> torch.fx.Proxy:
        """See `tracing.output_graph.OutputGraph`."""
        ...

    called_first: dict[FirstCall, Found]

    def is_untouched(self) -> bool:
        """See `tracing.output_graph.OutputGraph`."""
        ...

    def has_to_be_whole(self) -> bool:
        """See `tracing.output_graph.OutputGraph`."""
        ...

    def active_modes(self) -> Modes:
        """See `tracing.output_graph.OutputGraph`."""
        ...

    def note_first_call(self, call: FirstCall, found: Found) -> None:
        """See `tracing.output_graph.OutputGraph`."""

    def may_prepare(self) -> bool:
        """See `tracing.output_graph.OutputGraph`."""

    def mark(self) -> int:
        """A point to go back to."""

    def rollback(self, mark: int) -> None:
        """Undo everything since the mark."""

    def install_again(self, guards: dict[tuple[str, object], Guard]) -> Guards:
        """Have what was taken back checked all the same."""

    def placeholder(self, source: Source, value: torch.Tensor) -> torch.fx.Proxy:
        """An input of the graph."""
        ...

    def draw(self, drawn: Drawn, example: float, guards: Guards) -> VariableTracker:
        """A number that a generator of Python's gives, like this one, at each call another."""
        ...

    def symbolic_number(self, source: Source, value: float) -> VariableTracker | None:
        """An input of the graph that is a number; None: it is to be a constant."""
        ...

    def note_node(self, node: torch.fx.Node, value: object, guards: Guards) -> None:
        """A node was made, which gives this."""


class Translator(Protocol):
    """What interprets the bytecode of a frame.

    f_code, f_globals, f_builtins: of the function that is interpreted.
    instructions: all of them; `instruction_pointer` is the index of the next.
    stack: the symbolic value stack, the top last.
    symbolic_locals: trackers by name of variable; of cells, the cell's.
    f_locals: what the frame was entered with; of a call that is interpreted, nothing.
    block_stack: the `with` blocks that have been entered, each with the index of its instruction.
    parent: what interprets the caller; None: this is the frame itself.
    root: what interprets the frame itself.
    depth: how many callers are interpreted.
    """

    output: Output
    f_code: types.CodeType
    f_globals: dict[str, object]
    f_builtins: dict[str, object]
    instructions: tuple[Instruction, ...]
    instruction_pointer: int
    current_instruction: Instruction
    stack: list[VariableTracker]
    symbolic_locals: dict[str, VariableTracker]
    f_locals: dict[str, object]
    block_stack: list[tuple[int, VariableTracker]]
    kw_names: tuple[str, ...]
    parent: Translator | None
    root: Translator
    depth: int
    result: VariableTracker | None
    yielded: VariableTracker | None

    def push(self, value: VariableTracker) -> None:
        """Put a value on the stack."""

    def pop(self) -> VariableTracker:
        """Take a value from the stack."""
        ...

    def popn(self, n: int) -> list[VariableTracker]:
        """Take n values from the stack, the deepest first."""
        ...

    def lazy(self, source: Source, value: object) -> VariableTracker:
        """A tracker that is made when it is needed."""
        ...

    def build(self, source: Source, value: object) -> VariableTracker:
        """The tracker of an existing value, with its guards."""
        ...

    def realize(self, tracker: VariableTracker) -> VariableTracker:
        """What a lazy tracker stands for; anything else is the newest of itself."""
        ...

    def class_variable(self, value: VariableTracker) -> VariableTracker:
        """`type(value)`."""
        ...

    def same_or_equal(self, a: VariableTracker, b: VariableTracker) -> bool:
        """`a is b or a == b`, as containers compare."""
        ...

    def handled_exception(self) -> VariableTracker | None:
        """The exception that is being handled, here or by who called this function."""
        ...

    def spend(self, count: int) -> None:
        """Count work, so that a translation ends."""

    def may_be_caught(self) -> bool:
        """Whether there is a handler for what is raised now, here or in who has called it."""
        ...

    def call_in_graph(
        self, op: str, target: object, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        """Add an operation to the graph."""
        ...

    def call_function(self, fn: VariableTracker, args: Arguments, kwargs: Keywords) -> None:
        """Call, and push the result."""

    def interpret(self, function: Polyfill, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """What a polyfill gives."""

    def inline_user_function(
        self,
        fn: VariableTracker,
        function: types.FunctionType,
        bind: Callable[[], dict[str, VariableTracker]],
    ) -> VariableTracker:
        """Interpret a function that is called; its result.

        function: a function with its code, name and globals.
        bind: what gives the variables with which its frame begins.
        """
        ...

    def leave_block(self, exit_function: VariableTracker) -> None:
        """A `with` block is left through its exit function."""


class Position(NamedTuple):
    """Where the interpretation of a function stands: the next instruction, and what there is."""

    instruction_pointer: int
    stack: tuple[VariableTracker, ...]
    symbolic_locals: dict[str, VariableTracker]
    block_stack: tuple[tuple[int, VariableTracker], ...]
    handled: tuple[VariableTracker, ...]


class InlinedTranslator(Translator, Protocol):
    """What interprets a function that is called."""

    def run_inlined(self) -> None:
        """Interpret until the function returns or yields."""

    def position(self) -> Position:
        """Where it stands now."""
        ...

    def throw_in(self, value: VariableTracker) -> None:
        """Have the instruction that gave a value raise an exception."""

    def resumed(self, caller: Translator, at: Position) -> InlinedTranslator:
        """Another translator of the same call, which goes on at a position, for this caller."""
        ...


class Codegen(Protocol):
    """What writes instructions that push values."""

    def load_const(self, value: object) -> None:
        """Push any object."""

    def make(self, function: object, *given: object) -> None:
        """Push what a function gives; see `source.Recipe`."""

    def do(self, function: object, *given: object) -> None:
        """Call a function, and let go of what it gives."""

    def push(self, value: object) -> None:
        """Push a part of a recipe."""

    @property
    def tx(self) -> Translator:
        """The translator whose values are written."""
        ...

    def __call__(self, value: VariableTracker | Source) -> None:
        """Push a value."""

    def foreach(self, values: Iterable[VariableTracker]) -> None:
        """Push values, one after the other."""

    def is_shared(self, tracker: VariableTracker) -> bool:
        """Whether the object is needed more than once."""
        ...

    def emit(self, name: str, argument: object = None) -> None:
        """One instruction."""

    def own_name(self, name: str) -> str:
        """The name of a variable that the transformed code has beside the program's."""
        ...

    def temporary(self) -> str:
        """The name of a new variable of the transformed code."""
        ...

    def store(self, name: str) -> None:
        """Take the top into a variable."""

    def dup(self) -> None:
        """Push the top again."""

    def push_null(self) -> None:
        """Push the NULL below a callable."""

    def load_cell(self, cell: VariableTracker) -> None:
        """Push a cell itself."""

    def newest(self, tracker: VariableTracker) -> VariableTracker:
        """What the object is now."""
        ...

    def parts_of(self, tracker: VariableTracker) -> list[VariableTracker]:
        """What has to be there to push the object, as it is now."""
        ...
