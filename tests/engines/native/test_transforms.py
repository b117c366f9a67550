"""Transforms of `torch.func`: torch's Python is interpreted, and what it does to tensors is in the
graph. What they give, refuse and leave behind is eager's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

from stepper import native
from stepper.native.versions import transforms_depth
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out

X = torch.arange(6.0).reshape(2, 3) - 1
LINEAR = nn.Linear(3, 2)


def nested(x: torch.Tensor) -> Any:
    return vmap(vmap(lambda a: a.sin() * a.dim()), randomness="different", chunk_size=1)(x)


def out_dims(x: torch.Tensor) -> Any:
    return vmap(lambda a, b: (a + b, {"s": a.sum()}), in_dims=(0, None), out_dims=(1, 0))(x, x[0])


def draws(x: torch.Tensor) -> Any:
    return vmap(lambda a: a + torch.rand(3), randomness="different")(x), torch.rand(1)


def changes_its_argument(x: torch.Tensor) -> Any:
    vmap(lambda a: a.mul_(2))(x)
    return x + 1


def of_what_requires(x: torch.Tensor) -> Any:
    y = x.clone().requires_grad_()
    z = vmap(grad(grad(lambda a: a**4)))(y.flatten() * 2)
    return z.detach()


def without_gradients(x: torch.Tensor) -> Any:
    def inner(a: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            held = a**2
        return (a**3 - held * a).sum()

    with torch.no_grad():
        return grad(inner)(x), torch.is_grad_enabled()


def auxiliary(x: torch.Tensor) -> Any:
    return grad(lambda a, b: ((a * b).sum(), a + 1), argnums=(0, 1), has_aux=True)(x, x * 2)


def of_a_tuple(x: torch.Tensor) -> Any:
    made: tuple[Any, ...] = vjp(lambda a: (a.sin(), a * 2), x)
    results, pulled = made
    return results, pulled(results), jacrev(lambda a: a * a.sum())(x[0])


def of_each_sample(x: torch.Tensor) -> Any:
    def loss(weights: dict[str, torch.Tensor], sample: torch.Tensor) -> torch.Tensor:
        return (functional_call(LINEAR, weights, (sample[None],)) ** 2).sum()

    weights = {name: each.detach() for name, each in LINEAR.named_parameters()}
    return vmap(grad(loss), in_dims=(None, 0))(weights, x), LINEAR(x).detach()


def tangents(x: torch.Tensor) -> Any:
    def twice(a: torch.Tensor) -> Any:
        return jvp(lambda b: jvp(torch.sin, (b * a,), (a,))[1], (a,), (torch.ones_like(a),))

    given = jvp(lambda a, b: (a * b, torch.ones(3)), (x, x), (x, x + 1))
    aux = jvp(lambda a: (a * 2, a + 1), (x,), (x,), has_aux=True)
    return given, aux, twice(x), vmap(jacfwd(torch.sin))(x), hessian(lambda a: a.sin().sum())(x[0])


def unpacked(x: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(2, 3))
        found = forward_ad.unpack_dual(dual.sin())
    return found, found.tangent * 2


def named(x: torch.Tensor) -> Any:
    function = vmap(torch.sin)
    return function.__name__, function(x)


@pytest.mark.parametrize(
    "function",
    [
        nested, out_dims, changes_its_argument, without_gradients, auxiliary, of_a_tuple,
        of_each_sample, tangents, named,
    ],
)  # fmt: skip
def test_what_is_captured_is_one_graph_and_gives_what_eager_gives(
    function: Callable[..., Any],
) -> None:
    explanation = check(function, X.clone(), times=1)
    assert (explanation.graph_count, explanation.breaks) == (1, [])
    assert transforms_depth() == 0


def test_random_numbers_are_those_of_eager() -> None:
    captured = native.optimize(run_graph, nopython=True)(draws)
    for _ in range(2):
        torch.manual_seed(1)
        expected = draws(X)
        torch.manual_seed(1)
        assert all(map(torch.equal, captured(X), expected))


def uses_what_escaped(x: torch.Tensor) -> Any:
    escaped: list[torch.Tensor] = []
    vmap(lambda a: (escaped.append(a), a)[1])(x)
    return escaped[0] + 1


def asks_for_data(x: torch.Tensor) -> Any:
    return vmap(lambda a: a if a.sum() > 0 else -a)(x)


def draws_where_it_must_not(x: torch.Tensor) -> Any:
    return vmap(lambda a: a + torch.rand(3))(x)


def of_other_sizes(x: torch.Tensor) -> Any:
    return vmap(torch.add)(x, torch.ones(3, 3))


def no_scalar(x: torch.Tensor) -> Any:
    return grad(lambda a: a * 2)(x)


def out_of_range(x: torch.Tensor) -> Any:
    return grad(lambda a: torch.ones(3)[a.long() + 100].sum() * a.sum())(x)


def fails_and_goes_on(x: torch.Tensor) -> Any:
    try:
        return vmap(lambda a: a.view(7))(x)
    except RuntimeError:
        return vmap(lambda a: a * 2)(x)


def breaks_inside(x: torch.Tensor) -> Any:
    def printing(a: torch.Tensor) -> torch.Tensor:
        print("one", a.dim())
        return a + 1

    return vmap(printing)(x * 2) * 3


def breaks_after(x: torch.Tensor) -> Any:
    y = vmap(grad(lambda a: (a * a).sum()))(x)
    print("between")
    return grad(lambda a: (a * y).sum())(x)


def breaks_with_tangents(x: torch.Tensor) -> Any:
    def printing(a: torch.Tensor) -> torch.Tensor:
        print("one", a.dim())
        return a * a

    y = jvp(torch.cos, (x,), (x,))[1]
    return jvp(printing, (y,), (x,)), jvp(lambda a: torch.ones(3)[a.long() + 100], (x,), (x,))


def saves_with_hooks(x: torch.Tensor) -> Any:
    def inner(a: torch.Tensor) -> torch.Tensor:
        with torch.autograd.graph.save_on_cpu():
            return (a * a).sum()

    return grad(inner)(x)


@pytest.mark.parametrize(
    "function",
    [
        uses_what_escaped, asks_for_data, draws_where_it_must_not, of_other_sizes, no_scalar,
        out_of_range, fails_and_goes_on, breaks_inside, breaks_after, saves_with_hooks,
        of_what_requires, breaks_with_tangents, unpacked,
    ],
)  # fmt: skip
def test_what_is_refused_raised_or_broken_is_as_in_eager(function: Callable[..., Any]) -> None:
    check(function, X.clone(), times=2)
    assert transforms_depth() == 0
    with forward_ad.dual_level():  # torch allows only one
        pass


def test_what_was_captured_outside_of_a_transform_is_not_used_in_one() -> None:
    graphs: list[Any] = []

    def backend(gm: Any, inputs: list[Any]) -> Any:
        graphs.append(gm)
        return gm.forward

    captured = native.optimize(backend)(lambda x: x * 2 + X[0])
    captured(X[0])
    assert len(graphs) == 1
    assert torch.equal(vmap(captured)(X), X * 2 + X[0])
    assert torch.equal(vmap(lambda a: captured(X[0]) + a)(X), X + X[0] * 3)
    assert torch.equal(captured(X[0]), X[0] * 3)
    assert len(graphs) == 1


def test_parameters_that_are_swapped_are_those_that_are_used() -> None:
    def swapped(x: torch.Tensor) -> Any:
        ones = {"weight": torch.ones(2, 3), "bias": x[0, :2]}
        return functional_call(LINEAR, ones, (x,)), LINEAR(x)

    before = dict(LINEAR.named_parameters())
    captured = native.optimize(run_graph, nopython=True)(swapped)
    for given, expected in zip(captured(X), swapped(X), strict=True):
        assert torch.equal(given, expected)
    assert list(LINEAR.named_parameters()) == list(before.items())
