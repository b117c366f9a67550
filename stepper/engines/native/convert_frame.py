"""From a frame to a cache entry.

The frame hook asks the thread's callback about each function that is called. `convert_frame`
decides whether to look at it at all, has it translated, and hands back a `GuardedCode`: the code
that may run in the frame's place, the check that says when, and what it dies with.

Nothing that goes wrong here is the program's concern. What cannot be captured raises one of the
exceptions of `exc` and the frame runs as it is; so it does after a defect of ours, which is
reported.
"""

from __future__ import annotations

import builtins
import gc
import itertools
import logging
import os
import random
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any, Literal

import torch
import torch.fx

from stepper import _C
from stepper.engines.native import config
from stepper.engines.native.backends import Backend
from stepper.engines.native.exc import SkipFrame, Unsupported
from stepper.engines.native.fork import Plan
from stepper.engines.native.guard_builder import GuardBuilder
from stepper.engines.native.guards import CheckFunctionManager, GlobalState, function_modes
from stepper.engines.native.observer import OBSERVERS, TranslationObserver
from stepper.engines.native.opcodes import Instruction
from stepper.engines.native.output_graph import OutputGraph
from stepper.engines.native.per_code import PerCode
from stepper.engines.native.symbolic_convert import InstructionTranslator
from stepper.engines.native.symbolic_shapes import forget
from stepper.engines.native.variables.torch import graph_break

log = logging.getLogger("stepper.native")

_TORCH = os.path.dirname(torch.__file__) + os.sep
_INLINED = (
    os.path.join(_TORCH, "nn", "modules") + os.sep,
    os.path.join(_TORCH, "utils", "_contextlib.py"),
)
"""What of torch is interpreted like the program."""
_STEPPER = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
_PYTHON = os.path.dirname(os.__file__) + os.sep

_OBJECT_COUNTERS = frozenset({"get_objects", "getallocatedblocks", "gettotalrefcount"})
"""Names of functions that see all objects of the process, the engine's among them."""
_LOCALS_READERS = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"})
"""Names of functions that see a frame's variables, or the frame itself."""

_BUILTINS = {
    name: vars(builtins)[name]
    for name in (
        "all", "any", "callable", "dict", "enumerate", "frozenset", "getattr", "hasattr", "id",
        "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "range",
        "repr", "set", "setattr", "sorted", "str", "sum", "super", "tuple", "type", "vars", "zip",
    )
}  # fmt: skip
"""What the engine itself calls; a program that has put something else there is left alone."""

RESET = "reset"
"""With this reason entries end that `reset` ends."""
compile_lock = threading.RLock()
"""One thread captures at a time, as in Dynamo: a translation puts back the state of random numbers
and of gradient mode, which are everybody's, and what watches it follows one."""


def _new_lock() -> None:
    """In a forked process: the thread that held it is not there."""
    global compile_lock
    compile_lock = threading.RLock()


os.register_at_fork(after_in_child=_new_lock)

_graph_numbers = itertools.count()
_entry_numbers = itertools.count()
_wrappers: PerCode[bool] = PerCode()
"""Codes of `wrap_inline`'s functions."""
_given_up: PerCode[str] = PerCode()
"""Why the translation of a code has led to nothing."""
_bytecode_hooks: list[Callable[[types.CodeType, types.CodeType], types.CodeType | None]] = []


class GuardedCode(_C.CacheEntry):
    """A cache entry, and what it was made from.

    manager: its guards.
    gm_name: the name of its graph's function; empty: it has none.
    """

    manager: CheckFunctionManager
    number: int
    graph_code: str


def register_bytecode_hook(
    hook: Callable[[types.CodeType, types.CodeType], types.CodeType | None],
) -> Callable[[], None]:
    """Call `hook(old, new)` with each code that is made; it may return another in its place.

    Returns a function that takes it out again.
    """
    _bytecode_hooks.append(hook)
    return lambda: _bytecode_hooks.remove(hook)


def callback_for(
    backend: Backend, nopython: bool, dynamic: bool | None = None
) -> Callable[..., Any]:
    """The frame callback that captures for a backend."""

    def convert(
        code: types.CodeType, function: types.FunctionType, f_locals: dict[str, Any]
    ) -> GuardedCode | None:
        try:
            return convert_frame(code, function, f_locals, backend, nopython, dynamic)
        except RecursionError:  # there may be room for the frame, if not for looking at it
            return None

    return convert


