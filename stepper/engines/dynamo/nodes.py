"""Watches an FX graph grow.

torch.fx tells a graph's lookup table of every node that comes and goes; we hear it there, note the
node, and describe it at the next instruction, when Dynamo has given it its meta value. A graph's
nodes have a rank, a number that sorts them into graph order, because Dynamo also inserts (lifted
inputs) before nodes that were reported long ago.
"""

from __future__ import annotations

import operator
import types
from typing import Any

import msgspec
from torch.fx import Node

from stepper._C import NodeMarks, node_words
from stepper.debuggee.mirror import LiveAttempt
from stepper.debuggee.recorder import Recorder
from stepper.engines.common.tensors import fake_tensor_meta, symbol_text
from stepper.engines.common.words import callable_name, plain_text
from stepper.engines.dynamo.versions import source_name
from stepper.model import trace
from stepper.model.trace import EventKind
from stepper.model.value import TensorMeta

_name_of = operator.attrgetter("name")
_STEP = 1024.0
"""Between the ranks of two nodes that came one after the other."""
_GAP = 2.0**30
"""Between the inputs and the rest: each input that is lifted later goes behind the last one."""
MAX_ARGUMENTS = 400
"""Characters of a node's arguments as text."""


class GraphWatcher(NodeMarks):
    """Knows the nodes that were reported, for the main graph and the subgraphs of higher-order
    operators."""

    known: dict[Node, trace.Node]

    def __init__(self) -> None:
        super().__init__()
        self.output: Any = None
        """The OutputGraph that is watched."""
        self._renamed: list[Node] = []
        self._moved: dict[Node, None] = {}
        self._targets: dict[int, tuple[object, str]] = {}
        """What was called, by id, in words: most of it is called again and again."""

    def begin(self, output: Any) -> None:
        """Watch an OutputGraph; nodes that it already has are reported at the next look."""
        if self.output is None:
            self.output = output
            self.catch_up()

    def catch_up(self) -> None:
        """Take up the nodes that came while nobody told us."""
        if self.output is not None:
            for tracer in self.output.tracers:
                self.inserted.update(dict.fromkeys(tracer.graph.nodes))
            self.changed = True

    def reset(self) -> None:
        """Forget the graphs: another attempt begins, or this one's graph is handed to the
        backend."""
        self.output = None
        self.graphs.clear()
        self.known.clear()
        self.inserted.clear()
        self.removed.clear()
        self._renamed.clear()
        self._moved.clear()
        self._targets.clear()
        self.changed = False

    def moved(self, node: Node) -> bool:
        """The node gets another place in its graph, or its first. True: there is something to
        report."""
        if node not in self.known:
            return False
        self._moved[node] = None
        self.changed = True
        return True

    def renamed(self, node: Node) -> None:
        """The node is about to get another name."""
        if node in self.known:
            self._renamed.append(node)
            self.changed = True

    def is_ours(self, graph: Any) -> bool:
        """Whether a graph of torch.fx is one of those that are being made."""
        if self.output is None:
            return False
        if id(graph) in self.graphs:
            return True
        for depth, tracer in enumerate(self.output.tracers):
            if tracer.graph is graph:
                # The graph is held: its id must not come to mean another one.
                self.graphs[id(graph)] = (
                    graph,
                    "" if depth == 0 else f"subgraph {len(self.graphs)}",
                )
                return True
        return False

    def sync(self, recorder: Recorder, attempt: LiveAttempt) -> None:
        """Report what is new, gone or renamed since the last look; what nobody wants to hear of
        yet waits."""
        if not self.changed:
            return
        if not recorder.everything and EventKind.NODE not in recorder.judge.wanted:
            return
        # Each goes from its list when it has been told: at the program's recursion limit, or out of
        # memory, any of this can fail, and is done the next time.
        while self.removed:
            node = self.removed[0]
            if node in self.inserted and self._is_unchanged(node):
                del self.inserted[node]
            elif (record := self.known.pop(node, None)) is not None:
                recorder.node_erased(record.id)
            del self.removed[0]
        # Beside a node that was moved away, a place means nothing: all of them go first.
        moved = [
            (node, old) for node in self._moved if (old := self.known.pop(node, None)) is not None
        ]
        self._moved.clear()
        while self.inserted:
            node = next(iter(self.inserted))
            if node not in self.known and self.is_ours(node.graph):
                self._tell(node, recorder, attempt)
            self.inserted.pop(node, None)  # a stop at it may have told the rest
        for node, old in moved:
            self._move(node, old, recorder, attempt)
        for node in self._renamed:
            self._rename(node, recorder, attempt)
        self._renamed.clear()
        self.changed = False

    def _tell(self, node: Node, recorder: Recorder, attempt: LiveAttempt) -> None:
        """Report a new node. In the midst of the compiler each call of Python is a cold one: here
        are few."""
        meta, meta_text = _meta(node.meta.get("example_value", node.meta.get("val")))
        self.known[node] = record = trace.Node(
            id=next(recorder.node_ids),
            attempt=attempt.id,
            moment=recorder.steps.moment,
            graph=self.graphs[id(node.graph)][1],
            rank=self._rank(node),
            name=node.name,
            op=node.op,
            target=self._target(node.target),
            args=_arguments(node),
            inputs=tuple(map(_name_of, node._input_nodes)),
            meta=meta,
            meta_text=meta_text,
            source=_source(node) if node.op == "placeholder" else "",
        )
        recorder.node(attempt, record, known=False)

    def _target(self, target: object) -> str:
        """What a node calls, in words."""
        if type(target) is str:
            return target
        held = self._targets.get(id(target))
        if held is None:  # the target is held: its id must not come to mean another one
            held = self._targets[id(target)] = (target, _called(target))
        return held[1]

    def _move(self, node: Node, old: trace.Node, recorder: Recorder, attempt: LiveAttempt) -> None:
        """Report a node at its new place from now on."""
        recorder.node_erased(old.id)
        new = msgspec.structs.replace(
            old, id=next(recorder.node_ids), rank=self._rank(node), renamed=recorder.moment
        )
        self.known[node] = new
        recorder.node(attempt, new, known=True)

    def _is_unchanged(self, node: Node) -> bool:
        """Whether a node that went and came back is what it was, where it was.

        torch.fx takes a node out and puts it back to set any attribute of it; printing a graph does
        so with all nodes."""
        record, before, after = self.known.get(node), node._prev, node._next
        return (
            record is not None
            and (record.op, record.target) == (node.op, self._target(node.target))
            and (before not in self.known or self.known[before].rank < record.rank)
            and (after not in self.known or record.rank < self.known[after].rank)
        )

    def _rank(self, node: Node) -> float:
        """A number between those of the nearest reported neighbours."""
        before, after = node._prev, node._next
        while before.op != "root" and before not in self.known:
            before = before._prev
        while after.op != "root" and after not in self.known:
            after = after._next
        low = self.known[before].rank if before.op != "root" else None
        high = self.known[after].rank if after.op != "root" else None
        if low is None:
            return 0.0 if high is None else high - _STEP
        if high is None:
            return low + (
                _STEP if (before.op == "placeholder") == (node.op == "placeholder") else _GAP
            )
        # Not halfway: a float can be halved no more often than a model has parameters.
        return low + 1.0 if low + 1.0 < high else (low + high) / 2

    def _rename(self, node: Node, recorder: Recorder, attempt: LiveAttempt) -> None:
        """Report a node, and those that read it, under the new name from now on."""
        for changed in (node, *node.users):
            old = self.known.get(changed)
            if old is None:
                continue
            name, args = changed.name, _arguments(changed)
            if (name, args) == (old.name, old.args):
                continue
            recorder.node_erased(old.id)
            new = msgspec.structs.replace(
                old,
                id=next(recorder.node_ids),
                name=name,
                args=args,
                inputs=tuple(map(_name_of, changed._input_nodes)),
                renamed=recorder.moment,
            )
            self.known[changed] = new
            recorder.node(attempt, new, known=True)


