"""What can be asked of a compiler and of the engine that watches it.

A recording holds the capabilities of the engine that made it. So whoever asks it something looks
for a capability and never at the engine's name, and a recording of an engine that is not known here
is asked like any other.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

_Dotted = Annotated[str, msgspec.Meta(pattern=r"^\w*(\.\w+)*\Z", max_length=100)]
"""A name as a program writes it, or nothing: it may come from anybody's recording, and is shown
within sentences."""


class Capabilities(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one compiler has, and what its recordings hold."""

    compile: _Dotted = ""
    """What a program calls to have a function compiled, e.g. `torch.compile`."""
    decorators: _Dotted = ""
    """The module of its `allow_in_graph` and `disable`, which can be put on functions of a program
    that runs again; empty: it has none."""
    recompile_limit: _Dotted = ""
    """The setting that says how often a function is compiled; empty: there is no limit."""
    dynamo_config: bool = False
    """Whether the settings of `torch._dynamo.config` are its settings."""
    heeded_settings: tuple[_Dotted, ...] = ()
    """Those of `torch._dynamo.config` that it heeds where they are not its settings."""
    symbols: bool = False
    """Whether a size can be a symbol, by `mark_dynamic`, by `dynamic=True` or by itself, and that
    can be tried."""
    unbacked: bool = False
    """Whether `mark_unbacked` makes a size a symbol that has no value, so also 0 and 1."""
    shape_steps: bool = False
    """Whether what becomes known about sizes is told; see `stepper.model.shapes`."""
    carries_guards: bool = False
    """Whether values and nodes carry the guards that they depend on."""
    output_nodes: bool = False
    """Whether a graph has an output node if it was handed to the backend, and only then."""

    def heeds(self, setting: str) -> bool:
        """Whether a setting of `torch._dynamo.config` changes what it does."""
        return self.dynamo_config or setting in self.heeded_settings

    def limit(self, name: str) -> str:
        """The setting of that name that says how often a function is compiled, of several; no name:
        the one that mostly does. Empty: there is no limit."""
        return f"{self.recompile_limit.rpartition('.')[0]}.{name}" if name else self.recompile_limit
