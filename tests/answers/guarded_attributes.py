"""Whether an attribute is guarded: of a class, of an enumeration, of an object with __getattr__."""

from __future__ import annotations

import enum
from collections import OrderedDict
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


class Settings(dict[str, Any]):
    """As packages for configurations have them."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


SETTINGS = Settings(share=0.5, rate=0.1)


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
    "", "is-guarded",
    expression="Factored.factor",
    cause="Factored.factor is guarded: it must be 2",
    counts=(2, 1),
)  # fmt: skip
def attribute_of_a_class_by_its_name(run: Run) -> None:
    class Factored:
        factor = 2

    @run.compile
    def multiplied(x: Any, factored: Any) -> Any:
        return x * factored.factor

    multiplied(ones(2), Factored())
    if not run.remedied:
        Factored.factor = 3
    multiplied(ones(2), Factored())


@case(
    "", "is-guarded",
    expression="plan.depth",
    cause=("that a class derived from that gets its own is not seen", "it must be 2"),
    counts=(1, 1),
)  # fmt: skip
def attribute_that_hides_its_base_class(run: Run) -> None:
    """Torch looks at the base class alone, and gives the old result."""

    class Plan:
        depth = 2

    class DeepPlan(Plan):
        pass

    @run.compile
    def as_deep(x: Any, plan: Any) -> Any:
        return x * plan.depth

    as_deep(ones(2), DeepPlan())
    if not run.remedied:
        DeepPlan.depth = 3
    as_deep(ones(2), DeepPlan())


class Part:
    """A configuration whose parts are made when they are asked for."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def __getattr__(self, name: str) -> Any:
        value = self.content[name]
        return Part(value) if isinstance(value, dict) else value


@case(
    "", "is-guarded", expression="config.model.act",
    cause="config.model.act is what __getattr__ gives: what that reads is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def part_of_a_part(run: Run) -> None:
    config = Part({"model": {"act": "relu"}})

    @run.compile
    def activated(x: Any, config: Any) -> Any:
        return x.relu() if config.model.act == "relu" else x + 1

    activated(ones(2), config)
    if not run.remedied:
        config.content["model"]["act"] = "none"
    activated(ones(2), config)


class Nested(dict[str, Any]):
    """A configuration whose parts are its items, with their items as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@case(
    "", "is-guarded", expression="plan.head.width",
    cause="plan.head.width is what __getattr__ gives: what that reads is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def item_of_a_part(run: Run) -> None:
    plan = Nested(head=Nested(width=4), tail=Nested(width=4))

    @run.compile
    def as_wide(x: Any, plan: Any) -> Any:
        return x.repeat(plan.head.width) + len(plan.tail)

    as_wide(ones(2), plan)
    if not run.remedied:
        plan["head"]["width"] = 5
    as_wide(ones(2), plan)


@case(
    "", "is-guarded", expression="plan.head['width']",
    cause="plan.head['width'] is guarded: it must be 4",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def item_of_a_part_by_its_key(run: Run) -> None:
    plan = Nested(head=Nested(width=4))

    @run.compile
    def as_deep(x: Any, plan: Any) -> Any:
        return x.repeat(plan.head.width)

    for width in (4, 4 if run.remedied else 5):
        plan["head"]["width"] = width
        as_deep(ones(2), plan)


@case(
    "", "is-guarded", expression="plan.tail.width",
    cause="plan.tail.width is not guarded itself",
    counts=(1, 1),
    never=("what __getattr__ gives",),
)  # fmt: skip
def item_of_another_part(run: Run) -> None:
    plan = Nested(head=Nested(width=4), tail=Nested(width=4))

    @run.compile
    def as_tall(x: Any, plan: Any) -> Any:
        return x.repeat(plan.head.width) + len(plan.tail)

    as_tall(ones(2), plan)
    if not run.remedied:
        plan["tail"]["width"] = 5
    as_tall(ones(2), plan)


class Output(OrderedDict[str, Any]):
    """A dictionary with its items as attributes."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


@case(
    "", "is-guarded", expression="output.hidden",
    cause="output.hidden is what __getattr__ gives: what that reads is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def item_as_an_attribute(run: Run) -> None:
    @run.compile
    def head(output: Any) -> Any:
        return output.hidden + 1

    head(Output(hidden=ones(2)))
    head(Output(hidden=ones(2) if run.remedied else ones(2).double()))


class Mode(enum.IntFlag):
    """What is done."""

    RELU = 1
    BIAS = 2


@case(
    "", "is-guarded", expression="mode.value",
    cause="only the identity of mode is guarded, not mode.value",
    counts=(2, 1),
)  # fmt: skip
def value_of_a_flag(run: Run) -> None:
    @run.compile
    def flagged(x: Any, mode: Any) -> Any:
        return x.relu() if mode is Mode.RELU else x + 1

    flagged(ones(2), Mode.RELU)
    flagged(ones(2), Mode.RELU if run.remedied else Mode.BIAS)


@case(
    "", "is-guarded", expression="Settings().share",
    cause="nothing that can be asked about",
    counts=(2, 1),
)  # fmt: skip
def share_of_a_call(run: Run) -> None:
    """What a call gives is not what the program has once got from it."""

    class Settings:
        def __init__(self) -> None:
            self.share = 0.5

    settings = Settings()

    @run.compile
    def shared(x: Any) -> Any:
        return x * settings.share

    shared(ones(2))
    settings.share = 0.5 if run.remedied else 0.25
    shared(ones(2))


@case(
    "", "is-guarded", expression="hyper.momentun",
    cause=(
        "hyper.momentun is not guarded itself",
        "whether hyper has an attribute momentun is not recorded: no function of the program's",
    ),
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def attribute_that_is_misspelled(run: Run) -> None:
    class Hyper:
        def __init__(self) -> None:
            self.rate = 0.1
            self.momentum = 0.9

    @run.compile
    def stepped_by(x: Any, hyper: Any) -> Any:
        return x * hyper.rate

    hyper = Hyper()
    stepped_by(ones(3), hyper)
    hyper.momentum = 0.9 if run.remedied else 0.8
    stepped_by(ones(3), hyper)
