"""Synthetic recordings: believable sessions made without torch, for tests of what reads one.

`Tape` plays the part of an engine: it is told what stack and locals are at each step and writes
moments, deltas and keyframes through the real Writer; it can also remember the whole state of every
moment, as the naive model that the reader is compared with. `sample_recording` tells a story with
everything in it; `big_recording` is long.
"""

from __future__ import annotations

import dis
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import CodeType

import msgspec

from stepper.model.program import Code, Instruction, PythonFrame
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
from stepper.model.value import Item, TensorMeta, Value
from stepper.recording.output import OutputLog
from stepper.recording.schema import Delta, FrameKey, Keyframe
from stepper.recording.writer import Writer

FACTS = SessionFacts(
    argv=("train.py", "--steps", "3"), cwd="/home/ann/project", pid=4242, python="3.11.7",
    torch="2.13.0", stepper="0.1.0", started=1_760_000_000.0,
)  # fmt: skip


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
        self.writer = Writer(self.path, facts, batch=batch)
        self.keyframe_every = keyframe_every
        self.remember = remember
        self.states: dict[int, State] = {}
        """What each moment was, when asked to remember."""
        self.moment = 0
        self.codes: dict[int, Code] = {}
        self.frames: list[_Open] = []
        self.translation: Translation | None = None
        self.attempt: Attempt | None = None
        self._ids: dict[str, int] = {}
        self._code_ids: dict[object, int] = {}
        self._described: dict[int, tuple[int, Value]] = {}
        self._fresh: dict[int, int] = {}
        self._bodies: dict[bytes, int] = {}
        self._counts: dict[str, int] = {}

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
        self.writer.frame(frame)
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
        self.writer.moment(
            self.moment, top.record.id, ip, None if quiet else msgspec.msgpack.encode(delta)
        )
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
        self.writer.guard(msgspec.structs.replace(guard, **facts))
        self.event(EventKind.GUARD, f"{kind} {source}", ref=guard.id)
        self._count("guards")
        return guard.id

    def node(self, name: str, op: str, target: str, **facts: object) -> int:
        """The current step makes an FX node."""
        assert self.attempt is not None
        id = self._next("node")
        node = Node(id, self.attempt.id, self.moment, "", float(id), name, op, target)
        self.writer.node(msgspec.structs.replace(node, **facts))
        self.event(EventKind.NODE, f"{name} = {op} {target}", ref=id)
        self._count("nodes")
        return id

    def side_effect(self, kind: str, target: int, text: str, value: int | None = None) -> int:
        """The current step buffers a mutation."""
        assert self.attempt is not None
        effect = SideEffect(
            self._next("side-effect"), self.attempt.id, self.moment, kind, target, text, value
        )
        self.writer.side_effect(effect)
        self.event(EventKind.SIDE_EFFECT, text, ref=effect.id)
        return effect.id

    def graph_break(self, reason: str, **facts: object) -> int:
        """The current step breaks the graph."""
        assert self.attempt is not None
        found = GraphBreak(self._next("graph-break"), self.attempt.id, self.moment, reason)
        self.writer.graph_break(msgspec.structs.replace(found, **facts))
        self.event(EventKind.GRAPH_BREAK, reason.partition("\n")[0], ref=found.id)
        self._count("graph_breaks")
        return found.id

    def event(self, kind: EventKind, text: str, ref: int | None = None) -> int:
        """Something happens in the current step."""
        frame = self.frames[-1].record.id if self.frames else None
        return self.writer.event(self.moment, kind, text, ref, frame)

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


# The program of the story. It is never run; only its code and its source are looked at.


class Net:
    """A little module, as a user would write one."""

    def forward(self, x):  # type: ignore[no-untyped-def]
        scale = self.scale
        h = block(x, scale)
        y = h.relu()
        total = y.sum() + h.mean()
        self.calls = self.calls + 1
        return total * scale


def block(x, scale):  # type: ignore[no-untyped-def]
    """One layer."""
    y = scaled(x, scale)
    print("in block", y)
    return y + 1


def scaled(x, scale):  # type: ignore[no-untyped-def]
    """The innermost call."""
    z = x * scale
    return z  # noqa: RET504


