"""Writes the page docs/recording-schema.md from the schema's own comments.

The SQL in `schema.py` is the only source: each table's comment above it, each column's comment
behind it. A test compares the page with what this module makes of it; `python -m
stepper.recording.document` prints the page anew.
"""

from __future__ import annotations

import inspect
import re

import msgspec

from stepper.model import collective, lookup, timing, trace
from stepper.model.printing import give
from stepper.recording import schema

_TABLE = re.compile(
    r'((?:^-- [^\n]*\n)+)CREATE TABLE "?(\w+)"? \(\n(.*?)^\);', re.MULTILINE | re.DOTALL
)
_COLUMN = re.compile(r"\s*(\w+) ([A-Z ]+?),?\s*(?:-- (.*))?$")

_BEGINNING = """# The recording's format

<!-- Generated from stepper/recording/schema.py by `python -m stepper.recording.document`. -->

A recording is one SQLite file (`PRAGMA application_id` is `{application:#x}`, `PRAGMA user_version`
is `{version}`). While it grows there are a `-wal` and a `-shm` file beside it; a clean end leaves
one file, or, where somebody reads at that moment and no front end waits for the program, an empty
`-wal` and a `-shm` that can be deleted. It holds data only: opening one never runs code from it.

Reading changes nothing in the recording's folder and follows no file in it that the recording's own
writer did not make. The `-wal` that a killed writer left is read together with the recording, from
a private copy in the directory for temporary files, and that is said; a `-journal` never is.

{rules}

Versions: {history}

## Tables
"""

_ENDING = """
## Binary columns

They are [msgpack](https://msgpack.org). The records of `stepper.model` are maps from field to
value; fields that have their default value are left out. Those below, and the small records
`Value`, `Instruction`, `Item`, `TensorMeta`, `Block`, `PythonFrame` and `UserLine`, are arrays of
all their fields in order. A `Datum` is a value: nil, a boolean, a number and a string stand for
themselves; any other is an array that begins with what it is (`words`, `tensor`, `int`, `complex`,
`bytes`, `str`, `many`), as `stepper/model/datum.py` says.
"""


def page() -> str:
    """The page, as Markdown."""
    parts = [
        _BEGINNING.format(
            application=schema.APPLICATION_ID,
            version=schema.VERSION,
            rules=_rules(),
            history=" ".join(f"{number}: {text}" for number, text in schema.HISTORY.items()),
        )
    ]
    parts += sections(schema.SCHEMA, "###")
    parts.append(_ENDING)
    for record in (
        schema.Moments, schema.Guards, schema.Events, schema.Delta, schema.Keyframe,
        schema.FrameKey, lookup.CheckedGuard, lookup.TriedEntry, lookup.Check, lookup.Difference,
        lookup.UnmetEntry, trace.SkippedFrame, timing.Timing,
        schema.GuardsMade, schema.RunTimes,
        collective.CollectiveReading, collective.ProcessGroup, collective.Collective,
    ):  # fmt: skip
        parts += [record_section(record)]
    return "\n".join(parts).rstrip() + "\n"


def sections(sql: str, heading: str) -> list[str]:
    """A section for each table that some SQL makes, from its comments; `heading` is Markdown's."""
    parts: list[str] = []
    for comment, name, body in _TABLE.findall(sql):
        said = " ".join(line.removeprefix("-- ") for line in comment.strip().splitlines())
        parts += [
            f"\n{heading} `{name}`\n",
            f"{said}\n",
            "| column | type | meaning |",
            "| --- | --- | --- |",
        ]
        parts += [_column(line) for line in body.splitlines() if line.strip()]
    return parts


def _rules() -> str:
    text = inspect.cleandoc(schema.__doc__ or "")
    return next(part for part in text.split("\n\n") if part.startswith("Rules. ")).removeprefix(
        "Rules. "
    )


def _heading(first: str) -> str:
    return f"| {first} | type | meaning |\n| --- | --- | --- |"


def _column(line: str) -> str:
    match = _COLUMN.match(line)
    assert match is not None, line
    name, kind, comment = match.groups()
    meaning = (comment or _USUAL.get(name, "")).replace("|", "\\|")
    return f"| `{name}` | {kind.strip()} | {meaning} |"


_USUAL = {
    "id": "Number, in the order of writing.",
    "attempt": "Id in table `attempt`.",
    "moment": "Number of a moment.",
    "translation": "Id in table `translation`.",
    "code": "Id in table `code`.",
    "frame": "Id in table `frame`.",
}
"""What columns of these names mean where the schema says no more."""


def record_section(record: type[msgspec.Struct]) -> str:
    """A section about a record, from its docstring and those of its fields."""
    source = inspect.getsource(record)
    said = " ".join(inspect.cleandoc(record.__doc__ or "").split())
    rows = [
        f"### `{record.__name__}`\n",
        f"{said}\n",
        "| field | type | meaning |",
        "| --- | --- | --- |",
    ]
    for name in record.__struct_fields__:
        kind = str(record.__annotations__[name]).replace("|", "\\|")
        described = re.search(
            rf'^    {name}: [^\n]*\n    """(.*?)"""', source, re.MULTILINE | re.DOTALL
        )
        meaning = " ".join(described[1].split()).replace("|", "\\|") if described else ""
        rows.append(f"| `{name}` | `{kind}` | {meaning} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    give(page())
