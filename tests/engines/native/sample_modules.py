"""Modules in every form, and what values of Python's can do around them; see `samples`."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import collections
import contextlib
import math
import operator
import re
import types
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from tests.engines.native.samples import T, sample


def G(*s):
    return T(*s).requires_grad_()


class IfMod(nn.Module):
    def __init__(s):
        super().__init__()
        s.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        s.d = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Tanh()})
        s.pl = nn.ParameterList([nn.Parameter(torch.ones(3)) for _ in range(2)])
        s.pd = nn.ParameterDict({"w": nn.Parameter(torch.ones(3))})
        s.seq = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))


class ML(IfMod):
    def forward(s, x):
        for l in s.layers:
            x = l(x)
        for i, l in enumerate(s.layers):
            x = l(x) + i
        x = s.layers[-1](x) + len(s.layers)
        for l in s.layers[:1]:
            x = l(x)
        return (x, s.layers[0] in s.layers)


@sample(ML(), T(2, 3))
def module_list(m, x):
    return m(x)


class MD(IfMod):
    def forward(s, x):
        for k in s.d:
            x = s.d[k](x)
        for k, v in s.d.items():
            x = v(x)
        for v in s.d.values():
            x = v(x)
        return (x, list(s.d.keys()), "a" in s.d, len(s.d), s.d.a is s.d["a"])


@sample(MD(), T(2, 3))
def module_dict(m, x):
    return m(x)


class PL(IfMod):
    def forward(s, x):
        for p in s.pl:
            x = x * p
        for k, p in s.pd.items():
            x = x + p
        return (x + s.pl[0] + s.pd["w"] + len(s.pl), list(s.pd.keys()), s.pl[-1] is s.pl[1])


@sample(PL(), T(2, 3))
def param_lists(m, x):
    return m(x)


class Named(IfMod):
    def forward(s, x):
        t = 0
        for n, p in s.named_parameters():
            t = t + p.sum() * len(n)
        for n, b in s.named_buffers():
            t = t + b.sum()
        for n, m in s.named_modules():
            t = t + len(n)
        for n, m in s.named_children():
            t = t + len(n)
        for m in s.modules():
            t = t + 1
        for c in s.children():
            t = t + 1
        for p in s.parameters(recurse=False):
            t = t + 1
        return (
            x + t,
            len(list(s.buffers())),
            len(s.state_dict()),
            s.get_submodule("d.a") is s.d["a"],
            s.get_parameter("pl.0") is s.pl[0],
        )


@sample(Named(), T(2, 3))
def named_things(m, x):
    return m(x)


class Seq2(nn.Sequential):
    def forward(s, x):
        for m in s:
            x = m(x) + 1
        for m in s[1:]:
            x = m(x)
        return (x, len(s))


@sample(Seq2(nn.Linear(3, 3), nn.ReLU()), T(2, 3))
def seq_own(m, x):
    return m(x)


class Training(nn.Module):
    def __init__(s):
        super().__init__()
        s.dr = nn.Dropout(0.5)
        s.bn = nn.BatchNorm1d(3)

    def forward(s, x):
        if s.training:
            x = x + 1
        return (s.bn(s.dr(x)) if not s.training else s.bn(x), s.bn.num_batches_tracked + 0)


@sample(Training(), T(2, 3))
def training_bn(m, x):
    return m(x)


@sample(Training().eval(), T(2, 3))
def eval_bn(m, x):
    return m(x)


@sample(Training(), T(2, 3))
def train_flip(m, x):
    m.eval()
    a = m(x)
    m.train()
    return (a, m(x))


class GetAttrMod(nn.Module):
    def __init__(s):
        super().__init__()
        s.inner = nn.Linear(3, 3)
        s.table = {"k": 4}

    def __getattr__(s, n):
        if n == "magic":
            return 5
        return super().__getattr__(n)

    def forward(s, x):
        return s.inner(x) * s.magic


@sample(GetAttrMod(), T(2, 3))
def getattr_module(m, x):
    return m(x)


class Hooked(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(3, 3)
        s.l.register_forward_pre_hook(lambda m, a: (a[0] + 1,))
        s.l.register_forward_hook(lambda m, a, k, o: o * 2, with_kwargs=True)
        s.register_forward_hook(lambda m, a, o: (o, o + 1))

    def forward(s, x):
        return s.l(x)


@sample(Hooked(), T(2, 3))
def hooked(m, x):
    return m(x)


class LayerNames(nn.Module):
    def __init__(s):
        super().__init__()
        for i in range(3):
            setattr(s, f"l{i}", nn.Linear(3, 3))

    def forward(s, x):
        for i in range(3):
            x = getattr(s, f"l{i}")(x)
        return (x, hasattr(s, "l4"))


@sample(LayerNames(), T(2, 3))
def layer_names(m, x):
    return m(x)


class MethodCalls(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(3, 3)

    @staticmethod
    def st(x):
        return x + 1

    @classmethod
    def cl(cls, x):
        return x * 2

    @property
    def scale(s):
        return 3

    def call_it(s, x):
        return s.l.forward(x)

    def forward(s, x, *a, **k):
        return (
            s.st(s.cl(s.call_it(x))) * s.scale,
            type(s).__name__,
            s.__class__.st(x),
            s._get_name(),
            sum(k.values()),
            len(a),
        )


@sample(MethodCalls(), T(2, 3))
def method_calls(m, x):
    return (m(x, 1, 2, q=3), nn.Linear.forward(m.l, x), m.call_it(x))


class Super2(nn.Linear):
    def forward(s, x):
        return (
            super().forward(x) + nn.Module.__call__(s.other, x)
            if hasattr(s, "other")
            else super().forward(x)
        )


@sample(Super2(3, 3), T(2, 3))
def super_linear(m, x):
    return m(x)


class UnspecCount(nn.Module):
    def __init__(s):
        super().__init__()
        s.n = 0
        s.cache = {}
        s.hist = []

    def forward(s, x):
        s.n += 1
        s.hist.append(x + s.n)
        s.cache["x"] = x * 2
        return x * s.n + s.cache["x"]


@sample(UnspecCount(), T(2, 3))
def module_state(m, x):
    return m(x) + m(x)


class Lazy(nn.Module):
    def __init__(s):
        super().__init__()
        s.w = None

    def forward(s, x):
        if s.w is None:
            s.w = torch.ones_like(x)
        return x + s.w


@sample(Lazy(), T(2, 3))
def module_lazy_attr(m, x):
    return m(x) * m(x)


@sample(nn.LSTM(3, 4, batch_first=True), T(2, 5, 3))
def lstm(m, x):
    return m(x)


@sample(nn.GRU(3, 4), T(2, 5, 3))
def gru(m, x):
    return m(x)[0]


@sample(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(), T(2, 5, 4))
def encoder_layer(m, x):
    return m(x)


@sample(nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0), T(2, 5, 4), T(3, 5, 4))
def decoder_layer(m, x, y):
    return m(x, y)


@sample(nn.EmbeddingBag(10, 3), torch.tensor([1, 2, 4]), torch.tensor([0, 1]))
def embedding_bag(m, i, o):
    return m(i, o)


@sample(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)), T(2, 3))
def weight_norm(m, x):
    return m(x)


@sample(nn.InstanceNorm2d(3, track_running_stats=True), T(2, 3, 4, 4))
def instance_norm(m, x):
    return m(x)


@sample(nn.Upsample(scale_factor=2), T(1, 2, 3, 3))
def upsample(m, x):
    return (
        m(x),
        F.interpolate(x, size=(4, 4), mode="bilinear"),
        F.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False),
        F.pad(x, (1, 1)),
        F.unfold(x, 2),
    )


class Callable1:
    def __init__(s, n):
        s.n = n

    def __call__(s, v):
        return v * s.n


@sample(Callable1(2), T(3))
def callable_obj2(c, x):
    return (list(map(c, [x, x + 1])), callable(c))


@sample(T(3), 3)
def int_cmp(x, n):
    if n > 2 and n != 7:
        x = x * n
    return (
        x // n + n % 2,
        n.bit_length(),
        n.__add__(1),
        int.from_bytes(b"a", "big"),
        -(n**2),
        n << 2,
        ~n,
        n & 1,
    )


@sample(T(3), 2.5)
def float_ops(x, f):
    return (
        x * f + f**2,
        f.is_integer(),
        math.floor(f),
        int(f),
        round(f),
        f // 1,
        math.isnan(f),
        float("inf") > f,
        math.sqrt(f),
        f.hex(),
    )


@sample(T(3), "abc")
def strs(x, s):
    return (
        x + len(s),
        s.upper(),
        s[0],
        s.split("b"),
        s.startswith("a"),
        "-".join([s, s]),
        s.replace("a", "z"),
        s.find("c"),
        "b" in s,
        s * 2,
        s.encode(),
        s.format(),
        sorted(s),
        s.zfill(5),
        list(s),
        s.isalpha(),
        s.center(9),
        s.partition("b"),
        s.translate({97: "q"}),
        re.sub("a", "b", s),
    )


@sample(T(3))
def regexes(x):
    return (x + len(re.findall("a", "banana")), bool(re.match("b", "banana")))


@sample(T(3))
def del_things(x):
    d = {"a": x, "b": 1}
    l = [1, 2, 3, 4]
    del d["b"]
    del l[0]
    del l[1:]
    y = x + 1
    del x
    return (y, d, l)


@sample(T(3))
def tuple_all(x):
    t = (1, 2, 2)
    return (
        x + t.index(2) + t.count(2),
        t + (3,),
        t * 2,
        (1, 2) < (2,),
        t[::-1],
        t == (1, 2, 2),
        hash((1, 2)) == hash((1, 2)),
        (x,) + (x + 1,),
    )


class MyErr(Exception):
    def __init__(s, m, code):
        super().__init__(m)
        s.code = code


@sample(T(3))
def own_error(x):
    try:
        raise MyErr("a", 3)
    except MyErr as e:
        return (x + e.code, str(e), e.args, isinstance(e, Exception))


class CM:
    def __init__(s):
        s.log = []

    def __enter__(s):
        s.log.append("in")
        return s

    def __exit__(s, t, v, tb):
        s.log.append(t)
        return t is ValueError


@sample(CM(), T(3))
def cm_swallow(c, x):
    with c as d:
        x = x + 1
        raise ValueError
    with CM() as a, CM() as b:
        x = x + len(a.log)
    return (x, [t if isinstance(t, str) else getattr(t, "__name__", None) for t in c.log])


@contextlib.contextmanager
def setting(o, v):
    old = o.v
    o.v = v
    try:
        yield o
    finally:
        o.v = old


class Cfg2:
    def __init__(s):
        s.v = 1


@sample(Cfg2(), T(3))
def cm_gen_obj(c, x):
    with setting(c, 5):
        x = x + c.v
    return x + c.v


@sample(T(3))
def simple_ns(x):
    n = types.SimpleNamespace(a=1, b=x)
    n.c = n.a + 1
    return (n.b * n.c, n.a, hasattr(n, "z"), vars(n)["a"])


class Desc:
    def __set_name__(s, o, n):
        s.n = "_" + n

    def __get__(s, o, t=None):
        return s if o is None else getattr(o, s.n, 0)

    def __set__(s, o, v):
        setattr(o, s.n, v * 2)


class WithDesc:
    d = Desc()
    __slots__ = ("_d", "e")


@sample(T(3))
def descriptor_set(x):
    o = WithDesc()
    o.d = 4
    o.e = 1
    return x * o.d + o.e


class Ops:
    def __init__(s, v):
        s.v = v

    def __add__(s, o):
        return Ops(s.v + (o.v if isinstance(o, Ops) else o))

    __radd__ = __add__

    def __matmul__(s, o):
        return s.v * 2

    def __neg__(s):
        return Ops(-s.v)

    def __getitem__(s, k):
        return s.v * k if not isinstance(k, tuple) else k

    def __contains__(s, k):
        return k == 3

    def __len__(s):
        return 4

    def __iter__(s):
        yield s.v
        yield 2

    def __bool__(s):
        return False

    def __eq__(s, o):
        return True

    def __hash__(s):
        return 3

    def __lt__(s, o):
        return True

    def __iadd__(s, o):
        s.v = s.v + o
        return s

    def __call__(s):
        return s.v

    def __getattr__(s, n):
        if n.startswith("__"):
            raise AttributeError(n)
        return n

    def __index__(s):
        return 1

    def __int__(s):
        return 7

    def __float__(s):
        return 1.5

    def __abs__(s):
        return 2

    def __divmod__(s, o):
        return (1, 2)

    def __reversed__(s):
        return iter([1, 2])

    def __missing__(s):
        return 0

    def __repr__(s):
        return "Ops"

    def __format__(s, f):
        return "F" + f

    def __setitem__(s, k, v):
        s.v = v

    def __delitem__(s, k):
        s.v = 0


@sample(Ops(2), T(3))
def all_dunders(o, x):
    r = [
        (o + 1).v,
        (1 + o).v,
        o @ 1,
        (-o).v,
        o[3],
        o[1:2, 3],
        3 in o,
        len(o),
        list(o),
        bool(o),
        not o,
        o == 1,
        o != 1,
        o < 1,
        o(),
        o.foo,
        [5, 6][o],
        int(o),
        float(o),
        abs(o),
        divmod(o, 1),
        list(reversed(o)),
        repr(o),
        f"{o:>3}",
        str(o),
        operator.index(o),
        hash(o),
        sum([o, o], Ops(0)).v,
    ]
    o += 4
    r.append(o.v)
    o[1] = 9
    del o[1]
    return (x + o.v, r)


class NT(NamedTuple):
    a: Any
    b: int = 3

    @property
    def s(self):
        return self.b + 1

    def m(self):
        return self.a * self.b


@sample(NT(T(3)), T(3))
def named_tuples_again(n, x):
    m = n._replace(b=4)
    a, b = m
    return (
        m.m() + n.s,
        NT._fields,
        m._asdict()["b"],
        NT._make([x, 1]).b,
        n[0] is n.a,
        isinstance(n, tuple),
        len(n),
        NT(x) + (1,),
        collections.namedtuple("P", "q r")(1, 2).q,
    )


@sample(T(3))
def match_forms(x):
    r = []
    for v in (1, "a", [1, 2, 3], {"k": 5, "z": 1}, (1,), None, 3.5, NT(1)):
        match v:
            case 1 | 2:
                r.append("i")
            case str(s):
                r.append(s)
            case [a, *rest] if len(rest) == 2:
                r.append(rest)
            case {"k": k, **more}:
                r.append((k, more))
            case None:
                r.append("n")
            case NT(a=1):
                r.append("nt")
            case float() as f:
                r.append(f)
            case _:
                r.append("d")
    return (x + len(r), r)


@torch.jit.unused
def unused(x):
    return x * 3


@torch.jit.ignore
def ignored(x):
    return x * 4


@torch.jit.script_if_tracing
def sit(x):
    return x + 3


@sample(T(3))
def jit_decos(x):
    return unused(x) + ignored(x) + sit(x)


@sample(T(2, 3))
def sizes(x):
    s = x.shape
    b, *rest = s
    return (
        x.reshape(-1, *s[1:]),
        s.numel(),
        math.prod(s),
        s[0] * 2,
        torch.Size([1, 2]) + s,
        s == (2, 3),
        x.size(-1),
        x.view(s),
        x.new_zeros(s),
        torch.zeros(*s),
        x.expand(4, *s),
        isinstance(s, tuple),
        list(s),
        s[-1:],
        x.ndim,
        x.nelement(),
        x.stride(),
        len(s),
        tuple(s) == s,
        x.view(x.size(0), -1),
        torch.empty(s).shape,
        x.numel() // 2,
        x.element_size(),
        x.storage_offset(),
        x.is_contiguous(),
        x.T.is_contiguous(),
    )


@sample(T(4), T(4))
def aliasing(x, y):
    v = x[1:3]
    v.add_(1)
    x.mul_(2)
    y[:2] = x[2:]
    z = y.view(2, 2)
    z[0, 0] = 9
    w = y.t_() if y.dim() == 2 else y
    w += 1
    return (v, z, x.sum())


@sample(T(4))
def alias_returned(x):
    y = x.view(2, 2)
    return (y, y[0], x)


@sample(T(4))
def inplace_out(x):
    o = torch.empty(4)
    torch.add(x, 1, out=o)
    o.copy_(o * 2)
    o.fill_(3)
    o.zero_()
    o.clamp_(1)
    o.index_add_(0, torch.tensor([0]), torch.ones(1))
    o.scatter_(0, torch.tensor([1]), 5.0)
    return o
