"""Inputs of a graph."""

from __future__ import annotations

import torch

from stepper.native.source import Source


class GraphArg:
    """An input of the graph: where it comes from, and what it is now."""

    __slots__ = ("example", "source")

    def __init__(self, source: Source, example: torch.Tensor | float) -> None:
        self.source = source
        self.example = example
