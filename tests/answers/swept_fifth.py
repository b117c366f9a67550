"""Programs of a fifth sweep, of loops, optimizers, layers and caches, of which an answer was
wrong, or said what did not help."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="how often the loop runs depends on data: compile one round of it",
    counts=(1, 1),
    never=("torch.cond",),
    function="next_tokens",
)  # fmt: skip
def stopped_at_the_last_token(run: Run) -> None:
    """`generate()`: with torch.where the loop would not end."""
    table = torch.eye(4).roll(1, 1)

    def next_token(token: Any) -> Any:
        return table[token].argmax(-1)

    def next_tokens(token: Any) -> Any:
        for _ in range(8):
            token = compiled(token)
            if (token == 3).all():  # cause
                break
        return token

    compiled = run.compile(next_token) if run.remedied else next_token
    (next_tokens if run.remedied else run.compile(next_tokens))(torch.tensor([1]))


@case(
    "", "why-break",
    cause="torch.compiler.disable",
    advice="torch itself disables it",
    counts=(0, 1),
    never=("remove torch.compiler.disable",),
)  # fmt: skip
def step_with_a_closure(run: Run) -> None:
    weights = ones(3, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=1)

    def loss() -> Any:
        return (weights * 2).sum()

    counted = run.compile(loss) if run.remedied else loss

    def closure() -> Any:
        optimizer.zero_grad()
        found = counted()
        found.backward()
        return found

    def stepped() -> Any:
        return optimizer.step(closure)  # cause

    (stepped if run.remedied else run.compile(stepped))()


@case(
    "", "why-recompile",
    cause="args[0] dies",
    advice="args[0] (SGD, of tests/answers/swept_fifth.py",
    counts=(2, 1),
    never=("val dies",),
    function="profile_hook_step",
)  # fmt: skip
def optimizer_of_each_fold(run: Run) -> None:
    optimizer: Any = None

    @run.compile
    def updated() -> None:
        optimizer.step()

    weights = nn.Parameter(ones(3))
    for fold in range(2):
        if fold == 0 or not run.remedied:
            optimizer = torch.optim.SGD([weights], lr=0.1)
        weights.grad = ones(3)
        updated()


@case(
    "", "why-recompile",
    cause="length of block_ids changes: 2, 3",
    advice="The length of a container is a constant of the graph: hand over block_ids",
    counts=(2, 1),
    never=("To save the entry",),
)  # fmt: skip
def blocks_of_a_request(run: Run) -> None:
    """Another request has other blocks, too: as symbols they would save no entry."""

    @run.compile
    def gathered(cache: Any, block_ids: Any) -> Any:
        return torch.cat([cache[each] for each in block_ids])  # cause

    cache = torch.arange(12.0).view(6, 2)
    for block_ids in ([2, 3], [2, 3] if run.remedied else [4, 5, 3]):
        gathered(cache, block_ids)


@case(
    "", "why-recompile",
    cause="type of self.norm changes: torch.nn.modules.normalization.LayerNorm, RMSNorm",
    advice="Keep self.norm of one type: each has an entry",
    counts=(2, 1),
    never=("self.norm.eps changes", "being None"),
    function="Normed",
)  # fmt: skip
def norms_of_blocks(run: Run) -> None:
    """What one of them has, and not the other, is a consequence."""

    class Normed(nn.Module):
        def __init__(self, norm: Any) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: Any) -> Any:
            return x + self.norm(x)

    first = nn.LayerNorm(4)
    for norm in (first, copy.deepcopy(first) if run.remedied else nn.RMSNorm(4)):
        run.compile(Normed(norm))(ones(2, 4))


@case(
    "", "why-recompile",
    cause="limit changes: nan, 1.0",
    advice="Dynamo makes no symbol of nan, which has an entry of its own",
    counts=(2, 1),
)  # fmt: skip
def no_limit_at_first(run: Run) -> None:
    @run.compile
    def limited(x: Any, limit: Any) -> Any:
        return x * limit  # cause

    for limit in (float("nan"), 1.0):
        limited(ones(2), torch.tensor(limit) if run.remedied else limit)
