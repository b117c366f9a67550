"""The loop: read a command, carry it out, wait while the program runs.

The console either reads a command or waits for the program, never both: so the terminal has one
owner at a time. A line that is typed is for whoever reads next, as under pdb: for the program when
it waits for what is typed, else it stays in the terminal until there is a prompt. The session's
events come on its reading thread; they are put into a queue here and taken out on the main thread.
"""

from __future__ import annotations

import collections
import contextlib
import os
import re
import select
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from stepper.analysis.live_processes import process_title, standing_text
from stepper.analysis.processes import title_in_session
from stepper.client.cursor import Cursor, Move
from stepper.client.events import Ended, OutputArrived, SessionEvent
from stepper.client.hang_up import HangUp
from stepper.client.processes import pause
from stepper.client.session import Session
from stepper.client.text import nothing_translated, plural, so_far
from stepper.console import (
    asking,
    caching,
    evaluating,
    finding,
    intervening,
    looking,
    moving,
    scripting,
    sessions,
    stopping,
)
from stepper.console.commands import Command, CommandError, parse_line
from stepper.console.line_input import line_reader, typed_line
from stepper.console.picture import stop_lines
from stepper.console.screen import PROMPT, Screen
from stepper.console.turns import Turns, awaited_text
from stepper.model.breakpoint import Breakpoint
from stepper.model.control import BreakpointChanged, Notice, Response, Stopped
from stepper.model.printing import say
from stepper.model.trace import EventKind, FrameState, State
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording

# Importing these modules is what fills the table of commands.
COMMAND_MODULES = (
    moving,
    stopping,
    looking,
    finding,
    evaluating,
    asking,
    caching,
    intervening,
    scripting,
    sessions,
)

_ENTRY_OF_MANY = (
    "  the first translation of all processes; the others run on: `processes` lists them,",
    "  `process PID` or `process rank N` goes to one, and Ctrl-C in `c` stops it there",
)
_QUIT_SECONDS = 5.0
_ASKS_AGAIN = 0.02
"""Seconds after which a program that has not asked for what is typed is looked at again."""

_END_OF_FILE = "\x04"
_ASSIGNS = re.compile(r"\w+\s*=(?!=)")


class Quit(Exception):
    """The user wants to leave."""


