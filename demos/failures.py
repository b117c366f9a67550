"""Compilations that fail, each in another stage; the exceptions are caught, and the run goes on.

stepper record -o failures.stepper demos/failures.py
stepper why-failed failures.stepper
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


@torch.compile(backend="eager", fullgraph=True)
def while_tracing(x: Tensor) -> Tensor:
    """The sizes do not fit, two calls deep."""
    return layer(x.relu(), x)


def layer(h: Tensor, weight: Tensor) -> Tensor:
    """A product whose right side was not transposed."""
    scaled = h * 0.5
    return scaled @ weight


@torch.compile(backend="eager")
def while_building_guards(x: Tensor) -> Tensor:
    """The first size is marked as one that changes, and then fixed."""
    return x.sin() if x.shape[0] == 3 else x.cos()


def no_cosine(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
    """A backend that lacks an operator."""
    for node in graph.graph.nodes:
        if node.op == "call_method" and node.target == "cos":
            raise NotImplementedError(f"no kernel for {node.target}")
    return graph


@torch.compile(backend=no_cosine)
def in_the_backend(x: Tensor) -> Tensor:
    """The graph is made, and nobody can compile it."""
    return x.cos() + 1


def attempt(function: Callable[[Tensor], Tensor], x: Tensor) -> None:
    """Calls it, and says of what class its exception is."""
    try:
        function(x)
    except Exception as error:
        print(function.__name__, type(error).__name__)


if __name__ == "__main__":
    attempt(while_tracing, torch.ones(3, 4))
    marked = torch.ones(3, 4)
    torch._dynamo.mark_dynamic(marked, 0)
    attempt(while_building_guards, marked)
    attempt(in_the_backend, torch.ones(3))
