"""Whether something in a container is guarded: an item, a key, a length."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case
from tests.answers.guarded_attributes import SETTINGS

ones = torch.ones


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
    "", "is-guarded", expression="rates['low']",
    cause=(
        "rates['low'] is what __getitem__ gives: what that reads is guarded",
        "L['rates'].maps[1]['low'] == 1",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def item_of_several_dicts(run: Run) -> None:
    rates = ChainMap({"high": 2}, {"low": 1})

    @run.compile
    def scaled(x: Any, rates: Any) -> Any:
        return x * 3 if rates["low"] == 1 else x

    scaled(ones(2), rates)
    rates.maps[1]["low"] = 1 if run.remedied else 5
    scaled(ones(2), rates)


class Collector:
    items: list[Any] = []  # noqa: RUF012


@case(
    "pytorch#169253", "is-guarded", expression="len(Collector.items)",
    cause=(
        "len(Collector.items) is guarded: it must be 0",
        "len(Collector.items) is guarded: it must be 1",
    ),
    counts=(2, 1),
    never=("as it was", "not guarded"),
)  # fmt: skip
def list_of_a_class(run: Run) -> None:
    @run.compile
    def collected(x: Any) -> Any:
        Collector.items.append(x)
        return x * len(Collector.items)

    Collector.items.clear()
    collected(ones(2))
    if run.remedied:
        Collector.items.clear()
    collected(ones(2))
    Collector.items.clear()


@case(
    "pytorch#176851", "is-guarded", expression="settings['rate']",
    cause="what that reads is guarded, but not that something is not there which it looks for",
    counts=(1, 1),
)  # fmt: skip
def setting_that_is_there_later(run: Run) -> None:
    """That a dictionary lacks a key is no guard, where the KeyError is handled."""

    class Settings:
        def __init__(self) -> None:
            self.kept: dict[str, int] = {}

        def __getitem__(self, name: str) -> int | None:
            try:
                return self.kept[name]
            except KeyError:
                return None

    settings = Settings()

    @run.compile
    def scaled_if_set(x: Any) -> Any:
        return x * 3 if settings["rate"] is None else x * 5

    scaled_if_set(ones(2))
    if not run.remedied:
        settings.kept["rate"] = 1
    scaled_if_set(ones(2))


@case(
    "", "is-guarded", expression="list(columns)[1]",
    cause="list(columns)[1] is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def second_of_the_keys(run: Run) -> None:
    @run.compile
    def summed_columns(columns: dict[int, Any], x: Any) -> Any:
        for value in columns.values():
            x = x + value
        return x

    for key in (2, 2 if run.remedied else 3):
        summed_columns({1: ones(3), key: ones(3)}, ones(3))


@case(
    "", "is-guarded", expression="list(rows)[1].dtype",
    cause="list(rows)[1].dtype is guarded: it must be float32",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def second_of_the_rows(run: Run) -> None:
    @run.compile
    def added_rows(rows: list[Any]) -> Any:
        return rows[0] + rows[1]

    for dtype in (torch.float32, torch.float32 if run.remedied else torch.float64):
        added_rows([ones(3), ones(3, dtype=dtype)])


@case(
    "", "is-guarded", expression="plan['height']",
    cause=(
        "plan['height'] was not there when this was compiled, and no guard looks at that",
        "plan has no such key: its keys are 'depth', 'width'",
    ),
    counts=(1, 1),
    never=("is guarded", "not guarded itself"),
)  # fmt: skip
def key_that_comes_later(run: Run) -> None:
    @run.compile
    def planned_as(x: Any, plan: Any) -> Any:
        return x * plan["depth"]

    planned_as(ones(3), {"depth": 2, "width": 3})
    more = {} if run.remedied else {"height": 5}
    planned_as(ones(3), {"depth": 2, "width": 3, **more})


@case(
    "", "is-guarded", expression="self.blocks[-1].weight.requires_grad",
    cause="self.blocks[-1].weight.requires_grad is guarded: it must be True",
    counts=(2, 1),
    never=("not guarded itself",),
)  # fmt: skip
def last_block_of_a_model(run: Run) -> None:
    """An element counted from the end is guarded as the one that it was."""

    class Stacked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

        def forward(self, x: Any) -> Any:
            return self.blocks[-1](x)

    model = Stacked()
    compiled = run.compile(model)
    compiled(ones(2))
    model.blocks[-1].weight.requires_grad_(run.remedied)
    compiled(ones(2))
