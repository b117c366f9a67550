"""The functions of Dynamo's that are watched, for each torch version.

Each probe names a function, the parameters that we read there, and what its call means to us. A
version that lacks a function, or has it with other parameters, gets a row of its own in
`_OVERRIDES`.
"""

from __future__ import annotations

import functools
import inspect

import torch

from stepper.engines.common.probe_points import ProbePoint, UnsupportedTorch, resolve
from stepper.engines.common.versions import POINTS as SHAPE_POINTS

OLDEST = (2, 11)
NEWEST = (2, 15)


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
    "guard_made": ProbePoint("torch._guards", "Guard.create", ("self",)),
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
    "phase_began": ProbePoint(
        "torch._dynamo.utils", "ChromiumEventLogger.log_event_start", ("event_name",)
    ),
    "phase_ended": ProbePoint(
        "torch._dynamo.utils", "ChromiumEventLogger.log_event_end", ("event_name",)
    ),
    "instant_noted": ProbePoint(
        "torch._dynamo.utils", "ChromiumEventLogger.log_instant_event", ("event_name", "metadata")
    ),
    # Which asks for the lock under which Dynamo compiles, where it does not skip the frame; what is
    # called next has it.
    "lock_wanted": ProbePoint("torch._dynamo.convert_frame", "CatchErrorsWrapper.__call__", ()),
    "lock_got": ProbePoint("torch._dynamo.convert_frame", "ConvertFrame.__call__", ()),
    "lock_got_for_graph": ProbePoint(
        "torch._dynamo.convert_frame", "ConvertFrameAssert.__call__", ()
    ),
    "bytecode_begins": ProbePoint("torch._dynamo.output_graph", "OutputGraph.compile_subgraph", ()),
    "instructions_made": ProbePoint("torch._dynamo.output_graph", "OutputGraph.codegen_suffix", ()),
    "new_objects_made": ProbePoint(
        "torch._dynamo.side_effects", "SideEffects.codegen_save_tempvars", ()
    ),
    "cells_made": ProbePoint("torch._dynamo.output_graph", "OutputGraph.codegen_cells", ()),
    "side_effects_made": ProbePoint(
        "torch._dynamo.side_effects", "SideEffects.codegen_update_mutated", ()
    ),
    # Of whatever is to be on the stack: most of them have nothing to do with side effects.
    "value_made": ProbePoint("torch._dynamo.codegen", "PyCodegen.__call__", ()),
    "graph_compiled": ProbePoint(
        "torch._dynamo.output_graph", "OutputGraph.compile_and_call_fx_graph", ()
    ),
    "instructions_added": ProbePoint(
        "torch._dynamo.output_graph", "OutputGraph.add_output_instructions", ()
    ),
    "code_assembled": ProbePoint(
        "torch._dynamo.bytecode_transformation", "clean_and_assemble_instructions", ()
    ),
    "result_asked": ProbePoint("torch._dynamo.utils", "get_fake_value", ("node",)),
    "result_known": ProbePoint("torch._dynamo.utils", "set_example_value", ("node",)),
    # In what is saved or, by `torch.compiler.load_cache_artifacts`, loaded.
    "artifact_noted": ProbePoint("torch.compiler._cache", "CacheInfo.add", ("artifact",)),
    # Asked each time that compiled autograd is switched on.
    "autograd_enabled": ProbePoint(
        "torch._dynamo.compiled_autograd", "snapshot_verbose_logging_enabled", ()
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
    # What a function that was compiled ahead of time asks when its guards have failed.
    "asked_why": ProbePoint("torch._dynamo.guards", "GuardManagerWrapper.check_verbose", ("x",)),
    # What was compiled ahead of time is there, in this process or from a file.
    "made_ahead": ProbePoint(
        "torch._dynamo.aot_compile", "AOTCompiledFunction.__post_init__", ("self",)
    ),
    # An entry comes from a package of precompiled code.
    "unpacked": ProbePoint("torch._dynamo.package", "load_guard_manager", ("target_code",)),
}

IN_FX = ProbePoint("torch.compiler", "is_compiling", ())
IN_EXPORT = ProbePoint("torch._higher_order_ops.utils", "_in_hop_compile", ())
SCRIPTED = ProbePoint("torch.jit.frontend", "get_jit_def", ("fn",))

