"""A recording with something hostile in every text, and every command that reads one.

`python -m tests.hostile FILE` runs them all on a file, in one process. What Python tells its audit
hooks meanwhile, of files, processes, imports and code, must not speak of what was planted.
"""

from __future__ import annotations

import enum
import inspect
import sqlite3
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from stepper.cli import main
from stepper.cli.arguments import build_parser
from stepper.client.session import open_recording
from stepper.console import run, shell
from stepper.console.commands import TABLE
from stepper.debuggee import registry
from stepper.model import cache, program, shapes, trace, value
from stepper.recording import schema
from tests.stored import inflated

assert shell.COMMAND_MODULES, "which fills the table"

WORD = "PLANTED"
PLANT = (
    f"\x1b]0;{WORD}\x07\x1b]52;c;cm0=\x07\x1b[31m\x9b1m\x90q\x9c\r\b\x0b\x7f"
    "\u202e\u2066\u200f\u061c\u2028\u200b\ufeff\U000e0041 [red]$(id)`id`"
)
"""A title, the clipboard, colours, C1 controls, marks of direction, and what is not seen."""

_MODULES = (trace, value, program, cache, shapes, schema)


def _classes(kind: type) -> Iterator[Any]:
    for module in _MODULES:
        for found in vars(module).values():
            if inspect.isclass(found) and issubclass(found, kind):
                yield found


_KEPT = {str(member) for kind in _classes(enum.Enum) for member in kind}
_KEPT |= {name for kind in _classes(msgspec.Struct) for name in kind.__struct_fields__}
_KEPT |= {"dynamo", "native"}
_KEPT |= {
    said
    for engine in registry.names()
    for said in msgspec.structs.astuple(registry.find(engine).capabilities)
    if isinstance(said, str)
}
"""Words that a reader knows: with something behind them the recording would be damaged."""


def planted(item: Any) -> Any:
    """The same with PLANT behind every text in it, in whatever is packed in it, too."""
    if isinstance(item, str):
        return item if item in _KEPT else item + PLANT
    if isinstance(item, bytes):
        try:
            inner = msgspec.msgpack.decode(inflated(item), strict=True)
        except msgspec.DecodeError:
            return item
        return msgspec.msgpack.encode(planted(inner))
    if isinstance(item, list | tuple):
        return [planted(each) for each in item]
    if isinstance(item, dict):
        return {planted(key): planted(each) for key, each in item.items()}
    return item


def plant(path: str) -> int:
    """Spoil a recording; returns how many texts there are now."""
    connection = sqlite3.connect(path)
    count = 0
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in tables:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        for row in connection.execute(f"SELECT rowid, * FROM {table}").fetchall():
            found = [planted(cell) for cell in row[1:]]
            count += str(found).count(WORD)
            settings = ", ".join(f"{name} = ?" for name in columns)
            connection.execute(f"UPDATE {table} SET {settings} WHERE rowid = ?", [*found, row[0]])
    connection.commit()
    connection.close()
    return count


ARGUMENTS = {
    "break": ["graph-break"], "condition": ["1 x"], "fork": [""], "node": ["x"], "p": ["1"],
    "v": ["self"], "value": ["self", "stack[0]"], "goto": ["3"], "to": ["graph-break", "note"],
    "query": ["SELECT * FROM guards", "SELECT * FROM frames"], "search": [WORD],
    "why-shape": ["", "x.shape[0]"], "symbols": ["", "s0"],
    "why-guard": ["*"], "is-guarded": ["x", "self.scale"], "source": ["1 9"], "compare": ["1 2"],
    "bytecode": ["", "all"], "graph": ["", "table"], "frames": [""], "help": ["", "step"],
}  # fmt: skip
"""What console commands are given; the others are given nothing."""

STRAIGHT = {
    "why-recompile": [[], ["--replay", "--yes"], ["--replay", "--yes", "--trust"]],
    "why-break": [[], ["--replay", "--yes", "--trust"]],
    "why-shape": [[], ["x.shape[0]"], ["s0"], [PLANT, PLANT]],
    "why-failed": [[], [PLANT]],
    "why-slow": [[], ["--all"], [PLANT]],
    "why-guard": [["*"], ["*", "--experiment", "--yes", "--trust"]],
    "is-guarded": [["x"], ["self.scale"]],
    "idle-guards": [[], ["0/0"]],
    "report": [["--format", "markdown"], ["--format", "json"], ["--redact", "--format=json"]],
    "post-mortem": [[], ["--why", PLANT]],
    "query": [
        ["--format", format, f"SELECT * FROM {view}"]
        for view in ("frames", "guards", "moments", "nodes", "values", "graph_breaks", "events",
                     "shapes")
        for format in ("csv", "json", "table")
    ] + [[], ["SELECT nothing_" + PLANT]],
}  # fmt: skip
ELSEWHERE = {
    "run", "record", "open", "console", "diff", "list", "ranks", "export", "doctor", "completion",
}  # fmt: skip
"""Subcommands that read no recording or folders of them, draw the screen, or are run by hand
below."""


def command_lines(path: str) -> Iterator[list[str]]:
    """Every way to read a recording on the command line."""
    known = set(build_parser()[1])
    assert known == set(STRAIGHT) | ELSEWHERE, "a subcommand that is not tried"
    for name, ways in STRAIGHT.items():
        for words in ways:
            yield [name, path, *words]
    yield ["diff", path, path]
    yield ["diff", path, "--of", "0/0" + PLANT, "0/1" + PLANT]
    yield ["diff", path, "--of", "1", "9"]
    yield ["console", "-x", "bogus" + PLANT, path]
    yield ["bogus" + PLANT]
    yield ["query", path, "SELECT 1", "more" + PLANT]


def read(path: str) -> None:
    """Run everything."""
    for words in command_lines(path):
        _say(words)
        try:
            main(words)
        except SystemExit:
            continue
    commands = [
        f"{name} {argument}".strip()
        for name in TABLE
        if name != "quit"
        for argument in ARGUMENTS.get(name, [""])
    ]
    _say(["console"])
    for at in (1, 9):
        session = open_recording(path)
        try:
            run(session, commands, at=at)
        finally:
            session.close()


def _say(words: list[str]) -> None:
    sys.stdout.flush()
    print("\n===", ascii(words), flush=True)


def _watch() -> None:
    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if WORD in ascii(arguments) and event not in _OURS:
            raise SystemError(f"{event} was told of {ascii(arguments)[:500]}")

    sys.addaudithook(hook)


_OURS = {"compile"}
"""It is told of syntax trees, too, which expressions are read into; that none is run stands in
test_trust."""


if __name__ == "__main__":
    _watch()
    read(sys.argv[1])
