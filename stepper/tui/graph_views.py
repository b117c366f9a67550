"""Three ways to look at an FX graph: a table, Python, a drawing. Rows are made on demand."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import NamedTuple, Protocol

from stepper.client.drawing import Drawing
from stepper.client.folded_graph import FoldedGraph
from stepper.client.folding import Fold, FoldKey, folded, row_of
from stepper.client.names import brief_node, brief_source, brief_target, clip_middle
from stepper.client.text import (
    node_code,
    node_line,
    node_meta,
    one_line,
    short_name,
    split_arguments,
)
from stepper.model.trace import Node
from stepper.tui.briefly import brief_row
from stepper.tui.highlight import python_spans
from stepper.tui.listing import fold_row
from stepper.tui.palette import LANES, Row, Span, row
from stepper.tui.places import Places
from stepper.tui.table import Cell, Column, Table, length_of

_MOST, _LEAST = 24, 10
"""Most and fewest columns for a node's name among what another one reads, and for what it calls."""

_MEASURED = 200
"""How many nodes, from the newest, decide how broad the columns of the table are."""

_COLUMNS = (
    Column("name", useful=True),
    Column("value", useful=True),
    Column("computed", useful=True),
    Column("made by"),
)

_NAMES = re.compile(r"\w{11,}")

IsNew = Callable[[Node], bool]
"""Whether the last step made a node."""


class GraphView(Protocol):
    """A graph as rows."""

    @property
    def headings(self) -> tuple[Row, ...]:
        """The line above the rows, if there is one."""
        ...

    def __len__(self) -> int: ...

    def row(self, index: int) -> Row:
        """One row."""
        ...

    def node(self, index: int) -> Node | None:
        """The node that a row is about."""
        ...

    def index(self, node: int) -> int:
        """The row of the node that stands at a place in the sequence of nodes."""
        ...


def _sign(new: bool) -> Span:
    return ("+ ", "new") if new else ("  ", "")


