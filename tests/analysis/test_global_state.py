"""Whatever torch's guard on the global state compares is told with both of its values, and with how
it is set."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stepper.analysis.recompile_lines import recompile_lines
from tests.analysis.conftest import Recorded

CHANGES = {
    "torch.use_deterministic_algorithms(True)": (
        "deterministic_algorithms changes: False, True", "torch.use_deterministic_algorithms"
    ),
    "torch.use_deterministic_algorithms(True, warn_only=True)": (
        "deterministic_algorithms_warn_only changes: False, True",
        "torch.use_deterministic_algorithms",
    ),
    "torch.set_float32_matmul_precision('high')": (
        "allow_tf32 changes: False, True", "torch.set_float32_matmul_precision"
    ),
    "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False": (
        "allow_fp16_reduce changes: True, False", "allow_fp16_reduced_precision_reduction"
    ),
    "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = (False, False)": (
        "allow_bf16_reduce changes: True, False, nor split-K",
        "allow_bf16_reduced_precision_reduction",
    ),
    "torch.set_num_threads(torch.get_num_threads() + 1)": (
        "num_threads changes: ", "torch.set_num_threads"
    ),
    "torch.set_default_dtype(torch.float64)": (
        "default_dtype changes: float32, float64", "torch.set_default_dtype"
    ),
    "torch.set_grad_enabled(False)": ("grad_mode changes: True, False", "torch.no_grad"),
    "torch.set_autocast_cache_enabled(False)": (
        "autocast_cache_enabled changes: True, False", "torch.set_autocast_cache_enabled"
    ),
    "torch.set_autocast_enabled('xpu', True)": (
        "autocast(xpu) changes: off, float16", "always the same autocast"
    ),
}  # fmt: skip
"""What a program does between two calls; what is told of it, and what the advice names."""
PROGRAM = """
import torch

@torch.compile(backend="eager")
def f(x):
    return x.sin()

x = torch.ones(3)
f(x)
{change}
f(x)
"""


@pytest.mark.parametrize("change", CHANGES)
def test_both_values_are_told(
    recorded: Recorded, program: Callable[[str], str], change: str
) -> None:
    told, advised = CHANGES[change]
    answer = recompile_lines(recorded(program(PROGRAM.format(change=change))))
    lines = [line.text.strip() for line in answer]
    assert any(line.startswith(told) for line in lines), lines
    assert any(line.startswith("advice: ") and advised in line for line in lines), lines
    assert not any("global state" in line for line in lines), lines
