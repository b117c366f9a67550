"""What is known of a code: its place in the program, as it was written or a resume function's."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from stepper.native.bytecode import opcodes
from stepper.native.bytecode.bytecode_transformation import copied_as
from stepper.support.per_object import PerCode


@dataclass
class ResumeInfo:
    """What is known of a code's place in its program.

    offsets: for each instruction that a copy has after RESUME, its offset in the function as it was
        written.
    prefix: what the names of variables begin with that the program has not; Dynamo's resume
        functions have some, too.
    function: the name of the function as it was written; empty for that itself.
    written: the code of that function; None for that itself.
    own_cells: its free variables that are the function's own, as it was written.

    Of a function as it was written:

    made: its resume functions, by where they go on and what they are given.
    broken: offsets at which resume functions have broken.
    computes: whether a resume function has a graph that computes something.
    """

    offsets: list[int]
    prefix: str
    function: str = ""
    written: weakref.ref[CodeType] | None = None
    own_cells: frozenset[str] = frozenset()
    made: dict[Any, CodeType] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)
    computes: bool = False


_infos: PerCode[ResumeInfo] = PerCode()


def info_of(code: CodeType) -> ResumeInfo:
    """The code's entry; one that is written, not resumed, gets it when it is first asked for."""
    known = _infos.get(code)
    if known is not None:
        return known
    own = opcodes.listing(code).instructions[opcodes.resume_index(code) + 1 :]
    offsets = [each.offset for each in own for _ in range(copied_as(each))]
    prefix = "___"
    names = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return _infos.set(code, ResumeInfo(offsets, prefix))


def note_info(code: CodeType, info: ResumeInfo) -> None:
    """The code was made, and this is known of it."""
    _infos.set(code, info)


def written_as(code: CodeType) -> ResumeInfo | None:
    """The entry of the function as it was written, which its resume functions share; None: it is
    gone, and only they are left."""
    info = info_of(code)
    if info.written is None:
        return info
    written = info.written()
    return None if written is None else info_of(written)
