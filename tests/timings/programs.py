"""A program that sleeps where time is to be found, and what torch says that it timed."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch
from torch import Tensor
from torch._dynamo.utils import compilation_time_metrics

SLEEP = 0.3
"""Seconds: what is planted is found, however slow the machine is."""


@torch.library.custom_op("stepper_timings::slow", mutates_args=())
def slow(x: Tensor) -> Tensor:
    """Takes its time while it is traced, and none when it runs."""
    return x.clone()


@slow.register_fake
def _(x: Tensor) -> Tensor:
    time.sleep(SLEEP)
    return torch.empty_like(x)


def backend(module, _inputs):
    """Takes its time, too."""
    time.sleep(2 * SLEEP)
    return module.forward


def helper(x: Tensor) -> Tensor:
    """Is inlined."""
    return slow(x) + 1  # planted: traced twice


@torch.compile(backend=backend)
def broken(x: Tensor) -> Tensor:
    """The break comes after what is slow."""
    y = helper(x)  # calls what is planted
    print("breaks")
    return y.sin()


@torch.compile(backend="aot_eager")
def trained(x: Tensor) -> Tensor:
    """Has a backward."""
    return (x.sin() * 2).sum()


if __name__ == "__main__":
    broken(torch.ones(3))
    trained(torch.ones(3, requires_grad=True)).backward()
    counts = {name: len(times) for name, times in compilation_time_metrics.items()}
    Path(sys.argv[1]).write_text(json.dumps(counts))
