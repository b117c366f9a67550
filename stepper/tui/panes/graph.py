"""The FX graph as it grows: a table, Python code, or a drawing."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from stepper.client.folding import Fold
from stepper.client.text import node_line
from stepper.model.trace import Node, Phase
from stepper.tui.graph_views import CodeView, DrawingView, FoldedView, GraphView, TableView
from stepper.tui.lines import Lines
from stepper.tui.listing import ListingPane
from stepper.tui.palette import Row
from stepper.tui.questions import Question, on_guards_of
from stepper.tui.snapshot import Snapshot
from stepper.tui.table import Table


class GraphPane(ListingPane):
    """Nodes with value and origin; `+` marks those of the last step. Enter goes to the origin."""

    NAME = "graph"
    HELP = "The FX graph so far as a table, as Python code or as a drawing; new nodes are marked."
    PHASES = frozenset({Phase.TRANSLATE})
    VIEWS: ClassVar[tuple[str, ...]] = ("table", "code", "drawing")
    EMPTY = "the graph is empty"

    def __init__(self) -> None:
        super().__init__()
        self._made: list[Node] = []
        self._graph: GraphView | None = None
        self._made_for: Hashable = None

    @property
    def table(self) -> Table | None:
        """The columns of the rows that are shown."""
        view = self._graph.view if isinstance(self._graph, FoldedView) else None
        return view.table if isinstance(view, TableView) else None

    def has_something(self, snapshot: Snapshot) -> bool:
        return super().has_something(snapshot) and bool(snapshot.nodes)

    def depends(self, snapshot: Snapshot) -> Hashable:
        if not snapshot.moment:
            return snapshot.newest
        # Most steps make no node, and to paint the same rows again would be felt.
        new = tuple(node.id for node in snapshot.nodes if snapshot.is_new(node.moment))
        last = snapshot.nodes[-1].id if snapshot.nodes else 0
        return snapshot.attempt, snapshot.phase, len(snapshot.nodes), last, new

    def title(self, snapshot: Snapshot) -> str:
        return f"graph {len(snapshot.nodes)}"

    def show(self, snapshot: Snapshot) -> None:
        kept = self._cursor_node()
        self._made = snapshot.nodes
        places = self.places(snapshot)
        if places is None:
            self._graph = None
            self.list_rows(0)
            return
        self._graph = self._make_view(snapshot)
        new = [at for at, node in enumerate(self._made) if snapshot.is_new(node.moment)]
        lookup = snapshot.phase is Phase.LOOKUP
        empty = "a lookup makes no graph" if lookup else self.EMPTY
        self.list_rows(
            len(self._graph),
            headings=self._graph.headings,
            cursor=self._place_cursor(new, kept),
            empty=empty,
        )

    def _make_view(self, snapshot: Snapshot) -> GraphView:
        def is_new(node: Node) -> bool:
            assert self.snapshot is not None
            return self.snapshot.is_new(node.moment)

        # A step that leaves the graph alone leaves its layout alone.
        identity = tuple(node.id for node in self._made)
        made_for = (self.view, self.columns, snapshot.attempt, identity, frozenset(self._opened))
        if self._graph is not None and made_for == self._made_for:
            return self._graph
        self._made_for = made_for
        if self.view == "table":
            places = self.places(snapshot)
            assert places is not None
            return self._folded(TableView(self._made, is_new, places, self.columns))
        if self.view == "code":
            return self._folded(CodeView(self._made, is_new))
        layers = [self._layer(node) for node in self._made]
        return DrawingView(self._made, is_new, self.size.width, layers, self._opened)

    def _layer(self, node: Node | None) -> str:
        assert self.snapshot is not None
        assert self.snapshot.recording is not None
        if node is None or node.graph:
            return ""
        return self.snapshot.recording.owners.layer(node)

    def _folded(self, view: GraphView) -> GraphView:
        layers = [self._layer(view.node(row)) for row in range(len(view))]
        return FoldedView(view, layers, self._opened)

    def fold_at(self, index: int) -> Fold | None:
        if isinstance(self._graph, DrawingView):
            return self._graph.fold_at(index)
        row = self._graph.rows[index] if isinstance(self._graph, FoldedView) else None
        return row if isinstance(row, Fold) else None

    def fold_around(self, index: int) -> Fold | None:
        return self._graph.fold_around(index) if isinstance(self._graph, DrawingView) else None

    def _place_cursor(self, new: list[int], kept: str) -> int | None:
        """Where the cursor goes: to the newest node, else to the node it was on."""
        if self._graph is None or not self._made:
            return None
        if new:
            return self._graph.index(new[-1])
        at = next((at for at, node in enumerate(self._made) if node.name == kept), None)
        return self._graph.index(at if at is not None else len(self._made) - 1)

    def _cursor_node(self) -> str:
        node = self.node_at(self.lines.cursor)
        return node.name if node else ""

    def node_at(self, index: int) -> Node | None:
        """The node that a row is about."""
        if self._graph is None or index >= len(self._graph):
            return None
        return self._graph.node(index)

    def draw_row(self, index: int) -> Row:
        assert self._graph is not None
        return self._graph.row(index)

    def detail_of(self, index: int) -> list[str]:
        node = self.node_at(index)
        if node is None or self._places is None:
            return []
        made = self._places.instruction(node.moment, node.attempt)
        line = self._places.line(node.moment, node.attempt)
        place = f"{made} at {line}" if line else made
        inputs = f"reads {', '.join(node.inputs)}" if node.inputs else "reads no node"
        return [node_line(node), f"{node.op}, {inputs}; made by {place}, moment {node.moment}"]

    def questions_here(self) -> list[Question]:
        node = self.node_at(self.lines.cursor)
        return [on_guards_of(node.attempt, node.name, node.guards)] if node and node.guards else []

    def on_lines_activated(self, message: Lines.Activated) -> None:
        node = self.node_at(message.index)
        if node is not None:
            self.go_to(node.moment, f"made {node.name}")
