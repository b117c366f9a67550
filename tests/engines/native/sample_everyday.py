"""Functions as people write them, each with arguments; see `samples`."""

# ruff: noqa
# mypy: ignore-errors
import enum
import functools
import itertools
from typing import NamedTuple

import torch

from tests.engines.native.samples import T, sample


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class A:
    k = 2


class B(A):
    k = 3


def double(x):
    return x * 2


def triple(x):
    return x * 3


DISPATCH = {A: double, B: triple}

BYCOLOR = {Color.RED: 2.0, Color.GREEN: 3.0}

BYTYPE = {int: "i", float: "f", str: "s"}

BYFUNC = {double: 5, triple: 6}


@sample(T(3))
def dispatch_on_class(x):
    return DISPATCH[type(B())](x) + DISPATCH[A](x)


@sample(T(3), Color.GREEN)
def by_enum(x, c):
    return x * BYCOLOR[c]


@sample(T(3), 1.5)
def by_builtin_type(x, v):
    return x + len(BYTYPE[type(v)]) + v


@sample(T(3))
def by_function(x):
    return x * BYFUNC[double]


@sample(T(3))
def made_dict(x):
    d = {A: x, Color.RED: x + 1, int: x * 2}
    d[B] = x * 3
    return (sum(d.values()) + len(d), [k.__name__ for k in d if isinstance(k, type)])


@sample(T(3))
def returned_dict(x):
    return {A: x, Color.GREEN: x + 1, float: 3}


@sample(T(3))
def registers(x):
    DISPATCH[Color] = triple
    y = DISPATCH[Color](x)
    del DISPATCH[Color]
    return y


@sample(T(3), {Color.RED: T(3), Color.GREEN: T(3)})
def enum_dict_of_tensors(x, d):
    d[Color.RED] = d[Color.RED] + x
    return {k.name: v for k, v in d.items()}


@sample(T(3))
def missing_class(x):
    try:
        return DISPATCH[int](x)
    except KeyError:
        return x - 1


@sample(T(3))
def enum_by_name(x):
    return x * Color["GREEN"].value


@sample(T(3))
def enum_by_value(x):
    return x * Color(2).value


@sample(T(3))
def enum_loop(x):
    for c in Color:
        x = x + c.value
    return x * len(Color)


class Prio(enum.IntEnum):
    LOW = 1
    HIGH = 5


@sample(T(3), Prio.HIGH)
def int_enum(x, p):
    return x * p if p > Prio.LOW else x


class Mode(str, enum.Enum):
    A = "a"
    B = "b"


@sample(T(3), Mode.A)
def str_enum(x, m):
    return x + 1 if m == "a" else x - 1


class Flags(enum.Flag):
    A = 1
    B = 2


@sample(T(3), Flags.A)
def flags(x, f):
    return x + 1 if f & Flags.A else x


class Pt(NamedTuple):
    a: torch.Tensor
    b: int = 2

    def total(self):
        return self.a + self.b


@sample(T(3))
def nt_replace(x):
    return Pt(x)._replace(b=5)


@sample(T(3))
def nt_make(x):
    return Pt._make([x, 3])


@sample(Pt(T(3), 4))
def nt_method(p):
    return p.total() * 2


@sample(Pt(T(3), 4))
def nt_asdict(p):
    return p._asdict()["a"] + p._replace(b=1).b


@sample(T(3))
def joined(x):
    return (x + 1, ", ".join((str(i) for i in range(3))), "-".join(map(str, [1, 2])))


@sample(T(3))
def range_parts(x):
    r = range(1, 7, 2)
    return x * r.start + r.stop * r.step


@sample(T(3))
def partial_parts(x):
    p = functools.partial(torch.add, x, alpha=2)
    return p.func(x, *p.args) + p.keywords["alpha"]


@sample(T(3))
def wrapped(x):

    def deco(f):

        @functools.wraps(f)
        def inner(*a):
            return f(*a) * 2

        return inner

    @deco
    def g(y):
        return y + 1

    return g(x)


@sample(T(3))
def fn_attr(x):

    def g(y):
        return y + g.shift

    g.shift = 3
    return g(x)


@sample(T(3))
def fn_defaults(x):

    def g(y, z=4):
        return y + z

    return (g(x) * g.__defaults__[0], g.__name__)


