"""stepper: step TorchDynamo's symbolic interpreter, forwards and backwards.

In a program:

    stepper.breakpoint()               stop here, in the compiler when this code is being compiled
    with stepper.record("a.stepper"):  record what is compiled inside
    stepper.debug(function)            stop when the function is compiled the next time
    stepper.set_excepthook()           open the debugger when the program dies while it compiles

`stepper.compile(function)` captures it with stepper's own engine; `stepper.native` is for
everything else about that.

`stepper.cache` is for looking at the cache of compiled code, and for changing it.

Importing this costs nothing: what these need is imported when they are first used. Recordings can
be read without the C part; these cannot be used then, and say so.

PYTEST_DONT_REWRITE: under `stepper record -m pytest` it is there before pytest, which would warn.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from stepper.debuggee.api import SessionError, debug, record, set_excepthook
    from stepper.native import compile

__all__ = ["SessionError", "breakpoint", "compile", "debug", "record", "set_excepthook"]
__version__ = "0.1.0"


def breakpoint() -> None:
    """Stop at the next instruction that Dynamo interprets.

    In code that is being compiled, that is the instruction after this call: it breaks no graph,
    leaves no trace in it, and is not reached again by the compiled code. Elsewhere it is the first
    instruction of the next translation. Begins a session on this terminal when there is none.

    Raises:
        SessionError: there is no session and no terminal to begin one on.
        ImportError: the C part was not built.
    """
    need_c_part()
    from stepper.debuggee.api import stop_soon

    stop_soon()


def need_c_part() -> None:
    """See that the C part is there, which takes part in whatever is watched.

    Raises:
        ImportError: it is not, or it is older than the Python that uses it, as in a checkout that
            was brought up to date and not built again; the message says what to do.
    """
    if not _has_c_part():
        # A checkout that was copied, one that was built for another Python, or a wheel for readers.
        raise ImportError(
            f"stepper's C part was not built for this Python ({sys.executable}): with a C compiler "
            "and Python's headers installed, run `pip install .` in stepper's checkout "
            "(`pip install -e .` to work on it). Recordings can be read without it"
        )
    from stepper import _C

    folder = os.path.dirname(__file__)
    if not _is_built_from(_C, os.path.join(folder, "_C.pyi")):
        from shlex import quote

        raise ImportError(
            f"stepper's C part ({_C.__file__}) is older than the Python beside it. Build it again: "
            f"{quote(sys.executable)} -m pip install -e {quote(os.path.dirname(folder))}"
        )


def _is_built_from(c_part: ModuleType, declared: str) -> bool:
    """Whether the C part is what the file declares. The file is read only if it is the younger one:
    this is asked whenever a program begins."""
    built = c_part.__file__ or ""
    try:
        if os.stat(declared).st_mtime <= os.stat(built).st_mtime:
            return True
        with open(declared, "rb") as file:
            text = file.read()
    except OSError:
        return True  # out of an archive, or without what only type checkers read
    from zlib import crc32

    return getattr(c_part, "INTERFACE", None) == crc32(text)


def _has_c_part() -> bool:
    return "stepper._C" in sys.modules or PathFinder.find_spec("stepper._C", __path__) is not None


def __getattr__(name: str) -> Any:
    if name in ("cache", "native") or name in __all__:
        need_c_part()
    if name in ("cache", "native"):
        return import_module(f"{__name__}.{name}")
    if name == "compile":
        return import_module(f"{__name__}.native").compile
    if name in __all__:
        from stepper.debuggee import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _DynamoArrives:
    """A finder that finds nothing: by it we hear that the program imports Dynamo."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch._dynamo":
            return None
        import_module("stepper.uncompiled")  # puts a finder there in place of this one
        return sys.meta_path[0].find_spec(name, path, target)


def _begin() -> None:
    if not _has_c_part():
        return
    if "torch._dynamo" in sys.modules:
        import_module("stepper.uncompiled")
    else:
        sys.meta_path.insert(0, _DynamoArrives)


if (_aside := getattr(sys.modules.get("torch._dynamo"), "disable", None)) is not None:
    # What imports us may be a call in compiled code, such as the first `breakpoint()`.
    _aside(_begin)()
else:
    _begin()
