"""Arguments of a recorded call made anew: what the expressions of
`stepper.recording.recorded_call` call.

Tensors get their numbers from a generator of their own: making them changes nothing of the
program's, and makes the same ones each time.
"""

from __future__ import annotations

import contextlib
import enum
from types import CodeType
from typing import Any, NamedTuple

import torch

from stepper.engines.common.arguments import functions_of, parameters
from stepper.engines.common.rebuildable import class_at, field_names, slot
from stepper.model.cache import CacheError

_SEED = 1


class Lost(NamedTuple):
    """Stands for a variable that the recording does not tell whole."""

    text: str
    """What it was."""


class Same(NamedTuple):
    """Stands for the very object that another variable holds."""

    name: str


def tensor(
    dtype: str,
    shape: list[int],
    stride: list[int],
    *,
    device: str = "cpu",
    requires_grad: bool = False,
    parameter: bool = False,
) -> torch.Tensor:
    """A tensor of these properties, with random numbers; integers are 0 or 1."""
    kind = constant(dtype)
    last = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    length = 0 if 0 in shape else last + 1
    generator = torch.Generator().manual_seed(_SEED)
    if kind.is_floating_point or kind.is_complex:
        numbers = torch.rand(length, generator=generator, dtype=torch.float64)
    else:
        numbers = torch.randint(0, 2, (length,), generator=generator)
    overlaps = any(step == 0 and size > 1 for size, step in zip(shape, stride, strict=True))
    with torch.no_grad():
        made = numbers.to(device=device, dtype=kind).as_strided(shape, stride)
        if not overlaps:  # views are another thing to the compiler
            view, made = made, torch.empty_strided(shape, stride, dtype=kind, device=device)
            made.copy_(view)
    if parameter:
        return torch.nn.Parameter(made, requires_grad)
    return made.requires_grad_(requires_grad)


def constant(name: str) -> Any:
    """A dtype, layout or memory format by its name.

    Raises:
        CacheError: this torch has none of that name.
    """
    found = vars(torch).get(name)
    if not isinstance(found, torch.dtype | torch.layout | torch.memory_format):
        raise CacheError(f"this torch has no constant {name!r}")
    return found


def member(module: str, qualname: str, name: str) -> Any:
    """A member of an enumeration.

    Raises:
        CacheError: the program has none of that name.
    """
    kind = _class(module, qualname)
    members = vars(kind).get("_member_map_", {}) if type(kind) is enum.EnumMeta else {}
    if name not in members:
        raise CacheError(f"{module}.{qualname} has no member {name!r} in this program")
    return members[name]


def instance(module: str, qualname: str, fields: dict[str, Any]) -> Any:
    """An object that is nothing but its fields, made without running its `__init__`.

    Raises:
        CacheError: the program has no such class, or one with other fields.
    """
    kind = _class(module, qualname)
    if field_names(kind) != tuple(fields):
        raise CacheError(f"{module}.{qualname} has other fields in this program")
    if issubclass(kind, tuple):
        return tuple.__new__(kind, fields.values())
    made = object.__new__(kind)
    for name, value in fields.items():
        if (descriptor := slot(kind, name)) is not None:
            descriptor.__set__(made, value)
        else:
            object.__getattribute__(made, "__dict__")[name] = value
    return made


def _class(module: str, qualname: str) -> type:
    kind = class_at(module, qualname)
    if kind is None:
        raise CacheError(f"there is no class {module}.{qualname} in this program")
    return kind


NAMES = {
    "recorded_tensor": tensor,
    "recorded_constant": constant,
    "recorded_lost": Lost,
    "recorded_same": Same,
    "recorded_member": member,
    "recorded_instance": instance,
}
"""What the expressions call, by name."""


def whole(f_locals: dict[str, Any], code: CodeType) -> dict[str, Any]:
    """The locals of a call of `code`, with everything in them that the recording has not told: what
    belongs to the function itself is still there.

    Raises:
        CacheError: an argument is missing; the message says which, and what it was.
    """
    found = {
        name: f_locals[value.name] if type(value) is Same else value
        for name, value in f_locals.items()
    }
    lost = []
    for name in [name for name, value in found.items() if type(value) is Lost]:
        if name in parameters(code):
            lost.append(f"{name} was {found[name].text}")
        else:
            del found[name]
            found |= _enclosed(code, name)
    if lost:
        first = lost[0].partition(" ")[0]
        raise CacheError(
            f"the recording does not hold the call whole: {', '.join(lost)}. Give it by keyword: "
            f"{first}=…"
        )
    return found


def _enclosed(code: CodeType, name: str) -> dict[str, Any]:
    """A variable of the enclosing function, if there is one of that name."""
    for function in functions_of(code):
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        with contextlib.suppress(KeyError, ValueError):  # no such variable, or it is empty
            return {name: cells[name].cell_contents}
    return {}
