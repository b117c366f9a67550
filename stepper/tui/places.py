"""Where something came from, in a few words: the instruction and the line of a moment."""

from __future__ import annotations

from functools import lru_cache

from stepper.client.frame_names import frame_name
from stepper.client.names import brief_function
from stepper.client.text import instruction_text
from stepper.model.trace import MomentId
from stepper.recording.reader import Recording


class Places:
    """Names the moments of a recording, and remembers: lists draw the same rows again and again."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known = lru_cache(maxsize=4096)(self._find)

    def instruction(self, moment: MomentId, attempt: int | None = None) -> str:
        """The instruction of a moment, e.g. `CALL print`; empty when there is none.

        Args:
            moment: the moment.
            attempt: the attempt that it should be of. What an attempt does before its first
                instruction carries the number of the moment before, which is another's.
        """
        return self._known(moment, attempt)[0]

    def line(self, moment: MomentId, attempt: int | None = None) -> str:
        """Function and line of a moment, e.g. `Net.forward:12`; empty when there is none."""
        return self._known(moment, attempt)[1]

    def _find(self, moment: MomentId, attempt: int | None) -> tuple[str, str]:
        # What happens before the first instruction carries a number that may never be given.
        if not 1 <= moment <= self._recording.newest:
            return "", ""
        place = self._recording.moment(moment)
        frame = self._recording.frame(place.frame)
        if attempt is not None and frame.attempt != attempt:
            return "(before the first instruction)", ""
        code = self._recording.code(frame.code)
        here = code.instructions[place.ip]
        line = f":{here.line}" if here.line is not None else ""
        return instruction_text(
            here
        ), f"{brief_function(frame_name(self._recording, frame.id))}{line}"
