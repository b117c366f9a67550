"""A question that is only a row of the table: how many instructions were interpreted.

    python tests/toy_question.py SUBCOMMAND…

is `stepper SUBCOMMAND…` with it, and `pytest -p tests.toy_question` has it as well.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from stepper.analysis import questions
from stepper.analysis.line import Line
from stepper.analysis.questions import QUESTIONS, Question
from stepper.analysis.walks import compilations
from stepper.recording.reader import Recording


def lines(recording: Recording, function: str = "") -> Iterator[Line]:
    """The answer."""
    items = [item for item in compilations(recording) if function in item.name]
    yield Line(f"{sum(item.instructions for item in items)} instructions in {len(items)} frames")


questions.how_many = lines  # type: ignore[attr-defined]  # what answers is looked for there
QUESTIONS["how-many"] = Question(
    "how-many",
    "how many instructions were interpreted",
    "How many instructions were interpreted, in how many frames.",
    "questions:how_many",
    title="how many instructions there were",
)

if __name__ == "__main__":
    from stepper.cli import main

    sys.exit(main(sys.argv[1:]))