def _called(target: object) -> str:
    if name := callable_name(target):
        return name.removeprefix("_") if name.startswith("_operator.") else name
    # OpOverload and its packet are torch's own classes: their str is their name.
    if type(target).__module__ == "torch._ops":
        return str(target)
    return plain_text(target)


def _arguments(node: Node) -> str:
    text = node_words(node._args, node._kwargs, Node, _argument)
    return text if len(text) <= MAX_ARGUMENTS else text[: MAX_ARGUMENTS - 1] + "…"


def _argument(argument: Any) -> str:
    """One that is neither a node nor plain, nor a tuple or list."""
    if isinstance(argument, dict):
        items = [f"{plain_text(key)}: {_words(item)}" for key, item in argument.items()]
        return f"{{{', '.join(items)}}}"
    if type(argument) is slice:
        return f"slice({_words(argument.start, argument.stop, argument.step)})"
    return plain_text(argument)


def _words(*arguments: Any) -> str:
    return node_words(arguments, {}, Node, _argument)


def _meta(value: object) -> tuple[TensorMeta | None, str]:
    meta = fake_tensor_meta(value)
    if meta is not None:
        return meta, ""
    if type(value) in (tuple, list):
        inner = [_meta(item) for item in value]  # type: ignore[attr-defined]
        text = ", ".join(part.brief if part is not None else words for part, words in inner[:8])
        return None, f"({text}{', …' if len(inner) > 8 else ''})"
    if type(value).__name__ in ("SymInt", "SymFloat", "SymBool"):
        return None, symbol_text(value)
    return None, "" if value is None else f"<{type(value).__name__}>" if not _plain(
        value
    ) else plain_text(value)


def _plain(value: object) -> bool:
    return type(value) in (int, float, bool, str, types.NoneType)


def _source(node: Node) -> str:
    """Where a placeholder comes from."""
    argument = node.meta.get("grapharg")
    if argument is None:
        return ""
    source = vars(argument).get("source") or vars(argument).get("_source")
    return source_name(source) if source is not None else ""
