"""What a translation makes: the graph, the guards, the pending changes.

The graph is built by running each operator on fake tensors, under torch's own FakeTensorMode, so
that what an operator would give, or refuse, is known at once. Its inputs are the tensors that the
frame can reach, each once, with its source.

Everything that a translation does here can be taken back to a mark, for a call that turns out not
to be possible is undone before the graph is broken in front of it. Only what operators have done in
place to fake tensors cannot; then the translation begins again (`altered`).
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch
import torch.fx

from stepper._C import call_undisturbed
from stepper.native.codegen.graph_names import CodeAsCaptured
from stepper.native.codegen.resume_info import info_of
from stepper.native.exc import RestartAnalysis, unimplemented
from stepper.native.guards.class_dicts import Consulted, module_of
from stepper.native.guards.guard import Guard
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.scope import GlobalState
from stepper.native.protocols import FirstCall, Found, GraphArg, Modes
from stepper.native.source import CallSource, GetItemSource, GuardSource, LocalSource, Source
from stepper.native.tracing.random_draws import DRAWN, Drawn, NotingFakeTensorMode, boxed
from stepper.native.tracing.side_effects import SideEffects
from stepper.native.tracing.source_lines import lines_as_found
from stepper.native.tracing.symbolic_shapes import SymbolicShapes, Tracer
from stepper.native.variables.autograd_function import apply
from stepper.native.variables.base import NO_GUARDS, Arguments, Guards, Keywords, VariableTracker
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.lists import ListVariable, TupleVariable
from stepper.native.variables.named_tuple import NamedTupleVariable, is_named_tuple
from stepper.native.variables.sym_node import SYMBOLS, SymNodeVariable
from stepper.native.variables.tensor import (
    ANSWERS,
    GraphOutputVariable,
    TensorVariable,
    may_overlap,
    require_methods,
    storage_of,
)
from stepper.native.versions import (
    FAKE_TENSOR_LOG,
    OF_MODES,
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    begin_transform,
    end_of,
    enter_inference_mode,
    forget_tensors,
    inference_mode,
    is_view,
    is_wrapped,
    leave_mode,
    python_dispatcher,
    set_grad_enabled,
    transforms_active,
    version_of,
    with_version,
    without_autocast_cache,
)
from stepper.support import break_kinds
from stepper.support.outside import comes_from_outside
from stepper.support.words import class_name, one_of

if TYPE_CHECKING:
    from types import CodeType

    from torch.fx.node import Argument

    from stepper.native.bytecode.opcodes import Instruction
    from stepper.native.tracing.symbolic_convert import InstructionTranslator
    from stepper.native.watching import TranslationWatcher


class FrameTranslation(Protocol):
    """Whose output it is: the capture of one frame (`runtime.translation.Translation`).

    dynamic: whether sizes and ints are symbols; None: those that have changed.
    nopython: whether it is to be one graph.
    watcher: who is told of it.
    """

    code: CodeType
    dynamic: bool | None
    nopython: bool
    watcher: TranslationWatcher

    def returned(self, tx: InstructionTranslator) -> None:
        """The frame returns: have the code written that does."""

    def graph_broke(self, tx: InstructionTranslator, inst: Instruction, reason: str) -> None:
        """The graph is broken before an instruction: have the code written that goes on there."""

    def compile_graph(self, nodes: list[torch.fx.Node]) -> Callable[..., object]:
        """Have the backend compile the graph, which gives these nodes."""
        ...

    def finished(self, tx: InstructionTranslator, code: CodeType) -> None:
        """The frame's code is written: make the entry."""


_OF_ERRORS = (
    (DynamicOutputShapeException, break_kinds.SHAPED),
    (DataDependentOutputException, break_kinds.OPERATOR),
)
"""What a fake tensor raises where the data is needed."""


