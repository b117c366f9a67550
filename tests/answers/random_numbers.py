"""Random numbers and their generators: torch's, NumPy's and Python's."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import numpy as np
import torch

from tests.answers.cases import Run, case

ones = torch.ones


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
    "pytorch#88576", "why-break",
    cause="torch.Generator.manual_seed()",
    advice="seed the generator before the compiled function",
    counts=(2, 1),
)  # fmt: skip
def generator_given_a_seed(run: Run) -> None:
    generator = torch.Generator()

    @run.compile
    def seeded(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            generator.manual_seed(7)  # cause
        return x + 1

    seeded(ones(2))


@case(
    "", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="draw it before the compiled function, and hand over what is decided by it",
    counts=(2, 1),
    never=("torch.where",),
)  # fmt: skip
def layer_that_is_dropped_by_chance(run: Run) -> None:
    @run.compile
    def dropped(x: Any, kept: Any) -> Any:
        x = x + 1
        if kept if run.remedied else np.random.uniform() < 2:  # cause
            x = x * 2
        return x

    dropped(ones(2), np.random.uniform() < 2)


@case(
    "", "why-break",
    cause="Random.random",
    advice="draw it before the compiled function, and hand over what is decided by it",
    counts=(0, 1),
    never=("before or after",),
)  # fmt: skip
def layer_that_is_left_out_by_chance(run: Run) -> None:
    @run.compile
    def through_some(x: Any, left_out: Any) -> Any:
        for out in left_out:
            if out if run.remedied else random.random() < 0:  # cause
                continue
            x = x * 2
        return x

    through_some(ones(2), [random.random() < 0, False])


@case(
    "", "why-break",
    cause="torch.* op returned non-Tensor",
    advice="enter it around the call of the compiled function instead of inside",
    counts=(1, 1),
    never=("ask before",),
)  # fmt: skip
def generator_forked_inside(run: Run) -> None:
    @run.compile
    def with_noise(x: Any) -> Any:
        x = x + 1
        if run.remedied:
            return x + torch.rand(2)
        with torch.random.fork_rng():  # cause
            noise = torch.rand(2)
        return x + noise

    with torch.random.fork_rng():
        with_noise(ones(2))


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
    cause="aten._local_scalar_dense.default",
    advice="draw it with torch.rand",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def drawn_by_numpy(run: Run) -> None:
    @run.compile
    def noisy(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + torch.rand(())
        return x + np.random.rand()  # cause

    noisy(ones(4))


@case(
    "pytorch#139603", "why-failed",
    cause=("NotImplementedError while tracing", "<class 'set'>"),
    advice="",
    counts=(0, 1),
)  # fmt: skip
def forked_for_a_set(run: Run) -> None:
    @run.compile
    def drawn(x: Any) -> Any:
        x = x * 2
        with torch.random.fork_rng(devices=[] if run.remedied else set()):  # cause
            return x + torch.rand(2)

    with contextlib.suppress(Exception):
        drawn(ones(2))
