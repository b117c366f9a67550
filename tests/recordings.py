"""Synthetic recordings: believable sessions made without torch, for tests of what reads one.

`Tape` (in `tests.tape`) plays the part of an engine: it is told what stack and locals are at each
step and writes moments, deltas and keyframes through the real Writer; it can also remember the
whole state of every moment, as the naive model that the reader is compared with. `sample_recording`
tells a story with everything in it; `big_recording` is long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from stepper.model.failure import FailedStage
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.shapes import ShapeStepKind, Why
from stepper.model.trace import (
    EventKind,
    Outcome,
)
from stepper.model.value import Item, TensorMeta, Value
from stepper.recording.output import OutputLog
from tests.tape import FACTS, Tape, code_of

__all__ = [
    "FACTS",
    "Tape",
    "Value",
    "big_recording",
    "block",
    "code_of",
    "sample_recording",
    "scaled",
    "straight_code",
]


# The program of the story. It is never run; only its code and its source are looked at.


class Net:
    """A little module, as a user would write one."""

    def forward(self, x):
        scale = self.scale  # type: ignore[attr-defined]  # it is never run
        h = block(x, scale)
        y = h.relu()
        total = y.sum() + h.mean()
        self.calls = self.calls + 1  # type: ignore[has-type]  # it is never run
        return total * scale


def block(x, scale):
    """One layer."""
    y = scaled(x, scale)
    print("in block", y)
    return y + 1


def scaled(x, scale):
    """The innermost call."""
    z = x * scale
    return z  # noqa: RET504  # a line to stop at


def torch_dynamo_resume_in_forward_at_5(h, scale):
    """What the rest of `forward` becomes after a graph break."""
    y = h.relu()
    return y * scale


def compiled_forward(self, x):
    """What the transformed code of `forward` looks like."""
    graph_out_0 = __compiled_fn_1(x)  # type: ignore[name-defined]  # noqa: F821  # it is there when it runs
    return __resume_at_5(graph_out_0[0], 2.0)  # type: ignore[name-defined]  # noqa: F821  # it is there when it runs


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
                tape.side_effect("attribute", names["self"], "L['self'].calls", " = 1", stack[-1])
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

    def _line(self, code: int, instruction: Instruction) -> PythonFrame:
        owner = self.tape.codes[code]
        return PythonFrame(owner.filename, instruction.line or 0, owner.name)


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
    tape.guard_codes({guard: (f"___check_{guard}(L['x'])",) for guard in range(1, 4)})
    transformed = tape.code(compiled_forward)
    tape.end(
        transformed_code=transformed,
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
    tape.failure(
        FailedStage.TRACING, "boom", exception="InternalTorchDynamoError", translation=failed.id,
        compile_id="2/0", name="block",
    )  # fmt: skip
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
    tape.guard(
        "TENSOR_MATCH",
        "L['x']",
        code=("check_tensor(L['x'])",),
        user_line=PythonFrame("train.py", 12, "main"),
    )
    tape.node("x", "placeholder", "L_x_", source="L['x']", meta=tape.description(x).tensor)
    if not actor.size.isdecimal():
        _sizes(tape, actor.size)
    actor.names["x"] = 0
    return {"self": self, "x": x, "h": x, "scale": items[0].value}


def _sizes(tape: Tape, symbol: str) -> None:
    """The size of `x` becomes a symbol, and is asked something."""
    line = (PythonFrame("train.py", 12, "main"),)
    tape.shape_step(
        ShapeStepKind.SYMBOL, symbol=symbol, source="L['x'].size()[0]", hint="5", low="2",
        high="int_oo", why=Why.AUTOMATIC, user_stack=line,
    )  # fmt: skip
    tape.shape_step(
        ShapeStepKind.GUARD, expression=f"{symbol} > 4", symbols=(symbol,), node="relu",
        target="relu", user_stack=line, node_stack=line,
        asked_by=(PythonFrame("torch/_prims.py", 7, "broadcast"),),
    )  # fmt: skip


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
    tape.end()


def _stop(tape: Tape, text: str) -> None:
    tape.event(EventKind.STOP, text)


def big_recording(
    path: str, steps: int = 100_000, *, call_every: int = 40, call_length: int = 30
) -> Tape:
    """Write one translation of `steps` instructions, with calls, nodes and guards in proportion."""
    tape = Tape(str(path), keyframe_every=200)
    width = 60
    outer = straight_code("outer", width)
    inner_code = tape.code(straight_code("inner", call_length))
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


def straight_code(name: str, length: int) -> Code:
    """Code of a function without jumps: three instructions a line."""
    instructions = tuple(
        Instruction(i, ("LOAD_FAST", "LOAD_FAST", "BINARY_OP")[i % 3], 0, "x", 2 * i, 10 + i // 3)
        for i in range(length)
    )
    source = tuple(f"    x = x + {i}" for i in range(math.ceil(length / 3)))
    return Code(0, name, name, "/home/ann/project/big.py", 10, instructions, 10, source)
