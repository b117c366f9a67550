"""Movements and searches within what is recorded: pure functions from a moment to a moment.

What a motion means is `stepper.model.stepping.Goal`, the same as for the live program. One motion
is mirrored rather than reversed: `line` backwards goes to the *beginning* of a line's run of
instructions, so that it undoes `line` forwards, where its plain reversal would end at the last
instruction of the line before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from stepper.model.breakpoint import SHAPE_KINDS, Breakpoint, BreakpointKind
from stepper.model.matching import (
    entry_index,
    entry_matches,
    function_matches,
    guard_matches,
    instruction_matches,
    node_matches,
    path_matches,
    shape_matches,
)
from stepper.model.method_names import Entered
from stepper.model.program import Code
from stepper.model.stepping import Goal, Motion, Place
from stepper.model.trace import Attempt, EventKind
from stepper.recording.occurrences import event_fits, event_has_name
from stepper.recording.reader import Recording

Hit = tuple[int, Breakpoint]


def move(
    recording: Recording,
    start: int,
    motion: Motion,
    direction: int,
    *,
    line: int | None = None,
    count: int = 1,
) -> int | None:
    """Where a motion from `start` ends, `count` times; None when it runs off what is recorded.

    CONTINUE has no end of its own: see `find_break`.

    Raises:
        RecordingError: there is no moment `start` (0 stands before the first).
    """
    position: int | None = start
    for _ in range(count):
        if position is None:
            break
        position = _move_once(recording, position, motion, direction, line)
    return position


def _move_once(
    recording: Recording, start: int, motion: Motion, direction: int, line: int | None
) -> int | None:
    if motion is Motion.CONTINUE:
        return None
    if motion is Motion.STEP or start == 0:
        return next((moment.id for moment in recording.walk(start, direction)), None)
    origin = recording.place(start)
    if motion is Motion.LINE and direction < 0:
        return _line_back(recording, start, origin)
    goal = Goal(motion, origin, line)
    frame = recording.frame(origin.frame)
    if motion is Motion.FINISH:
        moments = recording.walk(start, direction, out_of=frame)
    else:
        moments = recording.walk(start, direction, over_calls_of=frame)
    for moment in moments:
        if goal.reached(recording.place_of(moment)):
            return moment.id
    return None


def _line_back(recording: Recording, start: int, origin: Place) -> int | None:
    """The beginning of the run of one line's instructions that ends before `start`, in this frame.

    From a frame's first instruction, the place outside from which it was entered.
    """
    line: int | None = None
    found: int | None = None
    for moment in recording.walk(start, -1, over_calls_of=recording.frame(origin.frame)):
        place = recording.place_of(moment)
        if place.frame != origin.frame:
            if place.attempt == origin.attempt and place.depth > origin.depth:
                continue
            return moment.id if found is None else found
        if place.line is None:
            continue
        if line is not None and place.line != line:
            break
        line, found = place.line, moment.id
    return found


def find_break(
    recording: Recording, start: int, breakpoints: Sequence[Breakpoint], direction: int
) -> Hit | None:
    """The nearest recorded moment beyond `start` at which a breakpoint stops, and which one does.

    A condition needs the live program and is taken as true; ignore counts are not counted.
    """
    active = [each for each in breakpoints if each.enabled]
    hits = list(_occurrences(recording, start, active, direction))
    nearest = min((hit[0] * direction for hit in hits), default=None)
    on_instruction = [each for each in active if each.kind.on_instruction]
    if on_instruction:
        hit = _instruction_break(recording, start, on_instruction, direction, nearest)
        if hit is not None:
            hits.append(hit)
    if not hits:
        return None
    return min(hits, key=lambda hit: (hit[0] * direction, active.index(hit[1])))


def by_percentage(recording: Recording, percent: float) -> int:
    """The moment at a percentage: 0 is the first, 100 the newest. When it is empty, 0."""
    share = min(max(percent, 0.0), 100.0) / 100.0
    return recording.oldest + round((recording.newest - recording.oldest) * share)


def search_instructions(recording: Recording, text: str, start: int, direction: int) -> int | None:
    """The nearest moment beyond `start` with `text` in its instruction's name or argument."""
    wanted = text.casefold()

    def indices(code: Code) -> set[int]:
        return {
            each.index
            for each in code.instructions
            if wanted in each.opname.casefold() or wanted in each.argrepr.casefold()
        }

    for id, _ in _at_instructions(recording, start, direction, indices):
        return id
    return None


def _at_instructions(
    recording: Recording, start: int, direction: int, indices: Callable[[Code], set[int]]
) -> Iterator[tuple[int, tuple[Code, int]]]:
    """The moments beyond `start` whose instruction `indices` picks from its code object."""
    picked = {code.id: (code, found) for code in recording.codes() if (found := indices(code))}
    if not picked:
        return
    for moment in recording.walk(start, direction, codes=picked):
        code, wanted = picked[recording.frame(moment.frame).code]
        if moment.ip in wanted:
            yield moment.id, (code, moment.ip)


