"""Functions that are compiled again for several things that change, together or in turn."""

from __future__ import annotations

from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause=("batch['x'].shape[0] changes: 4, 2  (1 of 2)", "keys of batch changes"),
    advice="To save the entry for its first size: torch._dynamo.mark_dynamic(batch['x'], 0)",
    counts=(3, 2),
    never=("is a symbol until",),
)  # fmt: skip
def size_that_a_later_entry_needs(run: Run) -> None:
    """The entry with weights is there for their key, whatever it asks of the size."""

    @run.compile
    def weighted(batch: Any) -> Any:
        found = batch["x"] * 2  # cause
        return found * batch["w"] if "w" in batch else found

    for size in (4, 2):
        batch = {"x": ones(size, 3)}
        if run.remedied:
            torch._dynamo.mark_dynamic(batch["x"], 0)
        weighted(batch)
    weighted({"x": ones(2, 3), "w": ones(2, 1)})


@case(
    "", "why-recompile",
    cause=(
        "longest changes: 16, 17",
        "longest changes whenever prefills does, so that what is advised there saves nothing",
    ),
    advice="asks for: keep the calls on one side of it, or do without what asks",
    counts=(3, 1),
)  # fmt: skip
def prefills_among_pages(run: Run) -> None:
    """How long the longest is can be a symbol; that alone saves no entry."""

    @run.compile
    def attended(x: Any, prefills: int, longest: int) -> Any:
        x = x.clone()
        if prefills > 0:  # cause
            x[:prefills] *= 2
        return x / longest

    @run.whole
    def attended_without_deciding(x: Any, begins: Any, longest: Any) -> Any:
        return torch.where(begins, x * 2, x) / longest

    for prefills, longest in ((2, 16), (0, 17), (0, 18), (1, 19)):
        if run.remedied:
            begins = torch.arange(4)[:, None] < prefills
            attended_without_deciding(ones(4, 8), begins, torch.tensor(longest))
        else:
            attended(ones(4, 8), prefills, longest)


@case(
    "", "why-recompile",
    cause=("dtype of x changes: float32, bfloat16", "type of x changes: Tensor, list"),
    advice="Pass x always as the same type",
    counts=(3, 2),
    never=("Tensor, list, Tensor",),
)  # fmt: skip
def batch_as_a_list_between(run: Run) -> None:
    """Nearest is what is as near and of the same type."""

    @run.compile
    def summed(x: Any) -> Any:
        if isinstance(x, list):  # cause
            x = torch.stack(x)
        return x.sum(0)

    summed(ones(2, 3))
    summed(ones(2, 3) if run.remedied else [ones(3), ones(3)])
    summed(ones(2, 3).bfloat16())


@case(
    "", "why-recompile",
    cause=("self.at changes: None, 1, 2", "step changes: 9.0, 6.0"),
    advice="self.at is a symbol until",
    counts=(3, 2),
    never=("To save the entry for its first value",),
    function="Schedule.denoised",
)  # fmt: skip
def steps_of_a_scheduler(run: Run) -> None:
    """Where one thing is None at first, a symbol for the other saves no entry."""
    sigmas = [1.0, 0.7, 0.3, 0.1]

    class Schedule:
        def __init__(self) -> None:
            self.at: int | None = None

        def denoised(self, x: Any, step: Any, sigma: Any = None) -> Any:
            if sigma is None:
                if self.at is None:
                    self.at = 0
                sigma = sigmas[self.at]  # cause
                self.at += 1
            return x - sigma * step

    schedule = Schedule()
    denoised = run.compile(schedule.denoised)
    for at, step in enumerate((9.0, 6.0, 3.0)):
        denoised(ones(3), step, sigmas[at] if run.remedied else None)


@case(
    "", "why-recompile",
    cause=("ids.shape[1] changes: 3, 1", "cache.filled changes: False, True"),
    advice="Each value of cache.filled is compiled by itself",
    counts=(2, 1),
    never=("mark_unbacked", "Change all of it"),
    function="prefilled_or_decoded",
)  # fmt: skip
def filled_and_then_decoded(run: Run) -> None:
    """Whatever is done for the size 1, there is an entry for each of the two states."""

    class Cache:
        def __init__(self) -> None:
            self.filled = False

    cache = Cache()

    @run.compile
    def prefilled_or_decoded(ids: Any, cache: Any) -> Any:
        return ids + 1 if cache.filled else ids.sum(1)  # cause

    prefilled_or_decoded(ones(2, 3), cache)
    cache.filled = not run.remedied
    prefilled_or_decoded(ones(2, 3 if run.remedied else 1), cache)


