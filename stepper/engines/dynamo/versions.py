"""All that differs between the torch versions that the dynamo engine supports.

Each probe names a function of Dynamo's, the parameters that we read there, and what its call means
to us. A version that lacks a function, or has it with other parameters, gets a row of its own in
`_OVERRIDES`; nothing outside this module asks for a version.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch
import torch._dynamo.utils
from torch._dynamo import convert_frame, output_graph, symbolic_convert, trace_rules
from torch._dynamo.variables import builder
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.functions import UserFunctionVariable
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import SYMPY_INTERP

from stepper._C import count_call
from stepper.engines.common.probe_points import DECORATED, ProbePoint, UnsupportedTorch, resolve
from stepper.engines.common.shape_env import POINTS as SHAPE_POINTS

OLDEST = (2, 11)
NEWEST = (2, 15)


SHAPE_SCOPE: dict[str, Any] = dict(SYMPY_INTERP)
"""The names that conditions on sizes can use besides those of all guards."""

# What a call means → where it happens (torch 2.13).
_POINTS: dict[str, ProbePoint] = {
    **SHAPE_POINTS,
    "translation_begins": ProbePoint(
        "torch._dynamo.convert_frame",
        "_compile",
        ("code", "cache_size", "compile_id"),
    ),
    "capture_begins": ProbePoint(
        "torch._dynamo.convert_frame", "_fullgraph_capture_frame", ("frame",)
    ),
    "attempt_begins": ProbePoint(
        "torch._dynamo.symbolic_convert", "InstructionTranslator.__init__", ("f_code",)
    ),
    "step": ProbePoint(
        "torch._dynamo.symbolic_convert", "InstructionTranslatorBase.step", ("self",)
    ),
    "frame_entered": ProbePoint(
        "torch._dynamo.output_graph", "OutputGraph.push_tx", ("self", "tx")
    ),
    "frame_left": ProbePoint("torch._dynamo.output_graph", "OutputGraph.pop_tx", ("self",)),
    "graph_closing": ProbePoint("torch._dynamo.output_graph", "OutputGraph.compile_subgraph", ()),
    "graph_done": ProbePoint("torch._dynamo.output_graph", "OutputGraph.call_user_compiler", ()),
    "node_inserted": ProbePoint("torch.fx.graph", "_FindNodesLookupTable.insert", ("node",)),
    "node_removed": ProbePoint("torch.fx.graph", "_FindNodesLookupTable.remove", ("node",)),
    "node_moved": ProbePoint("torch.fx.node", "Node.prepend", ("x",)),
    "node_moved_behind": ProbePoint("torch.fx.node", "Node.append", ("x",)),
    "guard_added": ProbePoint("torch._guards", "GuardsSet.add", ("self",)),
    "guards_chosen": ProbePoint(
        "torch._dynamo.guards", "CheckFunctionManager.compile_check_fn", ("guards_out",)
    ),
    "guards_removed": ProbePoint("torch._guards", "GuardsSet.remove_guards_with_source", ()),
    "lazy_realized": ProbePoint("torch._dynamo.variables.lazy", "LazyCache.realize", ("self",)),
    "function_made": ProbePoint(
        "torch._dynamo.symbolic_convert",
        "InstructionTranslatorBase.SET_FUNCTION_ATTRIBUTE",
        ("self",),
    ),
    "name_hinted": ProbePoint(
        "torch._dynamo.variables.tensor", "TensorVariable.set_name_hint", ("self",)
    ),
    "attribute_stored": ProbePoint(
        "torch._dynamo.side_effects", "SideEffects.store_attr", ("item", "name", "value")
    ),
    "mutated": ProbePoint("torch._dynamo.side_effects", "SideEffects.mutation", ("var",)),
    "tensor_method": ProbePoint(
        "torch._dynamo.variables.tensor", "TensorVariable.call_method", ("self", "name")
    ),
    "outputs_moved": ProbePoint(
        "torch._dynamo.variables.higher_order_ops",
        "overwrite_tensor_vt_proxy",
        ("graph_output_vts",),
    ),
    "flags_moved": ProbePoint(
        "torch._dynamo.variables.higher_order_ops",
        "overwrite_tensor_vt_requires_grad",
        ("graph_output_vts",),
    ),
    "output_moved": ProbePoint(
        "torch._dynamo.variables.higher_order_ops",
        "_call_function_and_unflatten_output",
        ("body_r",),
    ),
    "unimplemented": ProbePoint(
        "torch._dynamo.exc", "unimplemented", ("gb_type", "explanation", "hints", "from_exc")
    ),
    "unsupported_raised": ProbePoint("torch._dynamo.exc", "Unsupported.__init__", ("self", "msg")),
    "user_error_raised": ProbePoint("torch._dynamo.exc", "UserError.__init__", ("self",)),
    "graph_break": ProbePoint(
        "torch._dynamo.symbolic_convert",
        "InstructionTranslatorBase.log_graph_break",
        ("reason", "exc"),
    ),
    "restart_raised": ProbePoint(
        "torch._dynamo.exc", "RestartAnalysis.__init__", ("self", "restart_reason")
    ),
    "metrics_known": ProbePoint(
        "torch._dynamo.metrics_context", "MetricsContext.update_outer", ("values",)
    ),
    "left": ProbePoint(
        "torch._dynamo.metrics_context", "MetricsContext.__exit__", ("exc_type", "exc_value")
    ),
    "compiled": ProbePoint(
        "torch._dynamo.types", "GuardedCode.__init__", ("code", "guard_manager", "compile_id")
    ),
    "captured": ProbePoint(
        "torch._dynamo.convert_frame", "CaptureOutput.__init__", ("graph_capture_output",)
    ),
    "failed": ProbePoint("torch._dynamo.convert_frame", "exception_handler", ("e", "code")),
    "capture_failed": ProbePoint("torch._dynamo.exc", "augment_exc_message", ("exc",)),
    "skipped": ProbePoint(
        "torch._dynamo.convert_frame", "CatchErrorsWrapper._handle_skip", ("result", "frame")
    ),
}

# Methods that change a tracker in place without telling the side effects, and the parameter that it
# is. Which of them there are differs; the audit in the tests notices when one is missing.
_CHANGES = (
    ProbePoint("torch._dynamo.side_effects", "SideEffects._track_obj", ("variable",)),
    ProbePoint(
        "torch._dynamo.variables.tensor", "TensorVariable.synchronize_attributes", ("self",)
    ),
    *(
        ProbePoint(f"torch._dynamo.variables.{module}", f"ExceptionVariable.{method}", ("self",))
        for module, methods in {
            "misc": ("set_context", "call_method", "call_setattr"),
            "exception": (
                "set_context",
                "_set_cause",
                "_set_suppress_context",
                "_set_traceback",
                "with_traceback",
            ),
        }.items()
        for method in methods
    ),
)

# Trackers of these kinds are often changed first and told to the side effects afterwards.
_CONTAINERS = {
    "ListVariable",
    "DequeVariable",
    "ConstDictVariable",
    "SetVariable",
    "IteratorVariable",
    "UserDefinedObjectVariable",
}

# What a cache lookup is heard by. Put in after the engine's own probes of the same functions, so
# heard before them.
_LOOKUP_POINTS = {
    "missed": ProbePoint(
        "torch._dynamo.convert_frame", "_compile", ("code", "locals", "globals", "compiler_fn")
    ),
    "entry_made": ProbePoint(
        "torch._dynamo.types", "GuardedCode.__init__", ("code", "guard_manager")
    ),
    # What is called in place of `_compile` under the stance "fail_on_recompile" asks this first.
    "refused": ProbePoint("torch._dynamo.convert_frame", "has_tensor_in_frame", ("frame",)),
    # Then this, when there are entries and it is going to raise.
    "reasons_asked": ProbePoint(
        "torch._dynamo.guards", "get_and_maybe_log_recompilation_reasons", ("frame",)
    ),
}

RUN = ProbePoint("torch._dynamo.symbolic_convert", "InstructionTranslatorBase.run", ())
"""The symbolic interpreter's loop: while it is on the Python stack, its translator is at work."""

