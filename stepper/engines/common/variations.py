"""Inputs that differ from a call's in just what one guard watches.

A *variation* is a value in the place of another, or a state of torch's around the call. Which there
are depends on the kind of the leaf guard; for kinds that are not here none can be built, and that
is said. A variation is made in place and taken back: where it is tried, everything is a copy.
"""

from __future__ import annotations

import collections
import contextlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from stepper.engines.common.versions import default_device
from stepper.engines.common.words import object_text
from stepper.model.cache import GuardRow
from stepper.support.words import one_of

Scope = dict[str, Any]
"""`L`, the call's variables by name, and `G`, the globals."""

_KEYS = re.compile(r"list\(dict\.keys\((?P<dict>.*)\)\)\[(?P<at>\d+)\]")
_SIZE = re.compile(r"(?P<tensor>[LG]\[[^\s()]*?\])\.(?:size\(\)|shape)\[(?P<dim>\d+)\]")
_ON_SIZES = frozenset({"SYMBOLIC_SHAPE_GUARD", "LAMBDA_GUARD"})
_NUMBER = re.compile(r"(?<![\w.\[])\d+(?![\w.\]])")
_MOST = 80


class Variation(NamedTuple):
    """Something other than it was."""

    text: str
    """What differs, e.g. `L['x']: shape[0] 5 instead of 4`."""
    made: Callable[[], AbstractContextManager[object]]
    """It is so for as long as that lasts; raises what cannot be made so."""


def variations(row: GuardRow, scope: Scope) -> list[Variation]:
    """What a guard is to be tried with; empty: none can be built for its kind, or its value is out
    of reach."""
    if row.kind in _ON_SIZES:
        return list(_of_sizes(row, scope))[:_MOST]
    if row.kind in _OF_STATES:
        return list(_OF_STATES[row.kind]())
    keys = _KEYS.fullmatch(row.source)
    if keys is not None:
        return list(_of_key(keys["dict"], int(keys["at"]), scope))
    values = _BY_KIND.get(row.kind)
    if values is None or not row.source:
        return []
    try:
        value = eval(row.source, {}, scope)
        return [
            Variation(f"{row.source}: {text}", _assigning(row.source, new, scope))
            for text, new in values(value)
        ]
    except Exception:  # of the program's own objects
        return []


def _assigning(
    source: str, value: object, scope: Scope
) -> Callable[[], AbstractContextManager[object]]:
    @contextlib.contextmanager
    def made() -> Iterator[None]:
        before = eval(source, {}, scope)
        _assign(source, value, scope)
        try:
            yield
        finally:
            _assign(source, before, scope)

    return made


def _assign(source: str, value: object, scope: Scope) -> None:
    exec(f"{source} = value", {}, {**scope, "value": value})


# -- other values ------------------------------------------------------------------------------

_Values = Iterator[tuple[str, object]]


def _instead(new: object, old: object) -> tuple[str, object]:
    return f"{object_text(new)} instead of {object_text(old)}", new


def _constants(value: object) -> _Values:
    kind = type(value)
    others: tuple[object, ...] = ()
    if kind is bool:
        others = (not value,)
    elif kind is int or kind is float:
        number: Any = value
        others = (number + 1, number - 1, number * 2, -number, kind(0))
    elif kind is str:
        others = (f"{value}x", str(value)[:-1], str(value).swapcase())
    elif kind is bytes:
        others = (bytes(value) + b"x",)  # type: ignore[call-overload]  # its exact type was asked for
    elif isinstance(value, torch.dtype):
        others = (torch.float64, torch.float32)
    elif value is None:
        others = (0, 1.0, "x", torch.ones(2))
    yield from (_instead(new, value) for new in others if type(new) is not kind or new != value)


def _truths(value: object) -> _Values:
    yield _instead(not value, value)


def _types(value: object) -> _Values:
    kind = type(value)
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        tensor: Any = value
        other = torch.nn.Parameter if kind is torch.Tensor else torch.Tensor
        if tensor.is_floating_point():
            made = tensor.detach().clone()
            yield (
                f"{other.__name__} instead of {kind.__name__}",
                torch.nn.Parameter(made) if kind is torch.Tensor else made,
            )
        yield "a float instead of a tensor", 2.0
    elif one_of(kind, (list, tuple, dict, int, float, bool, str)):
        of: Any = value
        others: dict[type, tuple[Callable[[Any], object], ...]] = {
            list: (tuple,),
            tuple: (list,),
            dict: (collections.OrderedDict,),
            int: (float, str),
            float: (int, torch.tensor),
            bool: (int,),
            str: (list,),
        }
        makes = next(makes for each, makes in others.items() if each is kind)
        yield from (_instead(make(of), value) for make in makes)


def _lengths(value: object) -> _Values:
    old = f"instead of {len(value)}"  # type: ignore[arg-type]  # its exact type was asked for
    if one_of(type(value), (list, tuple, collections.deque)):
        kind: Any = type(value)
        items = list(value)  # type: ignore[call-overload]  # its exact type was asked for
        yield f"{len(items) + 1} items {old}", kind([*items, *(items[-1:] or [1])])
        if items:
            yield f"{len(items) - 1} items {old}", kind(items[:-1])
    elif isinstance(value, dict):
        yield from _dicts(value)


