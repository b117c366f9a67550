"""Going back in a translation that goes on, and on from there with something changed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stepper.client.forks import fork_request
from stepper.model.control import ForkTranslation
from stepper.model.trace import EventKind, Outcome
from stepper.recording.reader import Recording
from tests.console.test_programs import commands, console

PROGRAM = """
import torch
import stepper.native

SCALE = 2

def helper(v, n):
    w = v + n
    return w * SCALE

@stepper.native.optimize("eager")
def f(x, n):
    if n > 2:
        x = x + 1
    y = helper(x, n)
    return y.sum()

print("first", f(torch.ones(3), 3).item())
print("second", f(torch.ones(3), 5).item())
"""
EAGER = ("first 30.0", "second 42.0")


class Run:
    """What a session printed, and its recording."""

    def __init__(self, folder: Path, *typed: str, program: str = PROGRAM) -> None:
        (folder / "toy.py").write_text(program)
        path = folder / "toy.stepper"
        options = ("--engine", "native", "-o", path, *commands(*typed, "c", "c"))
        self.text = console(folder, *options, "toy.py")
        self.recording = Recording.open(str(path))
        self.first = self.recording.translations()[0]
        self.attempts = self.recording.attempts(self.first.id)

    def nodes(self, attempt: int) -> list[str]:
        """The nodes of an attempt (1, 2, …), by name."""
        return [
            node.name for node in self.recording.nodes(None, attempt=self.attempts[attempt - 1].id)
        ]


def test_another_value_is_tried_beside_the_first_attempt(tmp_path: Path) -> None:
    run = Run(tmp_path, "s 7", "fork 2 set n = 1", "locals")
    assert "fork at moment 2: n = 1; it is tried and set aside" in run.text
    assert re.search(r"stopped: fork\s+n = 1", run.text)
    assert "~ n = 1" in run.text
    assert all(line in run.text for line in EAGER)
    assert len(run.attempts) == 3
    assert run.attempts[0].restart_reason == "forked: n = 1"
    assert run.attempts[1].restart_reason.endswith("set aside: it was only tried")
    assert run.nodes(2) == ["x", "add", "mul", "sum_1"]
    assert run.nodes(3) == ["x", "add", "add_1", "mul", "sum_1"]
    (noted,) = run.recording.events(kinds={EventKind.INTERVENTION})
    assert noted.text.startswith("fork at moment 2: n = 1")


def test_a_graph_break_is_kept_since_it_changes_no_result(tmp_path: Path) -> None:
    run = Run(tmp_path, "s 20", "goto 7", "fork break-graph")
    assert "a graph break; its entry is kept" in run.text
    assert all(line in run.text for line in EAGER)
    assert len(run.attempts) == 2
    assert run.first.graph_breaks == 1
    (found,) = run.recording.graph_breaks()
    assert found.reason == "a break that was asked for at a fork"
    assert any(item.resume_of == "f" for item in run.recording.translations())


def test_a_guard_that_is_left_out_is_missed_only_where_that_is_asked_for(tmp_path: Path) -> None:
    run = Run(tmp_path, "s 20", "fork 7 drop-guard 6")
    assert "without CONSTANT_MATCH L['n']; it is tried and set aside" in run.text
    assert all(line in run.text for line in EAGER)
    (tmp_path / "kept").mkdir()
    kept = Run(tmp_path / "kept", "s 20", "fork 7 drop-guard 6; keep")
    assert "it is unsound" in kept.text
    assert "second 30.0" in kept.text  # the entry of n == 3 serves n == 5
    held = kept.recording.guards(None, attempt=kept.attempts[-1].id)
    assert "L['n']" not in {guard.source for guard in held}


def test_nothing_changed_is_only_going_back(tmp_path: Path) -> None:
    run = Run(tmp_path, "s 12", "fork 5", "where", "s 2")
    assert re.search(r"stopped: fork\s+nothing changed", run.text)
    assert all(line in run.text for line in EAGER)
    assert run.first.outcome is Outcome.COMPILED
    assert len(run.attempts) == 2


def test_a_fork_can_be_forked_and_breakpoints_wait_for_its_moment(tmp_path: Path) -> None:
    run = Run(
        tmp_path, "b guard", "s 10", "s 5", "fork 4 set n = 1",
        "s 2", "fork 2 set n = 7", "locals", *["c"] * 60,
    )  # fmt: skip
    assert run.text.count("stopped: fork") == 2
    assert all(line in run.text for line in EAGER)
    assert len(run.attempts) == 4


def test_a_stack_slot_gets_a_tracker_of_the_frame(tmp_path: Path) -> None:
    program = PROGRAM.replace("y = helper(x, n)", "y = x.sin() * x.cos()")
    run = Run(tmp_path, "b node:*cos*", "c", "s", "fork set stack[-1] = stack[-2]", program=program)
    assert "stack[-1] = stack[-2]" in run.text
    mul = next(
        node for node in run.recording.nodes(None, attempt=run.attempts[1].id)
        if node.name == "mul"
    )  # fmt: skip
    assert mul.inputs == ("sin",)


def test_what_cannot_be_done_is_said_and_changes_nothing(tmp_path: Path) -> None:
    run = Run(
        tmp_path, "s 7", "fork 999", "fork 3 drop-guard 77", "fork 3 set n = (", "fork 3 wait",
        "fork 3 set n = nothing", "locals",
    )  # fmt: skip
    assert "moment 999 is none of the translation that is under way" in run.text
    assert "guard 77 is none of this translation" in run.text
    assert "was never closed" in run.text
    assert "'wait' is nothing that a fork can do" in run.text
    assert "n stays as it is: NameError" in run.text
    assert all(line in run.text for line in EAGER)


def test_dynamo_cannot_go_back(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(
        "import torch\ntorch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))\n"
    )
    text = console(tmp_path, *commands("s", "fork 1", "c"), "toy.py")
    assert "only --engine native can go back" in text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ForkTranslation(1, 9)),
        ("4 break-graph", ForkTranslation(1, 4, break_graph=True)),
        (
            "set x = (1, 2); drop-guard 5; keep",
            ForkTranslation(1, 9, (("x", "(1, 2)"),), (5,), keep=True),
        ),
    ],
)
def test_what_is_typed_is_what_is_asked(text: str, wanted: Any) -> None:
    assert fork_request(9, text)(1) == wanted
