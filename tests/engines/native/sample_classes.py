"""Classes, exceptions, generators and numbers around tensors; see `samples`."""

# ruff: noqa
# mypy: ignore-errors
import abc
import collections
import copy
import functools
import logging
import math
import operator
import typing

import torch
from torch import nn

from tests.engines.native.samples import T, sample

mod = nn.Linear(3, 3)


class P:
    cls_attr = 3

    def __init__(self, v):
        self.v = v

    @property
    def double(self):
        return self.v * 2

    @double.setter
    def double(self, v):
        self.v = v / 2

    @classmethod
    def make(cls, v):
        return cls(v)

    @staticmethod
    def st(v):
        return v + 1

    def __call__(self, y):
        return self.v + y

    def __add__(self, o):
        return P(self.v + (o.v if isinstance(o, P) else o))

    def __radd__(self, o):
        return P(self.v + o)

    def __eq__(self, o):
        return isinstance(o, P)

    def __hash__(self):
        return 1

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.v + i

    def __contains__(self, i):
        return i == 2

    def __iter__(self):
        return iter([self.v, 1])

    def __bool__(self):
        return True

    def __repr__(self):
        return "P()"

    def __str__(self):
        return "p"

    def __neg__(self):
        return P(-self.v)

    def __matmul__(self, o):
        return self.v @ o

    def __lt__(self, o):
        return True

    def __delattr__(self, n):
        object.__delattr__(self, n)

    def __format__(self, s):
        return "fmt"

    def __int__(self):
        return 4

    def __index__(self):
        return 1

    def __float__(self):
        return 2.5

    def __abs__(self):
        return self

    def __invert__(self):
        return self

    def __divmod__(self, o):
        return (1, 2)


@sample(T(3))
def dunder(x):
    p = P(x)
    q = P.make(x) + p + 1
    q = 2 + q
    y = (
        p.double
        + p(1)
        + P.st(x)
        + p[1]
        + len(p)
        + (2 in p)
        + sum(p)
        + (-p).v
        + p @ x
        + q.v
        + p.cls_attr
    )
    if p == q and p and (p < q) and (p != 3):
        y = y + 1
    p.double = x
    return y + p.v + hash(p)


@sample(T(3))
def dunder_text(x):
    p = P(x)
    return x + len(str(p)) + len(repr(p)) + len(f"{p}") + len("%s" % p)


@sample(T(3))
def dunder_numbers(x):
    p = P(x)
    return x + int(p) + float(p) + [1, 2, 3][p] + divmod(p, 1)[1] + abs(p).v + (~p).v


@sample(T(3))
def attr_deleted(x):
    p = P(x)
    p.z = 1
    del p.z
    return x + hasattr(p, "z") + getattr(p, "z", 5)


@sample(T(3), P(2))
def attr_deleted_existing(x, p):
    p.w = 3
    del p.w
    del p.v
    return x + 1


class GA:
    def __init__(self):
        self.d = {"q": 4}

    def __getattr__(self, n):
        if n in ("d",):
            raise AttributeError(n)
        if n in self.d:
            return self.d[n]
        raise AttributeError(n)


@sample(T(3))
def getattr_(x):
    g = GA()
    return x + g.q + hasattr(g, "nope") + getattr(g, "nope", 3)


class Meta(type):
    def __call__(cls, *a):
        o = super().__call__(*a)
        o.m = 1
        return o

    @property
    def mp(cls):
        return 5


class WithMeta(metaclass=Meta):
    pass


@sample(T(3))
def metaclass_(x):
    return x + WithMeta().m + WithMeta.mp


class Sing:
    _i = None

    def __new__(cls, *a):
        o = object.__new__(cls)
        o.n = 7
        return o


@sample(T(3))
def new_(x):
    return x + Sing().n


class NewSuper:
    def __new__(cls, v):
        o = super().__new__(cls)
        o.v = v
        return o

    def __init__(self, v):
        self.w = v


