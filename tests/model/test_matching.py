"""What the pattern of a breakpoint speaks of."""

import pytest

from stepper.model.breakpoint import parse_breakpoint
from stepper.model.matching import guard_matches, instruction_matches, node_matches
from stepper.model.program import Code, Instruction


def code_with_lines(*lines: int | None, opnames: tuple[str, ...] = ()) -> Code:
    instructions = tuple(
        Instruction(i, opnames[i] if opnames else "NOP", offset=2 * i, line=line)
        for i, line in enumerate(lines)
    )
    return Code(1, "forward", "Net.forward", "/home/ann/project/model.py", 10, instructions)


def stops(text: str, code: Code) -> list[int]:
    breakpoint = parse_breakpoint(text)
    return [i for i in range(len(code.instructions)) if instruction_matches(breakpoint, code, i)]


def test_line_stops_at_the_first_instruction_of_each_run_of_the_line() -> None:
    code = code_with_lines(10, 11, 11, 12, 12, 11)
    assert stops("model.py:11", code) == [1, 5]


def test_instruction_without_a_line_does_not_begin_the_line_anew() -> None:
    assert stops("model.py:11", code_with_lines(10, 11, None, 11, 12)) == [1]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("model.py", True),
        ("./model.py", True),
        ("project/model.py", True),
        ("/home/ann/project/model.py", True),
        ("odel.py", False),
        ("other/model.py", False),
    ],
)
def test_file_is_found_by_any_suffix_of_whole_path_parts(path: str, found: bool) -> None:
    assert bool(stops(f"{path}:10", code_with_lines(10))) is found


@pytest.mark.parametrize(
    "pattern", ["forward", "Net.forward", "*.forward", "Net.*", "model.Net.forward", "model.*"]
)
def test_function_stops_where_its_own_work_begins(pattern: str) -> None:
    code = code_with_lines(10, 10, 11, opnames=("COPY_FREE_VARS", "RESUME", "NOP"))
    assert stops(f"function:{pattern}", code) == [1]


def test_function_does_not_match_part_of_a_name() -> None:
    assert stops("function:forwar", code_with_lines(10)) == []


def test_offset_and_opcode() -> None:
    code = code_with_lines(10, 10, 11, opnames=("RESUME", "CALL", "CALL"))
    assert stops("offset:Net.forward@4", code) == [2]
    assert stops("offset:other@4", code) == []
    assert stops("opcode:call", code) == [1, 2]


def test_guard_by_kind_and_by_source_with_literal_brackets() -> None:
    def found(text: str) -> bool:
        return guard_matches(parse_breakpoint(text), "TENSOR_MATCH", "L['x'].weight")

    assert found("guard")
    assert found("guard:tensor_match")
    assert found("guard:*:L['x']*")
    assert not found("guard:*:L['y']*")
    assert not found("guard:ID_MATCH")
    assert not found("node")


def test_node_by_target_by_its_last_part_or_by_name() -> None:
    for text in ("node", "node:torch.relu", "node:relu", "node:relu_?"):
        assert node_matches(parse_breakpoint(text), "torch.relu", "relu_1")
    assert not node_matches(parse_breakpoint("node:add"), "torch.relu", "relu_1")


def test_kinds_that_happen_in_an_instruction_never_match_one() -> None:
    assert stops("graph-break", code_with_lines(10, 11)) == []


def test_index_out_of_range_matches_nothing() -> None:
    assert not instruction_matches(parse_breakpoint("opcode:NOP"), code_with_lines(10), 7)