class OutputGraph:
    """See the module's essay.

    graph: grows as instructions are interpreted.
    guards: all that have been installed, in order.
    side_effects: what the frame has changed.
    graphargs: inputs, by their placeholder.
    """

    def __init__(self, translation: FrameTranslation, state: GlobalState) -> None:
        self.translation = translation
        self.state = state
        self.trail: list[Callable[[], object]] = []
        self.graph = torch.fx.Graph()
        self.shapes = SymbolicShapes(
            translation.code,
            translation.dynamic,
            translation.watcher.size_known,
            translation.nopython,
        )
        self.tracer = Tracer(self.graph, self.shapes)
        self.fake_mode = NotingFakeTensorMode(
            allow_non_fake_inputs=False, shape_env=self.shapes.shape_env
        )
        watcher = translation.watcher
        self.side_effects = SideEffects(self.trail, watcher.changed if watcher.follows else None)
        self.guards: dict[tuple[str, object], Guard] = {}
        self.graphargs: dict[torch.fx.Node, GraphArg] = {}
        self.variables: dict[int, tuple[object, VariableTracker]] = {}
        """Trackers of objects with an identity, by id; the object is kept."""
        self.contents: dict[int, VariableTracker] = {}
        """What is inside of objects that are containers by inheritance, by id of the object."""
        self.globals: dict[tuple[int, str], tuple[object, VariableTracker]] = {}
        """Global variables that were loaded: see `remember_global`."""
        self.mutables: dict[str, Source] = {}
        """Sources of containers and objects that the frame might change, by name."""
        self.altered: list[int] = []
        """The memory of fake tensors that operators have changed, as `storage_of` says."""
        self.mutates_inputs = False
        self.written: set[int] = set()
        """The memory of inputs that operators have written to, as `storage_of` says."""
        self.given_data: set[torch.fx.Node] = set()
        """Inputs that are given the memory of another tensor."""
        self.former_data: dict[int, tuple[int, torch.Tensor]] = {}
        """The memory that they have had, by which instruction they lost it, and what keeps it, for
        nothing else is to be there."""
        self.overlaps = False
        """Whether an operator may refuse to write, since the memory is something else's, too."""
        self.keys: list[Source] = []
        """What is told apart from other objects as a key, and is no input of the graph."""
        self.addresses: list[int] = []
        """The addresses of objects that are guarded to be these."""
        self.lets_go = self.holds_weakly = False
        """Whether something was let go that was there before, and whether a table was looked into
        that may hold such weakly."""
        self.beside = False
        """Whether an operator stands where the program catches exceptions, or has changed what is
        not written back yet: then the frame is run again if it raises."""
        self.calls_program = False
        """Whether a node calls what the program has defined, which may be noticed: so is
        that it is called again."""
        self.broken = False
        """Whether the graph is broken."""
        self.resumes = False
        """Whether a resume function goes on where the graph is broken."""
        self._numbers: dict[str, SymNodeVariable] = {}
        """Inputs that are symbolic numbers, by the names of their sources."""
        self.spent = 0
        """Instructions interpreted, and items made, so far."""
        self.grad_enabled = state.grad_enabled
        self.overrides_off = False
        """Whether the classes of tensors are not asked what operations give."""
        self.function_modes: tuple[VariableTracker, ...] = ()
        """The modes that the frame has entered and that are asked what operations give."""
        self.asks = False
        """Whether there has been a tensor or a mode that is asked what an operation gives."""
        self.asked_since = 0
        """The instruction that has entered the first of them."""
        self.inference = state.inference
        """Whether inference mode is active. Operators run on fake tensors outside of it."""
        self.modes: Modes = ()
        """What makes the modes in which operators run, beside the gradient mode."""
        self.exits: tuple[tuple[VariableTracker, VariableTracker], ...] = ()
        """The exit functions of contexts that code has entered and is to leave, behind that of what
        the graph has entered instead."""
        self.transforms: tuple[object, ...] = ()
        """What makes those transforms of `torch.func` active in which operators run."""
        self.bodies: dict[str, torch.fx.GraphModule] = {}
        """Graphs that operators are given."""
        self._erased: set[torch.fx.Node] = set()
        self.drawn: list[Drawn] = []
        """What is drawn from generators of Python's, in order, before the graph runs."""
        self.called_first: dict[FirstCall, Found] = {}
        """First calls of functions that keep their results; see `variables.cached_function`."""
        self.consulted = Consulted()
        """What was found in classes."""
        self._inputs: torch.fx.Node | None = None
        self._storages: set[int] = set()

    # --- marks

    def mark(self) -> int:
        """A point to go back to."""
        return len(self.trail)

    def rollback(self, mark: int) -> None:
        """Undo everything since the mark."""
        trail = self.trail
        while len(trail) > mark:
            trail.pop()()

    def cleanup(self) -> None:
        """Let go of the program's objects: in cycles, they would live until the garbage collector
        comes by, and so would entries that die with them."""
        self.trail.clear()
        self.guards.clear()
        self.graphargs.clear()
        self.variables.clear()
        self.contents.clear()
        self.globals.clear()
        self.mutables.clear()
        self.consulted.clear()
        self.side_effects.cleanup()
        forget_tensors(self.fake_mode)

    def _remember(self, where: dict[Any, Any], key: object, value: object) -> None:
        where[key] = value
        self.trail.append(lambda: where.pop(key))

    def remember_variable(self, value: object, tracker: VariableTracker) -> None:
        """Have an object that has an identity stand for by one tracker."""
        self._remember(self.variables, id(value), (value, tracker))

    def note_key(self, source: Source) -> None:
        """What is there is told apart from all that is like it."""
        self.keys.append(source)
        self.trail.append(self.keys.pop)

    def remember_address(self, value: object) -> None:
        """An object is guarded to be this one: nothing else has its address."""
        self.addresses.append(id(value))
        self.trail.append(self.addresses.pop)

    def note_mutable(self, source: Source) -> None:
        """The frame might change what is there."""
        name = source.name()
        if name not in self.mutables:
            self._remember(self.mutables, name, source)

    def remember_contents(self, owner: object, contents: VariableTracker) -> None:
        """Have what is inside of an object, which is in `variables`, be one tracker."""
        self._remember(self.contents, id(owner), contents)

    def remember_global(self, key: tuple[int, str], value: object, found: VariableTracker) -> None:
        """Have a global variable, which has this value, stand for by one tracker.

        key: the identity of the namespace, and the name.
        """
        self._remember(self.globals, key, (value, found))

    def _on_trail(self, undo: Callable[[], object] | None) -> None:
        if undo is not None:
            self.trail.append(undo)

    # --- guards

    def chosen_by(self, *values: VariableTracker) -> None:
        """What is interpreted next was chosen by what is known of these values."""
        if self.translation.watcher.follows:
            self.chosen(VariableTracker.propagate(values)["guards"])

    def chosen_by_all(self) -> None:
        """What is interpreted next was chosen by something among all that is guarded so far."""
        self.chosen(frozenset(self.guards.values()))

    def chosen(self, guards: Guards) -> None:
        """What is interpreted next was chosen by what these guards hold."""
        watcher = self.translation.watcher
        if watcher.follows and guards:
            self._on_trail(watcher.chosen(guards))

    def install_guard(
        self,
        source: Source | None,
        create_fn: Callable[[GuardBuilder, Guard], None],
        value: object = None,
        name: str | None = None,
        kind: GuardSource = GuardSource.GLOBAL_STATE,
        key: object = None,
    ) -> frozenset[Guard]:
        """Have something checked; an equal guard is found again. Returns it as a set.

        key: what makes guards of one name equal, if it is not their kind.
        """
        text = name if name is not None else source.name() if source is not None else ""
        key = (text, key or create_fn)
        guard = self.guards.get(key)
        if guard is None:
            kind = source.guard_source() if source is not None else kind
            guard = Guard(text, kind, create_fn, source, value)
            self._install(key, guard)
        return frozenset((guard,))

    def _install(self, key: tuple[str, object], guard: Guard) -> None:
        self._remember(self.guards, key, guard)
        watcher = self.translation.watcher
        self.trail.append(lambda: watcher.guard_withdrawn(guard))
        watcher.guard_installed(guard)

    def install_again(self, guards: dict[tuple[str, object], Guard]) -> Guards:
        """Have what was taken back checked all the same."""
        for key, guard in guards.items():
            self._install(key, guard)
        return frozenset(guards.values())

    # --- the graph

    @lines_as_found
    def placeholder(self, source: Source, value: torch.Tensor) -> torch.fx.Proxy:
        """An input of the graph."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                make = self.shapes.fake_tensor
                plain = with_version(value) if value.is_inference() else value
                fake = call_undisturbed(make, self.fake_mode, source, plain)
            except Exception as error:
                if comes_from_outside(error):
                    raise
                raise unimplemented(f"{type(error).__name__}: {error}") from None
        proxy = self._input(source, value, fake)
        proxy.node.meta["version"] = version_of(fake)
        self._storages.add(storage_of(fake))
        return proxy

    def draw(self, drawn: Drawn, example: float, guards: Guards) -> SymNodeVariable:
        """A number that a generator of Python's gives, like this one, at each call another."""
        self.drawn.append(drawn)
        self.trail.append(self.drawn.pop)
        self.beside = True  # one that raises is followed by the program's own draws
        self.side_effects.changes += 1
        watcher = self.translation.watcher
        if watcher.follows:
            self._on_trail(watcher.acts(guards))
        variable = LocalSource(info_of(self.translation.code).prefix + DRAWN)
        source = GetItemSource(variable, len(self.drawn) - 1)
        fake = self.fake_mode.from_tensor(boxed(example))
        number = TensorVariable(self._input(CallSource(source, boxed), example, fake))
        with self.shapes.with_scalars():
            found = self.call("call_method", "item", [number], {})
        assert isinstance(found, SymNodeVariable)
        found.proxy.node.meta["drawn"] = True
        return found.with_fields(source=source, guards=guards)

    @lines_as_found
    def symbolic_number(self, source: Source, value: float) -> VariableTracker | None:
        """An input of the graph that is a number; None: it is to be a constant."""
        symbol = self.shapes.number(source, value)
        if symbol is None:
            return None
        name = source.name()
        if name not in self._numbers:
            guards = self.install_guard(source, GuardBuilder.TYPE_MATCH, value)
            proxy = self._input(source, value, symbol)
            self._remember(
                self._numbers, name, SymNodeVariable(proxy, source=source, guards=guards)
            )
        return self._numbers[name]

    def install_class_guards(self) -> None:
        """Have checked what was found in classes."""
        for found in self.consulted.classes():
            name = f"{module_of(found.cls)}.{found}"
            self.install_guard(None, GuardBuilder.CLASS_ATTRIBUTES, found, name, key=id(found.cls))

    @lines_as_found
    def install_shape_guards(self) -> None:
        """Have checked what was concluded of symbols.

        Raises:
            SkipFrame: see `SymbolicShapes.conditions`.
        """
        conditions = self.shapes.conditions()
        for each in self.shapes.inputs.values():  # also those of instructions that were taken back
            number = one_of(type(each.value), (int, float))
            kind = GuardBuilder.TYPE_MATCH if number else GuardBuilder.TENSOR_MATCH
            self.install_guard(each.source, kind, each.value)
        for condition in conditions:
            kind = GuardBuilder.SHAPE_ENV
            self.install_guard(None, kind, name=condition, kind=GuardSource.SHAPE_ENV)

    def _input(self, source: Source, value: Any, fake: object) -> torch.fx.Proxy:
        with (
            self.graph.inserting_after(self._inputs)
            if self._inputs
            else (self.graph.inserting_before(next(iter(self.graph.nodes), end_of(self.graph))))
        ):
            node = self.graph.placeholder(input_name(source))
            node.target = node.name  # what it is called in the code: no two are called the same
        self._remember(self.graphargs, node, GraphArg(source, value))
        self.note_node(node, fake, NO_GUARDS)
        before = self._inputs
        self._inputs = node
        self.trail.append(lambda: setattr(self, "_inputs", before))
        return torch.fx.Proxy(node, self.tracer)

    def call(self, op: str, target: Any, args: Arguments, kwargs: Keywords) -> VariableTracker:
        """Add a node, and wrap what it gives.

        Raises:
            Unsupported: an argument cannot stand in a graph, or the operator refuses.
        """
        require_methods(self, op, target, args)
        proxies = torch.fx.node.map_aggregate(tuple(arg.as_proxy() for arg in args), to_node)
        named = torch.fx.node.map_aggregate(
            {key: arg.as_proxy() for key, arg in kwargs.items()}, to_node
        )
        fakes: dict[int, tuple[torch.Tensor, torch.fx.Node]] = {}

        def fake_of(node: torch.fx.Node) -> Any:
            value = node.meta["example_value"]
            if isinstance(value, torch.Tensor):
                fakes[id(value)] = (value, node)
            return value

        fake_args = torch.fx.node.map_arg(proxies, fake_of)
        fake_kwargs = torch.fx.node.map_arg(named, fake_of)
        versions = {key: version_of(value) for key, (value, _) in fakes.items()}
        draws = self.fake_mode.draws
        result = self._run_fake(op, target, fake_args, fake_kwargs)
        if self.drawn and self.shapes.shape_env.deferred_runtime_asserts:
            # What holds for the numbers of one call does not for those of the next.
            reason = f"{getattr(target, '__name__', target)} by a number that is drawn"
            raise unimplemented(reason, "draw it before the compiled function, and hand it over")
        changed = [fakes[key][0] for key, v in versions.items() if version_of(fakes[key][0]) != v]
        if changed:
            self.altered += map(storage_of, changed)
            self.overlaps |= may_overlap(changed, [value for value, _ in fakes.values()])
            written = {storage_of(value) for value in changed} & self._storages
            if written:
                self.mutates_inputs = True
                self.written |= written
        options = VariableTracker.propagate(args, list(kwargs.values()))
        node = self.graph.create_node(op, target, proxies, named)
        if (found := self.shapes.note_result(result)) is not None:
            node.meta["unbacked_bindings"] = found
        self.note_node(node, result, options["guards"])
        watcher = self.translation.watcher
        if watcher.follows and (changed or self.fake_mode.draws != draws):
            self._on_trail(watcher.acts(options["guards"]))
            self.side_effects.changes += 1
        given = {key: each for key, (_, each) in fakes.items()}
        return self._wrap(node, result, options["guards"], args, given)

    def note_data(self, node: torch.fx.Node, before: torch.Tensor, place: int) -> None:
        """An instruction has given an input other memory than it had, which this tensor has."""
        now = storage_of(node.meta["example_value"])
        self.altered += (storage_of(before), now)
        self._storages.add(now)
        self.given_data.add(node)
        self.former_data[storage_of(before)] = place, before
        self.mutates_inputs = True

    def refuse_former_data(self, given: Iterable[torch.fx.Node]) -> None:
        """To be asked of what a graph gives: for AOTAutograd, what has the memory that an input has
        had shares it with that still.

        Raises:
            RestartAnalysis: something has.
        """
        tensors = (each for each in given if isinstance(each.meta["example_value"], torch.Tensor))
        for node in tensors if self.former_data else ():
            place, _ = self.former_data.get(storage_of(node.meta["example_value"]), (None, None))
            if place is not None and node not in self.graphargs:
                raise RestartAnalysis(place, "a tensor with data that a parameter has had")

    def written_so_often(self) -> list[tuple[int, int]]:
        """The places of inputs that are given other memory, and how often each is written to."""
        found = []
        for at, node in enumerate(self.graphargs):
            if node in self.given_data:
                version = node.meta["example_value"]._version
                found.append((at, version - node.meta["version"]))
        return found

    def _tensor_of(self, node: torch.fx.Node, args: Arguments) -> VariableTracker:
        """The tensor for which a node was made; it may be an item of a container among `args`."""
        known = (tracker for _, tracker in self.variables.values())
        for tracker in itertools.chain(args, known):
            if isinstance(tracker, TensorVariable) and tracker.proxy.node is node:
                return tracker
        return TensorVariable(torch.fx.Proxy(node, self.tracer))

    @lines_as_found
    def _run_fake(self, op: str, target: Any, args: Any, kwargs: Any) -> object:
        grad = torch.is_grad_enabled()
        FAKE_TENSOR_LOG.disabled = True  # it reports what the program is going to be told itself
        try:
            with warnings.catch_warnings(), self.fake_mode, contextlib.ExitStack() as stack:
                for mode in self.modes:
                    stack.enter_context(mode())
                warnings.simplefilter("ignore")
                if self.state.autocast:  # it would keep what fake parameters were cast to
                    stack.enter_context(without_autocast_cache())
                if self.state.inference:
                    stack.enter_context(inference_mode(False))
                set_grad_enabled(self.grad_enabled and not self.inference)
                if self.shapes.inputs or self.shapes.unbacked:  # not all of C takes symbols
                    stack.enter_context(python_dispatcher())
                if self.transforms:
                    stack.enter_context(transforms_active(self.transforms))
                if op == "call_method":
                    return call_undisturbed(getattr(args[0], target), *args[1:], **kwargs)
                return call_undisturbed(target, *args, **kwargs)
        except Exception as error:
            if comes_from_outside(error):
                raise
            text = str(error).strip().partition("\n")[0]
            kind = next((name for of, name in _OF_ERRORS if isinstance(error, of)), "")
            operator = str(getattr(error, "func", "")) if kind else ""
            if kind and target is torch.nn.functional.one_hot:
                kind = break_kinds.ONE_HOT
            reason = f"{type(error).__name__}: {text}"
            raise unimplemented(reason, kind=kind, context=operator) from None
        finally:
            set_grad_enabled(grad)
            FAKE_TENSOR_LOG.disabled = False

    def has_altered(self, nodes: Iterable[torch.fx.Node], count: int) -> bool:
        """Whether operators have changed what these nodes give since so many of `altered`."""
        values = [each.meta["example_value"] for each in nodes]
        known = {storage_of(each) for each in values if isinstance(each, torch.Tensor)}
        return not known.isdisjoint(self.altered[count:]) or 0 in self.altered[count:]

    def begin_transform(self, begin: Callable[..., int], given: tuple[Argument, ...]) -> int:
        """Have a transform of `torch.func` be active from here on; its level."""
        fakes = torch.fx.node.map_arg(given, lambda node: node.meta["example_value"])
        result = self._run_fake("call_function", begin_transform, (begin, *fakes), {})
        level, layer = cast("tuple[int, object]", result)
        self._set_transforms((*self.transforms, layer))
        return level

    def end_transform(self, end: Callable[[], object]) -> None:
        """The transform that was begun last is over: its tensors know that, and for good."""
        self._run_fake("call_function", end, (), {})
        self.altered.append(0)
        self._set_transforms(self.transforms[:-1])

    def _set_transforms(self, layers: tuple[object, ...]) -> None:
        before, self.transforms = self.transforms, layers
        self.side_effects.changes += 1
        self.trail.append(lambda: setattr(self, "transforms", before))

    def set_overrides_off(self, off: bool) -> None:
        """The classes of tensors are asked from here on, or are not."""
        before, self.overrides_off = self.overrides_off, off
        self.trail.append(lambda: setattr(self, "overrides_off", before))

    def set_function_modes(self, modes: tuple[VariableTracker, ...]) -> None:
        """These modes are asked from here on."""
        before, self.function_modes = self.function_modes, modes
        self.side_effects.changes += 1
        self.trail.append(lambda: setattr(self, "function_modes", before))

    def refuse_function_modes(self, reason: str) -> None:
        """To be asked where the frame is left: it cannot be in a mode that is asked.

        Raises:
            RestartAnalysis: it is in one.
        """
        if self.function_modes:
            raise RestartAnalysis(self.asked_since, reason)

    def note_node(self, node: torch.fx.Node, value: object, guards: Guards) -> None:
        """A node was made, gives this on fake tensors, and depends on these guards."""
        node.meta["example_value"] = value
        self.trail.append(lambda: self._erase(node))
        self.translation.watcher.node_made(node, guards)

    def erase(self, node: torch.fx.Node) -> None:
        """A node is taken out of the graph, for good or until a rollback takes back its making."""
        self._erase(node)
        self._erased.add(node)

    def _erase(self, node: torch.fx.Node) -> None:
        if node not in self._erased:
            self.graph.erase_node(node)
            self.translation.watcher.node_erased(node)

    def attach(self, graph: torch.fx.Graph) -> torch.fx.Proxy:
        """A node that gives a graph of its own."""
        graph.set_codegen(CodeAsCaptured())
        name = f"body_{len(self.bodies)}"
        body = torch.fx.GraphModule(self.bodies, graph, name)
        self._remember(self.bodies, name, body)
        node = self.graph.create_node("get_attr", name)
        self.note_node(node, body, NO_GUARDS)
        return torch.fx.Proxy(node, self.tracer)

    def _wrap(
        self,
        node: torch.fx.Node,
        value: object,
        guards: frozenset[Guard],
        args: Arguments,
        given: dict[int, torch.fx.Node],
    ) -> VariableTracker:
        """What a node gives; it may be one of its arguments, which nodes have given."""
        if id(value) in given:
            return self._tensor_of(given[id(value)], args).with_guards(guards)
        proxy = torch.fx.Proxy(node, self.tracer)
        if isinstance(value, torch.Tensor):
            if type(value) is not FakeTensor and not is_wrapped(value):
                raise unimplemented(f"an operator that returns a {type(value).__name__}")
            made = value.requires_grad and value.is_leaf and not is_view(value)
            if made and not is_wrapped(value):  # AOT would lose that
                reason = "a tensor that is made to require gradients"
                raise unimplemented(reason, kind=break_kinds.WITH_GRADIENT)
            return TensorVariable(proxy, guards=guards)
        if isinstance(value, SYMBOLS):
            return SymNodeVariable(proxy, guards=guards)
        if isinstance(value, tuple | list):
            items = []
            for index, item in enumerate(value):
                inner = self.graph.create_node("call_function", operator.getitem, (node, index))
                self.note_node(inner, item, guards)
                items.append(self._wrap(inner, item, guards, args, given))
            if is_named_tuple(type(value)):
                return NamedTupleVariable.given(items, type(value), guards)
            if type(value) is tuple:
                return TupleVariable(items, guards=guards)
            if type(value) is list:
                return ListVariable.new(items, guards)
            return GraphOutputVariable(proxy, items, type(value), guards=guards)
        modes = {each.target for each in self.graph.nodes}
        inference = self.state.inference or enter_inference_mode in modes
        if called(node) == "is_inference" and inference:
            raise unimplemented("a question for inference mode, where it has been entered")
        item = node.target is operator.getitem  # of several that an operator gives
        given_by = node.all_input_nodes[0] if item else node
        if value is not None and type(value) is not torch.dtype and not _is_known(given_by):
            reason = f"{called(given_by)}, which gives a {class_name(type(value))} and no tensor"
            raise unimplemented(reason, kind=break_kinds.NO_TENSOR)
        return wrap_constant(value, guards)

    def is_untouched(self) -> bool:
        """Whether nobody could tell if something were done before the frame that changes nothing:
        nothing has been drawn or changed so far."""
        changed = not all(each.is_repeated for each in self.side_effects.changed.values())
        written = self.altered or self.mutates_inputs
        transformed = self.transforms or self.inference != self.state.inference
        return not (self.fake_mode.draws or self.drawn or written or changed or transformed)

    def may_prepare(self) -> bool:
        """Whether something can be done before the frame: it has to be one graph, and no mode is
        set, too."""
        set_ = self.modes or self.grad_enabled != self.state.grad_enabled
        return self.has_to_be_whole() and self.is_untouched() and not set_

    def has_to_be_whole(self) -> bool:
        """Whether the frame has to be one graph."""
        return self.translation.nopython

    def note_first_call(self, call: FirstCall, found: Found) -> None:
        """A function that keeps its results is called with these arguments for the first time."""
        self._remember(self.called_first, call, found)

    def active_modes(self) -> Modes:
        """What makes the modes that are active here."""
        return *self.modes, partial(torch.set_grad_enabled, self.grad_enabled)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is computed in the graph."""
        return all(node.op == "placeholder" for node in self.graph.nodes)

    @property
    def is_trivial(self) -> bool:
        """Whether the graph computes nothing, or is only about modes."""
        return all(
            node.op in ("placeholder", "output") or node.target in OF_MODES or gives_number(node)
            for node in self.graph.nodes
        )

    def remove_unused(self, kept: Iterable[torch.fx.Node]) -> None:
        """What nobody asks for is no node: sizes and what was computed of them, only to be asked of
        while tracing; parts of what there is; modes in which nothing runs."""
        kept = set(kept)
        for node in reversed(self.graph.nodes):
            unused = not node.users and node not in kept and node.op != "placeholder"
            if unused and (gives_number(node) or _only_takes(node)):
                self._erase(node)
        mode: bool | None = self.state.grad_enabled
        last = None
        for node in [*self.graph.nodes, None]:
            sets = node is not None and node.target is set_grad_enabled
            if last is not None and (sets or last.args[0] == mode):
                self._erase(last)
            elif last is not None:
                mode = last.args[0] is True
            last = node if sets else None
            left = node is not None and node.target is leave_mode and node.args[0]
            if left and left is node.prev:
                self._erase(node)
                self._erase(left)
            if not sets and node is not None and node.target in OF_MODES:
                mode = None  # they may set it, too

    def remove_unused_inputs(self) -> None:
        """Inputs that nothing reads are not passed."""
        for node, arg in list(self.graphargs.items()):
            if not node.users:
                if "is_key" in node.meta:
                    self.keys.append(arg.source)
                del self.graphargs[node]
                self._erase(node)


def called(node: torch.fx.Node) -> str:
    """What a node calls, by its name."""
    target = node.target
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))


def _is_known(node: torch.fx.Node) -> bool:
    """Whether a node, of which a fake tensor has given a plain value, gives the same of a real
    one."""
    of_function = getattr(node.target, "__func__", None) is apply  # it was interpreted before
    return of_function or called(node) in ANSWERS or all(map(gives_number, node.all_input_nodes))


def _only_takes(node: torch.fx.Node) -> bool:
    """Whether a node only takes an item of several that an operator has given, or a part of a
    tensor that is there whatever its data are."""
    if node.target is not operator.getitem or len(node.all_input_nodes) != 1:
        return False
    key = node.args[1] if type(node.args[1]) is tuple else (node.args[1],)
    return all(each is None or each is ... or one_of(type(each), (int, slice)) for each in key)


def gives_number(node: torch.fx.Node) -> bool:
    """Whether a node is about numbers only, symbolic or not."""
    return isinstance(node.meta.get("example_value"), (*SYMBOLS, int, float))


def to_node(value: object) -> Any:
    """The node of a proxy; anything else is left as it is."""
    return value.node if isinstance(value, torch.fx.Proxy) else value


_REGISTRIES = ("._modules[", "._parameters[", "._buffers[")


def input_name(source: Source) -> str:
    """The name of an input: its expression's names, without the furniture."""
    text = source.name()
    for furniture in ("L['", "G['", *_REGISTRIES):
        text = text.replace(furniture, "_")
    kept = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in text)
    parts = [part for part in kept.split("_") if part]
    name = "_".join(parts) or "arg"
    return name if name.isidentifier() else f"arg_{name}"
