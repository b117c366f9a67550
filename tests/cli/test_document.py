"""The pages on the command line and on the console's commands are what the code says."""

from pathlib import Path

import stepper.cli.document
import stepper.console.document

DOCS = Path(__file__).parents[2] / "docs"


def test_the_command_lines_page_is_up_to_date() -> None:
    assert (DOCS / "command-line.md").read_text() == stepper.cli.document.page(), (
        "run: python -m stepper.cli.document > docs/command-line.md"
    )


def test_the_consoles_page_is_up_to_date() -> None:
    assert (DOCS / "console-commands.md").read_text() == stepper.console.document.page(), (
        "run: python -m stepper.console.document > docs/console-commands.md"
    )
