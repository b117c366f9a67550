"""The statements of a text of SQL: a comment in it may hold a semicolon, at a line's end, too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator


def statements(sql: str) -> Iterator[str]:
    """Each statement, without the comments before it and the semicolon behind it."""
    begun = ""
    for line in sql.splitlines(keepends=True):
        if not begun and (line.startswith("--") or not line.strip()):
            continue
        begun += line
        if sqlite3.complete_statement(begun):
            yield begun.rstrip().removesuffix(";")
            begun = ""
