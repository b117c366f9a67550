"""The page on the format is what the schema says."""

from pathlib import Path

from stepper.recording import document
from stepper.recording.database import expected_columns

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
