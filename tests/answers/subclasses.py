"""Nested tensors and tensor subclasses: what they are made of, and their sizes."""

from __future__ import annotations

from typing import Any

import torch
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils import _pytree as pytree

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="fails: 2 <= nested._min_seqlen_tensor.shape[0]",
    advice="nested is a nested tensor, whose shortest part is shorter than 2 here",
    counts=(2, 1),
    never=("size differs", "size changes"),
)  # fmt: skip
def jagged_batch_with_one_of_one(run: Run) -> None:
    @run.compile
    def halved(nested: Any) -> Any:
        return nested * 0.5

    for lengths in ((2, 3), (4, 2 if run.remedied else 1)):
        parts = [ones(length, 5) for length in lengths]
        halved(torch.nested.nested_tensor(parts, layout=torch.jagged))


class BesideANumber(torch.Tensor):
    """A tensor beside which a number is kept."""

    inner: torch.Tensor
    scale: float

    @staticmethod
    def __new__(cls, inner: torch.Tensor, scale: float) -> BesideANumber:
        made: Any = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner, made.scale = inner, scale
        return made  # type: ignore[no-any-return]  # torch says it is a tensor

    def __tensor_flatten__(self) -> tuple[list[str], float]:
        return ["inner"], self.scale

    @staticmethod
    def __tensor_unflatten__(inner: Any, scale: float, size: Any, stride: Any) -> BesideANumber:
        return BesideANumber(inner["inner"], scale)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch types its arguments as required
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*[each.inner if isinstance(each, BesideANumber) else each for each in args])


@case(
    "", "why-recompile",
    cause="metadata of weights changes",
    advice="keep what changes of weights in one of the tensors",
    counts=(3, 1),
    never=("___check_metadata",),
)  # fmt: skip
def scale_beside_a_tensor(run: Run) -> None:
    @run.compile
    def shifted(weights: Any) -> Any:
        return weights + 1  # cause

    for scale in (1.0, 0.5, 0.25):
        shifted(BesideANumber(ones(3), 1.0 if run.remedied else scale))


class Quantized(torch.Tensor):
    """A tensor, with another one beside it or without, and a number."""

    values: torch.Tensor
    zeros: torch.Tensor | None
    bits: int

    @staticmethod
    def __new__(cls, values: torch.Tensor, zeros: torch.Tensor | None, bits: int) -> Quantized:
        made: Any = torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype)
        made.values, made.zeros, made.bits = values, zeros, bits
        return made  # type: ignore[no-any-return]  # torch says it is a tensor

    def __tensor_flatten__(self) -> tuple[list[str], int]:
        return ["values", "zeros"][: 1 + (self.zeros is not None)], self.bits

    @staticmethod
    def __tensor_unflatten__(inner: Any, bits: int, size: Any, stride: Any) -> Quantized:
        return Quantized(inner["values"], inner.get("zeros"), bits)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch types its arguments as required
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*[each.values if isinstance(each, Quantized) else each for each in args])


@case(
    "pytorch#129601", "why-recompile",
    cause="weight.__tensor_flatten__()[0] changes: ['values'], ['values', 'zeros']",
    advice="Which tensors weight, a tensor subclass, is made of is a constant of the graph",
    counts=(2, 1),
)  # fmt: skip
def zeros_in_one_call(run: Run) -> None:
    @run.compile
    def shifted(weight: Any) -> Any:
        return weight + 1  # cause

    for zeros in (None, ones(3)):
        shifted(Quantized(ones(3), ones(3) if run.remedied else zeros, 4))


class Scaled(torch.Tensor):
    """A tensor and what it is to be multiplied by, as libraries for quantization have it."""

    values: torch.Tensor
    by: float

    @staticmethod
    def __new__(cls, values: torch.Tensor, by: float) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype)  # type: ignore[attr-defined]  # not in its stubs

    def __init__(self, values: torch.Tensor, by: float) -> None:
        self.values = values  # type: ignore[method-assign,assignment]  # a sparse tensor's, there
        self.by = by

    def __tensor_flatten__(self) -> tuple[list[str], float]:
        return ["values"], self.by

    @staticmethod
    def __tensor_unflatten__(inner: Any, by: float, size: Any, stride: Any) -> Any:
        return Scaled(inner["values"], by)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch types its arguments as required
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        by = next(each.by for each in args if isinstance(each, Scaled))
        plain = pytree.tree_map_only(Scaled, lambda each: each.values, args)
        return Scaled(func(*plain, **(kwargs or {})), by)


