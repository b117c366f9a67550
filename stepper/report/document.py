"""Writes the page docs/report-format.md from the definitions of the records.

python -m stepper.report.document > docs/report-format.md
"""

from __future__ import annotations

import inspect

import msgspec

from stepper.model.printing import give
from stepper.recording.document import record_section
from stepper.report import contents

_HEAD = """\
# The report as JSON

<!-- Written by `python -m stepper.report.document` from the definitions. Do not edit. -->

`stepper report FILE --format json` writes one object, a `Report`; `format` is {format}. What it is
for, and the other formats, are in [Send a report](guides/report.md).

{rules} A tuple is an array, a dictionary an object whose keys are strings, and None is null.

With `--redact` the same fields are there: what may not be told is `…` or empty, names are `name1` …

"""


def page() -> str:
    """The page, as Markdown."""
    rules = inspect.cleandoc(contents.__doc__ or "").split("\n\n")[1]
    about = " ".join(rules.partition(". ")[2].split())
    records = [
        record
        for record in vars(contents).values()
        if isinstance(record, type) and issubclass(record, msgspec.Struct)
    ]
    # What holds the others comes first.
    sections = (
        record_section(record).replace("### ", "## ").replace("Told", "str")
        for record in reversed(records)
    )
    head = _HEAD.format(format=contents.FORMAT, rules=about)
    return head + "\n".join(sections).rstrip() + "\n"


if __name__ == "__main__":
    give(page())
