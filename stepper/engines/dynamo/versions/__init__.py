"""Private torch: all that the dynamo engine knows of Dynamo's inside, and what differs in it
between the versions that are supported.

No other file of the engine names what is private to torch, or asks for a version
(`tests/test_private_names.py`). Here is what runs when: frames, trackers, shapes, executions;
`points` has the functions that are watched, `cache` what Dynamo has compiled and the guards of it.
What both engines need is in `stepper.engines.common.versions`.
"""

from __future__ import annotations

import operator
import os
import re
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
import torch._dynamo.config
import torch._dynamo.utils
import torch.export
import torch.fx.experimental._config
from torch._dynamo import (
    convert_frame,
    output_graph,
    side_effects,
    symbolic_convert,
    trace_rules,
)
from torch._dynamo.exc import (
    RestartAnalysis,
    SkipFrame,
    TorchDynamoException,
    UncapturedHigherOrderOpError,
    Unsupported,
    UserError,
    UserErrorType,
)
from torch._dynamo.variables import ConstantVariable, builder
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.functions import UserFunctionVariable
from torch._dynamo.variables.misc import DeletedVariable, NullVariable
from torch.fx.experimental.symbolic_shapes import SYMPY_INTERP

from stepper import uncompiled
from stepper._C import count_call
from stepper.engines.common.probe_points import DECORATED
from stepper.engines.common.versions import FakeTensor
from stepper.engines.dynamo.versions import cache, points

__all__ = [
    "ConstantVariable", "NullVariable", "TorchDynamoException", "UncapturedHigherOrderOpError",
    "Unsupported", "VariableTracker", "cache", "points",
]  # fmt: skip


SHAPE_SCOPE: dict[str, Any] = dict(SYMPY_INTERP)
"""The names that conditions on sizes can use besides those of all guards."""

# Trackers of these kinds are often changed first and told to the side effects afterwards.
_CONTAINERS = {
    "ListVariable",
    "DequeVariable",
    "ConstDictVariable",
    "SetVariable",
    "IteratorVariable",
    "UserDefinedObjectVariable",
}


def is_compile(code: CodeType) -> bool:
    """Whether a code object is that of a function that has one frame translated, with probes or
    without: `_compile`, or what `torch.export` and compilation ahead of time call in its place."""
    names = ("_compile", "_fullgraph_capture_frame")
    return code.co_name in names and code.co_filename == convert_frame.__file__


def captured_now() -> str:
    """The id of what is captured now, outside of `_compile`."""
    return str(torch._guards.CompileContext.current_compile_id())


def compiled_now() -> str:
    """The id of what is compiled now in this thread; empty: nothing is."""
    return str(torch._guards.CompileContext.current_compile_id() or "")


def ends_capture(error: BaseException) -> bool:
    """Whether an exception that leaves the outermost interpreter of a capture ends that without
    another word: it does not begin anew, and the exception's message is not completed."""
    deal = (RestartAnalysis, SkipFrame, Unsupported, UncapturedHigherOrderOpError, UserError)
    return isinstance(error, Exception) and not issubclass(type(error), deal)


INTERPRETERS = "_current_tx"
"""Where an OutputGraph has the translators that are at work for it."""
interpreters: Callable[[Any], list[Any]] = operator.attrgetter(INTERPRETERS)
"""Those translators, the innermost last."""


# Since torch 2.13 `fake_device` is a property.
FAKE_DEVICE = "_fake_device" if "fake_device" in vars(FakeTensor) else "fake_device"
"""Where a FakeTensor has the device on which it claims to be."""


def guards_in(output: Any) -> dict[Any, None]:
    """The guards that an OutputGraph has now, in order; not to be changed."""
    # Not the set itself: Dynamo replaces it, and each question to it is a call of Python code.
    found: dict[Any, None] = output.guards.inner._dict
    return found


