"""Lists, dictionaries and deques with other elements, keys or lengths than before."""

from __future__ import annotations

import collections
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


class ByName(dict[str, Any]):
    """A dictionary with a way of its own to store, as `transformers` keeps what models capture."""

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(str(key), value)


CAPTURED = ByName()


CAPTURED["first"], CAPTURED["second"] = 2, 3


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 3, 4",
    advice="To save the entry for its first size",
    counts=(2, 1),
    never=("has no key",),
)  # fmt: skip
def keys_of_a_dict_of_ones_own(run: Run) -> None:
    """Dynamo reads it by the place of a key."""

    @run.compile
    def by_all_names(x: Any) -> Any:
        for name in CAPTURED:
            x = x * CAPTURED[name]  # cause
        return x

    for size in (3, 4):
        x = ones(size)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        by_all_names(x)


@case(
    "", "why-recompile",
    cause="length of frames grows: 0, 1, 2, 3",
    advice="hand over frames always with as many elements",
    counts=(4, 1),
)  # fmt: skip
def deque_of_frames(run: Run) -> None:
    frames: Any = collections.deque(maxlen=3)
    if run.remedied:
        frames.extend(ones(2) * at for at in range(3))

    @run.compile
    def stacked(x: Any, frames: Any) -> Any:
        return x + sum(frame.sum() for frame in frames)  # cause

    for _ in range(4):
        stacked(ones(2), frames)
        frames.append(ones(2))


class Rates(list):  # type: ignore[type-arg]  # as people write it
    """A list whose elements Dynamo gets by `list.__getitem__`, since the class has its own way."""

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place)


@case(
    "", "why-recompile",
    cause="rates[0] changes: 2.5, 3.5",
    advice="Dynamo has made rates[0] an input of the graph by itself",
    counts=(2, 1),
)  # fmt: skip
def list_of_its_own_kind(run: Run) -> None:
    @run.compile
    def rated(x: Any, rates: Rates) -> Any:
        return x * rates[0]  # cause

    for rate in (2.5, 3.5, 4.5):
        rated(ones(3), Rates([torch.tensor(rate) if run.remedied else rate]))


@case(
    "diffusion-pipe#439", "why-recompile",
    cause="length of inputs grows: 3, 4, 5",
    advice="hand over inputs always with as many elements",
    counts=(3, 1),
)  # fmt: skip
def residuals_of_a_block(run: Run) -> None:
    @run.compile
    def up_block(inputs: Any) -> Any:
        x, *residuals, scale = inputs  # cause
        for residual in residuals:
            x = x + residual
        return x * scale

    for count in (1, 2, 3):
        residuals = [ones(2) for _ in range(3 if run.remedied else count)]
        up_block((ones(2), *residuals, ones(2)))


@case(
    "", "why-recompile",
    cause="length of group changes: 1, 2",
    advice="Hand over group always with the same keys",
    counts=(2, 1),
    never=("changed by the compiled function itself",),
)  # fmt: skip
def group_that_gets_a_key(run: Run) -> None:
    """The compiled function sets another value of a key that is there."""

    @run.compile
    def stepped(x: Any, group: Any) -> Any:
        group["lr"] = 0.5  # cause
        return x * sum(group.values())

    group = {"lr": 0.5}
    stepped(ones(2), group)
    if not run.remedied:
        group["capturable"] = 0.5
    stepped(ones(2), group)


@case(
    "", "why-recompile",
    cause=("keys of parts changes: with 'p', without 'p'", "likewise of 3 others: parts['q']"),
    advice="Hand over parts always with the same keys",
    counts=(2, 1),
    never=("it has no key 'q'",),
)  # fmt: skip
def parts_of_which_none_is_there(run: Run) -> None:
    @run.compile
    def mixed(x: Any, parts: Any) -> Any:
        if "p" not in parts:  # cause
            return x * 2
        return x + parts["p"] + parts["q"] + parts["r"] + parts["s"]

    mixed(ones(2), dict.fromkeys("pqrs", 1.0))
    mixed(ones(2), dict.fromkeys("pqrs" if run.remedied else "abcd", 1.0))


@case(
    "pytorch#151122", "why-recompile",
    cause="list(users)[0] changes: 10, 20",
    advice="The keys and their order are constants of the graph: hand over users always with the",
    counts=(2, 1),
    never=("dict.keys(users)",),
)  # fmt: skip
def features_of_each_user(run: Run) -> None:
    @run.compile
    def summed_features(users: dict[int, Any]) -> Any:
        total = ones(3)
        for value in users.values():  # cause
            total = total if value is None else total + value
        return total

    for user in (10, 10 if run.remedied else 20):
        summed_features({user: ones(3)})