@sample(T(3))
def new_super(x):
    o = NewSuper(x)
    return o.v + o.w


class Slots:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


@sample(T(3))
def slots(x):
    return Slots(x).a + 1


class A1:
    def f(self, x):
        return x + 1


class B1(A1):
    def f(self, x):
        return super().f(x) * 2


class C1(B1):
    def f(self, x):
        return super(B1, self).f(x) + B1.f(self, x)


@sample(T(3))
def supers(x):
    return C1().f(x)


class InitSub:
    def __init_subclass__(cls, **k):
        cls.z = 4


@sample(T(3))
def class_in_frame(x):

    class Q(InitSub):
        k = 2

        def f(self, y):
            return y * self.k

    return Q().f(x) + Q.z


class Cached:
    @functools.cached_property
    def v(self):
        return 5


@sample(T(3))
def cached_prop(x):
    c = Cached()
    return x + c.v + c.v


class Abs(abc.ABC):
    @abc.abstractmethod
    def f(self): ...


class Conc(Abs):
    def f(self):
        return 2


@sample(T(3))
def abstract(x):
    return x * Conc().f() if isinstance(Conc(), Abs) else x


@sample(T(3))
def types_(x):
    if (
        type(x) is torch.Tensor
        and isinstance(x, torch.Tensor)
        and issubclass(bool, int)
        and (type(3) is int)
        and isinstance(3, (int, str))
        and isinstance([], typing.Iterable if False else collections.abc.Iterable)
        and isinstance(1, int | str)
    ):
        return x + 1
    return x


@sample(T(3))
def ids(x):
    y = x + 1
    return x + (id(x) == id(x)) + (id(mod) == id(mod))


@sample(T(3))
def copies(x):
    l = copy.copy([x, 1])
    d = copy.deepcopy({"a": [1, 2]})
    e = copy.copy({"a": x})
    o = copy.copy(P(x))
    return l[0] + d["a"][0] + e["a"] + o.v


@sample(T(3))
def deepcopy_tensor(x):
    return copy.deepcopy(x) + 1


@sample(T(3))
def printed(x):
    y = x + 1
    print("hi", y.shape)
    return y * 2


@sample(T(3))
def logged(x):
    logging.getLogger("q").debug("a %s", 1)
    return x + 1


@sample(T(3))
def assert_ok(x):
    assert x.shape[0] == 3, "no"
    assert isinstance(x, torch.Tensor)
    return x + 1


@sample(T(3))
def assert_data(x):
    assert x.sum() > 0
    return x + 1


@sample(T(3))
def assert_data_msg(x):
    assert torch.all(x > 0), "neg"
    return x + 1


@sample(T(3))
def torch_assert(x):
    torch._assert(x.shape[0] == 3, "q")
    torch._check(x.shape[0] > 1)
    return x + 1


@sample(T(3))
def raise_caught(x):
    try:
        raise ValueError("a")
    except (ValueError, TypeError) as e:
        x = x + len(e.args)
    else:
        x = x * 2
    finally:
        x = x + 1
    return x


@sample(T(3))
def raise_in_call(x):

    def f(v):
        if v:
            raise KeyError("k")
        return 1

    try:
        f(1)
    except KeyError as e:
        x = x + len(str(e))
    return x


@sample(T(3))
def key_error(x):
    try:
        {}["a"]
    except KeyError:
        x = x + 1
    try:
        [][3]
    except IndexError:
        x = x + 1
    try:
        int("q")
    except ValueError:
        x = x + 1
    try:
        x.nope
    except AttributeError:
        x = x + 1
    try:
        1 / 0
    except ZeroDivisionError:
        x = x + 1
    return x


@sample(T(3))
def raise_out(x):
    y = x + 1
    raise ValueError("out")


@sample(T(3))
def gens(x):

    def g(n):
        for i in range(n):
            r = yield (i * x)

    return sum(g(3)) + sum((v for v in [1, 2])) + next(g(2))


