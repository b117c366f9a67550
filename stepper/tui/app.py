"""The application: it owns the session's cursor, makes a snapshot for each place, and hands it to
the panes.

What flows where. The session's reader thread posts its events here as messages and does nothing
else. Keys and the requests of panes become moves of the cursor; each move makes one `Snapshot`, the
one watched attribute of the application; its watcher hands it to the desk, and the desk to the
panes that can be seen. Nothing polls, except for a light timer while the recording grows.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.filter import LineFilter
from textual.message import Message
from textual.reactive import var
from textual.screen import ModalScreen, Screen
from textual.timer import Timer
from textual.widgets import Input

from stepper.client.cursor import Cursor, Move
from stepper.client.events import Ended, OutputArrived, SessionEvent
from stepper.client.names import brief_breakpoint, program_name
from stepper.client.session import Session
from stepper.client.text import plural
from stepper.model.breakpoint import Breakpoint
from stepper.model.control import BreakpointChanged, Hello, Moved, Notice, Running, Stopped
from stepper.model.stepping import Motion
from stepper.model.trace import EventKind, MomentId
from stepper.recording.errors import RecordingError
from stepper.tui.activity import activity
from stepper.tui.collector import Collector
from stepper.tui.commands import commands
from stepper.tui.desk import PANE_KEYS, Desk
from stepper.tui.dialogs import EventScreen, Leaving, PresetScreen, QuitScreen
from stepper.tui.footer import footer
from stepper.tui.hang_up import HangUp
from stepper.tui.headline import STOPS, ending, header
from stepper.tui.home import HomeScreen, Overviews
from stepper.tui.kept_screen import KeptScreen
from stepper.tui.keys import bindings
from stepper.tui.lines import Lines
from stepper.tui.oneline import OneLine
from stepper.tui.pane import Pane
from stepper.tui.panes.output import OutputPane
from stepper.tui.panes.source import SourcePane
from stepper.tui.presets import preset_named
from stepper.tui.prompt import Prompt
from stepper.tui.questions import ON_IDLE, ON_TIME, comparisons, of_the_run
from stepper.tui.registry import all_panes
from stepper.tui.search_screen import Searched, SearchScreen
from stepper.tui.snapshot import Snapshot, Status
from stepper.tui.trying import Tries, Trying
from stepper.tui.why_screen import WhyScreen
from stepper.tui.workarounds import (
    Printable,
    PromptKeys,
    QuietScreen,
    keep_strips_free_of_cycles,
)

_PRINTABLE = Printable()
_LOOKS_FOR_TERMINAL = 1.0
"""Seconds between two looks whether the terminal is still there."""

_TICK = 0.1
"""Seconds between two looks at a recording that this session's program writes."""

_FAR_TICK = 1.0
"""Seconds between two looks at a recording that another process writes."""

_RUNS = "runs; Ctrl-C stops it, G follows"

_TWICE = 2.0
"""Seconds within which a second Ctrl-C goes to the program."""


_LONG = 0.5
"""Seconds from which on Ctrl-C goes to what the program was asked to do. Not at once: when it had
been done in time, the interrupt would end the program."""


