"""The records of the nodes of FX graphs: of such as torch.fx makes, and of worse ones."""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from stepper import _C
from stepper.model import trace
from tests.csrc.records import plain, replace
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


class Recorder:
    def __init__(self) -> None:
        self.steps = new_steps()
        self.node_ids = itertools.count(1)
        self.written: list[Any] = []
        self.erased: list[tuple[int, int]] = []
        self.events: list[tuple[str, str, int]] = []
        self.aloud: list[str] = []
        self.on_node: Callable[[], object] = lambda: None

    def write_node(self, node: Any) -> None:
        self.written.append(node)

    def write_node_erased(self, number: int, moment: int) -> None:
        self.erased.append((number, moment))

    def event_at(self, steps: object, kind: str, text: str, number: int) -> None:
        assert steps is self.steps
        self.events.append((kind, text, number))

    def node(self, attempt: object, node: Any, *, known: bool) -> None:
        assert not known
        self.aloud.append(node.name)
        self.on_node()


class Rows(_C.NodeRows):
    def __init__(self, **others: Any) -> None:
        self.asked: list[object] = []
        given: dict[str, Any] = {
            "record": Record,
            "replace": replace,
            "kind": "node",
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

    def is_ours(self, graph: Any, /) -> bool:
        self.graphs[id(graph)] = (graph, "inner")
        return True

    def insert(self, *nodes: Any) -> None:
        self.inserted.update(dict.fromkeys(nodes))


ATTEMPT: Any = SimpleNamespace(id=5, translation=SimpleNamespace(counts={"nodes": 0}))


def tell(rows: Rows, recorder: Recorder, *nodes: Node) -> list[Any]:
    rows.insert(*nodes)
    before = len(recorder.written)
    rows.record_inserted(recorder, ATTEMPT, False)
    return recorder.written[before:]


def test_a_node_is_recorded_with_all_that_it_says() -> None:
    rows, recorder, graph = Rows(), Recorder(), Graph()
    recorder.steps.moment = 7
    ATTEMPT.translation.counts["nodes"] = 3
    x = graph.add("x", "placeholder", val=3)
    y = graph.add("y", "call_function", x, (x, 2), target=len, example_value=Fake((2, 3)))
    y._kwargs = {"dim": 1}
    assert tell(rows, recorder, x, y) == [
        Record(
            1, 5, 7, "inner", 0.0, "x", "placeholder", "x", meta_text="<int>", source="L['x']",
        ),
        Record(
            2, 5, 7, "inner", 2.0**30, "y", "call_function", f"called {len}", "x, (x, 2), dim=1",
            ("x",), ("float32", (2, 3), (), "the field", False, "strided", ""),
        ),
    ]  # fmt: skip
    assert list(rows.known.values()) == recorder.written
    assert recorder.events == [
        ("node", "x = placeholder x", 1),
        ("node", f"y = call_function called {len}", 2),
    ]
    assert ATTEMPT.translation.counts["nodes"] == 5
    assert not rows.inserted
    tell(rows, recorder, graph.add("z", target=len))
    assert rows.asked == [len]


def test_arguments_are_cut_when_they_are_long() -> None:
    rows, recorder, graph = Rows(), Recorder(), Graph()
    [short] = tell(rows, recorder, graph.add("a", "op", *[1] * 133, 2))
    [long] = tell(rows, recorder, graph.add("b", "op", *[1] * 133, 22))
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
        rows, recorder = Rows(), Recorder()
        [record] = tell(rows, recorder, Graph().add("x", example_value=value, val=Fake((9,))))
        assert record.meta_text == text
        assert (record.meta is None) == (text != "" or value is None)
    asked: list[object] = []
    rows = Rows(modes=lambda: True, tensor_meta=asked.append)
    [record] = tell(rows, Recorder(), Graph().add("x", example_value=Fake((2,))))
    assert (record.meta_text, asked) == ("<Fake>", [])


def test_the_device_is_where_the_tensor_claims_to_be() -> None:
    def device(value: Fake) -> object:
        [record] = tell(Rows(), Recorder(), Graph().add("x", example_value=value))
        return record.meta[3]

    value = Fake((2,))
    assert device(value) == "the field"
    del value.hidden
    assert device(value) == "the property"


def test_equal_properties_are_put_in_words_once() -> None:
    asked: list[object] = []
    rows, recorder, graph = Rows(tensor_meta=lambda *p: asked.append(p)), Recorder(), Graph()
    for name in "abc":
        tell(rows, recorder, graph.add(name, example_value=Fake((2, 3))))
    assert len(asked) == 1
    rows.forget()
    tell(rows, recorder, graph.add("d", example_value=Fake((2, 3))))
    assert len(asked) == 2


def test_ranks_sort_nodes_into_graph_order() -> None:
    rows, recorder, graph = Rows(), Recorder(), Graph()
    nodes = [graph.add("x", "placeholder"), graph.add("a"), graph.add("b")]
    tell(rows, recorder, *nodes)
    for number in range(60):
        before = nodes[(7 * number) % len(nodes)]
        node = graph.add(f"n{number}", before=before)
        nodes.insert(nodes.index(before), node)
        [record] = tell(rows, recorder, node)
        assert rows.known[node] is record
    ranks = [rows.known[node].rank for node in nodes]
    assert ranks == sorted(set(ranks))
    fresh = graph.add("fresh")
    assert rows.rank(fresh) == ranks[-1] + 1024.0
    lonely = Graph().add("lonely")
    assert rows.rank(lonely) == 0.0
    lonely._prev = lonely._next = lonely  # a ring without a root
    assert rows.rank(lonely) == 0.0


def test_a_node_that_went_is_erased_unless_it_came_back_as_it_was() -> None:
    rows, recorder, graph = Rows(), Recorder(), Graph()
    a, b, c = graph.add("a"), graph.add("b"), graph.add("c")
    tell(rows, recorder, a, b, c)
    recorder.steps.moment = 9
    rows.removed.extend([a, b, c, a])
    rows.insert(a, b)
    b.target = "another"
    rows.record_removed(recorder)
    assert recorder.erased == [(2, 9), (3, 9), (1, 9)]
    assert (list(rows.inserted), rows.removed, list(rows.known)) == ([b], [], [])


def test_a_node_that_came_back_elsewhere_is_erased() -> None:
    rows, recorder, graph = Rows(), Recorder(), Graph()
    a, b, c = graph.add("a"), graph.add("b"), graph.add("c")
    tell(rows, recorder, a, b, c)
    rows.removed.append(a)
    rows.insert(a)
    a._prev, a._next = b, c
    rows.record_removed(recorder)
    assert recorder.erased == [(1, 0)]
    assert list(rows.inserted) == [a]


def test_a_renamed_node_is_another_record_and_so_are_its_users() -> None:
    rows, recorder, graph = Rows(), Recorder(), Graph()
    a = graph.add("a")
    b, c = graph.add("b", "op", a), graph.add("c", "op", 1)
    a.users[c] = None  # which it is not
    first = tell(rows, recorder, a, b, c)
    rows.record_renamed(recorder, a)
    assert recorder.written == first
    recorder.steps.moment, a.name = 4, "x"
    rows.record_renamed(recorder, a)
    assert recorder.erased == [(1, 4), (2, 4)]
    assert recorder.written[3:] == [
        replace(first[0], id=4, name="x", renamed=4),
        replace(first[1], id=5, args="x", inputs=("x",), renamed=4),
    ]
    assert list(rows.known.values()) == [*recorder.written[3:], first[2]]
    rows.record_renamed(recorder, graph.add("never told"))
    assert len(recorder.written) == 5


def test_a_stop_at_a_node_may_tell_the_rest() -> None:
    rows, recorder, graph = Rows(), Recorder(), Graph()
    rows.insert(*[graph.add(name) for name in "abc"])

    def stopped() -> None:
        recorder.on_node = lambda: None
        rows.record_inserted(recorder, ATTEMPT, True)

    recorder.on_node = stopped
    rows.record_inserted(recorder, ATTEMPT, True)
    assert recorder.aloud == ["a", "b", "c"]
    assert recorder.written == recorder.events == []
    rows.insert(graph.add("d"))
    recorder.on_node = rows.forget
    rows.record_inserted(recorder, ATTEMPT, True)
    assert not rows.known


def test_what_fails_is_told_the_next_time() -> None:
    recorder, graph = Recorder(), Graph()
    failing = True

    def fails(*arguments: object) -> Any:
        if failing:
            raise RecursionError
        return "words"

    rows = Rows(called=fails)
    a, b = graph.add("a"), graph.add("b", target=len)
    rows.insert(a, b)
    with pytest.raises(RecursionError):
        rows.record_inserted(recorder, ATTEMPT, False)
    assert [node.name for node in recorder.written] == ["a"]
    assert list(rows.inserted) == [b]
    failing = False
    rows.record_inserted(recorder, ATTEMPT, False)
    assert [(node.id, node.name) for node in recorder.written] == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("_args", None), ("_kwargs", ()), ("_input_nodes", 5), ("_input_nodes", [5]),
        ("_prev", None), ("meta", None), ("_args", (object(),)),
    ],
)  # fmt: skip
def test_what_is_no_node_of_torch_is_an_error(attribute: str, value: object) -> None:
    rows, recorder = Rows(argument=lambda argument: 1 / 0), Recorder()
    node = Graph().add("x")
    setattr(node, attribute, value)
    rows.insert(node)
    with pytest.raises((TypeError, AttributeError, ZeroDivisionError)):
        rows.record_inserted(recorder, ATTEMPT, False)
    assert list(rows.inserted) == [node]
    assert not rows.known
    assert not recorder.written


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
        rows = Rows(**given)
        rows.insert(Graph().add("x", "placeholder", example_value=5))
        with pytest.raises((TypeError, ZeroDivisionError, AttributeError)):
            rows.record_inserted(Recorder(), ATTEMPT, False)
    rows = Rows()
    node = Graph().add("x")
    rows.insert(node)
    rows.graphs[id(node.graph)] = "no pair"
    with pytest.raises(KeyError):
        rows.record_inserted(Recorder(), ATTEMPT, False)
    rows.known[node] = "no record"
    rows.removed.append(node)
    for call in (rows.record_removed, lambda recorder: rows.record_renamed(recorder, node)):
        with pytest.raises(AttributeError):
            call(Recorder())
    for recorder in (None, SimpleNamespace(**vars(Recorder()) | {"steps": 5})):
        with pytest.raises((AttributeError, TypeError)):
            rows.record_removed(recorder)


