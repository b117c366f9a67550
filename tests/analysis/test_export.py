"""What is exported as Parquet is what `stepper query` says, asked by another engine."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
import sys
from pathlib import Path
from textwrap import dedent
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


RANKS = 256
ODD = 7
"""The rank in which one guard is another."""
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "query.md"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is exported of so many ranks."""
    folder = tmp_path_factory.mktemp("many")
    first = folder / "0.stepper"
    sample_recording(str(first))
    for rank in range(RANKS):
        if rank:
            shutil.copy(first, folder / f"{rank}.stepper")
        entry = {"pid": rank, "rank": rank, "started": 1.0, "recording": f"{rank}.stepper"}
        (folder / f"{rank}.json").write_text(json.dumps(entry))
    with contextlib.closing(sqlite3.connect(folder / f"{ODD}.stepper")) as odd, odd:
        for key, body in odd.execute("SELECT translation, body FROM guard_codes").fetchall():
            body = body.replace(b"scale == 2.0", b"scale == 3.0")
            odd.execute("UPDATE guard_codes SET body = ? WHERE translation = ?", (body, key))
    out = folder / "ranks-parquet"
    assert not list(export(read(str(folder)), str(out)))
    return out


def of_the_guide(begins: str) -> str:
    """The block of the guide that begins so."""
    blocks = re.findall(r"(?:^    .*\n)+", GUIDE.read_text(), re.MULTILINE)
    (found,) = [dedent(block) for block in blocks if block.startswith(f"    {begins}")]
    return found


def test_duckdb_asks_256_ranks_what_the_guide_asks(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(many.parent)
    compiled = duckdb.sql(of_the_guide("SELECT rank, function").rstrip(";")).fetchall()
    assert {row[0] for row in compiled} == set(range(RANKS))
    assert {row[2] for row in compiled if row[1] == "Net.forward"} == {2}
    differ = duckdb.sql(of_the_guide("SELECT kind, source").rstrip(";")).fetchall()
    others = [rank for rank in range(RANKS) if rank != ODD]
    assert {code: sorted(ranks) for _, _, code, ranks in differ} == {
        "L['self'].scale == 2.0": others,
        "L['self'].scale == 3.0": [ODD],
    }


@pytest.mark.skipif("polars" not in sys.modules, reason="it is installed for development only")
def test_polars_asks_256_ranks_what_the_guide_asks(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(many.parent)
    opened, asks = of_the_guide("guards = polars").splitlines()
    names: dict[str, Any] = {"polars": polars}
    exec(opened, names)
    found = eval(asks, names)
    assert len(found) == 6
    assert set(found["rank"]) == {RANKS}


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