class StepperApp(PromptKeys[int]):
    """The debugger on a terminal."""

    TITLE = "stepper"
    ENABLE_COMMAND_PALETTE = True
    CSS = """
    Screen { layout: vertical; }
    #header { background: $panel; }
    #status { background: $panel; }
    #banner { background: $error 30%; display: none; }
    #banner.-shown { display: block; }
    #banner:ansi { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(PANE_KEYS)

    snapshot: var[Snapshot | None] = var(None, always_update=True, init=False)
    """The picture that all panes draw. A `var`: a `reactive` would redraw the whole screen."""

    class FromSession(Message):
        """An event of the session, carried over from its reader thread."""

        def __init__(self, event: SessionEvent) -> None:
            super().__init__()
            self.event = event

    def __init__(
        self,
        session: Session,
        *,
        theme: str = "",
        at: int | None = None,
        why: str = "",
        home: bool = False,
        kept: Path | None = None,
    ) -> None:
        """
        Args:
            session: what to look at.
            theme: name of a Textual theme; empty: the default.
            at: moment of a recording to begin at; None: the first, or the newest when the program
                that wrote it did not end in order.
            why: the reason for looking, said until the first key; empty: none.
            home: whether the run as a whole is shown first, and again when the program has ended.
            kept: where it is kept how the user has the screen; None: nowhere.
        """
        keep_strips_free_of_cycles()
        super().__init__()
        self.session = session
        self.cursor = Cursor(session)
        self.desk = Desk(all_panes())
        self._kept = kept
        if kept is not None:
            known = KeptScreen.read(kept)
            self.desk.preset, self.desk.shares = preset_named(known.preset), known.shares
        # Held, and not queried: while a dialog is open, queries see the dialog only.
        self._header = OneLine(id="header")
        self._banner = OneLine(id="banner")
        self._status_line = OneLine(id="status")
        self.leaving: Leaving | None = None
        """What the user wants done with a living program after the application has ended."""
        self.other = ""
        """Path of the recording to go on with, of another process of the session folder."""
        self._begin_at = at
        self._why = why
        self._home = home
        self._said = False
        """Whether the status line says something, in the place of keys."""
        self._searched = Searched()
        self._watches = ""
        """What the status line says first while the program runs; empty: something else is said."""
        self._newer_at = time.monotonic()
        """When there was a newer moment last."""
        self._overviews = Overviews()
        self._frame: int | None = None
        self._repeat = (Motion.STEP, 1)
        self._event_kind: EventKind | None = None
        self._timer: Timer | None = None
        self._last_interrupt = 0.0
        self._banner_hidden = False
        self._evaluated = 0
        self._collector = Collector()
        self._tries = Tries(self)
        self._following = False
        """Whether each newer moment of a growing recording is shown as it comes."""
        if theme:
            self.theme = theme

    def get_line_filters(self) -> Sequence[LineFilter]:
        return (*super().get_line_filters(), _PRINTABLE)

    def get_default_screen(self) -> Screen[None]:
        return QuietScreen(id="_default")

    def compose(self) -> ComposeResult:
        yield self._header
        yield self.desk
        yield self._banner
        yield self._status_line
        yield Prompt()

    def on_mount(self) -> None:
        self.say()
        move = self.cursor.begin(self._begin_at)
        if move is not None:
            self._tell(move)
        recording = self.session.recording
        if self._why:
            self.say(self._why, "error")
        elif recording is not None and recording.aside:
            self.say(recording.aside, "warning")
        self.renew()
        self.desk.reveal("source")
        self._unsubscribe = self.session.subscribe(self._arrived)
        self._set_timer()
        if self._home and not self._goes_on:
            self.action_home()
        if not self.is_headless:
            hang_up = HangUp()
            self.set_interval(_LOOKS_FOR_TERMINAL, lambda: self._leave_if(hang_up.happened))

    def _leave_if(self, hung_up: bool) -> None:
        """End, and with us the program, when nobody can see us any more."""
        if hung_up:
            self.leaving = "kill"
            self.exit(0)

    def on_ready(self) -> None:
        self._collector.start()

    def on_unmount(self) -> None:
        self._collector.stop()
        self._unsubscribe()
        self._tries.give_up()

    def _arrived(self, event: SessionEvent) -> None:
        """On the session's reader thread: hand the event over, and nothing else."""
        self.post_message(self.FromSession(event))

    # The picture

    def renew(self) -> None:
        """Make a new picture of the place where the cursor is."""
        self._collector.busy()
        session = self.session
        self.snapshot = Snapshot(
            session.recording,
            self.cursor.position,
            status=self._status(),
            frame=self._frame,
            newest=self.cursor.newest,
            breakpoints=tuple(session.breakpoints),
            stopped=session.stopped,
            evaluated=self._evaluated,
            ended=session.exit_status.sentence if session.exit_status else "",
        )

    @property
    def _goes_on(self) -> bool:
        """Whether more can be recorded."""
        return self.session.live or self.session.growing

    def _status(self) -> Status:
        session = self.session
        if session.live:
            if session.stopped is not None:
                return Status.STOPPED
            return Status.RUNNING if session.hello is not None else Status.STARTING
        return Status.RECORDING if session.growing else Status.ENDED

    def watch_snapshot(self, snapshot: Snapshot | None) -> None:
        """Hand the picture to everything that draws."""
        if snapshot is None:
            return
        recording = snapshot.recording
        name = program_name(recording.facts if recording else None)
        self._header.say(*header(snapshot, name))
        banner = self._banner
        text = ending(snapshot)
        if text:
            banner.say((f" {text}", ""), ("  Esc hides this", "dim"))
        banner.set_class(bool(text) and not self._banner_hidden, "-shown")
        self.desk.receive(snapshot)
        self._show_keys()

    def say(self, text: str = "", role: str = "") -> None:
        """Say something on the status line; nothing: show the most useful keys."""
        self._said, self._watches = bool(text), ""
        if text:
            self._status_line.say((f" {text}", role))
        else:
            self._show_keys()

    def _show_keys(self) -> None:
        snapshot = self.snapshot
        if snapshot is None or self._said or len(self.screen_stack) > 1:
            return
        back = self.cursor.came_from is not None
        pane, width = self.desk.focused_pane(), self.size.width
        self._status_line.say(*footer(self.screen, snapshot, pane, back=back, width=width))

    def on_desk_focused(self) -> None:
        self._show_keys()

    def on_resize(self) -> None:
        self._show_keys()

    # What the session tells

    def on_stepper_app_from_session(self, message: FromSession) -> None:
        event = message.event
        for pane in self.desk.panes.values():
            pane.on_session_event(event)
        match event:
            case OutputArrived():
                return
            case Stopped():
                self._frame = None
                self._tell(self.cursor.arrived(), event.text or STOPS.get(event.reason, ""))
            case BreakpointChanged() | Notice():
                if event.text:
                    self.say(event.text, "warning")
            case Ended():
                self._frame = None
                self.cursor.to_newest()
                self.say()
                self._go_home()
            case Hello() | Moved() | Running():
                self.cursor.refresh()
                if self.session.running and not self._said:
                    self._watch(_RUNS)
            case _:
                pass
        self._set_timer()
        self.renew()

    def on_console_pane_answered(self) -> None:
        # What was evaluated may have changed the program, and things may have been recorded.
        self._evaluated += 1
        self.cursor.refresh()
        self.renew()

    def _set_timer(self) -> None:
        """Look for newer moments as long as there can be any."""
        wanted = self.session.running or (self.session.growing and not self.session.live)
        if wanted and self._timer is None:
            self._timer = self.set_interval(
                _TICK if self.session.live else _FAR_TICK, self._look_for_more
            )
        elif not wanted and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _look_for_more(self) -> None:
        try:
            newer = self.cursor.refresh()
        except RecordingError as error:
            self.say(str(error), "error")
            return
        if newer:
            self._newer_at = time.monotonic()
            if self._following or not (self.cursor.position or self.session.live):
                self.cursor.to_newest()
            self.renew()
        if self._watches and self.session.running:
            self._watch(self._watches)
        self._set_timer()

    def _watch(self, first: str) -> None:
        """Say what the running program does, and go on saying it."""
        quiet = time.monotonic() - self._newer_at
        since = self.session.compiles_since
        happens = activity(
            self.session.recording,
            quiet,
            compiles=None if since is None else time.monotonic() - since,
            waits=self.session.waits_for_input,
        )
        self._said, self._watches = True, first
        self._status_line.say((f" {first}", ""), (f"  {happens}" if happens else "", "dim"))

    # Movement

    def action_move(self, motion: str, direction: int) -> None:
        focused = self.focused
        if motion == "next" and isinstance(focused, Lines) and focused.searched:
            focused.find(focused.searched, direction)
            return
        self._repeat = (Motion(motion), direction)
        self._move()

    def _move(self) -> None:
        motion, direction = self._repeat
        line = self._until_line() if motion is Motion.UNTIL and direction > 0 else None
        self._tell(self.cursor.move(motion, direction, line=line))

    def _until_line(self) -> int | None:
        """In the source pane, `until` goes to the cursor's line when that is further down."""
        pane = self.desk.focused_pane()
        return pane.line_further_down() if isinstance(pane, SourcePane) else None

    def _tell(self, move: Move, text: str = "") -> None:
        """Show what became of a move."""
        self._following = False
        if move.kind == "refused":
            self.say(move.text, "warning")
            self.renew()
            return
        if move.kind == "moved":
            self._frame = None
        self.say(move.text or text)
        if move.kind == "running" and not move.text:
            self._newer_at = time.monotonic()
            self._watch(_RUNS)
        self.renew()

    def action_enter(self) -> None:
        focused = self.focused
        if not (isinstance(focused, Lines) and focused.enter()):
            self._move()

    def action_goto(self) -> None:
        self.query_one(Prompt).ask("go to moment, +N, -N or percent%:", self._goto)

    def _goto(self, text: str) -> None:
        if text.strip():
            self._tell(self.cursor.goto_written(text))

    def action_newest(self) -> None:
        follows = self.session.running or (self.session.growing and not self.session.live)
        text = "follows the recording as it grows; any other movement stays" if follows else ""
        self._tell(self.cursor.to_newest(), text)
        self._following = follows

    def action_search_all(self) -> None:
        recording = self.session.recording
        if recording is not None and len(self.screen_stack) == 1:
            screen = SearchScreen(recording, self._searched, over=not self._goes_on)
            self.push_screen(screen, self._go_to_hit)

    def _go_to_hit(self, moment: MomentId | None) -> None:
        if moment is not None:
            self._tell(self.cursor.goto(moment), "Backspace returns, Ctrl-F shows the hits again")

    def action_return_back(self) -> None:
        self._tell(self.cursor.back())

    def action_return_forward(self) -> None:
        self._tell(self.cursor.forward())

    def action_event(self, direction: int) -> None:
        if self._event_kind is None:
            self._choose_event(direction)
        else:
            self.to_event(self._event_kind, direction)

    def to_event(self, kind: EventKind, direction: int) -> None:
        """Go to the nearest event of a kind, which `.` and `,` then go on with."""
        self._event_kind = kind
        self._tell(self.cursor.to_event((kind,), direction))

    def action_choose_event(self) -> None:
        self._choose_event(0)

    def _choose_event(self, direction: int) -> None:
        """Let the user choose a kind of event, and go to the next one (0: only choose)."""
        counts = self.cursor.event_counts()
        if not counts:
            self.say("nothing has happened yet", "warning")
            return

        def chosen(kind: EventKind | None) -> None:
            if kind is not None:
                self._event_kind = kind
                self.say(f". and , go to: {kind}")
                if direction:
                    self.action_event(direction)

        self.push_screen(EventScreen(counts, self._event_kind), chosen)

    def _go_home(self) -> None:
        """Show what the run was about, when it is over and nothing else is open."""
        if self._home and self.cursor.newest and len(self.screen_stack) == 1:
            self.call_after_refresh(self.action_home)

    def action_home(self) -> None:
        recording, output = self.session.recording, self.desk.panes["output"]
        if recording is None or isinstance(self.screen, HomeScreen):
            return
        assert isinstance(output, OutputPane)
        status = self.session.exit_status
        ended = status.sentence if status else recording.ended or ""
        words = (program_name(recording.facts), self._status(), ended)
        title = "  ".join([*filter(None, words), plural(recording.newest, "moment")])
        screen = HomeScreen(
            recording,
            self._overviews,
            title=title,
            output=output.last_lines(),
            over=not self._goes_on,
            why=self.action_why,
        )
        self.push_screen(screen, self._go_from_home)

    def _go_from_home(self, moment: MomentId | None) -> None:
        if moment is not None:
            self._tell(self.cursor.goto(moment), "~ shows the run again")

    def action_why(self) -> None:
        recording = self.session.recording
        if recording is not None:
            here = self.cursor.position
            pane = self.desk.focused_pane()
            asked = pane.questions_here() if pane else []
            asked += of_the_run(recording, here)
            if recording.facts.capabilities.carries_guards:
                asked.append(ON_IDLE)
            if here:
                asked += comparisons(recording, here, self.cursor.came_from)
            asked.append(ON_TIME)
            growing = self.session.growing
            screen = WhyScreen(recording, asked, self._tries, here, growing=growing)
            self.push_screen(screen, self._go_there)

    def on_trying_over(self, message: Trying.Over) -> None:
        self._tries.over(message)
        trying = message.trying
        shown = [screen for screen in self.screen_stack if isinstance(screen, WhyScreen)]
        if shown:
            shown[0].over(trying)
        elif trying.given_up:
            self.say("given up: the program was killed")
        else:
            self.say(f"{trying.question.title}: it has been tried, W shows what came of it")

    def _go_there(self, moment: MomentId | None) -> None:
        if moment is not None:
            self._tell(self.cursor.goto(moment), "Backspace returns")

    # Breakpoints and the running program

    def action_toggle_breakpoint(self) -> None:
        pane = self.desk.focused_pane()
        breakpoint = pane.breakpoint_here() if pane else None
        if breakpoint is None:
            where = "the source or bytecode pane"
            self.say(f"no breakpoint here: put the cursor on a row of {where}", "warning")
        else:
            self._toggle(breakpoint)

    def _toggle(self, breakpoint: Breakpoint) -> None:
        place = (breakpoint.kind, breakpoint.pattern, breakpoint.number)
        old = self.session.breakpoints
        kept = [b for b in old if (b.kind, b.pattern, b.number) != place]
        if len(kept) < len(old):
            self._set_breakpoints(kept, f"breakpoint removed: {brief_breakpoint(breakpoint)}")
        else:
            text = f"breakpoint set: {brief_breakpoint(breakpoint)}; B lists all"
            self._set_breakpoints([*old, breakpoint], text)

    def _set_breakpoints(self, breakpoints: Iterable[Breakpoint], text: str) -> None:
        self.session.set_breakpoints(breakpoints)
        self.say(text)
        self.renew()

    def action_breakpoints(self) -> None:
        from stepper.tui.breakpoints_dialog import BreakpointsScreen

        def changed(breakpoints: tuple[Breakpoint, ...] | None) -> None:
            if breakpoints is not None:
                self._set_breakpoints(breakpoints, f"breakpoints: {len(breakpoints)}")

        session = self.session
        screen = BreakpointsScreen(
            tuple(session.breakpoints), session.recording, live=session.live, hits=session.hits
        )
        self.push_screen(screen, changed)

    def action_decide(self) -> None:
        from stepper.tui.deciding import decide

        decide(self)

    def action_processes(self) -> None:
        from stepper.tui.processes_dialog import choose

        choose(self)

    def action_fork(self) -> None:
        from stepper.tui.forking import fork

        fork(self)

    def action_pause(self) -> None:
        session = self.session
        if not session.running:
            if session.live and session.owes(_LONG):
                session.send_signal(signal.SIGINT)  # not by its terminal, which would echo it
                self.say("Ctrl-C sent to what the program was asked to do")
                return
            what = "stands still already" if session.live else "is over"
            self.say(f"nothing to interrupt: the program {what}; q quits", "warning")
            return
        now = time.monotonic()
        if now - self._last_interrupt < _TWICE:
            session.interrupt()
            self.say("Ctrl-C sent to the program")
        else:
            session.pause()
            self._watch("stops at its next moment; Ctrl-C again: to the program")
        self._last_interrupt = now

    def action_terminate(self) -> None:
        if self.session.live:
            self.session.terminate()
            self.say("KeyboardInterrupt raised in the program")
        else:
            self.say("the program is over already", "warning")

    # What panes ask for

    def on_pane_goto(self, message: Pane.Goto) -> None:
        self._tell(self.cursor.goto(message.moment), message.why)

    def on_pane_goto_origin(self, message: Pane.GotoOrigin) -> None:
        if message.of == "node":
            move = self.cursor.to_node(str(message.ref))
        elif message.of == "guard":
            move = self.cursor.to_guard(int(message.ref))
        else:
            move = self.cursor.to_value(int(message.ref))
        self._tell(move, "the instruction that made it; Backspace returns")

    def on_pane_select_frame(self, message: Pane.SelectFrame) -> None:
        self._frame = message.index
        self.renew()

    def action_select_frame(self, direction: int) -> None:
        snapshot = self.snapshot
        if snapshot is None or snapshot.state is None:
            return
        wanted = snapshot.frame_index + direction
        if 0 <= wanted < len(snapshot.state.frames):
            self._frame = wanted
            self.renew()
        else:
            end = "outermost" if direction < 0 else "innermost"
            self.say(f"this is the {end} symbolic frame", "warning")

    def on_pane_toggle_breakpoint(self, message: Pane.ToggleBreakpoint) -> None:
        self._toggle(message.breakpoint)

    def on_pane_set_breakpoints(self, message: Pane.SetBreakpoints) -> None:
        self._set_breakpoints(message.breakpoints, f"breakpoints: {len(message.breakpoints)}")

    def on_pane_reveal(self, message: Pane.Reveal) -> None:
        self.action_reveal(message.name)

    def on_lines_say(self, message: Lines.Say) -> None:
        self.say(message.text)

    # Looking around

    def action_reveal(self, name: str) -> None:
        if name in self.desk.panes:
            self.desk.reveal(name)

    def action_console(self) -> None:
        self.action_reveal("console")

    def action_focus_pane(self, direction: int) -> None:
        if direction > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_zoom(self) -> None:
        self.say(self.desk.toggle_zoom())

    def action_grow(self, direction: int) -> None:
        self.say(self.desk.grow(direction, wider=False))
        self._keep()

    def action_widen(self, direction: int) -> None:
        self.say(self.desk.grow(direction, wider=True))
        self._keep()

    def action_choose_preset(self) -> None:
        def chosen(name: str | None) -> None:
            if name is not None:
                self.action_preset(name)

        self.push_screen(PresetScreen(self.desk.preset.name), chosen)

    def action_preset(self, name: str) -> None:
        preset = preset_named(name)
        self.desk.use(preset)
        self.say(f"{preset.name}: {preset.help}")
        self._keep()

    def _keep(self) -> None:
        if self._kept is not None:
            KeptScreen(self.desk.preset.name, self.desk.shares).write(self._kept)

    def action_escape(self) -> None:
        focused = self.focused
        prompt = next((p for p in self.screen.query(Prompt) if p.is_open), None)
        if prompt is not None:
            prompt.leave()
        elif isinstance(focused, Input):
            self.desk.reveal("source")
        elif isinstance(focused, Lines) and focused.searched:
            focused.end_search()
        elif self.snapshot is not None and ending(self.snapshot) and not self._banner_hidden:
            self._banner_hidden = True
            self.renew()
        self.say()

    # Help, commands, the end

    def action_help(self) -> None:
        from stepper.tui.help_screen import HelpScreen
        from stepper.tui.keys import help_entries

        panes = {name: (PANE_KEYS[name], pane.HELP) for name, pane in self.desk.panes.items()}
        self.push_screen(HelpScreen(help_entries(panes)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        from stepper.tui.verbs import verbs

        yield from commands(self, screen)
        if not isinstance(screen, ModalScreen):
            yield from verbs(self)

    async def action_quit(self) -> None:
        if isinstance(self.screen, QuitScreen):
            return
        if not self.session.live:
            self.exit(0)
            return

        def answered(answer: Leaving | None) -> None:
            if answer in ("kill", "detach"):
                self.leaving = answer
                self.exit(0)

        self.push_screen(QuitScreen(), answered)
