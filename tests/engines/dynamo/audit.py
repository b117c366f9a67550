"""An auditor that looks at everything at every moment, and compares with what was recorded.

The recorder describes a tracker when it is new or when a probe says that it was touched. If
something changes that no probe sees, or tells too late, the recording shows the wrong description:
a lie. The auditor has no such memory. At each moment it describes everything that the frames hold
afresh and keeps that; afterwards, `lies` looks for a moment at which the recording says anything
else. Guards and nodes are compared with Dynamo's own sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec

from stepper.debuggee.mirror import FrameMirror
from stepper.debuggee.recorder import Recorder
from stepper.engines.common.node_words import example_of
from stepper.engines.common.versions import source_name
from stepper.engines.dynamo.describe import DynamoDescriber
from stepper.model.trace import Guard, Moment, Node, State
from stepper.model.value import TensorMeta, Value
from stepper.recording.reader import Recording

decode = msgspec.msgpack.Decoder(Value).decode


NodeFacts = tuple[str, str, tuple[str, ...], str]
"""Name, op, inputs, and the example value's type and sizes."""


class Held(NamedTuple):
    """A frame's trackers, by the auditor's own numbers."""

    stack: tuple[int, ...]
    locals: dict[str, int]


class Truth(NamedTuple):
    """What there was at a moment."""

    frames: tuple[Held, ...]
    values: dict[int, Value]
    guards: list[tuple[str, str]]
    graphs: list[list[NodeFacts]]
    """Of each tracer that is at work, the main graph's first."""


class Auditor(Recorder):
    """A recorder that also keeps the truth about every `every`-th moment."""

    every = 1

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.truths: dict[int, Truth] = {}
        self._calls: dict[int, tuple[list[Any], dict[str, Any]]] = {}
        self._bodies: dict[int, Value] = {}
        self._fresh = DynamoDescriber()

    def step(self, *arguments: Any) -> None:
        """Record the moment, then look at everything."""
        before = self.moment
        self.steps.step(*arguments)
        frame = self.current
        if self.moment == before or frame is None:
            return
        self._calls[frame.id] = (frame.key.stack.copy(), frame.key.symbolic_locals.copy())
        if self.moment % self.every == 0:
            self.truths[self.moment] = self._look(frame)

    def _look(self, top: FrameMirror) -> Truth:
        vars(self._fresh)["attributes"] = self.describer.attributes
        numbers: dict[int, int] = {}
        waiting: list[tuple[int, Any]] = []

        def number(tracker: Any) -> int:
            found = numbers.get(id(tracker))
            if found is None:
                found = numbers[id(tracker)] = len(numbers) + 1
                waiting.append((found, tracker))
            return found

        frames = []
        mirror: FrameMirror | None = top
        while mirror is not None:
            # A caller is shown as it was at its call.
            stack, locals = self._calls[mirror.id]
            held = {name: number(tracker) for name, tracker in locals.items()}
            frames.append(Held(tuple(number(tracker) for tracker in stack), held))
            mirror = mirror.parent
        described = {}
        for found, tracker in waiting:  # grows while children are numbered
            described[found] = self._fresh.facts.describe(tracker, number)
        if (run := self._fresh.facts.take()) is not None:
            first, _, body = run
            bodies = msgspec.msgpack.decode(body, type=list[bytes])
            self._bodies.update(enumerate(map(decode, bodies), first))
        values = {found: self._bodies[id] for found, id in described.items()}
        frames.reverse()
        return Truth(tuple(frames), values, _guards(top.key.output), _graphs(top.key.output))


def _guards(output: Any) -> list[tuple[str, str]]:
    return [
        (guard.inner_create_fn().__name__, source_name(guard.originating_source))
        for guard in output.guards.inner
    ]


def _graphs(output: Any) -> list[list[NodeFacts]]:
    return [
        [
            _facts(
                node.name,
                node.op,
                [each.name for each in node.all_input_nodes],
                *example_of(node.meta.get("example_value", node.meta.get("val"))),
            )
            for node in nodes
        ]
        for nodes in (tracer.graph.nodes for tracer in output.tracers)
    ]


def _facts(
    name: str, op: str, inputs: Iterable[str], meta: TensorMeta | None, words: str
) -> NodeFacts:
    return name, op, tuple(dict.fromkeys(inputs)), words if meta is None else meta.brief