def handlers(tx: Any) -> list[tuple[int, int, bool] | None]:
    """For each instruction of a translator, the handler that covers it: the index of that, how much
    of the stack it keeps, and whether it gets the instruction that raised."""
    at = {id(each): index for index, each in enumerate(tx.instructions)}
    found = [each.exn_tab_entry for each in tx.instructions]
    return [each and (at[id(each.target)], each.depth, each.lasti) for each in found]


def is_in_prologue(tx: Any) -> bool:
    """Whether a translator is still before the place at which its function resumes."""
    return bool(tx.is_tracing_resume_prologue)


def variables_set(tx: Any) -> set[str]:
    """The variables of a translator's frame that have a value."""
    unset = (NullVariable, DeletedVariable)
    return {name for name, held in tx.symbolic_locals.items() if not isinstance(held, unset)}


def go_on_at(tx: Any, index: int, depth: int) -> None:
    """Have a translator that is at the beginning of an instruction interpret another one in its
    place, with so much of its stack."""
    tx.instruction_pointer = index
    tx.kw_names = None
    del tx.stack[depth:]


def forget_attempts_before(tx: Any) -> None:
    """What Dynamo has found out in earlier attempts of the places that come after this one: it is
    an error when it comes by others."""
    log = tx.speculation_log
    del log.entries[log.index :]


def is_interpreting(code: CodeType) -> bool:
    """Whether a code object is that of the symbolic interpreter's step."""
    return code.co_name == "step" and code.co_filename == symbolic_convert.__file__


def is_backend(code: CodeType) -> bool:
    """Whether a code object is that of what calls the backend with a graph."""
    return code.co_name == "call_user_compiler" and code.co_filename == output_graph.__file__


def is_ahead_of_time(code: CodeType) -> bool:
    """Whether a code object is that of what compiles a function ahead of time."""
    return (
        code.co_name == "aot_compile_fullgraph"
        and code.co_filename == _DYNAMO_FILES + AHEAD_OF_TIME
    )


def is_in_backend(codes: Sequence[CodeType]) -> bool:
    """Whether some of these, of a Python stack, outermost first, are the backend's. Compilation
    ahead of time calls it itself; what else that calls is Dynamo's."""
    own = os.path.join(_DYNAMO_FILES, "backends")
    called = (to.co_filename for by, to in pairwise(codes) if is_ahead_of_time(by))
    ahead = any(not file.startswith(_DYNAMO_FILES) or file.startswith(own) for file in called)
    return ahead or any(map(is_backend, codes))


def is_disabling(code: CodeType) -> bool:
    """Whether a code object is that of what torch puts around a function of its own that is not to
    be compiled: to be in that is not to be in Dynamo."""
    return code.co_name == "_fn" and code.co_filename == torch._dynamo.eval_frame.__file__


def is_guard_building(code: CodeType) -> bool:
    """Whether a code object is that of what makes an entry's guards."""
    return code.co_name == "__init__" and code.co_filename == torch._dynamo.guards.__file__


def is_creating_guard(code: CodeType) -> bool:
    """Whether a code object is that of the method by which one guard puts itself among them."""
    return code.co_name == "create" and code.co_filename == torch._guards.__file__


def late_mutation_types() -> frozenset[type]:
    """The kinds of trackers that Dynamo may change before it tells the side effects."""
    found: set[type] = set()
    waiting: list[type] = [VariableTracker]
    while waiting:
        kind = waiting.pop()
        waiting += type.__subclasses__(kind)
        if not _CONTAINERS.isdisjoint(base.__name__ for base in kind.__mro__):
            found.add(kind)
    return frozenset(found)


def refused_callback(asking: FrameType | None) -> Any:
    """What would have compiled, in the frame of a function that makes an error of it; else None."""
    if asking is not None and asking.f_code.co_name == DECORATED:
        asking = asking.f_back
    if asking is None or asking.f_code.co_filename != torch._dynamo.eval_frame.__file__:
        return None
    return asking.f_locals["callback"] if asking.f_code.co_name == "fail_callback" else None


