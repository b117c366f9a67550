"""What torch does in Python and the graph does by itself: modes, functions with a backward of their
own, modules that are made, and branches of which one way is an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from stepper.native.explanation import Explanation
from stepper.native.watching import WATCHING
from tests.engines.native.harness import run_graph, untagged_modules

pytestmark = pytest.mark.evaluator_out

X = torch.arange(1.0, 10.0).reshape(3, 3)
WORLD: dict[str, Any] = {"factor": 2.0}
LOG: list[str] = []


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    WORLD["factor"] = 2.0
    LOG.clear()
    torch.set_autocast_dtype("cpu", torch.bfloat16)


def one_graph(function: Callable[..., Any]) -> Any:
    return native.optimize(run_graph, nopython=True)(function)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args), list(LOG)
    except (AssertionError, IndexError, RuntimeError, ValueError) as error:
        return type(error), str(error), list(LOG)
    finally:
        LOG.clear()


def without_addresses(value: Any) -> str:
    return re.sub(r"0x[0-9a-f]+", "", str(value))


def same(captured: Callable[..., Any], function: Callable[..., Any], *args: Any) -> None:
    given, expected = (outcome(each, *args) for each in (captured, function))
    assert without_addresses(given) == without_addresses(expected)
    assert not torch.is_autocast_enabled("cpu")
    assert torch.is_grad_enabled()


def autocasts(x: torch.Tensor) -> Any:
    with torch.autocast("cpu"):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            z = y.float() @ x
        with torch.profiler.record_function("named"):
            return y, z, (x @ y).dtype


def fails_in_autocast(x: torch.Tensor, wrong: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return (x @ x)[wrong]


def test_autocast_is_part_of_the_graph_and_of_what_is_checked() -> None:
    captured = one_graph(autocasts)
    same(captured, autocasts, X)
    before = WATCHING.explanation
    explanation = WATCHING.explanation = Explanation()
    same(captured, autocasts, X)
    WATCHING.explanation = before
    assert explanation.graph_count == 0  # whatever the first call has set up in torch
    torch.set_autocast_dtype("cpu", torch.float16)
    same(captured, autocasts, X)
    same(captured, autocasts, X)
    torch.set_autocast_cache_enabled(False)
    try:
        same(captured, autocasts, X)
    finally:
        torch.set_autocast_cache_enabled(True)
    with torch.autocast("cpu", torch.float16):
        expected = autocasts(X)
        assert str(native.optimize(run_graph)(autocasts)(X)) == str(expected)


def test_a_graph_that_fails_leaves_no_mode_entered() -> None:
    captured = one_graph(fails_in_autocast)
    same(captured, fails_in_autocast, X, torch.tensor([1]))
    same(captured, fails_in_autocast, X, torch.tensor([7]))


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, by: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(False)
        ctx.by = by
        return x * by * WORLD["factor"]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * x * 100, None


class InTwoParts(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor, by: float) -> tuple[torch.Tensor, torch.Tensor]:
        return x * by, x + by

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.by = inputs[1]

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return gradients[0] * ctx.by, None


class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        LOG.append("forward")
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        LOG.append("backward")
        return gradient * 3


def calls_scaled(x: torch.Tensor) -> torch.Tensor:
    return Scaled.apply(x, 2.0) + 1


def calls_two_parts(x: torch.Tensor) -> torch.Tensor:
    product, total = InTwoParts.apply(x, 3.0)
    return product * total


def calls_both(x: torch.Tensor) -> torch.Tensor:
    return calls_two_parts(calls_scaled(x))


def calls_noisy(x: torch.Tensor) -> torch.Tensor:
    return Noisy.apply(x) + 1


def with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: torch.Tensor) -> Any:
        x = x.clone().requires_grad_()
        result = function(x)
        result.sum().backward()
        return result, x.grad

    return call


@pytest.mark.parametrize("function", [calls_scaled, calls_two_parts, calls_both])
def test_a_function_with_its_own_backward_is_one_operation(function: Any) -> None:
    captured = one_graph(function)
    same(with_gradient(captured), with_gradient(function), X)
    same(captured, function, X)


def test_what_its_forward_reads_and_is_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    captured = one_graph(calls_scaled)
    same(with_gradient(captured), with_gradient(calls_scaled), X)
    WORLD["factor"] = 5.0
    same(with_gradient(captured), with_gradient(calls_scaled), X)
    WORLD["factor"] = torch.ones(1, 3, 3)
    captured = native.optimize(run_graph)(calls_scaled)
    same(with_gradient(captured), with_gradient(calls_scaled), X)
    monkeypatch.setattr(Scaled, "forward", staticmethod(lambda ctx, x, by: x.sum(0)))
    same(captured, calls_scaled, X)


def test_what_its_forward_does_is_done_each_time() -> None:
    captured = native.optimize(run_graph)(calls_noisy)
    for _ in range(2):
        same(with_gradient(captured), with_gradient(calls_noisy), X)


class Made(nn.Module):
    def __init__(self, of: nn.Module) -> None:
        super().__init__()
        self.of = of
        self.steps = nn.Sequential(nn.ReLU(), nn.Softmax(dim=-1))
        self.register_buffer("shift", torch.ones(3) * WORLD["factor"])

    def forward(self, x: torch.Tensor) -> Any:
        for step in self.steps:
            x = step(x)
        return self.of(x) + self.shift


LINEAR = nn.Linear(3, 3)


def makes(x: torch.Tensor) -> Any:
    made = Made(LINEAR)
    return made(x), nn.CrossEntropyLoss(reduction="none")(x, torch.tensor([0, 1, 2])), made


@untagged_modules()
def test_modules_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    captured = one_graph(makes)
    same(captured, makes, X)
    assert list(captured(X)[2].state_dict()) == list(makes(X)[2].state_dict())
    WORLD["factor"] = 3.0
    same(captured, makes, X)
    handle = LINEAR.register_forward_hook(lambda *args: LOG.append("hook"))
    same(native.optimize(run_graph)(makes), makes, X)
    handle.remove()
    monkeypatch.setattr(nn.ReLU, "forward", lambda self, x: x * 7)
    same(captured, makes, X)


def asserts(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    assert y.sum() > 0, f"{y.sum()} is too little"
    return y + 1


def raises(x: torch.Tensor) -> torch.Tensor:
    def check(value: torch.Tensor) -> None:
        if torch.isnan(value).any():
            raise ValueError("not a number")

    check(x)
    return x + 1


@pytest.mark.parametrize("function", [asserts, raises])
def test_a_branch_that_is_an_error_is_no_break(function: Any) -> None:
    captured = one_graph(function)
    for values in (X, -X, X * torch.nan):
        same(captured, function, values)


def changes_and_asserts(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    assert x.sum() > 0
    return x * 2


def handles(x: torch.Tensor) -> torch.Tensor:
    try:
        assert x.sum() > 0
    except AssertionError:
        return x - 1
    return x + 1


@pytest.mark.parametrize("function", [changes_and_asserts, handles])
def test_where_that_would_be_noticed_the_graph_breaks(function: Any) -> None:
    captured = native.optimize(run_graph)(function)
    for values in (X, -X):
        one, other = values.clone(), values.clone()
        expected = without_addresses(outcome(function, other))
        assert without_addresses(outcome(captured, one)) == expected
        assert torch.equal(one, other)


def in_inference_mode(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        y = x * 2
        gradients = torch.is_grad_enabled()
        with torch.inference_mode(False):
            inner = torch.is_grad_enabled()
    return y.is_inference(), torch.is_inference(y), y.requires_grad, gradients, inner


def test_what_is_asked_of_a_tensor_of_inference_mode_is_left_to_python() -> None:
    # A resume function that cannot even take such a tensor from its own stack goes on as it is.
    captured = native.optimize(run_graph)(in_inference_mode)
    for _ in range(3):
        same(captured, in_inference_mode, X)


def writes_to(x: torch.Tensor, into: torch.Tensor) -> Any:
    made = torch.empty(3, 3)
    torch.mul(x, 2, out=made)
    torch.mul(x[1], 2, out=into[0])
    made.unsqueeze_(0).squeeze_(0).t_()
    return made, made.shape, into + 1


def test_out_arguments_and_reshaping_in_place_change_what_is_meant() -> None:
    captured = native.optimize(run_graph)(writes_to)
    for _ in range(2):
        one, other = X.clone(), X.clone()
        assert str(captured(X, one)) == str(writes_to(X, other))
        assert torch.equal(one, other)


def drawn(x: torch.Tensor) -> Any:
    actions = torch.distributions.Categorical(logits=x)
    kept = torch.distributions.Bernoulli(logits=x)
    return actions.log_prob(torch.tensor([0, 1, 2])), actions.entropy(), kept.probs


def test_a_distribution_with_lazy_properties_is_made_in_the_graph() -> None:
    explanation = native.explain(drawn)(X)
    assert (explanation.graph_count, explanation.breaks) == (1, [])
    assert str(native.optimize(run_graph)(drawn)(X)) == str(drawn(X))


def test_what_dynamo_does_while_it_traces_is_what_it_is_in_eager() -> None:
    from torch._dynamo.comptime import comptime

    def noting(context: object) -> None:
        LOG.append("traced")

    def instead() -> None:
        LOG.append("instead")

    def deep(x: torch.Tensor, n: int) -> torch.Tensor:
        comptime(noting, fallback_fn=instead)
        return x if n == 0 else deep(x + 1, n - 1)

    def program(x: torch.Tensor) -> Any:
        comptime.print_graph()
        return deep(x, 30)

    expected = outcome(program, X)
    LOG.clear()
    assert str(outcome(one_graph(program), X)) == str(expected)


def test_a_tensor_is_an_instance_of_what_stands_for_its_elements() -> None:
    kinds = torch.FloatTensor, torch.LongTensor, torch.BoolTensor

    def asks(x: Any) -> Any:
        found = [isinstance(each, kind) for each in (x, x.long(), 3) for kind in kinds]
        return x + 1 if isinstance(x, (torch.LongTensor, torch.DoubleTensor)) else x * 2, found

    captured = one_graph(asks)
    for given in (X, X.double(), X.bool(), torch.nn.Parameter(X)):
        same(captured, asks, given)


def test_a_type_of_elements_is_asked_for_by_its_class() -> None:
    def converts(x: Any) -> Any:
        half = x.type(torch.HalfTensor)
        return half, x.type(half.type()), x.type(torch.LongTensor) * 2, half is x, x is not x

    same(one_graph(converts), converts, X)
