"""Programs of a twenty-first sweep: what comes later, bounds worked out before, random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import nn, ones

from tests.answers.cases import Run, case


@case(
    "", "why-recompile",
    cause="backend changes",
    advice="with the same dynamic, mode and options each time",
    counts=(2, 1),
)  # fmt: skip
def compiled_for_both_uses(run: Run) -> None:
    """Both share the entries of one code, but not what torch.compile makes of the backend."""

    def shifted_by_its_size(x: Any) -> Any:
        return x + x.shape[0]

    trained = run.compile(shifted_by_its_size, dynamic=True if run.remedied else None)
    served = run.compile(shifted_by_its_size, dynamic=True)
    trained(ones(3))
    for size in (5, 6):
        served(ones(size))


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 3, 4",
    advice="was compiled with dynamic=True (or assume_static_by_default off), and a number in",
    counts=(2, 1),
    never=("by itself",),
)  # fmt: skip
def sizes_as_symbols_at_last(run: Run) -> None:
    @run.compile
    def shifted(x: Any) -> Any:
        return x + x.shape[0]  # cause

    with torch._dynamo.config.patch(assume_static_by_default=not run.remedied):
        shifted(ones(3))
    with torch._dynamo.config.patch(assume_static_by_default=False):
        shifted(ones(4))


@case(
    "", "why-recompile",
    cause="times changes: 2, 4",
    advice="was compiled with dynamic=True (or assume_static_by_default off), and a number in",
    counts=(2, 1),
    never=("by itself",),
)  # fmt: skip
def numbers_as_symbols_in_the_end(run: Run) -> None:
    @run.compile
    def multiplied(x: Any, times: int) -> Any:
        return x * times  # cause

    with torch._dynamo.config.patch(assume_static_by_default=not run.remedied):
        multiplied(ones(3), 2)
    with torch._dynamo.config.patch(assume_static_by_default=False):
        multiplied(ones(3), 4)


GAIN: dict[str, Any] = {"of all": 2}


@case(
    "", "why-recompile",
    cause="GAIN['of all'] grows: 2, 3, 4",
    advice="Hand GAIN['of all'] over as an argument, or keep it in a tensor",
    counts=(3, 1),
    never=("the slice",),
)  # fmt: skip
def gain_beside_a_slice(run: Run) -> None:
    """The slice on its line has bounds of its own."""

    @run.compile
    def amplified(x: Any, y: Any) -> Any:
        return x * GAIN["of all"] + y[:4]  # cause

    for value in (2, 3, 4):
        GAIN["of all"] = torch.tensor(value) if run.remedied else value
        amplified(ones(4), ones(8))
    GAIN["of all"] = 2


CUT = {"at": 2}


@case(
    "", "why-recompile",
    cause="CUT['at'] grows: 2, 3, 4",
    advice="Hand CUT['at'] over as an argument, or take the slice outside",
    counts=(3, 2),
    never=("in a tensor",),
)  # fmt: skip
def bound_worked_out_before(run: Run) -> None:
    """What bounds the slice is computed on another line."""

    @run.compile
    def cut_behind(x: Any, at: int) -> Any:
        end = (at if run.remedied else CUT["at"]) + 1  # cause
        doubled = x * 2
        return doubled[:end].sum()

    for at in (2, 3, 4):
        CUT["at"] = at
        cut_behind(ones(8), at if run.remedied else 0)
    CUT["at"] = 2


class Filled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.linear(x).relu()  # cause


@case(
    "", "why-recompile",
    cause="device of x changes: meta, cpu, and of 2 others",
    advice="the module was moved, or has another one in its place, between the calls",
    counts=(2, 1),
    never=("Move ",),
    function="Filled.forward",
)  # fmt: skip
def model_that_is_filled_later(run: Run) -> None:
    """It is checked on meta tensors first."""
    with torch.device("meta"):
        model = Filled()
    compiled = run.compile(model)
    if not run.remedied:
        compiled(ones(2, 4, device="meta"))
    model.to_empty(device="cpu")
    compiled(ones(2, 4))


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


class Targeted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.targets: tuple[str, ...] = ()

    @property
    def enabled(self) -> bool:
        return any("layers.0.query".endswith(each) for each in self.targets)

    def forward(self, x: Any, enabled: bool | None = None) -> Any:
        return x * 2 if (self.enabled if enabled is None else enabled) else x + 1


@case(
    "", "why-recompile",
    cause="self.targets changes: ('query',), ('key', 'value'), ('key', 'value', 'query')",
    advice="Each value of self.targets is compiled by itself",
    counts=(3, 2),
    never=("as many elements",),
    function="Targeted.forward",
)  # fmt: skip
def layers_by_their_targets(run: Run) -> None:
    """With as many names each time they would still be others."""
    model = Targeted()
    compiled = run.compile(model)
    for targets in (("query",), ("key", "value"), ("key", "value", "query")):
        model.targets = targets
        compiled(ones(2), model.enabled if run.remedied else None)


class Pages:
    """Full after two."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.seen = 0

    def add(self, x: Any) -> Any:
        if self.seen % 2 == 0:
            self.kept.append(x)
        else:
            self.kept[-1] = torch.cat([self.kept[-1], x])
        self.seen += 1
        return torch.cat(self.kept)