@case(
    "pytorch#128149", "why-recompile",
    cause="weight.shape[0] changes: 3, 4",
    advice="torch._dynamo.mark_dynamic(weight, 0) before the first call",
    counts=(2, 1),
    never=("mark_dynamic(weight.values", "likewise of weight.values"),
)  # fmt: skip
def rows_of_a_subclass(run: Run) -> None:
    @run.compile
    def doubled_rows(weight: Any) -> Any:
        return weight * 2  # cause

    first = Scaled(ones(3), 0.5)
    if run.remedied:
        torch._dynamo.mark_dynamic(first, 0)
    for weight in (first, Scaled(ones(4), 0.5), Scaled(ones(5), 0.5)):
        doubled_rows(weight)


@case(
    "pytorch#128149", "why-recompile",
    cause="weight.values.shape[0] changes: 3, 4",
    advice="torch._dynamo.mark_dynamic(weight, 0) before the first call",
    counts=(4, 3),
    never=("mark_dynamic(weight.values", "likewise of weight.values"),
)  # fmt: skip
def rows_of_a_subclass_of_several_scales(run: Run) -> None:
    @run.compile
    def scaled_rows(weight: Any) -> Any:
        return weight * 2  # cause

    for by, rows in ((1, 3), (2, 3), (3, 3), (3, 4), (3, 5)):
        weight = Scaled(ones(rows), by)
        if run.remedied and rows == 3:
            torch._dynamo.mark_dynamic(weight, 0)
        scaled_rows(weight)


@case(
    "pytorch#132618", "why-break",
    cause="Data dependent operator",
    advice="how long the parts of a nested tensor are is data: take it apart before the compiled",
    counts=(2, 1),
    never=("capture_scalar_outputs = True, and",),
)  # fmt: skip
def nested_tensor_taken_apart(run: Run) -> None:
    @run.compile
    def added_up(x: Any, nested: Any, given: Any) -> Any:
        x = x + 1
        parts = given if run.remedied else nested.unbind()  # cause
        for part in parts:
            x = x + part.sum()
        return x

    parts = [ones(2, 3), ones(4, 3)]
    added_up(ones(2) * 3, torch.nested.nested_tensor(parts, layout=torch.jagged), parts)


@case(
    "", "why-failed",
    cause=("cannot call binary pointwise function", "while tracing"),
    advice="nested tensors go together only if they have their offsets in common, not equal ones",
    counts=(0, 1),
)  # fmt: skip
def ragged_of_equal_lengths(run: Run) -> None:
    def ragged(*lengths: int) -> Any:
        parts = [ones(length, 3) for length in lengths]
        return torch.nested.nested_tensor(parts, layout=torch.jagged)

    @run.compile
    def added(a: Any, b: Any) -> Any:
        return (a + b).sum()  # cause

    a = ragged(2, 3)
    b = ragged(2, 3)
    if run.remedied:
        b = torch.nested.nested_tensor_from_jagged(b.values(), offsets=a.offsets())
    with run.failing():
        added(a, b)


@case(
    "pytorch#114405", "is-guarded", expression="weight.bits",
    cause="whether weight.bits is guarded is not recorded: of weight, what its __tensor_flatten__",
    counts=(2, 1),
    never=("is not guarded",),
)  # fmt: skip
def bits_beside_a_tensor(run: Run) -> None:
    """No guard names it: it is a part of what is compared as a whole."""

    @run.compile
    def scaled(weight: Any) -> Any:
        return weight * 2

    weight = Quantized(ones(3), None, 4)
    scaled(weight)
    weight.bits = 4 if run.remedied else 8
    scaled(weight)


@case(
    "", "is-guarded", expression="x.shape[0]",
    cause=("x.shape[0] is free within the conditions on sizes: it is the symbol s77",),
    counts=(1, 1),
    never=("it must be as it was",),
)  # fmt: skip
def size_of_a_subclass(run: Run) -> None:
    def small(x: Any) -> Any:
        return x * 2 if x.shape[0] <= 4 else x + 1

    compiled = run.compile(small, dynamic=True)
    for rows in (4, 4 if run.remedied else 3):
        compiled(TwoTensor(ones(rows, 2), ones(rows, 2)))
