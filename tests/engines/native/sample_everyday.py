"""Functions as people write them, each with arguments; see `sample_functions`."""

# ruff: noqa
# mypy: ignore-errors
import abc
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import logging
import math
import operator
import random
import types
import typing
import warnings
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SAMPLES = []


def sample(*args):
    def register(function):
        SAMPLES.append((function, args))
        return function

    return register


def T(*size):
    return torch.arange(1.0, torch.Size(size).numel() + 1).reshape(size)


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
def inference(x):
    with torch.inference_mode():
        y = x * 2
    return y


@torch.inference_mode()
def dec(x):
    return x * 2


@sample(T(3))
def inference_deco(x):
    return dec(x)


@sample(T(3))
def inference_and_more(x):
    with torch.inference_mode():
        y = x * 2
    return (y + x, torch.is_grad_enabled())


@sample(T(3))
def inference_query(x):
    with torch.inference_mode():
        return (x + 1, torch.is_grad_enabled(), torch.is_inference_mode_enabled())


@sample(T(3))
def new_empty_(x):
    return x.new(3).shape[0] + x.new_tensor([1.0, 2.0, 3.0])


@sample(T(3))
def length(x):
    return x.__len__() + x


@sample(T(2, 3))
def rg(x):
    w = torch.ones(3, requires_grad=True)
    return ((x * w).sum(), w.requires_grad)


@sample(T(3))
def setitem_(x):
    y = torch.zeros(3)
    y[0] = x[1]
    y[1:] += 2
    return y


@sample(T(3))
def type_made(x):
    C = type("C", (), {"v": 2})
    return x * C.v


@sample(T(3))
def sets_(x):
    a = {1, 2, 3}
    a |= {4}
    b = a & {2, 4}
    a -= {1}
    a ^= {9}
    return x + len(a) + sum(b)


@sample(T(3))
def counters(x):
    c = collections.Counter("abca")
    return x * c["a"] + c.most_common(1)[0][1]


@sample(T(3))
def chainmap(x):
    c = collections.ChainMap({"a": 1}, {"b": 2})
    return x + c["b"] + c["a"]


@sample(T(3))
def str_methods(x):
    s = "a,b".split(",")
    return (x + len(s), f"{len(s):>4}", s[0].upper().center(5, "*"))


@sample(T(3))
def sorted_items(x):
    d = {"b": x, "a": x + 1}
    return torch.stack([v for _, v in sorted(d.items(), key=lambda kv: kv[0])])


@sample(T(3))
def nested_comp(x):
    return [[x * i * j for i in range(2)] for j in range(2)]


@sample(T(3))
def star(x):
    a, *b = [x, x + 1, x + 2]
    return (a, b)


@sample(T(3))
def isin(x):
    return x + (A in (A, B)) + (B in {A: 1})


@sample(T(2, 3))
def out_view_of_input(x):
    torch.mul(x[1], 2, out=x[0])
    return x + 1


@sample(T(3), T(3))
def out_input(x, y):
    torch.add(x, y, out=y)
    return y * 2


@sample(T(3))
def out_resized(x):
    y = torch.empty(0)
    torch.mul(x, 2, out=y)
    return y


@sample(T(3))
def out_none(x):
    return torch.mul(x, 2, out=None)


@sample(T(3))
def out_tuple(x):
    a, b = (torch.empty(()), torch.empty((), dtype=torch.long))
    torch.max(x, 0, out=(a, b))
    return (a, b)


@sample(T(3))
def out_and_list(x):
    y = torch.empty(3)
    l = [y]
    torch.sin(x, out=y)
    return (l[0] + y, l[0] is y)


@sample(T(1, 3))
def squeeze_input(x):
    x.squeeze_(0)
    return x + 1


@sample(T(1, 3))
def squeeze_view(x):
    y = x[:]
    y.squeeze_(0)
    return (y + 1, x.shape)