def torch_dynamo_resume_in_forward_at_5(h, scale):  # type: ignore[no-untyped-def]
    """What the rest of `forward` becomes after a graph break."""
    y = h.relu()
    return y * scale


def compiled_forward(self, x):  # type: ignore[no-untyped-def]
    """What the transformed code of `forward` looks like."""
    graph_out_0 = __compiled_fn_1(x)  # type: ignore[name-defined]  # noqa: F821
    return __resume_at_5(graph_out_0[0], 2.0)  # type: ignore[name-defined]  # noqa: F821


class Actor:
    """Interprets code objects roughly, so that stacks, values, guards and nodes look right."""

    def __init__(self, tape: Tape, calls: Mapping[str, Callable[..., object]], size: str) -> None:
        self.tape = tape
        self.calls = calls
        """Global names that are inlined when they are called."""
        self.size = size
        self.names: dict[str, int] = {}

    def tensor(self, name: str, source: str = "") -> int:
        """A new tensor tracker with its node's name."""
        meta = TensorMeta("float32", (self.size, "3"), ("3", "1"), requires_grad=not source)
        return self.tape.describe(
            Value("TensorVariable", "torch.Tensor", meta.brief, source, tensor=meta, node=name)
        )

    def constant(self, value: object, source: str = "") -> int:
        """A constant tracker."""
        return self.tape.describe(
            Value(
                "ConstantVariable", type(value).__name__, repr(value), source, constant=repr(value)
            )
        )

    def fresh(self, word: str) -> str:
        """A node's name that is not taken: `add`, `add_1`, …"""
        n = self.names[word] = self.names.get(word, -1) + 1
        return f"{word}_{n}" if n else word

    def run(self, code: int, locals: Mapping[str, int], *, until_call: str = "") -> int:
        """Walk through a code object from its first instruction; returns what it returned.

        With `until_call` the walk ends before the instruction that calls this name, the frame open.
        """
        tape = self.tape
        stack: list[int] = []
        names = dict(locals)
        called: list[str] = []
        result = 0
        for instruction in tape.codes[code].instructions:
            tape.step(instruction.index, stack=stack, locals=names)
            opname, word = instruction.opname, instruction.argrepr
            if opname.startswith("LOAD_FAST"):
                stack.extend(names[part.strip()] for part in word.split(",") if part in names)
            elif opname.startswith("LOAD_CONST") or opname == "LOAD_SMALL_INT":
                stack.append(self.constant(instruction.arg))
            elif opname == "LOAD_GLOBAL":
                called.append(word.replace("NULL + ", "").replace(" + NULL", ""))
                source = f"G['{called[-1]}']"
                stack.append(
                    tape.describe(
                        Value("UserFunctionVariable", "function", called[-1], source, lazy=True)
                    )
                )
                tape.guard("CLOSURE_MATCH", source, user_line=self._line(code, instruction))
            elif opname in ("LOAD_ATTR", "LOAD_METHOD"):
                name = word.replace("NULL|self + ", "").replace(" + NULL|self", "")
                if opname == "LOAD_METHOD" or "NULL" in word:
                    called.append(name)
                    stack.append(tape.describe(Value("GetAttrVariable", "method", name)))
                else:
                    stack[-1:] = [self.constant(2.0, f"L['self'].{name}")]
                    tape.guard(
                        "EQUALS_MATCH", f"L['self'].{name}", code=(f"L['self'].{name} == 2.0",)
                    )
            elif opname == "STORE_ATTR":
                tape.side_effect("attribute", names["self"], "L['self'].calls = 1", stack[-1])
                del stack[-2:]
            elif opname.startswith("CALL") and called:
                name = called.pop()
                if name == until_call:
                    return 0
                stack[-1 - (instruction.arg or 0) :] = [self._call(name, stack, instruction)]
            elif opname.startswith("BINARY_OP"):
                stack[-2:] = [
                    self._compute({"+": "add", "*": "mul"}.get(word, "sub"), "call_function")
                ]
            elif opname == "STORE_FAST":
                names[word] = stack.pop()
            elif opname == "POP_TOP" and stack:
                stack.pop()
            elif opname in ("RETURN_VALUE", "RETURN_CONST"):
                result = stack.pop() if stack else 0
        return result

    def _call(self, name: str, stack: Sequence[int], instruction: Instruction) -> int:
        if name not in self.calls:
            return self._compute(name, "call_method")
        code = self.tape.code(self.calls[name])
        arguments = stack[len(stack) - (instruction.arg or 0) :]
        names = self.calls[name].__code__.co_varnames
        self.tape.enter(code)
        result = self.run(code, dict(zip(names, arguments, strict=False)))
        self.tape.leave()
        return result

    def _compute(self, word: str, op: str) -> int:
        name = self.fresh(word)
        target = f"operator.{word}" if op == "call_function" else word
        meta = TensorMeta("float32", (self.size, "3"), ("3", "1"))
        before = list(self.names)[-2:-1]
        self.tape.node(name, op, target, args=", ".join(before), inputs=tuple(before), meta=meta)
        return self.tensor(name)

    def _line(self, code: int, instruction: Instruction) -> str:
        owner = self.tape.codes[code]
        return f"{owner.filename}:{instruction.line} in {owner.name}"


