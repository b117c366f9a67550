"""Numbers and flags that modules keep: scales, rates, configurations."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch._dynamo import config

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause="self[0].enabled changes: True, False, and of 1 other",
    advice="Each value of self[0].enabled is compiled by itself",
    counts=(2, 1),
    function="Chain",
    never=("of self.enabled", "fn[0]"),
)  # fmt: skip
def layers_of_a_container(run: Run) -> None:
    """`self` is what was compiled, and not the first layer with a `forward` of the program's."""

    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enabled = True

        def forward(self, x: Any) -> Any:
            return x * 2 if self.enabled else x + 1

    class Chain(nn.Sequential):
        pass

    net = Chain(Adapted(), Adapted())
    compiled = run.compile(net)
    compiled(ones(2))
    for layer in net:
        layer.enabled = run.remedied
    compiled(ones(2))


@case(
    "", "why-recompile",
    cause="self.blocks[3].scale changes: 1.0, 2.0",
    advice="or keep it in a tensor",
    counts=(2, 1),
)  # fmt: skip
def scale_of_an_inner_block(run: Run) -> None:
    class Scaling(nn.Module):
        scale: Any = 1.0

        def forward(self, x: Any) -> Any:
            return x * self.scale  # cause

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Scaling() for _ in range(4))

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return x

    net = Net()
    compiled = run.compile(net)
    for block in net.blocks:
        block.scale = 1.0
    for scale in (1.0, 2.0, 3.0):
        net.blocks[3].scale = torch.tensor(scale) if run.remedied else scale
        compiled(ones(2))


@case(
    "", "why-recompile",
    cause=(
        "self.merged changes: False, True  (1 of 2)",
        "length of self.adapters changes: 1, 2  (1 of 2)",
    ),
    advice="Each value of self.merged is compiled by itself",
    counts=(3, 2),
    never=("(2 of 2)",),
)  # fmt: skip
def merged_and_unmerged(run: Run) -> None:
    """Unmerged again, it is the number of adapters for which there is no entry."""

    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.merged = False
            self.adapters = [2.0]

        def forward(self, x: Any) -> Any:
            if not self.merged:
                for scale in self.adapters:  # cause
                    x = x * scale
            return x + 1

    net = Adapted()
    compiled = run.compile(net)
    for merged in (False, not run.remedied, False):
        net.merged = merged
        compiled(ones(2))
        if merged:
            net.adapters.append(3.0)
    if run.remedied:
        net.adapters.append(3.0)
        compiled(ones(2))


@case(
    "peft#2177", "why-recompile",
    cause="self.scaling['first'] changes: 0.5, 1.0",
    advice="or keep it in a tensor",
    counts=(2, 1),
)  # fmt: skip
def scaling_of_an_adapter(run: Run) -> None:
    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scaling: dict[str, Any] = {"first": torch.tensor(0.5) if run.remedied else 0.5}
            self.adapter = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return x + self.adapter(x) * self.scaling["first"]  # cause

    model = Adapted()
    compiled = run.compile(model)
    for scaling in (0.5, 1.0, 2.0):
        if run.remedied:
            model.scaling["first"].fill_(scaling)
        else:
            model.scaling["first"] = scaling
        compiled(ones(4))


@case(
    "", "why-recompile",
    cause=("self.probability changes: 0.1, 0.2, 0.3", "requires Eq(zf", ", 0.2), by"),
    advice="self.probability is a symbol until",
    counts=(3, 1),
    never=(">= 0.0", "<= 1.0"),
)  # fmt: skip
def dropout_that_is_scheduled(run: Run) -> None:
    class Dropping(nn.Module):
        probability = 0.0

        def forward(self, x: Any) -> Any:
            if run.remedied:
                return x * 2
            return nn.functional.dropout(x, self.probability, self.training)  # cause

    dropping = Dropping()
    compiled = run.compile(dropping)
    for probability in (0.1, 0.2, 0.3):
        dropping.probability = probability
        compiled(ones(4) + 1)


class Config(dict[str, Any]):
    """A dictionary whose items are attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@case(
    "", "why-recompile",
    cause="self.config['train']['step'] grows: 2, 3, 4",
    advice="Keep self.config['train']['step'] in a tensor, where",
    counts=(3, 1),
    never=("values())[", "register_buffer"),
)  # fmt: skip
def step_within_a_config(run: Run) -> None:
    class Stepped(nn.Module):
        def __init__(self, config: Config) -> None:
            super().__init__()
            self.config = config

        def forward(self, x: Any) -> Any:
            return x * self.config.model.depth + self.config.train.step  # cause

    config = Config(model=Config(depth=2), train=Config(rate=0.1, step=2))
    stepped = run.compile(Stepped(config))
    for step in (2, 3, 4):
        config["train"]["step"] = torch.tensor(step) if run.remedied else step
        stepped(ones(2))


@case(
    "", "why-recompile",
    cause="self.config['scale'] changes: 1.5, 2.5",
    advice="Or keep self.config['scale'] as a tensor",
    counts=(2, 1),
    never=("hand over self.config",),
)  # fmt: skip
def scale_of_a_config(run: Run) -> None:
    class Configured(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.config: dict[str, Any] = {"scale": 1.5}

        def forward(self, x: Any) -> Any:
            return x * self.config["scale"]  # cause

    model = Configured()
    scaled = run.compile(model, dynamic=False)
    for scale in (1.5, 2.5):
        model.config["scale"] = torch.tensor(scale) if run.remedied else scale
        scaled(ones(2))


@case(
    "", "why-recompile",
    cause="self.epoch grows: 1, 2, 3",
    advice="What is computed with self.epoch has to be a number of Python (dropout() of torch): do "
    "that outside of the compiled function, or accept an entry for each.",
    counts=(3, 1),
    never=("allow_unspec_int", "in a tensor"),
)  # fmt: skip
def dropped_more_each_epoch(run: Run) -> None:
    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.epoch = 0
            self.layer = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            y = self.layer(x)
            if run.remedied:
                return y
            rate = 0.1 * self.epoch  # cause
            return nn.functional.dropout(y, rate, self.training)

    dropping = Dropping()
    compiled = run.compile(dropping)
    for epoch in (1, 2, 3):
        dropping.epoch = epoch
        y = compiled(ones(1, 2))
        if run.remedied:
            nn.functional.dropout(y, 0.1 * epoch)


@case(
    "", "why-recompile",
    cause="self.most grows: 2, 3, 4",
    advice="makes it a symbol, which helps unless something needs its value: an index into a "
    "list, say, or the length of a loop. An int that is an argument is one, too",
    counts=(3, 2),
    never=("in a tensor",),
)  # fmt: skip
def most_likely_tokens(run: Run) -> None:
    """torch.topk takes no tensor for it: the graph would break."""
    if run.remedied:
        config.allow_unspec_int_on_nn_module = True

    class Sampling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.most = 2

        def forward(self, logits: Any) -> Any:
            return logits.topk(self.most)[0].softmax(-1)  # cause

    sampling = Sampling()
    sampled = run.compile(sampling)
    for most in (2, 3, 4):
        sampling.most = most
        sampled(ones(8))


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
