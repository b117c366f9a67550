"""The views of a session folder: those of a recording for all its processes, and `processes`.

Each row says in its first two columns of which process and rank it is; ids are unique within a
process only. A process whose recording cannot be read has no rows: `processes` says so.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from stepper.analysis.views import COLUMNS, FILLERS, PARTS, SCHEMA, Row
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.session_folder import SessionFolder
from stepper.recording.statements import statements

PROCESSES = """
-- The processes of a session folder (`record --children`); there for a folder only.
CREATE TABLE processes (
    process INTEGER,              -- its number; in a folder, the first column of every view
    rank INTEGER,                 -- in a folder, the second column of every view
    parent INTEGER,               -- processes.process of the one that started it, if it is here
    how TEXT,                     -- first: by stepper; start: as a program; fork: as a copy
    command TEXT,                 -- the interpreter and what it runs
    name TEXT,                    -- how multiprocessing calls it
    started REAL,                 -- seconds since the epoch
    ended REAL,
    state TEXT,                   -- running, exited, killed, replaced, gone
    exit INTEGER,                 -- exit code, or the signal that killed it
    recording TEXT,               -- its file; empty: there was nothing to record
    note TEXT                     -- what went wrong with its recording
);
"""

PROCESS_COLUMNS = tuple(
    line.split()[0] for line in PROCESSES.splitlines() if line.startswith("    ")
)

_KEY = {
    "_moment": "moment", "_end": "moment", "_call": "id", "_code": "id",
    "_instruction": "code, ip",
}  # fmt: skip
"""What identifies a row of what `instructions` is made of, within one process."""


class SessionViews:
    """What a question can ask of a session folder; see `stepper.analysis.views.RecordingViews`."""

    def __init__(self, folder: SessionFolder) -> None:
        self.folder = folder
        self.path = folder.path
        self.unread: dict[int, str] = {}
        """Processes whose recordings were to be asked and cannot be read, and why."""
        self.columns = {
            "processes": PROCESS_COLUMNS,
            **{name: ("process", "rank", *columns) for name, columns in COLUMNS.items()},
        }

    def tables(self) -> Iterator[str]:
        """The statements that make all views, empty."""
        yield from statements(PROCESSES)
        for statement in statements(SCHEMA):
            if "CREATE TABLE instructions" not in statement:
                head, _, body = statement.replace(" PRIMARY KEY", "").partition(" (\n")
                yield f"{head} (\n    process INTEGER, rank INTEGER,\n{body}"
        yield "CREATE TABLE _source (source INTEGER PRIMARY KEY, process INTEGER, rank INTEGER)"
        for statement in statements(PARTS):
            head, _, body = statement.partition("(")
            name = head.split()[-1]
            if name in _KEY:
                body = body.replace(" PRIMARY KEY (code, ip)", "").replace(" PRIMARY KEY", "")
                body = body.rpartition(")")[0].rstrip().rstrip(",")
                key = f"PRIMARY KEY (source, {_KEY[name]})"
                yield f"{head}(source INTEGER, {body}, {key}) WITHOUT ROWID"
        yield _instructions()

    def rows(self, names: set[str]) -> Iterator[tuple[str, Iterator[Row]]]:
        """The rows of some tables, one recording after the other."""
        if "processes" in names:
            yield "processes", self._processes()
        if "_source" in names:
            numbered = enumerate(self.folder.recorded)
            yield "_source", ((number, each.pid, each.rank) for number, each in numbered)
        wanted = [name for name in FILLERS if name in names]
        if not wanted:
            return
        for number, process in enumerate(self.folder.recorded):
            try:
                recording = Recording.open(process.recording)
            except RecordingError as error:
                self.unread[process.pid] = str(error)
                continue
            with contextlib.closing(recording):
                for name in wanted:
                    head: Row = (number,) if name in _KEY else (process.pid, process.rank)
                    yield name, (head + row for row in FILLERS[name](recording))

    def _processes(self) -> Iterator[Row]:
        for each in self.folder.processes:
            yield (
                each.pid, each.rank, each.parent, each.how, " ".join(each.command), each.name,
                each.started, each.ended, each.state, each.exit, each.recording,
                each.note or _trouble(each.recording),
            )  # fmt: skip


def _trouble(path: str) -> str:
    """Why a recording cannot be read; empty: it can, or there is none."""
    if path:
        try:
            Recording.open(path).close()
        except RecordingError as error:
            return str(error)
    return ""


def _instructions() -> str:
    """The view of a recording, joined within each of several."""
    (view,) = (text for text in statements(PARTS) if "CREATE VIEW instructions" in text)
    view = view.replace("SELECT ", "SELECT s.process, s.rank, ", 1)
    view = view.replace("FROM _moment m", "FROM _moment m JOIN _source s ON s.source = m.source", 1)
    return re.sub(r"(LEFT JOIN \w+ (\w+) ON )", r"\1\2.source = m.source AND ", view)
