"""Objects that have an attribute in one call and not in another, or get one that their class
has."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause=(
        "attributes of self changes: without 'extra', with 'extra'  (1 of 2)",
        "type of self.extra changes: float, Tensor  (1 of 2)",
    ),
    advice="self has an attribute in one call that it has not in another",
    counts=(3, 1),
)  # fmt: skip
def attribute_that_comes_and_changes(run: Run) -> None:
    class Shifted(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + self.extra if hasattr(self, "extra") else x * 2  # cause

    net = Shifted()
    compiled = run.compile(net)
    for extra in (None, 1.0, ones(3)):
        if run.remedied:
            net.extra = ones(3)
        elif extra is not None:
            net.extra = extra
        compiled(ones(3))


@case(
    "", "why-recompile",
    cause=("attributes of x changes: without 'padded', with 'padded'", "x.padded changes"),
    advice="x has an attribute in one call that it has not in another",
    counts=(3, 2),
    never=("not recorded why",),
)  # fmt: skip
def tensor_that_says_whether_it_is_padded(run: Run) -> None:
    @run.compile
    def without_padding(x: Any) -> Any:
        return x * 2 if getattr(x, "padded", False) else x + 1  # cause

    for padded in (None, True, False):
        x: Any = ones(3)
        if padded is not None or run.remedied:
            x.padded = bool(padded)
        without_padding(x)


@case(
    "", "why-recompile",
    cause="self.low changes: None, <",
    advice="There is an entry for self.low being None",
    counts=(2, 1),
    never=("is not there", "not recorded why"),
)  # fmt: skip
def adapter_that_is_added(run: Run) -> None:
    class Adapted(nn.Module):
        low: Any

        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(2, 2)
            self.low = None

        def forward(self, x: Any) -> Any:
            if self.low is None:  # cause
                return self.project(x)
            return self.project(x) + x @ self.low

    model = Adapted()
    adapted = run.compile(model)
    if not run.remedied:
        adapted(ones(1, 2))
    model.low = nn.Parameter(ones(2, 2))
    adapted(ones(1, 2))


class Phase:
    warm = False


@case(
    "", "why-recompile",
    cause="keys of phase.__dict__ changes: without 'warm', with 'warm'",
    advice="to what they are later: each value of phase.warm is compiled by itself",
    counts=(2, 1),
)  # fmt: skip
def flag_that_the_class_has_first(run: Run) -> None:
    """To set it where the object is made would leave that it is False once, and True later."""
    phase = Phase()
    if run.remedied:
        phase.warm = True

    @run.compile
    def served(x: Any) -> Any:
        return x * 2 if phase.warm else x + 1  # cause

    served(ones(2))
    phase.warm = True
    served(ones(2))


class Options:
    """Looks up what it is asked for."""

    def __init__(self, **kept: Any) -> None:
        self._kept = kept

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_kept"][name]
        except KeyError:
            raise AttributeError(name) from None


@case(
    "", "why-recompile",
    cause=(
        "options._kept['scale'] changes: 1.0, 0.5  (1 of 2)",
        "attributes of options changes: without 'bias', with 'bias'  (1 of 2)",
    ),
    advice="Dynamo has made options._kept['scale'] an input of the graph by itself",
    counts=(3, 2),
)  # fmt: skip
def bias_that_is_asked_for_in_vain(run: Run) -> None:
    """An entry that has the scale as an input would do for every scale: it is the nearest, and
    what is in its way is the bias."""

    @run.compile
    def scaled(x: Any, options: Any) -> Any:
        if hasattr(options, "bias"):
            x = x + options.bias
        return x * options.scale

    scaled = run.compile(scaled, dynamic=True) if run.remedied else scaled
    for kept in ({"scale": 1.0}, {"scale": 0.5}, {"scale": 0.25, "bias": 1.5}):
        scaled(ones(3), Options(**kept))


class Kernels:
    chosen = SDPBackend.MATH


@case(
    "", "why-recompile",
    cause="keys of kernels.__dict__ changes: without 'chosen', with 'chosen'",
    advice="to what they are later: each value of kernels.chosen is compiled by itself",
    counts=(2, 1),
)  # fmt: skip
def kernels_that_the_class_has_first(run: Run) -> None:
    kernels = Kernels()

    @run.compile
    def attended(q: Any) -> Any:
        with sdpa_kernel(kernels.chosen):  # cause
            return F.scaled_dot_product_attention(q, q, q)

    for later in (False, True):
        if later or run.remedied:
            kernels.chosen = SDPBackend.FLASH_ATTENTION
        attended(ones(1, 2, 4, 8))


@case(
    "ComfyUI#9289", "why-recompile",
    cause="weight.patches[0][1] changes: 'a', 'bb', 'ccc'",
    advice="Each value of weight.patches[0][1] is compiled by itself",
    counts=(3, 1),
)  # fmt: skip
def patches_of_each_weight(run: Run) -> None:
    @run.compile
    def patched(x: Any, weight: Any) -> Any:
        for _, key in weight.patches:
            x = x * len(key)  # cause
        return x * weight

    for key in ("a", "bb", "ccc"):
        weight = nn.Parameter(ones(3))
        weight.patches = [("lora", "a" if run.remedied else key)]  # type: ignore[attr-defined]  # as the program has it
        patched(ones(3), weight)