@sample(T(3))
def gen_send(x):

    def g():
        r = yield 1
        yield (r * 2)

    i = g()
    next(i)
    return x + i.send(5)


@sample(T(3))
def yield_from(x):

    def a():
        yield 1
        return 2

    def b():
        r = yield from a()
        yield r

    return x + sum(b())


@sample(T(3), {"a": [T(2), (T(2), 1)], "b": None})
def nested_input(x, d):
    return {"o": d["a"][0] + d["a"][1][0], "p": [x, (x + 1, d["b"])]}


@sample(T(3))
def match_(x):
    match {"k": [1, 2], "z": 3}:
        case {"k": [a, b], **rest}:
            x = x + a + b + len(rest)
    match P(1):
        case P(v=1):
            x = x + 1
    match (1, 2, 3):
        case [1, *r]:
            x = x + len(r)
    return x


@sample(T(3))
def walrus_cond(x):
    if (n := len(x.shape)) and n > 0 or False:
        return x * n if n and 3 else x
    return x


@sample(T(3))
def globals_(x):
    global GG
    GG = 4
    return x + GG


GL = []


@sample(T(3))
def global_list(x):
    GL.append(1)
    r = len(GL)
    GL.clear()
    return x + r


@sample(T(3))
def nonlocal_(x):
    n = 0

    def f():
        nonlocal n
        n += 1
        return n

    f()
    f()
    return x + n


@sample(T(3))
def fn_attrs(x):

    def f():
        return 1

    f.z = 3
    return x + f.z + len(f.__name__) + (f.__doc__ is None)


def top(a, b=2, *, c=3):
    return a


top.tag = 5


@sample(T(3))
def fn_attrs2(x):
    return (
        x
        + top.tag
        + top.__defaults__[0]
        + top.__kwdefaults__["c"]
        + len(top.__name__)
        + hasattr(top, "no")
    )


@sample(T(3))
def int_ops(x):
    a = 7
    return (
        x
        + a // 2
        + a % 3
        + a**2
        + (a << 1)
        + (a >> 1)
        + (a & 3)
        + (a | 8)
        + (a ^ 1)
        + ~a
        + round(2.567, 1)
        + divmod(7, 2)[0]
        + int(3.7)
        + a.bit_length()
        + float("2.5")
        + abs(-3)
        + pow(2, 3)
        + int.from_bytes(b"a", "big")
    )


@sample(T(3))
def math_(x):
    return (
        x * math.sqrt(4) + math.floor(2.5) + math.inf * 0
        if False
        else x * math.sqrt(2)
        + math.pi
        + math.comb(4, 2)
        + math.factorial(3)
        + math.log(2, 10)
        + math.perm(3)
    )


@sample(T(3), 3)
def ranges(x, n):
    for i in range(n):
        x = x + i
    for i in reversed(range(1, n, 2)):
        x = x * (i + 1)
    r = range(0, 10, 2)
    return x + r[1] + len(r) + (4 in r) + r.start + r[-1] + sum(r[1:3])


@sample(T(3))
def slices(x):
    s = slice(0, 2)
    return x[s] + [1, 2, 3][s][0] + s.stop + len(range(5)[s])


@sample(T(3))
def bytes_(x):
    b = b"abc"
    ba = bytearray(b)
    return x + b[0] + len(b)


@sample(T(3))
def op_module(x):
    return (
        operator.add(x, 1)
        + operator.itemgetter(1)([1, 2])
        + operator.attrgetter("ndim")(x)
        + operator.methodcaller("sum")(x)
        + operator.contains([1], 1)
        + operator.getitem([1], 0)
        + operator.neg(x)
        + operator.index(3)
        + operator.length_hint([1])
    )


@sample(T(3))
def complexes(x):
    c = complex(1, 2)
    return x + c.real + c.imag + abs(c) + c.conjugate().imag
