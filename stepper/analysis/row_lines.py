"""Rows of a question's answer as text: a table for people, CSV and JSON for programs.

All three stream: a table's columns are as wide as its first rows need.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stepper.client.text import clip, one_line
from stepper.model.printing import printable

Row = Sequence[Any]

_LOOKED_AT = 200
"""Rows that decide how wide the columns are."""
_ENOUGH = 1_000_000
"""Characters of these rows after which no more of them are kept."""
WIDEST = 60


def table_lines(
    columns: Sequence[str], rows: Iterable[Row], *, widest: int | None = WIDEST
) -> Iterator[str]:
    """A heading, a rule, and a line for each row; numbers to the right.

    A cell is cut at `widest` characters (None: never) except in the last column; line ends become
    spaces, and characters that would act on a terminal become signs.
    """
    rows = iter(rows)
    first: list[Row] = []
    seen = 0
    for row in itertools.islice(rows, _LOOKED_AT):
        first.append(row)
        seen += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if seen > _ENOUGH:
            break
    texts = [[_cell(value) for value in row] for row in first]
    longest = [
        max([len(name), *(len(row[at]) for row in texts)]) for at, name in enumerate(columns)
    ]
    widths = longest if widest is None else [min(width, widest) for width in longest]
    numeric = [
        bool(first) and all(isinstance(row[at], int | float | None) for row in first)
        for at in range(len(columns))
    ]

    def line(cells: Sequence[str]) -> str:
        fitted = [
            clip(cell, width).rjust(width) if right else clip(cell, width).ljust(width)
            for cell, width, right in zip(cells[:-1], widths, numeric, strict=False)
        ]
        last = cells[-1].rjust(widths[-1]) if numeric[-1] else cells[-1]
        return "  ".join([*fitted, last]).rstrip()

    yield line([printable(name) for name in columns])
    yield "  ".join("─" * width for width in widths)
    for cells in texts:
        yield line(cells)
    for row in rows:
        yield line([_cell(value) for value in row])


def csv_lines(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """CSV as RFC 4180 has it, a record at a time, without the line end after it."""
    for row in itertools.chain((columns,), rows):
        out = io.StringIO()
        # Until 3.13, cells are quoted for the characters of the writer's own line end only.
        csv.writer(out, lineterminator="\r\n").writerow([_text(value) for value in row])
        yield out.getvalue().removesuffix("\r\n")


def json_lines(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """One JSON array of objects, an object a line; all in ASCII."""
    names = _unlike(columns)
    before = ""
    yield "["
    for row in rows:
        if before:
            yield before + ","
        values = map(_json_value, row)
        before = "  " + json.dumps(dict(zip(names, values, strict=True)))
    if before:
        yield before
    yield "]"


def _cell(value: object) -> str:
    return printable(one_line(_text(value)))


def _text(value: object) -> str:
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else str(value)


def _json_value(value: object) -> object:
    if isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
        return _text(value)
    return value


def _unlike(columns: Sequence[str]) -> list[str]:
    """Names of which no two are the same: `id`, `id_2`."""
    names: list[str] = []
    for name in columns:
        count, new = 1, name
        while new in names:
            count += 1
            new = f"{name}_{count}"
        names.append(new)
    return names
