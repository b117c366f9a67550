"""The properties of fake tensors and symbols, read without dispatching to anybody.

A fake tensor's `shape` is answered by C++ unless a torch function mode or a subclass is in the way;
both are disabled while we look. A symbol is shown by the expression it was made with, in which we
put what symbols were replaced by: asking torch for that writes into its tables, and asking for a
simplified or hinted one could add guards.
"""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from stepper.engines.common.versions import FakeTensor, without_torch_function
from stepper.model.value import TensorMeta, Value
from stepper.support.words import one_of

_NAMES: dict[object, str] = {}
_NUMBER = {int}


def _name(of: object) -> str:
    """A dtype, device or layout in words, without `torch.`: `float32`, `cuda:0`, `strided`."""
    name = _NAMES.get(of)
    if name is None:
        name = _NAMES[of] = str(of).removeprefix("torch.")
    return name


def symbol_text(value: object) -> str:
    """The expression of a SymInt, SymFloat or SymBool, e.g. `s0 + 1`; a plain number as it is."""
    if one_of(type(value), (torch.SymInt, torch.SymFloat, torch.SymBool)):
        node = value.node  # type: ignore[attr-defined]  # its exact type was asked for
        fields = getattr(node, "__dict__", {})
        if "_expr" not in fields:
            return str(node)
        replacements = getattr(fields.get("shape_env"), "replacements", {})
        return _words(replaced(fields["_expr"], replacements))
    return repr(value) if one_of(type(value), (int, float, bool)) else "?"


def hint_text(value: Any) -> str:
    """The value that a SymInt, SymFloat or SymBool has while it is compiled, e.g. `5`; empty:
    none."""
    hint = getattr(value.node, "__dict__", {}).get("_hint")
    return repr(hint) if one_of(type(hint), (int, float, bool)) else ""


@functools.lru_cache(maxsize=4096, typed=True)
def _words(expression: Any) -> str:
    """An expression of sympy as text. Printing one takes as long as all else about a size, and most
    sizes are expressions that another tensor has, too. Sympy's own hash and equality: kept are
    symbols and numbers, no tensor."""
    return str(expression)


_CHAIN = 8
"""Replacements that lead to others, at most: torch shortens chains when it meets one."""


def replaced(expression: Any, replacements: Mapping[Any, Any]) -> Any:
    """An expression of sympy with what its symbols were replaced by."""
    for _ in range(_CHAIN):
        # There are more replacements than symbols in an expression, and each lookup hashes one.
        if not replacements or not any(each in replacements for each in expression.free_symbols):
            break
        expression = expression.xreplace(replacements)
    return expression


_SYMBOL = re.compile(r"(?<![a-z])[a-z]++\d+")


class ShownWith:
    """The trackers in whose description a symbol is: they are to be described anew when it becomes
    another thing."""

    def __init__(self) -> None:
        self._with: dict[str, dict[int, weakref.ref[object]]] = {}

    def note(self, value: Value, tracker: object) -> None:
        """A tracker was described so."""
        for symbol in symbols_in(value.text, value.tensor):
            self._with.setdefault(symbol, {})[id(tracker)] = weakref.ref(tracker)

    def take(self, symbols: Iterable[str]) -> list[object]:
        """The trackers that live and were described with one of these symbols, each once."""
        found = [ref() for symbol in symbols for ref in self._with.pop(symbol, {}).values()]
        return [tracker for tracker in found if tracker is not None]

    def clear(self) -> None:
        """No tracker is spoken of any more."""
        self._with.clear()


def symbols_in(text: str, meta: TensorMeta | None) -> list[str]:
    """What can be a symbol's name (`s77`, `u0`) in what was said of a tensor or a number."""
    sizes = () if meta is None else (*(meta.shape or ()), *(meta.stride or ()))
    return _SYMBOL.findall(" ".join((text, *sizes)))


def fake_tensor_meta(value: object) -> TensorMeta | None:
    """What Dynamo knows of a node's example value; None when it is no plain (fake) tensor."""
    if not one_of(type(value), (FakeTensor, torch.Tensor, torch.nn.Parameter)):
        return None
    assert isinstance(value, torch.Tensor)
    with without_torch_function():
        layout, shape = value.layout, value.shape
        stride = value.stride() if layout is torch.strided else None
        # The device of a fake tensor is "meta" while torch runs a kernel on it.
        device = value.fake_device if isinstance(value, FakeTensor) else value.device
        properties = (value.dtype, shape, stride, device, value.requires_grad, layout, "")
    return tensor_meta(*properties)


def tensor_meta(*properties: Any) -> TensorMeta:
    """The properties of a tensor as text: its dtype, sizes, strides, device, `requires_grad`,
    layout and subclass. Most tensors are like another."""
    if set(map(type, (*properties[1], *(properties[2] or ())))) <= _NUMBER:
        return _of_numbers(*properties)
    return _meta(*properties)  # symbols cannot be hashed


@functools.lru_cache(maxsize=4096)
def _of_numbers(*properties: Any) -> TensorMeta:
    return _meta(*properties)


def _meta(
    dtype: object,
    shape: Any,
    stride: Any,
    device: object,
    requires_grad: object,
    layout: object,
    subclass: str,
) -> TensorMeta:
    return TensorMeta(
        dtype=_name(dtype),
        shape=_texts(shape),
        stride=None if stride is None else _texts(stride),
        device=_name(device),
        requires_grad=requires_grad is True,
        layout=_name(layout),
        subclass=subclass,
    )


def _all_numbers(sizes: Any) -> bool:
    return set(map(type, sizes)) <= _NUMBER


def _texts(sizes: Any) -> tuple[str, ...]:
    return tuple(map(str if _all_numbers(sizes) else symbol_text, sizes))
