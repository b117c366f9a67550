"""The code that is stepped, one instruction a row: bytecode, or the checks of a lookup."""

from __future__ import annotations

from textual.app import ComposeResult

from stepper.client.names import clip_middle
from stepper.model.breakpoint import Breakpoint, BreakpointKind
from stepper.model.matching import instruction_matches
from stepper.model.program import Code, Instruction
from stepper.model.trace import Phase
from stepper.tui.lines import Lines
from stepper.tui.palette import Row, Span
from stepper.tui.pane import Pane
from stepper.tui.snapshot import Snapshot

_GUTTER = 3
"""Columns in which a click toggles a breakpoint."""

_TITLES = {Phase.TRANSLATE: "bytecode", Phase.LOOKUP: "checks", Phase.EXECUTE: "transformed"}

_ENTRIES = frozenset({"ENTRY", "PRECOMPILED"})
_HEADINGS = _ENTRIES | {"REGION", "HIT", "MISS"}
"""Rows of a lookup that are no checks."""

_WIDEST_NAME = 18
"""Columns that instruction names share; longer ones push their argument to the right."""


class BytecodePane(Pane):
    """Instructions with offset, name and argument; `▶` is the next one, `»` one that is jumped to,
    `×3` how often it was interpreted. Of a lookup the checks: `✓` has passed, `✗` has failed.
    """

    NAME = "bytecode"
    HELP = "The function's bytecode, or a lookup's checks: the next one, jump targets, how often."

    def __init__(self) -> None:
        super().__init__()
        self._code: Code | None = None
        self._targets: frozenset[int] = frozenset()
        self._width = 0

    def compose(self) -> ComposeResult:
        yield Lines(empty="no bytecode: no translation has been recorded yet")

    @property
    def lines(self) -> Lines:
        """The list of instructions."""
        return self.query_one(Lines)

    def title(self, snapshot: Snapshot) -> str:
        return _TITLES[snapshot.phase]

    def show(self, snapshot: Snapshot) -> None:
        code = snapshot.code
        if code is not self._code:
            self._code = code
            instructions = code.instructions if code else ()
            self._targets = frozenset(i.target for i in instructions if i.target is not None)
            longest = max((len(i.opname) for i in instructions), default=0)
            self._width = min(longest, _WIDEST_NAME)
        if code is None:
            self.lines.show(0, self._draw)
        else:
            self.lines.show(len(code.instructions), self._draw, cursor=snapshot.ip)

    def _draw(self, index: int) -> Row:
        snapshot, code = self.snapshot, self._code
        assert snapshot is not None
        assert code is not None
        here = code.instructions[index]
        current = index == snapshot.ip
        if snapshot.phase is Phase.LOOKUP:
            return self._draw_check(here, snapshot, current)
        times = snapshot.executed.get(index, 0)
        arrow = ("▶" if snapshot.innermost else "▷") if current else " "
        spans: list[Span] = [
            (_sign(snapshot.breakpoints, code, index), "breakpoint"),
            (arrow, "here"),
            (_line_column(code.instructions, index), "number"),
            ("»" if index in self._targets else " ", "executed"),
            (f"{place(here):>4} ", "dim"),
            (f"{here.opname:<{self._width}}", "keyword" if here.target is not None else "function"),
        ]
        if here.target is not None:
            spans.append((f" → {place(code.instructions[here.target])}", "keyword"))
        elif text := argument(here):
            spans.append((f" {text}", "constant" if "CONST" in here.opname else ""))
        if times:
            spans.append((f"  ×{times}", "executed"))
        return Row(tuple(spans), "current" if current else "")

    def _draw_check(self, here: Instruction, snapshot: Snapshot, current: bool) -> Row:
        passed = self._passed(here, snapshot)
        failed = passed is False
        sign, role = ("✗", "error") if failed else ("✓", "new") if passed else (" ", "")
        return Row(
            (
                (("▶" if snapshot.innermost else "▷") if current else " ", "here"),
                (f"{sign} ", role),
                (
                    f"{clip_middle(here.opname, self._width):<{self._width}} ",
                    "error" if failed else "function",
                ),
                (argument(here), "error" if failed else ""),
                (f"  line {here.line}" if here.line is not None else "", "dim"),
            ),
            "current" if current else "",
        )

    def _passed(self, here: Instruction, snapshot: Snapshot) -> bool | None:
        """Whether a check has passed, as far as the lookup has gone; None: not known, or no check.
        An entry that was tried has when no other was tried after it.
        """
        assert self._code is not None
        if here.index in snapshot.failed:
            return False
        if here.opname not in _HEADINGS:
            return True if snapshot.executed.get(here.index) else None
        tried = here.opname in _ENTRIES and here.index in snapshot.executed
        if not tried or here.index >= snapshot.ip:
            return None
        end = self._code.instructions[snapshot.ip]
        later = self._code.instructions[here.index + 1 : end.index]
        others = any(each.opname in _ENTRIES and each.index in snapshot.executed for each in later)
        return end.opname == "HIT" and not others

    def breakpoint_here(self) -> Breakpoint | None:
        """A breakpoint at the cursor's instruction."""
        return self._breakpoint_at(self.lines.cursor)

    def _breakpoint_at(self, index: int) -> Breakpoint | None:
        if self._code is None or index >= len(self._code.instructions):
            return None
        offset = self._code.instructions[index].offset
        if offset is None:
            return None
        return Breakpoint(BreakpointKind.OFFSET, pattern=self._code.label, number=offset)

    def on_lines_clicked(self, message: Lines.Clicked) -> None:
        breakpoint = self._breakpoint_at(message.index)
        if message.column < _GUTTER and breakpoint is not None:
            self.post_message(self.ToggleBreakpoint(breakpoint))


def place(instruction: Instruction) -> str:
    """Where an instruction stands: its offset, or `+index` when Dynamo made it up."""
    return f"+{instruction.index}" if instruction.offset is None else str(instruction.offset)


def argument(instruction: Instruction) -> str:
    """An instruction's argument in words; empty when it has none."""
    if instruction.argrepr:
        return instruction.argrepr
    return "" if instruction.arg is None else str(instruction.arg)


def _line_column(instructions: tuple[Instruction, ...], index: int) -> str:
    """The source line, where a new one begins."""
    line = instructions[index].line
    if line is None or (index and instructions[index - 1].line == line):
        return " " * 4
    return f"{line:>4}"


def _sign(breakpoints: tuple[Breakpoint, ...], code: Code, index: int) -> str:
    sign = " "
    for breakpoint in breakpoints:
        if instruction_matches(breakpoint, code, index):
            if breakpoint.enabled:
                return "●"
            sign = "○"
    return sign
