"""The guards that were installed so far, and what caused each."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from stepper.client.folding import Fold, folded, row_of
from stepper.client.names import brief_source
from stepper.client.text import ELLIPSIS, guard_line, guarded_text, one_line, place_text
from stepper.model.trace import Guard, Phase
from stepper.tui.lines import Lines
from stepper.tui.listing import ListingPane, fold_row
from stepper.tui.palette import Row, row
from stepper.tui.questions import Question, on_guard
from stepper.tui.snapshot import Snapshot
from stepper.tui.table import Column, Table

_MEASURED = 200
"""How many guards, from the newest, decide how wide the columns are."""

_COLUMNS = (
    Column("source", useful=True),
    Column("check", useful=True),
    Column("kind"),
    Column("caused by"),
)


class GuardsPane(ListingPane):
    """Guards with check and cause; `+` marks those of the last step. Enter goes to the cause."""

    NAME = "guards"
    HELP = "The guards so far: source, kind, check, and the instruction and line that caused each."
    PHASES = frozenset({Phase.TRANSLATE})
    FILTER: ClassVar[str] = "part of a kind, a source, a check or a line"
    EMPTY = "no guards yet"

    def __init__(self) -> None:
        super().__init__()
        self._guards: list[Guard] = []
        self._rows: list[int | Fold] = []
        self._cwd = ""
        self.table: Table | None = None
        """The columns of the rows that are shown."""

    def depends(self, snapshot: Snapshot) -> Hashable:
        # Most steps install no guard, and to paint the same rows again would be felt.
        guards = snapshot.guards
        last = guards[-1].id if guards else 0
        new = snapshot.moment if guards and snapshot.is_new(guards[-1].moment) else 0
        return snapshot.attempt, snapshot.phase, len(guards), last, new, snapshot.moment > 0

    def title(self, snapshot: Snapshot) -> str:
        total = len(snapshot.guards)
        return f"guards {len(self._guards)} of {total}" if self.filter else f"guards {total}"

    def show(self, snapshot: Snapshot) -> None:
        self.places(snapshot)
        here = self._guard_at(self.lines.cursor)
        kept = here.id if here else None
        wanted = self.filter.lower()
        guards = snapshot.guards
        self._cwd = snapshot.recording.facts.cwd if snapshot.recording is not None else ""
        self._guards = [g for g in guards if wanted in _searched(g)] if wanted else guards
        self.table = self._fitted()
        empty = f"none of {len(guards)} guards holds {self.filter!r}" if wanted else self.EMPTY
        if snapshot.phase is Phase.LOOKUP:
            empty = "a lookup installs no guards: those that it checks are in pane 2"
        at = self._place_cursor(snapshot, kept)
        recording = snapshot.recording
        layers = [recording.owners.layer(g) for g in self._guards] if recording else []
        # Who filters wants to see what was found.
        self._rows = [*range(len(layers))] if wanted else folded(layers, self._opened)
        cursor = None if at is None or at < 0 else row_of(self._rows, at)
        headings = [row(f"  {self.table.heading}", role="dim")]
        self.list_rows(len(self._rows), headings=headings, cursor=cursor, empty=empty)

    def _place_cursor(self, snapshot: Snapshot, kept: int | None) -> int | None:
        if self._guards and snapshot.is_new(self._guards[-1].moment):
            return len(self._guards) - 1
        # At first the newest: those of the global state come before all others.
        at = len(self._guards) - 1
        return next((at for at, guard in enumerate(self._guards) if guard.id == kept), at)

    def fold_at(self, index: int) -> Fold | None:
        row = self._rows[index] if index < len(self._rows) else None
        return row if isinstance(row, Fold) else None

    def _guard_at(self, index: int) -> Guard | None:
        """The guard that a row is about; of a fold, none."""
        row = self._rows[index] if index < len(self._rows) else None
        return self._guards[row] if isinstance(row, int) else None

    def draw_row(self, index: int) -> Row:
        assert self.snapshot is not None
        fold = self.fold_at(index)
        if fold is not None:
            return fold_row(fold, "guard")
        guard = self._guard_at(index)
        assert guard is not None
        new = self.snapshot.is_new(guard.moment)
        assert self._places is not None
        made = self._places.instruction(guard.moment, guard.attempt)
        place = place_text(guard.user_line, self._cwd)
        place = place or self._places.line(guard.moment, guard.attempt)
        check = one_line(" and ".join(guard.code))
        kind = "type new" if new else "type"
        assert self.table is not None
        return self.table.row(
            ("+ ", "new") if new else ("  ", ""),
            (
                ((_brief(guard), "source"),),
                ((_check(guard), "" if guard.code else kind),),
                ((guard.kind if guard.code else "", kind),),
                ((f"{made}  {one_line(place)}".rstrip(), "dim"),),
            ),
            full=f"{guard_line(guard)}  {check}  {made}  {one_line(place)}".rstrip(),
        )

    def _fitted(self) -> Table:
        """The columns, as broad as the newest guards need: to measure thousands of them at every
        step would be felt."""
        measured = self._guards[-_MEASURED:]
        source = max((len(_brief(guard)) for guard in measured), default=0)
        check = max((len(_check(guard)) for guard in measured), default=0)
        kind = max((len(guard.kind) for guard in measured if guard.code), default=0)
        return Table(_COLUMNS, (source, check, kind, 1), self.columns - 2)

    def detail_of(self, index: int) -> list[str]:
        guard = self._guard_at(index)
        if guard is None:
            return []
        made = self._places.instruction(guard.moment, guard.attempt) if self._places else ""
        lines = [f"{guard_line(guard)}  ({guard.scope or 'no scope'})"]
        lines += [f"checks {one_line(code)}" for code in guard.code] or [
            "what it checks is known when the translation has ended"
        ]
        lines.append(
            f"caused by {made or 'no instruction'}, moment {guard.moment}"
            f"  {place_text(guard.user_line, self._cwd)}".rstrip()
        )
        return lines

    def questions_here(self) -> list[Question]:
        guard = self._guard_at(self.lines.cursor)
        return [] if guard is None else [on_guard(guard)]

    def on_lines_activated(self, message: Lines.Activated) -> None:
        guard = self._guard_at(message.index)
        assert guard is not None
        self.go_to(guard.moment, f"installed {guard.kind} {guard.source}".rstrip())


def _brief(guard: Guard) -> str:
    source = one_line(guard.source)
    return brief_source(source) if source else guarded_text(guard.kind, source)


def _check(guard: Guard) -> str:
    """What is checked, with `…` for the source, which stands beside it; what kind of guard it is
    where no more is known, as until a translation has ended."""
    if not guard.code:
        return guard.kind
    text = brief_source(one_line(" and ".join(guard.code)))
    return text.replace(_brief(guard), ELLIPSIS) if guard.source else text


def _searched(guard: Guard) -> str:
    return (
        f"{guard.kind} {guard.source} {' '.join(guard.code)} {place_text(guard.user_line)}".lower()
    )
