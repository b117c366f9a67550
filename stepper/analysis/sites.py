"""Instructions and where they are, and the calls that led to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from stepper.client.text import short_path, source_line
from stepper.model.program import Instruction, PythonFrame, UserLine
from stepper.model.trace import MomentId, State
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed, is_polyfill

_RETURNS = ("RETURN_VALUE", "RETURN_CONST")


class Site(msgspec.Struct, frozen=True):
    """An instruction on the way to something."""

    moment: MomentId
    instruction: Instruction
    line: UserLine


def site_at(recording: Recording, moment: MomentId) -> Site | None:
    """The instruction of a moment; None: it is not recorded."""
    if not recording.has(moment):
        return None
    found = recording.moment(moment)
    code = recording.code(recording.frame(found.frame).code)
    row = code.instructions[found.ip]
    place = PythonFrame(code.filename, row.line or code.first_line, code.label)
    return Site(moment, row, UserLine(place, source_line(code, row.line)))


def text_at(recording: Recording, place: PythonFrame) -> str:
    """What stands on a line of a function that was compiled; empty where it was not."""
    ids = recording.derived(_labelled).get((place.filename, place.function), ())
    lines = (source_line(recording.code(id), place.line) for id in ids)
    return next(filter(None, lines), "")


def _labelled(recording: Recording) -> dict[tuple[str, str], list[int]]:
    """The code objects of each file and name in it."""
    found: dict[tuple[str, str], list[int]] = {}
    for code in recording.codes():
        found.setdefault((code.filename, code.label), []).append(code.id)
    return found


def made_at(recording: Recording, moment: MomentId) -> MomentId:
    """The moment whose instruction makes what is told at a moment: behind the return of a function
    that is inlined, until the next instruction, it is that of the call."""
    site = site_at(recording, moment)
    if site is None or not site.instruction.opname.startswith(_RETURNS):
        return moment
    frame = recording.frame(recording.moment(moment).frame)
    return moment if frame.parent is None else frame.call_moment or moment


def called_at(state: State, row: Instruction) -> Value | None:
    """What an instruction calls, where it stands on the symbolic stack."""
    arg = row.arg or 0
    # In 3.14 keywords or NULL are always there, and it has no argument.
    rest = 2 if row.arg is None else 1 + (arg & 1)
    counts = {"CALL": arg, "CALL_KW": arg + 1, "CALL_FUNCTION_EX": rest}
    above = counts.get(row.opname)
    stack = state.top.stack
    if above is None or len(stack) < above + 2:
        return None
    # Beside it stands a NULL or the `self` of a method: before it or behind, by Python's version.
    return first_value(state.values.get(each) for each in stack[-above - 2 : len(stack) - above])


def first_value(found: Iterable[Value | None]) -> Value | None:
    """The first of these that is known, and no NULL of Python's stack."""
    return next((each for each in found if each is not None and each.cls != "NullVariable"), None)


def way_to(recording: Recording, moment: MomentId) -> list[Site]:
    """A moment's instruction, then the calls that led to it, up to the translated frame."""
    found: list[Site] = []
    site = site_at(recording, moment)
    while site is not None:
        found.append(site)
        frame = recording.frame(recording.moment(site.moment).frame)
        # No frame is entered before its caller, and no call is later than what it calls.
        if frame.parent is None or frame.parent >= frame.id or frame.call_moment is None:
            break
        site = site_at(recording, frame.call_moment) if frame.call_moment < site.moment else None
    return found


def program_line(recording: Recording, moment: MomentId) -> UserLine | None:
    """The innermost line of the program's own on the way to a moment; None: all are a library's,
    or it is not recorded."""
    lines = (site.line for site in way_to(recording, made_at(recording, moment)))
    return next((line for line in lines if not is_installed(line.place.filename)), None)


def line_that_made(recording: Recording, moment: MomentId) -> UserLine | None:
    """The program's line that has made what is told at a moment; where all are a library's, that
    which did; None: it is not recorded."""
    line = program_line(recording, moment)
    if line is None and (site := site_at(recording, made_at(recording, moment))) is not None:
        return site.line
    return line


def own_frame(stack: Sequence[PythonFrame]) -> PythonFrame | None:
    """The innermost frame of a stack that is the program's own; None: all are a library's."""
    return next((frame for frame in reversed(stack) if not is_installed(frame.filename)), None)


METHODS = frozenset(
    {"BoundBuiltinMethod", "GetAttrVariable", "InheritedMethodVariable", "UnboundMethodVariable"}
)
"""The trackers of a method of a tensor or of one of Python's containers, with that as an item."""


def in_compiler(filename: str) -> bool:
    """Whether a file is one of the compiler's: what is compiled of it only hands on to the
    program's, or stands for one of Python's own functions."""
    return short_path(filename).startswith("torch/_dynamo/") or is_polyfill(filename)


def in_torch(filename: str) -> bool:
    """Whether a file is torch's own, as far as its path says so."""
    return short_path(filename).startswith("torch/")
