"""Places of the program, and the moments that a report speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from stepper.analysis.walks import source_in
from stepper.client.text import instruction_text, source_line
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.trace import MomentId, Phase
from stepper.recording.reader import Recording
from stepper.report import contents
from stepper.report.telling import NOTHING, REDACTED, Teller, Told

_WRITTEN = re.compile(r"(?P<file>.*?):(?P<line>\d+)(?: in (?P<function>[^:]*))?(?:: (?P<text>.*))?")
_CONSTANT_OPS = ("KW_NAMES", "LOAD_SMALL_INT")


class Places:
    """Tells places, and remembers the moments that were told of.

    Args:
        recording: what the report is about.
        tell: lets its texts into the report.
    """

    def __init__(self, recording: Recording, tell: Teller) -> None:
        self.recording = recording
        self.tell = tell
        self._moments: set[MomentId] = set()

    def where(self, file: str, line: int | None, function: str = "") -> contents.Where:
        """A place."""
        return contents.Where(self.tell.path(file), line, self.tell.name(function))

    def frame(self, frame: PythonFrame) -> contents.Where:
        """The place of a frame."""
        return self.where(frame.filename, frame.line, frame.function)

    def written(self, place: str) -> contents.Where:
        """A place that is written `file:line in function`."""
        return self.with_text(place)[0]

    def with_text(self, place: str) -> tuple[contents.Where, Told]:
        """A place that is written `file:line in function: text`, and the line's text."""
        match = _WRITTEN.fullmatch(place)
        if match is None:
            return contents.Where(self.tell.words(place)), NOTHING
        where = self.where(match["file"], int(match["line"]), match["function"] or "")
        return where, self.tell.line(match["text"] or "")

    def instruction(self, instruction: Instruction) -> Told:
        """An instruction with its argument."""
        return self.tell.own(instruction_text(self.without_constant(instruction)))

    def code(self, code: Code) -> Code:
        """Code whose instructions show no more than may be told."""
        if not self.tell.redact:
            return code
        rows = tuple(map(self.without_constant, code.instructions))
        return msgspec.structs.replace(code, instructions=rows)

    def without_constant(self, instruction: Instruction) -> Instruction:
        """An instruction whose argument shows no constant, where none may be told."""
        if not self.tell.redact or instruction.target is not None:
            return instruction
        constant = "CONST" in instruction.opname or instruction.opname in _CONSTANT_OPS
        told = REDACTED if constant else self.tell.code(instruction.argrepr)
        return msgspec.structs.replace(instruction, argrepr=told)

    def moment(self, moment: MomentId) -> MomentId:
        """A moment that the report speaks of."""
        self._moments.add(moment)
        return moment

    def _row(self, row: Instruction, phase: Phase) -> Told:
        if phase is Phase.LOOKUP and self.tell.redact:
            # A check's argument is what it wants, as a repr of the program's.
            return self.tell.own(f"{row.opname} {self.tell.source(source_in(row.argrepr))}")
        return self.instruction(row)

    def told(self) -> Iterator[contents.Moment]:
        """The moments that were spoken of and are recorded, in order."""
        recording, tell = self.recording, self.tell
        for moment in sorted(self._moments):
            if not recording.oldest <= moment <= recording.newest:
                continue
            found = recording.moment(moment)
            frame = recording.frame(found.frame)
            code = recording.code(frame.code)
            row = code.instructions[found.ip]
            walk = recording.translation(recording.attempt(frame.attempt).translation)
            yield contents.Moment(
                moment=moment,
                walk=walk.id,
                where=self.where(code.filename, row.line, code.label),
                instruction=self._row(row, walk.phase),
                source=tell.line(source_line(code, row.line)),
            )
