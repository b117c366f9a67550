"""Of which call it is said that the nearest entry was made for it."""

from __future__ import annotations

from collections.abc import Callable

from stepper.analysis.recompile_lines import recompile_lines
from tests.analysis.conftest import Recorded

TWO_CALLS = """
import torch

@torch.compile(backend="eager", dynamic=False)
def inner(x):
    return x + 1

def outer(x):
    return inner(x)

outer(torch.ones(2))
outer(torch.ones(3))
"""


def test_the_call_an_entry_was_made_for_is_another_place_than_the_one_that_missed(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    """One line calls it in both; what calls that is what tells them apart."""
    told = [line.text for line in recompile_lines(recorded(program(TWO_CALLS)))]
    called = next(line for line in told if " compiled  called by " in line)
    made = next(line for line in told if " was made for a call by " in line)
    assert called.endswith(":9 in outer")
    assert made.endswith(":11 in <module>")
