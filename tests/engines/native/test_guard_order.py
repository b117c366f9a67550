"""In which order guards are checked, and that nothing is lost by it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out


class Wide(nn.Module):
    """A module with many guards."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def checks(model: nn.Module) -> list[str]:
    [source] = native.export_guards(Wide.forward)
    return [line.strip() for line in source.splitlines() if line.strip().startswith("and")]


def test_arguments_are_checked_before_modules() -> None:
    native.reset()
    model = Wide().eval()
    captured = native.optimize(run_graph)(model)
    assert torch.allclose(captured(torch.ones(2, 3)), model(torch.ones(2, 3)))
    written = checks(model)
    first = written.index("and (___check_argument_tensors(L['x']))")
    assert not any("L['self']" in line for line in written[:first])
    assert sum("L['self']" in line for line in written[first:]) > 16


def test_an_argument_that_is_a_parameter_is_told_from_others() -> None:
    native.reset()
    model = Wide().eval()
    captured = native.optimize(run_graph)(model)
    given = torch.ones(3, 3)
    parameter = model.layers[0].weight
    with torch.no_grad():
        captured(given)
        assert torch.equal(captured(parameter), model(parameter))


def test_dropout_that_drops_nothing_leaves_the_generators_alone() -> None:
    def attend(q: torch.Tensor, p: float) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=p)

    native.reset()
    q = torch.ones(1, 2, 4, 8)
    captured = native.optimize(run_graph)(attend)
    for p, draws in ((0.0, False), (0.5, True)):
        torch.manual_seed(3)
        expected = attend(q, p)
        after = torch.get_rng_state()
        torch.manual_seed(3)
        before = torch.get_rng_state()
        assert torch.equal(captured(q, p), expected)
        assert torch.equal(torch.get_rng_state(), after)
        assert torch.equal(before, after) is not draws
