"""Programs that decide about sizes: each a function, and what it is called with.

`python -m tests.shapes` runs them all in one process, each compiled on its own. What it prints and
where it fails is part of what is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
from torch import Tensor

Calls = list[tuple[Any, ...]]
PROGRAMS: dict[str, tuple[Callable[..., Any], Calls, dict[str, Any]]] = {}


def program(*calls: tuple[Any, ...], **options: Any) -> Callable[[Any], Any]:
    """Call the function with each of these, compiled with these options: by default with
    dynamic=True, and the backend that runs the graph as it is."""

    def enter(function: Any) -> Any:
        assert function.__name__ not in PROGRAMS
        options_ = {"dynamic": True, "backend": "eager", **options}
        PROGRAMS[function.__name__] = (function, list(calls), options_)
        return function

    return enter


def ones(*sizes: int) -> Tensor:
    """As torch.ones."""
    return torch.ones(sizes)


def marked(
    tensor: Tensor, dim: int, how: Any = torch._dynamo.mark_dynamic, **limits: int
) -> Tensor:
    """The tensor, with a mark on one of its dimensions."""
    how(tensor, dim, **limits)
    return tensor


def run(name: str) -> None:
    """Compile and call one, forwards and backwards; what it raises is told."""
    function, calls, options = PROGRAMS[name]
    compiled = torch.compile(function, **options)
    for arguments in calls:
        try:
            result = compiled(*arguments)
            if isinstance(result, Tensor) and result.requires_grad:
                result.sum().backward()
        except Exception as error:
            print(name, type(error).__name__)
        else:
            print(name, getattr(result, "shape", type(result).__name__))
