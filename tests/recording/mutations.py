"""Spoilt recordings, read by every command: `python -m tests.recording.mutations --count 5000`.

A recording is anybody's file. Whatever is in it, a command that reads it gives a right answer or
says in one line what is wrong, with the exit code that is documented. It never dies of an
exception, never hangs, needs no more than some memory, writes nothing beside the file and nothing
that acts on a terminal.

Each file is a good recording with something changed: bytes, pages, rows, or what is packed in its
columns. Its number is its seed, so that what a run finds can be made again with `--only NUMBER`.
Commands run in this process, under a limit of memory and of time.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from stepper.analysis.views import COLUMNS
from stepper.cli import main
from tests.recordings import sample_recording
from tests.stored import inflated

SECONDS = 120
MEMORY = 3 << 30

HOSTILE_TEXTS = (
    "", "\x1b]0;title\x07", "\x1b[2J", "a\nb\r\nc", "\u202e\u2066", "\x9b31m", "\x00", "é" * 3,
    "../../etc/passwd", "x" * 70_000, "%s%n{0}", "L['x']", "<script>", "𝒳",
)  # fmt: skip
HOSTILE_NUMBERS = (
    0, 1, -1, 2, 7, 255, 65_535, 65_537, 1 << 31, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63),
)  # fmt: skip
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Hang(BaseException):
    """A command took too long."""


# --- how a file is spoilt


def spoil(path: Path, seed: int) -> str:
    """Change something in a recording; returns what, in words."""
    chance = random.Random(seed)
    how = chance.choice((_bytes, _bytes, _pages, _rows, _rows, _packed, _packed, _packed))
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        with contextlib.suppress(sqlite3.Error, OSError):
            how(path, chance)
    return how.__name__.strip("_")


def _bytes(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    match chance.randrange(4):
        case 0:
            for _ in range(chance.choice((1, 3, 40))):
                data[chance.randrange(len(data))] = chance.randrange(256)
        case 1:
            del data[chance.randrange(len(data)) :]
        case 2:
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(2000)] = chance.randbytes(chance.randrange(2000))
        case _:
            for _ in range(8):  # the header and the roots of the tables
                data[chance.randrange(min(len(data), 200))] = chance.randrange(256)
    path.write_bytes(data)


def _pages(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    size = 4096
    pages = len(data) // size
    one, other = chance.randrange(pages) * size, chance.randrange(pages) * size
    match chance.randrange(3):
        case 0:
            data[one : one + size] = data[other : other + size]
        case 1:
            data[one : one + size] = bytes(size)
        case _:
            first, second = data[one : one + size], data[other : other + size]
            data[one : one + size], data[other : other + size] = second, first
    path.write_bytes(data)


def _column(connection: sqlite3.Connection, chance: random.Random) -> tuple[str, str, int]:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema")]
    while True:
        table = chance.choice(tables)
        rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table}")]
        if rows:
            columns = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
            return table, chance.choice(columns.fetchall())[0], chance.choice(rows)


def _rows(path: Path, chance: random.Random) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        table, column, row = _column(connection, chance)
        match chance.randrange(4):
            case 0:
                connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
            case 1:
                connection.execute(f"DELETE FROM {table}")
            case 2:
                value = chance.choice((*HOSTILE_NUMBERS, *HOSTILE_TEXTS, None, 1.5, b"\x91"))
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
            case _:
                value = chance.choice((*HOSTILE_NUMBERS, *HOSTILE_TEXTS[:4]))
                connection.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (value,))


def _packed(path: Path, chance: random.Random) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for _ in range(50):
            table, column, row = _column(connection, chance)
            where = f"{table} WHERE rowid = ?"
            (body,) = connection.execute(f"SELECT {column} FROM {where}", (row,)).fetchone()
            if isinstance(body, bytes):
                spoilt = _spoilt(body, chance)
                sql = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                connection.execute(sql, (spoilt, row))
                return


def _spoilt(body: bytes, chance: random.Random) -> bytes:
    try:
        record = [msgspec.msgpack.decode(inflated(body))]
    except (msgspec.DecodeError, UnicodeError):
        record = []  # it was spoilt before
    if not record or chance.random() < 0.15:
        data = bytearray(body or b"\x90")
        data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data)
    places = [*_places(record)]
    for _ in range(chance.choice((1, 1, 3))):
        holder, key = chance.choice(places)
        # What was changed before may have taken it away.
        with contextlib.suppress(KeyError, IndexError, TypeError):
            holder[key] = _worse(holder[key], chance)
    try:
        return msgspec.msgpack.encode(record[0])
    except (OverflowError, RecursionError):
        return b"\xc1"


def _places(record: Any) -> Iterator[tuple[Any, Any]]:
    items = record.items() if isinstance(record, dict) else enumerate(record)
    for key, value in [*items]:
        yield record, key
        if isinstance(value, (list, dict)):
            yield from _places(value)


def _worse(value: Any, chance: random.Random) -> Any:
    if chance.random() < 0.2:
        return chance.choice((None, True, 1.5, "", [], {}, -1, b"", float("nan"), 1 << 63))
    match value:
        case bool():
            return not value
        case int():
            return chance.choice((*HOSTILE_NUMBERS, value + 1, value - 1))
        case str():
            return chance.choice(HOSTILE_TEXTS)
        case bytes():
            return _spoilt(value, chance) if value else b"\x90"
        case list():
            return chance.choice(
                (value[1:], value[::-1], value * 3, [*value, *value[:1]], [[value]])
            )
        case dict():
            return dict(list(value.items())[1:])
        case _:
            return chance.choice((0, "", []))


# --- what reads it

Command = Callable[[str, str], list[str]]


def _query(view: str) -> Command:
    return lambda spoilt, good: ["query", spoilt, f'SELECT * FROM "{view}"']


CONSOLE = (
    "where", "stack", "locals", "guards", "graph", "graph code", "events", "list", "bytecode",
    "here", "frames", "attempts", "step", "next", "line", "finish", "back", "goto 3", "goto 40",
    "goto newest", "continue", "info", "blocks", "effects", "output", "value 0", "origin",
    "translation", "trace 5", "search add", "depends 0", "why", "compare 0/0 0/1", "diff 3",
    "longlist", "up", "down", "symbols", "symbols s0",
)  # fmt: skip
COMMANDS: tuple[Command, ...] = (
    *map(_query, COLUMNS),
    lambda spoilt, good: ["why-recompile", spoilt],
    lambda spoilt, good: ["why-break", spoilt],
    lambda spoilt, good: ["why-shape", spoilt],
    lambda spoilt, good: ["why-failed", spoilt],
    lambda spoilt, good: ["why-guard", spoilt, "*"],
    lambda spoilt, good: ["is-guarded", spoilt, "x"],
    lambda spoilt, good: ["idle-guards", spoilt],
    lambda spoilt, good: ["diff", good, spoilt],
    lambda spoilt, good: ["diff", f"{spoilt}@3", "@20"],
    lambda spoilt, good: ["report", spoilt, "--format", "html"],
    lambda spoilt, good: ["report", spoilt, "--format", "json"],
    lambda spoilt, good: ["report", spoilt, "--format", "markdown"],
    lambda spoilt, good: ["report", spoilt, "--format", "json", "--redact"],
    lambda spoilt, good: ["post-mortem", spoilt],
    lambda spoilt, good: ["console", *(w for c in CONSOLE for w in ("-x", c)), spoilt],
    lambda spoilt, good: ["console", "-x", "goto 12", "-x", "stack", "-x", "quit", spoilt],
)


def run(argv: list[str]) -> tuple[int, str, str]:
    """A command in this process: its exit code and what it wrote.

    Raises:
        Hang: it took too long.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oe")

    def too_long(*_: object) -> None:
        raise Hang

    previous = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS)
    stdin = sys.stdin
    sys.stdin = io.StringIO("")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(argv)
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else 1
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        sys.stdin = stdin
    return code, _written(out), _written(err)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def trouble(argv: list[str], folder: Path) -> str:
    """What is wrong with how a command dealt with a file; empty: nothing."""
    before = _state(folder)
    try:
        code, out, err = run(argv)
    except Hang:
        return f"hung for {SECONDS} s"
    except BaseException:
        return traceback.format_exc()
    finally:
        after = _state(folder)
    if before != after:
        return f"changed the folder: {sorted(before)} became {sorted(after)}"
    may_differ = (0, 1, 2) if argv[0] in ("diff", "console", "post-mortem") else (0, 2)
    if code not in may_differ:
        return f"exit code {code}: {err}"
    if code == 2 and (not err.startswith("stepper ") or err.count("\n") != 1):
        return f"no clear line: {err!r}"
    if "Traceback" in out + err:
        return out + err
    if found := _ACTS.search(out + err):
        at = found.start()
        return f"acts on the terminal: {(out + err)[max(0, at - 40) : at + 40]!r}"
    return ""


