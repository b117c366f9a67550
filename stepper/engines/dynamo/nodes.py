"""Watches an FX graph grow.

torch.fx tells a graph's lookup table of every node that comes and goes; we hear it there, note the
node, and describe it at the next instruction, when Dynamo has given it its meta value. A graph's
nodes have a rank, a number that sorts them into graph order, because Dynamo also inserts (lifted
inputs) before nodes that were reported long ago.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import msgspec
import torch
from torch.fx import Node

from stepper._C import NodeRecords, node_words
from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import LiveAttempt
from stepper.engines.common.node_words import called, example_of
from stepper.engines.common.tensors import symbols_in, tensor_meta
from stepper.engines.common.versions import FakeTensor, function_mode_is_on, source_name
from stepper.engines.dynamo.versions import FAKE_DEVICE
from stepper.model import trace
from stepper.model.trace import EventKind
from stepper.support.words import plain_text
from stepper.uncompiled import keep_out


class GraphWatcher(NodeRecords):
    """Knows the nodes that were reported, for the main graph and the subgraphs of higher-order
    operators."""

    known: dict[Node, trace.Node]

    def __init__(self) -> None:
        super().__init__(
            record=trace.Node,
            node=Node,
            argument=_argument,
            called=called,
            meta=example_of,
            source=_source,
            fake=FakeTensor,
            fake_device=FAKE_DEVICE,
            strided=torch.strided,
            modes=function_mode_is_on,
            tensor_meta=tensor_meta,
        )
        self.output: Any = None
        """The OutputGraph that is watched."""
        self._recorder: Recorder
        self._attempt: LiveAttempt
        self._renamed: list[Node] = []
        self._written: dict[Node, None] = {}
        self._moved: dict[Node, None] = {}
        self._with: dict[str, dict[Node, None]] = {}
        """The nodes in whose sizes a symbol is, of those that were looked through."""
        self._looked_through: set[Node] = set()
        """All of `known` but the newest."""

    def begin(self, output: Any, recorder: Recorder, attempt: LiveAttempt) -> None:
        """Watch an attempt's OutputGraph; nodes that it already has are reported at the next
        look."""
        if self.output is None:
            self._recorder, self._attempt = recorder, attempt
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
        self._renamed.clear()
        self._written.clear()
        self._moved.clear()
        self._with.clear()
        self._looked_through.clear()
        self.forget()

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

    def in_place(self, node: Node) -> None:
        """A method that works in place is about to be called on the node's example value, and may
        give it another shape. What earlier such methods have returned is the same value."""
        value = _example(node)
        waiting, written = [node], self._written
        while waiting:
            node = waiting.pop()
            if node not in written and node in self.known and _example(node) is value:
                written[node] = None
                waiting += (*node.users, *node.all_input_nodes)
        self.changed = self.changed or bool(written)

    def resized(self, symbols: Set[str]) -> None:
        """These symbols are something else from now on, so nodes whose sizes have them are, too."""
        for node in reversed(self.known):
            if node in self._looked_through:
                break
            self._look_through(node)
        found = [node for symbol in symbols for node in self._with.pop(symbol, ())]
        for node in dict.fromkeys(found):
            self._look_again(node)

    def _look_through(self, node: Node) -> None:
        """Remember which symbols are in what was told of a node."""
        self._looked_through.add(node)
        told = self.known[node]
        for symbol in symbols_in(told.meta_text, told.meta):
            self._with.setdefault(symbol, {})[node] = None

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

    def sync(self) -> None:
        """Report what is new, gone or renamed since the last look; what nobody wants to hear of
        yet waits. A step calls this itself when nothing else is to be reported of it."""
        if not self.changed:
            return
        if self.output is None:
            self.changed = False  # nobody is watched
            return
        recorder = self._recorder
        if not (recorder.everything or EventKind.NODE in recorder.controller.wanted):
            return
        # Each goes from its list when it has been told: at the program's recursion limit, or out of
        # memory, any of this can fail, and is done the next time.
        while self.removed:
            self._report_gone(self.removed[0])
            del self.removed[:1]
        moved = self._take_moved() if self._moved else ()
        while self.inserted:  # one by one from the front: a stop at a node may tell the rest
            node = next(iter(self.inserted))
            self._report_new(node)
            self.inserted.pop(node, None)
        for node, old in moved:
            self._again(node, old, rank=self.rank(node))
        for node in self._renamed:
            self._report_renamed(node)
        self._renamed.clear()
        for node in self._written:
            self._look_again(node)
        self._written.clear()
        self.changed = False

    def _report_gone(self, node: Node) -> None:
        """A known node was taken out of its graph; maybe it came back."""
        old = self.known.get(node)
        if old is None:
            return
        if node in self.inserted and self._is_as_it_was(node, old):
            del self.inserted[node]
        else:
            self._recorder.node_erased(old.id)
            del self.known[node]
            self._looked_through.discard(node)

    def _is_as_it_was(self, node: Node, old: trace.Node) -> bool:
        """torch.fx takes a node out and puts it back to set any attribute of it; printing a graph
        does so with all nodes."""
        before, after = self.known.get(node.prev), self.known.get(node.next)
        return (
            (node.op, self.target(node)) == (old.op, old.target)
            and (before is None or before.rank < old.rank)
            and (after is None or old.rank < after.rank)
        )

    def _report_new(self, node: Node) -> None:
        if node not in self.known and self.is_ours(node.graph):
            recorder, attempt = self._recorder, self._attempt
            new = self.record(node, next(recorder.node_ids), attempt.id, recorder.steps.moment)
            self.known[node] = new
            recorder.node(attempt, new, known=False)

    def _report_renamed(self, node: Node) -> None:
        """A node may have another name by now; its name is among its users' arguments, too."""
        old = self.known.get(node)
        if old is None or old.name == node.name:
            return
        for each in (node, *node.users):
            if (old := self.known.get(each)) is not None:
                args = self.arguments(each)
                if (each.name, args) != (old.name, old.args):
                    inputs = tuple(item.name for item in each.all_input_nodes)
                    self._again(each, old, name=each.name, args=args, inputs=inputs)

    def _take_moved(self) -> list[tuple[Node, trace.Node]]:
        """Beside a node that was moved away, a place means nothing: all of them go first."""
        moved = [
            (node, old) for node in self._moved if (old := self.known.pop(node, None)) is not None
        ]
        self._looked_through.difference_update(self._moved)
        self._moved.clear()
        return moved

    def _look_again(self, node: Node) -> None:
        """Report a node whose example value is another by now."""
        old = self.known.get(node)
        if old is not None:
            meta, text = example_of(_example(node))
            if (meta, text) != (old.meta, old.meta_text):
                self._again(node, old, meta=meta, meta_text=text)

    def _again(self, node: Node, old: trace.Node, **changes: Any) -> None:
        """Report a node that is another from now on."""
        recorder = self._recorder
        recorder.node_erased(old.id)
        new = msgspec.structs.replace(
            old, id=next(recorder.node_ids), renamed=recorder.moment, **changes
        )
        self.known[node] = new
        if node in self._looked_through:
            self._look_through(node)
        recorder.node(self._attempt, new, known=True)


def _example(node: Node) -> object:
    return node.meta.get("example_value", node.meta.get("val"))


def _argument(argument: Any) -> str:
    """The words for an argument that is neither a node nor plain, nor a tuple or list."""
    if isinstance(argument, dict):
        items = [f"{plain_text(key)}: {_words(item)}" for key, item in argument.items()]
        return f"{{{', '.join(items)}}}"
    if type(argument) is slice:
        return f"slice({_words(argument.start, argument.stop, argument.step)})"
    return plain_text(argument)


def _words(*arguments: Any) -> str:
    return node_words(arguments, {}, Node, _argument)


def _source(node: Node) -> str:
    """Where a placeholder comes from."""
    argument = node.meta.get("grapharg")
    if argument is None:
        return ""
    source = vars(argument).get("source") or vars(argument).get("_source")
    return source_name(source) if source is not None else ""


keep_out()
