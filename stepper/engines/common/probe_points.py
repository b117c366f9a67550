"""Functions of torch that are watched, by their names, and how they are found."""

from __future__ import annotations

import importlib
import inspect
from typing import Any, NamedTuple

import torch


class UnsupportedTorch(RuntimeError):
    """The installed torch is not one that the engine was tested with; the message says which
    are."""


class ProbePoint(NamedTuple):
    """A function to watch."""

    module: str
    qualname: str
    parameters: tuple[str, ...]


DECORATED = "inner_fn"
"""What `TorchPatcher.suppress_torch_distributed_warnings` makes of a function, without a trace."""


def resolve(point: ProbePoint) -> Any:
    """The function that a probe point names.

    Raises:
        UnsupportedTorch: this build of torch lacks it.
    """
    found: Any = importlib.import_module(point.module)
    for part in point.qualname.split("."):
        try:
            found = vars(found)[part]
        except KeyError:
            raise UnsupportedTorch(
                f"torch {torch.__version__} has no {point.module}.{point.qualname}, which stepper "
                "needs to watch. Is this a modified build of torch?"
            ) from None
    if getattr(found, "__name__", "") == DECORATED:
        found = inspect.getclosurevars(found).nonlocals["fn"]
    return found
