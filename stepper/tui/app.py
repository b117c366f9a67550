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
from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from stepper.client.cursor import Cursor
from stepper.client.events import Ended, OutputArrived, SessionEvent
from stepper.client.hang_up import HangUp
from stepper.client.names import brief_breakpoint
from stepper.client.processes import pause
from stepper.client.session import Session
from stepper.model.breakpoint import Breakpoint
from stepper.model.control import BreakpointChanged, Hello, Moved, Notice, Running, Stopped
from stepper.recording.errors import RecordingError
from stepper.tui.beside import screen_drawn, screen_first
from stepper.tui.commands import commands
from stepper.tui.desk import PANE_KEYS, Desk
from stepper.tui.dialogs import Leaving, PresetScreen, QuitScreen
from stepper.tui.headline import OTHERS, STOPS, ending
from stepper.tui.kept_screen import KeptScreen
from stepper.tui.keys import bindings
from stepper.tui.lines import Lines
from stepper.tui.moving import RUNS, Moving
from stepper.tui.pane import Pane
from stepper.tui.presets import preset_named
from stepper.tui.prompt import Prompt
from stepper.tui.turning import happened_elsewhere

_LOOKS_FOR_TERMINAL = 1.0
"""Seconds between two looks whether the terminal is still there."""

_TICK = 0.1
"""Seconds between two looks at a recording that this session's program writes."""

_FAR_TICK = 1.0
"""Seconds between two looks at a recording that another process writes."""


_LONG = 0.5
"""Seconds from which on Ctrl-C goes to what the program was asked to do. Not at once: when it had
been done in time, the interrupt would end the program."""


class StepperApp(Moving):
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

    class FromSession(Message):
        """An event of the session, carried over from its reader thread."""

        def __init__(self, session: Session, event: SessionEvent) -> None:
            super().__init__()
            self.session = session
            self.event = event

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
        self.desk.use(self.desk.preset)
        if (processes := self.program.processes) is not None:
            self._unsubscribe = processes.subscribe(self._arrived)
        else:
            self._unsubscribe = self.program.subscribe(partial(self._arrived, self.program))
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

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            screen_first()
            self.call_after_refresh(screen_drawn)
        await super().on_event(event)

    def on_load(self) -> None:
        self._collector.start()

    def on_ready(self) -> None:
        self._collector.set_aside()

    def on_unmount(self) -> None:
        self._collector.stop()
        self._unsubscribe()
        self._tries.give_up()

    def _arrived(self, session: Session, event: SessionEvent) -> None:
        """On the session's reader thread: hand the event over, and nothing else."""
        self.post_message(self.FromSession(session, event))

    # What the session tells

    async def on_stepper_app_from_session(self, message: FromSession) -> None:
        event = message.event
        if isinstance(event, OutputArrived):
            for desk in (self.desk, *(left.desk for left in self.left.values())):
                desk.panes["output"].on_session_event(event)
            return
        if message.session is not self.session:
            await happened_elsewhere(self, message.session, event)
            return
        for pane in self.desk.panes.values():
            pane.on_session_event(event)
        match event:
            case Stopped():
                self._frame = self._stopping = None
                others = OTHERS if event.reason == "entry" and self.program.processes else ""
                told = event.text or STOPS.get(event.reason, "")
                self._tell(self.cursor.arrived(), f"{told}{others}")
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
                    self._watch(RUNS)
            case _:
                pass
        self._set_timer()
        self.renew()

    def turned(self, session: Session, cursor: Cursor, desk: Desk) -> None:
        """Another process is looked at from now on."""
        self.session, self.cursor, self.desk = session, cursor, desk
        self._frame, self._banner_hidden, self._following = None, False, False
        self._newer_at = time.monotonic()
        self.say()
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
            tuple(session.breakpoints),
            session.recording,
            live=session.live,
            hits=session.hits,
            moment=self.cursor.position,
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

    def action_jump(self) -> None:
        from stepper.tui.forking import jump

        jump(self)

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
        if self._stopping is session:
            session.interrupt()
            self.say("Ctrl-C sent to the program")
        else:
            pause(session)
            self._asked_where = session.locate()
            self._watch("stops at its next moment; Ctrl-C again: to the program")
            self._stopping = session

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
        processes = self.program.processes
        if not (self.program.live if processes is None else processes.live):
            self.exit(0)
            return

        def answered(answer: Leaving | None) -> None:
            if answer in ("kill", "detach"):
                self.leaving = answer
                self.exit(0)

        self.push_screen(QuitScreen(), answered)