@case(
    "", "why-recompile",
    cause="length of pages.kept grows: 0, 1, 2",
    advice="pages.kept is changed by the compiled function itself",
    counts=(4, 2),
    never=("mark_unbacked",),
)  # fmt: skip
def pages_of_a_cache_of_ones_own(run: Run) -> None:
    """Nobody can mark a page before the first call: there is none."""
    pages = Pages()

    @run.compile
    def attended(x: Any, keys: Any) -> Any:
        return x * (pages.add(x) if keys is None else keys).sum()

    for _ in range(4):
        attended(ones(1), pages.add(ones(1)) if run.remedied else None)


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


@case(
    "", "why-recompile",
    cause="identity of key changes: query, another object",
    advice="key and query were one object when the entry was made",
    counts=(2, 1),
)  # fmt: skip
def one_tensor_three_times(run: Run) -> None:
    """Of several that are one object Dynamo makes one guard for all pairs."""

    @run.compile
    def attended(query: Any, key: Any, value: Any) -> Any:
        return (query @ key.t()) @ value

    x = ones(2, 2)
    attended(x, x.clone() if run.remedied else x, x)
    attended(x, ones(2, 2), x)


@case(
    "", "why-break",
    cause="Shape mismatch with out= tensor variant",
    advice="hand over for out= a tensor that has the shape of the result already",
    counts=(1, 1),
)  # fmt: skip
def sum_into_an_empty_tensor(run: Run) -> None:
    kept = torch.empty(4 if run.remedied else 0)

    @run.compile
    def added(x: Any, y: Any) -> Any:
        torch.add(x, y, out=kept)  # cause
        return kept * 2

    added(ones(4), ones(4))


@case(
    "", "why-break",
    cause="Failed to convert args/kwargs to proxy",
    advice="draw without a generator of its own (torch.manual_seed before the call)",
    counts=(2, 1),
)  # fmt: skip
def token_by_a_generator_that_is_handed_over(run: Run) -> None:
    @run.compile
    def sampled(logits: Any, generator: Any) -> Any:
        chances = logits.softmax(-1)
        drawn = {} if run.remedied else {"generator": generator}
        token = torch.multinomial(chances, 1, **drawn)  # cause
        return chances.gather(-1, token)

    sampled(ones(2, 4), torch.Generator())


@case(
    "", "why-break",
    cause="Unsupported method call",
    advice="draw it before the compiled function, and hand it over as a tensor",
    counts=(2, 1),
)  # fmt: skip
def noise_by_a_generator_of_numpy(run: Run) -> None:
    drawing = np.random.default_rng(0)

    @run.compile
    def noisy(x: Any, noise: Any) -> Any:
        doubled = x * 2
        if noise is None:
            noise = torch.from_numpy(drawing.normal(size=3))  # cause
        return doubled + noise

    noisy(ones(3), torch.from_numpy(drawing.normal(size=3)) if run.remedied else None)


@case(
    "", "why-break",
    cause="Unsupported Tensor.item() call",
    advice="or, where the library only computes with the number, torch._dynamo.config.capture",
    counts=(2, 1),
)  # fmt: skip
def average_over_all_batches(run: Run) -> None:
    """torch hands the number on to a function that takes none but Python's: with the setting the
    graph breaks there."""
    model = nn.Sequential(
        nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=0.1 if run.remedied else None)
    )

    @run.compile
    def normed(x: Any) -> Any:
        return model(x * 2).relu()

    normed(ones(2, 4))
