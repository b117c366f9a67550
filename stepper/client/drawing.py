"""A graph as lines of text: one line for each node, its values running down in lanes.

The usual layered drawing (Sugiyama: ranks, crossing reduction, coordinates) needs the whole graph
before it can place one node, and what it draws of 10,000 nodes is wider than any terminal. An FX
graph needs none of that: it has an order already, the order of execution, and what a reader
follows in it is *which value goes where and how long it is needed*. So the drawing is that of
`git log --graph`: a value begins at its node, runs down a lane as long as someone below still
reads it, and its last reader sets the lane free.

    ▽      x
    │ ◇    weight
    ●─╯    linear      x and weight end here, and linear goes on in x's lane
    ├─●    relu        linear is read again below: its lane goes on
    ●─╯    add

Three rules keep it narrow and readable:

* Inputs (placeholders, attributes) are drawn just above their first reader. Dynamo lifts every
  parameter of a model to a placeholder at the top of the graph; drawn there, a transformer would
  open with hundreds of lanes.
* At most `max_lanes` lanes. A value that finds none is *far*: its readers name it instead of
  being joined to it.
* Two glyphs above each other in one lane are always joined, so a lane that a glyph just ended in
  is left free for a row.

The layout is one pass over the nodes with a bit mask of the lanes in use; it keeps four small
numbers a row and goes only as far as somebody has looked. Characters are made for the rows that
are asked for. Where a line crosses a lane without touching it, the lane wins (`─│─`); a crossing
that joins is `┼`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

GLYPHS = {
    "placeholder": "▽",
    "get_attr": "◇",
    "call_function": "●",
    "call_method": "○",
    "call_module": "■",
    "output": "△",
}
"""The sign of a node, by its `op`."""

INPUT_OPS = frozenset({"placeholder", "get_attr"})
"""Nodes that compute nothing; they are drawn beside their first reader."""


class Drawable(Protocol):
    """What is drawn of a node."""

    @property
    def graph(self) -> str:
        """Empty for the main graph, else the subgraph's name."""
        ...

    @property
    def name(self) -> str:
        """The node's name, which other nodes have among their inputs."""
        ...

    @property
    def op(self) -> str:
        """`placeholder`, `call_function` …"""
        ...

    @property
    def inputs(self) -> Sequence[str]:
        """Names of the nodes it reads."""
        ...


class DrawnRow(NamedTuple):
    """One line of a drawing."""

    node: int
    """Index of the node in the sequence given."""
    art: str
    """Lanes and glyph, without trailing blanks."""
    lanes: tuple[int, ...]
    """For each character of `art`, the lane that it belongs to (to colour it), or -1."""
    far: tuple[str, ...]
    """Names of inputs that have no lane."""


class _Placed(NamedTuple):
    before: int
    """Bit mask of the lanes that run into the row from above."""
    own: int
    joins: tuple[int, ...]
    """Lanes of the inputs, the node's own lane not among them."""
    after: int
    """Bit mask of the lanes that run on below."""
    far: tuple[str, ...]


