"""What the dynamo engine is registered as. Nothing of its compiler is imported."""

from __future__ import annotations

from stepper.debuggee.engine import Engine, EngineType
from stepper.debuggee.entries import Entries
from stepper.model.capabilities import Capabilities


def create() -> Engine:
    """The engine, not yet installed."""
    from stepper.engines.dynamo.engine import DynamoEngine  # `versions` is wanted without it

    return DynamoEngine()


def entries() -> Entries:
    """The entries of its cache."""
    from stepper.engines.dynamo.entries import ENTRIES

    return ENTRIES


ENGINE = EngineType(
    compiler="torch._dynamo",
    capabilities=Capabilities(
        compile="torch.compile",
        decorators="torch.compiler",
        recompile_limit="torch._dynamo.config.recompile_limit",
        dynamo_config=True,
        symbols=True,
        unbacked=True,
        shape_steps=True,
        output_nodes=True,
    ),
    create=create,
    entries=entries,
    doors="stepper.engines.dynamo.doors",
)
