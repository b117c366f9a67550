"""Small functions as people write them, each with arguments: operators, control flow, functions.

Both engines are asked to capture them; each shows one thing, and its name says which.
"""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import functools
import math
import operator

import torch
import torch.nn.functional as F

from tests.engines.native.samples import T, sample

# --- operators


@sample(T(3), T(3))
def arithmetic(a, b):
    return (a + b) * (a - b) / (b + 1) // 1 % 5 - -a


@sample(T(3), T(3))
def comparisons(a, b):
    return torch.where((a < b) | (a == b), a, b), (a >= 2) & ~(b != 1)


@sample(T(2, 3), T(3, 2))
def matrix_product(a, b):
    return a @ b, torch.mm(a, b).T, torch.einsum("ij,jk->ik", a, b)


@sample(T(2, 3))
def reductions(x):
    return x.sum(), x.mean(dim=0), x.std(), x.amax(1, keepdim=True), torch.logsumexp(x, 1)


@sample(T(2, 3, 4))
def shapes(x):
    b, n, d = x.shape
    return x.view(b, n * d).reshape(-1, d).transpose(0, 1), x.size(1), x.numel(), len(x)


@sample(T(4, 4))
def indexing(x):
    return x[0], x[:, 1], x[1:3, ::2], x[..., -1], x[None], x[[0, 2]], x[x > 3].shape[0:0]


@sample(T(4))
def factories(x):
    z = torch.zeros_like(x) + torch.ones(4) * torch.arange(4) + torch.full((4,), 2.0)
    return z + torch.tensor([1.0, 2.0, 3.0, 4.0]), x.new_zeros(2), torch.empty(0).shape


@sample(T(3))
def dtypes_and_devices(x):
    y = x.to(torch.float64).half().float()
    return y.to(x.device), x.dtype == y.dtype, x.type_as(y), x.is_floating_point()


@sample(T(3))
def in_place_on_a_copy(x):
    y = x.clone()
    y.mul_(2).add_(1)
    y[1] = 0
    y += 1
    return y


@sample(T(3), T(3))
def concatenated(a, b):
    return torch.cat([a, b]), torch.stack((a, b), dim=1), torch.cat((a, b), 0).chunk(3)


@sample(T(2, 6))
def split_and_joined(x):
    q, k, v = x.split(2, dim=-1)
    return torch.cat([v, k, q], dim=-1), *x.unbind(0)


@sample(T(3, 4))
def functional(x):
    return F.softmax(F.relu(x - 5), dim=-1), F.layer_norm(x, (4,)), F.dropout(x, 0.5, False)


@sample(T(1, 2, 4, 4))
def attention(q):
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


@sample(T(3))
def clamped_by_numbers(x):
    low, high = 1, 2.5
    return x.clamp(low, high), torch.clamp(x, min=low), max(low, high)


@sample(T(3))
def mathematics(x):
    return x * math.sqrt(4) + math.pi + math.floor(2.5) + abs(-3) + round(2.6) + pow(2, 3)


@sample(T(3))
def out_argument(x):
    y = torch.empty(3)
    torch.add(x, 1, out=y)
    return y


# --- control flow


@sample(T(3), True, 3)
def branches_on_arguments(x, flag, n):
    if flag and n > 2:
        x = x + n
    elif n:
        x = x - n
    return x if not flag else -x


@sample(T(3))
def loops_nested(x):
    for i in range(3):
        for j in range(i):
            if j == 1:
                continue
            x = x + i * j + 1
        else:
            x = x * 2
    return x


@sample(T(3))
def while_with_break(x):
    n = 0
    while True:
        x, n = x + n, n + 1
        if n > 3:
            break
    return x


@sample(T(3))
def branch_on_shape(x):
    return x.sum() if x.dim() == 1 and x.shape[0] > 2 else x.mean()


@sample(T(3))
def branch_on_data(x):
    if x.sum() > 0:
        return x * 2
    return x * 3


@sample(T(3))
def loop_on_data(x):
    while x.sum() < 50:
        x = x * 2
    return x + 1


@sample(T(3), "b")
def match_statement(x, kind):
    match kind:
        case "a":
            return x
        case "b" | "c":
            return x * 2
        case _:
            return x * 3


@sample(T(3))
def walrus(x):
    if (n := x.shape[0]) > 2:
        x = x + n
    return [y := n, y**2], x


@sample(T(3))
def assertion(x):
    assert x.dim() == 1, "one dimension"
    return x * 2


@sample(T(3))
def exception_not_raised(x):
    try:
        y = x + 1
    except ValueError:
        y = x
    else:
        y = y * 2
    finally:
        y = y + 3
    return y


@sample(T(3))
def exception_caught(x):
    try:
        raise ValueError("no")
    except ValueError as error:
        return x + len(error.args)


@sample(T(3))
def exception_from_a_call(x):
    def check(n):
        if n > 2:
            raise KeyError(n)
        return n

    try:
        return x * check(3)
    except KeyError:
        return x


# --- functions


@sample(T(3))
def keyword_arguments(x):
    def g(a, /, b=2, *rest, c, d=4, **more):
        return a * b + sum(rest) + c - d + more.get("e", 0)

    return g(x, c=1), g(x, 1, 2, 3, c=1, e=5), g(*[x, 2], **{"c": 1})


@sample(T(3))
def closures_made(x):
    def add(n):
        return lambda v: v + n

    fs = [add(i) for i in range(3)]
    for f in fs:
        x = f(x)
    return x


@sample(T(3))
def counter_in_a_closure(x):
    n = 0

    def step(v):
        nonlocal n
        n += 1
        return v * n

    return step(step(x)), n


def doubled(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs) * 2

    return inner


@doubled
def decorated_inner(x):
    return x + 1


@sample(T(3))
def decorated(x):
    return decorated_inner(x)


@sample(T(3))
def partials(x):
    f = functools.partial(torch.add, alpha=2)
    g = functools.partial(lambda a, b, c: a * b + c, 2, c=1)
    return f(x, x), g(x)


@sample(T(3))
def reduced(x):
    return functools.reduce(operator.add, [x, x, x]), functools.reduce(lambda a, b: a * b, [1, 2])


@sample(T(3))
def mapped_and_filtered(x):
    return list(map(torch.sin, [x, x])), [v for v in filter(lambda n: n > 1, [1, 2, 3])]


@sample(T(3))
def recursive(x):
    def power(v, n):
        return v if n == 0 else power(v * 2, n - 1)

    return power(x, 5)


@sample(T(3))
def generator_used_up(x):
    def three():
        for i in range(3):
            yield x * i

    return list(three()), sum(three())


@sample(T(3))
def generator_kept(x):
    def many():
        i = 0
        while True:
            yield x + i
            i += 1

    g = many()
    return next(g) + next(g)


@sample(T(3))
def generator_delegating(x):
    def inner():
        yield x
        return 3

    def outer():
        n = yield from inner()
        yield x * n

    return list(outer())


@sample(T(3))
def default_that_changes(x, seen=[]):
    y = x + len(seen)
    return y
