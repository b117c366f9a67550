"""The views of many recordings as Parquet, for engines that ask hundreds of ranks at once.

    OUT/processes/processes.parquet
    OUT/frames/process=4711/4711.parquet
    OUT/guards/process=4711/4711.parquet

One folder for each view, divided by process as Hive does it, which every engine reads: `process` is
a column by the folders' names, and `rank` is one in the files. The columns are those of
`stepper.analysis.views`. One recording is read after the other, in batches, so that what is held in
memory does not grow with their number.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stepper.analysis.query import Query, QueryError
from stepper.analysis.session_views import PROCESSES, SessionViews
from stepper.analysis.views import COLUMNS, FILLERS, SCHEMA, Row
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.session_folder import Process, SessionFolder, make

if TYPE_CHECKING:
    import pyarrow

_BATCH = 50_000
"""Rows that are written together."""
_TABLE = re.compile(r'CREATE TABLE "?(\w+)"? \(\n(.*?)^\);', re.MULTILINE | re.DOTALL)


class ExportError(Exception):
    """Nothing can be exported; the message says why and what to do."""


def export(folder: SessionFolder, out: str) -> Iterator[str]:
    """Write all views of a session's recordings below `out`, which must be new or empty.

    Gives a sentence for each recording that cannot be read; the others are written nevertheless.

    Raises:
        ExportError: pyarrow is not installed, or the folder cannot be written.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise ExportError(
            "Parquet is written by pyarrow, which is not installed: "
            "pip install 'torch-stepper[parquet]'"
        ) from None
    try:
        make(out)
        for process in folder.recorded:
            try:
                with contextlib.closing(Recording.open(process.recording)) as recording:
                    for view in COLUMNS:
                        path = os.path.join(out, view, f"process={process.pid}")
                        _write(path, _name(process), view, _rows(recording, view, process.rank))
            except (RecordingError, QueryError) as error:
                yield f"process {process.pid}: {error}"
        _write(os.path.join(out, "processes"), "processes", "processes", _processes(folder))
    except FileExistsError:
        raise ExportError(f"{out} is there and not empty: name a new folder") from None
    except (OSError, pyarrow.ArrowException) as error:
        raise ExportError(f"{out} cannot be written: {error}") from None


def _rows(recording: Recording, view: str, rank: int | None) -> Iterator[Row]:
    if view != "instructions":
        yield from ((rank, *row) for row in FILLERS[view](recording))
        return
    with contextlib.closing(Query(recording, "SELECT * FROM instructions")) as answer:
        yield from ((rank, *row) for row in answer.rows())


def _processes(folder: SessionFolder) -> Iterator[Row]:
    ((_, rows),) = SessionViews(folder).rows({"processes"})
    return rows


def _name(process: Process) -> str:
    return os.path.splitext(os.path.basename(process.recording))[0]


def _write(folder: str, name: str, view: str, rows: Iterator[Row]) -> None:
    import pyarrow
    from pyarrow import parquet

    schema = _schema(view)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with parquet.ParquetWriter(os.path.join(folder, f"{name}.parquet"), schema) as writer:
        # A view without rows has a file, too: it says which columns there are.
        for number in itertools.count():
            batch = list(itertools.islice(rows, _BATCH))
            if not batch and number:
                return
            columns = zip(*batch, strict=True) if batch else ([] for _ in schema)
            arrays = [
                pyarrow.array([_told(value) for value in column], field.type)
                for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
            if len(batch) < _BATCH:
                return


def _told(value: Any) -> Any:
    """A value as Arrow takes it."""
    if isinstance(value, bool):
        return int(value)
    # What is no text for others: lone surrogates stand for bytes of a name.
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _schema(view: str) -> pyarrow.Schema:
    import pyarrow

    kinds = {"INTEGER": pyarrow.int64(), "REAL": pyarrow.float64(), "TEXT": pyarrow.string()}
    tables = dict(_TABLE.findall(SCHEMA + PROCESSES))
    lines = [line.split() for line in tables[view].splitlines() if line.strip()]
    columns = [(words[0], kinds[words[1].rstrip(",")]) for words in lines]
    own = [] if view == "processes" else [("rank", pyarrow.int64())]
    return pyarrow.schema(own + columns)
