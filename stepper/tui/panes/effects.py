"""What the interpreter keeps aside: side effects, open blocks, the speculation."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import partial

from textual import events

from stepper.client.text import short_path
from stepper.model.program import Code
from stepper.model.trace import Block, Event, GraphBreak, Phase, SideEffect
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, Span, row
from stepper.tui.panes.bytecode import place
from stepper.tui.snapshot import Change, Snapshot
from stepper.tui.tree_lines import Branch
from stepper.tui.tree_pane import TreePane

_FOLD = 24
"""Fewest columns at which Dynamo's long sentences are folded."""


class EffectsPane(TreePane):
    """Short lists under headings; Enter on a side effect goes to the moment that caused it."""

    NAME = "effects"
    HELP = "What this step caused, side effects, open blocks, speculation."
    PHASES = frozenset({Phase.TRANSLATE})

    def __init__(self) -> None:
        super().__init__()
        self._columns = 0

    def title(self, snapshot: Snapshot) -> str:
        return "effects"

    def show(self, snapshot: Snapshot) -> None:
        columns = max(_FOLD, self.size.width - 6)
        self.lines.show_tree(list(_branches(snapshot, columns)) if snapshot.state else [])

    def on_resize(self, event: events.Resize) -> None:
        if event.size.width != self._columns:
            self._columns = event.size.width
            self.redraw()

    def on_lines_activated(self, message: Lines.Activated) -> None:
        branch = self.lines.branch_at(message.index)
        if branch is not None and isinstance(branch.subject, int):
            self.post_message(self.Goto(branch.subject, "what caused this"))


def _branches(snapshot: Snapshot, columns: int) -> Iterator[Branch]:
    if (found := _graph_break(snapshot)) is not None:
        yield _heading("graph break at this instruction", None)
        for at, text in enumerate(_break_lines(found, columns, snapshot)):
            yield Branch(("break", at), partial(row, f"  {text}"))
    yield _heading("the last step caused", len(snapshot.caused))
    for event in snapshot.caused:
        yield Branch(("event", event.id), partial(_event_row, event), None, event.moment)
    yield _heading("side effects to replay after the graph", len(snapshot.side_effects))
    for effect in snapshot.side_effects:
        subject = effect.moment
        yield Branch(("effect", effect.id), partial(_effect_row, snapshot, effect), None, subject)
    frame = snapshot.frame_state
    blocks = frame.blocks if frame else ()
    yield _heading("open blocks, innermost first", len(blocks))
    for at in range(len(blocks) - 1, -1, -1):
        yield Branch(("block", at), partial(_block_row, snapshot.code, blocks[at]))
    speculation = frame.speculation if frame else ""
    yield _heading("speculation", None if speculation else 0)
    if speculation:
        yield Branch("speculation", lambda: row(f"  {speculation}"))


def _graph_break(snapshot: Snapshot) -> GraphBreak | None:
    if snapshot.recording is None:
        return None
    return snapshot.recording.graph_break_at(snapshot.moment)


def _break_lines(found: GraphBreak, columns: int, snapshot: Snapshot) -> list[str]:
    """Dynamo's words, one after the other: its own explanation where it has one."""
    lines = [found.gb_type] if found.gb_type else []
    lines += (found.explanation or found.reason).splitlines()
    lines += [f"hint: {hint}" for hint in found.hints]
    cwd = snapshot.recording.facts.cwd if snapshot.recording is not None else ""
    lines += [
        f"at {short_path(f.filename, cwd)}:{f.line} in {f.function}"
        for f in reversed(found.user_stack)
    ]
    folded: list[str] = []
    for line in lines:
        folded += textwrap.wrap(line, columns, subsequent_indent="  ")
    return folded


def _heading(text: str, count: int | None) -> Branch:
    tail = "" if count is None else f": {count}" if count else ": none"
    return Branch(("heading", text), lambda: row((text, "title"), (tail, "dim")))


def _event_row(event: Event) -> Row:
    return row(
        "  ", (str(event.kind), "keyword"), f"  {event.text}", (f"  {event.moment}", "number")
    )


def _effect_row(snapshot: Snapshot, effect: SideEffect) -> Row:
    sign = Change.NEW if snapshot.is_new(effect.moment) else Change.SAME
    value = snapshot.value(effect.value) if effect.value is not None else None
    spans: tuple[Span, ...] = (
        (f"{sign} ", sign.role),
        (effect.text, ""),
        (f"  {value.brief}" if value else "", "type"),
        (f"  {effect.kind}", "dim"),
        (f"  {effect.moment}", "number"),
    )
    return Row(spans)


def _block_row(code: Code | None, block: Block) -> Row:
    def at(ip: int | None) -> str:
        if ip is None or code is None or ip >= len(code.instructions):
            return "?"
        here = code.instructions[ip]
        return f"{place(here)} (line {here.line})" if here.line else place(here)

    what = block.context or "try"
    tail = f"  opened at {at(block.ip)}, handler at {at(block.target)}, stack {block.stack_index}"
    return row("  ", (what, "type"), (tail, "dim"))
