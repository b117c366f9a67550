"""Files that are no recordings, not any more, not yet, or meant to harm."""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from stepper.model.stepping import Motion
from stepper.model.value import Item, Value
from stepper.recording.diff import diff
from stepper.recording.errors import RecordingError
from stepper.recording.navigation import move
from stepper.recording.packing import pack
from stepper.recording.reader import Recording
from stepper.recording.schema import HISTORY, VERSION
from tests.recordings import Tape, sample_recording


@pytest.fixture
def path(tmp_path: Path, sample: Tape) -> Path:
    """A copy of the story, to be spoilt."""
    return Path(shutil.copy(sample.path, tmp_path / "r.stepper"))


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema=ON")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def everything(path: Path) -> None:
    """Ask a recording everything."""
    recording = Recording.open(str(path))
    recording.events()
    recording.output()
    list(recording.codes())
    recording.graph_breaks()
    for translation in recording.translations():
        recording.transformed(translation.id)
    for attempt in recording.attempts():
        recording.frames(attempt.id)
        recording.guards(None, attempt=attempt.id)
        recording.inputs(attempt.id)
        recording.nodes(None, attempt=attempt.id)
        recording.side_effects(None, attempt=attempt.id)
    for moment in recording.moments(recording.oldest, recording.newest):
        recording.place_of(moment)
        recording.state(moment.id)
        move(recording, moment.id, Motion.FINISH, -1)
    recording.executed(1, recording.newest)
    diff(recording, recording.oldest, recording.newest)


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such file"):
        Recording.open(str(tmp_path / "nothing.stepper"))
    with pytest.raises(RecordingError, match="is a directory"):
        Recording.open(str(tmp_path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"Dear diary, " * 1000, "not a recording"),
        (b"SQLite format 3\x00", "not a recording|damaged"),
        (b"SQLite format 3\x00" + b"\x00" * 5000, "not a recording|damaged"),
        (b"SQLite format 3\x00" + b"\xff" * 5000, "not a recording|damaged"),
    ],
)
def test_file_that_is_no_recording(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file.stepper"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=message):
        Recording.open(str(path))
    assert path.read_bytes() == content


def test_database_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "browser.sqlite"
    change(path, "CREATE TABLE history (url TEXT)")
    with pytest.raises(RecordingError, match="but not a recording of stepper"):
        Recording.open(str(path))


def test_newer_format_names_both_versions(path: Path) -> None:
    change(path, f"PRAGMA user_version={VERSION + 1}")
    with pytest.raises(RecordingError, match=rf"format {VERSION + 1}.*up to {VERSION}.*Upgrade"):
        Recording.open(str(path))


def test_a_format_from_before_the_first_release_says_what_to_do(path: Path) -> None:
    change(path, "PRAGMA user_version=1")
    with pytest.raises(
        RecordingError, match=rf"format 1; this one reads {min(HISTORY)} to {VERSION}.*Record"
    ):
        Recording.open(str(path))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW harmless AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN SELECT 1; END",
        "CREATE INDEX i ON events (abs(first))",
        "DROP TABLE guards",
        "ALTER TABLE events DROP COLUMN body",
        "ALTER TABLE events ADD COLUMN bomb AS (randomblob(1000000000))",
    ],
)
def test_schema_that_could_run_something_is_refused(path: Path, statement: str) -> None:
    change(path, statement)
    with pytest.raises(RecordingError, match="damaged"):
        Recording.open(str(path))


