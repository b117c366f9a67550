"""Small programs, each with arguments: what the engine captures, and what breaks its graphs.

The tests say which are to be one graph.
"""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import enum
import functools
import weakref

import torch
import torch.nn.functional as F
from torch import nn

PROGRAMS = []


def prog(*args):
    def register(function):
        PROGRAMS.append((function, args))
        return function

    return register


def T(*size):
    return torch.arange(float(torch.Size(size).numel())).reshape(size)


G = 3
glist = [1, 2]


@prog(T(3))
def const(x):
    y = x * 2 + 1
    return y, y.shape, x.dtype, x.size(0), x.dim()


@prog(T(3), T(3))
def swap(a, b):
    a, b = b, a
    return a - b


@prog([T(2), T(2)], {"k": T(2)})
def containers(xs, d):
    s = 0
    for x in xs:
        s = s + x
    d2 = {**d, "z": s}
    out = [v * 2 for v in d2.values()]
    return out, d2, tuple(xs), {"a": [1, 2]}


@prog([T(2)])
def mutate(xs):
    xs.append(xs[0] + 1)
    xs[0] = xs[1] * 2
    return xs


@prog({"a": T(2)})
def dict(d):
    d["b"] = d["a"] + 1
    d.update(c=d["b"])
    x = d.pop("a")
    return x


@prog(T(2))
def global_(x):
    global G
    G += 1
    return x * G


@prog(T(2))
def closure(x):
    n = 1

    def inner(y):
        nonlocal n
        n += 1
        return y * n

    a = inner(x)
    b = inner(x)
    return a, b, n


@prog(T(2))
def escape(x):
    n = [x]

    def inner(y):
        return n[0] + y

    n.append(1)
    r = inner(x)
    return inner, r


@prog(T(2))
def break_body(x):
    y = x + 1
    print("hi", end="")
    return y * 2


@prog(T(2))
def break_expr(x):
    y = x.sin()
    z = (y + 1) * float(y.sum()) + max(1, int(x.sum().item()))
    return z, y


@prog(T(4))
def loop_break(x):
    out = []
    for i in range(4):
        x = x + i
        print(i, end="")
        out.append(x * 2)
    return out


@prog(T(2))
def try_(x):
    y = x + 1
    try:
        z = y * 2
        {}["k"]
        return 1
    except KeyError:
        return z + 1
    finally:
        y = y + 5


@prog(T(2))
def grad(x):
    w = x.clone().requires_grad_(True) if False else x
    with torch.no_grad():
        y = w * 2
    return y, torch.is_grad_enabled()


@prog(T(2))
def with_break(x):
    y = x + 1
    with torch.no_grad():
        z = y * 2
        print("in", end="")
        z = z + 1
    return z * y


@prog(T(3))
def inplace(x):
    x.add_(1)
    y = x * 2
    x[0] = 7
    y += x
    return y


@prog(T(2, 3))
def minmax(x):
    m = x.max(dim=1)
    v, i = x.min(1)
    return m, m.values, v, i, torch.split(x, 1), x.chunk(2)


class Obj:
    k = 5

    def __init__(self):
        self.a = T(2)
        self.b = 2

    def m(self, y):
        self.b += 1
        return self.a * self.b + y + self.k

    @property
    def p(self):
        return self.a * 3


@prog(Obj(), T(2))
def obj(o, y):
    r = o.m(y)
    o.c = r
    return o.p + r, o.b


@prog(T(2), 1, 2.5, "s", None, True)
def args(x, a, b, c, d, e, *rest, k=3, **kw):
    return x * a + b, f"{c}-{a}", (d, e, rest, k, kw)


@prog(T(4))
def iter(x):
    s = 0
    for i, (a, b) in enumerate(zip([1, 2, 3], (x, x + 1, x + 2))):
        s = s + a * b * i
    l = list(map(lambda q: q + 1, [x, s]))
    return s, l, sum([x, s]), [*reversed((1, 2))], sorted([3, 1]), any([False, True])


@prog(T(4))
def raise_(x):
    y = x + 1
    if x.shape[0] == 4:
        raise ValueError("bad")
    return y


@prog(T(4))
def opfail(x):
    y = x + 1
    return y @ torch.ones(3, 5)


@prog(T(4))
def runtimefail(x):
    y = x[torch.tensor([10])]
    return y


@prog(T(2))
def alias(x):
    a = [x]
    b = a
    c = (a, b)
    a.append(2)
    return a, b, c


@prog(T(3))
def unpack(x):
    a, *b = x
    c, d, e = (1, 2, 3)
    return a, b, c + d + e


