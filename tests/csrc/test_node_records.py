"""The records of the nodes of FX graphs: of such as torch.fx makes, and of worse ones."""

from __future__ import annotations

import gc
import itertools
import sys
from typing import Any

import pytest

from stepper import _C
from stepper.model import trace
from tests.csrc.records import plain
from tests.csrc.test_recording_parts import new_steps

Record = plain(trace.Node)


class Graph:
    """As much of a torch.fx.Graph as is looked at: a ring of nodes with a root."""

    def __init__(self) -> None:
        self.root = Node(self, "", "root", "", ())
        self.root._prev = self.root._next = self.root

    def add(self, name: str, op: str = "call_function", *arguments: Any, **rest: Any) -> Node:
        before = rest.pop("before", self.root)
        node = Node(self, name, op, rest.pop("target", name), arguments)
        node.meta.update(rest)
        node._prev, node._next = before._prev, before
        before._prev._next = before._prev = node
        return node


class Node:
    def __init__(
        self, graph: Any, name: str, op: str, target: object, arguments: tuple[Any, ...]
    ) -> None:
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self._args = arguments
        self._kwargs: dict[str, Any] = {}
        self._input_nodes = {each: None for each in arguments if isinstance(each, Node)}
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev: Node
        self._next: Node
        for each in self._input_nodes:
            each.users[self] = None


class Fake:
    """As much of a FakeTensor as is looked at."""

    def __init__(self, shape: Any, *, stride: Any = (), layout: object = "strided") -> None:
        self.shape, self.strides, self.layout = shape, stride, layout
        self.dtype, self.requires_grad, self.device = "float32", False, "the property"
        self.hidden = "the field"

    def stride(self) -> Any:
        return self.strides


class Records(_C.NodeRecords):
    def __init__(self, **others: Any) -> None:
        self.asked: list[object] = []
        self.numbers = itertools.count(1)
        given: dict[str, Any] = {
            "record": Record,
            "node": Node,
            "argument": repr,
            "called": self._called,
            "meta": lambda value: (None, f"<{type(value).__name__}>"),
            "source": lambda node: f"L[{node.name!r}]",
            "fake": Fake,
            "fake_device": "hidden",
            "strided": "strided",
            "modes": lambda: False,
            "tensor_meta": lambda *properties: properties,
        }
        super().__init__(**(given | others))

    def _called(self, target: object) -> str:
        self.asked.append(target)
        return f"called {target}"

    def tell(self, *nodes: Any) -> list[Any]:
        """Record nodes, at moment 7 of attempt 5."""
        told: list[Any] = []
        for node in nodes:
            self.graphs[id(node.graph)] = (node.graph, "inner")
            # Not `append`: where that has no memory, a debug build of Python 3.14 ends.
            told += [self.record(node, next(self.numbers), 5, 7)]
            self.known[node] = told[-1]
        return told


def test_a_node_is_recorded_with_all_that_it_says() -> None:
    records, graph = Records(), Graph()
    x = graph.add("x", "placeholder", val=3)
    y = graph.add("y", "call_function", x, (x, 2), target=len, example_value=Fake((2, 3)))
    y._kwargs = {"dim": 1}
    assert records.tell(x, y) == [
        Record(
            1, 5, 7, "inner", 0.0, "x", "placeholder", "x", meta_text="<int>", source="L['x']",
        ),
        Record(
            2, 5, 7, "inner", 2.0**30, "y", "call_function", f"called {len}", "x, (x, 2), dim=1",
            ("x",), ("float32", (2, 3), (), "the field", False, "strided", ""),
        ),
    ]  # fmt: skip
    records.tell(graph.add("z", target=len))
    assert records.asked == [len]


def test_arguments_are_cut_when_they_are_long() -> None:
    records, graph = Records(), Graph()
    [short] = records.tell(graph.add("a", "op", *[1] * 133, 2))
    [long] = records.tell(graph.add("b", "op", *[1] * 133, 22))
    assert short.args == "1, " * 133 + "2"
    assert long.args == "1, " * 133 + "…"


def test_only_plain_fake_tensors_are_read_at_once() -> None:
    class Derived(Fake):
        pass

    for value, text in (
        (Fake((2,)), ""),
        (Fake((True,)), "<Fake>"),
        (Fake(["2"]), "<Fake>"),
        (Fake((2,), stride=("s0",)), "<Fake>"),
        (Fake((2,), stride=None), "<Fake>"),
        (Fake((2,), stride=None, layout="sparse"), ""),
        (Derived((2,)), "<Derived>"),
        (None, ""),
    ):
        records = Records()
        [record] = records.tell(Graph().add("x", example_value=value, val=Fake((9,))))
        assert record.meta_text == text
        assert (record.meta is None) == (text != "" or value is None)
    asked: list[object] = []
    records = Records(modes=lambda: True, tensor_meta=asked.append)
    [record] = records.tell(Graph().add("x", example_value=Fake((2,))))
    assert (record.meta_text, asked) == ("<Fake>", [])


