"""The page on the format is what the schema says."""

import sqlite3
from contextlib import closing
from pathlib import Path

from stepper.analysis.session_views import SessionViews
from stepper.analysis.views import COLUMNS
from stepper.recording import document
from stepper.recording.database import expected_columns
from stepper.recording.process_entry import Entry
from stepper.recording.session_folder import read
from stepper.recording.statements import statements

PAGE = Path(__file__).parents[2] / "docs" / "recording-schema.md"


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text() == document.page(), (
        "run: python -m stepper.recording.document > docs/recording-schema.md"
    )


def test_every_table_and_column_is_on_the_page() -> None:
    page = document.page()
    for table, columns in expected_columns().items():
        part = page.split(f"### `{table}`")[1].split("\n### ")[0]
        for column in columns:
            assert f"| `{column}` |" in part


def test_a_comment_of_the_schema_may_end_in_a_semicolon() -> None:
    text = "\n-- One; and more;\n-- of it.\nCREATE TABLE a (\n    b TEXT  -- this;\n);\nSELECT 1;\n"
    assert [*statements(text)] == ["CREATE TABLE a (\n    b TEXT  -- this;\n)", "SELECT 1"]


def test_all_views_of_a_session_can_be_made(tmp_path: Path) -> None:
    Entry(str(tmp_path), "first")
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in SessionViews(read(str(tmp_path))).tables():
            connection.execute(statement)
        found = connection.execute("SELECT name FROM sqlite_schema")
        assert {name for (name,) in found} >= {"processes", *COLUMNS}
