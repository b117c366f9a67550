"""Arrays of NumPy's in graphs: nodes call NumPy itself, so all bits are eager's, and memory is
shared where it is in eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph, same

pytestmark = pytest.mark.evaluator_out

A = np.arange(6.0).reshape(2, 3)
X = torch.arange(1.0, 7).reshape(2, 3)


def operators(a: Any) -> Any:
    b = a / 3 - 1e-3
    return (
        -b,
        ~(a > 1),
        abs(b),
        a @ a.T,
        b**2,
        2**b,
        a // 2,
        a % 2,
        1 / (a + 1),
        a <= 3,
        divmod(b, 2),
    )


def numbers(a: Any) -> Any:
    s = a.sum()
    before = s
    s += 1
    return (
        before,
        s,
        a[0, 1] * 2,
        np.sqrt(s),
        a * s,
        -s,
        type(s),
        isinstance(s, np.float64),
        s.dtype,
    )


def functions(a: Any) -> Any:
    joined = np.concatenate([a, np.ones((1, 3))]), np.stack([a, a]), np.array([[1, 2, 3], a[0]])
    found = np.argmax(a), np.median(a), np.percentile(a, 30), np.linalg.norm(a), np.fft.fft(a[0])
    return np.where(a > 2, a, 0), np.split(a, 3, axis=1), np.meshgrid(a[0], a[1]), joined, found


def facts(a: Any) -> Any:
    rows = [row * 2 for row in a]
    kinds = a.dtype == np.float64, a.astype(np.float32), a.astype(int), np.zeros(3, dtype=a.dtype)
    return (
        rows,
        len(a),
        a.shape,
        a.ndim,
        a.size,
        a.itemsize,
        a.dtype,
        isinstance(a, np.ndarray),
        kinds,
    )


def shared(a: Any) -> Any:
    b = a.T
    b[0] = 7
    a += 1
    c = a.copy()
    c.fill(2)
    d = a + 1
    return a, b, c, a[1:], a.reshape(3, 2), d, [d]


def mixed_types(a: Any) -> Any:
    i = np.arange(3)
    return i / 2, i + 1.5, i + np.int8(3), i.mean(), i.astype(bool).any(), a.astype("float16") * 2.5


@pytest.mark.parametrize("function", [operators, numbers, functions, facts, shared, mixed_types])
def test_what_is_done_with_an_array_is_one_graph(function: Callable[..., Any]) -> None:
    explanation = check(function, A.copy())
    assert (explanation.graph_count, explanation.breaks) == (1, [])


def there_and_back(x: torch.Tensor) -> Any:
    a = x.numpy()
    a[0] = np.cos(a[1])
    made = torch.tensor(a), torch.tensor(a.sum()), torch.tensor(a, dtype=torch.float64)
    return a, x + 1, torch.from_numpy(a * 2), torch.as_tensor(a), x.T.numpy(), made


def detached(x: torch.Tensor) -> Any:
    return torch.from_numpy(x.detach().numpy() * 2) * x


def test_a_tensor_and_its_array_share_their_memory() -> None:
    assert check(there_and_back, X.clone()).graph_count == 1
    assert check(detached, X.clone().requires_grad_()).graph_count == 1
    x = X.clone()
    array, *_, made = native.optimize(run_graph)(
        lambda x: (x.numpy(), torch.from_numpy(x.numpy()))
    )(x)
    x[0] = 9
    assert array[0, 0] == made[0, 0] == 9


def refused(a: Any) -> Any:
    masked, chosen = a[a > 2], np.unique(a)
    reverse = a[:, ::-1] + 1, np.broadcast_to(a[0], (4, 3)).flags.writeable
    np.add(a, 1, out=a)
    return masked, chosen, reverse, a.tolist(), float(a.sum()), [*a.flat], a.base is None


def decided(a: Any) -> Any:
    return a + 1 if a.sum() > 3 else a


def wrong(a: Any) -> Any:
    return a * 2 + np.ones(5)


def singular(a: Any) -> Any:
    return np.linalg.inv(a[:, :2] * 0)


def of_a_list(a: Any) -> Any:
    given = [a, {"k": a * 2}]
    print("between")
    return given, given[0] + given[1]["k"], a


@pytest.mark.parametrize("function", [refused, decided, wrong, singular, of_a_list])
def test_what_needs_the_elements_or_fails_is_as_in_eager(function: Callable[..., Any]) -> None:
    check(function, A.copy())


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a", "b"]), np.arange(3, dtype=">f4"), np.arange(6).reshape(2, 3)[:, ::-1],
        np.array([None]), np.arange(3, dtype=np.longdouble), np.zeros((0, 3)),
    ],
)  # fmt: skip
def test_arrays_of_any_kind_are_let_through(array: Any) -> None:
    def copied(a: Any) -> Any:
        return a.copy().tolist(), a.shape, a.dtype == a[:1].dtype

    assert same(native.optimize(run_graph)(copied)(array), copied(array))


def test_numpy_warns_at_each_call() -> None:
    captured = native.optimize(run_graph)(lambda a: 1 / a)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert captured(A)[0, 0] == np.inf
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        captured(A)


def test_a_backend_that_traces_again_gets_operators_of_torch() -> None:
    traced: list[torch.fx.GraphModule] = []

    def backend(gm: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        made = torch.fx.experimental.proxy_tensor.make_fx(gm, tracing_mode="fake")(*inputs)
        traced.append(made)
        return made.forward

    captured = native.optimize(backend)(lambda a: np.sin(a).sum(axis=0) * 2)
    assert np.allclose(captured(A), np.sin(A).sum(axis=0) * 2)
    assert torch.ops.aten.sin.default in {node.target for node in traced[0].graph.nodes}
