"""`stepper query`: SQL over a recording."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import UsageError
from stepper.model.printing import give, say

if TYPE_CHECKING:
    from stepper.analysis.session_views import SessionViews
    from stepper.recording.reader import Recording

SECONDS = 60.0


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "query",
        help="ask a recording in SQL",
        description="Ask a recording in SQL, read only. Without SQL: the views and their columns. "
        "See the page on the views of a recording.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the recording, or a session folder")
    parser.add_argument("sql", nargs="?", metavar="SQL", help="one SELECT; - reads it from stdin")
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="how to write the rows: table (the default; long cells are cut), csv or json",
    )
    parser.add_argument("--wide", action="store_true", help="cut no cell of a table")
    parser.add_argument(
        "--timeout",
        type=float,
        default=SECONDS,
        metavar="SECONDS",
        help="give up when SQLite has worked this long (default: 60; 0: never); so does Ctrl-C",
    )
    parser.set_defaults(handler=query)


def query(options: argparse.Namespace) -> int:
    """Answer the question on stdout."""
    from stepper.analysis.query import Query, QueryError

    with _asked(options.file) as asked:
        if options.sql is None:
            from stepper.analysis.session_views import SessionViews
            from stepper.analysis.views import COLUMNS

            views = asked.columns if isinstance(asked, SessionViews) else COLUMNS
            for name, columns in views.items():
                say(f"{name}({', '.join(columns)})")
            return 0
        sql = sys.stdin.read() if options.sql == "-" else options.sql
        with _interruptible() as interrupted:
            try:
                answer = Query(asked, sql, seconds=options.timeout or None, stop=interrupted)
                try:
                    for line in _lines(options, answer):
                        give(f"{line}\n")
                        if interrupted():
                            raise KeyboardInterrupt
                finally:
                    answer.close()
            except QueryError as error:
                if interrupted():
                    raise KeyboardInterrupt from None
                raise UsageError(str(error)) from None
    return 0


@contextlib.contextmanager
def _asked(path: str) -> Iterator[Recording | SessionViews]:
    """The recording, or all those of a session folder.

    Raises:
        UsageError: it cannot be read.
    """
    from stepper.cli.asking import opened

    if not os.path.isdir(path):
        with opened(path) as recording:
            yield recording
        return
    from stepper.analysis.session_views import SessionViews
    from stepper.recording.errors import RecordingError
    from stepper.recording.session_folder import read

    try:
        views = SessionViews(read(path))
    except RecordingError as error:
        raise UsageError(str(error)) from None
    yield views
    for process, why in views.unread.items():
        say(f"stepper: process {process} is left out: {why}", sys.stderr)


def _lines(options: argparse.Namespace, answer: Any) -> Iterator[str]:
    from stepper.analysis import row_lines

    if options.format == "csv":
        return row_lines.csv_lines(answer.columns, answer.rows())
    if options.format == "json":
        return row_lines.json_lines(answer.columns, answer.rows())
    widest = None if options.wide else row_lines.WIDEST
    return row_lines.table_lines(answer.columns, answer.rows(), widest=widest)


@contextlib.contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Ctrl-C is noted, since SQLite would swallow an exception that is raised in its midst; a
    second one is raised as always."""
    interrupts: list[int] = []

    def note(number: int, _frame: object) -> None:
        interrupts.append(number)
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(interrupts)
    finally:
        signal.signal(signal.SIGINT, previous)