@sample(T(1, 3))
def squeeze_then_break(x):
    y = x * 2
    y.squeeze_(0)
    print("a")
    y.unsqueeze_(1)
    return y + 1


@sample(T(1, 3))
def squeeze_alias(x):
    y = x * 2
    z = y
    v = y[0]
    y.t_()
    return (z + 1, v, z.shape)


@sample(T(3).requires_grad_())
def detach_grad(x):
    y = x * 2
    z = y * 3
    y.detach_()
    return (y, z, y.requires_grad, z.requires_grad)


@sample(T(3).requires_grad_())
def detach_view(x):
    y = x * 2
    v = y[0:1]
    try:
        v.detach_()
    except RuntimeError:
        return y
    return v


def helper(x):
    y = x * 2
    y.unsqueeze_(0)
    print("break")
    return y


@sample(T(3))
def inlined_squeeze_break(x):
    return helper(x + 1) + 1


@sample(T(3))
def inf_isinf(x):
    with torch.inference_mode():
        y = x * 2
    return (y.is_inference(), torch.is_inference(y))


@sample(T(3).requires_grad_())
def inf_saved(x):
    with torch.inference_mode():
        y = x * 2
    try:
        return y * x
    except RuntimeError as e:
        return "saved"


@sample(T(3).requires_grad_())
def inf_view(x):
    with torch.inference_mode():
        y = x.view(3, 1)
    return (y.requires_grad, y.is_inference(), y)


@sample(T(3).requires_grad_())
def inf_off(x):
    with torch.inference_mode():
        with torch.inference_mode(False):
            y = x * 2
        z = x * 3
    return (y, z, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def inf_enable_grad(x):
    with torch.inference_mode():
        with torch.enable_grad():
            y = x * 2
            g = torch.is_grad_enabled()
        h = torch.is_grad_enabled()
    return (y, g, h, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def inf_break(x):
    with torch.inference_mode():
        y = x * 2
        print("b")
        z = y + 1
    return (z, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def inf_inplace(x):
    with torch.inference_mode():
        y = x * 2
    y.add_(1)
    return y


@sample(T(3).requires_grad_())
def inf_raise(x):
    try:
        with torch.inference_mode():
            y = x * 2
            raise ValueError("q")
    except ValueError:
        return (y, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def inf_return(x):
    with torch.inference_mode():
        return x * 2


@sample(T(3).requires_grad_())
def inf_arg(x):
    with torch.inference_mode(mode=False):
        return x * 2


@sample(T(3).requires_grad_())
def inf_nested_fn(x):

    @torch.inference_mode()
    def f(y):
        return y * 3

    return f(x) + 1


CTX = torch.no_grad()


@sample(T(3).requires_grad_())
def ctx_object(x):
    with CTX:
        y = x * 2
    return (y, torch.is_grad_enabled())


@sample(T(3).requires_grad_())
def ctx_param(x):
    c = torch.no_grad()
    with c:
        y = x * 2
    with c:
        z = y * x
    return (y, z)


@sample(T(3).requires_grad_())
def set_grad_break(x):
    torch.set_grad_enabled(False)
    y = x * 2
    print("x")
    z = x * 3
    torch.set_grad_enabled(True)
    return (y, z, x + 1)


@sample(T(3).requires_grad_())
def grads_nested(x):
    with torch.no_grad():
        with torch.enable_grad():
            a = x * 2
        with torch.no_grad():
            b = x * 2
        with torch.set_grad_enabled(True):
            c = x * 2
    return (a, b, c, x * 2)


@sample(T(3).requires_grad_())
def empty_modes(x):
    with torch.no_grad():
        pass
    with torch.enable_grad():
        pass
    return x * 2


@sample(T(3).requires_grad_())
def mode_with_autocast(x):
    with torch.no_grad():
        with torch.autocast("cpu", torch.bfloat16):
            y = x.view(1, 3) @ x.view(3, 1)
        with torch.enable_grad():
            z = x * 2
    return (y, z)


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