def is_export(code: CodeType) -> bool:
    """Whether a code object is that of `torch.export.export` or `draft_export`."""
    return code.co_name in ("export", "draft_export") and code.co_filename == torch.export.__file__


def failed_export(telling: FrameType | None) -> tuple[FrameType, BaseException] | None:
    """The frame of `torch.export.export` or `draft_export` and the exception which is about to
    leave it, in the frame that notes how an export went. None: it went well, this was a part of an
    export, or the export tries once more, with other sizes."""
    calling = None if telling is None else telling.f_back
    error = None if telling is None else telling.f_locals.get("e")
    if calling is None or not isinstance(error, Exception):
        return None
    if is_export(calling.f_code):
        return calling, error
    if calling.f_code.co_name != "draft_export" or calling.f_code.co_filename != _DRAFTS:
        return None
    kind = UserErrorType.CONSTRAINT_VIOLATION
    tries_again = isinstance(error, UserError) and error.error_type is kind
    over = calling.f_locals["new_shapes"] is not None or not tries_again
    return (calling.f_back, error) if over and calling.f_back is not None else None


def draft_tries_again(raising: FrameType | None) -> bool:
    """Whether what violates its constraints is an export that `draft_export` makes once more, with
    other sizes.

    Args:
        raising: a frame within the export.
    """
    while raising is not None:
        if raising.f_code.co_name == "draft_export" and raising.f_code.co_filename == _DRAFTS:
            return raising.f_locals["new_shapes"] is None
        raising = raising.f_back
    return False


_DRAFTS = os.path.join(os.path.dirname(torch.export.__file__), "_draft_export.py")


AHEAD_OF_TIME = "aot_compile.py"
PACKAGED = "package.py"
"""Files of Dynamo's that load what another process has compiled."""


def loading(making: FrameType | None) -> str:
    """By which of them guards are made, in the frame of `CheckFunctionManager.__init__`; empty:
    they belong to what is compiled here."""
    found = ""
    asking = None if making is None else making.f_back
    while asking is not None and asking.f_code.co_filename.startswith(_DYNAMO_FILES):
        file = asking.f_code.co_filename[len(_DYNAMO_FILES) :]
        if asking.f_code.co_name == "build_guards":
            return ""
        # What is compiled ahead of time loads its guards by a function of the packages.
        found = file if file in (AHEAD_OF_TIME, PACKAGED) else found
        if found == AHEAD_OF_TIME:
            return found
        asking = asking.f_back
    return found


def package_key(making: FrameType | None) -> str:
    """Under which key a package is kept whose guards are made, in the frame of
    `CheckFunctionManager.__init__`; empty: they are no package's."""
    while making is not None and making.f_code.co_filename.startswith(_DYNAMO_FILES):
        if making.f_code.co_qualname == "CompilePackage.install":
            package = making.f_locals["self"]
            return str(package.source_id_from_fn(package._innermost_fn))
        making = making.f_back
    return ""


def refusing_ahead_of_time(asking: FrameType | None) -> tuple[Any, dict[str, Any]] | None:
    """What was compiled ahead of time whose guards have just failed, in the frame of its call: its
    code and guards, and its globals. None: they are something else's."""
    if (
        asking is None
        or asking.f_code.co_filename != _DYNAMO_FILES + AHEAD_OF_TIME
        or asking.f_code.co_qualname != "AOTCompiledFunction.__call__"
    ):
        return None
    compiled = asking.f_locals["self"]
    return compiled._artifacts, compiled.fn.__globals__


def ahead_of_time(compiled: Any) -> tuple[CodeType, CodeType]:
    """The transformed and the original code of what was compiled ahead of time."""
    artifacts = compiled._artifacts
    return artifacts.runtime_env.bytecode, artifacts.original_code


def artifacts_asked(compiled: Any) -> Any:
    """The code and guards of what was compiled ahead of time; None: its guards are not asked."""
    return compiled._artifacts if compiled._guard_check_enabled else None


