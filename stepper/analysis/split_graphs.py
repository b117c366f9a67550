"""Whether a graph break lies between graphs: where nothing is computed on one side of it, there is
no more than one graph without it, either.

What lies before a break are the parts of the function that has run so far; what lies behind it, the
resume functions that go on; and what is left to Python at either is compiled by itself. A part that
was to be compiled and was not, since it broke where no function can go on or failed, counts as one
that has a graph: it might have had one. So does a resume function that has not been called, as at a
stop at the break. A part that is being compiled has what it has computed so far.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from stepper.analysis.walks import compilations, computes
from stepper.model.resume_names import resumed
from stepper.model.trace import GraphBreak, MomentId, Outcome, Translation
from stepper.recording.reader import Recording


class SplitGraphs:
    """Answers for the breaks of a recording.

    Args:
        recording: what is asked.
        before: the break after which a compilation goes on; None: it is none that goes on.
        resume_code: the code that goes on after a break; None: none does.
        left_by: the break that left to Python what is compiled.
    """

    def __init__(
        self,
        recording: Recording,
        before: Callable[[Translation], GraphBreak | None],
        resume_code: Callable[[GraphBreak], int | None],
        left_by: Callable[[Translation], GraphBreak | None],
    ) -> None:
        self._recording = recording
        self._before = before
        self._resume_code = resume_code
        self._left_by = left_by

    def lies_between(self, found: GraphBreak, item: Translation) -> bool:
        """Whether there are graphs on more than one side of a break of a compilation: before it, in
        what it leaves to Python, and behind it."""
        return self._is_before(item) + self._count_left(found) + self._is_behind(found) > 1

    def _is_before(self, item: Translation) -> bool:
        while item.code not in self._with_graph:
            before = self._before(item) if item.resume_of else None
            if before is None:
                return False
            if self._count_left(before):
                return True
            earlier = self._recording.attempt(before.attempt).translation
            if earlier >= item.id:
                return False
            item = self._recording.translation(earlier)
        return True

    def _is_behind(self, found: GraphBreak) -> bool:
        code = self._resume_code(found)
        return self._is_to_come(found) if code is None else self._makes_graph(code)

    def _is_to_come(self, found: GraphBreak) -> bool:
        """Whether what goes on after a break, which has no code, has not been called: the compiler
        has not passed it over, either."""
        if not found.resumes or not found.user_stack:
            return found.resumes
        broken = found.user_stack[0]
        return self._passed_over.get((broken.filename, broken.line), -1) < found.moment

    def _count_left(self, found: GraphBreak) -> int:
        """How many functions that make graphs a break leaves to Python."""
        return sum(map(self._makes_graph, self._left.get(found.id, ())))

    def _makes_graph(self, code: int) -> bool:
        """Whether a function has a graph, or what goes on after its breaks or is left by them."""
        ahead, seen = [code], {code}
        while ahead:
            code = ahead.pop()
            if code in self._with_graph or code not in self._compiled:
                return True
            for each in self._breaks.get(code, ()):
                going_on = self._resume_code(each)
                if going_on is None and self._is_to_come(each):
                    return True
                after = {*self._left.get(each.id, ()), *([going_on] if going_on else ())}
                ahead += after - seen
                seen |= after
        return False

    @cached_property
    def _passed_over(self) -> dict[tuple[str, int], MomentId]:
        """The latest moment at which a resume function was called that the compiler never began
        with, by the file and line at which it goes on."""
        found = {}
        for each in self._recording.skipped_frames():
            if (rest := resumed(each.name)) is not None:
                found[each.filename, rest.line] = each.moment
        return found

    @cached_property
    def _compiled(self) -> set[int]:
        return {item.code for item in compilations(self._recording)}

    @cached_property
    def _with_graph(self) -> set[int]:
        return {item.code for item in compilations(self._recording) if self._may_have_graph(item)}

    @cached_property
    def _breaks(self) -> dict[int, list[GraphBreak]]:
        """By the code that breaks."""
        recording = self._recording
        found: dict[int, list[GraphBreak]] = {}
        for each in recording.graph_breaks():
            item = recording.translation(recording.attempt(each.attempt).translation)
            found.setdefault(item.code, []).append(each)
        return found

    @cached_property
    def _left(self) -> dict[int, set[int]]:
        """The codes that are compiled by themselves, by the break that left them to Python."""
        found: dict[int, set[int]] = {}
        for item in compilations(self._recording):
            by = None if item.resume_of else self._left_by(item)
            if by is not None:
                found.setdefault(by.id, set()).add(item.code)
        return found

    def _may_have_graph(self, item: Translation) -> bool:
        if item.outcome is Outcome.COMPILED:
            return item.nodes > 0
        if item.outcome is Outcome.RUNNING:
            attempts = self._recording.attempts(item.id)[-1:]
            return any(any(map(computes, self._recording.nodes_made(each.id))) for each in attempts)
        return item.outcome is not Outcome.SKIPPED or item.graph_breaks > 0
