"""How long Dynamo takes to make bytecode when tracing is over, and in it its side effects.

Only the beginnings of its functions are heard: each part lasts until the next one begins, until the
graph is made ready for the backend, or until the attempt is over. Which part is under way stands
for one thread, since Dynamo works under a lock; what the backend has it translate in the meantime
comes where no part is.
"""

from __future__ import annotations

from collections.abc import Callable

from stepper.debuggee.engine import Recorder
from stepper.engines.dynamo.effects_made import EffectsMade
from stepper.model.timing import ASSEMBLE, CODEGEN, SIDE_EFFECTS
from stepper.uncompiled import keep_out


class BytecodeMade:
    """Hears what begins; see `versions.points`."""

    def __init__(self, translation: Callable[[], int | None], effects: EffectsMade) -> None:
        """`translation` gives the number of the innermost that is under way; `effects` hears of
        each side effect."""
        self._translation = translation
        self._effects = effects
        self._recorder: Recorder
        self._part = ""
        """The phase that is under way; empty: none is."""
        self._closing = False
        """Whether tracing is about to be over."""
        self._graphs: list[int | None] = []
        """The translations whose graph is with the backend."""

    def begin(self, recorder: Recorder) -> None:
        """Report to a recorder from now on."""
        self._recorder = recorder

    def on_bytecode_begins(self) -> None:
        self._closing = True

    def tracing_ended(self) -> None:
        """No more instructions are interpreted in this attempt."""
        if self._closing:
            self.on_instructions_made()

    def on_instructions_made(self) -> None:
        self._closing = False
        self._go_on_with(CODEGEN)

    on_cells_made = on_instructions_made

    def on_side_effects_made(self) -> None:
        self._go_on_with(SIDE_EFFECTS)
        self._effects.entered()

    def on_new_objects_made(self) -> None:
        self._go_on_with(SIDE_EFFECTS)

    def on_graph_compiled(self) -> None:
        """See `versions`: the graph is about to be made ready."""
        self._go_on_with("")
        self._graphs.append(self._translation())

    def backend_ended(self) -> None:
        """The backend has what it was called for, or has failed."""
        if self._graphs and self._graphs[-1] == self._translation():
            self._graphs.pop()
            self._go_on_with(CODEGEN)

    def on_instructions_added(self) -> None:
        if self._part:
            self._go_on_with(CODEGEN)

    def on_code_assembled(self) -> None:
        """See `versions`: of resume functions, too."""
        if self._part:
            self._go_on_with(ASSEMBLE)

    def attempt_ended(self) -> None:
        """All of it is made, or given up."""
        self._closing = False
        self._go_on_with("")
        translation = self._translation()
        self._graphs = [each for each in self._graphs if each != translation]

    def _go_on_with(self, part: str) -> None:
        self._effects.left()
        if part != self._part:
            if self._part:
                self._recorder.phase_ended(self._part, self._translation())
            self._part = part
            if part:
                self._recorder.phase_began(part)


keep_out()
