"""Settings of the process are said to be guarded as torch's own guard looks at them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import stepper
from stepper.analysis.guard_lines import guarded_lines
from stepper.recording.reader import Recording

MATMUL = torch.backends.cuda.matmul
THREADS = torch.get_num_threads()


def attribute(of: Any, name: str, other: Any) -> Callable[[], None]:
    return lambda: setattr(of, name, other)


SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "torch.is_grad_enabled()": (
        lambda: torch._C._set_grad_enabled(False), lambda: torch._C._set_grad_enabled(True),
    ),
    "torch.get_default_dtype()": (
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_dtype(torch.float32),
    ),
    "torch.get_num_threads()": (
        lambda: torch.set_num_threads(THREADS + 1), lambda: torch.set_num_threads(THREADS),
    ),
    "torch.are_deterministic_algorithms_enabled()": (
        lambda: torch.use_deterministic_algorithms(True),
        lambda: torch.use_deterministic_algorithms(False),
    ),
    "torch.is_deterministic_algorithms_warn_only_enabled()": (
        lambda: torch.use_deterministic_algorithms(True, warn_only=True),
        lambda: torch.use_deterministic_algorithms(False),
    ),
    "torch.get_deterministic_debug_mode()": (
        lambda: torch.set_deterministic_debug_mode(1),
        lambda: torch.set_deterministic_debug_mode(0),
    ),
    "torch.is_autocast_enabled('cpu')": (
        lambda: torch.set_autocast_enabled("cpu", False),
        lambda: torch.set_autocast_enabled("cpu", True),
    ),
    "torch.get_autocast_dtype('cpu')": (
        lambda: torch.set_autocast_dtype("cpu", torch.float16),
        lambda: torch.set_autocast_dtype("cpu", torch.bfloat16),
    ),
    "torch.is_autocast_cache_enabled()": (
        lambda: torch.set_autocast_cache_enabled(False),
        lambda: torch.set_autocast_cache_enabled(True),
    ),
    "torch.get_float32_matmul_precision()": (
        lambda: torch.set_float32_matmul_precision("high"),
        lambda: torch.set_float32_matmul_precision("highest"),
    ),
    **{
        f"torch.backends.cuda.matmul.{name}": (
            attribute(MATMUL, name, not getattr(MATMUL, name)),
            attribute(MATMUL, name, getattr(MATMUL, name)),
        )
        for name in (
            "allow_tf32", "allow_fp16_accumulation", "allow_fp16_reduced_precision_reduction",
            "allow_bf16_reduced_precision_reduction",
        )
    },
    "torch.backends.cudnn.benchmark": (
        attribute(torch.backends.cudnn, "benchmark", True),
        attribute(torch.backends.cudnn, "benchmark", False),
    ),
    "torch.is_anomaly_enabled()": (
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: torch.autograd.set_detect_anomaly(False),
    ),
}  # fmt: skip
"""How each is made another, and what it was again."""
NOT_SET_ALONE = {"torch_function", "torch_function_all_disabled"}
"""What torch's guard compares besides, and no function of a program's reads."""


@contextlib.contextmanager
def changed(setting: str) -> Iterator[None]:
    change, undo = SETTINGS[setting]
    change()
    try:
        yield
    finally:
        undo()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    path = tmp_path_factory.mktemp("state") / "a.stepper"
    with stepper.record(path):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    found = Recording.open(str(path))
    torch.set_autocast_enabled("cpu", True)  # else nobody looks at its dtype
    yield found
    torch.set_autocast_enabled("cpu", False)
    found.close()


def compared() -> dict[str, object]:
    """What torch's guard compares, as it is now."""
    guard: Any = torch._C._dynamo.guards.GlobalStateGuard()
    found: dict[str, object] = json.loads(guard.__getstate__())
    return found


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_is_said_to_be_guarded_if_torch_looks_at_it(
    recording: Recording, setting: str
) -> None:
    guard = torch._C._dynamo.guards.GlobalStateGuard()
    with changed(setting):
        looked_at = not guard.check()
    said = next(iter(guarded_lines(recording, setting))).text
    assert (f"{setting} is guarded" in said) is looked_at


def test_all_that_torch_looks_at_can_be_asked_about(recording: Recording) -> None:
    before, found = compared(), set()
    for setting in SETTINGS:
        with changed(setting):
            now = compared()
        found |= {name for name in before if now[name] != before[name]}
    assert before.keys() - NOT_SET_ALONE == found
