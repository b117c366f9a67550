"""Recordings to report on: real ones, and one whose every text is hostile."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepper.model.failure import FailedStage
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.shapes import ShapeStepKind, Why
from stepper.model.trace import Outcome, SessionFacts, SkippedFrame
from stepper.model.value import TensorMeta, Value
from stepper.recording.reader import Recording
from tests.analysis.conftest import program, recorded
from tests.tape import Tape

__all__ = ["program", "recorded"]

MARKUP = "<script>alert(1)</script>"
QUOTES = "\"'><img src=x onerror=alert(1)>`|@everyone #1"
TERMINAL = "\x1b[31mred\x1b]0;title\x07\x00"
BACKWARDS = "\u202egnp.exe\u2066\u200f"
ENDLESS = "n" * 1_000_000
HOSTILE = (MARKUP, QUOTES, TERMINAL, BACKWARDS, ENDLESS)


@pytest.fixture
def hostile(tmp_path: Path) -> Recording:
    """A recording in which every text that a program decides is hostile, each in its own frame."""
    path = str(tmp_path / "hostile.stepper")
    facts = SessionFacts(argv=HOSTILE[:4], cwd=f"/tmp/{MARKUP}", python="3.11.7", torch=MARKUP)
    tape = Tape(path, facts=facts)
    for number, text in enumerate(HOSTILE):
        _frame(tape, number, text)
    tape.close()
    return Recording.open(path)


def _frame(tape: Tape, number: int, text: str) -> None:
    rows = tuple(Instruction(at, text[:99], 0, text[:999], 2 * at, 1) for at in range(3))
    body = Code(0, text, text, f"/home/{text}/{text}", 1, rows, 1, (text,))
    frame = PythonFrame(text, 1, text)
    tape.begin(
        body, f"{number}/0", python_stack=(frame,), recompile_reason=f"0/0: {text}", cache_size=1
    )
    tape.start_attempt()
    meta = TensorMeta(text, (text,))
    value = tape.describe(Value(text, text, text, text, tensor=meta, node=text))
    tape.step(0, stack=(value,), locals={text: value})
    tape.guard("EQUALS_MATCH", text, code=(text,), user_line=frame)
    tape.node(text, "call_function", text, args=text, inputs=(text,), meta=meta)
    tape.node(f"{text}x", "placeholder", text, source=text)
    tape.step(1, stack=(value,), locals={text: value})
    tape.graph_break(
        text, gb_type=text, explanation=text, hints=(text,), user_stack=(frame,), resumes=False
    )
    tape.writer.skipped_frame(SkippedFrame(number, tape.moment, text, text, 1, text))
    assert tape.translation is not None
    for owner in (tape.translation.id, None):
        tape.failure(
            FailedStage.TRACING, text, exception=text, name=text, filename=text, compile_id=text,
            translation=owner, user_stack=(frame,), raised=(frame,), python_stack=(frame,),
            node=text,
        )  # fmt: skip
    tape.shape_step(ShapeStepKind.SYMBOL, symbol=text, source=text, hint=text, why=Why.MARKED)
    tape.shape_step(
        ShapeStepKind.GUARD, expression=text, symbols=(text,), node=text, target=text,
        user_stack=(frame,), asked_by=(frame,),
    )  # fmt: skip
    tape.shape_step(ShapeStepKind.REPLACED, symbol=text, expression=str(number), reason=text)
    tape.end_attempt()
    tape.end(Outcome.COMPILED, reason=text, transformed_code=tape.code(body))
