"""A call under a transform of torch.func finds no entry that was made without it, and the other way
round: that is said, and none of what the tensors have otherwise because of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stepper.analysis.recompile_lines import recompile_lines
from tests.analysis.conftest import Recorded

CALLS = {
    "alone": "f(x)",
    "vmap": "torch.vmap(f)(x)",
    "grad": "torch.func.grad(lambda x: f(x).sum())(x)",
    "vmap of vmap": "torch.vmap(torch.vmap(f))(x)",
}
PROGRAM = """
import torch

@torch.compile(backend="eager")
def f(x):
    return x.sin()

x = torch.ones(3, 3)
"""


@pytest.mark.parametrize("first", CALLS)
@pytest.mark.parametrize("second", CALLS)
def test_the_transforms_are_named_and_nothing_else_is_advised_on(
    recorded: Recorded, program: Callable[[str], str], first: str, second: str
) -> None:
    text = f"{PROGRAM}{CALLS[first]}\n{CALLS[second]}\n"
    lines = [line.text.strip() for line in recompile_lines(recorded(program(text)))]
    changes = [line for line in lines if line.startswith("functorch changes: ")]
    advice = [line for line in lines if line.startswith("advice: ")]
    if first == second:
        assert changes == advice == []
        return
    before, after = ("none" if each == "alone" else each for each in (first, second))
    assert changes == [f"functorch changes: {before}, {after}  (1 of 1)"]
    (only,) = advice
    assert "call it always under the same" in only


def test_other_ranks_under_one_transform_are_advised_on(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    text = f"{PROGRAM}torch.vmap(f)(x)\ntorch.vmap(f)(x[0])\n"
    lines = [line.text.strip() for line in recompile_lines(recorded(program(text)))]
    assert not any(line.startswith("functorch") for line in lines)
    assert any("reshape x to one rank" in line for line in lines)
