"""The screen around the panes: header, banner and status line, the picture of a moment that all
panes draw, and what is said when there is nothing to draw."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from textual.app import ComposeResult
from textual.filter import LineFilter, Monochrome, NoColor
from textual.reactive import var
from textual.screen import Screen
from textual.timer import Timer

from stepper.analysis.activity import activity
from stepper.analysis.live_processes import place_of, process_title
from stepper.analysis.processes import title_in_session
from stepper.client.cursor import Cursor
from stepper.client.names import program_name
from stepper.client.session import Session
from stepper.model.control import Position, Response
from stepper.model.stepping import Motion
from stepper.model.trace import EventKind
from stepper.tui.collector import Collector
from stepper.tui.desk import Desk
from stepper.tui.dialogs import Leaving
from stepper.tui.footer import footer
from stepper.tui.headline import ending, header
from stepper.tui.home import Overviews
from stepper.tui.kept_screen import KeptScreen
from stepper.tui.oneline import OneLine
from stepper.tui.presets import preset_named
from stepper.tui.prompt import Prompt
from stepper.tui.registry import all_panes
from stepper.tui.search_screen import Searched
from stepper.tui.snapshot import Snapshot, Status
from stepper.tui.trying import Tries
from stepper.tui.turning import Left
from stepper.tui.workarounds import (
    Printable,
    PromptKeys,
    QuietScreen,
    keep_strips_free_of_cycles,
)

_PRINTABLE = Printable()


class Stage(PromptKeys[int]):
    """The widgets around the panes, the picture that all of them draw, and what is said below."""

    snapshot: var[Snapshot | None] = var(None, always_update=True, init=False)
    """The picture that all panes draw. A `var`: a `reactive` would redraw the whole screen."""

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
        self.program = session
        """What has the terminal: of a program with children, the program itself."""
        self.session = session
        """What is looked at."""
        self.cursor = Cursor(session)
        self.desk = Desk(all_panes())
        self.left: dict[Session, Left] = {}
        """The other processes that have been looked at."""
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
        self._title = "" if session.live else title_in_session(session.recording_path)
        """What is looked at is called so among the processes of its session folder; empty: it is
        alone, or alive."""
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
        self._stopping: Session | None = None
        """Which was asked to stop, and has not come to it yet."""
        self._asked_where: Future[Response] | None = None
        """Where it was when it was asked, as soon as it has answered."""
        self._banner_hidden = False
        self._evaluated = 0
        self._collector = Collector()
        self._tries = Tries(self)
        self._following = False
        """Whether each newer moment of a growing recording is shown as it comes."""
        self._wishes = bool(theme)
        if theme:
            self.theme = theme

    def on_mount(self) -> None:
        # Of a theme's own colours sixteen are left there, of which some are the same, and text is
        # not to be told from what it stands on.
        few = self.console.color_system in ("standard", "windows")
        if few and not self._wishes and not self.is_headless:
            self.theme = "ansi-dark"

    def get_line_filters(self) -> Sequence[LineFilter]:
        found = super().get_line_filters()
        if self.native_ansi_color:
            # Textual looks at the theme that it begins with: greys for the terminal's own colours
            # would all be one.
            found = [NoColor() if isinstance(each, Monochrome) else each for each in found]
        return (*found, _PRINTABLE)

    def get_default_screen(self) -> Screen[None]:
        return QuietScreen(id="_default")

    def compose(self) -> ComposeResult:
        yield self._header
        yield self.desk
        yield self._banner
        yield self._status_line
        yield Prompt()

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
            breakpoints=tuple(session.breakpoints_here),
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
        name = self._title or program_name(recording.facts if recording else None)
        if self.session.started is not None:
            name = process_title(self.session)
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
        pane = self.desk.focused_pane()
        self._status_line.fit(partial(footer, self.screen, snapshot, pane, back))

    def on_desk_focused(self) -> None:
        self._show_keys()

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
        where, asked = "", self._asked_where
        if self._stopping is self.session and asked is not None and asked.done():
            told = asked.result().data
            where = place_of(told) if isinstance(told, Position) else ""
        parts = ((f"  {text}" if text else "", "dim") for text in (where, happens))
        self._status_line.say((f" {first}", ""), *parts)
