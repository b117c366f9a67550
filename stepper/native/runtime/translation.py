"""One frame that is being captured.

It is interpreted, as often as its plan wants it; the backend compiles what came of it; what runs in
the frame's place is written; and a `GuardedCode` is made of that and of the guards.
"""

from __future__ import annotations

import gc
import itertools
import logging
import types
from collections.abc import Callable
from functools import partial

import torch
import torch.fx

from stepper import _C
from stepper.native import config
from stepper.native.bytecode.opcodes import Instruction
from stepper.native.codegen.frame_code import compile_return
from stepper.native.codegen.graph_names import CodeAsCaptured
from stepper.native.codegen.putting_back import call_with_versions
from stepper.native.codegen.resume_execution import write_break
from stepper.native.exc import (
    NothingToCapture,
    PrepareFirst,
    SkipFrame,
    Unsupported,
    let_go_of_frames,
    not_one_graph,
)
from stepper.native.guards.check_function import CheckFunctionManager
from stepper.native.guards.class_dicts import note_as, note_in, notings
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.scope import GlobalState, has_hooks
from stepper.native.runtime.backends import Backend, backend_name
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.native.runtime.surroundings import Surroundings
from stepper.native.skip_reasons import copies_its_variables, wrappers
from stepper.native.trace_rules import give_up
from stepper.native.tracing.output_graph import OutputGraph
from stepper.native.tracing.plan import Plan
from stepper.native.tracing.symbolic_convert import InstructionTranslator
from stepper.native.variables.cached_function import to_be_called_before
from stepper.native.variables.numpy_arrays import is_of_array
from stepper.native.versions import OF_MODES, end_modes, set_grad_enabled, tracing_shapes
from stepper.native.watching import WATCHING, TranslationWatcher
from stepper.support.outside import comes_from_outside
from stepper.uncompiled import keep_out

log = logging.getLogger("stepper.native")

_graph_numbers = itertools.count()
_entry_numbers = itertools.count()
_bytecode_hooks: list[Callable[[types.CodeType, types.CodeType], types.CodeType | None]] = []


def register_bytecode_hook(
    hook: Callable[[types.CodeType, types.CodeType], types.CodeType | None],
) -> Callable[[], None]:
    """Call `hook(old, new)` with each code that is made; it may return another in its place.

    Returns a function that takes it out again.
    """
    _bytecode_hooks.append(hook)
    return lambda: _bytecode_hooks.remove(hook)