def convert_frame(
    code: types.CodeType,
    function: types.FunctionType,
    f_locals: dict[str, Any],
    backend: Backend,
    nopython: bool = False,
    dynamic: bool | None = None,
) -> GuardedCode | None:
    """The entry for a call, put into the code's cache; None: it is to run as it is.

    Raises:
        Unsupported: with `nopython`, when the graph breaks.
    """
    if (decision := OBSERVERS.decided(code)) is not None:
        return decision.entry
    reason, mark = why_skip(code, function, f_locals)
    if reason:
        if mark is not None:
            _C.set_skip(code, mark)
        return None
    lock = compile_lock
    waited = not lock.acquire(blocking=False)
    if waited:
        lock.acquire()
    try:
        # Meanwhile the other thread may have captured just this.
        made = (
            _C.code_cache(code).lookup(f_locals, function.__globals__, backend) if waited else None
        )
        if isinstance(made, GuardedCode):
            return made
        if _is_full(code):
            return None
        return _run(Translation(code, function, f_locals, backend, nopython, dynamic))
    finally:
        lock.release()


def _is_full(code: types.CodeType) -> bool:
    """Whether no more entries are made for a code; said once."""
    entries = len(_C.code_cache(code))
    if entries < config.cache_size_limit:
        return False
    text = (
        f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno}) was captured "
        f"{entries} times, which is the limit (cache_size_limit): it runs as it is now"
    )
    log.warning("%s", text)
    OBSERVERS.cache_limit(code, text)
    _C.set_skip(code, "capture")
    return True


def _run(translation: Translation) -> GuardedCode | None:
    nopython = translation.nopython
    try:
        return translation.run()
    except SkipFrame as error:
        translation.skipped(error.msg)
        if nopython:
            raise Unsupported(error.msg) from None
        return None
    except Unsupported as error:
        translation.skipped(error.msg)
        if nopython:
            raise
        return None
    except Exception as error:
        translation.skipped(f"{type(error).__name__}: {error}")
        if config.raise_internal_errors:
            raise
        report_defect(translation.code, error)
        return None
    finally:
        translation.cleanup()


def report_defect(code: types.CodeType, error: Exception) -> None:
    """Tell of a defect of the translator; the program goes on."""
    _C.set_skip(code, "capture")
    log.error(
        "stepper's native engine failed on %s (%s:%d), which runs as it is. Please report it:\n%s",
        code.co_qualname,
        code.co_filename,
        code.co_firstlineno,
        "".join(traceback.format_exception(error)),
    )


def why_skip(
    code: types.CodeType, function: types.FunctionType, f_locals: dict[str, Any]
) -> tuple[str, Literal["frame", "recursive"] | None]:
    """Why a frame is not looked at, empty: it is; and the mark that its code is to have, None: that
    holds for this call only."""
    present = builtins.__dict__
    for name in _BUILTINS:
        if present.get(name) is not _BUILTINS[name]:
            return f"the builtin {name} is not Python's own", None
    everything = config.capture_everything and not code.co_filename.startswith((_TORCH, _STEPPER))
    if is_library(code.co_filename) and not everything and not _wrappers.get(code):
        return "it is torch's, Python's or stepper's own", "frame"
    if _LOCALS_READERS.intersection(code.co_names):
        return "it may read its own frame", "frame"
    if _OBJECT_COUNTERS.intersection(code.co_names):
        # What captures make would be in its count.
        return "it looks at all objects of the process", "recursive"
    if type(function) is not types.FunctionType or type(function.__globals__) is not dict:
        return "its globals are no dictionary", "frame"
    if sys.exc_info()[0] is not None:
        return "an exception is being handled", None
    if function_modes():
        return "a torch function mode is active", None
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "a transform of torch.func is active", None
    if torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
        return "hooks of saved tensors are active", None  # fake tensors would be saved, too
    if torch._C._is_any_autocast_enabled() or torch.is_inference_mode_enabled():
        return "autocast or inference mode is active", None
    if not everything and not has_tensor_in_frame(code, function, f_locals):
        return "no tensor is in sight", None
    return "", None


