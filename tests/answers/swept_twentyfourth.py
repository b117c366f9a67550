"""Programs of a twenty-fourth sweep: what a tensor subclass is made of, and what is NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import ones

from tests.answers.cases import Run, case


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
    "", "why-recompile",
    cause="dtype of temperature changes: float64, float32",
    advice="convert the numpy number temperature before the call, e.g. "
    "temperature.astype('float64')",
    counts=(2, 1),
    never=("the array",),
)  # fmt: skip
def temperature_of_numpy(run: Run) -> None:
    @run.compile
    def softened(x: Any, temperature: Any) -> Any:
        return x / temperature  # cause

    softened(ones(3), np.float64(0.7))
    softened(ones(3), np.float64(0.7) if run.remedied else np.float32(0.7))


@case(
    "", "why-recompile",
    cause=("n changes: 2, 4  (1 of 2)", "n == 2 or n == 4 or n == 6 does not hold  (1 of 2)"),
    advice="To save the entry for its first value: torch.compile(dynamic=True)",
    counts=(3, 1),
    never=("expected 2 or n",),
)  # fmt: skip
def one_of_those_that_are_warm(run: Run) -> None:
    warm = (2, 4, 6)

    def planned(x: Any, n: int) -> Any:
        return x + 1 if n in warm else x * n  # cause

    compiled = run.compile(planned, dynamic=True if run.remedied else None)
    for n in (2, 4, 6 if run.remedied else 8):
        compiled(ones(3), n)


@case(
    "", "why-break",
    cause="Unsupported ndarray method call",
    advice="take it from the array outside of the compiled function",
    counts=(2, 1),
    never=(" at 0x",),
)  # fmt: skip
def bytes_of_numpy(run: Run) -> None:
    @run.compile
    def measured(x: Any) -> Any:
        x = x + 1
        size = 12 if run.remedied else len(x.numpy().tobytes())  # cause
        return x * size

    measured(ones(3))


class Pair:
    """What pytrees know nothing of."""

    def __init__(self, first: torch.Tensor) -> None:
        self.first = first


@torch._dynamo.nonstrict_trace
def doubled(given: Any) -> Any:
    """What Dynamo does not look into."""
    return (given if isinstance(given, torch.Tensor) else given.first) * 2


@case(
    "", "why-failed",
    cause="Invalid input type for nonstrict_trace-ed function",
    advice="hand the function tensors, numbers and containers of them",
    counts=(0, 1),
)  # fmt: skip
def pair_that_is_not_looked_into(run: Run) -> None:
    @run.whole
    def handing_on(x: Any) -> Any:
        return doubled(x if run.remedied else Pair(x))  # cause

    with run.failing():
        handing_on(ones(3))