def test_the_device_is_where_the_tensor_claims_to_be() -> None:
    def device(value: Fake) -> object:
        [record] = Records().tell(Graph().add("x", example_value=value))
        return record.meta[3]

    value = Fake((2,))
    assert device(value) == "the field"
    del value.hidden
    assert device(value) == "the property"


def test_equal_properties_are_put_in_words_once() -> None:
    asked: list[object] = []
    records, graph = Records(tensor_meta=lambda *p: asked.append(p)), Graph()
    for name in "abc":
        records.tell(graph.add(name, example_value=Fake((2, 3))))
    assert len(asked) == 1
    records.forget()
    records.tell(graph.add("d", example_value=Fake((2, 3))))
    assert len(asked) == 2


def test_ranks_sort_nodes_into_graph_order() -> None:
    records, graph = Records(), Graph()
    nodes = [graph.add("x", "placeholder"), graph.add("a"), graph.add("b")]
    records.tell(*nodes)
    for number in range(60):
        before = nodes[(7 * number) % len(nodes)]
        node = graph.add(f"n{number}", before=before)
        nodes.insert(nodes.index(before), node)
        [record] = records.tell(node)
        assert records.known[node] is record
    ranks = [records.known[node].rank for node in nodes]
    assert ranks == sorted(set(ranks))
    fresh = graph.add("fresh")
    assert records.rank(fresh) == ranks[-1] + 1024.0
    lonely = Graph().add("lonely")
    assert records.rank(lonely) == 0.0
    lonely._prev = lonely._next = lonely  # a ring without a root
    assert records.rank(lonely) == 0.0


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("_args", None), ("_kwargs", ()), ("_input_nodes", 5), ("_input_nodes", [5]),
        ("_prev", None), ("meta", None), ("_args", (object(),)),
    ],
)  # fmt: skip
def test_what_is_no_node_of_torch_is_an_error(attribute: str, value: object) -> None:
    node = Graph().add("x")
    setattr(node, attribute, value)
    with pytest.raises((TypeError, AttributeError, ZeroDivisionError)):
        Records(argument=lambda argument: 1 / 0).tell(node)


def test_answers_that_make_no_sense_are_errors() -> None:
    for given in (
        {"meta": lambda value: 5},
        {"meta": lambda value: (1,)},
        {"meta": lambda value: 1 / 0},
        {"record": lambda *fields: 1 / 0},
        {"source": lambda node: 1 / 0},
        {"fake": int, "modes": lambda: 1 / 0},
        {"fake": int},
    ):
        with pytest.raises((TypeError, ZeroDivisionError, AttributeError)):
            Records(**given).tell(Graph().add("x", "placeholder", example_value=5))
    records, node = Records(), Graph().add("x")
    with pytest.raises(KeyError):
        records.record(node, 1, 5, 7)
    records.graphs[id(node.graph)] = "no pair"
    with pytest.raises(KeyError):
        records.record(node, 1, 5, 7)
    records.known[node] = "no record"
    with pytest.raises(AttributeError):
        records.rank(Graph.add(node.graph, "y"))
    with pytest.raises(TypeError):
        records.record(node)  # type: ignore[call-arg]  # refused


def test_whoever_is_asked_may_have_all_forgotten() -> None:
    def emptied(node: Any) -> str:
        records.forget()
        return "source"

    records = Records(source=emptied)
    records.tell(Graph().add("y", "placeholder"), Graph().add("z", "placeholder"))
    assert len(records.known) == 1


def test_they_are_made_once_and_not_used_before() -> None:
    records = Records()
    with pytest.raises(TypeError):
        records.__init__()  # type: ignore[misc]  # refused
    bare = _C.NodeRecords.__new__(Records)
    for call in (
        lambda: bare.record(Graph().root, 1, 5, 7),
        lambda: bare.target(Graph().root),
        lambda: bare.arguments(Graph().root),
        lambda: bare.rank(Graph().root),
    ):
        with pytest.raises(RuntimeError):
            call()
    bare.forget()


def test_nothing_is_held_once_it_is_forgotten() -> None:
    records, graph = Records(), Graph()
    x = graph.add("x", "placeholder")
    y = graph.add("y", "op", x, target=len, example_value=Fake((2,)))
    counts = [sys.getrefcount(each) for each in (x, y, graph)]
    for _ in range(5):
        records.tell(x, y)
        assert records.arguments(y) == "x"
        records.removed.append(y)
        records.forget()
    gc.collect()
    assert [sys.getrefcount(each) for each in (x, y, graph)] == counts


def test_a_step_reports_nodes_by_itself() -> None:
    class Watched(_C.NodeMarks):
        synced = 0

        def sync(self) -> None:
            self.synced += 1
            self.changed = False

    asked: list[object] = []
    steps, marks = new_steps(lambda: asked.append(1)), Watched()
    steps.graph = marks
    marks.changed = steps.nodes_changed = True
    steps.top = mirror = _C.Mirror(1, "key", lambda key: 1 / 0, None, None, None)
    steps.note_position("key")
    assert (marks.synced, asked) == (1, [])
    assert not steps.nodes_changed
    assert mirror is steps.top
