"""How long what was compiled runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from itertools import count
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from stepper import _C
from tests.csrc.test_recording_parts import new_steps


def transformed(inside: Callable[[FrameType], None] = lambda frame: None) -> None:
    inside(sys._getframe())


def other() -> None:
    """Another code."""


def graph() -> None:
    """What a transformed code calls."""


class Told:
    """What was told, and the times that tell it."""

    def __init__(self) -> None:
        self.steps = new_steps()
        self.rows: list[Any] = []
        self.open: dict[int, list[Any]] = {}
        self.left = 0
        self.times = _C.RunTimes(
            self.steps, count(1), self.open, self.rows.append, lambda: "worker", self._left, "run",
            "graph",
        )  # fmt: skip

    def _left(self) -> None:
        self.left += 1

    @property
    def stack(self) -> list[Any]:
        """What is open in this thread."""
        (found,) = self.open.values()
        return found


def test_a_run_and_its_graph_are_told_without_what_telling_took() -> None:
    told = Told()
    told.steps.add(1, 0, None)
    told.times.hit(transformed.__code__, 30, None)
    told.times.telling(2_000_000_000)
    told.times.begins(graph.__code__)
    told.times.ends(graph.__code__, "with", "more")
    told.times.ends(transformed.__code__)
    of_graph, run = told.rows
    assert of_graph[:2] + of_graph[4:] == (2, "graph", 1, 1, 30, "worker", 0)
    assert run[:2] + run[4:] == (1, "run", 1, 0, 30, "worker", 2_000_000_000)
    assert of_graph[2] >= run[2] > 0
    assert 0 <= of_graph[3] < 1_000_000_000
    assert (told.stack, told.left) == ([], 0)


def test_a_run_stands_among_the_phases_that_are_open() -> None:
    told = Told()

    def compile_more(frame: FrameType) -> None:
        told.times.hit(transformed.__code__, 1, frame.f_back)
        (run,) = told.stack
        assert (run.id, run.name) == (1, "run")
        told.stack.append(SimpleNamespace(id=70, name="compiling"))
        told.times.hit(other.__code__, 2, frame)
        told.times.ends(other.__code__)
        told.times.ends(transformed.__code__)  # what is above it was left by an exception

    transformed(compile_more)
    assert [(row[1], row[5], row[6]) for row in told.rows] == [("run", 70, 2), ("run", 0, 1)]
    assert (told.stack, told.left) == ([], 1)


def test_a_run_that_an_exception_has_left_is_not_told() -> None:
    told = Told()
    told.times.hit(transformed.__code__, 1, sys._getframe())
    told.times.begins(graph.__code__)
    told.times.hit(other.__code__, 2, sys._getframe())
    assert [each.id for each in told.stack] == [3]
    told.times.ends(transformed.__code__)
    assert (told.rows, told.left) == ([], 1)
    told.times.begins(graph.__code__)
    told.times.ends(other.__code__)  # of the graph alone it is not known how long it took
    assert [(row[0], row[6]) for row in told.rows] == [(3, 2)]


def test_a_graph_is_awaited_when_what_runs_calls_it_itself() -> None:
    told = Told()
    assert not told.times.awaits(graph.__code__, sys._getframe())

    def ask(frame: FrameType) -> None:
        told.times.hit(transformed.__code__, 1, frame.f_back)
        assert told.times.awaits(graph.__code__, frame)
        assert not told.times.awaits(graph.__code__, sys._getframe())
        assert not told.times.awaits(graph.__code__, None)
        assert not told.times.awaits(transformed.__code__, frame)
        told.times.begins(graph.__code__)
        assert not told.times.awaits(graph.__code__, frame)

    transformed(ask)


def test_threads_have_runs_of_their_own() -> None:
    told = Told()
    told.times.hit(transformed.__code__, 1, sys._getframe())
    thread = threading.Thread(target=told.times.ends, args=(transformed.__code__,))
    thread.start()
    thread.join()
    assert told.rows == []
    told.times.ends(transformed.__code__)
    assert len(told.rows) == 1


def test_what_is_handed_in_is_looked_at() -> None:
    told = Told()
    for call in (
        lambda: told.times.hit(transformed.__code__, 1, 2),  # type: ignore[arg-type]  # on purpose
        lambda: told.times.hit(None, 1, None),  # type: ignore[arg-type]  # on purpose
        lambda: told.times.telling("long"),  # type: ignore[arg-type]  # on purpose
    ):
        with pytest.raises(TypeError):
            call()
