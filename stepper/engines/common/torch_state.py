"""The state of torch that a compilation depends on besides its inputs.

Guards check it as a whole, and when one fails the compiler says at most in what. So it is read for
each compilation, and two of them can be compared.
"""

from __future__ import annotations

import torch

from stepper.engines.common.versions import (
    default_device,
    function_modes,
    functorch_transforms,
    global_state,
)
from stepper.model.trace import AUTOCAST_DEVICES
from stepper.support.words import plain_text


def torch_state() -> dict[str, str]:
    """What it is now, by name: Dynamo's, where it has one."""
    modes = [plain_text(type(mode)) for mode in function_modes()]
    return {
        "grad_mode": str(torch.is_grad_enabled()),
        "inference_mode": str(torch.is_inference_mode_enabled()),
        **{f"autocast({device})": _autocast(device) for device in AUTOCAST_DEVICES},
        "default_dtype": _dtype(torch.get_default_dtype()),
        "default_device": str(default_device() or "cpu"),
        **global_state(),
        "num_threads": str(torch.get_num_threads()),
        "function_modes": ", ".join(modes) or "none",
        "functorch": " of ".join(functorch_transforms()) or "none",
    }


def _autocast(device: str) -> str:
    return _dtype(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else "off"


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