def test_table_replaced_by_a_view_is_refused(path: Path) -> None:
    change(
        path, "DROP TABLE events",
        "CREATE VIEW events AS SELECT 1 AS first, 1 AS count, load_extension('evil.so') AS body",
    )  # fmt: skip
    with pytest.raises(RecordingError, match="damaged"):
        Recording.open(str(path))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM session",
        "UPDATE session SET facts = x'c1'",
        "UPDATE session SET ended = x'00ff'",
        "UPDATE translation SET body = x'00'",
        "UPDATE code SET body = 'text'",
        "UPDATE moments SET count = 'text'",
        "UPDATE moments SET count = 0",
        "UPDATE moments SET count = -1",
        "UPDATE moments SET count = count - 1",
        "UPDATE moments SET count = count + 1",
        "UPDATE moments SET count = 4611686018427387904",
        "UPDATE moments SET count = 60000, body = body || zeroblob(200000)",
        "UPDATE moments SET body = x'93'",
        "UPDATE moments SET body = 'text'",
        "UPDATE moments SET body = CAST(body AS TEXT)",
        "UPDATE moments SET first = -first",
        "UPDATE moments SET first = 0 WHERE first = 1",
        "UPDATE moments SET first = 2 WHERE first = 1",
        "UPDATE moments SET first = first + 1 WHERE first > 1",
        "UPDATE moments SET first = 9223372036854775807"
        " WHERE first = (SELECT max(first) FROM moments)",
        "DELETE FROM moments WHERE first = 1",
        "DELETE FROM moments WHERE first IN (SELECT first FROM moments LIMIT 1 OFFSET 1)",
        "UPDATE frame SET parent = id",
        "UPDATE frame SET parent = 3 - id, depth = 1 WHERE id IN (1, 2)",
        "UPDATE frame SET depth = 1000000000",
        "UPDATE frame SET code = 77",
        "UPDATE frame SET attempt = 77",
        "UPDATE attempt SET translation = x'00'",
        "UPDATE keyframe SET state = x'92'",
        "UPDATE descriptions SET body = x'80'",
        "DELETE FROM descriptions",
        "UPDATE guard_codes SET body = x'90'",
        "UPDATE guards SET moment = 'soon'",
        "UPDATE guards SET moment = -1",
        "UPDATE guards SET moment = moment + 1",
        "UPDATE guards SET moment = 1 << 62 WHERE first = (SELECT min(first) FROM guards)",
        "UPDATE guards SET count = 0",
        "UPDATE guards SET count = count + 1",
        "UPDATE guards SET count = 1 << 62",
        "UPDATE guards SET first = -first",
        "UPDATE guards SET body = x'97'",
        "UPDATE guards SET body = x'97909090909090a0'",
        "UPDATE guards SET body = replace(body, 'local', 'loc')",
        "INSERT INTO guard_withdrawn VALUES (1, 'soon')",
        "UPDATE nodes SET moment = 'soon'",
        "UPDATE nodes SET count = count - 1",
        "UPDATE nodes SET first = 0 WHERE first = 1",
        "UPDATE nodes SET body = x'ffffffff'",
        "UPDATE nodes SET body = x'90'",
        "INSERT INTO node_erased VALUES (1, x'00')",
        "UPDATE events SET body = replace(body, 'guard', 'gUard')",
        "UPDATE events SET body = x'95'",
        "UPDATE events SET count = count + 1",
        "UPDATE events SET count = 0",
        "UPDATE events SET first = -first",
        "UPDATE events SET first = first + 9223372036854770000",
        "UPDATE output SET data = x'fffe'",
        "UPDATE output SET data = CAST(x'fffe' AS TEXT)",
    ],
)
def test_hostile_content_is_an_error_that_ends_soon(path: Path, statement: str) -> None:
    change(path, statement)
    begun = time.monotonic()
    with pytest.raises(RecordingError, match=str(path)):
        everything(path)
    assert time.monotonic() - begun < 120


def test_deeply_nested_message_pack_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path)
    nested = b"\x81\xa5items" + b"\x91" * 1_000_000
    connection.execute("UPDATE descriptions SET body = ?", (pack((nested,)),))
    connection.commit()
    connection.close()
    with pytest.raises(RecordingError):
        everything(path)


def test_values_that_hold_each_other_are_shown_once(tmp_path: Path) -> None:
    path = sample_recording(str(tmp_path / "r.stepper")).path
    loop = pack(Value("ListVariable", items=(Item("[0]", 1), Item("[1]", 2))))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE descriptions SET body = ?", (pack((loop,)),))
    connection.commit()
    connection.close()
    recording = Recording.open(path)
    assert len(recording.state(recording.newest - 1).values) < 100


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_give_an_answer_or_an_error(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 20, 400])):
        content[chance.randrange(100, len(content))] = chance.randrange(256)
    path.write_bytes(content)
    try:
        everything(path)
    except RecordingError as error:
        assert str(path) in str(error)  # noqa: PT017 (no error is as good)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_file_that_was_cut_short(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(RecordingError):
        everything(path)


def test_opening_leaves_the_file_as_it_is(path: Path) -> None:
    before = path.read_bytes()
    everything(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["r.stepper"]