# What captures or loads without a translation.
_UNTRANSLATED_POINTS = {
    "exported": ProbePoint("torch.export", "export", ("mod", "strict")),
    "drafted": ProbePoint("torch.export", "draft_export", ("mod", "strict")),
    "guards_made": ProbePoint("torch._dynamo.guards", "CheckFunctionManager.__init__", ("f_code",)),
    # At the end of an export, and of a part of it.
    "export_noted": ProbePoint("torch._utils_internal", "log_export_usage", ()),
    "left_as_it_is": ProbePoint("torch._dynamo.eval_frame", "_NullDecorator.__call__", ("fn",)),
    # What a call of a compiled function asks where something else traces: FX, or an export.
    "called_in_fx": IN_FX,
    "called_in_export": IN_EXPORT,
    "scripted": SCRIPTED,
    "jit_traces": ProbePoint("torch.jit._trace", "_create_interpreter_name_lookup_fn", ()),
}

# Asked at every call of a compiled function, so only watched where `torch.jit.trace` is at work.
CALLED = ProbePoint("torch.fx._symbolic_trace", "is_fx_symbolic_tracing", ())

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
        "guard_added", "guards_removed", "guards_chosen", "guard_made",
    }
)  # fmt: skip
"""What nobody needs to hear of who does not ask for guards or nodes."""
OF_SHAPES = frozenset(SHAPE_POINTS)
"""What nobody needs to hear of who does not ask for sizes."""
MARKED = frozenset(
    {
        "guard_added", "guard_made", "node_inserted", "node_removed", "frame_entered", "frame_left",
    }
)  # fmt: skip
"""What `stepper._C.Steps` hears of itself."""
OF_DETAIL = frozenset(
    {
        "function_made", "attribute_stored", "mutated", "tensor_method", "outputs_moved",
        "flags_moved", "output_moved", "result_asked", "result_known", "value_made",
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
    points = _POINTS | _OVERRIDES.get(min(torch_version(), NEWEST), {})
    points |= _LOOKUP_POINTS | _UNTRANSLATED_POINTS
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


def untranslated_points() -> dict[str, ProbePoint]:
    """The functions that capture or load code without a translation, by what their call means."""
    return _UNTRANSLATED_POINTS


@functools.cache
def probed_modules() -> frozenset[str]:
    """The modules whose functions are watched."""
    return frozenset(point.module for point in (*probe_points().values(), *change_points()))


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
    "run_only": ProbePoint("torch._dynamo.eval_frame", "RunOnlyContext.__init__", ()),
}


def cache_points() -> dict[str, ProbePoint]:
    """The functions to watch for what happens to cache entries, by what their call means."""
    return _CACHE_POINTS


# What is only imported when Inductor is.
_LATE_POINTS = {
    "backward_wants_lock": ProbePoint("torch._inductor.compile_fx", "compile_fx_backward", ()),
    "backward_got_lock": ProbePoint("torch._inductor.utils", "output_node", ()),
    "file_lock_wanted": ProbePoint("filelock", "BaseFileLock.acquire", ()),
    "file_lock_got": ProbePoint("filelock", "AcquireReturnProxy.__init__", ()),
}


def late_points() -> dict[str, ProbePoint]:
    """The functions to watch for waits that are there later than Dynamo, by what their call
    means."""
    return _LATE_POINTS


# What leads to all of the above, or is at work itself when the watcher comes.
_DOORS = (
    ProbePoint("torch._dynamo.convert_frame", "CatchErrorsWrapper.__call__", ()),
    ProbePoint("torch._dynamo.convert_frame", "fullgraph_capture", ()),
    ProbePoint("torch._dynamo.package", "CompilePackage.install", ()),
    ProbePoint("torch.export", "export", ()),
    ProbePoint("torch.export", "draft_export", ()),
)


def doors() -> dict[ProbePoint, bool]:
    """The functions through which a program comes to Dynamo first, and whether they are watched for
    their own sake."""
    found = [_POINTS["phase_began"], _POINTS["instant_noted"], _LOOKUP_POINTS["made_ahead"]]
    found += [_CACHE_POINTS["stance"], _CACHE_POINTS["run_only"], _POINTS["artifact_noted"]]
    others = ("left_as_it_is", "called_in_fx", "scripted", "jit_traces")
    found += [_UNTRANSLATED_POINTS[meaning] for meaning in others]
    return dict.fromkeys(_DOORS, False) | dict.fromkeys(found, True)