def _instruction_break(
    recording: Recording,
    start: int,
    breakpoints: Sequence[Breakpoint],
    direction: int,
    nearest: int | None,
) -> Hit | None:
    on_function = any(each.kind is BreakpointKind.FUNCTION for each in breakpoints)

    def indices(code: Code) -> set[int]:
        possible = [each for each in breakpoints if _can_be_in(each, code)]
        entry = {entry_index(code)} if on_function else set()
        return entry | {
            i
            for i in (range(len(code.instructions)) if possible else ())
            if any(instruction_matches(each, code, i) for each in possible)
        }

    for id, (code, ip) in _at_instructions(recording, start, direction, indices):
        if nearest is not None and id * direction > nearest:
            return None
        entered = _entered(recording, id) if on_function and ip == entry_index(code) else None
        for each in breakpoints:
            if instruction_matches(each, code, ip) or entry_matches(each, code, ip, entered):
                return id, each
    return None


def _entered(recording: Recording, moment: int) -> Entered | None:
    """The module whose method begins at a moment."""
    frame = recording.frame(recording.moment(moment).frame)
    recording.owners.learn(frame.attempt)
    return recording.owners.entered(frame.id)


def _can_be_in(breakpoint: Breakpoint, code: Code) -> bool:
    """A cheap first look, so that most code objects are not gone through."""
    match breakpoint.kind:
        case BreakpointKind.LINE:
            return path_matches(breakpoint.pattern, code.filename)
        case BreakpointKind.FUNCTION | BreakpointKind.OFFSET:
            return function_matches(breakpoint.pattern, code)
        case _:
            return True


def _occurrences(
    recording: Recording, start: int, breakpoints: Iterable[Breakpoint], direction: int
) -> Iterator[Hit]:
    """For each breakpoint on something that happens, its nearest hit."""
    for each in breakpoints:
        moment: int | None = None
        if (found := finding_moments(recording, each)) is not None:
            moment = _nearest(recording, start, direction, found)
        elif (each.pattern or each.source) and event_has_name(each.kind):
            moment = _event_moment(recording, start, each, direction)
        elif not each.kind.on_instruction:
            event = recording.next_event(start, (EventKind(str(each.kind)),), direction)
            moment = None if event is None else max(event.moment, recording.oldest)
        if moment is not None and (moment - start) * direction > 0:
            yield moment, each


def _event_moment(
    recording: Recording, start: int, breakpoint: Breakpoint, direction: int
) -> int | None:
    """The nearest event that is about what the breakpoint's pattern says."""
    kinds = (EventKind(str(breakpoint.kind)),)
    events = (
        recording.events(kinds=kinds, after=start)
        if direction > 0
        else recording.events(kinds=kinds, before=start)[::-1]
    )
    found = (event.moment for event in events if event_fits(recording, breakpoint, event))
    moment = next(found, None)
    return None if moment is None else max(moment, recording.oldest)


def finding_moments(
    recording: Recording, breakpoint: Breakpoint
) -> Callable[[Attempt], Iterable[int]] | None:
    """When an attempt found what a breakpoint stops at: guards, nodes, what became known of sizes;
    None: it is of another kind."""
    if breakpoint.kind is BreakpointKind.GUARD:
        return _guard_moments(recording, breakpoint)
    if breakpoint.kind is BreakpointKind.NODE:
        return _node_moments(recording, breakpoint)
    return _shape_moments(recording, breakpoint) if breakpoint.kind in SHAPE_KINDS else None


def _guard_moments(
    recording: Recording, breakpoint: Breakpoint
) -> Callable[[Attempt], Iterable[int]]:
    return lambda attempt: (
        guard.moment
        for guard in recording.guards_installed(attempt.id)
        if guard_matches(breakpoint, guard.kind, guard.source)
    )


def _node_moments(
    recording: Recording, breakpoint: Breakpoint
) -> Callable[[Attempt], Iterable[int]]:
    return lambda attempt: (
        node.moment
        for node in recording.nodes_made(attempt.id)
        if node_matches(breakpoint, node.target, node.name)
    )


def _shape_moments(
    recording: Recording, breakpoint: Breakpoint
) -> Callable[[Attempt], Iterable[int]]:
    return lambda attempt: (
        step.moment
        for step in recording.shape_steps(None, attempt=attempt.id)
        if str(step.event) == str(breakpoint.kind)
        and shape_matches(breakpoint.pattern, step.symbol or step.expression, step.source)
    )


def _nearest(
    recording: Recording,
    start: int,
    direction: int,
    moments_of: Callable[[Attempt], Iterable[int]],
) -> int | None:
    """The nearest of the moments that attempts yield, beyond `start`.

    What an attempt finds before its first instruction is seen at its first moment.
    """
    best: int | None = None
    for attempt in recording.attempts()[::direction]:
        first = attempt.first_moment
        last = recording.newest if attempt.last_moment is None else attempt.last_moment
        if (last if direction > 0 else first) * direction <= start * direction:
            continue
        if best is not None and (first > best if direction > 0 else last < best):
            continue  # one that lies inside of another ends before it
        seen = (max(moment, first) for moment in moments_of(attempt))
        beyond = [m for m in seen if (m - start) * direction > 0 and m <= recording.newest]
        candidates = beyond if best is None else [*beyond, best]
        best = min(candidates, key=lambda moment: moment * direction, default=None)
    return best