@sample(T(3))
def grouped(x):
    for k, g in itertools.groupby([1, 1, 2, 2, 3]):
        x = x * k + len(list(g))
    return x


@sample(T(3), {"op": "mul", "by": 3})
def mapping_pattern(x, m):
    match m:
        case {"op": "add", "by": n}:
            return x + n
        case {"op": "mul", "by": n, **rest}:
            return x * n + len(rest)
    return x


class Obj:
    def __init__(self):
        self.a = 1
        self.b = 2


@sample(T(3))
def squeezed(x):
    y = (x + 1).unsqueeze(0)
    y.squeeze_(0)
    y.unsqueeze_(1)
    y.t_()
    return y * 2


@sample(T(3))
def detached(x):
    y = x * 2
    y.detach_()
    return y + 1


@sample(T(3))
def out_(x):
    y = torch.empty(3)
    torch.mul(x, 2, out=y)
    return y + 1


@sample(T(3))
def unused_items(x):
    a, b = x.split([1, 2])
    v, i = torch.sort(x)
    return b


@sample(T(3), torch.tensor(7))
def unused_index_raises(x, i):
    x[i]
    return x + 1


@sample(T(3))
def group_pairs(x):
    return [
        (k, [v for v in g])
        for k, g in itertools.groupby([x.shape[0], 3, 2, 2, 3], key=lambda v: v % 2)
    ]


@sample(T(3))
def group_kept(x):
    gs = list(itertools.groupby("aab"))
    return (x + len(gs), [list(g) for _, g in gs])


@sample(T(3))
def group_partial(x):
    r = []
    for k, g in itertools.groupby("aaab"):
        r.append((k, next(g)))
    return (x + 1, r)


@sample(T(3))
def group_empty(x):
    return x + len(list(itertools.groupby([])))


@sample(T(3))
def group_nan(x):
    return x + len(list(itertools.groupby([float("nan")] * 2)))


@sample(T(3))
def join_err(x):
    try:
        return "".join((i for i in range(2)))
    except TypeError as e:
        return (x, str(e))


@sample(T(3))
def join_gen_used(x):
    g = (str(i) for i in range(3))
    a = "-".join(g)
    return (x, a, list(g))


@sample(T(3))
def partial_args(x):
    p = functools.partial(torch.add, x)
    return (p.args[0] is x, p.args, p.func is torch.add)


@sample(T(3), functools.partial(torch.add, alpha=3))
def partial_given(x, p):
    return (p(x, x), p.keywords, p.args)


D3 = {A: [1], B: [2]}


@sample(T(3))
def dict_values_changed(x):
    D3[A].append(5)
    D3[B] = [7]
    D3[Color] = D3[A]
    r = {k.__name__: list(v) for k, v in D3.items()}
    D3[A].pop()
    D3[B] = [2]
    del D3[Color]
    return (x + 1, r)


@sample(T(3), {A: 1, B: 2})
def dict_order(x, d):
    v = d.pop(A)
    d[A] = v
    return (x + 1, [k.__name__ for k in d])


@sample(T(3), {A: 1, B: 2})
def dict_deleted(x, d):
    del d[A]
    d.setdefault(Color, x)
    d.update({int: 5})
    return x + len(d)


@sample(T(3), {A: 1})
def dict_kw(x, d):
    try:
        return dict(**d)
    except TypeError:
        return x


class Meta(type):
    def __hash__(cls):
        return 1

    def __eq__(cls, o):
        return True


class HM(metaclass=Meta):
    pass


@sample(T(3))
def meta_key(x):
    d = {HM: 1}
    return x * d[A] if A in d else x


class HE(enum.Enum):
    X = 1

    def __hash__(self):
        return 5


@sample(T(3))
def enum_hash(x):
    return x * {HE.X: 3}[HE.X]


@sample(T(3))
def mixed_keys(x):
    d = {1: x, A: x + 1, "a": x + 2}
    d[True] = x * 9
    return d


@sample(T(3))
def dict_eq(x):
    return (x + ({A: 1, B: 2} == {B: 2, A: 1}), {A: 1} == {B: 1})


@sample(T(3))
def dict_in_graph(x):
    return (torch.stack([v for v in {A: x, B: x}.values()]), {A: x} | {B: x})


@sample(T(3))
def set_of_classes(x):
    return (x + len({A, B, A}), A in {A, B})