# None: the version has no such function.
_OVERRIDES: dict[tuple[int, int], dict[str, ProbePoint | None]] = {
    (2, 11): {
        "skipped": None,
        "skip_returned": ProbePoint(
            "torch._dynamo.types", "ConvertFrameReturn.__init__", ("guarded_code",)
        ),
    },
    (2, 15): {
        "lazy_computed": ProbePoint(
            "torch._dynamo.variables.lazy", "ComputedLazyCache.realize", ("self",)
        ),
    },
}


OF_GRAPHS = frozenset(
    {
        "node_inserted", "node_removed", "node_moved", "node_moved_behind", "name_hinted",
        "guard_added", "guards_removed", "guards_chosen",
    }
)  # fmt: skip
"""What nobody needs to hear of who does not ask for guards or nodes."""
OF_SHAPES = frozenset(SHAPE_POINTS)
"""What nobody needs to hear of who does not ask for sizes."""
MARKED = frozenset({"guard_added", "node_inserted", "node_removed", "frame_entered", "frame_left"})
"""What `stepper._C.Steps` hears of itself."""
OF_DETAIL = frozenset(
    {
        "function_made", "attribute_stored", "mutated", "tensor_method", "outputs_moved",
        "flags_moved", "output_moved",
    }
)  # fmt: skip
"""What only matters when every instruction is recorded."""


