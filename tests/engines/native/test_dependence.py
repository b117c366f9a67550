"""What guards are there for: which of them the output depends on, and which chose a way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from stepper import native
from stepper.analysis.dependence import Purpose, depends_on, purposes
from stepper.analysis.dependence_lines import dependence_lines, idle_lines
from stepper.analysis.guard_lines import guard_lines
from stepper.model.ranges import in_ranges, ranges_of
from stepper.recording.reader import Recording
from tests.engines.native.harness import run_graph
from tests.engines.native.test_recording import record
from tests.tui.test_app import WIDE, opened
from tests.tui.test_why_screen import text

pytestmark = pytest.mark.evaluator_out
FACTOR = 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the recording is."""
    return tmp_path / "a.stepper"


@pytest.fixture
def recorded(path: Path) -> Callable[..., Recording]:
    """Records one call of a function."""

    def run(function: Any, *args: Any) -> Recording:
        return record(path, lambda: native.optimize(run_graph)(function)(*args))

    return run


def told(recording: Recording) -> dict[tuple[str, str], Purpose]:
    """The purpose of each guard of the only entry."""
    entry = next(item for item in recording.translations() if item.dependence is not None)
    return {
        (each.guard.kind, each.guard.source): each.purpose for each in purposes(recording, entry)
    }


def of_values(x: torch.Tensor, unused: torch.Tensor, n: int) -> torch.Tensor:
    _ = unused * n
    return x * FACTOR


def test_the_output_depends_on_what_its_values_carry(recorded: Callable[..., Recording]) -> None:
    found = told(recorded(of_values, torch.ones(2), torch.ones(2), 5))
    assert found["TENSOR_MATCH", "L['x']"] is Purpose.OUTPUT
    assert found["CONSTANT_MATCH", "G['FACTOR']"] is Purpose.OUTPUT
    assert found["TENSOR_MATCH", "L['unused']"] is Purpose.NOTHING
    assert found["CONSTANT_MATCH", "L['n']"] is Purpose.NOTHING
    assert found["GLOBAL_STATE", ""] is Purpose.FRAME


def of_choices(x: torch.Tensor, deep: bool, times: list[int], pair: Any) -> torch.Tensor:
    if deep:
        x = x + 1
    for _ in times:
        x = x * 2
    first, _ = pair
    return x + first


def test_what_chose_a_way_is_not_for_nothing(recorded: Callable[..., Recording]) -> None:
    recording = recorded(of_choices, torch.ones(2), True, [7, 8], (1, 2))
    found = told(recording)
    assert found["CONSTANT_MATCH", "L['deep']"] is Purpose.CHOICE
    assert found["LIST_LENGTH", "L['times']"] is Purpose.CHOICE
    assert found["LIST_LENGTH", "L['pair']"] in (Purpose.CHOICE, Purpose.OUTPUT)
    words = " ".join(line.text for line in guard_lines(recording, "deep"))
    assert "a way was chosen by it: POP_JUMP" in words


class Counter:
    def __init__(self) -> None:
        self.count = 0
        self.log: dict[int, int] = {}


def of_effects(x: torch.Tensor, counter: Counter, key: int, by: int) -> torch.Tensor:
    counter.count += by
    counter.log[key] = 1
    return x + 1


def test_what_is_stored_is_output_and_where_it_is_stored_a_choice(
    recorded: Callable[..., Recording],
) -> None:
    found = told(recorded(of_effects, torch.ones(2), Counter(), 4, 2))
    assert found["CONSTANT_MATCH", "L['by']"] is Purpose.OUTPUT
    assert found["CONSTANT_MATCH", "L['key']"] in (Purpose.CHOICE, Purpose.OUTPUT)
    assert found["TYPE_MATCH", "L['counter']"] is Purpose.OUTPUT


def of_operators_in_place(x: torch.Tensor, by: int) -> None:
    x.add_(by)


def test_what_is_changed_in_place_is_output(recorded: Callable[..., Recording]) -> None:
    found = told(recorded(of_operators_in_place, torch.ones(2), 2))
    assert found["CONSTANT_MATCH", "L['by']"] is Purpose.OUTPUT


def of_randomness(x: torch.Tensor, n: int) -> torch.Tensor:
    torch.rand(n)
    return x + 1


def test_numbers_that_are_drawn_are_output_also_when_nobody_looks(
    recorded: Callable[..., Recording],
) -> None:
    found = told(recorded(of_randomness, torch.ones(2), 3))
    assert found["CONSTANT_MATCH", "L['n']"] is Purpose.OUTPUT
    assert found["FUNCTION_MATCH", "G['torch'].rand"] is Purpose.CHOICE


