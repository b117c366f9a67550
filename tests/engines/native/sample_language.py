"""Python as programs around tensors write it, in more ways: iterators, dataclasses, enumerations,
metaclasses, `super()` in every form; see `samples`."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import collections
import collections.abc
import dataclasses
import enum
import functools
import itertools
import operator
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.engines.native.samples import T, sample


def G(*s):
    return T(*s).requires_grad_()


@sample(T(3))
def recordfn2(x):
    with torch.profiler.record_function("a"):
        x = x + 1
    return x * 2


@sample(T(3))
def mask_index(x):
    return x[x > 1] + 1


@sample(T(3))
def mask_assign(x):
    y = x.clone()
    y[y > 1] = 0
    return y


@sample(T(3))
def mask_where(x):
    i = torch.where(x > 1)
    return x[i[0]] * 2


class BufMod(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))
        self.count = 0

    def forward(self, x):
        self.n = self.n + x
        self.count += 1
        return self.n * self.count


@sample(BufMod(), T(3))
def buffer_assigned(m, x):
    m(x)
    return (m(x), m.n)


class BufIn(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))

    def forward(self, x):
        self.n.add_(x)
        self.n.mul_(2)
        return self.n + x


@sample(BufIn(), T(3))
def buffer_inplace(m, x):
    return (m(x) + m(x), m.n)


class RegBuf(nn.Module):
    def forward(self, x):
        self.register_buffer("made", x + 1)
        return self.made * 2


@sample(RegBuf(), T(3))
def buffer_registered(m, x):
    return m(x)


class RegParam(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.ones(3))
        self.register_parameter("q", None)

    def forward(self, x):
        r = x * self.p
        if self.q is not None:
            r = r * self.q
        return r


@sample(RegParam(), T(3))
def parameter_none(m, x):
    return m(x)


def gen(x):
    for i in range(3):
        yield (x + i)


@sample(T(3))
def gen_in_list(x):
    return list(gen(x))


@sample(T(3))
def gen_zip(x):
    return [a * b for a, b in zip(gen(x), gen(x * 2))]


@sample(T(3))
def gen_next_default(x):
    g = gen(x)
    next(g)
    next(g)
    next(g)
    return next(g, x * 7)


@sample(T(3))
def gen_return_value(x):

    def inner(t):
        yield t
        return t * 3

    def outer(t):
        r = yield from inner(t)
        yield (r + 1)

    return list(outer(x))


@sample(T(3))
def gen_subclass_dict(x):
    return dict(((i, t) for i, t in enumerate(gen(x))))


@sample(T(3))
def gen_sum_max(x):
    return (
        sum((t for t in gen(x))),
        max((i for i in range(4))),
        any((i > 2 for i in range(4))),
        all((i > 2 for i in range(4))),
    )


@sample(T(3))
def gen_unpack(x):
    a, *b = gen(x)
    return (a, b)


@sample(T(3))
def partial_kw(x):

    def f(a, b, *, c=1):
        return a + b * c

    p = functools.partial(f, b=2)
    q = functools.partial(p, c=3)
    return (p(x) + q(x), p.func is f, q.keywords)


@sample(T(3))
def partial_of_method(x):
    return (functools.partial(torch.Tensor.add, x)(2), functools.partial(x.mul)(3))


@sample(T(3))
def partial_torch(x):
    return (
        functools.partial(torch.clamp, min=1.5)(x),
        functools.partial(F.dropout, p=0.5, training=False)(x),
    )


@sample(T(3))
def reduce_init(x):
    return (
        functools.reduce(operator.mul, [x, x + 1], 2),
        functools.reduce(lambda a, b: a - b, (x, 1, 2)),
    )


class TotO:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v

    __hash__ = None


TotO = functools.total_ordering(TotO)


@sample(T(3))
def total_ordering(x):
    a, b = (TotO(1), TotO(2))
    return x + 1 if a <= b and (not a > b) else x - 1


@sample(T(3))
def itertools_forms(x):
    out = []
    for a in itertools.islice(itertools.count(2, 3), 1, 5, 2):
        out.append(x + a)
    for a, b in itertools.product([1, 2], repeat=2):
        out.append(x * a - b)
    for k, g in itertools.groupby([1, 1, 2]):
        out.append(x * k + len(list(g)))
    for c in itertools.combinations_with_replacement([1, 2], 2):
        out.append(x + sum(c))
    for b in itertools.batched([1, 2, 3], 2) if hasattr(itertools, "batched") else ():
        out.append(x + sum(b))
    return out


@sample(T(3))
def chain_from(x):
    return (
        [x + i for i in itertools.chain.from_iterable([[1], [2, 3]])],
        list(itertools.repeat(x, 2)),
        [a for a in itertools.chain([x], (x + 1,))],
    )


@sample(T(3))
def zip_strict(x):
    a = [p + q for p, q in zip([x, x + 1], [1, 2], strict=True)]
    try:
        list(zip([1], [1, 2], strict=True))
    except ValueError as e:
        a.append(x * 9)
    return a


@dataclasses.dataclass
class DC:
    a: Any
    b: int = 2
    c: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.d = self.b + 1


@sample(T(3))
def dc_made(x):
    d = DC(x, 3)
    d.c.append(x + 1)
    return (
        d.a * d.b + d.d,
        d.c,
        dataclasses.replace(d, b=5).b,
        [f.name for f in dataclasses.fields(d)],
        d == DC(x, 3) if False else 1,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class DCS:
    a: Any
    b: int = 2


@sample(DCS(1, 2), T(3))
def dc_slots(d, x):
    n = DCS(4)
    return (x * d.a + d.b + n.a, DCS(3) == DCS(3), hash(DCS(3)) == hash(DCS(3)))


@dataclasses.dataclass(order=True, kw_only=True)
class DCO:
    a: int
    b: int = 2


@sample(T(3))
def dc_order(x):
    return (x + 1 if DCO(a=1) < DCO(a=2) else x, max(DCO(a=1), DCO(a=4)).a)


@dataclasses.dataclass
class DCI(DC):
    e: float = 1.5


@sample(DCI(T(3)), T(3))
def dc_inherit(d, x):
    d.e = d.e * 2
    return (
        d.a * d.e + x,
        dataclasses.asdict(DCI(1))["e"],
        dataclasses.astuple(DCO(a=1)),
        dataclasses.is_dataclass(d),
        dataclasses.is_dataclass(DC),
    )


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    @property
    def twice(self):
        return self.value * 2

    @classmethod
    def pick(cls, n):
        return cls(n)

    def __str__(self):
        return "c" + self.name


@sample(Color.RED, T(3))
def enum_methods(c, x):
    return (
        x * c.twice + Color.pick(2).value,
        Color["RED"] is c,
        f"{c}",
        str(c),
        c in Color,
        len(Color),
        [m.name for m in Color],
        isinstance(c, Color),
        c == Color.BLUE,
        {Color.RED: x}[c],
    )


class IE(enum.IntEnum):
    A = 1
    B = 2


class Fl(enum.Flag):
    P, Q = 1, 2
    BOTH = 3


@sample(Fl.P, T(3))
def enum_flags(f, x):
    g = f | Fl.Q
    return (x + 1 if Fl.Q in g else x - 1, IE.A + 2, IE.B > IE.A, x * IE.B)


@sample(T(3))
def deque_all(x):
    d = collections.deque([x, x + 1], maxlen=3)
    d.appendleft(x + 2)
    d.append(x + 3)
    d.rotate(1)
    d.extendleft([x])
    return (list(d), len(d), d.maxlen, d.popleft(), d[-1], d[0])


@sample(T(3))
def dd_all(x):
    d = collections.defaultdict(lambda: collections.defaultdict(int))
    d["a"]["b"] += 3
    e = collections.defaultdict(list)
    for i in range(3):
        e[i % 2].append(x + i)
    return (
        x + d["a"]["b"],
        {k: v for k, v in e.items()},
        "z" in e,
        e.get("z"),
        d.default_factory is None,
    )


@sample(T(3))
def chainmap_again(x):
    c = collections.ChainMap({"a": 1}, {"b": 2})
    c["z"] = 3
    return (x + c["a"] + c["b"], len(c), "b" in c)


class UD(collections.UserDict):
    def twice(self):
        return self["a"] * 2


@sample(T(3))
def userdict(x):
    u = UD(a=x)
    u["b"] = x + 1
    return (u.twice() + u["b"], len(u), list(u))


@sample(T(2, 3))
def fstrings(x):
    s = f"{x.shape[0]:>3}|{tuple(x.shape)}|{x.dim()!r}|{x.dtype}|{x.device}"
    return (
        x + len(s),
        s,
        f"{3.14159:.2f} {'a':^5}",
        "%s-%d" % (x.shape[1], 4),
        "{}/{a}".format(1, a=2),
    )


class MyList(list):
    def total(self):
        return sum(self)


@sample(T(3))
def abcs(x):
    r = []
    for v in ([1], (1,), {1: 2}, {1}, "a", range(3), 3, x, lambda: 1, iter([1]), gen(x)):
        r.append(
            (
                isinstance(v, collections.abc.Sequence),
                isinstance(v, collections.abc.Mapping),
                isinstance(v, collections.abc.Iterable),
                isinstance(v, collections.abc.Callable),
                isinstance(v, collections.abc.Hashable),
                isinstance(v, collections.abc.Iterator),
                isinstance(v, (int, float)),
            )
        )
    return (x + len(r), r)


class A1:
    def f(self, x):
        return x + 1

    @classmethod
    def g(cls, x):
        return x * 2

    @staticmethod
    def h(x):
        return x - 1

    @property
    def p(self):
        return 4


class B1(A1):
    def f(self, x):
        return super().f(x) * 2

    @classmethod
    def g(cls, x):
        return super().g(x) + 5

    @staticmethod
    def h(x):
        return super(B1, B1).h(x) + 7

    @property
    def p(self):
        return super().p + 1


class C1(B1):
    def f(self, x):
        return super(B1, self).f(x) + super(C1, self).f(x)

    def k(self, x):
        s = super()
        return s.f(x) + s.p

    def lam(self, x):
        return (lambda s: super(C1, s).f(x))(self)


@sample(C1(), T(3))
def supers2(c, x):
    return (c.f(x), C1.g(x), C1.h(x), c.p, c.k(x), c.lam(x), super(B1, c).f(x))


class Meta(type):
    def __call__(cls, *a, **k):
        o = super().__call__(*a, **k)
        o.tag = cls.__name__
        return o

    def make(cls, v):
        return cls(v)

    @property
    def nick(cls):
        return "n" + cls.__name__

    def __getitem__(cls, k):
        return cls(k)

    def __len__(cls):
        return 3


class WithMeta(metaclass=Meta):
    def __init__(self, v):
        self.v = v


@sample(T(3))
def metaclassed(x):
    o = WithMeta(x)
    p = WithMeta.make(x + 1)
    q = WithMeta[2]
    return (o.v + p.v * q.v, o.tag, WithMeta.nick, len(WithMeta))


class Singleton(type):
    _inst = {}

    def __call__(cls, *a):
        if cls not in cls._inst:
            cls._inst[cls] = super().__call__(*a)
        return cls._inst[cls]


class Single(metaclass=Singleton):
    v = 3


Single()


@sample(T(3))
def singleton(x):
    return x + Single().v


@sample(T(3))
def nonlocal_written(x):
    n = 0
    seen = []

    def f(t):
        nonlocal n, x
        n += 1
        x = t * n
        seen.append(n)
        return x

    f(x)
    f(x)
    return (x, n, seen)


class MyFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return (x * k, x + k)

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return (g * ctx.k + h, None)


@sample(G(3))
def fn_two_outputs(x):
    a, b = MyFn.apply(x * 1, 3)
    return a + b


@sample(G(3))
def fn_in_loop(x):
    y = x * 1
    for _ in range(2):
        y = MyFn.apply(y, 2)[0]
    return y


@torch.no_grad()
def ng(x):
    return x * 2


class NG(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return x * 2


@sample(NG(), G(3))
def no_grad_deco(m, x):
    return (ng(x) + x, m(x))


@torch.enable_grad()
def eg(x):
    return x * 2


@sample(G(3))
def enable_grad_deco(x):
    with torch.no_grad():
        y = eg(x)
    return (y, torch.set_grad_enabled(True)(lambda t: t + 1)(x))


@sample(T(3))
def sets_all(x):
    a, b = ({1, 2}, {2, 3})
    f = frozenset([1])
    a.add(5)
    a.discard(1)
    a.update([7])
    return (
        x + len(a | b) - len(a & b),
        sorted(a ^ b),
        sorted(a - b),
        a.isdisjoint(b),
        f <= {1},
        a.issuperset({5}),
        sorted(a.union([9])),
        a.copy() == a,
        {*a, 3},
        a.pop() in (2, 5, 7),
    )


@sample(T(4, 6))
def slices2(x):
    s = slice(0, 4, 2)
    return (
        x[s],
        x[..., ::2],
        x[1:3, slice(None, -1)],
        x[None, :, -1],
        [1, 2, 3, 4][::-1],
        (1, 2, 3)[s],
        s.indices(3),
        s.start,
    )