class Drawing:
    """A drawing of a graph's nodes, made as far as it is looked at.

    Args:
        nodes: of one graph, or of a graph and its subgraphs, each in graph order.
        max_lanes: how many lanes there may be.
    """

    def __init__(self, nodes: Sequence[Drawable], *, max_lanes: int = 24) -> None:
        self._nodes = nodes
        self._limit = (1 << max_lanes) - 1
        self._max_lanes = max_lanes
        self._inputs = _resolve(nodes)
        self.order = self._sink_inputs()
        """Indices of the nodes, in the order of the rows."""
        self._row_of = {node: row for row, node in enumerate(self.order)}
        self._last_use = self._find_last_uses()
        self._placed: list[_Placed] = []
        self._lane: dict[int, int] = {}
        self._busy = 0
        self._resting = 0

    def __len__(self) -> int:
        return len(self.order)

    def row_of(self, node: int) -> int:
        """The row in which the node with this index is drawn."""
        return self._row_of[node]

    def rows(self, first: int, last: int) -> list[DrawnRow]:
        """The rows from `first` up to and without `last`, as far as there are any."""
        last = min(last, len(self.order))
        for row in range(len(self._placed), last):
            self._place(row)
        return [self._paint(row) for row in range(max(first, 0), last)]

    def _sink_inputs(self) -> list[int]:
        order: list[int] = []
        waiting: set[int] = set()
        read = {needed for inputs in self._inputs for needed in inputs}
        for i, node in enumerate(self._nodes):
            if node.op in INPUT_OPS and not node.inputs and i in read:
                waiting.add(i)
                continue
            for needed in self._inputs[i]:
                if needed in waiting:
                    waiting.remove(needed)
                    order.append(needed)
            order.append(i)
        # A node that only reads itself or a later one cannot be in a sound graph, but a recording
        # may be torn.
        order.extend(sorted(waiting))
        return order

    def _find_last_uses(self) -> dict[int, int]:
        uses: dict[int, int] = {}
        for row, i in enumerate(self.order):
            for needed in self._inputs[i]:
                uses[needed] = row
        return uses

    def _place(self, row: int) -> None:
        node = self.order[row]
        before = self._busy
        joins: list[int] = []
        ending: list[int] = []
        computed: list[int] = []
        far: list[str] = []
        for needed in self._inputs[node]:
            lane = self._lane.get(needed)
            if lane is None:
                far.append(self._nodes[needed].name)
                continue
            joins.append(lane)
            if self._last_use[needed] == row:
                ending.append(lane)
                if self._nodes[needed].op not in INPUT_OPS:
                    computed.append(lane)
                del self._lane[needed]
        for lane in ending:
            self._busy &= ~(1 << lane)
        if ending:
            # What was computed goes on straight; weights and inputs come in from the side.
            own = (computed or ending)[0]
        else:
            free = ~(self._busy | self._resting) & self._limit
            own = (free & -free).bit_length() - 1 if free else self._max_lanes
        self._resting = 0
        read_later = self._last_use.get(node, -1) > row
        if own < self._max_lanes:
            if read_later:
                self._busy |= 1 << own
                self._lane[node] = own
            else:
                self._resting = 1 << own
        others = tuple(lane for lane in joins if lane != own)
        self._placed.append(_Placed(before, own, others, self._busy, tuple(far)))

    def _paint(self, row: int) -> DrawnRow:
        before, own, joins, after, far = self._placed[row]
        left, right = min((own, *joins)), max((own, *joins))
        width = max(right + 1, before.bit_length())
        art = [" "] * (2 * width - 1)
        lanes = [-1] * (2 * width - 1)
        for lane in range(width):
            if before >> lane & 1:
                art[2 * lane] = "│"
                lanes[2 * lane] = lane
        for at in range(2 * left + 1, 2 * right):
            if art[at] == " ":
                art[at] = "─"
                # A stretch of line has the colour of the outermost input that comes through it.
                lanes[at] = left if at < 2 * own else right
        for lane in joins:
            runs_on = bool(after >> lane & 1)
            art[2 * lane] = _joint(lane == left, lane == right, runs_on)
        node = self.order[row]
        art[2 * own] = GLYPHS.get(self._nodes[node].op, "●")
        lanes[2 * own] = own
        return DrawnRow(node, "".join(art), tuple(lanes), far)


def _resolve(nodes: Sequence[Drawable]) -> list[list[int]]:
    index = {(node.graph, node.name): i for i, node in enumerate(nodes)}
    resolved: list[list[int]] = []
    for node in nodes:
        found = (index.get((node.graph, name)) for name in node.inputs)
        resolved.append([i for i in found if i is not None])
    return resolved


def _joint(leftmost: bool, rightmost: bool, runs_on: bool) -> str:
    if leftmost:
        return "├" if runs_on else "╰"
    if rightmost:
        return "┤" if runs_on else "╯"
    return "┼" if runs_on else "┴"
