"""The native compiler: stepper's own implementation of the system that TorchDynamo's documents
describe.

    @stepper.native.optimize(my_compiler)
    def toy_example(a, b): ...

Names are those of the documents. What cannot be captured runs as Python runs it, and says why
(`explain`); results, exceptions and side effects are always those of the program.

`runtime` decides what is captured, `tracing` interprets it with the trackers of `variables`,
`guards` says when what came of it may run, `codegen` writes what runs. This module is the face of
all that; it is loaded when one of its names is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stepper.support.needed import explain_import
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.native import config
    from stepper.native.api import compile, explain, export_guards
    from stepper.native.exc import Unsupported
    from stepper.native.export import export
    from stepper.native.runtime.convert_frame import reset
    from stepper.native.runtime.eval_frame import disable, optimize, optimize_assert, run, skip
    from stepper.native.runtime.translation import register_bytecode_hook
    from stepper.native.variables.assumed_constant import assume_constant_result
    from stepper.native.variables.torch import allow_in_graph, disallow_in_graph, graph_break

__all__ = [
    "Unsupported",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "disable",
    "disallow_in_graph",
    "explain",
    "export",
    "export_guards",
    "graph_break",
    "optimize",
    "optimize_assert",
    "register_bytecode_hook",
    "reset",
    "run",
    "skip",
]

_NEWEST_PYTHON = (3, 14)
"""The newest Python whose bytecode the compiler knows."""


def unsupported_python() -> str:
    """Why the compiler cannot work in this Python; empty: it can."""
    if sys.version_info[:2] <= _NEWEST_PYTHON:
        return ""
    newest, here = (".".join(map(str, each[:2])) for each in (_NEWEST_PYTHON, sys.version_info))
    return (
        f"the native engine knows the bytecode of Python up to {newest}, and this is Python {here}:"
        " use the dynamo engine, or an older Python"
    )


def __getattr__(name: str) -> Any:
    if name == "config":
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if why := unsupported_python():
        raise ImportError(why)
    try:
        api = import_module(f"{__name__}.api")
    except ModuleNotFoundError as error:
        if advice := explain_import(error):
            raise ImportError(advice) from error
        raise
    # All at once: captured code that has one of them finds the others, too.
    globals().update((each, getattr(api, each)) for each in __all__)
    return getattr(api, name)


keep_out()