@case(
    "", "why-recompile",
    cause=("rows.shape[0] changes: 3, 4", "many changes: 3, 4"),
    advice="torch.compile(dynamic=True)",
    counts=(2, 1),
    never=("torch._dynamo.mark_dynamic(rows, 0)",),
    function="as_many_as_told",
)  # fmt: skip
def rows_and_their_number(run: Run) -> None:
    """With a mark alone there are as many entries: the size has to be the number."""

    def as_many_as_told(rows: Any, many: int) -> Any:
        return rows[:many] * many  # cause

    compiled = run.compile(as_many_as_told, dynamic=True if run.remedied else None)
    for many in (3, 4):
        compiled(ones(many, 2), many)


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 1, 3", "times changes: 1.0, 2.0"),
    advice="Change all of it: torch.compile(dynamic=True) (for value of times); mark_unbacked",
    counts=(2, 1),
    function="times_of_rows",
)  # fmt: skip
def row_and_a_number(run: Run) -> None:
    def times_of_rows(x: Any, times: float) -> Any:
        return x * times  # cause

    compiled = run.compile(times_of_rows, dynamic=True if run.remedied else None)
    for size, times in ((1, 1.0), (3, 2.0)):
        x = ones(size, 2)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 0)
        compiled(x, times)


@case(
    "", "why-recompile",
    cause=(
        "stage grows: 0, 1, 2, 3", "alpha changes: 0.0, 0.5",
        "Dynamo has made alpha an input of the graph by itself",
    ),
    advice="needs its value as the bound of a slice of a list",
    counts=(4, 1),
)  # fmt: skip
def stages_that_fade_in(run: Run) -> None:
    """Each of the two takes an entry that the other does not."""
    scales = [2.0, 3.0, 4.0, 5.0]

    @run.compile
    def faded(x: Any, scales: Any, stage: Any, alpha: Any) -> Any:
        for scale in scales[: stage + 1]:  # cause
            x = x * scale
        return x * alpha

    for stage, alpha in enumerate((0.0, 0.5, 1.0, 0.25)):
        if run.remedied:
            faded(ones(3), scales[:2], 1, torch.tensor(alpha))
        else:
            faded(ones(3), scales, stage, alpha)


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 2, 3  (1 of 2)", "at changes: 2, 3  (1 of 2)"),
    advice="To save the entry for its first size: torch._dynamo.mark_dynamic(x, 0)",
    counts=(3, 1),
    never=("a mark alone is refused",),
)  # fmt: skip
def clients_in_turn(run: Run) -> None:
    """Both change from 2 to 3, and in different calls: nothing says that they go together."""

    @run.compile
    def shifted(x: Any, at: Any) -> Any:
        return x * at  # cause

    shifted = run.compile(shifted, dynamic=True) if run.remedied else shifted
    for at in (2, 3):
        for many in (2, 3, 4):
            shifted(ones(many), at)


@case(
    "", "why-recompile",
    cause=("tables['words'].shape[0] changes: 3, 5", "length of tables changes: 1, 2"),
    advice="Hand over tables always with the same keys",
    counts=(2, 1),
)  # fmt: skip
def table_that_is_added_as_one_grows(run: Run) -> None:
    """Another guard fails before it is asked how many keys there are."""

    @run.compile
    def looked_up(x: Any, tables: Any) -> Any:
        for name, table in tables.items():  # cause
            x = x + len(name) + table.sum()
        return x

    tables = {"words": ones(3), **({"users": ones(3)} if run.remedied else {})}
    looked_up(ones(2), tables)
    if not run.remedied:
        tables = {"words": ones(5), "users": ones(3)}
    looked_up(ones(2), tables)


class Request:
    """What a serving loop hands over; some have a seed."""

    def __init__(self, length: int) -> None:
        self.length = length


@case(
    "", "why-recompile",
    cause=("request.length changes: 4, 6", "attributes of request changes: without 'seed', with"),
    advice="request has an attribute in one call that it has not in another",
    counts=(2, 1),
)  # fmt: skip
def request_that_has_a_seed(run: Run) -> None:
    @run.compile
    def served(x: Any, request: Any) -> Any:
        x = x * 2 if hasattr(request, "seed") else x  # cause
        return x[: request.length]

    first, second = Request(4), Request(6)
    if run.remedied:
        second.length = 4
    else:
        second.seed = 1  # type: ignore[attr-defined]  # that is what it is about
    served(ones(8), first)
    served(ones(8), second)


@case(
    "", "why-recompile",
    cause=("inference tensor of x changes: False, True", "rank of x changes: 1, 2"),
    advice="A number of dimensions is never a symbol: reshape x to one rank before the call",
    counts=(2, 1),
)  # fmt: skip
def features_of_another_rank_made_for_inference(run: Run) -> None:
    @run.compile
    def scored(x: Any) -> Any:
        return x.sum()  # cause

    scored(ones(3))
    with torch.no_grad() if run.remedied else torch.inference_mode():
        x = ones(3) if run.remedied else ones(3, 2)
    scored(x)


@case(
    "", "why-recompile",
    cause=("kept.shape[0] changes: 6, 4", "count changes: 3, 5"),
    advice="Keep it on one side of this condition",
    counts=(2, 1),
    never=("To save the entry for its first value",),
)  # fmt: skip
def more_than_there_are(run: Run) -> None:
    """As symbols from the beginning, the two would still be on two sides of one condition."""

    @run.compile
    def first_of(kept: Any, count: int) -> Any:
        return kept[:count] * 2  # cause

    for length, count in ((6, 3), (4, 3 if run.remedied else 5)):
        kept = ones(length, 3)
        if run.remedied:
            torch._dynamo.mark_dynamic(kept, 0)
        first_of(kept, count)