class Translation:
    """One frame that is being captured."""

    def __init__(
        self,
        code: types.CodeType,
        function: types.FunctionType,
        f_locals: dict[str, object],
        backend: Backend,
        nopython: bool,
        dynamic: bool | None,
        full: str = "",
    ) -> None:
        self.full = full
        """Why no entry can be made for the code; empty: one can."""
        self.dynamic = dynamic
        self.code = code
        self.function = function
        self.f_locals = f_locals
        self.backend = backend
        self.nopython = nopython
        self.state = GlobalState()
        self.output: OutputGraph
        self._outputs: list[OutputGraph] = []
        self.entry: GuardedCode | None = None
        self.graph_code = ""
        self.noted = notings()
        self.left_by = ""
        """The exception that has left it, by its name."""
        self.plan = Plan()
        self.watcher: TranslationWatcher = WATCHING.watcher.translation_begins(self)
        self.collects = gc.isenabled()
        """Whether the program has its garbage collected. While a frame is interpreted nothing is:
        so what the program does then, in callbacks and destructors, it does not do more often."""

    def run(self, surroundings: Surroundings) -> GuardedCode:
        """Translate, and again where that has to be.

        Raises:
            SkipFrame, Unsupported: it cannot be captured.
        """
        self._undisturbed()
        while True:
            plan = self.plan
            self.watcher.attempt_begins(plan)
            note_as(self.noted)
            self.output = OutputGraph(self, self.state)
            note_in(self.output.consulted)
            self._outputs.append(self.output)
            breaks = plan.break_at
            tx = InstructionTranslator(self.output, self.function, self.f_locals, breaks)
            self._install_global_guards()
            self.watcher.enter(tx)
            prepare = None
            try:
                tx.run()
                break
            except PrepareFirst as error:
                prepare = error.prepare
                self.watcher.restarts(error.msg)
                let_go_of_frames(error)
            except Exception as error:
                self.plan, reason = plan.after(error)
                self.watcher.restarts(reason)
                let_go_of_frames(error)
            finally:
                self.watcher.leave(tx)
                tx.cleanup()
            if prepare is not None:
                self._as_usual()
                surroundings.let(prepare)
                self._undisturbed()
        assert self.entry is not None
        return self.entry

    def _undisturbed(self) -> None:
        """Have no garbage collected, and the translator's own calls not go through the hook."""
        gc.disable()
        _C.put_hook_aside()

    def _as_usual(self) -> None:
        _C.put_hook_back()
        if self.collects:
            gc.enable()

    def cleanup(self) -> None:
        """Let go of the program's objects. Harmless when that is done."""
        self.f_locals = {}
        self.__dict__.pop("function", None)  # a resume function has the program's cells
        for output in self._outputs:
            output.cleanup()

    def _install_global_guards(self) -> None:
        install = self.output.install_guard
        install(None, GuardBuilder.GLOBAL_STATE)
        install(None, GuardBuilder.GRAD_MODE)
        if self.state.inference:
            install(None, GuardBuilder.INFERENCE_MODE)
        install(None, GuardBuilder.DETERMINISTIC_ALGORITHMS)
        install(None, GuardBuilder.DEFAULT_DEVICE)
        install(None, GuardBuilder.BACKEND_MATCH, self.backend)

    def graph_broke(self, tx: InstructionTranslator, inst: Instruction, reason: str) -> None:
        """The graph is broken before an instruction: have the code written that goes on there."""
        own_variables = copies_its_variables(self.code)  # what goes on has others
        if not (self.nopython or own_variables):
            self._call_before()
        self.output.broken = True
        if config.verbose:
            log.info("graph break in %s line %s: %s", self.code.co_name, inst.starts_line, reason)
        self.watcher.graph_break(tx, inst, reason, resumes=not self.nopython)
        own = wrappers.get(self.code)  # a line of ours says nothing
        WATCHING.note_break(self.code, None if own else inst.starts_line, reason)
        if self.nopython:
            raise Unsupported(
                f"{reason}\n  at {self.code.co_filename}:{inst.starts_line} in {self.code.co_name}"
            )
        if own_variables:
            raise SkipFrame(f"it may read its own frame (locals), and {reason}")
        write_break(tx, inst)

    def returned(self, tx: InstructionTranslator) -> None:
        """The frame returns: have the code written that does."""
        self._call_before()
        compile_return(tx)

    def _call_before(self) -> None:
        """Begin again, where what first calls give is to be there before."""
        if self.output.called_first:
            raise to_be_called_before(self.output.called_first)

    def compile_graph(self, nodes: list[torch.fx.Node]) -> Callable[..., object]:
        """Have the backend compile the graph, which gives these nodes."""
        self._settle()
        output = self.output
        output.remove_unused_inputs()
        output.refuse_former_data(nodes)
        if output.grad_enabled != self.state.grad_enabled:
            mode = self.state.grad_enabled
            output.graph.create_node("call_function", set_grad_enabled, (mode,))
        output.graph.output(tuple(nodes))
        output.graph.set_codegen(CodeAsCaptured())
        name = f"__compiled_fn_{next(_graph_numbers)}"
        gm = torch.fx.GraphModule(output.bodies, output.graph, name)
        self.graph_code = gm.code
        WATCHING.note_graph(self.code, gm)
        set_grad_enabled(self.state.grad_enabled)
        self._as_usual()
        if output.shapes.inputs or output.shapes.unbacked:
            # Symbols are known by the fake tensors only.
            fakes = [node.meta["example_value"] for node in output.graphargs]
            with tracing_shapes(output.fake_mode), output.shapes.with_scalars():
                compiled = self._ask_backend(gm, fakes)
        else:
            compiled = self._ask_backend(gm, [arg.example for arg in output.graphargs.values()])
        self._undisturbed()
        if not callable(compiled):
            raise TypeError(f"the backend returned a {type(compiled).__name__}, not a callable")
        if compiled is gm and not has_hooks(gm):  # by no hooks for all modules, for it is ours
            compiled = partial(_forward, gm)
        if output.given_data:
            compiled = partial(call_with_versions, output.written_so_often(), compiled)
        if any(node.target in OF_MODES for node in output.graph.nodes):
            undo = partial(end_modes, self.state.grad_enabled)
            return named(partial(_C.call_and_undo, undo, compiled), name)
        return named(compiled, name)

    def _ask_backend(self, gm: torch.fx.GraphModule, inputs: list[object]) -> Callable[..., object]:
        self.watcher.backend_called()
        try:
            return self.backend(gm, inputs)
        except Exception as error:
            if comes_from_outside(error):
                raise
            said = f"{type(error).__name__}: {error}"
            if any(isinstance(each, torch.SymFloat) for each in inputs):
                # AOTAutograd differentiates nothing with them.
                self._undisturbed()
                raise PrepareFirst(self.output.shapes.know_floats, said) from error
            reason = f"the backend {backend_name(self.backend)} failed: {said}"
            place = f"{self.code.co_qualname} ({self.code.co_filename}:{self.code.co_firstlineno})"
            log.warning("%s runs as it is: %s", place, reason)
            raise SkipFrame(reason) from error

    def finished(self, tx: InstructionTranslator, code: types.CodeType) -> None:
        """The frame's code is written: make the entry."""
        self._settle()
        output = self.output
        trivial = output.is_trivial and not output.side_effects.pending
        if trivial and not output.resumes and not config.capture_everything:
            if self.full or not self.nopython:
                raise NothingToCapture("there is nothing in it for a graph")
        elif self.full:
            raise not_one_graph(self.code, self.full)
        for hook in _bytecode_hooks:
            code = hook(self.code, code) or code
        self._guard_aliasing()
        output.install_shape_guards()
        output.install_class_guards()
        if output.broken:
            output.install_guard(None, GuardBuilder.PARTS_WILL_DO)
        number = next(_entry_numbers)
        name = f"__guard_{number}_for_{self.code.co_name}"
        name = name if name.isidentifier() else f"__guard_{number}"
        dims = output.shapes.dims()
        guards = filter(self.plan.keeps, output.guards.values())
        manager = CheckFunctionManager(guards, self.state, name, dims)
        entry = GuardedCode(self.code, code, manager.check_fn, manager.parts, self.backend)
        entry.manager, entry.number, entry.graph_code = manager, number, self.graph_code
        entry.has_effects = output.side_effects.pending
        manager.bind(entry)
        for value, guarded in manager.weak:
            try:
                entry.dies_with(value, f"{guarded} died")
            except TypeError:
                raise SkipFrame(f"{guarded} cannot be watched") from None
        manager.weak.clear()
        if not manager.check_fn(self.f_locals, self.function.__globals__):
            # A destructor or another thread may have changed what was looked at.
            raise SkipFrame(f"it changed meanwhile: {self._failed(manager)}")
        _C.code_cache(self.code).add(entry)
        self.entry = entry
        self.watcher.compiled(tx, entry)

    def _settle(self) -> None:
        self.watcher.checkpoint()
        self.plan.settle()

    def _failed(self, manager: CheckFunctionManager) -> str:
        names = self.f_locals, self.function.__globals__
        failed = []
        for part, check in manager.parts:
            try:
                if not check(*names):
                    failed.append(str(part))
            except Exception as error:
                failed.append(f"{part}: {error}")
        return "; ".join(failed) or manager.source

    def _guard_aliasing(self) -> None:
        output = self.output
        inputs = output.graphargs.items()
        tensors = [(node, arg) for node, arg in inputs if isinstance(arg.example, torch.Tensor)]
        arrays = any(is_of_array(arg.source) for _, arg in tensors)
        if output.mutates_inputs and arrays and len(tensors) > 1:  # one may have another's memory
            raise SkipFrame("an operator that changes an input, beside an array")
        names = [source.name() for source in output.keys]
        for node, arg in tensors:
            if output.mutates_inputs or names or "is_key" in node.meta:
                names.append(arg.source.name())
        if output.side_effects.pending:
            names = [*names, *output.mutables]
        names = list(dict.fromkeys(names))
        if len(names) > 1:
            output.install_guard(None, GuardBuilder.NO_ALIASING, names, name=", ".join(names))

    def skipped(self, reason: str) -> None:
        """The frame runs as it is, and all calls of its code that nothing captured fits."""
        give_up(self.code, reason)
        self._not_captured(reason)
        self.watcher.skipped(reason)

    def failed(self, exception: str, reason: str, *, traced: bool = False) -> None:
        """Note that not to capture the frame is an error, of the next call, too."""
        self._not_captured(reason)
        self.watcher.failed(exception, reason, traced=traced)

    def _not_captured(self, reason: str) -> None:
        if config.verbose:
            log.info("%s is not captured: %s", self.code.co_name, reason)
        WATCHING.note_skip(self.code, reason)


def _forward(gm: torch.fx.GraphModule, *args: object) -> object:
    return gm.forward(*args)


def named(compiled: Callable[..., object], name: str) -> Callable[..., object]:
    """What the backend returned, as a function of this name under which nothing is captured."""

    def call(*args: object) -> object:
        return compiled(*args)

    code = call.__code__.replace(co_name=name, co_qualname=name)
    made = types.FunctionType(code, {"__name__": __name__}, name, None, call.__closure__)
    _C.set_skip(code, "recursive")
    return made


keep_out()