def lies(recording: Recording, truths: dict[int, Truth]) -> Iterator[str]:
    """Where the recording does not say what there was."""
    for moment, truth in truths.items():
        state = recording.state(moment)
        differences = (
            *_differences(state, truth),
            *_compare_guards(recording.guards(moment), truth),
            *_compare_graphs(recording.nodes(moment), truth),
        )
        for difference in differences:
            yield f"{_place(recording, state.moment)}: {difference}"


def _place(recording: Recording, moment: Moment) -> str:
    code = recording.code(recording.frame(moment.frame).code)
    instruction = code.instructions[moment.ip]
    return f"moment {moment.id}, {code.qualname}:{instruction.line} {instruction.opname}"


def _differences(state: State, truth: Truth) -> Iterator[str]:
    pairs: list[tuple[str, int, int]] = []
    if len(state.frames) != len(truth.frames):
        yield f"{len(state.frames)} frames for {len(truth.frames)}"
        return
    for depth, (frame, held) in enumerate(zip(state.frames, truth.frames, strict=True)):
        if len(frame.stack) != len(held.stack):
            yield f"frame {depth}: a stack of {len(frame.stack)} for {len(held.stack)}"
        if frame.locals.keys() != held.locals.keys():
            yield f"frame {depth}: locals {sorted(frame.locals)} for {sorted(held.locals)}"
        pairs += [
            (f"frame {depth} stack[{index}]", *pair)
            for index, pair in enumerate(zip(frame.stack, held.stack, strict=False))
        ]
        pairs += [
            (f"frame {depth} {name}", shown, held.locals[name])
            for name, shown in frame.locals.items()
            if name in held.locals
        ]
    yield from _compare_values(pairs, state, truth)


def _compare_values(pairs: list[tuple[str, int, int]], state: State, truth: Truth) -> Iterator[str]:
    number_of: dict[int, int] = {}
    for path, shown, real in pairs:  # grows: children follow
        if real in number_of:
            if number_of[real] != shown:
                yield f"{path}: one tracker has two numbers, {number_of[real]} and {shown}"
            continue
        number_of[real] = shown
        expected = truth.values[real]
        actual = state.values.get(shown)
        if actual is None:
            yield f"{path}: nothing is said of {expected.cls} {expected.brief}"
            continue
        bare = (
            msgspec.structs.replace(expected, items=()),
            msgspec.structs.replace(actual, items=()),
        )
        if bare[0] != bare[1]:
            yield f"{path}: shows {bare[1]}, is {bare[0]}"
        labels = [item.label for item in expected.items]
        if [item.label for item in actual.items] != labels:
            yield f"{path}: holds {[item.label for item in actual.items]}, really {labels}"
        pairs += [
            (path + mine.label, theirs.value, mine.value)
            for mine, theirs in zip(expected.items, actual.items, strict=False)
        ]
    for shown, reals in _shared(number_of).items():
        described = {msgspec.msgpack.encode(truth.values[real]) for real in reals}
        if len(described) > 1:
            yield f"{shown} stands for different trackers"


def _compare_guards(guards: list[Guard], truth: Truth) -> Iterator[str]:
    shown = Counter((guard.kind, guard.source) for guard in guards)
    real = Counter(truth.guards)
    if missing := real - shown:
        yield f"guards are missing: {missing}"
    if wrong := shown - real:
        yield f"guards are made up: {wrong}"


def _compare_graphs(nodes: list[Node], truth: Truth) -> Iterator[str]:
    shown: dict[str, list[NodeFacts]] = {}
    for node in nodes:
        shown.setdefault(node.graph, []).append(
            _facts(node.name, node.op, node.inputs, node.meta, node.meta_text)
        )
    main, *inner = truth.graphs
    if shown.get("", []) != main:
        pairs = enumerate(zip_longest(shown.get("", []), main))
        yield next(
            f"node {i} is shown as {pair[0]}, is {pair[1]}"
            for i, pair in pairs
            if pair[0] != pair[1]
        )
    for real in inner:
        if real and real not in shown.values():
            yield f"no subgraph shown is {real}"


def _shared(number_of: dict[int, int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for real, shown in number_of.items():
        found.setdefault(shown, []).append(real)
    return {shown: reals for shown, reals in found.items() if len(reals) > 1}