@prog(T(3))
def data(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    while y.sum() < 100:
        y = y * 2
    return y


@prog(T(3))
def nested_break(x):
    def g(a):
        print("g", end="")
        return a + 1

    y = x * 2
    return y + g(y) * g(x)


def helper(a, b=glist):
    return a * len(b)


@prog(T(3))
def default(x):
    return helper(x) + helper(x, [1])


@prog(T(3))
def slice(x):
    l = [1, 2, 3, 4]
    return x[1:], x[None, :, ...], l[1:3], l[::-1], "abc"[1], (1, 2)[0]


@prog(T(3))
def del_(x):
    y = x + 1
    d = {"a": 1}
    del d["a"]
    z = y
    del y
    return z, d


@prog(T(3))
def isinst(x):
    return (
        isinstance(x, torch.Tensor),
        isinstance(3, (int, str)),
        type(x) is torch.Tensor,
        x is not None,
        x is x,
    )


@prog(T(3))
def comp(x):
    return (
        {k: x * k for k in (1, 2)},
        [i for i in range(4) if i % 2],
        [[j * x for j in range(2)] for i in range(2)],
    )


@prog(T(3))
def genexp(x):
    return sum(x * i for i in range(3)), tuple(i for i in range(2))


m1 = nn.Sequential(
    nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.LayerNorm(2), nn.Dropout(0.0)
).eval()


class M(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        s.e = nn.Embedding(5, 3)
        s.register_buffer("buf", torch.ones(3))
        s.flag = True

    def forward(s, x, idx=None):
        for l in s.l:
            x = F.gelu(l(x)) + s.buf
        if idx is not None:
            x = x + s.e(idx)
        return x if s.flag else -x


m2 = M()


@prog(T(2, 3))
def module(x):
    return m1(x), m2(x, torch.tensor([1, 2]))


@prog(T(2))
def class_made(x):
    class Inner:
        factor = 3

    def scaled(v):
        return v * Inner.factor

    print(end="")
    return scaled(x)


class Parent:
    def twice(self, x):
        return x * 2


class Child(Parent):
    def twice(self, x):
        y = x + 1
        print(end="")
        return super().twice(y)


@prog(Child(), T(2))
def parent_method(child, x):
    return child.twice(x)


@prog(T(2))
def wrong_calls(x):
    try:
        list(sequence=[x])
    except TypeError:
        x = x + 1
    try:
        dict([(1, 2, 3)])
    except ValueError:
        x = x * 2
    return x


@prog(T(2))
def cell_on_the_stack(x):
    n = 2

    def scaled(v, extra=print(end="") or 1):
        return v * n + extra

    y = scaled(x)
    n = 3
    return y, scaled(x)


@prog(T(2))
def many_variables(x):
    a = b = c = d = e = f = g = h = 1
    i, j = (2, 3)
    k, l = (j, i)
    print(end="")
    m, n = (x + k, x * l)
    total = 0
    for o, p in zip([m, n], [n, m]):
        print(end="")
        q, r = (o, p)
        s, t = (r + q, q - r)
        total = total + s * t
    return total, a + b + c + d + e + f + g + h, (i, j, k, l)


@prog(T(2))
def parameter_in_a_cell(x):
    print(end="")
    y = x + 1

    class Kept:
        value = x

    return y + Kept.value, (lambda: x * 2)()


@prog(-T(2))
def set_in_one_branch(x):
    for turn in range(2):
        if x.sum() > 0:
            seen = turn
        x = x + 2
    try:
        return x, seen
    except UnboundLocalError:
        return x


def no_arguments():
    return super()


@prog(T(2))
def super_without_arguments(x):
    try:
        no_arguments()
    except RuntimeError as error:
        return x + 1, str(error)


@prog(T(2))
def class_without_order(x):
    class Meta(type):
        def mro(cls):
            cls.found = cls.missing if hasattr(cls, "missing") else 2
            return type.mro(cls)

    class Made(metaclass=Meta):
        missing = 1

    return x + Made.found


@prog(T(2))
def member_being_made(x):
    class Level(enum.Enum):
        LOW = 1
        HIGH = 2

        def __init__(self, number):
            self.weight = number + 1

    return x * Level.HIGH.weight, Level.LOW.name


class Swallowing:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.error = error
        return kind is NameError


GONE = weakref.proxy(Swallowing())


@prog(T(2))
def text_of_a_dead_proxy(x):
    try:
        return x + 1, str(GONE)
    except ReferenceError as error:
        return x + 2, str(error)


KeyWrapper = type(functools.cmp_to_key(max))


@prog(T(2))
def class_that_cannot_be_made(x):
    try:
        return x + 1, KeyWrapper()
    except TypeError as error:
        return x + 2, str(error)


@prog(T(2))
def raised_in_two_blocks(x):
    context = Swallowing()
    with context:
        raise NameError("one")
    print(end="")
    first, x = type(context.error), x + 1
    context = Swallowing()
    context.catch = True
    with context:
        raise NameError("two")
    print(end="")
    return x * 2, first, str(context.error)
