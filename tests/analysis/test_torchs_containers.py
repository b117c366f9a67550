"""A container of torch's that is compiled has its class's name, and its argument's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stepper.analysis.recompile_lines import recompile_lines
from tests.analysis.conftest import Recorded

COMPILED = """
import torch

class Broken(torch.nn.Module):
    def forward(self, x):
        torch._dynamo.graph_break()
        return x + 1

model = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), LAST), backend="eager")
for size in (4, 2):
    model(torch.ones(size, 4))
"""


@pytest.mark.parametrize("last", ["torch.nn.ReLU()", "Broken()"])
def test_it_is_named_whether_the_graph_breaks_in_it_or_not(
    recorded: Recorded, program: Callable[[str], str], last: str
) -> None:
    """The attempt behind a break calls what the first has inlined."""
    lines = [
        line.text for line in recompile_lines(recorded(program(COMPILED.replace("LAST", last))))
    ]
    assert any(line.startswith("Sequential, inner of wrap_inline ") for line in lines)
    assert "  input.shape[0] changes: 4, 2  (1 of 1)" in lines
