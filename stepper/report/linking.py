"""Links within the page: each statement to its moment, each walk to its row."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from stepper.report.contents import Report, Walk, Where
from stepper.report.markup import Html, element, escaped, joined


class Links:
    """Makes the links of a report's page.

    Args:
        report: what the page shows.
    """

    def __init__(self, report: Report) -> None:
        self._recording = report.about.recording
        self.moments = {each.moment: f"#m{each.moment}" for each in report.moments}
        """Where a moment leads; what the recording does not have leads nowhere."""
        self.walks = {each.id: f"#w{each.id}" for each in report.walks}
        self._walks = {each.id: each for each in report.walks}

    def moment(self, moment: int | None) -> Html:
        """`at 12`, which leads to the moment; nothing for None."""
        if moment is None:
            return Html("")
        if moment not in self.moments:
            return element("span", f"at {moment}", class_="at dim")
        return element("a", f"at {moment}", href=self.moments[moment], class_="at")

    def walk(self, walk: int) -> Html:
        """`0/0 forward`, which leads to the walk."""
        found = self._walks.get(walk)
        return element("a", walk_name(found), href=self.walks[walk]) if found else Html("")

    def command(self, moment: int) -> str:
        """The command that shows a moment."""
        return command_of(self._recording, str(moment))


def command_of(recording: str, moment: str = "") -> str:
    """The command that shows a recording, or a moment of it."""
    return f"stepper open {shlex.quote(recording)}" + (f" --at {moment}" if moment else "")


def walk_name(walk: Walk) -> str:
    """`0/0 forward`, `lookup forward`."""
    phase = "" if walk.phase == "translate" else walk.phase
    label = walk.compile_id or ("" if phase else "-")
    return " ".join(filter(None, (phase, label, walk.title)))


def code(text: str) -> Html:
    """A piece of code; nothing when it is empty."""
    return element("code", text) if text else Html("")


def place(where: Where | None, line: str = "") -> Html:
    """A place of the program, with the line's text when it is known."""
    if where is None:
        return Html("")
    return joined(filter(None, (code(str(where)), code(line))), " ")


def sentence(*pieces: str) -> Html:
    """Pieces with blanks between, those that are empty left out."""
    return joined((piece for piece in pieces if piece), " ")


def details(summary: str, *children: str, id: str | None = None, open: bool = False) -> Html:
    """What can be folded away."""
    return element("details", element("summary", summary), *children, id=id, open=open)


def table(
    columns: Sequence[str],
    rows: Iterable[tuple[str | None, Sequence[str]]],
    *,
    numbers: frozenset[str] = frozenset(),
) -> Html:
    """A table that becomes cards on a narrow screen.

    Args:
        columns: headings.
        rows: each with its id (None: it has none) and its cells, the first of which names it.
        numbers: the columns that hold numbers.
    """
    classes = ["number" if name in numbers else None for name in columns]
    head = element(
        "tr",
        *(
            element("th", name, scope="col", class_=kind)
            for name, kind in zip(columns, classes, strict=True)
        ),
    )
    body = joined(
        element(
            "tr",
            *(
                element("td", cell, class_=kind, data_label=name if at else None)
                for at, (name, kind, cell) in enumerate(
                    zip_longest(columns, classes, cells, fillvalue="")
                )
            ),
            id=id,
        )
        for id, cells in rows
    )
    drawn = element("table", element("thead", head), element("tbody", body), class_="cards")
    return element("div", drawn, class_="wide")


def listed(items: Iterable[str], **attributes: str) -> Html:
    """A list; nothing when it is empty."""
    rows = [element("li", item) for item in items]
    return element("ul", *rows, **attributes) if rows else Html("")


def section(id: str, title: str, *children: str) -> Html:
    """A part of the page that the navigation leads to."""
    heading = element("h2", escaped(title), id=f"{id}-title")
    return element("section", heading, *children, id=id, aria_labelledby=f"{id}-title")