def _state(folder: Path) -> dict[str, str]:
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


def check(seed: int, good: Path, commands: int | None = None) -> Iterator[str]:
    """Spoil a recording and read it.

    Args:
        seed: the file's number.
        good: the recording to begin with.
        commands: how many of all are run, by chance; None: all.

    Yields:
        What is wrong, a text for each command that fails.
    """
    chance = random.Random(-seed)
    chosen = COMMANDS if commands is None else chance.sample(COMMANDS, commands)
    with tempfile.TemporaryDirectory() as name:
        spoilt = Path(name) / "spoilt.stepper"
        shutil.copyfile(good, spoilt)
        how = spoil(spoilt, seed)
        for command in chosen:
            argv = command(str(spoilt), str(good))
            if found := trouble(argv, Path(name)):
                yield f"file {seed} ({how}): stepper {' '.join(argv)[:200]}\n{found}"


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Memory is limited meanwhile, so that what asks for more of it fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=5_000, help="files")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--only", type=int, help="only this file, with every command")
    parser.add_argument("--good", help="the recording to spoil; by default one that is made")
    parser.add_argument("--commands", type=int, default=6, help="that read each file")
    options = parser.parse_args()
    warnings.simplefilter("error")
    begin = time.monotonic()
    failed: dict[str, list[int]] = {}
    seeds: Sequence[int]
    with tempfile.TemporaryDirectory() as folder, limited():
        good = Path(folder) / "good.stepper"
        if options.good:
            shutil.copyfile(options.good, good)
        else:
            sample_recording(str(good))
        only = options.only
        seeds = range(options.first, options.first + options.count) if only is None else [only]
        for done, seed in enumerate(seeds, 1):
            for text in check(seed, good, options.commands if only is None else None):
                places = re.findall(r'stepper/(\S+.py)", line (\d+)', text)
                last = text.strip().rpartition("\n")[2][:100]
                reason = f"{':'.join(places[-1])} {last.partition(':')[0]}" if places else last
                if len(failed.setdefault(reason, [])) < 1 or only is not None:
                    print(text, flush=True)
                failed[reason].append(seed)
            if done % 250 == 0:
                count = sum(map(len, failed.values()))
                spent = time.monotonic() - begin
                print(f"{done} files, {count} failures, {spent:.0f} s", flush=True)
    count = sum(map(len, failed.values()))
    print(f"{len(seeds)} files, {count} failures, {time.monotonic() - begin:.0f} s")
    for reason, numbers in failed.items():
        print(f"{len(numbers)}× {reason}: {numbers[:8]}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    _main()