def unpacked_code(asking: FrameType | None) -> CodeType | None:
    """The transformed code of the precompiled entry that is put into the cache, in the frame of
    what does that; None: it is something else that asks."""
    if asking is None or asking.f_code.co_qualname != "CompilePackage.install":
        return None
    serialized = asking.f_locals["guarded_code"].dynamo_code
    found: CodeType = type(serialized).to_code_object(serialized)  # which is kept, by torch
    return found


ARTIFACTS = {"aot_autograd": "autograd_cache", "inductor": "fx_graph_cache"}
"""The caches whose answers are noted, by torch's name for what is saved of them."""
PRECOMPILED = "precompile"
"""Torch's name for what is saved of packages of precompiled code."""


def loads_artifacts(noting: FrameType | None) -> bool:
    """Whether an artifact is noted since it is loaded, and not saved; in the frame that notes."""
    asking = None if noting is None else noting.f_back
    return asking is not None and asking.f_code.co_name == "populate_caches"


_DYNAMO_FILES = os.path.join(os.path.dirname(convert_frame.__file__), "")


_NEAR = 6
"""Frames between a function of `torch._dynamo.convert_frame` and the making of what it raises."""


def refused_code(asking: FrameType | None) -> tuple[CodeType, bool] | None:
    """The code of the program's frame that Dynamo refuses before it begins with it, and whether
    that is an error for the program, which asked for one graph; None: it is at work on a frame.

    Args:
        asking: who makes the exception.
    """
    for _ in range(_NEAR):
        if asking is None:
            return None
        code = asking.f_code
        if code.co_filename == torch._dynamo.convert_frame.__file__:
            if code.co_qualname != "ConvertFrameAssert.__call__":
                return None
            return asking.f_locals["frame"].f_code, bool(asking.f_locals["self"]._one_graph)
        asking = asking.f_back
    return None


def is_compiled_itself(code: CodeType, calling: FrameType | None) -> bool:
    """Whether a frame is that of what `torch.compile` was given, and not one that this calls; of a
    module, its `forward`.

    Args:
        code: the frame's.
        calling: the frame that calls it.
    """
    if code.co_filename in _ON_THE_WAY:
        return False  # Dynamo looks at what it leads to
    while calling is not None and calling.f_code.co_filename in _ON_THE_WAY:
        if calling.f_code.co_name == "compile_wrapper":
            return True
        calling = calling.f_back
    return False


_ON_THE_WAY = {
    torch._dynamo.eval_frame.__file__,
    torch.nn.modules.module.__file__,
    torch.fx.graph_module.__file__,
}
"""Files of what stands between a compiled call and the function that is compiled."""


def rule_of_skip(code: CodeType, reason: str) -> str:
    """Why Dynamo does not look at a frame, with the rule by which its file is skipped."""
    if "skipfiles" not in reason:
        return reason
    return f"{reason}: {trace_rules.check_verbose(code).reason}"


def surely_compiled(f_locals: dict[str, Any]) -> bool:
    """Whether Dynamo compiles a frame, as far as that can be told from the types of its locals: it
    does when there is a tensor among them."""
    return any(issubclass(type(value), torch.Tensor) for value in f_locals.values())


def rule_of_no_compilation() -> str:
    """Why `torch.compile` makes nothing of a function but the function itself."""
    if os.environ.get("TORCHDYNAMO_DISABLE") == "1":
        return "TORCHDYNAMO_DISABLE is 1"
    return "it was asked for disable=True"


_NESTED = "torch._dynamo.config.error_on_nested_fx_trace is"


