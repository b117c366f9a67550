"""Programs that nobody had asked stepper about, of which an answer was wrong or left out the
remedy."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.answers.cases import Run, case
from tests.answers.exports import exported

ones = torch.ones


@case(
    "torchtune#1663", "why-recompile",
    cause="self.filled grows: 0, 1, 2",
    advice="constant of the graph. torch._dynamo.config.allow_unspec_int_on_nn_module = True makes",
    counts=(3, 2),
)  # fmt: skip
def place_in_a_cache(run: Run) -> None:
    """In a tensor it would break the graph, as it bounds a slice."""

    class Kept(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.keys: torch.Tensor
            self.register_buffer("keys", torch.zeros(8, 2))
            self.filled = 0

        def forward(self, x: Any) -> Any:
            self.keys[self.filled : self.filled + 1] = x  # cause
            self.filled += 1
            return self.keys.sum(0)

    with torch._dynamo.config.patch(allow_unspec_int_on_nn_module=run.remedied):
        kept = run.compile(Kept())
        for _ in range(3):
            kept(ones(1, 2))


@case(
    "", "why-recompile",
    cause="flags.doubled changes",
    advice="Each value of flags.doubled is compiled by itself",
    counts=(2, 1),
)  # fmt: skip
def flag_of_a_thread(run: Run) -> None:
    """What a threading.local has is not looked at, and so no value of it is told."""
    flags = threading.local()
    flags.doubled = True

    @run.compile
    def flagged(x: Any) -> Any:
        return x * 2 if flags.doubled else x + 1  # cause

    flagged(ones(2))
    flags.doubled = run.remedied
    flagged(ones(2))


@case(
    "", "why-break",
    cause="numpy function",
    advice="draw it before the compiled function, and hand it over as a tensor",
    counts=(2, 1),
    never=("the torch function of the same purpose",),
)  # fmt: skip
def share_of_numpys(run: Run) -> None:
    """Torch has no function for it."""

    @run.compile
    def mixed(x: Any, share: Any = None) -> Any:
        doubled = x * 2
        if share is None:
            share = np.random.beta(0.4, 0.4)  # cause
        return share * doubled + (1 - share) * x.flip(0)

    mixed(ones(4), torch.tensor(np.random.beta(0.4, 0.4)) if run.remedied else None)


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="any() decides by each of its tensors: have them in one, with torch.stack",
    counts=(2, 1),
    never=("the line is a library's",),
)  # fmt: skip
def any_of_several(run: Run) -> None:
    """Dynamo has a function of its own for any(), in which it breaks."""

    @run.compile
    def summed(xs: Any) -> Any:
        if run.remedied:
            lost = torch.stack([x.isnan().any() for x in xs]).any()
            return torch.where(lost, xs[0] * 0, xs[0] + xs[1])
        if any([x.isnan().any() for x in xs]):  # noqa: C419  # cause
            return xs[0] * 0
        return xs[0] + xs[1]

    summed([ones(2), ones(2)])


@case(
    "", "why-failed",
    cause="aliasing",
    advice="a view of that",
    counts=(0, 1),
)  # fmt: skip
def branch_that_returns_a_view(run: Run) -> None:
    @run.whole
    def halved(x: Any) -> Any:
        def first(x: Any) -> Any:
            return x[:2].clone() if run.remedied else x[:2]

        return torch.cond(x.sum() > 0, first, lambda x: x[2:] * 2, (x,))  # cause

    with run.failing():
        halved(ones(4))


@case(
    "pytorch#169488", "why-failed",
    cause="aten._sparse_addmm.default",
    advice="torch itself does not know what this operator of its own gives for these tensors",
    counts=(0, 1),
    never=("register_fake",),
)  # fmt: skip
def sparse_product(run: Run) -> None:
    class Product(nn.Module):
        def forward(self, a: Any, x: Any) -> Any:
            return a @ x if run.remedied else torch.sparse.mm(a, x)  # cause

    a = torch.eye(4) if run.remedied else torch.eye(4).to_sparse()
    shapes = {"a": None, "x": {1: torch.export.Dim("columns")}}
    with run.failing():
        exported(run, Product(), (a, ones(4, 2)), shapes)


@case(
    "", "why-break",
    cause="inplace view on a graph input",
    advice="make a new tensor of that size, with torch.empty say, or do it before the call",
    counts=(1, 1),
    function="resized",
)  # fmt: skip
def resized_in_place(run: Run) -> None:
    @run.compile
    def resized(out: Any, x: Any) -> Any:
        if not run.remedied:
            out.resize_(x.shape[0])  # cause
        return out.copy_(x) * 2

    resized(ones(2) if run.remedied else torch.empty(0), ones(2))


@case(
    "", "is-guarded", expression="self.layer.owner()",
    cause="self.layer.owner() is guarded: it must be the same object",
    counts=(2, 1),
)  # fmt: skip
def owner_by_a_weak_reference(run: Run) -> None:
    class Owned(nn.Module):
        def __init__(self, owner: Any) -> None:
            super().__init__()
            self.owner: Any = weakref.ref(owner)

        def forward(self, x: Any) -> Any:
            return x * self.owner().scale

    class Owner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = ones(1)
            self.layer = Owned(self)

        def forward(self, x: Any) -> Any:
            return self.layer(x) + self.scale

    owner, other = Owner(), Owner()
    compiled = run.compile(owner)
    compiled(ones(2))
    if not run.remedied:
        owner.layer.owner = weakref.ref(other)
    compiled(ones(2))


@case(
    "", "why-shape", expression="kept.keys.shape[0]",
    cause=(
        "kept.keys.shape[0] is free",
        "the function itself makes kept.keys.shape[0] s",
        " + 1, at",
    ),
    counts=(3, 3),
)  # fmt: skip
def size_that_grows_inside(run: Run) -> None:
    class Kept:
        keys = ones(3)

    @run.compile
    def appended(kept: Any, x: Any) -> Any:
        kept.keys = torch.cat([kept.keys, x])  # cause
        return kept.keys.sum()

    kept = Kept()
    for _ in range(3):
        appended(kept, ones(1))


class Settings(dict[str, Any]):
    """As packages for configurations have them."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


