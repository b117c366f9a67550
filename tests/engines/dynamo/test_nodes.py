"""What becomes of the nodes of a graph that Dynamo makes: new, gone, moved and renamed ones."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from stepper.engines.dynamo.nodes import GraphWatcher
from stepper.model import trace


class Told:
    """As much of a recorder as a watcher of graphs calls."""

    everything, stepping, moment = True, None, 7
    controller = SimpleNamespace(wanted=())
    steps = SimpleNamespace(moment=7)

    def __init__(self) -> None:
        self.node_ids = itertools.count(1)
        self.written: list[trace.Node] = []
        self.new: list[str] = []
        self.erased: list[int] = []
        self.on_node: Callable[[], object] = lambda: None

    def node(self, attempt: object, node: trace.Node, *, known: bool) -> None:
        self.written.append(node)
        if not known:
            self.new.append(node.name)
            self.on_node()

    def node_erased(self, id: int) -> None:
        self.erased.append(id)


class Watched:
    """A graph of `a`, `b(a)` and `c` that was reported."""

    def __init__(self) -> None:
        self.graph, self.told, self.watcher = Graph(), Told(), GraphWatcher()
        self.a = self.add("a")
        self.b = self.add("b", self.a)
        self.c = self.add("c")
        recorder: Any = self.told
        attempt: Any = SimpleNamespace(id=5)
        output = SimpleNamespace(tracers=[SimpleNamespace(graph=self.graph)])
        self.watcher.begin(output, recorder, attempt)
        self.watcher.sync()

    def add(self, name: str, *inputs: Node) -> Node:
        return self.graph.create_node("call_function", operator.neg, inputs, name=name)

    def sync(self, *new: Node) -> None:
        self.watcher.inserted.update(dict.fromkeys(new))
        self.watcher.changed = True
        self.watcher.sync()


def test_nodes_are_reported_in_order() -> None:
    watched = Watched()
    assert watched.told.new == ["a", "b", "c"]
    assert list(watched.watcher.known.values()) == watched.told.written
    assert not watched.watcher.inserted
    assert [(each.id, each.attempt, each.moment) for each in watched.told.written] == [
        (1, 5, 7), (2, 5, 7), (3, 5, 7),
    ]  # fmt: skip
    watched.sync(Graph().placeholder("of another graph"))
    assert len(watched.told.written) == 3


def test_a_node_that_went_is_erased_unless_it_came_back_as_it_was() -> None:
    watched = Watched()
    a, b, c = watched.a, watched.b, watched.c
    watched.watcher.removed.extend([a, b, c, a])
    b.target = operator.pos
    watched.sync(a, b)
    assert watched.told.erased == [2, 3, 1]  # `a` went twice, and came back once
    assert watched.told.new == ["a", "b", "c", "b"]
    assert not watched.watcher.removed
    assert list(watched.watcher.known) == [b]


def test_a_node_that_came_back_elsewhere_is_another_record() -> None:
    watched = Watched()
    watched.c.append(watched.a)
    watched.watcher.removed.append(watched.a)
    watched.sync(watched.a)
    assert watched.told.erased == [1]
    b, c, a = watched.watcher.known.values()
    assert b.rank < c.rank < a.rank


def test_a_renamed_node_is_another_record_and_so_are_its_users() -> None:
    watched = Watched()
    first = list(watched.told.written)
    watched.watcher.renamed(watched.a)
    watched.sync()
    assert watched.told.written == first
    watched.watcher.renamed(watched.a)
    watched.a.name = "x"
    watched.sync()
    assert watched.told.erased == [1, 2]
    x, b = watched.told.written[3:]
    assert (x.id, x.name, x.renamed, x.rank) == (4, "x", 7, first[0].rank)
    assert (b.id, b.args, b.inputs, b.name) == (5, "x", ("x",), "b")
    watched.watcher.renamed(watched.add("never told"))
    watched.sync()
    assert len(watched.told.written) == 5


def test_whose_sizes_a_symbol_is_in_is_known_however_nodes_came() -> None:
    watched = Watched()
    size = ShapeEnv().create_unbacked_symint()
    sized = watched.add("sized")
    sized.meta["example_value"] = size
    watched.watcher.moved(watched.b)
    watched.watcher.renamed(watched.a)
    watched.a.name = "x"
    watched.sync(sized)
    before = len(watched.told.written)
    sized.meta["example_value"] = 3
    watched.watcher.resized({str(size.node.expr)})
    assert [(each.name, each.meta_text) for each in watched.told.written[before:]] == [
        ("sized", "3")
    ]


def test_a_stop_at_a_node_may_tell_the_rest() -> None:
    watched = Watched()

    def stopped() -> None:
        watched.told.on_node = lambda: None
        watched.watcher.sync()

    watched.told.on_node = stopped
    watched.sync(watched.add("d"), watched.add("e"), watched.add("f"))
    assert watched.told.new[3:] == ["d", "e", "f"]
    watched.told.on_node = watched.watcher.reset
    watched.sync(watched.add("g"))
    assert not watched.watcher.known


def test_what_fails_is_told_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched()
    d, e = watched.add("d"), watched.add("e")
    watched.watcher.removed.append(watched.c)

    def fails(*arguments: object) -> Any:
        raise RecursionError

    with monkeypatch.context() as patched:
        patched.setattr(watched.told, "node_erased", fails)
        with pytest.raises(RecursionError):
            watched.sync(d, e)
    with monkeypatch.context() as patched:
        patched.setattr(watched.watcher, "is_ours", fails)
        with pytest.raises(RecursionError):
            watched.watcher.sync()
    assert watched.told.new == ["a", "b", "c"]
    watched.watcher.sync()
    assert watched.told.new == ["a", "b", "c", "d", "e"]
    assert watched.told.erased == [3]
