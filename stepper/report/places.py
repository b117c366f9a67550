"""Places of the program, and the moments that a report speaks of."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stepper.client.frame_names import frame_name
from stepper.client.text import instruction_text, source_line
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.trace import MomentId, Phase
from stepper.recording.reader import Recording
from stepper.report import contents
from stepper.report.telling import REDACTED, Teller, Told

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
        if not self.tell.redact:
            return instruction
        if instruction.target is not None:
            return msgspec.structs.replace(instruction, argrepr=f"to {instruction.target}")
        constant = "CONST" in instruction.opname or instruction.opname in _CONSTANT_OPS
        told = REDACTED if constant else self.tell.code(instruction.argrepr)
        return msgspec.structs.replace(instruction, argrepr=told)

    def moment(self, moment: MomentId) -> MomentId:
        """A moment that the report speaks of."""
        self._moments.add(moment)
        return moment

    def _row(self, row: Instruction, code: int, phase: Phase) -> Told:
        if phase is Phase.LOOKUP and self.tell.redact:
            # A check's argument is what it wants, as a repr of the program's.
            guards = self.recording.guard_program(code)
            source = guards[row.index].source if row.index < len(guards) else ""
            return self.tell.own(f"{row.opname} {self.tell.source(source)}")
        return self.instruction(row)

    def told(self) -> Iterator[contents.Moment]:
        """The moments that were spoken of and are recorded, in order."""
        recording, tell = self.recording, self.tell
        for moment in sorted(self._moments):
            if not recording.has(moment):
                continue
            found = recording.moment(moment)
            frame = recording.frame(found.frame)
            code = recording.code(frame.code)
            row = code.instructions[found.ip]
            walk = recording.translation(recording.attempt(frame.attempt).translation)
            yield contents.Moment(
                moment=moment,
                walk=walk.id,
                where=self.where(code.filename, row.line, frame_name(recording, frame.id)),
                instruction=self._row(row, code.id, walk.phase),
                source=tell.line(source_line(code, row.line)),
            )
