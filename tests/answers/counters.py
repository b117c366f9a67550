"""Numbers that the program counts up from call to call: steps, updates, calls."""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "", "why-recompile",
    cause="self.seen[8] grows: 1, 2, 3",
    advice="An int that belongs to an nn.Module is a constant of the graph",
    counts=(4, 1),
)  # fmt: skip
def counter_by_length(run: Run) -> None:
    """A value whose key Dynamo names by its place, since the key is no constant of the program."""

    class Lengths(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seen: collections.Counter[int] = collections.Counter()

        def forward(self, x: Any) -> Any:
            if not run.remedied:
                self.seen[x.shape[1]] += 1  # cause
            return x + 1

    lengths = run.compile(Lengths())
    for _ in range(4):
        lengths(ones(2, 8))


PROGRESS: dict[str, Any] = {"count": 0}


@case(
    "", "why-recompile",
    cause="PROGRESS['count'] grows: 0, 1, 2",
    advice="count outside of it. Where it is needed inside: hand PROGRESS['count'] over",
    counts=(3, 1),
    never=("looked up", "price", "a compiled function sets it"),
)  # fmt: skip
def count_in_a_global_dict(run: Run) -> None:
    PROGRESS["count"] = torch.tensor(0) if run.remedied else 0

    @run.compile
    def corrected(x: Any) -> Any:
        PROGRESS["count"] += 1  # cause
        return x / (1 - 0.5 ** PROGRESS["count"])

    for _ in range(3):
        corrected(ones(2))


class Schedule:
    def __init__(self) -> None:
        self.index: Any = None


SCHEDULE = Schedule()


@case(
    "", "why-recompile",
    cause="SCHEDULE.index changes: None, 1, 2, 3",
    advice="An int that is a part of a global is a constant of the graph",
    counts=(4, 1),
    never=("accept both",),
)  # fmt: skip
def steps_that_begin_with_none(run: Run) -> None:
    SCHEDULE.index = torch.tensor(0) if run.remedied else None

    @run.compile
    def denoised(x: Any) -> Any:
        if SCHEDULE.index is None:  # cause
            SCHEDULE.index = 0
        SCHEDULE.index += 1
        return x * SCHEDULE.index

    for _ in range(4):
        denoised(ones(2))


@case(
    "", "why-recompile",
    cause="self.counts['calls'] grows: 1, 2, 3",
    advice="An int that belongs to an nn.Module is a constant of the graph",
    counts=(4, 1),
)  # fmt: skip
def counts_by_name(run: Run) -> None:
    """That nothing was counted before the first call is one entry, and not why there are more."""

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.counts: Any = collections.defaultdict(int)

        def forward(self, x: Any) -> Any:
            if not run.remedied:
                self.counts["calls"] += 1  # cause
            return x * 2

    count = run.compile(Counting())
    for _ in range(4):
        count(ones(2))


@case(
    "", "why-recompile",
    cause="next value of self.seen grows: 5, 6, 7",
    advice="call next() on it outside of the compiled function",
    counts=(3, 1),
    never=("___normalize_count_iter(self.seen) ==",),
)  # fmt: skip
def numbers_that_are_drawn(run: Run) -> None:
    class Numbered:
        def __init__(self) -> None:
            self.seen = itertools.count(5)

        def __call__(self, x: Any, number: Any = None) -> Any:
            return x + (next(self.seen) if number is None else number)  # cause

    numbered = Numbered()
    call = run.compile(numbered)
    for _ in range(3):
        call(ones(2), *([torch.tensor(next(numbered.seen))] if run.remedied else []))


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Count the calls of a function."""
    calls = 0

    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        return function(*args)

    return wrapper


@case(
    "", "why-recompile",
    cause="calls of self.encode grows: 0, 1, 2",
    advice="calls of self.encode is set by the compiled function itself at tests/answers/",
    counts=(3, 1),
    never=("calls of dict(type",),
    function="forward_of_the_counted",
)  # fmt: skip
def method_whose_calls_are_counted(run: Run) -> None:
    def forward_of_the_counted(self: Any, x: Any) -> Any:
        return self.encode(x) * 2

    def encode(self: Any, x: Any) -> Any:
        return x.cos()

    class Net(nn.Module):
        forward = forward_of_the_counted

    Net.encode = encode if run.remedied else counted(encode)  # type: ignore[attr-defined]  # it has
    net = run.compile(Net())
    for _ in range(3):
        net(ones(2))


@case(
    "", "why-recompile",
    cause="self.step grows: 0, 1, 2, 3",
    advice="The program decides by self.step: do that outside of the compiled function, and set it "
    "there",
    counts=(4, 2),
    never=("in a tensor",),
)  # fmt: skip
def turn_of_each_second_step(run: Run) -> None:
    """It decides by what is left of a number, which is a constant like it."""

    class Alternating(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step = 0

        def forward(self, x: Any, even: bool | None = None) -> Any:
            if even is None:
                self.step += 1  # cause
                even = self.step % 2 == 0
            return x * 2 if even else x + 1

    compiled = run.compile(Alternating())
    for step in range(4):
        compiled(ones(2), step % 2 == 1 if run.remedied else None)


class Steps:
    """What a trainer counts."""

    done = 0


class TrainedBySteps(nn.Module):
    def __init__(self, steps: Any) -> None:
        super().__init__()
        self.steps = steps

    def forward(self, x: Any) -> Any:
        return x * (1 + self.steps.done / 10)  # cause


@case(
    "", "why-recompile",
    cause="self.steps.done grows: 0, 1, 2",
    advice="Keep self.steps.done in a tensor, where the program only computes with it.",
    counts=(3, 1),
    never=("register_buffer",),
    function="TrainedBySteps.forward",
)  # fmt: skip
def steps_of_another_object(run: Run) -> None:
    """A module leads there, but what has it is none, and has no buffers."""
    steps: Any = Steps()
    compiled = run.compile(TrainedBySteps(steps))
    for done in range(3):
        steps.done = torch.tensor(done) if run.remedied else done
        compiled(ones(2))


class Averaged(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.average = nn.Parameter(ones(2))
        self.updates = 0

    @torch.no_grad()
    def forward(self, *decay: Any) -> None:
        self.updates += 1  # cause
        kept = decay[0] if decay else 1 - math.exp(-self.updates / 20)
        self.average.mul_(kept)


@case(
    "", "why-recompile",
    cause="self.updates grows: 0, 1, 2",
    advice="What is computed with self.updates has to be a number of Python (math.exp())",
    counts=(3, 1),
    never=("in a tensor", "fn.", "allow_unspec"),
    function="Averaged.forward",
)  # fmt: skip
def average_that_warms_up(run: Run) -> None:
    """torch's own function wraps the method, and is handed nothing that would say its `self`."""
    average = Averaged()
    if run.remedied:
        # It must not count inside, either.
        @run.compile
        def updated(decay: Any) -> None:
            average.average.data.mul_(decay)

        for _ in range(3):
            average.updates += 1
            updated(torch.tensor(1 - math.exp(-average.updates / 20)))
        return
    compiled = run.compile(average)
    for _ in range(3):
        compiled()


KINDS: Counter[str] = Counter()


@case(
    "", "why-recompile",
    cause="KINDS['a'] grows: 1, 2, 3",
    advice="The compiled function itself changes it at",
    counts=(4, 1),
)  # fmt: skip
def kinds_that_are_counted(run: Run) -> None:
    @run.compile
    def counted_by_kind(x: Any, kind: str) -> Any:
        if not run.remedied:
            KINDS[kind] += 1  # cause
        return x * 2

    KINDS.clear()
    for _ in range(4):
        counted_by_kind(ones(3), "a")
        KINDS["a"] += run.remedied
    KINDS.clear()


made_behind = 0


@functools.cache
def one_more_made(by: int) -> int:
    global made_behind
    made_behind += 1
    return by + made_behind


@case(
    "pytorch#146598", "why-recompile",
    cause="made_behind grows: ",
    advice="behind the cache of one_more_made (functools.lru_cache), which is not looked at",
    counts=(3, 1),
    never=("count outside of it",),
)  # fmt: skip
def counted_behind_a_cache(run: Run) -> None:
    global made_behind
    made_behind = 0
    one_more_made.cache_clear()

    @run.compile
    def made_once_more(x: Any, made: int | None) -> Any:
        return x * (one_more_made(1) if made is None else made)

    for _ in range(3):
        made_once_more(ones(3), one_more_made(1) if run.remedied else None)


@case(
    "torchrec#4338", "why-failed",
    cause=("FailOnRecompileLimitHit", "L['counted'].updates"),
    advice="allow_unspec_int_on_nn_module = True",
    counts=(8, 2),
)  # fmt: skip
def counter_in_one_graph(run: Run) -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.updates = 0

    counted = Counted()

    @run.whole
    def updated(x: Any) -> Any:
        counted.updates += 1
        return x * counted.updates

    with (
        config.patch(allow_unspec_int_on_nn_module=run.remedied),
        contextlib.suppress(Exception),
    ):
        for _ in range(10):
            updated(ones(2))
