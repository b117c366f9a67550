"""The package `bytecode`: the program's own, or else the debugger's.

A program that a front end started may run in an environment that has torch and nothing of ours.
What recording takes is imported before the program's first line, when the debugger's own folder can
still be searched (`stepper.debuggee.startup`). This package is wanted later, and by few: by the
native engine, and by whoever looks at an entry's bytecode as text or changes it. So it is looked
for when it is first wanted, and what the program sees of its path and its importers stays as it is.
"""

from __future__ import annotations

import dis
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import CodeType
from typing import Any


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

from bytecode import Bytecode, Instr, Label, instr  # noqa: E402  # can be now
from bytecode.instr import UNSET, CellVar, FreeVar, TryBegin, TryEnd  # noqa: E402  # likewise

__all__ = [
    "UNSET",
    "Bytecode",
    "CellVar",
    "FreeVar",
    "Instr",
    "Label",
    "TryBegin",
    "TryEnd",
    "instr",
    "instruction",
    "listing_of",
]

INTERPOLATION = "BUILD_INTERPOLATION"
"""The instruction of a part of a t-string (Python 3.14). The package takes its argument for
something else (0.19.1), and fails."""
_INTERPOLATION = dis.opmap.get(INTERPOLATION)
_STAND_IN = dis.opmap["BUILD_SLICE"]
"""One that has a number for its argument."""


def listing_of(code: CodeType) -> Bytecode:
    """A code's instructions, one for each but EXTENDED_ARG; handlers have the depths that the code
    says."""
    opcodes = code.co_code[::2]
    if _INTERPOLATION is None or _INTERPOLATION not in opcodes:
        return Bytecode.from_code(code, conserve_exception_block_stackdepth=True)
    stand_ins = [each for each in opcodes if each in (_INTERPOLATION, _STAND_IN)]
    replaced = bytearray(code.co_code)
    replaced[::2] = opcodes.replace(bytes([_INTERPOLATION]), bytes([_STAND_IN]))
    listed = Bytecode.from_code(
        code.replace(co_code=bytes(replaced)), conserve_exception_block_stackdepth=True
    )
    places = [place for place, each in enumerate(listed) if _stands_in(each)]
    for place, was in zip(places, stand_ins, strict=True):
        if was == _INTERPOLATION:
            found: Any = listed[place]
            listed[place] = instruction(INTERPOLATION, found.arg, found.location)
    return listed


def _stands_in(item: object) -> bool:
    return isinstance(item, Instr) and item.opcode == _STAND_IN


def instruction(name: str, argument: Any, location: Any) -> Instr:
    """An instruction. The argument of an INTERPOLATION is the number that Python knows.

    Raises:
        ValueError, TypeError: the instruction has no such argument.
    """
    if name != INTERPOLATION:
        return Instr(name, argument, location=location)
    if type(argument) is not int or not 0 <= argument < 256:
        raise TypeError(f"{name} takes a number")
    # Made with an argument that the package allows, and written with the one that it has.
    made = Instr(name, (False, instr.FormatValue.STR), location=location)
    made._arg = argument
    return made