def nested_call(calling: FrameType | None) -> tuple[Any, str] | None:
    """What `torch.compile` was given, and what becomes of a call of it where something else traces.

    None: nothing else does, or it is compiled all the same, or it is no such call.

    Args:
        calling: our frame, from a hook of what is asked whether something else traces.
    """
    while calling is not None and _is_asked(calling):
        calling = calling.f_back
    if calling is None or calling.f_code.co_name != "compile_wrapper":
        return None
    if calling.f_code.co_filename != torch._dynamo.eval_frame.__file__:
        return None
    becomes = ""
    fx = _fx_traces() and not torch.compiler._is_compiling_flag
    if torch._dynamo.config.force_compile_during_fx_trace:
        fx = False
    elif torch.compiler._is_exporting_flag and _is_left_in_export():
        becomes = "it runs as it is while torch.export captures what calls it"
    if fx and not becomes:
        if torch._dynamo.config.error_on_nested_fx_trace:
            becomes = f"torch refuses it while FX traces what calls it, since {_NESTED} True"
        else:
            becomes = f"it runs as it is while FX traces what calls it, since {_NESTED} False"
    if torch._C._is_tracing() and not becomes:
        becomes = "torch refuses it while torch.jit.trace traces what calls it"
    return (calling.f_locals["fn"], becomes) if becomes else None


def _fx_traces() -> bool:
    # A flag of the module's, and since torch 2.15 one of the thread's.
    of: Any = torch.fx._symbolic_trace
    flag = vars(of).get("_is_fx_tracing_flag")
    return bool(of._get_is_fx_tracing() if flag is None else flag)


def _is_left_in_export() -> bool:
    # What such an operator as torch.cond calls is compiled for it.
    compiles = getattr(torch._higher_order_ops.utils._hop_compile_tls, "in_hop_compile", False)
    return torch._guards.TracingContext.try_get() is not None and not compiles


