"""The documentation's examples as sessions that can be run again.

A block of code marked `console` is a transcript. A line `$ command` begins a command, a line
`(stepper) command` is typed into the debugger that it started; the other lines are what came back.
A block that begins with `(stepper)` goes on with the session of the block before it. In what came
back, a line `...` stands for any lines and `...` within a line for any text.

A block with a title, `python title="train.py"`, is a file that the commands below it can use.

    python -m tests.docs.transcripts docs/tutorial.md

runs a page and writes what really comes back into those blocks that say something else.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pexpect

from tests import ready

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROMPT = "(stepper) "

_BENEATH = re.compile(r"(?:<frozen runpy>|tests/ready_python\.py):\d+ in ")
"""What has called a program that begins as `tests.ready` says, and nobody else's."""

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_QUIT = "quit"
_SECONDS = 600


@dataclass
class Piece:
    """Something typed, and what came back."""

    typed: str
    """The line as it stands in the page, with `$ ` or `(stepper) `."""
    expected: list[str]
    actual: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return _pattern(self.expected).fullmatch(_comparable(self.actual)) is not None


@dataclass
class Session:
    """A command and everything typed into it."""

    pieces: list[Piece]

    def run(self, folder: Path) -> None:
        """Fill in what really comes back."""
        words = shlex.split(self.pieces[0].typed.removeprefix("$ "))
        start = {"stepper": ["-m", "stepper"], "python": []}[words[0]]
        command = [*start, *words[1:]]
        typed = [piece.typed.removeprefix(PROMPT) for piece in self.pieces[1:]]
        by_hand = words[0] == "python" and typed
        if by_hand:
            outputs = _by_hand([sys.executable, *command], typed, folder)
        else:
            outputs = _piped(ready.python(*command), typed, folder)
        for piece, output in zip(self.pieces, outputs, strict=True):
            piece.actual = [line for line in output if not _BENEATH.search(line)]


@dataclass
class Block:
    """A block of code in a page."""

    language: str
    title: str
    text: str
    start: int
    end: int
    pieces: list[Piece] = field(default_factory=list)


@dataclass
class Page:
    """A page, and a folder in which to run it."""

    path: Path
    text: str
    blocks: list[Block]

    def run(self, folder: Path) -> Iterator[tuple[str, Session | subprocess.CompletedProcess[str]]]:
        """Write its files and run its sessions and its Python, from the top to the bottom."""
        shutil.copytree(ROOT / "demos", folder / "demos", dirs_exist_ok=True)
        open_sessions = _sessions(self.blocks)
        for block in self.blocks:
            if block.title:
                (folder / block.title).write_text(block.text)
            elif block.language == "python":
                yield block.text, _script(ready.python("-c", block.text), folder)
            for session in open_sessions.get(block.start, ()):
                session.run(folder)
                yield session.pieces[0].typed, session


def read_page(path: Path) -> Page:
    """Take a page apart."""
    text = path.read_text(encoding="utf-8")
    blocks = []
    for match in _BLOCK.finditer(text):
        block = Block(match[1], match[2] or "", match[3], match.start(3), match.end(3))
        if block.language == "console":
            block.pieces = list(_pieces(block.text))
        blocks.append(block)
    return Page(path, text, blocks)


