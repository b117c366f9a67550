"""Which code is not the program's: torch's, NumPy's, Python's and stepper's own files."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

from stepper.support.pythons_own import is_own_file

TORCH = os.path.dirname(torch.__file__) + os.sep
STEPPER = os.path.dirname(os.path.dirname(__file__)) + os.sep
OPTIMIZERS = os.path.join(TORCH, "optim") + os.sep
NUMPY: Any = sys.modules.get("numpy")  # torch has it, where there is one
_OF_NUMPY = "<numpy>" if NUMPY is None else os.path.dirname(NUMPY.__file__) + os.sep


def is_library(filename: str) -> bool:
    """Whether a file is torch's, NumPy's, Python's or stepper's own."""
    theirs = filename.startswith((TORCH, _OF_NUMPY, "<__array_function__", STEPPER))
    return theirs or is_own_file(filename)
