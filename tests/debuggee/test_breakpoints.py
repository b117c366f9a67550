"""Which breakpoint stops: counts, conditions and one-shots, without a program."""

from __future__ import annotations

import msgspec

from stepper.debuggee.breakpoints import BreakpointTable
from stepper.debuggee.occurrence import Subject
from stepper.model.breakpoint import Breakpoint, parse_breakpoint
from stepper.model.program import Code, Instruction
from stepper.model.trace import EventKind

CODE = Code(
    id=1,
    name="f",
    qualname="f",
    filename="/src/program.py",
    first_line=1,
    instructions=tuple(
        Instruction(index, opname, offset=2 * index, line=line)
        for index, (opname, line) in enumerate(
            [("RESUME", 1), ("LOAD_FAST", 2), ("LOAD_FAST", 2), ("RETURN_VALUE", 3)]
        )
    ),
)


def table(*texts: str) -> BreakpointTable:
    return BreakpointTable(numbered(*texts))


def numbered(*texts: str) -> list[Breakpoint]:
    return [
        msgspec.structs.replace(parse_breakpoint(text), id=number)
        for number, text in enumerate(texts, 1)
    ]


def hits(breakpoints: BreakpointTable, **names: object) -> list[tuple[int, int]]:
    """One run over the code: (instruction, breakpoint that stops there)."""
    found = []
    for ip in range(len(CODE.instructions)):
        hit = breakpoints.hit_at(CODE, ip, lambda: dict(names), lambda: None)
        if hit is not None:
            found.append((ip, hit.breakpoint.id))
    return found


def test_each_kind_at_its_instruction() -> None:
    kinds = table("program.py:2", "function:f", "offset:f@6")
    assert hits(kinds) == [(0, 2), (1, 1), (3, 3)]
    assert hits(table("opcode:LOAD_FAST")) == [(1, 1), (2, 1)]
    assert hits(table("other.py:2", "function:g")) == []


def test_only_instructions_of_a_breakpoint_are_armed() -> None:
    breakpoints = table("program.py:2")
    assert list(breakpoints.arm(CODE)) == [1]


def test_ignored_hits_are_counted_and_survive_a_change_of_others() -> None:
    breakpoints = table("opcode:LOAD_FAST, ignore 3")
    assert hits(breakpoints) == []
    breakpoints.replace(numbered("opcode:LOAD_FAST, ignore 3", "function:g"))
    assert hits(breakpoints) == [(2, 1)]


def test_a_one_shot_is_gone_after_its_stop_only() -> None:
    breakpoints = table("opcode:LOAD_FAST, ignore 1, once")
    assert hits(breakpoints) == [(2, 1)]
    assert hits(breakpoints) == []
    assert not breakpoints.on_instructions


def test_a_condition_that_is_false_is_no_hit() -> None:
    breakpoints = table("opcode:LOAD_FAST, if n > 1, ignore 1")
    assert hits(breakpoints, n=1) == []
    assert hits(breakpoints, n=2) == [(2, 1)]


def test_a_condition_that_raises_stops_and_says_so() -> None:
    names = {"locals": {"x": 1, "y": 2}, "stack": []}
    hit = table("opcode:LOAD_FAST, if n > 1, ignore 9").hit_at(
        CODE, 1, lambda: dict(names), lambda: None
    )
    assert hit is not None
    assert hit.error == (
        "NameError: name 'n' is not defined; locals of the traced frame: 'x', 'y'; "
        "also here: locals, stack"
    )
    wrong = table("opcode:LOAD_FAST, if len(stack) > 'a'").hit_at(
        CODE, 1, lambda: dict(names), lambda: None
    )
    assert wrong is not None
    assert "also here" not in wrong.error, "each name is there"


def test_disabled_ones_cost_nothing() -> None:
    breakpoints = BreakpointTable(
        msgspec.structs.replace(bp, enabled=False) for bp in numbered("function:f", "guard")
    )
    assert not breakpoints.on_instructions
    assert EventKind.GUARD not in breakpoints.wanted


def test_occurrences_by_their_subject() -> None:
    breakpoints = table("guard:TENSOR_MATCH:L['x']*", "node:relu", "graph-break")
    guard = Subject(kind="TENSOR_MATCH", source="L['x'].weight")

    def stops(kind: EventKind, subject: Subject) -> bool:
        return breakpoints.hit_by(kind, subject, dict) is not None

    assert stops(EventKind.GUARD, guard)
    assert not stops(EventKind.GUARD, Subject(kind="TENSOR_MATCH", source="L['y']"))
    assert stops(EventKind.NODE, Subject(target="torch.relu", name="r"))
    assert stops(EventKind.GRAPH_BREAK, Subject())
    assert EventKind.SKIP not in breakpoints.wanted
