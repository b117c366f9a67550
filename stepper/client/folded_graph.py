"""A graph to be drawn with the nodes of a layer as one, `h[7]`, until it is opened.

The layer's parameters that only it reads are in it, too: in a drawing they stand beside their
readers, and of a transformer they are most of what there is.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from stepper.client.drawing import INPUT_OPS, Drawable
from stepper.client.folding import Fold, FoldKey, folded


class DrawnFold(NamedTuple):
    """A closed fold in a node's place."""

    fold: Fold
    name: str
    """Its own, as long as no node is called so."""
    inputs: tuple[str, ...]
    graph: str = ""
    op: str = "call_module"


class RenamedNode(NamedTuple):
    """A node that reads folds where it read what is in them."""

    graph: str
    name: str
    op: str
    inputs: tuple[str, ...]


class FoldedGraph:
    """What is drawn of a graph, and which node or fold each of it is."""

    def __init__(
        self, nodes: Sequence[Drawable], layers: Sequence[str], opened: Container[FoldKey]
    ) -> None:
        """
        Args:
            nodes: in graph order.
            layers: that of each node; empty: it has none.
            opened: the folds that are open.
        """
        computed = [at for at, node in enumerate(nodes) if node.op not in INPUT_OPS]
        self.around: dict[int, Fold] = {}
        """The fold of each node that is in one, by the node's place."""
        folds: dict[FoldKey, Fold] = {}
        for row in folded([layers[at] for at in computed], opened):
            if isinstance(row, Fold):
                folds[row.key] = row
                members = computed[row.first : row.first + row.size]
                self.around.update((at, row) for at in members)
        readers: dict[str, set[FoldKey | None]] = {}
        for at, node in enumerate(nodes):
            fold = self.around.get(at)
            key = None if fold is None or fold.open else fold.key
            for name in node.inputs:
                readers.setdefault(name, set()).add(key)
        for at, node in enumerate(nodes):
            if node.op in INPUT_OPS and len(of_node := readers.get(node.name, set())) == 1:
                (key,) = of_node
                if key is not None and key[0] == layers[at]:
                    self.around[at] = folds[key]
        self.items: list[int | Fold] = []
        """A node's place, or a fold that is closed."""
        self.drawn: list[Drawable] = []
        self._put(nodes)

    def _put(self, nodes: Sequence[Drawable]) -> None:
        names = {
            node.name: _name(fold)
            for at, node in enumerate(nodes)
            if (fold := self.around.get(at)) is not None and not fold.open
        }
        reads: dict[FoldKey, dict[str, None]] = {}
        for at, node in enumerate(nodes):
            fold = self.around.get(at)
            own = not node.graph
            inputs = tuple(dict.fromkeys(names.get(n, n) if own else n for n in node.inputs))
            if fold is None or fold.open:
                self.items.append(at)
                self.drawn.append(RenamedNode(node.graph, node.name, node.op, inputs))
                continue
            if node.op not in INPUT_OPS and fold.key not in reads:
                reads[fold.key] = {}
                self.items.append(fold)
                self.drawn.append(DrawnFold(fold, _name(fold), ()))
            if node.inputs:
                reads[fold.key].update((name, None) for name in inputs if name != _name(fold))
        for at, item in enumerate(self.drawn):
            if isinstance(item, DrawnFold):
                self.drawn[at] = item._replace(inputs=tuple(reads[item.fold.key]))


def _name(fold: Fold) -> str:
    return f"{fold.layer} {fold.number}"  # no node's name has a blank
