"""What a program puts in the place of what Python or torch would call: `forward` of one module,
`isinstance` of one class."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.mutation_guard import install_generation_tagging_init

from stepper import native

graphs: list[torch.fx.GraphModule] = []


def keep_graph(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
    graphs.append(gm)
    return gm.forward


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def by_method(net: Net) -> None:
    def twice(self: Net, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * 2

    vars(net)["forward"] = types.MethodType(twice, net)


def by_function(net: Net) -> None:
    old = net.forward
    vars(net)["forward"] = lambda x: old(x) + 1


def by_partial(net: Net) -> None:
    old = net.forward

    def hooked(module: Net, *args: Any, **kwargs: Any) -> torch.Tensor:
        with torch.no_grad():
            return old(*args, **kwargs) + 3

    made = functools.partial(hooked, net)
    vars(net)["forward"] = functools.update_wrapper(made, old)


def of_a_part(net: Net) -> None:
    def alone(self: Any, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight

    vars(net.linear)["forward"] = types.MethodType(alone, net.linear)


@pytest.mark.parametrize(
    "replace", [by_method, by_function, by_partial, of_a_part], ids=lambda each: each.__name__
)
@pytest.mark.parametrize("itself", [True, False], ids=["module", "caller"])
def test_a_module_is_called_as_it_was_told(replace: Callable[[Net], None], itself: bool) -> None:
    graphs.clear()
    net = Net()
    replace(net)

    def call(x: torch.Tensor) -> torch.Tensor:
        return net(x)

    x = torch.ones(3)
    captured = native.optimize_assert(keep_graph)(net if itself else call)
    assert torch.equal(captured(x), net(x))
    assert len(graphs) == 1
    vars(net)["forward"] = types.MethodType(lambda self, x: x * 9, net)
    assert torch.equal(captured(x), x * 9)
    del net.forward
    assert torch.equal(captured(x), net(x))


class Meta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return getattr(value, "kind", 0) == 3


class Third(metaclass=Meta):
    kind = 1


class Named:
    def __init__(self, kind: int) -> None:
        self.kind = kind


def asked(x: torch.Tensor, value: object) -> torch.Tensor:
    if isinstance(value, Third):
        return x + 1
    return x + 2 if isinstance(value, (int, Third)) else x + 3


def test_isinstance_asks_the_programs_metaclass() -> None:
    call = native.optimize_assert(keep_graph)(asked)
    x = torch.ones(1)
    for value in (Named(3), Named(4), Third(), 5, Named(3)):
        assert torch.equal(call(x, value), asked(x, value))


KNOWN = frozenset([torch.add, torch.mul, int, "name", len])


def among(x: torch.Tensor, function: Any) -> torch.Tensor:
    return torch.add(x, 1.0) if function in KNOWN else x * 2


def test_functions_of_torch_are_found_in_a_set() -> None:
    call = native.optimize_assert(keep_graph)(among)
    x = torch.ones(1)
    for function in (torch.add, torch.sub, int, "name", "other", float, torch.add):
        assert torch.equal(call(x, function), among(x, function))


def test_a_module_is_made_where_dynamo_has_been_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("__init__", "__setstate__"):  # to be as they were afterwards
        monkeypatch.setattr(torch.nn.Module, name, vars(torch.nn.Module)[name])
    install_generation_tagging_init()

    class Scaled(torch.nn.Module):
        def __init__(self, factor: int) -> None:
            super().__init__()
            self.factor = factor

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return Scaled(4)(x)

    x = torch.ones(2)
    assert torch.equal(native.optimize(keep_graph)(scaled)(x), scaled(x))
