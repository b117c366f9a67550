"""What is replaced after a capture is noticed: a table of programs, compared with Python in each
state. `python -m tests.engines.native.replaced` runs all of them, `--sweep` every name of torch's
modules besides; here are all that stand alone, and some of each kind of pairs."""

from __future__ import annotations

import pytest
import torch

from tests.engines.native.replaced import torch_names
from tests.engines.native.replaced.features import FEATURES
from tests.engines.native.replaced.kinds import KINDS
from tests.engines.native.replaced.running import run
from tests.engines.native.replaced.tables import PAIRS, PARTS, WORLD

pytestmark = pytest.mark.evaluator_out

WITHOUT_GRAPH = {"exception_classes"}
"""What the engine does not capture, so far."""


@pytest.mark.parametrize("name", WORLD)
def test_what_is_around_a_program_is_replaced(name: str) -> None:
    outcome = run(WORLD[name])
    assert not outcome.stale, "\n".join(outcome.stale)
    assert bool(outcome.graphs) is (name not in WITHOUT_GRAPH)


WHOLE = ("of plain", "of module")
SAMPLE = [
    name for index, name in enumerate(PAIRS) if name.endswith(WHOLE) or index % 20 == 0
]  # fmt: skip


def test_there_are_cases_of_every_kind_of_class_and_for_every_feature() -> None:
    pairs = [name.split(" of ") for name in PAIRS]
    assert {kind for _, kind in pairs} == set(KINDS)
    assert {feature for feature, _ in pairs} == set(FEATURES)


@pytest.mark.parametrize("name", [name for index, name in enumerate(PARTS) if index % 5 == 1])
def test_a_part_of_a_function_is_replaced(name: str) -> None:
    outcome = run(PARTS[name])
    assert not outcome.stale, "\n".join(outcome.stale)
    assert outcome.graphs


@pytest.mark.parametrize("name", SAMPLE)
def test_something_of_a_class_is_replaced(name: str) -> None:
    outcome = run(PAIRS[name])
    assert not outcome.stale, "\n".join(outcome.stale)


@pytest.mark.parametrize("name", ["nn", "Tensor", "is_grad_enabled", "relu", "_C", "finfo"])
def test_a_name_of_torch_is_replaced(name: str) -> None:
    found = [each for each in torch_names.all_names() if (each.module, each.name) == (torch, name)]
    assert found
    assert [line for each in found for line in torch_names.differences(each)] == []


def test_names_of_torch_are_replaced() -> None:
    assert list(torch_names.stale(every=200)) == []
