"""Settings of the process that guards compare, by what a program calls them."""

from __future__ import annotations

import re

from stepper.analysis.guard_uses import entries, guards_of
from stepper.client.meant import is_meant
from stepper.model.trace import Guard, Translation
from stepper.recording.reader import Recording

_GLOBAL = "GLOBAL_STATE"
_MATMUL = "torch.backends.cuda.matmul"
_OTHER_PRECISIONS = " (the highest precision against the others)"
_COMPARED = {
    **dict.fromkeys(
        (
            "torch.is_grad_enabled", "torch.get_default_dtype", "torch.get_num_threads",
            "torch.are_deterministic_algorithms_enabled",
            "torch.is_deterministic_algorithms_warn_only_enabled",
            "torch.get_deterministic_debug_mode", "torch.is_autocast_enabled",
            "torch.is_autocast_cpu_enabled", "torch.is_autocast_cache_enabled",
            f"{_MATMUL}.allow_tf32",
            f"{_MATMUL}.allow_fp16_reduced_precision_reduction",
            f"{_MATMUL}.allow_bf16_reduced_precision_reduction",
        ),
        "",
    ),
    **dict.fromkeys(
        (
            "torch.get_autocast_dtype", "torch.get_autocast_gpu_dtype",
            "torch.get_autocast_cpu_dtype",
        ),
        " (where autocast is on)",
    ),
    "torch.get_float32_matmul_precision": _OTHER_PRECISIONS,
    f"{_MATMUL}.fp32_precision": _OTHER_PRECISIONS,
}  # fmt: skip
"""What GLOBAL_STATE compares (torch/csrc/dynamo/guards.cpp, GlobalStateGuard), and as to what,
where that is not each of its values."""
_APART = {
    "torch.get_default_device": "DEFAULT_DEVICE",
    # The keys of all tensors are others in it.
    "torch.is_inference_mode_enabled": "TENSOR_MATCH",
}
"""What has a guard of another kind."""
_CALLED = re.compile(r"\(\s*(?:'\w+'|\"\w+\")?\s*\)$")
"""The end of a call, of the state of a device say."""


def of_state(
    recording: Recording, expression: str, function: str = ""
) -> list[tuple[Translation, Guard]]:
    """The guards on a setting of the process, if that is what is asked about: of the entries of
    functions with this in their name."""
    setting = _CALLED.sub("", expression.strip())
    kind = _GLOBAL if setting in _COMPARED else _APART.get(setting)
    if kind is None:
        return []
    return [
        (item, guard)
        for item in entries(recording)
        if is_meant(recording, item, function)
        for guard in guards_of(recording, item)
        if guard.kind == kind
    ]


def compared_with(expression: str, guard: Guard) -> str:
    """What else a guard on a setting looks at, and as to what it looks at the setting."""
    if guard.kind != _GLOBAL:
        return ""
    return f", with other global state{_COMPARED[_CALLED.sub('', expression.strip())]}"