def changes(counter: Counter) -> None:
    counter.count = 1


def of_calls(x: torch.Tensor, counter: Counter) -> torch.Tensor:
    changes(counter)
    return x + 1


def test_a_function_whose_result_nobody_uses_is_a_choice(
    recorded: Callable[..., Recording],
) -> None:
    found = told(recorded(of_calls, torch.ones(2), Counter()))
    assert found["FUNCTION_MATCH", "G['changes']"] is Purpose.CHOICE


def of_handlers(x: torch.Tensor, key: int, found: dict[int, int]) -> torch.Tensor:
    try:
        found[key]
    except KeyError:
        return x + 1
    return x


def test_what_led_to_an_exception_that_is_handled_is_a_choice(
    recorded: Callable[..., Recording],
) -> None:
    found = told(recorded(of_handlers, torch.ones(2), 1, {2: 3}))
    assert found["DICT_KEYS", "L['found']"] is Purpose.CHOICE
    assert found["CONSTANT_MATCH", "L['key']"] is Purpose.CHOICE


def of_ways(x: torch.Tensor, held: list[list[torch.Tensor]]) -> torch.Tensor:
    return x + held[0][1]


def test_what_lies_on_the_way_is_told_from_what_is_for_nothing(
    recorded: Callable[..., Recording],
) -> None:
    found = told(recorded(of_ways, torch.ones(2), [[torch.ones(1), torch.ones(2)]]))
    assert Purpose.NOTHING not in found.values()
    assert found["TYPE_MATCH", "L['held']"] in (Purpose.WAY, Purpose.OUTPUT)


def test_a_choice_that_was_taken_back_is_none(recorded: Callable[..., Recording]) -> None:
    def inner(n: int) -> int:
        if n > 2:
            print(end="")
        return 1

    def outer(x: torch.Tensor, n: int, m: int) -> torch.Tensor:
        y = x + 1
        _ = m + 1
        inner(n)
        return y

    recording = recorded(outer, torch.ones(2), 5, 1)
    found = told(recording)
    assert found["CONSTANT_MATCH", "L['m']"] is Purpose.NOTHING
    entry = recording.translations()[0]
    assert entry.dependence is not None
    assert not entry.dependence.choices


def test_values_and_nodes_name_their_guards(recorded: Callable[..., Recording]) -> None:
    recording = recorded(of_values, torch.ones(2), torch.ones(2), 5)
    attempt = recording.attempts()[0].id
    node = next(node for node in recording.nodes(None, attempt=attempt) if node.name == "mul_1")
    sources = {guard.source for guard in depends_on(recording, attempt, node.guards)}
    assert sources == {"L['x']", "G['FACTOR']"}
    lines = [line.text for line in dependence_lines(recording, attempt, "mul_1", node.guards)]
    assert lines[0] == "mul_1 depends on 2 guards"
    assert "    the output depends on it" in lines


def test_what_is_for_nothing_is_listed_with_what_that_means(
    recorded: Callable[..., Recording],
) -> None:
    recording = recorded(of_values, torch.ones(2), torch.ones(2), 5)
    lines = [line.text for line in idle_lines(recording)]
    assert lines[0] == "0/0 of_values: 10 guards: 2 of the output, 6 about no value, 2 for nothing"
    assert lines[1].startswith("  TENSOR_MATCH L['unused']")
    assert "an operator may still refuse" in lines[-1]
    assert "no entry 7/7" in next(iter(idle_lines(recording, "7/7"))).text


async def test_the_screen_says_on_what_a_value_a_node_and_the_output_depend(
    recorded: Callable[..., Recording], path: Path
) -> None:
    recording = recorded(of_values, torch.ones(2), torch.ones(2), 5)
    last = recording.translations()[0].last_moment
    async with opened(path, WIDE, at=last) as (app, pilot):
        await pilot.press("3", "home", "down", "W")
        assert "on which guards mul_1 depends" in text(app)
        assert "mul_1 depends on 2 guards" in text(app)
        await pilot.press(*"vvvvvv")
        assert "2 of the output, 6 about no value, 2 for nothing" in text(app)


def test_runs_of_numbers_hold_what_they_were_made_of() -> None:
    numbers = {1, 2, 3, 7, 9, 10}
    ranges = ranges_of(numbers)
    assert ranges == (1, 3, 7, 7, 9, 10)
    assert {n for n in range(-1, 13) if in_ranges(n, ranges)} == numbers
    assert not in_ranges(1, ())
