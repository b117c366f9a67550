"""What the native engine is registered as. Nothing of its compiler is imported."""

from __future__ import annotations

from collections.abc import Callable

from stepper.debuggee.engine import Engine, EngineType, Say
from stepper.debuggee.entries import Entries
from stepper.model.capabilities import Capabilities
from stepper.native import unsupported_python


def create() -> Engine:
    """The engine, not yet installed."""
    from stepper.engines.native.engine import NativeEngine

    return NativeEngine()


def entries() -> Entries:
    """The entries of its cache."""
    from stepper.engines.native.entries import ENTRIES

    return ENTRIES


def serve(say: Say) -> Callable[[], None]:
    """Have it serve the program's own `torch.compile`."""
    from stepper.engines.native import torch_compile

    return torch_compile.serve(say)


ENGINE = EngineType(
    compiler="stepper.native.runtime.eval_frame",
    capabilities=Capabilities(
        compile="stepper.compile",
        decorators="stepper.native",
        recompile_limit="stepper.native.config.cache_size_limit",
        heeded_settings=("capture_scalar_outputs", "capture_dynamic_output_shape_ops"),
        symbols=True,
        shape_steps=True,
        carries_guards=True,
    ),
    create=create,
    entries=entries,
    serve=serve,
    unsupported=unsupported_python(),
)