def _is_asked(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.startswith("stepper.") or (name, frame.f_code.co_name) in _ASKED


_ASKED = {(each.module, each.qualname) for each in (points.CALLED, points.IN_FX, points.IN_EXPORT)}


def scripted_compiled(fn: object) -> Any:
    """What `torch.compile` was given, of a function that it has made; else None."""
    names = vars(fn) if type(fn) is FunctionType else {}
    disabled = "_torchdynamo_disable" in names
    return None if disabled else names.get("_torchdynamo_orig_callable")


# What `torch.compiler.set_stance` can set → what becomes of a call of a compiled function.
STANCES = {
    "force_eager": "it runs as it is, and the cache is not looked at",
    "eager_on_recompile": "it runs as it is if no entry serves it, and nothing is compiled",
    "fail_on_recompile": "it is an error if no entry serves it",
    "eager_then_compile": "the first runs as it is, and the next is compiled",
    "aot_eager_then_compile": "the first is compiled for aot_eager, and the next as asked for",
}


def stance() -> str:
    """What `torch.compiler.set_stance` has set for this thread."""
    return str(torch._dynamo.eval_frame._stance.stance)


def asks_few_guards() -> bool:
    """Whether this thread's calls only ask the guards that have told entries apart, as the stance's
    `skip_guard_eval_unsafe` has it."""
    return bool(torch._dynamo.eval_frame._stance.skip_guard_eval_unsafe)


def current_region() -> tuple[int, bool]:
    """The isolated region of this thread's calls, -1 for everybody's; and whether there are any."""
    ask = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_isolate_recompiles_id", None)
    return (int(ask()), True) if ask is not None else (-1, False)


# -- symbolic shapes ---------------------------------------------------------------------------


def _code_of(module: object, *names: str) -> CodeType:
    """The code of the first of these functions that the module has."""
    found: CodeType = next(vars(module)[name] for name in names if name in vars(module)).__code__
    return found


# Since torch 2.13 these only take the time of what they were.
FAKE_VALUE_CODE = _code_of(torch._dynamo.utils, "_get_fake_value_impl", "get_fake_value")
"""The code of what computes the example value of its parameter `node`."""
WRAP_CODE = _code_of(
    builder, "_wrap_to_fake_tensor_and_record_impl", "wrap_to_fake_tensor_and_record"
)
"""The code of what gives a tensor, its parameter `e`, sizes that may be symbols."""


_REPLAY_FILE = side_effects.__file__
_REPLAY = "codegen_update_mutated"


def replayed(making: FrameType | None) -> tuple[Any, str] | None:
    """The tracker whose changes a frame of PyCodegen's helps to replay, and perhaps the attribute;
    None: it makes a part of such a value, or something else."""
    asking = making.f_back if making is not None else None
    replay = asking
    while replay is not None and replay.f_code.co_filename == _REPLAY_FILE:
        if replay.f_code.co_name == _REPLAY:
            name = asking.f_locals.get("name") if asking is not None else None
            return replay.f_locals.get("var"), name if type(name) is str else ""
        replay = replay.f_back
    return None


def kernels_generated() -> int | None:
    """How many Inductor has counted in this process; None: it was not imported."""
    metrics = sys.modules.get("torch._inductor.metrics")
    count = getattr(metrics, "generated_kernel_count", None)
    return count if type(count) is int else None


CONFIGS: dict[str, Any] = {
    "torch._dynamo.config": torch._dynamo.config,
    "torch.fx.experimental._config": torch.fx.experimental._config,
}
"""Torch's modules of settings that concern compilations, by name."""


def assume_dynamic() -> None:
    """Have every size be a symbol from now on, as under `dynamic=True`."""
    torch._dynamo.config.automatic_dynamic_shapes = True
    torch._dynamo.config.assume_static_by_default = False


class _AutogradLog:
    """What compiled autograd calls in a logger's place to say why it captures a backward anew. It
    keeps no reference, so there is one, for as long as the process lasts."""

    debug: Callable[[str], None]


_AUTOGRAD_LOG = _AutogradLog()


def others_compile() -> bool:
    """Whether another thread has the lock under which Dynamo compiles."""
    lock = convert_frame.compile_lock
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


def hear_autograd(hear: Callable[[str], None]) -> None:
    """Have compiled autograd say why it captures a backward anew, until somebody else is told: the
    program's own log of that, if it is switched on."""
    _AUTOGRAD_LOG.debug = hear
    log: Any = _AUTOGRAD_LOG  # torch's stub has it wrong
    torch._C._dynamo.compiled_autograd.set_verbose_logger(log)


def leave_autograd() -> None:
    """Hear no more of it."""
    if not torch._dynamo.compiled_autograd.snapshot_verbose_logging_enabled():
        torch._C._dynamo.compiled_autograd.set_verbose_logger(None)


def traces_with(shape_env: object) -> bool:
    """Whether what is traced in this thread has this ShapeEnv."""
    tracing = torch._guards.TracingContext.try_get()
    mode = None if tracing is None else tracing.fake_mode
    return mode is not None and mode.shape_env is shape_env


def assumes_static() -> bool:
    """Whether sizes are numbers until something else is known: without `dynamic=True`."""
    return bool(torch._dynamo.config.assume_static_by_default)


def dynamic() -> bool | None:
    """What may be a symbol, as `torch.compile` takes it; its settings come to the same. True:
    everything; False: only what is marked; None: what changes."""
    if not assumes_static():
        return True
    return None if torch._dynamo.config.automatic_dynamic_shapes else False


def specializes_int() -> bool:
    """Whether ints are constants, whatever else is a symbol."""
    return bool(torch._dynamo.config.specialize_int)


def lists(setting: str, name: str, dim: int | None) -> bool:
    """Whether `dynamic_sources` or `unbacked_sources` names a source, or a dimension of a tensor.

    Torch's own functions that say so log it each time.
    """
    for entry in getattr(builder, f"get_{setting}")():
        pattern, of = (entry, None) if isinstance(entry, str) else entry  # before torch 2.13
        if (pattern == name or re.match(pattern, name)) and (dim is None or of in (None, dim)):
            return True
    return False


# -- stepper's own code ------------------------------------------------------------------------


def never_trace(folder: str) -> None:
    """Have Dynamo compile and inline no file of a folder, as it does with other libraries."""
    trace_rules.SKIP_DIRS.append(trace_rules._as_posix_path(f"{folder}/"))
    trace_rules._recompile_re()


class CalledWhileTracing(UserFunctionVariable):
    """A function without arguments and result that Dynamo calls while it traces a call of it.

    `torch.compiler.assume_constant_result` would do the same, and leave its result in the program's
    globals under the function's name.
    """

    def call_function(self, tx: Any, args: Any, kwargs: Any) -> Any:
        """Call it; the traced code gets a None."""
        if args or kwargs:
            return super().call_function(tx, args, kwargs)
        self.fn()
        return VariableTracker.build(tx, None)


def call_while_tracing(name: str, function: Callable[[], None]) -> None:
    """Have Dynamo call a function when it traces a call of it. `name`: to import it by."""
    trace_rules.manual_torch_name_rule_map[name] = CalledWhileTracing
    rules = trace_rules.get_torch_obj_rule_map
    if rules.cache_info().currsize:
        rules()[function] = CalledWhileTracing


def allow_in_graph(function: Any) -> Any:
    """Have a function be a node of graphs, whatever it does."""
    return torch._dynamo.allow_in_graph(function)  # type: ignore[no-untyped-call]  # torch leaves it untyped


def reorder_calls_of(function: Any) -> None:
    """Have calls of a function that only logs be made behind the graph."""
    torch._dynamo.config.reorderable_logging_functions.add(function)


def leave_alone(code: CodeType) -> None:
    """Have Dynamo compile neither a function nor anything that is called while it runs."""
    native = torch._C._dynamo.eval_frame
    skip = native._FrameAction.SKIP
    native.set_code_exec_strategy(code, native._FrameExecStrategy(skip, skip))


def frames_looked_at() -> int:
    """How many frames Dynamo was asked for, unless the program has set its counters back."""
    return int(torch._dynamo.utils.counters["frames"]["total"])


# -- executions --------------------------------------------------------------------------------


def hear_of_runs(heard: Callable[[CodeType], None] | None) -> bool:
    """Have Dynamo call `heard` whenever it is about to run transformed code; None: no more.

    Torch has this for its own bytecode debugger. False: it has not, or the debugger is there.
    """
    dynamo = torch._C._dynamo.eval_frame
    begin = getattr(dynamo, "set_bytecode_debugger_callback", None)
    if begin is None:
        return False
    if heard is not None and dynamo.get_bytecode_debugger_callback() not in (None, count_call):
        return False
    begin(heard)
    return True


def transformed_codes() -> list[tuple[CodeType, CodeType, str]]:
    """What Dynamo has compiled so far: transformed code, original code, compile id."""
    found = []
    known = torch._dynamo.utils.orig_code_map
    for reference in list(known.refs.values()):
        code = reference()
        original = None if code is None else known.get(code)
        if code is not None and original is not None:
            entries = torch._C._dynamo.eval_frame._debug_get_cache_entry_list(original)
            ids = [str(entry.compile_id) for entry in entries if entry.code is code]
            found.append((code, original, ids[0] if ids else ""))
    return found


def original_of(transformed: CodeType) -> CodeType | None:
    """The code that a transformed code was made of."""
    found = torch._dynamo.utils.orig_code_map.get(transformed)
    return found if type(found) is CodeType else None


_DOORS = (
    ("torch._dynamo.convert_frame", ("_compile", "_fullgraph_capture_frame")),
    ("torch._dynamo.eval_frame", ("fail_callback",)),
    ("torch._functorch._aot_autograd.runtime_wrappers", ("get_or_compile",)),
    ("torch.export._trace", ("_export",)),
    ("torch._dynamo.aot_compile", ("aot_compile_fullgraph",)),
    # Before torch 2.13 the backward is compiled by the function that runs it, too.
    ("torch._dynamo.backends.common", ("_wrapped_bw_compiler",)),
)
"""Functions of torch that compile, or refuse to, by their modules."""


def is_door(code: CodeType) -> bool:
    """Whether a function is one of those that compile, or refuse to."""
    return any(
        code.co_name in names
        and code.co_filename == getattr(sys.modules.get(module), "__file__", None)
        for module, names in _DOORS
    )


uncompiled.is_known(sys.modules[__name__])
