"""Arguments that are there in one call and not in another: keyword arguments, and None or a
tensor."""

from __future__ import annotations

from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="keys of options changes: without 'causal', with 'causal'",
    advice="with the same for options['causal'], which is read",
    counts=(2, 1),
    never=("with None, say",),
)  # fmt: skip
def causal_in_one_call(run: Run) -> None:
    @run.compile
    def attended(x: Any, **options: Any) -> Any:
        if options.get("causal"):  # cause
            return x.tril() * 2
        return x * 2

    attended(ones(2, 2), **({"causal": True} if run.remedied else {}))
    attended(ones(2, 2), causal=True)


@case(
    "", "why-recompile",
    cause="length of options grows: 0, 1, 2",
    advice="give it the same keyword arguments in each call, with None, say",
    counts=(3, 1),
)  # fmt: skip
def options_that_are_only_counted(run: Run) -> None:
    @run.compile
    def as_many(x: Any, **options: Any) -> Any:
        return x + len(options)  # cause

    none = {"first": None, "second": None} if run.remedied else {}
    for given in ({}, {"first": 1}, {"first": 1, "second": 2}):
        as_many(ones(2), **(none | given))


@case(
    "xDiT#781", "why-recompile",
    cause="keys of kept changes: without 'lengths', with 'lengths'",
    advice="give it the same keyword arguments in each call",
    counts=(2, 1),
)  # fmt: skip
def padding_in_the_arguments(run: Run) -> None:
    @run.compile
    def attended(x: Any, **kept: Any) -> Any:
        if kept.get("lengths") is None:  # cause
            return x * 2
        return x * kept["lengths"]

    kept: dict[str, Any] = {"lengths": ones(3)} if run.remedied else {}
    attended(ones(3), **kept)
    kept.update(lengths=ones(3))
    attended(ones(3), **kept)


@case(
    "", "why-recompile",
    cause="length of options changes: 0, 1",
    advice="give it the same keyword arguments in each call",
    counts=(2, 1),
    never=("options always with as many elements",),
)  # fmt: skip
def options_by_another_name(run: Run) -> None:
    def attention(x: Any, *, scale: float = 2.0) -> Any:
        return x * scale

    @run.compile
    def block(x: Any, **options: Any) -> Any:
        return x + attention(x, **options)  # cause

    block(ones(2), **({"scale": 2.0} if run.remedied else {}))
    block(ones(2), scale=2.0)


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 8, 5, 8", "mask changes: None, <Tensor>", "mask.shape[0]"),
    advice="Dynamo has made x.shape[0] and mask.shape[0] symbols by itself",
    counts=(3, 1),
    never=("is a symbol until", "needs its value"),
)  # fmt: skip
def padding_only_where_it_is_needed(run: Run) -> None:
    """The mask is new in the second call, so its size is a number there, and so is that of x."""

    @run.compile
    def masked_sums(x: Any, mask: Any = None) -> Any:
        if mask is not None:
            x = x.masked_fill(mask, 0)  # cause
        return x.sum(1)

    for size, padded in ((8, run.remedied), (5, True), (8, True)):
        x, mask = ones(size, 4), torch.zeros(size, 4, dtype=torch.bool)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
            torch._dynamo.mark_dynamic(mask, 0)
        masked_sums(x, mask if padded else None)


@case(
    "", "why-recompile",
    cause=("bias changes: None, <Tensor>", "x.shape[0] changes: 4, 6"),
    advice="There is an entry for bias being None",
    counts=(2, 1),
    never=("is a symbol until", "needs its value"),
)  # fmt: skip
def bias_that_comes_with_more_rows(run: Run) -> None:
    @run.compile
    def biased(x: Any, bias: Any) -> Any:
        x = x.relu()
        return x if bias is None else x + bias  # cause

    biased(ones(6 if run.remedied else 4), ones(6) if run.remedied else None)
    biased(ones(6), ones(6))


@case(
    "", "why-recompile",
    cause=("x.shape[0] grows: 4, 6, 7", "targets changes: None, <Tensor>"),
    advice="Dynamo has made x.shape[0] and targets.shape[0] symbols by itself",
    counts=(3, 1),
    never=("is a symbol until", "needs its value"),
)  # fmt: skip
def targets_that_are_as_many(run: Run) -> None:
    """What the program asserts of two sizes asks for the value of neither."""

    @run.compile
    def distance_to(x: Any, targets: Any = None) -> Any:
        if targets is None:  # cause
            return x * 2
        assert x.shape[0] == targets.shape[0]
        return x.sum() - targets.sum()

    for size in (4, 6, 7):
        x, targets = ones(size), ones(size)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
            torch._dynamo.mark_dynamic(targets, 0)
        distance_to(x, targets if run.remedied or size > 4 else None)


@case(
    "", "why-recompile",
    cause=("weights changes: None, <Tensor>", "There is an entry for weights being None"),
    advice="needs its value as the bound of a loop",
    counts=(2, 1),
)  # fmt: skip
def weights_of_rows_one_by_one(run: Run) -> None:
    """The weights are new and as many, but it is the loop that asks how many."""

    @run.compile
    def weighed_up(x: Any, weights: Any = None) -> Any:
        total = 0
        for row in range(x.shape[0]):
            total = total + (x[row] if weights is None else x[row] * weights[row])  # cause
        return total

    for size in (6 if run.remedied else 4, 6):
        weighed_up(ones(size), ones(size) if run.remedied or size > 4 else None)