def sample_recording(path: str, *, remember: bool = False) -> Tape:
    """Write a session with something of everything; returns its tape, closed.

    `0/0` is restarted after a graph break in an inlined call, `1/0` continues after it, `0/1` is
    the recompilation for another size, and a frame without compile id is skipped.
    """
    tape = Tape(str(path), remember=remember, keyframe_every=16)
    forward: Callable[..., object] = Net.forward
    first = tape.begin(forward, "0/0")
    for attempt in (1, 2):
        tape.start_attempt()
        actor = Actor(tape, {"block": block, "scaled": scaled}, "2")
        names = _arguments(actor)
        if attempt == 1:
            actor.calls = {"scaled": scaled}
            actor.run(first.code, names, until_call="block")
            inner = tape.code(block)
            tape.enter(inner)
            actor.run(inner, {"x": names["x"], "scale": actor.constant(2.0)}, until_call="print")
            tape.graph_break(
                "Attempted to call function marked as skipped\n  Explanation: print is a builtin.",
                gb_type="Attempted to call function marked as skipped",
                explanation="Dynamo does not trace the builtin `print`.",
                hints=("Move the print out of the compiled function.",),
                user_stack=(PythonFrame("train.py", 12, "<module>"),),
            )
            tape.end_attempt("graph break in block: will be compiled in parts")
        else:
            actor.run(first.code, names, until_call="block")
            erased = tape.node("dead", "call_function", "operator.neg")
            tape.writer.node_erased(erased, tape.moment)
            tape.node("output", "output", "output", args="((x,),)", inputs=("x",))
            tape.end_attempt()
    for guard in range(1, 4):
        tape.writer.guard_code(guard, (f"___check_{guard}(L['x'])",))
    transformed = tape.code(compiled_forward)
    tape.end(
        transformed_code=transformed,
        graph_code="def forward(self, x):\n    return (x,)",
        graph_breaks=1,
    )
    _stop(tape, "graph-break")
    _whole(tape, torch_dynamo_resume_in_forward_at_5, "1/0", "2", resume_of="forward")
    _whole(
        tape, forward, "0/1", "s0", cache_size=1,
        recompile_reason="tensor 'L['x']' size mismatch at index 0. expected 2, actual 5",
    )  # fmt: skip
    skipped = tape.begin(scaled, "")
    tape.event(EventKind.SKIP, "frame skipped: no tensors in it", ref=skipped.id)
    tape.end(Outcome.SKIPPED, reason="no tensors in it")
    failed = tape.begin(block, "2/0")
    tape.start_attempt()
    tape.step(0, stack=(), locals={})
    tape.event(EventKind.EXCEPTION, "InternalTorchDynamoError: boom", ref=failed.id)
    tape.end_attempt()
    tape.end(Outcome.FAILED, reason="InternalTorchDynamoError: boom")
    tape.event(EventKind.CACHE_LIMIT, "recompile_limit (8) reached for forward")
    tape.event(EventKind.NOTE, "values deeper than 4 levels were not described")
    tape.writer.flush()
    log = OutputLog(tape.path)
    log.append(10, "epoch 1\r\n")
    log.append(tape.moment, "\x1b[32mdone\x1b[0m\r\n")
    log.close()
    tape.close()
    return tape


