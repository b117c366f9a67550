"""The package `bytecode`: the program's own, or else the debugger's.

A program that a front end started may run in an environment that has torch and nothing of ours.
What recording takes is imported before the program's first line, when the debugger's own folder can
still be searched (`stepper.debuggee.startup`). This package is wanted later, and by few: by the
native engine, and by whoever looks at an entry's bytecode as text or changes it. So it is looked
for when it is first wanted, and what the program sees of its path and its importers stays as it is.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path


def _bring() -> None:
    if "bytecode" in sys.modules or find_spec("bytecode") is not None:
        return
    home = str(Path(__file__).parent.parent.parent)
    known = home in sys.path_importer_cache
    spec = PathFinder.find_spec("bytecode", [home])
    if not known:
        sys.path_importer_cache.pop(home, None)
    if spec is None or spec.loader is None:
        return  # the import that follows says so
    module = sys.modules["bytecode"] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["bytecode"]
        raise


_bring()

from bytecode import Bytecode, ConcreteBytecode, Instr, Label, instr  # noqa: E402  # can be now
from bytecode.instr import UNSET, CellVar, FreeVar, TryBegin, TryEnd  # noqa: E402  # likewise

__all__ = [
    "UNSET",
    "Bytecode",
    "CellVar",
    "ConcreteBytecode",
    "FreeVar",
    "Instr",
    "Label",
    "TryBegin",
    "TryEnd",
    "instr",
]