@case(
    "", "why-recompile",
    cause="keys of options changes: without 'mask', with 'mask'",
    advice="give it the same keyword arguments in each call",
    counts=(3, 1),
    never=("is changed by the compiled function itself",),
)  # fmt: skip
def options_that_are_popped(run: Run) -> None:
    @run.compile
    def attended(x: Any, **options: Any) -> Any:
        mask = options.pop("mask", None)  # cause
        scale = options.pop("scale", 1)
        return x * scale if mask is None else x * scale * mask

    every: dict[str, Any] = {"mask": ones(3), "scale": 2}
    attended(ones(3), **(every if run.remedied else {}))
    attended(ones(3), **(every if run.remedied else {"mask": ones(3)}))
    attended(ones(3), **(every if run.remedied else {"scale": 2}))


@case(
    "", "why-recompile",
    cause="type of extra changes: dict, NoneType",
    advice="There is an entry for extra being None",
    counts=(2, 1),
    never=("is no longer NoneType",),
)  # fmt: skip
def factors_or_none(run: Run) -> None:
    @run.compile
    def by_all_factors(x: Any, extra: Any) -> Any:
        for factor in (extra or {}).values():  # cause
            x = x * factor
        return x + 1

    factors = {"scale": ones(3), "share": ones(3)}
    by_all_factors(ones(3), factors)
    by_all_factors(ones(3), factors if run.remedied else None)


@case(
    "", "why-recompile",
    cause=("type of d changes: dict, NoneType", "keys of d changes: with 'scale', without 'scale'"),
    advice="There is an entry for d being None",
    counts=(3, 1),
    never=("not recorded why", "d['scale'] is not there"),
)  # fmt: skip
def scale_in_a_dict_or_none(run: Run) -> None:
    @run.compile
    def scaled_if_told(x: Any, d: Any) -> Any:
        if d is not None and "scale" in d:  # cause
            return x * d["scale"]
        return x + 1

    scale = {"scale": ones(3)}
    for told in (scale, None, {}):
        scaled_if_told(ones(3), scale if run.remedied else told)


@case(
    "", "why-recompile",
    cause=("type of masks[0] changes: Tensor, NoneType", "masks[1] changes: None, <Tensor>"),
    advice="being None, and one for something else: hand over always one of them, or accept both. "
    "Likewise of masks[0]",
    counts=(2, 1),
    never=("not recorded why",),
)  # fmt: skip
def mask_in_either_place(run: Run) -> None:
    @run.compile
    def masked_by_each(masks: Any, x: Any) -> Any:
        for mask in masks:
            if mask is not None:  # cause
                x = x * mask
        return x

    one = [ones(2), None]
    for masks in (one, [None, ones(2)], [None, None]):
        masked_by_each(one if run.remedied else masks, ones(2))


@case(
    "", "why-recompile",
    cause=(
        "hidden changes: None, <Tensor>", "x.shape[1] changes: 5, 3",
        "x.shape[1] changes whenever hidden does, so that what is advised there saves nothing",
    ),
    advice="There is an entry for hidden being None",
    counts=(2, 1),
)  # fmt: skip
def state_from_the_chunk_before(run: Run) -> None:
    """A state from the beginning alone is of no use, and neither is a symbol."""

    @run.compile
    def after_a_chunk(x: Any, hidden: Any = None) -> Any:
        if hidden is None:  # cause
            hidden = x.new_zeros(x.shape[0], 4)
        return torch.tanh(hidden + x.sum(1))

    hidden = torch.zeros(2, 4) if run.remedied else None
    for length in (5, 3, 6):
        x = ones(2, length, 4)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 1)
        hidden = after_a_chunk(x, hidden)


@case(
    "", "why-recompile",
    cause="options['mask'] is not there",
    advice="and with a tensor there: None would take an entry, too",
    counts=(2, 1),
    never=("DIMENSION_DYNAMIC_MARKING_GUARD",),
)  # fmt: skip
def mask_in_the_first_call(run: Run) -> None:
    @run.compile
    def masked(**options: Any) -> Any:
        mask = options.get("mask")  # cause
        return options["ids"] * 2 if mask is None else options["ids"] * mask

    masked(ids=ones(2), mask=ones(2))
    masked(ids=ones(2), **({"mask": ones(2)} if run.remedied else {}))


@case(
    "", "why-recompile",
    cause="length of options changes: 2, 1",
    advice="with the same for options['mask'], which is read: None",
    counts=(2, 1),
    never=("options['ids'], ",),
)  # fmt: skip
def all_that_is_handed_over(run: Run) -> None:
    """What stands in each call has nothing to do with it."""

    @run.compile
    def added(**options: Any) -> Any:
        total = 0
        for value in options.values():  # cause
            total = total + value
        return total

    added(ids=ones(2), mask=ones(2))
    added(ids=ones(2), **({"mask": ones(2)} if run.remedied else {}))
