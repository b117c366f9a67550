"""Every frame that Dynamo was asked to compile, every lookup and execution that was followed, and
what became of each.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from stepper.client.frame_names import compiled_name
from stepper.client.text import one_line, plural, short_path
from stepper.model.trace import Outcome, Phase, Translation
from stepper.tui.lines import Lines
from stepper.tui.listing import ListingPane
from stepper.tui.palette import Row, Span, row
from stepper.tui.results import so_far
from stepper.tui.snapshot import Snapshot
from stepper.tui.table import Cell, Column, Table

_OUTCOME_ROLES = {
    Outcome.COMPILED: "executed",
    Outcome.SKIPPED: "dim",
    Outcome.FAILED: "error",
    Outcome.RUNNING: "changed",
    Outcome.CUT_OFF: "dim",
    Outcome.HIT: "executed",
    Outcome.MISS: "warning",
    Outcome.RETURNED: "executed",
    Outcome.RAISED: "error",
}
_SIGNS = {
    Outcome.COMPILED: "✓",
    Outcome.SKIPPED: "–",
    Outcome.FAILED: "✗",
    Outcome.RUNNING: "…",
    Outcome.CUT_OFF: "?",
    Outcome.HIT: "✓",
    Outcome.MISS: "✗",
    Outcome.RETURNED: "✓",
    Outcome.RAISED: "✗",
}


_NESTED = "· "
_TIME = "    time"
_COUNTS = "attempts instr guards nodes breaks"
_COLUMNS = (
    Column("id", useful=True),
    Column("name", useful=True),
    Column("outcome", useful=True),
    Column(_TIME, useful=True),
    Column("why", useful=True),
    Column("phase"),
    Column(_COUNTS),
    Column("where"),
)
_WHY = 4
"""Which of them says why a frame was compiled again, or was not."""


class FramesPane(ListingPane):
    """A row for each translation, lookup and execution, under what led to it; `▶` is the one of the
    moment shown. Enter goes to its start.
    """

    NAME = "frames"
    HELP = "Every frame compiled, looked up or executed: attempts, counts, time and outcome."
    FILTER: ClassVar[str] = "part of a name, a compile id, a phase, an outcome, a file or a reason"
    EMPTY = "no frame has been recorded yet"

    def __init__(self) -> None:
        super().__init__()
        self._translations: list[Translation] = []
        self._names: dict[int, str] = {}
        self.table: Table | None = None
        """The columns of the rows that are shown."""
        self._here: int | None = None
        self._cwd = ""

    def depends(self, snapshot: Snapshot) -> Hashable:
        here = snapshot.translation.id if snapshot.translation else None
        return here, snapshot.newest, snapshot.status

    def title(self, snapshot: Snapshot) -> str:
        return f"frames {len(self._translations)}"

    def show(self, snapshot: Snapshot) -> None:
        recording = snapshot.recording
        known = [so_far(recording, t) for t in recording.translations()] if recording else []
        self._cwd = snapshot.recording.facts.cwd if snapshot.recording else ""
        wanted = self.filter.lower()
        self._names = {t.id: compiled_name(recording, t) for t in known} if recording else {}
        self._translations = [
            t for t in known if not wanted or wanted in _searched(t, self._names[t.id])
        ]
        here = snapshot.translation.id if snapshot.translation else None
        cursor = None
        if here != self._here:
            self._here = here
            cursor = next((at for at, t in enumerate(self._translations) if t.id == here), None)
        shown = self._translations
        phases = any(t.phase is not Phase.TRANSLATE for t in known)
        widths = (
            max((len(t.compile_id or "–") for t in shown), default=0),
            max((len(_NESTED) * t.level + len(self._names[t.id]) for t in shown), default=0),
            max((len(_outcome(each)) for each in {t.outcome for t in shown}), default=0),
            len(_TIME),
            max((len(_why(each)) for each in {_reason(t) for t in shown}), default=0),
            max(map(len, Phase)) if phases else 0,
            len(_COUNTS),
            1,
        )
        self.table = Table(_COLUMNS, widths, self.columns - 2)
        empty = f"none of {len(known)} frames holds {self.filter!r}" if wanted else self.EMPTY
        headings = [row(f"  {self.table.heading}", role="dim")]
        self.list_rows(len(self._translations), headings=headings, cursor=cursor, empty=empty)

    def _shown_name(self, t: Translation) -> str:
        return _NESTED * t.level + self._names[t.id]

    def draw_row(self, index: int) -> Row:
        t = self._translations[index]
        here = t.id == self._here
        assert self.table is not None
        sign = ("▶ " if here else "  ", "here")
        cells = self._cells(t)
        # Copied and searched is the reason with the line that torch writes behind a guard.
        why = ((one_line(_reason(t)), ""),)
        full = " ".join(
            text for cell in (*cells[:_WHY], why, *cells[_WHY + 1 :]) for text, _ in cell
        )
        return self.table.row(sign, cells, "current" if here else "", f"{sign[0]}{full}")

    def _cells(self, t: Translation) -> tuple[Cell, ...]:
        seconds = f"{t.seconds:7.2f}s" if t.seconds is not None else "       –"
        return (
            ((t.compile_id or "–", "constant"),),
            ((self._shown_name(t), "function"),),
            ((_outcome(t.outcome), _OUTCOME_ROLES[t.outcome]),),
            ((seconds, ""),),
            ((_why(_reason(t)), "dim" if t.outcome is Outcome.HIT else "warning"),),
            ((t.phase, _PHASE_ROLES[t.phase]),),
            _counts(t),
            ((f"{short_path(t.filename, self._cwd)}:{t.line}", "dim"),),
        )

    def detail_of(self, index: int) -> list[str]:
        t = self._translations[index]
        place = f"{short_path(t.filename, self._cwd)}:{t.line}"
        lines = [f"{t.compile_id or '(no compile id)'} {self._names[t.id]}, {place}"]
        if t.recompile_reason:
            lines.append(f"recompiled: {one_line(t.recompile_reason)}")
        if t.reason:
            lines.append(f"{t.outcome}: {one_line(t.reason)}")
        if t.resume_of:
            lines.append(f"continues {t.resume_of} after a graph break")
        called = t.python_stack[-1] if t.python_stack else None
        if called is not None:
            place = f"{short_path(called.filename, self._cwd)}:{called.line} in {called.function}"
            lines.append(
                f"called from {place}; the code had {plural(t.cache_size, 'entry')} before"
            )
        return lines

    def on_lines_activated(self, message: Lines.Activated) -> None:
        t = self._translations[message.index]
        if not t.instructions and not t.attempts:
            self.post_message(
                self.Say(f"{self._names[t.id]} was {t.outcome} before its first instruction")
            )
        self.go_to(t.first_moment, f"{t.compile_id or t.outcome} {self._names[t.id]}")


_PHASE_ROLES = {Phase.TRANSLATE: "dim", Phase.LOOKUP: "lookup", Phase.EXECUTE: "execute"}


def _counts(t: Translation) -> tuple[Span, Span]:
    if t.phase is not Phase.TRANSLATE:
        return (f"{'':>8} {t.instructions:>5} {'':>6} {'':>5} ", ""), (f"{'':>6}", "")
    return (
        (f"{t.attempts:>8} {t.instructions:>5} {t.guards:>6} {t.nodes:>5} ", ""),
        (f"{t.graph_breaks:>6}", "warning" if t.graph_breaks else ""),
    )


def _outcome(outcome: Outcome) -> str:
    return f"{_SIGNS[outcome]} {outcome}"


def _why(reason: str) -> str:
    """A reason without the line of the program that torch writes behind a guard."""
    return one_line(reason.partition("  # ")[0])


def _reason(t: Translation) -> str:
    return t.reason or t.recompile_reason


def _searched(t: Translation, name: str) -> str:
    texts = (
        t.phase,
        t.compile_id,
        t.name,
        name,
        t.outcome,
        t.filename,
        t.reason,
        t.recompile_reason,
    )
    return " ".join(texts).lower()
