"""Moving through the recording: by keys, to events, to what a search or an answer leads to."""

from __future__ import annotations

import time

from stepper.client.cursor import Move
from stepper.client.names import program_name
from stepper.client.text import plural, so_far
from stepper.model.stepping import Motion
from stepper.model.trace import EventKind, MomentId
from stepper.tui.dialogs import EventScreen
from stepper.tui.home import HomeScreen
from stepper.tui.lines import Lines
from stepper.tui.panes.output import OutputPane
from stepper.tui.panes.source import SourcePane
from stepper.tui.prompt import Prompt
from stepper.tui.questions import comparisons, of_the_run
from stepper.tui.search_screen import SearchScreen
from stepper.tui.stage import Stage
from stepper.tui.trying import Trying
from stepper.tui.why_screen import WhyScreen

RUNS = "runs; Ctrl-C stops it, f follows"


class Moving(Stage):
    """Takes the cursor from place to place, and asks where there is something to go to."""

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
            self._watch(RUNS)
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
        self._tell(self.cursor.to_newest())
        self._following = follows
        if follows:
            self._watch("follows the recording; any other movement stays")

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
            nothing = so_far("no event has been recorded yet", final=not self.session.growing)
            self.say(nothing, "warning")
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
            if here:
                asked += comparisons(recording, here, self.cursor.came_from)
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
