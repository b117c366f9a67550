"""The line that a person types: editing, what was typed before, and completion.

prompt_toolkit does that, as it does for IPython: editing that knows wide characters, a history
that sessions share, candidates under the line. Where there is no terminal that can be drawn on, or
the package is not there, a line is read plainly.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from stepper.client.breakpoint_words import breakpoint_words, completions
from stepper.client.paths import state_directory
from stepper.console.commands import TABLE, CommandError, words
from stepper.console.sessions import process_words
from stepper.model.trace import EventKind
from stepper.recording.errors import RecordingError

if TYPE_CHECKING:
    from stepper.console.shell import Shell

_OF_BREAKPOINTS = frozenset({"clear", "enable", "disable", "condition", "ignore"})
_SETS_BREAKPOINTS = frozenset({"break", "tbreak"})
_MOST = 500


def typed_line(descriptor: int) -> bytes:
    """What was typed, up to the end of a line; what follows stays in the terminal, for whoever
    reads next. Empty: the end of input."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        line += byte
        if not byte or not select.select([descriptor], [], [], 0)[0]:
            break
    return line


def line_reader(shell: Shell) -> Callable[[str], str]:
    """What reads a line from the terminal behind a prompt; it raises as `input` does."""
    if os.environ.get("TERM", "dumb") == "dumb":
        return input
    try:
        import termios

        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import CompleteEvent, Completer, Completion
        from prompt_toolkit.data_structures import Size
        from prompt_toolkit.document import Document
        from prompt_toolkit.history import FileHistory, InMemoryHistory
        from prompt_toolkit.input.posix_utils import PosixStdinReader
        from prompt_toolkit.input.vt100 import Vt100Input
        from prompt_toolkit.output.vt100 import Vt100_Output
    except ImportError:
        return input

    def size() -> Size:
        columns, rows = shutil.get_terminal_size()
        return Size(rows=rows, columns=columns)

    class Reader(PosixStdinReader):
        """By itself it takes all that was typed, the lines after this one, too, which are the
        program's when this one has it run."""

        def read(self, count: int = 1024) -> str:
            text = ""
            while len(text) < count and not text.endswith("\n"):
                if not (more := super().read(1)):
                    break
                text += more
            return text

    class Keyboard(Vt100Input):
        """Enter is the end of a line: what is typed ahead is read by whoever reads next."""

        @contextlib.contextmanager
        def raw_mode(self) -> Iterator[None]:
            with super().raw_mode():
                attributes = termios.tcgetattr(self.fileno())
                attributes[0] |= termios.ICRNL
                termios.tcsetattr(self.fileno(), termios.TCSANOW, attributes)
                yield

    class _Output(Vt100_Output):
        """A text that is pasted is lines like those that are typed, the first of which may have the
        program run; a terminal that marks it would have it be one line."""

        def enable_bracketed_paste(self) -> None:
            pass

    class Offers(Completer):
        """What a word, or words, can become."""

        def get_completions(
            self, document: Document, complete_event: CompleteEvent
        ) -> Iterator[Completion]:
            words, typed = offered(shell, document.text_before_cursor)
            yield from (Completion(word, start_position=-typed) for word in words)

    keyboard = Keyboard(sys.stdin)
    keyboard.stdin_reader = Reader(sys.stdin.fileno(), encoding=sys.stdin.encoding)
    path = _history()
    session: PromptSession[str] = PromptSession(
        completer=Offers(),
        history=FileHistory(path) if path else InMemoryHistory(),
        input=keyboard,
        # By itself it asks the terminal where its cursor is, and warns where nobody answers.
        output=_Output(sys.stdout, size, term=os.environ["TERM"], enable_cpr=False),
        complete_while_typing=False,
    )

    def read(prompt: str) -> str:
        line: str = session.prompt(prompt)
        return line

    return read


def _history() -> str:
    """The file that keeps what was typed, for this user's eyes only; empty: none can be made."""
    path = state_directory() / "console-history"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        return str(path)
    return ""


def offered(shell: Shell, before: str) -> tuple[list[str], int]:
    """What the end of a line can become, and how many characters of it that replaces."""
    # Names of a recording can be anything, and what is offered is written to the terminal.
    words = [each for each in candidates(shell, before) if each.isprintable()]
    first, blank, rest = before.lstrip().partition(" ")
    return completions(words, rest.lstrip() if blank else first)


def candidates(shell: Shell, before: str) -> list[str]:
    """What may stand where the last word of a line does: a command, then what it is about."""
    first, blank, _ = before.lstrip().partition(" ")
    if not blank:
        return words()
    name = next(
        (entry.name for entry in TABLE.values() if first in (entry.name, *entry.aliases)), ""
    )
    try:
        if name == "help":
            return words()
        if name in _OF_BREAKPOINTS:
            return [*(str(each.id) for each in shell.session.breakpoints), "all"]
        if name == "process":
            return process_words(shell)
        if name in _SETS_BREAKPOINTS:
            return [*breakpoint_words(shell.session.recording, shell.cursor.state)]
        return [*_names(shell), *map(str, EventKind)]
    except (RecordingError, CommandError):
        return []


def _names(shell: Shell) -> Iterator[str]:
    """Local variables and nodes at the cursor."""
    recording, state = shell.session.recording, shell.cursor.state
    if recording is None or state is None:
        return
    yield from state.frames[shell.selected].locals
    yield from (node.name for node in recording.nodes(state.moment.id)[:_MOST])
