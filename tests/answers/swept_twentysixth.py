"""Programs for what was wrong in answers about users' reports that nobody had asked stepper about:
backends that begin with AOTAutograd."""

from __future__ import annotations

from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#165751", "why-break",
    cause="Backend compiler exception",
    advice="AOTAutograd, which aot_eager begins with, cannot trace aten._standard_gamma_grad",
    counts=(0, 1),
    never=("try backend='aot_eager'",),
)  # fmt: skip
def gamma_whose_gradient_is_needed(run: Run) -> None:
    class Rates(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoded = torch.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            rate = self.encoded(x).exp()
            return torch.distributions.Gamma(rate, rate).rsample()  # cause

    backend = run if run.remedied else "aot_eager"
    rates = torch.compile(Rates(), backend=backend, dynamic=True)
    rates(ones(2, 3))