def test_lists_that_change_meanwhile_do_no_harm() -> None:
    rows, recorder, graph = Rows(), Recorder(), Graph()

    class Restless(Node):
        def __hash__(self) -> int:
            if recorder.written:
                rows.removed.clear()
            return id(self)

    restless = Restless(graph, "x", "op", "x", ())
    restless._prev = restless._next = graph.root
    tell(rows, recorder, restless)
    rows.removed.extend([restless] * 3)
    rows.record_removed(recorder)
    assert not rows.removed

    def emptied(node: Any) -> str:
        rows.forget()
        return "source"

    rows = Rows(source=emptied)
    tell(rows, recorder, graph.add("y", "placeholder"), graph.add("z", "placeholder"))
    assert len(rows.known) == 1


def test_they_are_made_once_and_not_used_before() -> None:
    rows = Rows()
    with pytest.raises(TypeError):
        rows.__init__()  # type: ignore[misc]  # refused
    bare = _C.NodeRows.__new__(Rows)
    for call in (
        lambda: bare.record_inserted(Recorder(), ATTEMPT, False),
        lambda: bare.record_removed(Recorder()),
        lambda: bare.record_renamed(Recorder(), Graph().root),
        lambda: bare.rank(Graph().root),
    ):
        with pytest.raises(RuntimeError):
            call()
    bare.forget()


def test_nothing_is_held_once_it_is_forgotten() -> None:
    rows, recorder, graph = Rows(), Recorder(), Graph()
    x = graph.add("x", "placeholder")
    y = graph.add("y", "op", x, target=len, example_value=Fake((2,)))
    counts = [sys.getrefcount(each) for each in (x, y, graph)]
    for _ in range(5):
        tell(rows, recorder, x, y)
        y.name += "y"
        rows.record_renamed(recorder, y)
        rows.removed.append(y)
        rows.record_removed(recorder)
        rows.forget()
    recorder.written.clear()
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