class TableView:
    """A row for each node: name, value, what it is computed from, and what made it."""

    def __init__(self, nodes: Sequence[Node], is_new: IsNew, places: Places, width: int) -> None:
        self._nodes = nodes
        self._is_new = is_new
        self._places = places
        # What a node reads is worth as much as its name.
        self._most = max(_LEAST, min(_MOST, width // 4))
        cells = [self._cells(node) for node in nodes[-_MEASURED:]]
        wanted = [max((length_of(row[at]) for row in cells), default=0) for at in range(3)]
        self.table = Table(_COLUMNS, (*wanted, 1), width - 2)

    @property
    def headings(self) -> tuple[Row, ...]:
        return (row(f"  {self.table.heading}", role="dim"),)

    def __len__(self) -> int:
        return len(self._nodes)

    def row(self, index: int) -> Row:
        node = self._nodes[index]
        made = (
            f"{self._places.instruction(node.moment, node.attempt)}"
            f"  {self._places.line(node.moment, node.attempt)}"
        )
        if node.graph:
            made = f"{made}  in {node.graph}"
        cells = (*self._cells(node), ((made, "dim"),))
        return self.table.row(_sign(self._is_new(node)), cells, full=node_line(node))

    def _cells(self, node: Node) -> tuple[Cell, Cell, Cell]:
        new = self._is_new(node)
        return (
            ((brief_node(node.name), "node new" if new else "node"),),
            ((node_meta(node), "tensor"),),
            self._computed(node),
        )

    def _computed(self, node: Node) -> tuple[Span, ...]:
        """The node as it would be written: `operator.add(x, 1)`, `x.sin()`; an input's source."""
        if node.source:
            return ((brief_source(node.source), "source"),)
        args = _NAMES.sub(lambda match: brief_node(match[0], self._most), one_line(node.args))
        match node.op:
            case "placeholder":
                return (("input", "keyword"),)
            case "output":
                return (("return ", "keyword"), (args, ""))
            case "get_attr":
                return (("self.", ""), (self._target_of(node), "function"))
            case "call_method":
                head, rest = split_arguments(args)
                return ((f"{head}.", ""), (self._target_of(node), "function"), (f"({rest})", ""))
            case _:
                return ((self._target_of(node), "function"), (f"({args})", ""))

    def _target_of(self, node: Node) -> str:
        whole = brief_target(node.target)
        # What is called is the end of it.
        return clip_middle(
            whole if len(whole) <= self._most else whole.rpartition(".")[2], self._most
        )

    def node(self, index: int) -> Node | None:
        return self._nodes[index]

    def index(self, node: int) -> int:
        return node


class FoldedView:
    """Another view of the graph, folded by module path."""

    def __init__(self, view: GraphView, layers: Sequence[str], opened: Container[FoldKey]) -> None:
        """
        Args:
            view: what is folded.
            layers: of each of its rows.
            opened: the folds that are open.
        """
        self.view = view
        self.rows = folded(layers, opened)

    @property
    def headings(self) -> tuple[Row, ...]:
        return self.view.headings

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, index: int) -> Row:
        found = self.rows[index]
        return fold_row(found, "node") if isinstance(found, Fold) else self.view.row(found)

    def node(self, index: int) -> Node | None:
        found = self.rows[index]
        return None if isinstance(found, Fold) else self.view.node(found)

    def index(self, node: int) -> int:
        return row_of(self.rows, self.view.index(node))


class _Line(NamedTuple):
    node: int | None
    text: str = ""
    """What stands there when it is no node."""


class CodeView:
    """The graph as the function that FX would write; an unfinished one ends in `…`."""

    def __init__(self, nodes: Sequence[Node], is_new: IsNew) -> None:
        self._nodes = nodes
        self._is_new = is_new
        self._lines: list[_Line] = []
        self._index: dict[int, int] = {}
        graphs: dict[str, list[int]] = {}
        for at, node in enumerate(nodes):
            graphs.setdefault(node.graph, []).append(at)
        for graph, members in graphs.items():
            self._add_function(graph, members)

    def _add_function(self, graph: str, members: list[int]) -> None:
        inputs = [at for at in members if self._nodes[at].op == "placeholder"]
        shown = [self._nodes[at].name for at in inputs[:6]]
        names = ", ".join(["self", *shown, *(["…"] if len(inputs) > len(shown) else [])])
        if self._lines:
            self._lines.append(_Line(None, ""))
        self._lines.append(_Line(None, f"def {graph or 'forward'}({names}):"))
        for at in members:
            self._index[at] = len(self._lines)
            self._lines.append(_Line(at))
        if not members or self._nodes[members[-1]].op != "output":
            self._lines.append(_Line(None, "    …"))

    @property
    def headings(self) -> tuple[Row, ...]:
        return ()

    def __len__(self) -> int:
        return len(self._lines)

    def row(self, index: int) -> Row:
        at, text = self._lines[index]
        new = False
        if at is not None:
            node = self._nodes[at]
            new = self._is_new(node)
            meta = node_meta(node)
            if node.op == "placeholder":
                about = "  ".join(filter(None, (short_name(node.source), meta)))
                text = f"    # {node.name}: {about}"
            else:
                text = f"    {node_code(node)}" + (f"  # {meta}" if meta else "")
        return Row((_sign(new), *python_spans([text])[0]), "new-line" if new else "")

    def node(self, index: int) -> Node | None:
        at = self._lines[index].node
        return self._nodes[at] if at is not None else None

    def index(self, node: int) -> int:
        return self._index[node]


class DrawingView:
    """The graph with its values as lanes, its layers folded."""

    def __init__(
        self,
        nodes: Sequence[Node],
        is_new: IsNew,
        width: int,
        layers: Sequence[str],
        opened: Container[FoldKey],
    ) -> None:
        self._nodes = nodes
        self._is_new = is_new
        self._folded = FoldedGraph(nodes, layers, opened)
        # Half of the width for the lanes, two columns each.
        self._drawing = Drawing(self._folded.drawn, max_lanes=max(4, min(24, width // 4)))

    def fold_at(self, index: int) -> Fold | None:
        """The fold that a row is; None: it is a node."""
        item = self._item(index)
        return item if isinstance(item, Fold) else None

    def fold_around(self, index: int) -> Fold | None:
        """The open fold that a row's node is in."""
        item = self._item(index)
        return self._folded.around.get(item) if isinstance(item, int) else None

    def _item(self, index: int) -> int | Fold:
        return self._folded.items[self._drawing.order[index]]

    @property
    def headings(self) -> tuple[Row, ...]:
        return ()

    def __len__(self) -> int:
        return len(self._drawing)

    def row(self, index: int) -> Row:
        drawn = self._drawing.rows(index, index + 1)[0]
        item = self._item(index)
        if isinstance(item, Fold):
            folded_spans = fold_row(item, "node").spans
            return Row((_sign(False), *_lanes(drawn.art, drawn.lanes), ("  ", ""), *folded_spans))
        node = self._nodes[item]
        new = self._is_new(node)
        target = "" if node.op in ("placeholder", "output") else brief_target(node.target)
        # A node is mostly named after its target's last word: say the target if it adds something.
        said = target.rpartition(".")[2] == node.name.rstrip("_0123456789")
        spans: list[Span] = [_sign(new), *_lanes(drawn.art, drawn.lanes)]
        spans += [
            ("  ", ""),
            (node.name, "node new" if new else "node"),
            (f"  {node_meta(node)}", "tensor"),
            (f"  {target}" if target and not said else "", "function"),
            ("  ", ""),
            (short_name(node.source), "source"),
        ]
        if drawn.far:
            spans.append((f"  ← {', '.join(drawn.far)}", "dim"))
        if node.graph:
            spans.append((f"  in {node.graph}", "dim"))
        return brief_row(*spans)

    def node(self, index: int) -> Node | None:
        item = self._item(index)
        return None if isinstance(item, Fold) else self._nodes[item]

    def index(self, node: int) -> int:
        fold = self._folded.around.get(node)
        item = node if fold is None or fold.open else fold
        return self._drawing.row_of(self._folded.items.index(item))


def _lanes(art: str, lanes: Sequence[int]) -> list[Span]:
    """The characters of a drawn row, those of one lane together."""
    spans: list[Span] = []
    start = 0
    for at in range(1, len(art) + 1):
        if at == len(art) or lanes[at] != lanes[start]:
            role = f"lane-{lanes[start] % LANES}" if lanes[start] >= 0 else ""
            spans.append((art[start:at], role))
            start = at
    return spans
