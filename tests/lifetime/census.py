"""What is alive in a process, as numbers that two runs can be compared by."""

from __future__ import annotations

import _thread
import collections
import ctypes
import gc
import inspect
import linecache
import os
import sys
import weakref
from types import ModuleType
from typing import Any

from tests.lifetime.programs import ROLL

Census = dict[str, dict[str, int]]


def take(*namespaces: ModuleType) -> Census:
    """Count what is left when the garbage has been collected."""
    for _ in range(3):  # finalizers and weak references' callbacks let go of more
        gc.collect()
    return {
        "objects": dict(collections.Counter(map(_kind, gc.get_objects()))),
        "made by the programs or for them": ROLL.living(),
        "names": {module.__name__: len(vars(module)) for module in namespaces},
        "process": {
            "modules": len(sys.modules),
            "lines of files": len(linecache.cache),
            "files of modules": len(inspect.modulesbyfile),
            "finalizers": len(weakref.finalize._registry),  # type: ignore[attr-defined]  # no stub has it
            "threads": _thread._count(),
        },
        "memory": {"blocks": sys.getallocatedblocks(), "resident": _resident()},
    }


def _kind(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _resident() -> int:
    """Bytes of memory that the process has, when the C library has given back what it can."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