class Shell:
    """A console over one session."""

    def __init__(
        self, session: Session, commands: Iterable[str] | None = None, *, at: int | None = None
    ) -> None:
        self.session = session
        self.cursor = Cursor(session)
        self.turns = Turns(session)
        self._at = at
        self.screen = Screen(sys.stdout)
        self.selected = -1
        """Index of the selected symbolic frame in the state's frames; -1: the innermost."""
        self._commands: Iterator[str] | None = None if commands is None else iter(commands)
        self._typing = self._commands is None and sys.stdin is not None and sys.stdin.isatty()
        self._read_line = line_reader(self) if self._typing else input
        self._number = 0
        """How many commands were read that nobody typed."""
        self._file: Iterator[str] | None = None
        """What is left of a file whose commands are carried out."""
        self._failed: list[str] = []
        """Those of them that could not be carried out, each with its number."""
        self.aliases: dict[str, str] = {}
        """Commands by the names that the user gave them."""
        self.chain: list[tuple[str, int]] = []
        """The chain of origins that was shown last: what each step is, and its moment."""
        self.displays: dict[str, str] = {}
        """What to show at each stop, with what was shown last."""
        self.at_breakpoint: dict[int, list[str]] = {}
        """What to do when a breakpoint stops, by its number."""
        self._to_do: collections.deque[str] = collections.deque()
        """Commands of the breakpoint at which the program stands."""
        # Where stdin is no terminal, the program has it from its start, or the commands come from
        # it.
        self._stdin = _stdin_descriptor()
        self._forwarding = self._stdin >= 0 and os.isatty(self._stdin)
        self._last: tuple[Command, str] | None = None
        self._events: collections.deque[tuple[Session, SessionEvent]] = collections.deque()
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)
        self._ended: Ended | None = None
        """The end of the program."""
        self._leaving = False

    # -- the loop ------------------------------------------------------------------------------

    def run(self) -> int:
        """Until `quit`, or the end of the commands. See `stepper.console.run`."""
        unsubscribe = self.turns.subscribe(self._heard)
        try:
            self._begin()
            self._read_own_file()
            with contextlib.suppress(Quit, BrokenPipeError):
                while True:
                    self._one(self._read())
            return self._leave()
        finally:
            unsubscribe()
            self.turns.close()
            os.close(self._wake_reader)
            os.close(self._wake_writer)

    def _begin(self) -> None:
        if self.session.live or self._events:
            self.wait(far=True)
            return
        recording = self.recording
        self.screen.say(
            f"{recording.path}: {plural(recording.newest, 'moment')}"
            + (", still being written" if self.session.growing else "")
        )
        if recording.aside:
            self.screen.say(recording.aside)
        try:
            self.show(self.cursor.goto(self.cursor.oldest if self._at is None else self._at))
        except CommandError as error:
            self.screen.say(str(error))

    def _read(self) -> str:
        """The next command.

        Raises:
            Quit: there is none.
        """
        self._take_events()
        if self.session.attached and self._ended is not None:
            # The program has gone on with the terminal, or given it back to the shell.
            raise Quit
        if self._to_do:
            self.screen.prompt(self._to_do[0])
            return self._to_do.popleft()
        read = self.line(PROMPT)
        if read is None:
            raise Quit
        return read

    def line(self, prompt: str) -> str | None:
        """A line from whoever gives the commands; None: there is none any more."""
        if self._file is not None:
            return next(self._file, None)
        if self._typing:
            self.screen.fresh_line()
            try:
                line = self._read_line(prompt)
            except EOFError:
                return None
            except KeyboardInterrupt:
                self.screen.say("^C: q quits, c runs the program on")
                return "#"
            self.screen.answered()
            return line
        if self._commands is not None:
            read = next(self._commands, None)
        else:
            read = (sys.stdin.readline() if sys.stdin is not None else "") or None
        if read is None:
            return None
        self._number += 1
        line = read.rstrip("\n")
        self.screen.prompt(line, prompt)
        return line

    def carry_out(self, path: Path) -> None:
        """The commands of a file, up to the first that cannot be carried out.

        Raises:
            CommandError: it cannot be read, or a command could not be carried out.
        """
        if self._file is not None:
            raise CommandError(f"{path} is not carried out: a file of commands takes in no other")
        lines = scripting.lines_of(path)
        self._file = iter(lines)
        try:
            for line in self._file:
                try:
                    self._carried_out(line)
                except (CommandError, RecordingError) as error:
                    number = len(lines) - len(list(self._file))
                    raise CommandError(f"{path}:{number}: {line.strip()!r}: {error}") from None
        finally:
            self._file = None

    def _read_own_file(self) -> None:
        """The user's own commands, when a person types; a foreign folder's are only mentioned."""
        if not self._typing:
            return
        path = scripting.own_rc()
        try:
            if path is not None:
                if why := scripting.not_trusted(path):
                    raise CommandError(f"{path} is not carried out: {why}")
                self.carry_out(path)
        except (CommandError, OSError) as error:
            self.screen.error(str(error))
        here = Path(scripting.RC)
        if here.is_file() and (path is None or not here.samefile(path)):
            self.screen.say(f"{here} of this folder is not read: source {here} does that", "dim")

    def _one(self, line: str) -> None:
        try:
            self._carried_out(line)
        except (CommandError, RecordingError) as error:
            self.screen.error(str(error))
            if not self._typing:
                self._failed.append(f"line {self._number}: {line.strip()!r}")
        except KeyboardInterrupt:
            self.screen.say("interrupted")

    def _carried_out(self, line: str) -> None:
        if line.lstrip().startswith("#"):
            return
        if not line.strip():
            if self._last is not None and self._file is None:
                found, argument = self._last
                found.handler(self, argument)
            return
        for each in scripting.expanded(line, self.aliases):
            found, argument = self._parsed(each)
            self._last = (found, argument) if found.repeats else None
            found.handler(self, argument)

    def _parsed(self, line: str) -> tuple[Command, str]:
        """A line as a command. At a live stop one that is none, and is Python, is run there."""
        at_stop = self.cursor.at_stop
        try:
            # `m = 3` is not the command that begins with m.
            return parse_line(f"print {line}" if at_stop and _ASSIGNS.match(line) else line)
        except CommandError:
            if at_stop and not line.isidentifier():
                with contextlib.suppress(SyntaxError, ValueError):
                    compile(line, "<console>", "exec")
                    return parse_line(f"print {line}")
            raise

    def _leave(self) -> int:
        """End the session, and say where the recording is."""
        self._leaving = True
        path = self.turns.first.folder or self.session.recording_path
        code = self._ended.status.shell_code if self._ended is not None else 0
        self.turns.end_program(_QUIT_SECONDS)
        if path:
            with contextlib.suppress(BrokenPipeError):
                self.screen.say(f"the recording is in {path}")
        if self._failed:
            first = self._failed[0] + (", …" if len(self._failed) > 1 else "")
            many = plural(len(self._failed), "command")
            say(f"stepper console: {many} could not be carried out: {first}", sys.stderr)
        return code or int(bool(self._failed))

    # -- what commands use ---------------------------------------------------------------------

    @property
    def recording(self) -> Recording:
        """The recording.

        Raises:
            CommandError: there is none (yet).
        """
        recording = self.session.recording
        if recording is None:
            raise CommandError(self.so_far("there is no recording yet"))
        return recording

    def so_far(self, text: str) -> str:
        """A sentence that ends in `yet`, without that where nothing more comes."""
        return so_far(text, final=not self.session.growing)

    @property
    def state(self) -> State:
        """Everything at the cursor.

        Raises:
            CommandError: there is no moment yet.
        """
        state = self.cursor.state
        if state is None:
            raise CommandError(
                self.cursor.to_newest().text or self.so_far("there is no moment yet")
            )
        return state

    @property
    def frame(self) -> FrameState:
        """The selected symbolic frame."""
        return self.state.frames[self.selected]

    def show(self, move: Move, before: int = 0, *, far: bool = False) -> None:
        """Show where a movement has led, or wait while the program runs: see `wait`.

        Raises:
            CommandError: the movement was refused.
        """
        if move.kind == "refused":
            raise CommandError(move.text)
        if move.kind == "running":
            self.wait(far=far)
            return
        self.selected = -1
        if move.breakpoint is not None:
            self.screen.say(move.text, "bold")
        elif move.text:
            self.screen.say(move.text)
        self._stop_shown(before, move.breakpoint)

    def _stop_shown(self, before: int, hit: Breakpoint | None) -> None:
        """Show a place, and have done what is to be done there."""
        to_do = self.at_breakpoint.get(hit.id, []) if hit is not None else []
        self._to_do = collections.deque(each for each in to_do if each != "silent")
        if to_do[:1] != ["silent"]:
            self.screen.lines(stop_lines(self.cursor, before))
        evaluating.show_displays(self)

    def answer(self, response: Response) -> None:
        """Print what the program's side answered to a request.

        Raises:
            CommandError: it refused.
        """
        if response.printed:
            self.screen.program(response.printed)
        if not response.ok:
            raise CommandError(response.text)
        if response.text:
            self.screen.say(response.text)

    def turn_to(self, session: Session) -> None:
        """Show another process, and have commands be about it."""
        breakpoints = self.session.breakpoints
        self.session, self.cursor = session, self.turns.turn_to(session)
        self.selected, self.chain = -1, []
        title = process_title(session) if self.turns.watch is not None else ""
        title = title or title_in_session(session.recording_path)
        self.screen.say(f"now: {title}", "bold")
        if self.turns.watch is None:  # else all processes have the same ones
            session.set_breakpoints(breakpoints)
        if session.stopped is not None:
            self._stopped(session.stopped)
        elif session.live:
            self.screen.say("it runs; c waits for it")
        elif self.cursor.position:
            self._stop_shown(0, None)
        else:
            self.screen.say(nothing_translated(self.session.recording))

    def wait(self, *, far: bool = False) -> None:
        """Show the program's output until it stops or ends. Ctrl-C asks for a stop at the next
        moment; a second one goes to the program.

        Args:
            far: whether the stop of another process is as good; else that is gone to when this one
                does not come to its own, as where it waits for the other.
        """
        self.turns.runs(self.session, far=far)
        interrupts = 0
        while True:
            try:
                self._take_events(waits=True)
                other = self.turns.other()
                if other is not None:
                    self.turn_to(other)
                if self.turns.settled:
                    return
                self._idle()
            except KeyboardInterrupt:
                interrupts += 1
                if self.session.attached:
                    continue  # the terminal has sent it to the program as well
                if (standing := self.turns.standing()) is not None:
                    self.turn_to(standing)
                    return
                if interrupts == 1 and pause(self.session):
                    self.screen.say("stopping at the next moment; Ctrl-C again interrupts")
                    if awaited := awaited_text(self.session):
                        self.screen.say(f"  {awaited}", "dim")
                else:
                    self.session.interrupt()

    # -- waiting ---------------------------------------------------------------------------------

    def _heard(self, session: Session, event: SessionEvent) -> None:
        """On the session's reading thread."""
        self._events.append((session, event))
        with contextlib.suppress(OSError):
            os.write(self._wake_writer, b"!")

    def _idle(self) -> None:
        """Wait for an event; meanwhile the program gets what is typed when it asks for it."""
        watched, patience = [self._wake_reader], self.turns.patience
        if self._forwarding and self.turns.first.has_terminal and self.turns.first.running:
            if not select.select([self._stdin], [], [], 0)[0]:
                watched.append(self._stdin)
            else:
                if self.turns.first.takes_input:
                    self._forward()
                patience = _ASKS_AGAIN
        ready, _, _ = select.select(watched, [], [], patience)
        if self._wake_reader in ready:
            os.read(self._wake_reader, 4096)

    def _forward(self) -> None:
        """Give the program the next line."""
        line = typed_line(self._stdin).decode(errors="surrogateescape")
        if not line and HangUp().happened:
            self._forwarding = False
        self.turns.first.write_input(line if line.endswith("\n") else line + _END_OF_FILE)

    def _take_events(self, *, waits: bool = False) -> None:
        """Print what has happened. `waits`: a process whose turn it is then is gone to."""
        while self._events:
            session, event = self._events.popleft()
            self.turns.heard(session, event)
            by = "" if session is self.session else f"{process_title(session)}: "
            match event:
                case OutputArrived(text=text):
                    if not self._leaving:
                        self.screen.program(text)
                case Stopped() as stopped if not by:
                    self._stopped(stopped)
                case Stopped() as stopped if not (waits and self.turns.other() is session):
                    self.screen.say(f"{by}{standing_text(session, stopped)}", "bold")
                case Ended() as ended if session is self.turns.first:
                    self._over(ended)
                case Ended() as ended if not (by or self._leaving):
                    self.screen.say(f"{process_title(session)} {ended.status.sentence}", "bold")
                case Notice(text=text):
                    self.screen.say(f"note: {by}{text}")
                case BreakpointChanged(id=number, text=text) if text:
                    self.screen.say(f"note: {by}breakpoint {number}: {text}")
                case _:
                    pass

    def _stopped(self, stopped: Stopped) -> None:
        before = self.cursor.position
        self.selected = -1
        arrived = self.cursor.arrived()
        reason = stopped.reason
        hit = next((b for b in self.session.breakpoints if b.id == stopped.breakpoint), None)
        if hit is not None:
            reason = f"breakpoint {hit.id}: {hit}"
        silent = hit is not None and self.at_breakpoint.get(hit.id, [])[:1] == ["silent"]
        if reason != "step" and not silent:
            self.screen.say(f"stopped: {reason}", "bold")
        if reason == "entry" and self.turns.first.processes is not None:
            self.screen.lines(_ENTRY_OF_MANY)
        if stopped.text and (hit is None or stopped.text != str(hit)):
            self.screen.lines(f"  {line}" for line in stopped.text.strip().splitlines())
        if stopped.moment > self.cursor.newest:
            self.screen.say(arrived.text, "bold")
        self._stop_shown(before if stopped.reason == "step" else 0, hit)

    def _over(self, ended: Ended) -> None:
        self._ended = ended
        if self._leaving:
            return
        self.screen.say(f"the program {ended.status.sentence}", "bold")
        if self.session.attached or self.session is not self.turns.first:
            return
        self.cursor.to_newest()
        if self.cursor.newest:
            self.screen.say(
                f"{plural(self.cursor.newest, 'moment')} recorded: look around, step back, or q"
            )
        elif self.session.recording_path:
            self.screen.say(nothing_translated(self.session.recording))
            recording = self.session.recording
            events = recording.events(kinds=(EventKind.NOTE,)) if recording is not None else []
            self.screen.lines(f"  {event.text}" for event in events)


def _stdin_descriptor() -> int:
    """The number of stdin's descriptor; -1 when there is none."""
    try:
        return sys.stdin.fileno() if sys.stdin is not None else -1
    except (OSError, ValueError):
        return -1