def torch_version() -> tuple[int, int]:
    """Major and minor version of the installed torch."""
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def probe_points() -> dict[str, ProbePoint]:
    """The functions to watch in the installed torch, by what their call means.

    Raises:
        UnsupportedTorch: it is older than what was tested, or newer and other than that.
    """
    version = torch_version()
    points = _POINTS | _OVERRIDES.get(min(version, NEWEST), {})
    if version < OLDEST or (version > NEWEST and lacking()):
        raise UnsupportedTorch(
            f"stepper's dynamo engine supports torch {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}."
            f"{NEWEST[1]}, but {torch.__version__} is installed. Install a torch in that range, or "
            "a stepper that supports yours; `stepper doctor` says what is different in it."
        )
    return {meaning: point for meaning, point in points.items() if point is not None}


def lacking() -> list[str]:
    """The functions to watch that the installed torch does not have, or has with other
    parameters."""
    points = _POINTS | _OVERRIDES.get(min(torch_version(), NEWEST), {}) | _LOOKUP_POINTS
    found: list[str] = []
    for point in filter(None, points.values()):
        try:
            parameters = inspect.signature(resolve(point)).parameters
        except (UnsupportedTorch, ImportError, TypeError, ValueError):
            found.append(f"{point.module}.{point.qualname}")
            continue
        found += [
            f"{point.module}.{point.qualname}({name})"
            for name in point.parameters
            if name not in parameters
        ]
    return found


def untested() -> str:
    """What to tell of a torch that is newer than those that were tested; empty: it is not."""
    if torch_version() <= NEWEST:
        return ""
    return (
        f"torch {torch.__version__} is newer than those that stepper was tested with (to "
        f"{NEWEST[0]}.{NEWEST[1]}). All that it watches is there; if something that it shows looks "
        "wrong, try a torch in that range"
    )


def lookup_points() -> dict[str, ProbePoint]:
    """The functions to watch for lookups in the cache, by what their call means."""
    return _LOOKUP_POINTS


def is_compile(code: CodeType) -> bool:
    """Whether a code object is that of a function that has one frame translated, with probes or
    without: `_compile`, or what `torch.export` and compilation ahead of time call in its place."""
    names = ("_compile", "_fullgraph_capture_frame")
    return code.co_name in names and code.co_filename == convert_frame.__file__


