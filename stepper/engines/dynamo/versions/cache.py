"""Dynamo's cache, its guards, and what it compiles for them: the parts that we use as they are.

All of them are the same in the versions that are supported, but for what says otherwise.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable
from types import CodeType, MethodType
from typing import Any, cast

from torch._C._dynamo import eval_frame as _native
from torch._C._dynamo.guards import (
    DictGuardManager,
    RelationalGuard,
    RootGuardManager,
    compute_overlapping_tensors,
)
from torch._dynamo import config, convert_frame
from torch._dynamo.eval_frame import innermost_backend as _innermost_backend
from torch._dynamo.guards import (
    CheckFunctionManager,
    DeletedGuardManagerWrapper,
    GuardManagerWrapper,
)
from torch._dynamo.types import ConvertFrameReturn, GuardedCode, wrap_guarded_code
from torch.utils._traceback import shorten_filename

from stepper._C import count_call

__all__ = [
    "CheckFunctionManager", "ConvertFrameReturn", "DeletedGuardManagerWrapper", "DictGuardManager",
    "GuardManagerWrapper", "RelationalGuard", "RootGuardManager", "compute_overlapping_tensors",
]  # fmt: skip

compile_lock = convert_frame.compile_lock
"""Whoever compiles or resets has it."""


def innermost_backend(callback: Any) -> Any:
    """The backend of a callback, as entries are compared by it. In a call of a module that
    DistributedDataParallel wraps, Dynamo compiles by a backend of its own, made anew each time,
    which splits the graph and has the call's compile the parts."""
    found = _innermost_backend(callback)
    distributed = sys.modules.get("torch._dynamo.backends.distributed")
    if distributed is not None and type(found) is MethodType:
        splits: Any = found.__self__
        if type(splits) is distributed.DDPOptimizer:
            return _innermost_backend(splits.backend_compile_fn)
    return found


# -- entries -----------------------------------------------------------------------------------


def compiled_entries(code: CodeType) -> list[Any]:
    """A code's entries that were compiled here. To be dropped before anything else runs."""
    return list(_native._debug_get_cache_entry_list(code))


def precompiled_entries(code: CodeType) -> list[Any]:
    """A code's entries that a package or somebody's hand has put in; looked up before the others.
    To be dropped before anything else runs."""
    return list(_native._debug_get_precompile_entries(code))


def load_precompiled(code: CodeType, guards: Any, transformed: CodeType) -> None:
    """Put an entry into a code's cache that is looked up before those that were compiled."""
    _native._load_precompile_entry(code, guards, transformed)


def drop_precompiled(code: CodeType) -> None:
    """Take all entries out of a code's cache that were put in so."""
    _native._reset_precompile_entries(code)


def region_of(entry: Any) -> int:
    """The isolated region of a cache entry; -1: everybody's. torch 2.11 has no regions."""
    return int(getattr(entry, "isolate_recompiles_id", -1))


def codes_seen() -> list[weakref.ref[CodeType]]:
    """The codes that were compiled, by which a reset goes; not to be changed."""
    return convert_frame.input_codes.seen


def note_seen(code: CodeType) -> None:
    """Have a reset see to a code, too."""
    convert_frame.input_codes.add(code)


def packaged_codes() -> Iterable[CodeType]:
    """Codes that a package has loaded entries for; they may never have been compiled here."""
    package = sys.modules.get("torch._dynamo.package")
    if package is not None:
        for each in gc.get_objects():
            if type(each) is package.CompilePackage:
                yield from each._codes


def recompile_limit() -> int:
    """How many entries a code may have."""
    return int(config.recompile_limit)


# -- compiling and calling ---------------------------------------------------------------------


def served(code: CodeType, guards: Any, compile_id: Any) -> ConvertFrameReturn:
    """What Dynamo takes for a compilation's outcome: run this code, and cache it."""
    return wrap_guarded_code(GuardedCode(code, guards, compile_id))


def run_eagerly() -> ConvertFrameReturn:
    """What Dynamo takes for a compilation's outcome: run the call as it is, and all that it
    calls."""
    skip = _native._FrameAction.SKIP
    return ConvertFrameReturn(
        frame_exec_strategy=_native._FrameExecStrategy(skip, skip), apply_to_code=False
    )


set_callback = _native.set_eval_frame
"""What this thread's calls are compiled by from now on, None: by nothing. Returns what was set."""
callback_now = _native.get_eval_frame_callback


def count_runs() -> bool:
    """Have each run of transformed code counted; False: this torch cannot, or somebody else hears
    of them. Torch has this for its own bytecode debugger, as of 2.12."""
    heard_by = getattr(_native, "get_bytecode_debugger_callback", None)
    if heard_by is None or heard_by() is not None:
        return False
    _native.set_bytecode_debugger_callback(count_call)
    return True


def stop_counting_runs() -> None:
    """End that, unless somebody else has taken the place."""
    if _native.get_bytecode_debugger_callback() is count_call:
        _native.set_bytecode_debugger_callback(None)


# -- guards ------------------------------------------------------------------------------------


def is_invalidation(module: object, function: str) -> bool:
    """Whether that is the function that takes an entry out of the cache for a dead object."""
    return module == CheckFunctionManager.__module__ and function == "invalidate"


def shortened(filename: str) -> str:
    """A file's path as guards have it: without what it has in common with torch's own."""
    return cast(str, shorten_filename(filename))  # type: ignore[no-untyped-call]  # torch leaves it untyped
