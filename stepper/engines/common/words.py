"""What a session shows of the program's objects and of trackers, in words."""

from __future__ import annotations

from stepper.engines.common.tensors import fake_tensor_meta
from stepper.support.words import in_words

MUTABILITY = {
    "ValueMutationNew": "new value",
    "ValueMutationExisting": "existing value",
    "AttributeMutationNew": "new object",
    "AttributeMutationExisting": "existing object",
}
"""What a tracker's `mutation_type` says of its object, by the name of the class."""


def object_text(value: object) -> str:
    """An object of the program in words, without asking it anything."""
    meta = fake_tensor_meta(value)
    if meta is None:
        return in_words(value)
    name = type(value).__name__
    device = "" if meta.device in ("", "cpu") else f" on {meta.device}"
    return f"{name} {meta.brief}{device}" + (", requires_grad" if meta.requires_grad else "")
