"""What is exported as Parquet is what `stepper query` says, asked by another engine."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from stepper.analysis.export import ExportError, export
from stepper.analysis.query import Query
from stepper.analysis.session_views import SessionViews
from stepper.analysis.views import COLUMNS
from stepper.recording.session_folder import SessionFolder, read
from tests.recordings import sample_recording

pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
duckdb = pytest.importorskip("duckdb", reason="it is installed for development only")
with contextlib.suppress(ImportError):  # here, since it adds to the environment
    import polars


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    """Two ranks, and a process whose recording is damaged."""
    folder = tmp_path_factory.mktemp("session")
    sample_recording(str(folder / "5.stepper"))
    shutil.copy(folder / "5.stepper", folder / "6.stepper")
    (folder / "7.stepper").write_bytes(b"damaged")
    for pid, rank in ((5, 0), (6, 1), (7, None)):
        entry = {"pid": pid, "rank": rank, "started": float(pid), "recording": f"{pid}.stepper"}
        (folder / f"{pid}.json").write_text(json.dumps(entry))
    return read(str(folder))


@pytest.fixture(scope="module")
def exported(session: SessionFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "out"
    (trouble,) = export(session, str(out))
    assert trouble.startswith("process 7: ")
    return out


def asked(session: SessionFolder, sql: str) -> list[tuple[Any, ...]]:
    answer = Query(SessionViews(session), sql)
    try:
        return sorted(answer.rows(), key=repr)
    finally:
        answer.close()


@pytest.mark.parametrize("view", list(COLUMNS))
def test_each_view_holds_what_a_query_says(
    session: SessionFolder, exported: Path, view: str
) -> None:
    columns = ", ".join(f'"{name}"' for name in ("process", "rank", *COLUMNS[view]))
    files = f"read_parquet('{exported}/{view}/*/*.parquet', hive_partitioning=true)"
    rows = duckdb.sql(f"SELECT {columns} FROM {files}").fetchall()
    assert sorted(rows, key=repr) == asked(session, f'SELECT {columns} FROM "{view}"')


@pytest.mark.skipif("polars" not in sys.modules, reason="it is installed for development only")
def test_polars_reads_the_same(session: SessionFolder, exported: Path) -> None:
    columns = ("process", "rank", *COLUMNS["guards"])
    files = f"{exported}/guards/*/*.parquet"
    found = polars.scan_parquet(files, hive_partitioning=True).select(columns).collect()
    sql = f"SELECT {', '.join(columns)} FROM guards"
    assert sorted(found.rows(), key=repr) == asked(session, sql)


def test_the_processes_are_there_too(session: SessionFolder, exported: Path) -> None:
    rows = duckdb.sql(f"SELECT * FROM '{exported}/processes/processes.parquet'").fetchall()
    assert sorted(rows, key=repr) == asked(session, "SELECT * FROM processes")
    assert [row[0] for row in rows] == [5, 6, 7]


def test_nothing_that_is_there_is_replaced(session: SessionFolder, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(ExportError, match="not empty"):
        list(export(session, str(tmp_path)))


def test_without_pyarrow_it_is_said_how_to_install_it(
    session: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExportError, match=r"torch-stepper\[parquet\]"):
        list(export(session, str(tmp_path / "out")))