def _dicts(value: object) -> _Values:
    if not isinstance(value, dict) or not value:
        return
    kind: Any = type(value)
    last = next(reversed(value))
    less = kind((key, item) for key, item in value.items() if key is not last)
    yield f"without the key {object_text(last)}", less
    if type(last) is str:
        yield "with one key more", kind([*value.items(), (f"{last}_more", value[last])])
    if len(value) > 1:
        yield "with its keys in another order", kind(reversed(value.items()))


def _tensors(value: object) -> _Values:
    if not one_of(type(value), (torch.Tensor, torch.nn.Parameter)):
        return
    tensor: Any = value
    plain = tensor.detach()
    grad = tensor.requires_grad

    def like(made: torch.Tensor) -> torch.Tensor:
        same = made.detach().clone()
        floats = same.is_floating_point() or same.is_complex()
        return same.requires_grad_() if grad and floats else same

    for dim, size in enumerate(tensor.shape):
        for other in dict.fromkeys((size + 1, size - 1, 2 * size, 1)):
            if other != size and other >= 0:
                yield f"shape[{dim}] {other} instead of {size}", like(_resized(plain, dim, other))
    for dtype in (torch.float64, torch.float16, torch.int64):
        if dtype is not tensor.dtype:
            yield f"{dtype} instead of {tensor.dtype}", like(plain.to(dtype))
    if tensor.is_floating_point():
        text = f"requires_grad {not grad} instead of {grad}"
        yield text, plain.clone().requires_grad_(not grad)
    yield f"rank {tensor.dim() + 1} instead of {tensor.dim()}", like(plain.unsqueeze(0))
    if tensor.dim() > 1 and plain.is_contiguous():
        turned = plain.transpose(0, -1).contiguous().transpose(0, -1)
        if turned.stride() != plain.stride():
            yield f"stride {turned.stride()} instead of {plain.stride()}", like(turned)


def _resized(tensor: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    index = torch.arange(size) % max(tensor.shape[dim], 1)
    if tensor.shape[dim] == 0:
        shape = [*tensor.shape]
        shape[dim] = size
        return torch.ones(shape, dtype=tensor.dtype)
    return tensor.index_select(dim, index.to(tensor.device))


_BY_KIND: dict[str, Callable[[object], _Values]] = {
    "EQUALS_MATCH": _constants,
    "CONSTANT_MATCH": _constants,
    "NONE_MATCH": _constants,
    "NOT_NONE": lambda value: iter([("None instead of it", None)]),
    "TRUE_MATCH": _truths,
    "FALSE_MATCH": _truths,
    "TYPE_MATCH": _types,
    "LENGTH_CHECK": _lengths,
    "DICT_LENGTH": _dicts,
    "DICT_MANAGER": _dicts,
    "DICT_CONTAINS": _dicts,
    "TENSOR_MATCH": _tensors,
}


# -- other keys, sizes and states --------------------------------------------------------------


def _of_key(source: str, at: int, scope: Scope) -> Iterator[Variation]:
    """Another key in the same place."""
    value = eval(source, {}, scope)
    if not one_of(type(value), (dict, collections.OrderedDict)):
        return
    old = list(value)[at]
    for text, new in _constants(old):
        if new not in value:
            pairs = [(new if key is old else key, item) for key, item in value.items()]
            made = _assigning(source, type(value)(pairs), scope)
            yield Variation(f"{source}: the key {text}", made)


def _of_sizes(row: GuardRow, scope: Scope) -> Iterator[Variation]:
    words = " ".join(part.partition("  # ")[0] for part in row.code)
    bounds = [int(number) for number in _NUMBER.findall(words)]
    for match in dict.fromkeys((m["tensor"], int(m["dim"])) for m in _SIZE.finditer(words)):
        source, dim = match
        tensor = eval(source, {}, scope)
        size = tensor.shape[dim]
        others = (size + 1, size - 1, 2 * size, 0, 1, 2, 3)
        near = (bound + step for bound in bounds for step in (0, 1, -1))
        for other in dict.fromkeys((*others, *near)):
            if 0 <= other <= 4096 and other != size:
                made = _resized(tensor.detach(), dim, other).clone()
                made.requires_grad_(tensor.requires_grad)
                text = f"{source}: shape[{dim}] {other} instead of {size}"
                yield Variation(text, _assigning(source, made, scope))


def _of_state() -> Iterator[Variation]:
    on = torch.is_grad_enabled()
    yield Variation(
        f"grad mode {'off' if on else 'on'} instead of {'on' if on else 'off'}",
        lambda: torch.set_grad_enabled(not on),
    )
    yield Variation(
        "autocast of the CPU to bfloat16", lambda: torch.autocast("cpu", dtype=torch.bfloat16)
    )
    yield Variation("default dtype float64", _default_dtype)


@contextlib.contextmanager
def _default_dtype() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16 if before is torch.float64 else torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class _Negating(TorchFunctionMode):
    """Replaces what calls of torch give."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        result = func(*args, **(kwargs or {}))
        return -result if type(result) is torch.Tensor else result


def _of_modes() -> Iterator[Variation]:
    yield Variation("a torch function mode that negates what calls give", _Negating)


def _of_devices() -> Iterator[Variation]:
    yield Variation("default device meta", _default_device)


@contextlib.contextmanager
def _default_device() -> Iterator[None]:
    before = default_device()
    torch.set_default_device("meta")
    try:
        yield
    finally:
        torch.set_default_device(before)


_OF_STATES: dict[str, Callable[[], Iterator[Variation]]] = {
    "GLOBAL_STATE": _of_state,
    "TORCH_FUNCTION_MODE_STACK": _of_modes,
    "DEFAULT_DEVICE": _of_devices,
}