def wrap_inline(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `fn` and is captured, for code of torch's that is to be: it is
    interpreted where it is called, and left alone where it is a frame."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    inner.__code__ = inner.__code__.replace()  # with entries of its own
    _wrappers.set(inner.__code__, True)
    return inner


def is_library(filename: str) -> bool:
    """Whether a file is torch's, Python's or stepper's own."""
    if filename.startswith((_TORCH, "<frozen ", "<__array_function__", _STEPPER)):
        return True
    return filename.startswith(_PYTHON) and "-packages" not in filename


def has_tensor_in_frame(
    code: types.CodeType, function: types.FunctionType, f_locals: dict[str, Any]
) -> bool:
    """Whether a frame can have to do with tensors: through its variables, or by a module of
    torch."""
    if any(has_tensor(value, 3) for value in f_locals.values()):
        return True
    namespace = function.__globals__
    for name in code.co_names:
        value = namespace.get(name)
        if type(value) is types.ModuleType:
            if str(value.__name__).partition(".")[0] == "torch":
                return True
        elif issubclass(type(value), torch.Tensor | torch.nn.Module):
            return True
    return False


def has_tensor(value: Any, depth: int) -> bool:
    """Whether a value is a tensor or module, or has one in it."""
    kind = type(value)
    if issubclass(kind, torch.Tensor | torch.nn.Module):
        return True
    if depth == 0:
        return False
    if kind in (list, tuple):
        return any(has_tensor(item, depth - 1) for item in value[:50])
    if kind is dict:
        return any(has_tensor(item, depth - 1) for item in list(value.values())[:50])
    if kind.__module__ != "builtins" and kind.__flags__ & (1 << 9):
        try:
            fields = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return False
        if type(fields) is dict:
            return any(has_tensor(item, depth - 1) for item in list(fields.values())[:50])
    return False


class Translation:
    """One frame that is being captured."""

    def __init__(
        self,
        code: types.CodeType,
        function: types.FunctionType,
        f_locals: dict[str, Any],
        backend: Backend,
        nopython: bool,
        dynamic: bool | None,
    ) -> None:
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
        self.compiled: Any = None
        self.graph_code = ""
        self.plan = Plan()
        self.observer: TranslationObserver = OBSERVERS.begin(self)
        self.collects = gc.isenabled()
        """Whether the program has its garbage collected. While a frame is interpreted nothing is:
        so what the program does then, in callbacks and destructors, it does not do more often."""

    def run(self) -> GuardedCode:
        """Translate, and again where that has to be.

        Raises:
            SkipFrame, Unsupported: it cannot be captured.
        """
        plan = self.plan
        rng = random.getstate(), torch.get_rng_state()
        self._undisturbed()
        try:
            while True:
                self.observer.attempt_begins(plan)
                self.output = OutputGraph(self, self.state)
                self._outputs.append(self.output)
                breaks = plan.break_at
                tx = InstructionTranslator(self.output, self.function, self.f_locals, breaks)
                self._install_global_guards()
                self.observer.enter(tx)
                try:
                    tx.run()
                    break
                except Exception as error:
                    self.observer.restarts(plan.after(error))
                finally:
                    self.observer.leave(tx)
                    tx.cleanup()
        finally:
            self._as_usual()
            random.setstate(rng[0])
            torch.set_rng_state(rng[1])
            torch._C._set_grad_enabled(self.state.grad_enabled)
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
        """Let go of the program's objects."""
        self.f_locals = {}
        for output in self._outputs:
            output.cleanup()

    def _install_global_guards(self) -> None:
        install = self.output.install_guard
        install(None, GuardBuilder.GLOBAL_STATE)
        install(None, GuardBuilder.GRAD_MODE)
        install(None, GuardBuilder.DETERMINISTIC_ALGORITHMS)
        install(None, GuardBuilder.DEFAULT_DEVICE)
        install(None, GuardBuilder.BACKEND_MATCH, self.backend)

    def why_not_inline(self, function: types.FunctionType) -> str:
        """Why a function is not to be inlined; empty: it is."""
        code = function.__code__
        if _C.get_skip(code) in ("recursive", "frame") and not is_library(code.co_filename):
            return f"{code.co_qualname} is not to be captured"
        filename = code.co_filename
        if code is graph_break.__code__:
            return "graph_break() was called"
        if filename.startswith(_STEPPER):
            return f"{code.co_qualname} is stepper's own"
        if filename.startswith(_TORCH) and not filename.startswith(_INLINED):
            return f"{function.__module__}.{code.co_qualname} of torch"
        if _LOCALS_READERS.intersection(code.co_names):
            return f"{code.co_qualname}, which may read its own frame"
        return ""

    def graph_broke(self, tx: InstructionTranslator, inst: Instruction, reason: str) -> None:
        """The graph is broken before an instruction."""
        if config.verbose:
            log.info("graph break in %s line %s: %s", self.code.co_name, inst.starts_line, reason)
        self.observer.graph_break(tx, inst, reason)
        OBSERVERS.note_break(self.code, inst.starts_line, reason)
        if self.nopython:
            raise Unsupported(
                f"{reason}\n  at {self.code.co_filename}:{inst.starts_line} in {self.code.co_name}"
            )

    def compile_graph(self, nodes: list[torch.fx.Node]) -> Callable[..., Any]:
        """Have the backend compile the graph, which gives these nodes."""
        self._settle()
        output = self.output
        output.remove_unused_inputs()
        if output.grad_enabled != self.state.grad_enabled:
            mode = self.state.grad_enabled
            output.graph.create_node("call_function", torch._C._set_grad_enabled, (mode,))
        output.graph.output(tuple(nodes))
        name = f"__compiled_fn_{next(_graph_numbers)}"
        gm = torch.fx.GraphModule({}, output.graph, name)
        self.graph_code = gm.code
        OBSERVERS.note_graph(self.code, gm)
        torch._C._set_grad_enabled(self.state.grad_enabled)
        self._as_usual()
        if output.shapes.inputs:  # symbols are known by the fake tensors only
            fakes = [node.meta["example_value"] for node in output.graphargs]
            with torch._guards.tracing(torch._guards.TracingContext(output.fake_mode)):
                compiled = self.backend(gm, fakes)
        else:
            compiled = self.backend(gm, [arg.example for arg in output.graphargs.values()])
        self._undisturbed()
        if not callable(compiled):
            raise TypeError(f"the backend returned a {type(compiled).__name__}, not a callable")
        return named(compiled, name)

    def finished(self, tx: InstructionTranslator, code: types.CodeType) -> None:
        """The frame's code is written: make the entry."""
        self._settle()
        output = self.output
        trivial = output.is_trivial and not output.side_effects.pending
        if trivial and not output.resumes and not config.capture_everything:
            raise SkipFrame("there is nothing in it for a graph")
        for hook in _bytecode_hooks:
            code = hook(self.code, code) or code
        self._guard_aliasing()
        output.install_shape_guards()
        number = next(_entry_numbers)
        name = f"__guard_{number}_for_{self.code.co_name}"
        name = name if name.isidentifier() else f"__guard_{number}"
        dims = output.shapes.dims()
        guards = filter(self.plan.keeps, output.guards.values())
        manager = CheckFunctionManager(guards, self.state, name, dims)
        entry = GuardedCode(self.code, code, manager.check_fn, manager.parts, self.backend)
        entry.manager, entry.number, entry.graph_code = manager, number, self.graph_code
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
        self.observer.compiled(tx, entry)

    def _settle(self) -> None:
        self.observer.checkpoint()
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
        inputs = output.graphargs.values()
        tensors = [arg.source.name() for arg in inputs if type(arg.example) is not int]
        names = tensors if output.mutates_inputs else []
        if output.side_effects.pending:
            names = [*names, *output.mutables]
        if len(names) > 1:
            output.install_guard(None, GuardBuilder.NO_ALIASING, names, name=", ".join(names))

    def skipped(self, reason: str) -> None:
        """The frame runs as it is, and all calls of its code that nothing captured fits.

        With `nopython` the next call is to fail, too."""
        if not self.nopython:
            _given_up.set(self.code, reason)
            _C.set_skip(self.code, "capture")
        if config.verbose:
            log.info("%s is not captured: %s", self.code.co_name, reason)
        OBSERVERS.note_skip(self.code, reason)
        self.observer.skipped(reason)


def why_given_up(code: types.CodeType) -> str:
    """Why the translation of a code has led to nothing; empty: it has not."""
    return _given_up.get(code) or ""


def named(compiled: Callable[..., Any], name: str) -> Callable[..., Any]:
    """What the backend returned, as a function of this name under which nothing is captured."""

    def call(*args: Any) -> Any:
        return compiled(*args)

    code = call.__code__.replace(co_name=name, co_qualname=name)
    made = types.FunctionType(code, {"__name__": __name__}, name, None, call.__closure__)
    _C.set_skip(code, "recursive")
    return made


def reset() -> None:
    """Forget all that was captured, and what is not to be captured any more."""
    for given_up in _given_up.codes():
        if _C.get_skip(given_up) == "capture":
            _C.set_skip(given_up, None)
    _given_up.clear()
    forget()
    for cache in _C.code_caches():
        for entry in cache.entries:
            if isinstance(entry, GuardedCode):
                entry.invalidate(RESET)
        code = cache.code
        if code is not None and _C.get_skip(code) == "capture":
            _C.set_skip(code, None)
