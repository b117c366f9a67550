"""What is recorded of sizes is what torch's own structured log says in a run of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepper.analysis.shapes import symbols_at
from stepper.model.program import PythonFrame
from stepper.model.shapes import Late, ShapeStep, ShapeStepKind, Why
from stepper.model.trace import EventKind
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.shapes.trace_log import Said, entries, recompile_reasons

# What is made once for all of them takes some minutes, and much longer on a machine that is busy.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

Told = tuple[Any, ...]
"""A compile id, the attempt's number, what it was, and what was said."""


def run(*command: object, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", **more}
    return subprocess.run(
        ready.python(*command),
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=1700,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where torch writes its log."""
    return tmp_path_factory.mktemp("trace")


@pytest.fixture(scope="module")
def alone(folder: Path) -> tuple[str, list[Said]]:
    """What the programs print, and what torch says of them, without stepper."""
    done = run(
        "-m", "tests.shapes", TORCH_TRACE=str(folder), TORCHINDUCTOR_CACHE_DIR=str(folder / "cache")
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, list(entries(folder))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Recording]]:
    """The same, recorded."""
    path = tmp_path_factory.mktemp("recorded") / "r.stepper"
    done = run(
        "-m",
        "stepper",
        "record",
        "-o",
        path,
        "-m",
        "tests.shapes",
        TORCHINDUCTOR_CACHE_DIR=str(path.parent / "cache"),
    )
    assert done.returncode == 0, done.stderr
    assert "stopped watching" not in done.stderr
    recording = Recording.open(str(path))
    yield done.stdout, recording
    recording.close()


def steps(recording: Recording) -> Iterator[tuple[str, int, ShapeStep]]:
    for item in recording.translations():
        for attempt in recording.attempts(item.id):
            for step in recording.shape_steps(None, attempt=attempt.id):
                yield item.compile_id, attempt.number, step
            for step in recording.late_shape_steps(attempt.id):
                yield item.compile_id, attempt.number, step


def lines(stack: list[dict[str, Any]] | None) -> tuple[PythonFrame, ...]:
    return tuple(
        PythonFrame(_whole(frame["filename"]), frame["line"], frame["name"])
        for frame in stack or ()
    )


def _whole(filename: str) -> str:
    """A file's path; code that was made has a name instead."""
    return filename if filename.startswith("<") else os.path.join(ROOT, filename)


def test_the_programs_do_what_they_do_without(
    alone: tuple[str, list[Said]], recorded: tuple[str, Recording]
) -> None:
    assert recorded[0] == alone[0]
    assert len({line.split()[0] for line in alone[0].splitlines()}) >= 60


def test_symbols_are_those_that_torch_creates(
    alone: tuple[str, list[Said]], recorded: tuple[str, Recording]
) -> None:
    said = [
        (each.compile_id, each.attempt, body["symbol"], body["source"], body["val"], body["vr"],
         lines(body["user_stack"]))
        for each in alone[1] if each.kind == "create_symbol" for body in [each.body]
    ]  # fmt: skip
    told = [
        (id, attempt, step.symbol, step.source, step.hint, _range(step), step.user_stack)
        for id, attempt, step in steps(recorded[1])
        if step.kind is ShapeStepKind.SYMBOL
    ]
    assert told == said
    assert len(said) > 60


def _range(step: ShapeStep) -> str:
    return f"[{step.low}, {step.high}]"


def test_symbols_without_a_value_are_those_that_torch_creates(
    alone: tuple[str, list[Said]], recorded: tuple[str, Recording]
) -> None:
    said = [
        (each.compile_id, each.attempt, each.body["symbol"], each.body["vr"])
        for each in alone[1]
        if each.kind == "create_unbacked_symbol"
    ]
    told = [
        (id, attempt, step.symbol, _range(step))
        for id, attempt, step in steps(recorded[1])
        if step.kind is ShapeStepKind.UNBACKED
    ]
    assert told == said
    assert len(said) > 5


def test_what_a_backward_decides_is_told_as_late(recorded: tuple[str, Recording]) -> None:
    late = [step for _, _, step in steps(recorded[1]) if step.late]
    assert {step.late for step in late} == {Late.BACKWARD}
    assert {step.program_stack[-1].function for step in late} == {"backward"}
    assert [step.symbol for step in late if step.kind is ShapeStepKind.UNBACKED] == ["u2", "u3"]


def test_conditions_are_those_that_torch_adds_with_their_lines(
    alone: tuple[str, list[Said]], recorded: tuple[str, Recording]
) -> None:
    said = [
        (each.compile_id, each.attempt, each.body["expr"], lines(each.body["user_stack"]))
        for each in alone[1]
        if each.kind == "guard_added_fast"
    ]
    kinds = (ShapeStepKind.GUARD, ShapeStepKind.ASSERTION, ShapeStepKind.SUPPRESSED)
    told = [
        (id, attempt, step.expression, step.user_stack)
        for id, attempt, step in steps(recorded[1])
        if step.kind in kinds
    ]
    assert told == said
    assert len(said) > 50


def test_what_is_fixed_is_what_torch_specializes(
    alone: tuple[str, list[Said]], recorded: tuple[str, Recording]
) -> None:
    said = [
        (each.compile_id, each.attempt, body["symbol"], body["value"], body["reason"],
         body["sources"][:1], lines(body["user_stack"]))
        for each in alone[1] if each.kind == "symbolic_shape_specialization"
        for body in [each.body]
    ]  # fmt: skip
    told = [
        (id, attempt, step.symbol, step.expression, step.reason,
         [step.source] if step.source else [], step.user_stack)
        for id, attempt, step in steps(recorded[1])
        if step.event is EventKind.SPECIALIZE and step.kind is ShapeStepKind.REPLACED
    ]  # fmt: skip
    assert told == said
    assert len(said) > 10


def test_why_a_function_is_compiled_again_is_what_torch_says(
    alone: tuple[str, list[Said]], folder: Path, recorded: tuple[str, Recording]
) -> None:
    said = {id: reasons[0] for id, reasons in recompile_reasons(folder).items()}
    translations = recorded[1].translations()
    told = {each.compile_id: each.recompile_reason for each in translations}
    assert {id: reason for id, reason in told.items() if reason} == said
    assert len(said) > 20


def test_why_a_size_is_a_symbol(recorded: tuple[str, Recording]) -> None:
    """By what the program has done to the tensor, or how it was compiled."""
    found: dict[str, set[Why]] = {}
    for item in recorded[1].translations():
        attempt = recorded[1].attempts(item.id)[-1].id
        for symbol in symbols_at(recorded[1], attempt).values():
            found.setdefault(item.name, set()).add(symbol.born.why)
    assert found["mark"] == found["mark_range"] == {Why.MARKED}
    assert found["maybe_marked_and_fixed"] == {Why.MARKED_MAYBE}
    assert found["mark_unbacked"] == {Why.MARKED_UNBACKED}
    assert found["item_branch"] == found["nonzero"] == {Why.OPERATOR}
    assert found["automatic"] == found["int_argument"] == {Why.AUTOMATIC}
    assert found["matmul"] == found["branch"] == {Why.DYNAMIC}
