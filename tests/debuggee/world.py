"""The state of the world: what a capture shares with the program, so that two can be compared.

What is named here belongs to the thread or to the process: modes and flags of torch, generators of
random numbers, what Python keeps for everybody, and the locks and books of the engines. An object
is shown by its identity: one that was replaced by its like is another.
"""

from __future__ import annotations

import contextvars
import gc
import linecache
import random
import signal
import sys
import threading
import warnings
from typing import Any

import numpy
import torch
from torch._subclasses import fake_tensor
from torch.fx import _symbolic_trace, traceback
from torch.fx.experimental import proxy_tensor
from torch.overrides import _get_current_function_mode_stack
from torch.utils import _device, _python_dispatch

from stepper import _C
from stepper.native.guards import current_backend
from stepper.native.runtime import convert_frame
from stepper.native.versions import FAKE_TENSOR_LOG
from stepper.native.watching import WATCHING

World = dict[str, object]


def _modes() -> World:
    infra = torch._C._TorchDispatchModeKey
    kinds = (infra.FAKE, infra.PROXY, infra.FUNCTIONAL)
    return {
        "dispatch modes": [*map(id, _python_dispatch._get_current_dispatch_mode_stack())],
        "function modes": [*map(id, _get_current_function_mode_stack())],
        **{f"{kind}": id(torch._C._get_dispatch_mode(kind)) for kind in kinds},
        "in a dispatch mode": _python_dispatch._is_in_torch_dispatch_mode,
        "in a user's mode": _python_dispatch._is_in_non_infra_torch_dispatch_mode,
        "in a mode that sees compilers": getattr(
            _python_dispatch, "_is_in_any_mode_without_ignore_compile_internals", None
        ),
        "keys included": str(torch._C._dispatch_tls_local_include_set()),
        "keys excluded": str(torch._C._dispatch_tls_local_exclude_set()),
        "torch function": str(vars(torch._C)["_get_torch_function_state"]()),
        "only cpu lifted": torch._C._only_lift_cpu_tensors(),
        "functorch": torch._C._functorch.get_dynamic_layer_stack_depth(),
        "saved tensor hooks": torch._C._autograd._top_saved_tensors_default_hooks(True),
        "fake recursion": fake_tensor.RECURSION_COUNT,
        "fake tls": fake_tensor.fake_tensor_tls.allow_non_fake_inputs_override,
        "proxies": proxy_tensor._disable_update_tensor_tracker_tls.value,
        "make_fx": id(proxy_tensor._CURRENT_MAKE_FX_TRACER),
        "fx tracing": _symbolic_trace.is_fx_symbolic_tracing(),
        "fx meta": dict(traceback.current_meta),
        "tracing context": id(torch._guards.TracingContext.try_get()),
        "compile context": id(torch._guards.CompileContext.try_get()),
    }


def _flags() -> World:
    found: World = {
        "grad": torch.is_grad_enabled(),
        "forward grad": torch._C._is_fwd_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "multithreading": torch._C._is_multithreading_enabled(),
        "view replay": torch._C._is_view_replay_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "deterministic warns": torch.is_deterministic_algorithms_warn_only_enabled(),
        "dtype": torch.get_default_dtype(),
        "device": _device.CURRENT_DEVICE,
        "threads": torch.get_num_threads(),
        "autocast caches": torch.is_autocast_cache_enabled(),
        "warns always": torch.is_warn_always_enabled(),
        "fake log": FAKE_TENSOR_LOG.disabled,
    }
    for device in ("cpu", "cuda"):
        found[f"autocast {device}"] = torch.is_autocast_enabled(device)
        found[f"autocast {device} dtype"] = torch.get_autocast_dtype(device)
    return found


def _python() -> World:
    own = threading.current_thread()
    return {
        "random": hash(random.getstate()),
        "numpy": str(numpy.random.get_state()),
        "torch random": hash(bytes(torch.default_generator.get_state().numpy())),
        "collects": gc.isenabled(),
        "thresholds": gc.get_threshold(),
        "warning filters": list(warnings.filters),
        "showwarning": (id(warnings.showwarning), id(vars(warnings)["_showwarnmsg_impl"])),
        "context": {id(key): id(value) for key, value in contextvars.copy_context().items()},
        "signals": {
            n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
        },
        "trace": sys.gettrace(),
        "profile": sys.getprofile(),
        "monitoring": [*map(_monitoring, range(6))],
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "stdout": (id(sys.stdout), id(sys.stderr), id(sys.excepthook)),
        "linecache": id(linecache.cache),
        "handled": sys.exc_info()[0],
        "this thread": id(own),
        "unraisable": id(sys.unraisablehook),
    }


def _monitoring(tool: int) -> object:
    monitoring: Any = getattr(sys, "monitoring", None)
    return monitoring and monitoring.get_tool(tool)


def free(lock: Any) -> bool:
    """Whether another thread could take a lock."""
    found: list[bool] = []

    def take() -> None:
        if taken := lock.acquire(blocking=False):
            lock.release()
        found.append(taken)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return found[0]


def _native() -> World:
    callback, backend, whole = _C.set_frame_callback(None)
    _C.set_frame_callback(callback, backend, whole)
    leaves = _C.leave_resume_calls(False)
    _C.leave_resume_calls(leaves)
    return {
        "hook": _C.hook_installed(),
        "callback": id(callback),
        "backend": id(backend),
        "current backend": id(current_backend.current_backend()),
        "leaves calls": leaves,
        "compile lock": free(convert_frame.compile_lock),
        "engine": id(WATCHING.watcher),
        "explanation": id(WATCHING.explanation),
    }


def _recorder(recorder: Any) -> World:
    if recorder is None:
        return {}
    walks = recorder.walks
    return {
        "lock": free(walks.lock),
        "writer": walks.lock.writer,
        "muted": walks.muted,
        "stepping": recorder.stepping,
        "standing": recorder.controller.standing,
    }


def under_way(recorder: Any) -> World:
    """What the recorder takes for not yet over. Some ends are found out late, when something begins
    that cannot be inside of it."""
    if recorder is None:
        return {}
    engine = recorder._engine
    return {
        "under way": {ident: list(stack) for ident, stack in recorder.walks._under_way.items()},
        "top": recorder.steps.top,
        "observers": len(getattr(engine, "_observers", ())),
        "contexts": len(getattr(engine, "_contexts", ())),
    }


def world(recorder: Any = None) -> World:
    """What there is now."""
    return {**_modes(), **_flags(), **_python(), **_native(), **_recorder(recorder)}


OURS = frozenset(
    (
        "hook", "callback", "backend", "current backend", "leaves calls", "compile lock", "engine",
        "explanation", "lock", "writer", "muted", "stepping", "standing", "trace", "profile",
        "monitoring", "recursion limit", "signals", "stdout", "unraisable",
    )
)  # fmt: skip
"""What only stepper changes."""


def changes(before: World, after: World) -> list[str]:
    """What is not as it was."""
    return [
        f"{name}: {_shown(before[name])} became {_shown(value)}"
        for name, value in after.items()
        if before[name] != value
    ]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < 120 else f"{text[:117]}..."
