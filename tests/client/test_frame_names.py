"""Frames of libraries are named by their place in the model and the class, where that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepper.client.frame_names import (
    compiled_name,
    compiled_title,
    event_text,
    frame_name,
    with_shown_names,
)
from stepper.model.module_path import is_module, layer_of, module_path
from stepper.model.program import Code, Instruction
from stepper.model.trace import EventKind, Outcome, Phase
from stepper.model.value import Value
from stepper.recording.reader import Recording
from tests.tape import Tape

MODEL = "L['self']"
BLOCK = f"{MODEL}._modules['decoder']._modules['block']._modules['7']"


@pytest.mark.parametrize(
    ("source", "path", "layer"),
    [
        (BLOCK, "decoder.block[7]", "decoder.block[7]"),
        (f"{BLOCK}._modules['fc']._parameters['w']", "decoder.block[7].fc", "decoder.block[7]"),
        (f"{MODEL}.__dict__['_modules']['head'].bias", "head", "head"),
        ("G['net']._modules['0']", "net[0]", "net[0]"),
        (f"{MODEL}.inner._modules['fc']", "self.inner.fc", "self.inner.fc"),
        (MODEL, "", ""),
        ("L['x']", "", ""),
    ],
)
def test_the_module_that_an_expression_leads_to(source: str, path: str, layer: str) -> None:
    assert module_path(source) == path
    assert layer_of(path) == layer


def test_what_a_module_has_is_no_module() -> None:
    assert is_module(BLOCK)
    assert not is_module(f"{BLOCK}.config")
    assert not is_module(MODEL)


def code(tape: Tape, qualname: str) -> int:
    rows = tuple(Instruction(at, "RESUME", 0, "", 2 * at, 1) for at in range(2))
    return tape.code(Code(0, qualname.rpartition(".")[2], qualname, "/lib/model.py", 1, rows))


@pytest.mark.parametrize(
    ("qualname", "source", "named"),
    [
        ("Block.forward", BLOCK, "decoder.block[7] Block.forward"),
        ("tupled.<locals>.wrapper", BLOCK, "decoder.block[7] Block, wrapper of tupled"),
        ("main.<locals>.Block.forward", BLOCK, "decoder.block[7] Block.forward"),
        ("Config.get", f"{BLOCK}.config", "Config.get"),
        ("tupled.<locals>.wrapper", "", "tupled.<locals>.wrapper"),
    ],
)
def test_an_inlined_frame(qualname: str, source: str, named: str, tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "run.stepper"))
    tape.begin(compiled_name, "0/0")
    tape.start_attempt()
    tape.step(0)
    value = tape.describe(Value("UserDefinedObjectVariable", "Block", source=source))
    frame = tape.enter(code(tape, qualname))
    tape.step(0, locals={"self": value})
    tape.close()
    recording = Recording.open(str(tmp_path / "run.stepper"))
    assert frame_name(recording, frame.id) == named
    recording.close()


@pytest.mark.parametrize(
    ("name", "resume_of", "shown"),
    [
        ("Net.torch_dynamo_resume_in_forward_at_4", "Net.forward", "Net.forward, resumed at 4"),
        (
            "torch_dynamo_resume_in_wrapper_at_12", "tupled.<locals>.wrapper",
            "Net, wrapper of tupled, resumed at 12",
        ),
        (
            "tupled.<locals>.torch_dynamo_resume_in_wrapper_at_12", "wrapper",
            "Net, wrapper of tupled, resumed at 12",
        ),
        ("__resume_at_14_2", "forward", "forward, resumed"),
    ],
)  # fmt: skip
def test_the_rest_of_a_broken_function_is_named_by_the_function(
    name: str, resume_of: str, shown: str, tmp_path: Path
) -> None:
    tape = Tape(str(tmp_path / "run.stepper"))
    row = Instruction(0, "RESUME", 0, "", 0, 1)
    tape.begin(Code(0, name, name, "/lib/model.py", 1, (row,)), "1/0", resume_of=resume_of)
    tape.start_attempt()
    model = Value("UnspecializedNNModuleVariable", "Net", source=MODEL)
    tape.step(0, locals={"self": tape.describe(model)})
    tape.end_attempt()
    tape.end()
    tape.close()
    recording = Recording.open(str(tmp_path / "run.stepper"))
    (item,) = recording.translations()
    assert compiled_title(recording, item) == f"1/0 {shown}"
    assert with_shown_names(recording, "entry 1 of Net.torch_dynamo_resume_in_forward_at_4") == (
        "entry 1 of Net.forward, resumed at 4"
    )
    recording.close()


def test_what_is_compiled_is_named_by_the_model_once_that_is_known(tmp_path: Path) -> None:
    tape = Tape(str(tmp_path / "run.stepper"))
    rows = tuple(Instruction(at, "RESUME", 0, "", 2 * at, 1) for at in range(3))
    wrapper = Code(0, "wrapper", "tupled.<locals>.wrapper", "/lib/model.py", 1, rows)
    tape.begin(wrapper, "", phase=Phase.LOOKUP)
    tape.start_attempt()
    tape.step(0)
    tape.end_attempt()
    tape.end(outcome=Outcome.MISS)
    tape.begin(wrapper, "0/0")
    tape.start_attempt()
    model = tape.describe(Value("LazyVariableTracker", source=MODEL, lazy=True))
    tape.step(0, locals={"self": model})
    known = Value("UnspecializedNNModuleVariable", "Net", source=MODEL)
    tape.step(1, locals={"self": tape.describe(known, model)})
    tape.end_attempt()
    tape.end()
    tape.close()
    recording = Recording.open(str(tmp_path / "run.stepper"))
    lookup, item = recording.translations()
    assert compiled_title(recording, item) == "0/0 Net, wrapper of tupled"
    assert compiled_name(recording, lookup) == "Net, wrapper of tupled", "what it led to"
    assert frame_name(recording, 1) == "Net, wrapper of tupled", "the lookup's own frame"
    told = with_shown_names(
        recording,
        "entry 1 of tupled.<locals>.wrapper (0/0): it dies with code of f.<locals>.g.<locals>.h",
    )
    assert told == "entry 1 of Net, wrapper of tupled (0/0): it dies with code of h"
    _, begun = recording.events(kinds=(EventKind.TRANSLATION,))
    assert event_text(recording, begun) == "Net, wrapper of tupled"
    recording.close()
