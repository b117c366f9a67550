"""In which order functions are told that were compiled again."""

from __future__ import annotations

from collections.abc import Callable

from stepper.analysis.recompile_lines import recompile_lines
from tests.analysis.conftest import Recorded

CHEAP_AND_COSTLY = """
import torch

@torch.compile(backend="eager", dynamic=False)
def halved(x):
    return x / 2

@torch.compile(backend="eager", dynamic=False)
def summed(x):
    for _ in range(200):
        x = x + 1
    return x

for size in (2, 3):
    x = torch.ones(size)
    CALLS
"""


def told(recorded: Recorded, program: Callable[[str], str], calls: str) -> list[str]:
    """The functions, in the order in which they are told."""
    lines = recompile_lines(recorded(program(CHEAP_AND_COSTLY.replace("CALLS", calls))))
    heads = [line.text.split()[0] for line in lines if "1 recompilation, " in line.text]
    return [name for name in heads if name in {"halved", "summed"}]


def test_what_one_line_calls_first_is_told_first(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    """What the second is given is what the first returns, however long each takes."""
    assert told(recorded, program, "summed(halved(x))") == ["halved", "summed"]


def test_what_takes_longest_is_told_first_where_nothing_connects_them(
    recorded: Recorded, program: Callable[[str], str]
) -> None:
    assert told(recorded, program, "halved(x); y = x\n    summed(y)") == ["summed", "halved"]
