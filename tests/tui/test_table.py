"""The columns that a list is looked at for are whole as long as anything else has room."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from stepper.client.session import open_recording
from stepper.model.trace import EventKind
from stepper.tui.app import StepperApp
from stepper.tui.palette import Row
from stepper.tui.presets import PRESETS
from stepper.tui.table import Cell, Column, Table, fitted, length_of
from tests.ready import ROOT
from tests.shapes.test_against_torch import run

SIZES = ((80, 24), (100, 30), (120, 40), (160, 45), (220, 60))
COLUMNS = (Column("name", useful=True), Column("why", useful=True), Column("where"))
AROUND = 5
"""Columns beside a row: the mark, the scroll bar, the sign of more, the blank behind a column."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a real program did, with its lookups."""
    path = tmp_path_factory.mktemp("columns") / "r.stepper"
    demo = ROOT / "demos" / "recompilation.py"
    done = run("-m", "stepper", "record", "--lookups", "-o", path, demo)
    assert done.returncode == 0, done.stderr
    return path


def cells(*texts: str) -> tuple[Cell, ...]:
    """A row of plain text."""
    return tuple(((text, ""),) for text in texts)


def test_what_has_room_is_whole_and_what_is_less_useful_stands_behind() -> None:
    row = Table(COLUMNS, (3, 10, 30), 20).row(("▶ ", ""), cells("abc", "0123456789", "x" * 30))
    assert row.text == f"▶ abc  0123456789 {'x' * 30} "


def test_useful_columns_share_what_there_is_and_lose_their_middle() -> None:
    table = Table(COLUMNS, (8, 60, 30), 30)
    row = table.row(
        ("  ", ""), cells("forward", "size mismatch at index 0, expected 4, actual 5", "")
    )
    drawn = "".join(text for text, _ in row.spans)
    assert drawn.startswith("  forward  size m…")
    assert drawn.rstrip().endswith(", actual 5")
    assert len(drawn.rstrip()) == 2 + 30
    assert "expected 4, actual 5" in row.text, "searched and copied in full"


def test_a_row_without_columns_shows_what_is_looked_for_and_the_rest_behind() -> None:
    spans = (
        ("weight", "name"),
        ("  ", ""),
        ("L['self']." + "layers." * 9, "source"),
        ("  T", "dim"),
    )
    row = fitted(Row(spans), 30)
    drawn = "".join(text for text, _ in row.spans)
    assert drawn.startswith("weight  L['self…")
    assert drawn.endswith(".layers.  T")
    assert len(drawn) == 30 + len("  T")
    assert row.text == "".join(text for text, _ in spans), "searched and copied in full"
    assert fitted(Row(spans[:2]), 30) == Row(spans[:2])


def test_a_cell_keeps_its_roles_where_its_middle_is_gone() -> None:
    cell = (("abcdef", "source"), ("(0123456789)", "function"))
    row = Table((Column("x", useful=True),), (18,), 9).row(("", ""), (cell,))
    assert row.spans[1:4] == (("ab", "source"), ("…", "dim"), ("56789)", "function"))


def test_an_empty_column_is_left_out() -> None:
    table = Table(COLUMNS, (4, 0, 5), 40)
    assert table.heading == "name where"
    assert table.row(("", ""), cells("abcd", "", "there")).text == "abcd there "


async def test_no_useful_column_is_cut_while_anything_else_has_room(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[Table, Sequence[Cell]]] = []
    original = Table.row

    def row(table: Table, sign: Any, cells: Sequence[Cell], *rest: Any, **options: Any) -> Any:
        drawn.append((table, cells))
        return original(table, sign, cells, *rest, **options)

    monkeypatch.setattr(Table, "row", row)
    session = open_recording(str(recorded))
    recording = session.recording
    assert recording is not None
    event = recording.next_event(0, (EventKind.RECOMPILE,), 1)
    assert event is not None
    app = StepperApp(session, at=event.moment + 3)
    seen: set[str] = set()

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        for name, pane in app.desk.panes.items():
            if pane.visible_on_desk and (table := getattr(pane, "table", None)) is not None:
                assert pane.size.width - table.room <= AROUND, f"{name} leaves room"
                seen.add(name)
        for table, row_cells in drawn:
            check(table, row_cells)
        drawn.clear()

    async with app.run_test(size=SIZES[0]) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            for preset in PRESETS:
                app.desk.use(preset)
                await look(pilot)
        for name in ("graph", "guards", "events"):
            app.desk.reveal(name)
            await look(pilot)
    session.close()
    assert seen >= {"calls", "events", "frames", "graph", "guards"}


def check(table: Table, row_cells: Sequence[Cell]) -> None:
    """Whether the useful columns of a row have all the room there is, if one of them is cut."""
    useful = [at for at, column in enumerate(table.columns) if column.useful]
    assert useful == [*range(len(useful))], "they come first"
    cut = [at for at in useful if length_of(row_cells[at]) > table.widths[at] > 0]
    if cut:
        taken = sum(table.widths[at] + 1 for at in useful if table.widths[at])
        assert table.room - taken < len(useful), [table.columns[at].heading for at in cut]
