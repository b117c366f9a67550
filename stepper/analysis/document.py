"""Writes the page docs/query-views.md from the comments of the views.

python -m stepper.analysis.document > docs/query-views.md
"""

from __future__ import annotations

from stepper.analysis import views
from stepper.analysis.session_views import PROCESSES
from stepper.model.printing import give
from stepper.recording.document import sections

_HEAD = """\
# Views for queries

<!-- Written by `python -m stepper.analysis.document` from the views' comments. Do not edit. -->

`stepper query FILE "SQL"` asks a recording in SQL: one `SELECT` in
[SQLite's language](https://www.sqlite.org/lang_select.html) over the views below. Nothing of the
file is changed. How it is used, with examples, is in [Ask a recording in SQL](guides/query.md).

Only the views that a question names are read, so a question about guards is not slowed down by the
instructions. A moment is the number by which every front end knows it: `stepper open FILE --at N`
shows it.

Of a [session folder](guides/processes.md), `stepper query FOLDER "SQL"` asks all recordings at
once: every view has two columns more then, before the others, `process` and `rank`, and ids and
moments are unique within a process only. The view `processes` is there for a folder only.
"""


def page() -> str:
    """The page, as Markdown."""
    return _HEAD + "\n".join(sections(views.SCHEMA + PROCESSES, "##")) + "\n"


if __name__ == "__main__":
    give(page())
