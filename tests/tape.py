"""A tape: writes a session step by step, as an engine and its recorder would, without torch."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import msgspec

from stepper.engines.dynamo.registration import ENGINE
from stepper.model.cache import Verdict
from stepper.model.failure import FailedStage, Failure
from stepper.model.lookup import Check, CheckedGuard, TriedEntry
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.shapes import ShapeStep, ShapeStepKind
from stepper.model.trace import (
    Attempt,
    Block,
    EventKind,
    Frame,
    FrameState,
    GraphBreak,
    Guard,
    Moment,
    Node,
    Outcome,
    SessionFacts,
    SideEffect,
    State,
    Translation,
)
from stepper.model.value import Value
from stepper.recording.schema import Delta, FrameKey, Keyframe, Moments
from stepper.recording.writer import Writer

FACTS = SessionFacts(
    argv=("train.py", "--steps", "3"), cwd="/home/ann/project", pid=4242, python="3.11.7",
    torch="2.13.0", capabilities=ENGINE.capabilities, stepper="0.1.0", started=1_760_000_000.0,
)  # fmt: skip


class Runs:
    """Where moments gather until the writer takes them, as they do in the extension."""

    def __init__(self, writer: Writer, batch: int = 512) -> None:
        self._writer = writer
        self._batch = batch
        self._first = 0
        self._moments = Moments([], [], [], [])
        self._before = 0
        writer.moments = self._take

    def add(
        self,
        first: int,
        frames: Sequence[int],
        ips: Sequence[int],
        deltas: Sequence[bytes | None],
        instant: int | None = None,
    ) -> None:
        """The moments from number `first` on; with their instant there is one."""
        held = len(self._moments.frames)
        if held and first != self._first + held:
            self._writer.flush()
            held = 0
        if not held:
            self._first = first
        self._moments.frames.extend(frames)
        self._moments.ips.extend(ips)
        self._moments.deltas.extend(deltas)
        if instant is not None:
            self._moments.clock.append(instant - self._before if self._moments.clock else instant)
            self._before = instant
        if len(self._moments.frames) >= self._batch:
            self._writer.flush()

    def _take(self) -> tuple[int, int, bytes] | None:
        run, self._moments = self._moments, Moments([], [], [], [])
        count = len(run.frames)
        return (self._first, count, msgspec.msgpack.encode(run)) if count else None


class _Open:
    """A frame that is being interpreted."""

    def __init__(self, record: Frame) -> None:
        self.record = record
        self.ip = 0
        self.stack: tuple[int, ...] = ()
        self.locals: dict[str, int] = {}
        self.blocks: tuple[Block, ...] = ()
        self.speculation = ""
        self.last_moment: int | None = None

    def state(self) -> FrameState:
        return FrameState(
            self.record.id, self.ip, self.stack, dict(self.locals), self.blocks, self.speculation
        )


class Tape:
    """Writes a session step by step, as an engine and its recorder would."""

    def __init__(
        self,
        path: str,
        *,
        keyframe_every: int = 200,
        remember: bool = False,
        batch: int = 512,
        facts: SessionFacts = FACTS,
    ) -> None:
        self.path = str(path)
        self.writer = Writer(self.path, facts)
        self.runs = Runs(self.writer, batch)
        self.keyframe_every = keyframe_every
        self.remember = remember
        self.states: dict[int, State] = {}
        """What each moment was, when asked to remember."""
        self.moment = 0
        self.now: int | None = None
        """Nanoseconds on the compiler's clock that the next step has; None: none."""
        self.codes: dict[int, Code] = {}
        self.frames: list[_Open] = []
        self.translation: Translation | None = None
        self.attempt: Attempt | None = None
        self._ids: dict[str, int] = {}
        self._code_ids: dict[object, int] = {}
        self._described: dict[int, tuple[int, Value]] = {}
        self._fresh: dict[int, int] = {}
        self._bodies: dict[bytes, int] = {}
        self._codes: dict[int, dict[int, tuple[str, ...]]] = {}
        self._counts: dict[str, int] = {}
        self._programs: set[int] = set()

    def _next(self, what: str) -> int:
        self._ids[what] = self._ids.get(what, 0) + 1
        return self._ids[what]

    # What there is

    def code(self, source: Callable[..., object] | Code) -> int:
        """Record a function's code, once."""
        key: object = source if isinstance(source, Code) else source.__code__
        if key not in self._code_ids:
            id = self._next("code")
            code = msgspec.structs.replace(source, id=id) if isinstance(source, Code) else (
                code_of(source, id)
            )  # fmt: skip
            self._code_ids[key] = id
            self.codes[id] = code
            self.writer.code(code)
        return self._code_ids[key]

    def begin(
        self, source: Callable[..., object] | Code, compile_id: str, **facts: object
    ) -> Translation:
        """A frame is to be compiled."""
        code = self.codes[self.code(source)]
        self.translation = Translation(
            id=self._next("translation"), compile_id=compile_id, code=code.id, name=code.qualname,
            filename=code.filename, line=code.first_line, first_moment=self.moment + 1,
            python_stack=(PythonFrame("train.py", 12, "<module>"),), thread="MainThread",
        )  # fmt: skip
        self.translation = msgspec.structs.replace(self.translation, **facts)
        self._counts = {}
        self.writer.translation(self.translation)
        self.event(EventKind.TRANSLATION, code.qualname, ref=self.translation.id)
        if self.translation.recompile_reason:
            self.event(
                EventKind.RECOMPILE, self.translation.recompile_reason, ref=self.translation.id
            )
        return self.translation

    def start_attempt(self) -> Attempt:
        """The symbolic interpreter starts (again) on the translation's frame."""
        assert self.translation is not None
        self._count("attempts")
        self.attempt = Attempt(
            self._next("attempt"), self.translation.id, self._counts["attempts"], self.moment + 1
        )
        self._described, self._fresh = {}, {}
        self.writer.attempt(self.attempt)
        self.event(EventKind.ATTEMPT, f"attempt {self.attempt.number}", ref=self.attempt.id)
        self.enter(self.translation.code)
        return self.attempt

    def enter(self, code: int, **locals: int) -> Frame:
        """A frame is entered: the translated one, or an inlined call."""
        assert self.attempt is not None
        parent = self.frames[-1].record if self.frames else None
        frame = Frame(
            self._next("frame"), self.attempt.id, parent.id if parent else None, len(self.frames),
            code, self.moment + 1, call_moment=self.moment if parent else None,
        )  # fmt: skip
        self.frames.append(_Open(frame))
        self.frames[-1].locals = dict(locals)
        # The first delta of a frame is against nothing, so what it is entered with is in it.
        self.writer.frame(
            frame.id, frame.attempt, frame.parent, frame.depth,
            code, frame.first_moment, frame.call_moment,
        )  # fmt: skip
        if parent is not None:
            self.event(EventKind.INLINE, self.codes[code].qualname, ref=frame.id)
        return frame

    def step(
        self,
        ip: int,
        *,
        stack: Sequence[int] | None = None,
        locals: Mapping[str, int] | None = None,
        blocks: Sequence[Block] | None = None,
        speculation: str | None = None,
    ) -> int:
        """A moment of the innermost frame; what is not given is as it was."""
        assert self.attempt is not None
        assert self.translation is not None
        top = self.frames[-1]
        first = top.last_moment is None
        self.moment += 1
        old_stack = () if first else top.stack
        old_locals = {} if first else top.locals
        new_stack = top.stack if stack is None else tuple(stack)
        new_locals = top.locals if locals is None else dict(locals)
        keep = 0
        while keep < min(len(old_stack), len(new_stack)) and old_stack[keep] == new_stack[keep]:
            keep += 1
        changed = {name: v for name, v in new_locals.items() if old_locals.get(name) != v}
        changed |= {name: 0 for name in old_locals if name not in new_locals}
        delta = Delta(
            keep, new_stack[keep:], changed or None, tuple(self._fresh.items()),
            None if blocks is None or tuple(blocks) == top.blocks else list(blocks),
            None if speculation in (None, top.speculation) else speculation,
        )  # fmt: skip
        quiet = (
            new_stack == old_stack
            and not changed
            and not self._fresh
            and delta.blocks is None
            and delta.speculation is None
        )
        body = None if quiet else msgspec.msgpack.encode(delta)
        self.runs.add(self.moment, [top.record.id], [ip], [body], self.now)
        self._fresh = {}
        top.ip, top.stack, top.locals = ip, new_stack, new_locals
        top.last_moment = self.moment
        if blocks is not None:
            top.blocks = tuple(blocks)
        if speculation is not None:
            top.speculation = speculation
        self._count("instructions")
        if self.moment % self.keyframe_every == 0:
            self._keyframe()
        if self.remember:
            self.states[self.moment] = State(
                Moment(self.moment, top.record.id, ip), self.attempt.id, self.translation.id,
                tuple(frame.state() for frame in self.frames),
                {id: self._described[id][1] for id in self._reachable()},
            )  # fmt: skip
        return self.moment

    def leave(self) -> None:
        """The innermost frame returns (or is given up)."""
        frame = self.frames.pop()
        self.writer.frame_end(
            frame.record.id, frame.last_moment or max(frame.record.first_moment, 1)
        )
        if self.frames:
            self.event(
                EventKind.RETURN, self.codes[frame.record.code].qualname, ref=frame.record.id
            )

    def end_attempt(self, restart_reason: str = "") -> None:
        """The attempt is over; with a reason, it is thrown away."""
        assert self.attempt is not None
        while self.frames:
            self.leave()
        self.attempt = msgspec.structs.replace(
            self.attempt, last_moment=self.moment, restart_reason=restart_reason
        )
        self.writer.attempt(self.attempt)
        if restart_reason:
            self.event(EventKind.RESTART, restart_reason, ref=self.attempt.id)

    def end(self, outcome: Outcome = Outcome.COMPILED, **facts: object) -> Translation:
        """The translation is over."""
        assert self.translation is not None
        counts = {
            name: n for name, n in self._counts.items() if name in Translation.__struct_fields__
        }
        self.translation = msgspec.structs.replace(
            self.translation, outcome=outcome, last_moment=self.moment, seconds=0.25,
            **{**counts, **facts},
        )  # fmt: skip
        self.event(EventKind.END, str(outcome), ref=self.translation.id)
        self.writer.translation(self.translation)
        self.writer.flush()
        return self.translation

    def close(self, ended: str = "exit") -> str:
        """Close the writer; returns the path."""
        self.writer.close(ended)
        return self.path

    # What happens in a step

    def describe(self, value: Value, tracker: int | None = None) -> int:
        """Describe a new tracker, or one anew; returns its number."""
        id = self._next("tracker") if tracker is None else tracker
        body = msgspec.msgpack.encode(value)
        if body not in self._bodies:
            self._bodies[body] = self._next("value")
            self.writer.value(self._bodies[body], body)
        self._described[id] = (self._bodies[body], value)
        self._fresh[id] = self._bodies[body]
        return id

    def description(self, tracker: int) -> Value:
        """What is known of a tracker now."""
        return self._described[tracker][1]

    def guard(self, kind: str, source: str, **facts: object) -> int:
        """The current step installs a guard."""
        assert self.attempt is not None
        guard = Guard(self._next("guard"), self.attempt.id, self.moment, kind, source, "local")
        guard = msgspec.structs.replace(guard, **facts)
        self.writer.guards(
            guard.id, guard.attempt, (guard.moment,), (kind,), (source,), (guard.scope,),
            (guard.user_line,),
        )  # fmt: skip
        if guard.code:
            self.guard_codes({guard.id: guard.code})
        if guard.withdrawn is not None:
            self.writer.guard_withdrawn(guard.id, guard.withdrawn)
        self.event(EventKind.GUARD, f"{kind} {source}", ref=guard.id)
        self._count("guards")
        return guard.id

    def guard_codes(self, codes: dict[int, tuple[str, ...]]) -> None:
        """These guards of the current translation check this."""
        assert self.translation is not None
        known = self._codes.setdefault(self.translation.id, {})
        known.update(codes)
        self.writer.guard_codes(self.translation.id, known)

    def node(self, name: str, op: str, target: str, **facts: object) -> int:
        """The current step makes an FX node."""
        assert self.attempt is not None
        id = self._next("node")
        node = Node(id, self.attempt.id, self.moment, "", float(id), name, op, target)
        self.writer.node(msgspec.structs.replace(node, **facts))
        self.event(EventKind.NODE, f"{name} = {op} {target}", ref=id)
        self._count("nodes")
        return id

    def side_effect(
        self, kind: str, target: int, name: str, how: str, value: int | None = None
    ) -> int:
        """The current step buffers a mutation."""
        assert self.attempt is not None
        effect = SideEffect(
            self._next("side-effect"), self.attempt.id, self.moment, kind, target, name, how, value
        )
        self.writer.side_effect(effect)
        self.event(EventKind.SIDE_EFFECT, effect.text, ref=effect.id)
        return effect.id

    def shape_step(self, kind: ShapeStepKind, **facts: Any) -> int:
        """The current step makes something known about sizes."""
        assert self.attempt is not None
        step = ShapeStep(self._next("shape"), self.attempt.id, self.moment, kind, **facts)
        self.writer.shape_step(step)
        self.event(step.event, step.text, ref=step.id)
        return step.id

    def graph_break(self, reason: str, **facts: object) -> int:
        """The current step breaks the graph."""
        assert self.attempt is not None
        found = GraphBreak(self._next("graph-break"), self.attempt.id, self.moment, reason)
        self.writer.graph_break(msgspec.structs.replace(found, **facts))
        self.event(EventKind.GRAPH_BREAK, reason.partition("\n")[0], ref=found.id)
        self._count("graph_breaks")
        return found.id

    def failure(self, stage: FailedStage, message: str, **facts: Any) -> int:
        """A compilation fails in the current step."""
        found = Failure(self._next("failure"), self.moment, stage, "Exception", message)
        self.writer.failure(msgspec.structs.replace(found, **facts))
        self.event(EventKind.EXCEPTION, message.partition("\n")[0], ref=found.id)
        return found.id

    def tried(
        self, moment: int, entry: str, code: int, guards: Sequence[CheckedGuard],
        checks: Sequence[Check],
    ) -> None:  # fmt: skip
        """A lookup has tried an entry, before which was `moment`; `code`: of its guards."""
        assert self.attempt is not None
        if code not in self._programs:
            self._programs.add(code)
            self.writer.guard_program(code, guards)
        matches = not any(check.verdict is Verdict.FAIL for check in checks)
        found = TriedEntry(moment, self.attempt.id, entry, code, matches, tuple(checks))
        self.writer.tried(found)

    def event(self, kind: EventKind, text: str, ref: int | None = None) -> None:
        """Something happens in the current step."""
        frame = self.frames[-1].record.id if self.frames else None
        self.writer.event(self.moment, kind, text, ref, frame)

    def _count(self, what: str) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1

    def _reachable(self) -> set[int]:
        waiting = [id for frame in self.frames for id in (*frame.stack, *frame.locals.values())]
        seen: set[int] = set()
        while waiting:
            id = waiting.pop()
            if id not in seen and id in self._described:
                seen.add(id)
                waiting.extend(item.value for item in self._described[id][1].items)
        return seen

    def _keyframe(self) -> None:
        frames = tuple(
            FrameKey(f.record.id, f.ip, f.stack, f.locals, list(f.blocks), f.speculation)
            for f in self.frames
            if f.last_moment is not None
        )
        values = {id: self._described[id][0] for id in self._reachable()}
        self.writer.keyframe(self.moment, msgspec.msgpack.encode(Keyframe(frames, values)))


def code_of(function: Callable[..., object], id: int) -> Code:
    """A function's code as the recording has it."""
    code: CodeType = function.__code__
    listed = list(dis.get_instructions(code))
    index_at = {instruction.offset: i for i, instruction in enumerate(listed)}
    instructions = []
    for i, each in enumerate(listed):
        where = each.positions
        jumps = each.opcode in dis.hasjrel or each.opcode in dis.hasjabs
        instructions.append(
            Instruction(
                i, each.opname, each.arg, each.argrepr, each.offset,
                *((where.lineno, where.end_lineno, where.col_offset, where.end_col_offset)
                  if where else (None, None, None, None)),
                target=index_at.get(each.argval) if jumps else None,
            )
        )  # fmt: skip
    source, first = inspect.getsourcelines(function)
    return Code(
        id, code.co_name, code.co_qualname, code.co_filename, code.co_firstlineno,
        tuple(instructions), first, tuple(line.rstrip("\n") for line in source),
    )  # fmt: skip
