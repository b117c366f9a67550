"""The drawn graph: what a person sees of a graph's nodes and values."""

from __future__ import annotations

import random

from stepper.client.drawing import Drawing
from stepper.model.trace import Node


def node(name: str, *inputs: str, op: str = "call_function", graph: str = "") -> Node:
    return Node(
        id=0, attempt=1, moment=1, graph=graph, rank=0, name=name, op=op, target=name, inputs=inputs
    )


def picture(nodes: list[Node], **options: int) -> list[str]:
    drawing = Drawing(nodes, **options)
    rows = drawing.rows(0, len(drawing))
    width = max(len(row.art) for row in rows) + 2
    return [row.art.ljust(width) + nodes[row.node].name for row in rows]


def test_values_run_in_lanes_from_their_node_to_their_last_reader() -> None:
    nodes = [
        node("x", op="placeholder"),
        node("weight", op="get_attr"),
        node("linear", "x", "weight"),
        node("relu", "linear"),
        node("add", "linear", "relu"),
        node("sum", "add", op="call_method"),
        node("output", "sum", op="output"),
    ]
    assert picture(nodes) == [
        "▽    x",
        "│ ◇  weight",
        "●─╯  linear",
        "├─●  relu",
        "●─╯  add",
        "○    sum",
        "△    output",
    ]


def test_a_line_that_passes_a_lane_leaves_it_whole_and_one_that_reads_it_joins() -> None:
    nodes = [node("a"), node("b"), node("c"), node("d", "a", "c"), node("e", "a", "b", "c", "d")]
    assert picture(nodes) == [
        "●        a",
        "│ ●      b",
        "│ │ ●    c",
        "├─│─┼─●  d",
        "●─┴─┴─╯  e",
    ]


def test_inputs_are_drawn_just_above_their_first_reader() -> None:
    names = [f"p{i}" for i in range(300)]
    nodes = [node(name, op="placeholder") for name in names]
    nodes.append(node("n0", "p0", "p1"))
    nodes += [node(f"n{i}", f"n{i - 1}", f"p{i + 1}") for i in range(1, 299)]
    lines = picture(nodes)
    assert lines[:5] == ["▽    p0", "│ ▽  p1", "●─╯  n0", "│ ▽  p2", "●─╯  n1"]
    assert max(map(len, lines)) < 12


def test_a_value_without_a_lane_is_named_by_its_readers() -> None:
    nodes = [node("a"), node("b"), node("c"), node("sum", "a", "b", "c")]
    drawing = Drawing(nodes, max_lanes=2)
    row = drawing.rows(3, 4)[0]
    assert row.far == ("c",)
    assert row.art == "●─╯"


def test_unrelated_nodes_are_never_drawn_as_if_joined() -> None:
    nodes = [node("unused"), node("other"), node("reader", "other")]
    assert picture(nodes) == ["●    unused", "  ●  other", "  ●  reader"]


def test_subgraphs_do_not_mix_with_the_graph_around_them() -> None:
    nodes = [node("x"), node("y", "x"), node("x", graph="body"), node("z", "x", graph="body")]
    drawing = Drawing(nodes)
    assert [row.art for row in drawing.rows(0, 4)] == ["●", "●", "  ●", "  ●"]


def test_every_edge_of_a_random_graph_is_a_lane_or_a_name() -> None:
    rng = random.Random(7)
    nodes = [node(f"p{i}", op="placeholder") for i in range(20)]
    for i in range(400):
        inputs = {rng.choice(nodes[-15:]).name for _ in range(rng.randrange(4))}
        nodes.append(node(f"n{i}", *sorted(inputs)))
    drawing = Drawing(nodes, max_lanes=8)
    assert sorted(drawing.order) == list(range(len(nodes)))
    seen: dict[str, int] = {}
    for at, row in enumerate(drawing.rows(0, len(nodes))):
        reader = nodes[row.node]
        assert all(name in seen for name in reader.inputs), "inputs stand above their readers"
        assert len(row.art) == len(row.lanes) <= 2 * 9 - 1
        joints = sum(char in "├┤╰╯┴┼" for char in row.art)
        assert joints + len(row.far) in (len(reader.inputs), len(reader.inputs) - 1)
        assert drawing.row_of(row.node) == at
        seen[reader.name] = at


def test_rows_are_the_same_in_whatever_order_they_are_looked_at() -> None:
    nodes = [node("n0")] + [node(f"n{i}", f"n{i // 2}") for i in range(1, 200)]
    whole = Drawing(nodes).rows(0, 200)
    late = Drawing(nodes)
    assert late.rows(150, 160) == whole[150:160]
    assert late.rows(0, 10) == whole[:10]
    assert late.rows(195, 999) == whole[195:]
