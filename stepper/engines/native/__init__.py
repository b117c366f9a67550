"""Our own implementation of the system that TorchDynamo's documents describe.

Modules have Dynamo's names: `eval_frame` and `convert_frame` decide what is captured,
`symbolic_convert` interprets it with the trackers of `variables`, `output_graph`, `guards` and
`side_effects` are what comes of it, `codegen` and `resume_execution` write the code that runs.
`engine` is what the debugger sees of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepper.engines.native.engine import NativeEngine


def create() -> NativeEngine:
    """The engine, not yet installed."""
    from stepper.engines.native import engine

    return engine.create()
