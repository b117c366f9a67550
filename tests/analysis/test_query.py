"""SQL over recordings: the views say what the reader says, and nothing else is possible."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import resource
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stepper.analysis.document import page
from stepper.analysis.query import Query, QueryError
from stepper.analysis.row_lines import csv_lines, json_lines, table_lines
from stepper.analysis.session_views import PROCESS_COLUMNS
from stepper.analysis.stretches import TIMES
from stepper.analysis.views import COLUMNS, FILLERS
from stepper.model.trace import EventKind, Phase
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.schema import Delta
from tests.analysis.conftest import Recorded
from tests.conftest import ROOT
from tests.recordings import big_recording, sample_recording, straight_code
from tests.tape import Tape

LOOKUPS = ("demos/recompilation.py", "--lookups")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    path = str(tmp_path_factory.mktemp("query") / "sample.stepper")
    sample_recording(path)
    recording = Recording.open(path)
    yield recording
    recording.close()


def ask(recording: Recording, sql: str, **options: Any) -> list[dict[str, Any]]:
    answer = Query(recording, sql, **options)
    try:
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows()]
    finally:
        answer.close()


def test_every_view_has_the_columns_that_its_page_explains(sample: Recording) -> None:
    text = page()
    for view, columns in COLUMNS.items():
        answer = Query(sample, f'SELECT * FROM "{view}"')
        assert answer.columns == columns
        assert f"\n## `{view}`\n" in text
        answer.close()
    rows = re.findall(r"^\| `(\w+)` \| [A-Z ]+ \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == sum(map(len, COLUMNS.values())) + len(PROCESS_COLUMNS)


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "query-views.md").read_text() == page(), (
        "run: python -m stepper.analysis.document > docs/query-views.md"
    )


def test_instructions_are_the_moments(recorded: Recorded) -> None:
    recording = recorded("demos/graph_breaks.py")
    rows = ask(recording, "SELECT * FROM instructions")
    assert [row["moment"] for row in rows] == list(range(1, recording.newest + 1))
    for row in rows[:: len(rows) // 20]:
        moment = recording.moment(row["moment"])
        frame = recording.frame(moment.frame)
        code = recording.code(frame.code)
        instruction = code.instructions[moment.ip]
        assert (row["opname"], row["arg"]) == (instruction.opname, instruction.argrepr)
        assert (row["function"], row["line"]) == (code.label, instruction.line)
        assert row["depth"] == frame.depth
        assert row["frame"] == recording.attempt(frame.attempt).translation


def test_instructions_are_the_same_where_nobody_asks_when_they_were(recorded: Recorded) -> None:
    recording = recorded("demos/graph_breaks.py")
    columns = ", ".join(f'"{name}"' for name in COLUMNS["instructions"] if name not in TIMES)
    whole = ask(recording, "SELECT * FROM instructions")
    for row in whole:
        for name in TIMES:
            del row[name]
    assert ask(recording, f"SELECT {columns} FROM instructions") == whole
    (counted,) = ask(recording, "SELECT count(*) AS times, max(depth) AS deepest FROM instructions")
    assert counted == {"times": len(whole), "deepest": max(row["depth"] for row in whole)}


def test_guards_nodes_and_breaks_are_the_recordings(recorded: Recorded) -> None:
    recording = recorded("demos/graph_breaks.py")
    final = ask(recording, "SELECT frame, count(*) AS n FROM guards WHERE final GROUP BY frame")
    compiled = [item for item in recording.translations() if item.outcome == "compiled"]
    assert {row["frame"]: row["n"] for row in final} == {item.id: item.guards for item in compiled}
    nodes = ask(recording, "SELECT frame, count(*) AS n FROM nodes WHERE final GROUP BY frame")
    assert {row["frame"]: row["n"] for row in nodes} == {
        item.id: item.nodes for item in compiled if item.nodes
    }
    breaks = ask(recording, "SELECT * FROM graph_breaks ORDER BY id")
    assert [row["reason"] for row in breaks] == [b.reason for b in recording.graph_breaks()]
    printing = next(row for row in breaks if row["function"] == "with_print")
    source = (ROOT / "demos" / "graph_breaks.py").read_text().splitlines()
    assert "print" in source[printing["line"] - 1]


def test_events_and_values(recorded: Recorded) -> None:
    recording = recorded("demos/graph_breaks.py")
    counts = ask(recording, "SELECT kind, count(*) AS n FROM events GROUP BY kind")
    assert {row["kind"]: row["n"] for row in counts} == dict(
        Counter(str(event.kind) for event in recording.events())
    )
    tensors = ask(recording, "SELECT * FROM \"values\" WHERE source = 'L[''x'']' AND dtype <> ''")
    assert {row["dtype"] for row in tensors} == {"float32"}
    assert all(row["shape"] == "3" for row in tensors if row["frame"] == 2)


def test_lookups_and_their_checks(recorded: Recorded) -> None:
    recording = recorded(*LOOKUPS)
    failed = ask(recording, "SELECT moment FROM checks WHERE verdict = 'FAIL' ORDER BY moment")
    assert [row["moment"] for row in failed] == [
        event.moment for event in recording.events(kinds=(EventKind.GUARD_FAIL,))
    ]
    sizes = ask(recording, "SELECT * FROM checks WHERE differs LIKE 'shape%'")
    assert [(row["kind"], row["source"], row["expected"], row["actual"]) for row in sizes] == [
        ("TENSOR_MATCH", "L['x']", "f32[4]", "f32[5]")
    ]
    assert all(row["nanoseconds"] > 0 for row in sizes)
    hits = ask(recording, "SELECT * FROM lookups WHERE outcome = 'hit'")
    walks = [item for item in recording.translations() if item.phase is Phase.LOOKUP]
    assert [row["entry"] for row in hits] == [
        item.compile_id for item in walks if item.outcome == "hit"
    ]
    for row in hits:
        # The words of a hit count the guards, without the comparison of backends.
        said = re.search(r"(\d+) guards run", row["reason"])
        assert said is not None
        assert row["checks"] - row["entries"] == int(said[1])


def test_recompilations_name_the_lookup_before_them(recorded: Recorded) -> None:
    recording = recorded(*LOOKUPS)
    rows = ask(recording, "SELECT * FROM recompilations")
    assert [row["compile_id"] for row in rows] == [
        item.compile_id for item in recording.translations() if item.recompile_reason
    ]
    for row in rows:
        assert recording.translation(row["lookup"]).outcome == "miss"
        assert row["lookup"] == row["frame"] - 1


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'other.db' AS other",
        "PRAGMA query_only = OFF",
        "SELECT * FROM pragma_table_info('frames')",
        "SELECT load_extension('evil.so')",
        "DROP TABLE frames",
        "DELETE FROM frames",
        "UPDATE frames SET id = 1",
        "INSERT INTO frames (id) VALUES (1000)",
        "CREATE TEMP TABLE mine (x)",
        "VACUUM INTO 'copy.db'",
        "BEGIN",
    ],
)
def test_only_reading_is_possible(
    sample: Recording, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryError, match="only SELECT is possible"):
        ask(sample, sql)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM nowhere", "the views are frames, calls"),
        ("SELECT nowhere FROM frames", "lists all columns"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("SELECT count(*) FROM values", "double quotes"),
        ("", "incomplete input"),
        ("SELECT zeroblob(100000000)", "too big"),
    ],
)
def test_a_wrong_question_says_what_to_do(sample: Recording, sql: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        ask(sample, sql)


FOR_EVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"


def test_a_question_without_end_is_given_up(sample: Recording) -> None:
    with pytest.raises(QueryError, match=r"given up after 0\.2 s; --timeout"):
        ask(sample, FOR_EVER, seconds=0.2)
    asked = iter([False] * 5)
    with pytest.raises(QueryError, match=r"given up$"):
        ask(sample, FOR_EVER, stop=lambda: next(asked, True))


LONG_CALLS = [
    # One call of a function, in which SQLite asks nobody whether to go on.
    "SELECT instr(printf('%.*c', 30000000, 'a'), printf('%.*c', 30000, 'a') || 'b')",
    "SELECT replace(printf('%.*c', 9000000, 'a'), printf('%.*c', 30000, 'a') || 'b', 'c')",
]


@pytest.mark.parametrize("sql", LONG_CALLS)
def test_a_call_without_end_is_given_up(sample: Recording, sql: str) -> None:
    since, before = time.monotonic(), children()
    with pytest.raises(QueryError, match=r"given up after 0\.2 s; --timeout"):
        ask(sample, sql, seconds=0.2)
    assert time.monotonic() - since < 60
    assert children() <= before  # nobody is left behind


def children() -> set[str]:
    """The processes that this one has, those of other tests too."""
    listed = Path("/proc/self/task").glob("*/children")
    return {pid for each in listed for pid in each.read_text().split()}


def test_a_question_that_needs_all_memory_is_given_up(sample: Recording) -> None:
    long = "zeroblob(60000000)"
    many = "WITH n(i) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8))"
    with pytest.raises(QueryError, match="memory"):
        ask(sample, f"SELECT {', '.join([long] * 40)}", seconds=60)
    # Rows of sixty megabytes come one by one.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = Query(sample, f"{many} SELECT {long} FROM n")
    for _ in answer.rows():
        pass
    answer.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000


def test_a_recording_that_says_a_thing_twice_is_damaged(tmp_path: Path) -> None:
    path = str(tmp_path / "twice.stepper")
    sample_recording(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        row = connection.execute("SELECT count, moment, last_moment, body FROM nodes").fetchone()
        connection.execute("DELETE FROM nodes")
        for first in (1, 2):
            connection.execute("INSERT INTO nodes VALUES (?, ?, ?, ?, ?)", (first, *row))
    recording = Recording.open(path)
    with pytest.raises(RecordingError, match="damaged"):
        ask(recording, "SELECT * FROM nodes")
    recording.close()


@pytest.mark.parametrize("ip", [9_999, -1])
def test_an_instruction_that_does_not_exist_is_told_and_not_left_out(
    tmp_path: Path, ip: int
) -> None:
    tape = Tape(str(tmp_path / "beyond.stepper"))
    tape.begin(straight_code("f", 8), "0/0")
    tape.start_attempt()
    tape.step(0)
    tape.runs.add(2, [1], [ip], [msgspec.msgpack.encode(Delta())])
    recording = Recording.open(tape.close())
    with pytest.raises(RecordingError, match=f"frame 1 has no instruction {ip}"):
        ask(recording, "SELECT opname, count(*) FROM instructions GROUP BY opname")
    recording.close()


def test_a_huge_result_comes_row_by_row(tmp_path: Path) -> None:
    path = str(tmp_path / "big.stepper")
    big_recording(path, 5_000)
    recording = Recording.open(path)
    # A thousand million rows; the first come at once.
    answer = Query(recording, "SELECT a.moment FROM instructions a, instructions b, instructions c")
    lines = table_lines(answer.columns, answer.rows())
    assert [next(lines).strip() for _ in range(1000)][2:] == ["1"] * 998
    answer.close()
    recording.close()


COLUMNS_OF_ALL = ("text", "number", "text")
ROWS: list[tuple[object, ...]] = [
    ("a\x1b[31mred\nsecond \u202eline", 1, None),
    ('say "x", y', -2.5, b"\x01\xff"),
]


def test_a_table_shows_signs_where_text_would_act_on_the_terminal() -> None:
    lines = list(table_lines(COLUMNS_OF_ALL, ROWS))
    assert lines[2].split() == ["a␛[31mred", "second", "·line", "1"]
    assert len({line.index("1") for line in lines[2:3]}) == 1
    cut = list(table_lines(("a", "b"), [("x" * 100, "y" * 100)]))
    assert cut[2] == "x" * 59 + "…  " + "y" * 100
    whole = list(table_lines(("a", "b"), [("x" * 100, "y")], widest=None))
    assert whole[2] == "x" * 100 + "  y"


def test_csv_and_json_are_read_back() -> None:
    text = "\n".join(csv_lines(COLUMNS_OF_ALL, ROWS))
    assert list(csv.reader(text.splitlines(keepends=True))) == [
        ["text", "number", "text"],
        ["a\x1b[31mred\nsecond \u202eline", "1", ""],
        ['say "x", y', "-2.5", "01ff"],
    ]
    written = "\n".join(json_lines(COLUMNS_OF_ALL, [*ROWS, ("", float("inf"), 0)]))
    assert written.isascii()
    assert json.loads(written) == [
        {"text": ROWS[0][0], "number": 1, "text_2": None},
        {"text": 'say "x", y', "number": -2.5, "text_2": "01ff"},
        {"text": "", "number": "inf", "text_2": 0},
    ]
    assert json.loads("\n".join(json_lines(("a",), []))) == []


def test_everything_that_is_filled_belongs_to_a_view(sample: Recording) -> None:
    for name in FILLERS:
        columns = COLUMNS.get(name)
        for row in FILLERS[name](sample):
            assert columns is None or len(row) == len(columns)
