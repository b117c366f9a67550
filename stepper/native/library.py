"""Which code is not the program's: torch's, Python's and stepper's own files."""

from __future__ import annotations

import os

import torch

TORCH = os.path.dirname(torch.__file__) + os.sep
STEPPER = os.path.dirname(os.path.dirname(__file__)) + os.sep
OPTIMIZERS = os.path.join(TORCH, "optim") + os.sep
_PYTHON = os.path.dirname(os.__file__) + os.sep


def is_library(filename: str) -> bool:
    """Whether a file is torch's, Python's or stepper's own."""
    if filename.startswith((TORCH, "<frozen ", "<__array_function__", STEPPER)):
        return True
    return filename.startswith(_PYTHON) and "-packages" not in filename
