"""Where graphs break: the line that is blamed, the way there, and what goes on after it.

A break is seen in the innermost of the functions that are inlined into one another. Which line is
told, which line of the program leads there, which function goes on behind it, and which one is
compiled by itself because its call was left to Python: all of that follows from where the
instruction is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter

from stepper.analysis.sites import in_compiler, own_frame
from stepper.analysis.walks import compilations
from stepper.analysis.written_inside import written_inside
from stepper.client.text import function_name, source_line
from stepper.model.break_words import kinds_of
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.resume_names import resumed
from stepper.model.trace import Frame, GraphBreak, MomentId, Outcome, Translation
from stepper.recording.reader import Recording
from stepper.support import break_kinds
from stepper.support.pythons_own import is_installed

_WRITTEN = "Encountered input mutation during higher order op tracing"


def is_split(found: GraphBreak, item: Translation) -> bool:
    """Whether a frame is compiled in parts because of a break: of one that was to be, the whole
    frame may be given up later, or its compilation fail."""
    return found.resumes and item.outcome not in (Outcome.SKIPPED, Outcome.FAILED)


def break_before(recording: Recording, item: Translation) -> GraphBreak | None:
    """The break after which a resume function goes on; None: it is none, or that is not known."""
    return recording.derived(Places).break_before(item) if item.resume_of else None


def left_to_python(recording: Recording, item: Translation) -> GraphBreak | None:
    """The break because of which a function is compiled by itself: it goes on after that, or its
    call is left to Python. None: none is known."""
    places = recording.derived(Places)
    return places.break_before(item) if item.resume_of else places.left_by(item)


def resumptions(recording: Recording, item: Translation) -> list[Translation]:
    """The compilations of what is left of a function behind its graph breaks."""
    whole = (item.resume_of or item.name).rpartition(".")[2]
    return [
        each
        for each in recording.derived(Places).resuming
        if each.filename == item.filename and each.resume_of.rpartition(".")[2] == whole
    ]


_Site = tuple[int, int]


_Splits = list[tuple[int, GraphBreak]]


class Places:
    """Where the breaks of a recording are."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.resuming = [item for item in compilations(recording) if item.resume_of]

    @cached_property
    def _resume_codes(self) -> dict[_Site, int]:
        """The resume function that goes on after each instruction that breaks.

        It is known of which function it is, and from Dynamo's name for it also the line, which can
        break more than once. It is called when the frame that broke has run so far, so it belongs
        to the latest break there that has none.
        """
        recording = self._recording
        found: dict[_Site, int] = {}
        codes: set[int] = set()
        breaks: dict[str, list[tuple[int, GraphBreak]]] = {}
        for each in recording.graph_breaks():
            if each.resumes and each.user_stack:
                owner = recording.attempt(each.attempt).translation
                broken = recording.translation(owner)
                name = (broken.resume_of or broken.name).rpartition(".")[2]
                breaks.setdefault(name, []).append((owner, each))
        for item in self.resuming:
            rest = resumed(item.name)
            if item.code in codes:
                continue
            for owner, each in reversed(breaks.get(item.resume_of.rpartition(".")[2], [])):
                if owner >= item.id or (rest and rest.line != each.user_stack[0].line):
                    continue
                site = self.site(each)
                if site is not None and site not in found:
                    found[site] = item.code
                    codes.add(item.code)
                    break
        return found

    @cached_property
    def _breaks_before(self) -> dict[int, list[GraphBreak]]:
        """The breaks after which each resume function goes on, in order, by its code."""
        found: dict[int, list[GraphBreak]] = {}
        for each in self._recording.graph_breaks():
            code = self.resume_code(each)
            if code is not None:
                found.setdefault(code, []).append(each)
        return found

    def break_before(self, item: Translation) -> GraphBreak | None:
        """The newest break before a compilation of a resume function that it goes on after."""
        recording = self._recording
        found = (
            each
            for each in reversed(self._breaks_before.get(item.code, []))
            if recording.attempt(each.attempt).translation < item.id
        )
        return next(found, None)

    def resume_code(self, found: GraphBreak) -> int | None:
        """The code of the function that goes on after a break; None: none is known."""
        site = self.site(found) if found.resumes else None
        return None if site is None else self._resume_codes.get(site)

    def site(self, found: GraphBreak) -> tuple[int, int] | None:
        """The code of the frame that breaks, and the index of its own instruction."""
        recording = self._recording
        if not recording.has(found.moment):
            return None
        *_, (frame, ip) = self.way_to(found)
        return frame.code, ip

    def way_to(self, found: GraphBreak) -> Iterator[tuple[Frame, int]]:
        """The frame of the instruction that breaks, then those that called it; of each the index
        of its own instruction."""
        recording = self._recording
        moment = recording.moment(found.moment)
        frame = recording.frame(moment.frame)
        yield frame, moment.ip
        # No frame is entered before its caller.
        while (
            frame.parent is not None and frame.call_moment is not None and frame.parent < frame.id
        ):
            moment = recording.moment(frame.call_moment)
            frame = recording.frame(frame.parent)
            yield frame, moment.ip

    def codes_to(self, found: GraphBreak) -> Iterator[tuple[Code, int]]:
        """`way_to`, with the codes of the frames."""
        for frame, ip in self.way_to(found):
            yield self._recording.code(frame.code), ip

    def leads_there(self, found: GraphBreak) -> str | None:
        """The text of the innermost line on the way that is the program's, as far as it is
        recorded; None: none is on the way."""
        for frame, ip in self.way_to(found):
            code = self._recording.code(frame.code)
            if not is_installed(code.filename):
                return source_line(code, code.instructions[ip].line).strip()
        return None

    def place_of(self, found: GraphBreak) -> PythonFrame | None:
        """Where the instruction is; of an exception, which is a break in each function that it
        leaves, where it was raised: the innermost frame of the stack."""
        row = self.shown(found)
        if row is not None and not (kinds_of(found)[0] == break_kinds.RAISED and found.user_stack):
            return row[1]
        if not found.user_stack:
            return None
        place = found.user_stack[-1]
        return (is_installed(place.filename) and self._raised_through(found, place)) or place

    def _raised_through(self, found: GraphBreak, place: PythonFrame) -> PythonFrame | None:
        """Where the program raised what a library has only let through, as a `with` around a call
        does: Dynamo's stack then ends in the library's function."""
        recording = self._recording
        codes = {frame.id: recording.code(frame.code) for frame in recording.frames(found.attempt)}
        *_, frame = recording.frames(found.attempt)
        through, code = codes.get(frame.parent or 0), codes[frame.id]
        end = frame.last_moment
        if through is None or end is None or is_installed(code.filename):
            return None
        last = self.row_at(end)
        if through.filename != place.filename or last.opname.startswith("RETURN"):
            return None
        return PythonFrame(code.filename, last.line or code.first_line, code.name)

    def at_its_place(self, found: GraphBreak) -> bool:
        """Whether the instruction is at the line that is blamed."""
        row, place = self.shown(found), self.place_of(found)
        return row is not None and place is not None and _line(row[1]) == _line(place)

    def blamed(self, found: GraphBreak) -> MomentId:
        """The moment of the instruction to blame: where Dynamo breaks, or what a function writes
        into that is an operator's."""
        if kinds_of(found)[0] != _WRITTEN:
            return found.moment
        return written_inside(self._recording, found.reason, found.attempt) or found.moment

    def row_at(self, moment: MomentId) -> Instruction:
        """The instruction of a moment."""
        at = self._recording.moment(moment)
        return self._recording.code(self._recording.frame(at.frame).code).instructions[at.ip]

    def instruction(self, found: GraphBreak) -> tuple[Instruction, PythonFrame, str] | None:
        """The instruction that is to blame, with its line and the text of that."""
        recording = self._recording
        if not recording.has(found.moment):
            return None
        moment = recording.moment(self.blamed(found))
        code = recording.code(recording.frame(moment.frame).code)
        row = code.instructions[moment.ip]
        place = PythonFrame(code.filename, row.line or code.first_line, code.label)
        return row, place, source_line(code, row.line)

    def shown(self, found: GraphBreak) -> tuple[Instruction, PythonFrame, str] | None:
        """The instruction with the line that is told: where Dynamo has a function of its own for
        what Python has in C, that which calls it."""
        row = self.instruction(found)
        if row is None or not in_compiler(row[1].filename):
            return row
        for code, ip in self.codes_to(found):
            if not in_compiler(code.filename):
                line = code.instructions[ip].line
                place = PythonFrame(code.filename, line or code.first_line, code.label)
                return row[0], place, source_line(code, line)
        return row

    def source_of(self, found: GraphBreak) -> str:
        """The text of the line that is blamed."""
        if (place := self.place_of(found)) is None:
            return ""
        frames = self._recording.frames(found.attempt)
        codes = (self._recording.code(frame.code) for frame in frames)
        lines = (source_line(code, place.line) for code in codes if code.filename == place.filename)
        return next(filter(None, lines), "")

    def going_on(self, site: tuple[int, int]) -> Translation | None:
        """The first translation of what goes on after a break at a site; None: there is none."""
        code = self._resume_codes.get(site)
        return next((each for each in self.resuming if each.code == code), None)

    def asked_at(self, found: GraphBreak) -> tuple[str, int] | None:
        """The program's own line that leads to one of a library's: what to change is there. Of what
        is compiled by itself, that of the break which left it to Python. None: none is known, or
        the line that breaks is the program's."""
        place = self.place_of(found)
        if place is None or not is_installed(place.filename):
            return None
        if (own := own_frame(found.user_stack)) is not None:
            return own.filename, own.line
        attempt = self._recording.attempt(found.attempt)
        left_by = self.left_by(self._recording.translation(attempt.translation))
        return None if left_by is None else self.asked_at(left_by)

    def left_by(self, item: Translation) -> GraphBreak | None:
        """The earlier break that leaves a call to Python, by which a compilation came to be."""
        if item.resume_of:  # it goes on after a break, which is told with that one
            if (before := self.break_before(item)) is None:
                return None
            attempt = self._recording.attempt(before.attempt)
            return self.left_by(self._recording.translation(attempt.translation))
        for place in reversed(item.python_stack):
            keys = (place.filename, place.line), (place.filename, function_name(place.function))
            for known in filter(None, map(self._leaving.get, keys)):
                if at := bisect_left(known, item.id, key=itemgetter(0)):
                    return known[at - 1][1]
        return self._left_in_midst(item)

    def _left_in_midst(self, item: Translation) -> GraphBreak | None:
        """The break where the outermost frame that it splits is none of the program's, as one of
        Dynamo's own around a module: a call on the way to it, in the same call of the program."""
        stack = item.python_stack
        for place in reversed(stack):
            for begun, known in self._on_the_way.get((place.filename, place.line), {}).items():
                at = bisect_left(known, item.id, key=itemgetter(0))
                if at and len(begun) < len(stack) and stack[: len(begun)] == begun:
                    return known[at - 1][1]
        return None

    @cached_property
    def _on_the_way(self) -> dict[tuple[str, int], dict[tuple[PythonFrame, ...], _Splits]]:
        """Breaks that split a frame of Dynamo's own, with the id of the compilation, by each line
        that calls on the way to them, and by the calls that led to the frame."""
        found: dict[tuple[str, int], dict[tuple[PythonFrame, ...], _Splits]] = {}
        for each in self._recording.graph_breaks():
            owner = self._recording.translation(self._recording.attempt(each.attempt).translation)
            if in_compiler(owner.filename) and is_split(each, owner):
                for place in each.user_stack[1:]:
                    by_calls = found.setdefault((place.filename, place.line), {})
                    by_calls.setdefault(owner.python_stack, []).append((owner.id, each))
        return found

    @cached_property
    def _leaving(self) -> dict[tuple[str, object], list[tuple[int, GraphBreak]]]:
        """The breaks that are no error, with the id of the compilation, by what runs in Python
        because of them: the line that is split, or the function that is given up."""
        recording = self._recording
        found: dict[tuple[str, object], list[tuple[int, GraphBreak]]] = {}
        for each in recording.graph_breaks():
            owner = recording.translation(recording.attempt(each.attempt).translation)
            if is_split(each, owner) and each.user_stack:
                key: tuple[str, object] = (each.user_stack[0].filename, each.user_stack[0].line)
            elif owner.outcome is Outcome.SKIPPED and not each.resumes:
                key = (owner.filename, function_name(owner.name))
            else:
                continue
            found.setdefault(key, []).append((owner.id, each))
        for known in found.values():
            known.sort(key=itemgetter(0))
        return found


def _line(place: PythonFrame) -> tuple[str, int]:
    return place.filename, place.line