def _arguments(actor: Actor) -> dict[str, int]:
    """The trackers and guards that a translation of `forward` begins with."""
    tape = actor.tape
    x = actor.tensor("x", "L['x']")
    items = (Item(".scale", actor.constant(2.0, "L['self'].scale")),)
    net = Value(
        "NNModuleVariable", "Net", "Net()", "L['self']", mutability="existing object", length=1
    )
    self = tape.describe(msgspec.structs.replace(net, items=items))
    tape.guard("TENSOR_MATCH", "L['x']", code=("check_tensor(L['x'])",), user_line="train.py:12")
    tape.node("x", "placeholder", "L_x_", source="L['x']", meta=tape.description(x).tensor)
    actor.names["x"] = 0
    return {"self": self, "x": x, "h": x, "scale": items[0].value}


def _whole(
    tape: Tape, function: Callable[..., object], compile_id: str, size: str, **facts: object
) -> None:
    """A translation that goes through at its first attempt."""
    translation = tape.begin(function, compile_id, **facts)
    tape.start_attempt()
    actor = Actor(tape, {"block": block, "scaled": scaled}, size)
    actor.run(translation.code, _arguments(actor))
    tape.node("output", "output", "output", args="((x,),)", inputs=("x",))
    tape.end_attempt()
    tape.end(graph_code="def forward(self, x):\n    return (x,)")


def _stop(tape: Tape, text: str) -> None:
    tape.event(EventKind.STOP, text)


def big_recording(
    path: str, steps: int = 100_000, *, call_every: int = 40, call_length: int = 30
) -> Tape:
    """Write one translation of `steps` instructions, with calls, nodes and guards in proportion."""
    tape = Tape(str(path), keyframe_every=200)
    width = 60
    outer = _straight_code("outer", width)
    inner_code = tape.code(_straight_code("inner", call_length))
    tape.begin(outer, "0/0")
    tape.start_attempt()
    source = tape.describe(Value("TensorVariable", "torch.Tensor", "f32[2, 3]", "L['x']"))
    module = tape.describe(
        Value(
            "UnspecializedNNModuleVariable", "Net", "Net()", "L['self']", length=20,
            items=tuple(Item(f".p{i}", tape.describe(_parameter(i))) for i in range(20)),
        )
    )  # fmt: skip
    depth_one = 0
    while tape.moment < steps:
        ip = math.floor(tape.moment % width)
        top = tape.frames[-1]
        stack = top.stack
        if ip % 3 == 2 and len(stack) > 1:
            n = tape.moment
            new = tape.describe(
                Value("TensorVariable", "torch.Tensor", "f32[2, 3]", node=f"add_{n}")
            )
            if n % 20 == 2:
                tape.node(f"add_{n}", "call_function", "operator.add", inputs=(f"add_{n - 20}",))
            stack = (*stack[:-2], new)
        elif len(stack) < 12:
            stack = (*stack, source if ip % 2 else module)
        names = {"self": module, "x": source, **({"y": stack[-1]} if stack else {})}
        inside = len(tape.frames) > 1
        tape.step(ip % call_length if inside else ip, stack=stack, locals=names)
        if tape.moment % 50 == 0:
            tape.guard("TENSOR_MATCH", f"L['self'].p{tape.moment}")
        if inside:
            depth_one += 1
            if depth_one % call_length == 0:
                tape.leave()
        elif tape.moment % call_every == 0:
            tape.enter(inner_code)
    tape.end_attempt()
    tape.end()
    tape.close()
    return tape


def _parameter(index: int) -> Value:
    meta = TensorMeta("float32", ("64", "64"), ("64", "1"), requires_grad=True)
    source = f"L['self'].p{index}"
    return Value("TensorVariable", "torch.nn.Parameter", meta.brief, source, tensor=meta)


def _straight_code(name: str, length: int) -> Code:
    """Code of a function without jumps: three instructions a line."""
    instructions = tuple(
        Instruction(i, ("LOAD_FAST", "LOAD_FAST", "BINARY_OP")[i % 3], 0, "x", 2 * i, 10 + i // 3)
        for i in range(length)
    )
    source = tuple(f"    x = x + {i}" for i in range(math.ceil(length / 3)))
    return Code(0, name, name, "/home/ann/project/big.py", 10, instructions, 10, source)