def captured_now() -> str:
    """The id of what is captured now, outside of `_compile`."""
    return str(torch._guards.CompileContext.current_compile_id())


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


def is_interpreting(code: CodeType) -> bool:
    """Whether a code object is that of the symbolic interpreter's step."""
    return code.co_name == "step" and code.co_filename == symbolic_convert.__file__


def is_backend(code: CodeType) -> bool:
    """Whether a code object is that of what calls the backend with a graph."""
    return code.co_name == "call_user_compiler" and code.co_filename == output_graph.__file__


def is_guard_building(code: CodeType) -> bool:
    """Whether a code object is that of what makes an entry's guards."""
    return code.co_name == "__init__" and code.co_filename == torch._dynamo.guards.__file__


def is_backward_compile(code: CodeType) -> bool:
    """Whether a code object is that of what has a backward compiled when gradients are asked
    for."""
    # Since torch 2.13 a method of its own; before, it is done in the backward itself.
    names = ("get_or_compile", "_backward_impl", "backward")
    return code.co_name in names and code.co_filename.endswith(_BACKWARD)


_BACKWARD = os.path.join("_functorch", "_aot_autograd", "runtime_wrappers.py")


@functools.cache
def probed_modules() -> frozenset[str]:
    """The modules whose functions are watched."""
    return frozenset(point.module for point in (*probe_points().values(), *change_points()))


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


def change_points() -> list[ProbePoint]:
    """The functions of the installed torch that change the tracker in their one parameter."""
    found = []
    for point in _CHANGES:
        try:
            resolve(point)
        except (UnsupportedTorch, ModuleNotFoundError):
            continue
        found.append(point)
    return found


def refused_callback(asking: FrameType | None) -> Any:
    """What would have compiled, in the frame of a function that makes an error of it; else None."""
    if asking is not None and asking.f_code.co_name == DECORATED:
        asking = asking.f_back
    if asking is None or asking.f_code.co_filename != torch._dynamo.eval_frame.__file__:
        return None
    return asking.f_locals["callback"] if asking.f_code.co_name == "fail_callback" else None


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


def surely_compiled(f_locals: dict[str, Any]) -> bool:
    """Whether Dynamo compiles a frame, as far as that can be told from the types of its locals: it
    does when there is a tensor among them."""
    return any(issubclass(type(value), torch.Tensor) for value in f_locals.values())


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
"""Of what computes the example value of its parameter `node`."""
WRAP_CODE = _code_of(
    builder, "_wrap_to_fake_tensor_and_record_impl", "wrap_to_fake_tensor_and_record"
)
"""Of what gives a tensor, its parameter `e`, sizes that may be symbols."""


def assumes_static() -> bool:
    """Whether sizes are numbers until something else is known: without `dynamic=True`."""
    return bool(torch._dynamo.config.assume_static_by_default)


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


# -- the cache ---------------------------------------------------------------------------------


def region_of(entry: Any) -> int:
    """The isolated region of a cache entry; -1: everybody's. torch 2.11 has no regions."""
    return int(getattr(entry, "isolate_recompiles_id", -1))


# What a call means for the cache → where it happens.
_CACHE_POINTS: dict[str, ProbePoint] = {
    "invalidated": ProbePoint(
        "torch._dynamo.guards", "CheckFunctionManager.invalidate", ("self", "obj_str")
    ),
    "reset": ProbePoint("torch._dynamo", "reset_code_caches", ()),
    "removed": ProbePoint("torch._dynamo.eval_frame", "remove_from_cache", ("f",)),
    "strategy": ProbePoint(
        "torch._dynamo.types", "ConvertFrameReturn.__init__", ("frame_exec_strategy",)
    ),
    "stance": ProbePoint("torch._dynamo.eval_frame", "_set_stance", ("stance",)),
}


def cache_points() -> dict[str, ProbePoint]:
    """The functions to watch for what happens to cache entries, by what their call means."""
    return _CACHE_POINTS