SETTINGS = Settings(share=0.5, rate=0.1)


@case(
    "", "is-guarded", expression="SETTINGS['share']",
    cause="SETTINGS['share'] is guarded: it must be 0.5",
    counts=(2, 1),
)  # fmt: skip
def item_of_a_dict_of_ones_own(run: Run) -> None:
    """Dynamo reads it by the place of its key."""

    @run.compile
    def shared_out(x: Any) -> Any:
        return x * SETTINGS["share"]

    for share in (0.5, 0.5 if run.remedied else 0.7):
        SETTINGS["share"] = share
        shared_out(ones(2))


@case(
    "", "is-guarded", expression="SETTINGS.rate",
    cause="SETTINGS.rate is what __getattr__ gives: what that reads is guarded",
    counts=(2, 1),
)  # fmt: skip
def attribute_that_is_an_item(run: Run) -> None:
    @run.compile
    def slowed_down(x: Any) -> Any:
        return x * SETTINGS.rate

    for rate in (0.1, 0.1 if run.remedied else 0.2):
        SETTINGS["rate"] = rate
        slowed_down(ones(2))


@case(
    "", "is-guarded", expression="share.item()",
    cause="share.item() is guarded: it must be 0.5",
    counts=(2, 1),
    never=("nothing that can be asked", "nothing is called"),
)  # fmt: skip
def share_left_by_a_break(run: Run) -> None:
    """Answers call it so, and so can be asked."""

    @run.compile
    def scaled(share: Any, x: Any) -> Any:
        return share.item() * x

    for share in (0.5, 0.5 if run.remedied else 0.7):
        scaled(torch.tensor(share), ones(2))