def pages() -> list[Path]:
    """Every page, and the README."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def _pieces(text: str) -> Iterator[Piece]:
    piece: Piece | None = None
    for line in text.splitlines():
        if line.startswith(("$ ", PROMPT)):
            if piece is not None:
                yield piece
            piece = Piece(line, [])
        else:
            assert piece is not None, f"a transcript begins with a command, not {line!r}"
            piece.expected.append(line)
    assert piece is not None, "an empty transcript"
    yield piece


def _sessions(blocks: list[Block]) -> dict[int, list[Session]]:
    """The sessions, by the start of the block in which each begins."""
    found: dict[int, list[Session]] = {}
    last: Session | None = None
    for block in blocks:
        for piece in block.pieces:
            if piece.typed.startswith("$ "):
                last = Session([piece])
                found.setdefault(block.start, []).append(last)
            else:
                assert last is not None, f"{piece.typed!r} belongs to no command"
                last.pieces.append(piece)
    return found


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",  # both outputs in the order of a terminal
        "XDG_STATE_HOME": str(folder / "state"),
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }


def _piped(command: list[str], typed: list[str], folder: Path) -> list[list[str]]:
    outcome = subprocess.run(
        command,
        cwd=folder,
        env=_environment(folder),
        input="".join(f"{line}\n" for line in (*typed, *([_QUIT] if typed else ()))),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    parts = re.split(rf"^{re.escape(PROMPT)}.*\n", outcome.stdout, flags=re.MULTILINE)
    return [part.splitlines() for part in parts[: len(typed) + 1]]


def _by_hand(command: list[str], typed: list[str], folder: Path) -> list[list[str]]:
    """The same in a terminal, for a program that opens the console itself."""
    child = pexpect.spawn(
        command[0],
        command[1:],
        cwd=str(folder),
        env=_environment(folder),
        encoding="utf-8",
        timeout=_SECONDS,
        dimensions=(50, 200),
        echo=False,
    )
    parts = []
    for line in typed:
        child.expect_exact(PROMPT)
        parts.append(child.before)
        child.sendline(line)
    child.expect_exact([PROMPT, pexpect.EOF])
    parts.append(child.before)
    child.kill(signal.SIGKILL)
    child.wait()
    child.close()
    echoed = [part.replace("\r\n", "\n").splitlines() for part in parts]
    return [
        lines[1:] if lines and lines[0].strip() == line.strip() else lines
        for line, lines in zip(["", *typed], echoed, strict=True)
    ]


def _script(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )


# What another run shows differently, and its replacement.
_VARYING = (
    (re.compile(r"\b\d+\.\d\d\b"), "0.00"),  # seconds
    (re.compile(r"\d{9,}"), "<id>"),
)

# What is not worth showing, for pages that are written anew.
_ELIDED = (
    (re.compile(r"^(?:\| )?[WEI]\d{4} [\d:.]+ .*"), "..."),  # torch's log
    (re.compile(r"/\S*/recordings/([a-z_]+)-\S+"), r".../\1-..."),
    (re.compile(r"/\S*/site-packages/"), ".../site-packages/"),
    (re.compile(r"^((?:process|started) +).*"), r"\1..."),
    (re.compile(r"( # return .* # ).*"), r"\1..."),  # the end of a path, as much as fits
)


def _comparable(lines: list[str]) -> str:
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text


def _pattern(expected: list[str]) -> re.Pattern[str]:
    text = _comparable(expected)
    parts = [
        r"(?:.*\n)*?.*" if line.strip() == "..." else ".*?".join(map(re.escape, line.split("...")))
        for line in text.split("\n")
    ]
    return re.compile("\n".join(parts))


def _elided(lines: list[str], folder: str) -> list[str]:
    """Lines for a page, without what is different every time."""
    shown: list[str] = []
    for line in lines:
        text = line.rstrip()
        for pattern, replacement in _ELIDED:
            text = pattern.sub(replacement, text)
        text = text.replace(folder, "...").replace(Path(folder).name, "...")
        if text != "..." or shown[-1:] != ["..."]:
            shown.append(text)
    return shown


def rewrite(path: Path) -> None:
    """Put what really comes back into the blocks that say something else."""
    page = read_page(path)
    with tempfile.TemporaryDirectory() as folder:
        for what, outcome in page.run(Path(folder)):
            if not isinstance(outcome, Session) and outcome.returncode:
                print(f"{what}\n{outcome.stdout}{outcome.stderr}", file=sys.stderr)
    text = page.text
    for block in reversed(page.blocks):
        if not block.pieces:
            continue
        lines: list[str] = []
        for piece in block.pieces:
            shown = piece.expected if piece.agrees else _elided(piece.actual, folder)
            lines += [piece.typed, *shown]
        text = text[: block.start] + "\n".join(lines).rstrip() + "\n" + text[block.end :]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        rewrite(Path(argument))
