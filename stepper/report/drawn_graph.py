"""A graph as SVG: the lanes of the full screen's drawing as lines, a row of text for each node.

The layout is that of `stepper.client.drawing`, character by character. Here each character becomes
half lines from the middle of its cell; two cells are joined where both reach for each other, and
joins behind each other become one line. So 600 nodes are some dozens of kilobytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepper.client.drawing import GLYPHS, Drawing, DrawnRow
from stepper.client.names import brief_node, brief_target
from stepper.report.contents import Node
from stepper.report.markup import Html, element, escaped, joined

MAX_LANES = 20
COLORS = 6
"""Lanes have colours in turn; style.css has this many."""

_CELL = 7
_ROW = 20
_LETTER = 7.3
"""Width of a letter at most, in pixels."""

_UP, _DOWN = frozenset("│├┤┼╰╯┴"), frozenset("│├┤┼")
_SIGNS = frozenset(GLYPHS.values())

_Cells = list[tuple[str, int]]


def drawn_graph(nodes: Sequence[Node], link: dict[int, str], label: str) -> Html:
    """The drawing.

    Args:
        nodes: of a graph and its subgraphs, each in graph order.
        link: where a node leads, by its moment; it may be missing.
        label: what the drawing is of, for those who do not see it.
    """
    drawing = Drawing(nodes, max_lanes=MAX_LANES)
    rows = drawing.rows(0, len(drawing))
    cells: list[_Cells] = [list(zip(row.art, row.lanes, strict=True)) for row in rows]
    left = (max((len(row) for row in cells), default=0) + 2) * _CELL
    texts = [_text(nodes[row.node], row, at, left, link) for at, row in enumerate(rows)]
    longest = max((len(text) for _, text in texts), default=0)
    width, height = round(left + longest * _LETTER), len(rows) * _ROW
    return element(
        "svg",
        _lines(cells),
        _dots(cells),
        joined(html for html, _ in texts),
        class_="graph",
        role="group",
        aria_label=label,
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )


def _text(node: Node, row: DrawnRow, at: int, left: int, link: dict[int, str]) -> tuple[Html, str]:
    """A node's row of text, and the same without markup."""
    name = brief_node(node.name, 48)
    target = "" if node.op in ("placeholder", "output") else brief_target(node.target, 48)
    far = f"← {', '.join(row.far)}" if row.far else ""
    inside = f"in {node.graph}" if node.graph else ""
    rest = [
        (word, role)
        for word, role in (
            (node.value, "value"), (target, "target"), (node.source, "source"),
            (far, "dim"), (inside, "dim"),
        )
        if word
    ]  # fmt: skip
    href = link.get(node.moment)
    head = element("a", name, href=href) if href else escaped(name)
    tail = joined(element("tspan", f"  {word}", class_=role) for word, role in rest)
    html = element("text", head, tail, x=left, y=at * _ROW + 14)
    return html, "  ".join((name, *(word for word, _ in rest)))


def _x(column: int) -> int:
    return column * _CELL + _CELL


def _y(row: int) -> int:
    return row * _ROW + _ROW // 2


def _lines(cells: Sequence[_Cells]) -> Html:
    paths: dict[int, list[str]] = {}
    down: dict[int, tuple[int, int]] = {}
    """The lines that run down: where they began, and in which lane."""
    for row, line in enumerate(cells):
        below = cells[row + 1] if row + 1 < len(cells) else []
        for column, (sign, lane) in enumerate(line):
            joins = (sign in _DOWN or sign in _SIGNS) and _reached(below, column)
            begun = down.get(column)
            if begun is not None and (not joins or begun[1] != lane):
                paths.setdefault(begun[1], []).append(f"M{_x(column)} {_y(begun[0])}V{_y(row)}")
                del down[column]
            if joins and column not in down:
                down[column] = (row, lane)
        _across(line, row, paths)
        for column in [column for column in down if column >= len(line)]:
            del down[column]
    return joined(
        element("path", d="".join(parts), class_=f"lane lane-{lane % COLORS}")
        for lane, parts in sorted(paths.items())
    )


def _reached(below: _Cells, column: int) -> bool:
    return column < len(below) and (below[column][0] in _UP or below[column][0] in _SIGNS)


def _across(line: _Cells, row: int, paths: dict[int, list[str]]) -> None:
    """The line that runs across: from lane to lane, so between them there is a `─` each."""
    start = 0
    for column in range(1, len(line), 2):
        sign, lane = line[column]
        if sign != "─":
            continue
        if column == 1 or line[column - 2] != (sign, lane):
            start = column - 1
        if column + 2 >= len(line) or line[column + 2] != (sign, lane):
            paths.setdefault(lane, []).append(f"M{_x(start)} {_y(row)}H{_x(column + 1)}")


def _dots(cells: Sequence[_Cells]) -> Html:
    return joined(
        element("circle", cx=_x(column), cy=_y(row), r=4, class_=f"dot lane-{lane % COLORS}")
        for row, line in enumerate(cells)
        for column, (sign, lane) in enumerate(line)
        if sign in _SIGNS
    )
