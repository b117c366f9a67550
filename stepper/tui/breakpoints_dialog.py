"""The breakpoints: add one by its written form, change it, switch it on and off, remove it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widgets import Input

from stepper.client.breakpoint_words import breakpoint_words
from stepper.client.names import brief_breakpoint
from stepper.client.placing import placed_text
from stepper.client.text import plural
from stepper.model.breakpoint import Breakpoint, BreakpointError, parse_breakpoint
from stepper.model.printing import printable
from stepper.model.trace import MomentId
from stepper.recording.reader import Recording
from stepper.tui.beside import Asked, Beside
from stepper.tui.lines import Lines
from stepper.tui.oneline import OneLine
from stepper.tui.palette import Row, row

_AT_ONCE = 20_000
"""Moments up to which a recording is asked at once; of a longer one, what a breakpoint fits and how
it can go on is found beside the screen, which a key does not wait for."""

_LOOKING = "set; finding out what it fits …"
_LIST_KEYS = "a add  Enter edit  Space on/off  i ignore  o once  d delete  Esc done"
_FIELD_KEYS = "Enter sets it  → takes what is offered  Esc leaves the line"

HELP = (
    _LIST_KEYS,
    "graph-break skip inline restart recompile cache-limit exception",
    "FILE:LINE  function:GLOB  offset:GLOB@N  opcode:NAME",
    "guard:KIND:SOURCE  guard-fail:KIND:SOURCE  node:GLOB",
    "symbol:GLOB  shape-guard:GLOB  specialize:GLOB  data-dependent:GLOB",
    "lookup:FUNCTION  hit  miss  entry  invalidate  evict  execute",
    "behind it  , rank N  , process PID  , if EXPR  , ignore N  , once",
)


_PLACEHOLDER = "write a breakpoint, e.g. graph-break or train.py:42, and press Enter"


class BreakpointInput(Input):
    """The line in which a breakpoint is written."""

    DEFAULT_CSS = """
    BreakpointInput { height: 1; border: none; padding: 0; background: $panel; }
    BreakpointInput:focus { border: none; }
    """


class _Words(Suggester):
    """How a breakpoint that is being written can go on: → takes it."""

    def __init__(self) -> None:
        super().__init__(case_sensitive=False, use_cache=False)
        self.words: list[str] = []

    async def get_suggestion(self, value: str) -> str | None:
        """The shortest that begins with what was typed; None: there is none."""
        return next((word for word in self.words if word.lower().startswith(value)), None)


def _words(recording: Recording | None, moment: MomentId) -> list[str]:
    """How a breakpoint can go on, the shortest first."""
    state = recording.state(moment) if recording is not None and recording.has(moment) else None
    return sorted(map(printable, breakpoint_words(recording, state)), key=len)


class BreakpointsScreen(ModalScreen[tuple[Breakpoint, ...] | None]):
    """Gives back the breakpoints when any was changed, None when all are as they were."""

    DEFAULT_CSS = """
    BreakpointsScreen { align: center middle; }
    BreakpointsScreen Vertical {
        width: 92%; max-width: 100; height: 80%; max-height: 24; border: round $error;
        padding: 0 1; background: $surface;
    }
    BreakpointsScreen Lines, BreakpointsScreen OneLine { background: $surface; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Done", show=False),
        Binding("a,plus", "add", "Add", show=False),
        Binding("enter", "edit", "Edit", show=False),
        Binding("d,delete", "delete", "Delete", show=False),
        Binding("i", "ignore", "Ignore the next hits", show=False),
        Binding("o", "once", "Remove at its first stop", show=False),
        Binding("space", "switch", "On or off", show=False, priority=True),
    ]

    def __init__(
        self,
        breakpoints: tuple[Breakpoint, ...],
        recording: Recording | None = None,
        *,
        live: bool = True,
        hits: Mapping[int, int] | None = None,
        moment: MomentId = 0,
    ) -> None:
        """
        Args:
            breakpoints: those that are set.
            recording: what is known of the program; None: nothing yet.
            live: whether more can come.
            hits: how often each was met, by its number.
            moment: the one that is looked at, whose names are offered.
        """
        super().__init__()
        self._recording = recording
        self._live = live
        self._moment = moment
        self._hits = hits or {}
        self._given = breakpoints
        self._breakpoints = list(breakpoints)
        self._edited: int | None = None
        self._words = _Words()
        self._offers, self._places = Beside(self), Beside(self)
        self._unplaced: tuple[Breakpoint, Breakpoint | None] | None = None
        """One that is set already, and of which it is being found out what it fits; and what it was
        before."""
        self._leaves = False
        """Whether that is waited for to leave."""

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = "breakpoints"
            yield Lines(empty="no breakpoints yet: write the first one below")
            yield OneLine(id="breakpoint-error")
            # What is there is to be changed, not to be typed over.
            yield BreakpointInput(
                placeholder=_PLACEHOLDER, select_on_focus=False, suggester=self._words
            )
            for number, _ in enumerate(HELP):
                yield OneLine(id=f"breakpoint-help-{number}")

    def on_mount(self) -> None:
        for number, text in enumerate(HELP):
            self.query_one(f"#breakpoint-help-{number}", OneLine).say((text, "dim"))
        self._draw()
        self.set_focus(self._lines if self._breakpoints else self._field)
        moment = self._moment
        if (long := self._long) is None:
            self._words.words = _words(self._recording, moment)
        else:
            self._offers.ask(Asked(long, 0, lambda reader: _words(reader, moment), not self._live))

    def on_unmount(self) -> None:
        self._offers.close()
        self._places.close()

    @property
    def _long(self) -> Recording | None:
        """The recording, if it is too long to be asked while a key waits."""
        recording = self._recording
        return recording if recording is not None and recording.newest > _AT_ONCE else None

    def on_descendant_focus(self) -> None:
        keys = _FIELD_KEYS if isinstance(self.focused, Input) else _LIST_KEYS
        self.query_one("#breakpoint-help-0", OneLine).say((keys, "dim"))

    @property
    def _lines(self) -> Lines:
        return self.query_one(Lines)

    @property
    def _field(self) -> BreakpointInput:
        return self.query_one(BreakpointInput)

    def _draw(self, cursor: int | None = None) -> None:
        self._lines.show(len(self._breakpoints), self._row, cursor=cursor)

    def _row(self, index: int) -> Row:
        breakpoint = self._breakpoints[index]
        sign = ("● on  ", "breakpoint") if breakpoint.enabled else ("○ off ", "dim")
        number = f"{breakpoint.id or '-':>3} "
        text = brief_breakpoint(breakpoint)
        hits = self._hits.get(breakpoint.id, 0)
        met = f"  met {plural(hits, 'time')}" if hits else ""
        shown = row(
            (number, "number"), sign, (text, "" if breakpoint.enabled else "dim"), (met, "dim")
        )
        return shown._replace(full=str(breakpoint))

    def _say(self, text: str = "", role: str = "error") -> None:
        self.query_one("#breakpoint-error", OneLine).say((f" {text}" if text else "", role))

    # Keys

    def _chosen(self) -> int | None:
        """The row that a key is about; None, and a word about it, when there is none."""
        if self._lines.cursor < len(self._breakpoints):
            return self._lines.cursor
        self._say("there is no breakpoint to change: a adds one", "warning")
        return None

    def _change(self, at: int, **facts: object) -> None:
        self._breakpoints[at] = msgspec.structs.replace(self._breakpoints[at], **facts)
        self._say()
        self._draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a breakpoint is written, letters are letters."""
        return action == "leave" or not isinstance(self.focused, Input)

    def action_switch(self) -> None:
        at = self._chosen()
        if at is not None:
            self._change(at, enabled=not self._breakpoints[at].enabled)

    def action_once(self) -> None:
        at = self._chosen()
        if at is not None:
            self._change(at, once=not self._breakpoints[at].once)

    def action_delete(self) -> None:
        at = self._chosen()
        if at is not None:
            removed = self._breakpoints.pop(at)
            self._say(f"removed {brief_breakpoint(removed)}", "dim")
            self._draw(min(at, max(0, len(self._breakpoints) - 1)))

    def action_add(self) -> None:
        self._edit(None, "")

    def action_edit(self) -> None:
        at = self._chosen()
        if at is not None:
            self._edit(at, str(self._breakpoints[at]))

    def action_ignore(self) -> None:
        at = self._chosen()
        if at is not None:
            once = self._breakpoints[at]
            plain = msgspec.structs.replace(once, ignore=0, once=False)
            tail = ", once" if once.once else ""
            self._edit(at, f"{plain}, ignore {once.ignore or ''}{tail}")
            self._field.cursor_position = len(self._field.value) - len(tail)

    def _edit(self, at: int | None, text: str) -> None:
        self._edited = at
        self._field.value = text
        self._field.cursor_position = len(text)
        self.set_focus(self._field)

    def on_lines_activated(self, message: Lines.Activated) -> None:
        self.action_edit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value.strip()
        if not text:
            self.set_focus(self._lines)
            return
        long = self._long
        try:
            parsed = parse_breakpoint(text)
            placed = _LOOKING if long else placed_text(parsed, self._recording, live=self._live)
        except BreakpointError as error:
            self._say(str(error))
            return
        if long is not None:
            find = partial(_placed_or_refused, parsed, live=self._live)
            self._places.ask(Asked(long, 0, find, not self._live))
        at, before = self._edited, None
        same = [msgspec.structs.replace(b, id=0, enabled=True) for b in self._breakpoints]
        if at is None and parsed in same:
            at = same.index(parsed)
            before = self._breakpoints[at]
            placed = "; ".join(filter(None, ("it was set already", placed)))
        elif at is None:
            at = len(self._breakpoints)
            number = max((b.id for b in self._breakpoints), default=0) + 1
            self._breakpoints.append(msgspec.structs.replace(parsed, id=number))
        else:
            before = self._breakpoints[at]
            facts = {"id": before.id, "enabled": before.enabled}
            self._breakpoints[at] = msgspec.structs.replace(parsed, **facts)
        self._unplaced = (self._breakpoints[at], before) if long is not None else None
        self._edited = None
        self._field.value = ""
        self._say(placed, "dim")
        self._draw(at)
        self.set_focus(self._lines)

    def action_leave(self) -> None:
        if isinstance(self.focused, Input) and (self._field.value or self._breakpoints):
            self._edited = None
            self._field.value = ""
            self._say()
            self.set_focus(self._lines)
            return
        if self._unplaced is not None and not self._leaves:
            self._leaves = True
            self._say("finding out what it fits; Esc leaves without that", "dim")
            return
        changed = tuple(self._breakpoints)
        self.dismiss(changed if changed != self._given else None)

    def on_beside_found(self, message: Beside.Found) -> None:
        message.stop()
        if isinstance(message.found, list):
            self._words.words = message.found
            return
        unplaced, self._unplaced = self._unplaced, None
        placed, refused = message.found or (f"what it fits is {message.error}", False)
        if refused and unplaced is not None and unplaced[0] in self._breakpoints:
            at = self._breakpoints.index(unplaced[0])
            before = unplaced[1]
            self._breakpoints[at : at + 1] = [] if before is None else [before]
            self._leaves = False
            self._draw()
            self._edit(None if before is None else at, str(unplaced[0]))
        self._say(placed, "error" if refused else "dim")
        if self._leaves:
            self.action_leave()


def _placed_or_refused(
    breakpoint: Breakpoint, recording: Recording, *, live: bool
) -> tuple[str, bool]:
    """What a breakpoint fits, or why it can stop nowhere, and whether it is that."""
    try:
        return placed_text(breakpoint, recording, live=live), False
    except BreakpointError as error:
        return str(error), True
