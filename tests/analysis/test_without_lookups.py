"""What is said of recompilations where lookups were not recorded: of other entries than the one
that the compiler speaks of, and of what its words alone do not say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stepper.analysis.break_lines import break_lines
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.walks import compilations
from stepper.recording.reader import Recording

Recorded = Callable[..., Recording]

FLAGS = """
import enum
import torch

class Steps(enum.Flag):
    NONE = 0
    FLIP = enum.auto()
    SHIFT = enum.auto()

@torch.compile(backend="eager")
def changed(x, steps):
    if Steps.FLIP in steps:
        x = x.flip(-1)
    return x + 1 if Steps.SHIFT in steps else x * 2

for steps in (Steps.NONE, Steps.FLIP, Steps.FLIP | Steps.SHIFT):
    changed(torch.ones(2), steps)
"""


def test_another_object_is_known_by_its_number(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    text = _answer(recorded(program(FLAGS)))
    assert "object of steps changes: Steps.NONE, Steps.FLIP, Steps.FLIP|SHIFT  (2 of 2)" in text
    assert "steps._value_ grows" not in text  # what it is read from is another object
    assert "made steps._value_ an input" not in text
    assert "not recorded why" not in text


STATES = """
import torch

@torch.compile(backend="eager")
def scored(x, y=None):
    out = x * 2
    return out if y is None else out - y

for size in (4, 3):
    scored(torch.ones(size, requires_grad=True), torch.ones(size))
with torch.no_grad():
    scored(torch.ones(4))
"""


@pytest.mark.parametrize("engine", ["dynamo", "native"])
def test_the_state_of_torch_is_compared_with_each_entry(
    recorded: Recorded, program: Callable[[str], str], engine: str
) -> None:
    text = _answer(recorded(program(STATES), "--engine", engine))
    assert "grad_mode changes: True, False  (1 of 2)" in text
    assert "always the same grad mode" in text
    assert text.count("grad_mode: expected True, actual False") == 2


ROUNDS = """
import torch

@torch.compile(backend="eager")
def step(x, at):
    return x * 2 if (at + 1) % 4 == 0 else x * 3

for at in range(2, 7):
    step(torch.ones(2), at)
"""


def test_a_condition_on_a_number_has_its_line(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    text = _answer(recorded(program(ROUNDS)))
    assert "program.py:6 in step asks for: keep the calls on one side of it" in text


OPTIONS = """
import torch

@torch.compile(backend="eager")
def scaled(x, **options):
    return x * options["scale"] if "scale" in options else x

scaled(torch.ones(2), scale=2, other=1)
scaled(torch.ones(2), other=1, another=3)
"""


def test_what_is_not_there_is_told_so(recorded: Recorded, program: Callable[[str], str]) -> None:
    text = _answer(recorded(program(OPTIONS)))
    assert "does not hold" not in text
    assert "KeyError" not in text


INDEX = """
import torch

class Counted:
    def __init__(self):
        self.at = None

    def step(self, x):
        if self.at is None:
            self.at = 0
        self.at += 1
        return x * self.at

counted = Counted()
step = torch.compile(counted.step, backend="eager")
for _ in range(4):
    step(torch.ones(2))
"""


def test_a_value_that_was_none_is_told_once(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    text = _answer(recorded(program(INDEX)))
    assert "self.at changes: None, 1, 2" in text
    assert text.count("self.at: expected None") == 2


MODULE = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
model.compile(backend="eager")
model(torch.ones(2, 3))
"""


def test_a_module_of_torchs_is_not_compiled_by_its_own_method(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    recording = recorded(program(MODULE))
    text = "\n".join(line.text for line in break_lines(recording))
    compiled = bool(compilations(recording))  # as newer versions of torch do
    assert ("compile with torch.compile(module)" in text) != compiled


def _answer(recording: Recording) -> str:
    return "\n".join(line.text for line in recompile_lines(recording))


BESIDE_A_NUMBER = """
import torch
from tests.answers.subclasses import BesideANumber

@torch.compile(backend="eager")
def shifted(weights):
    return weights + 1

for scale in (1.0, 0.5, 0.25):
    shifted(BesideANumber(torch.ones(3), scale))
"""


@pytest.mark.parametrize("options", [(), ("--lookups",)], ids=["alone", "lookups"])
def test_an_entry_that_only_the_program_could_answer_for_is_said_to_be_one(
    recorded: Recorded, program: Callable[[str], str], options: tuple[str, ...]
) -> None:
    """Each of two entries was asked: of the older one neither torch nor its guards say more."""
    text = _answer(recorded(program(BESIDE_A_NUMBER), *options))
    assert "0/1  metadata of weights differs" in text
    assert "0/0  not recorded why: its guards on weights, " in text
    assert " cannot be asked again" in text
    assert "not asked" not in text
