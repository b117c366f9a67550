"""Python of all kinds around tensors; see `samples`."""

# ruff: noqa
# mypy: ignore-errors
import dataclasses
import enum
import functools
import itertools
import operator
import typing
from collections import Counter, defaultdict, deque, namedtuple

import torch
from torch import nn

from tests.engines.native.samples import T, sample


@sample(T(3))
def device_const(x):
    return x + torch.ones(1, device=torch.device("cpu"))


@sample(T(3))
def min_max(x):
    return x + max(1, 2, min(3, 4)) + max([x.sum(), 1.0]) if False else x + max(1, min(2, 3))


@sample(T(3), T(3))
def max_tensors(a, b):
    return max(a.sum(), b.sum() + 1) if False else torch.max(a, b)


@sample(T(3))
def defaultdict_(x):
    d = defaultdict(list)
    d["a"].append(x)
    d["a"].append(x + 1)
    d["b"]
    return sum(d["a"]) + len(d)


@sample(T(3))
def defaultdict_lambda(x):
    d = defaultdict(lambda: x * 2)
    y = d["q"]
    return y + d["q"]


@sample(T(3))
def defaultdict_none(x):
    d = defaultdict(None, {"a": x})
    return d["a"] + 1


@sample(T(3), defaultdict(dict, {"a": {"b": 2}}))
def defaultdict_arg(x, d):
    return x * d["a"]["b"] + len(d["zz"])


@sample(T(3))
def deque_(x):
    d = deque([x, x + 1], maxlen=3)
    d.append(x + 2)
    d.appendleft(x)
    d.popleft()
    return sum(d)


@sample(T(3))
def deque_ops(x):
    d = deque()
    d.extend([x, x * 2, x * 3])
    d.extendleft([x])
    a = d.pop()
    b = d[0]
    d.rotate(1)
    d.reverse()
    return a + b + len(d) + d[-1]


@sample(T(3), deque([1, 2, 3]))
def deque_arg(x, d):
    return x * d[0] + sum(d)


@sample(T(3))
def counter(x):
    c = Counter("hello")
    c["h"] += 3
    c.update(["q"])
    return x * c["l"] + c["h"] + c["none"]


@sample(T(3))
def dict_views(x):
    d = {"a": x, "b": x * 2}
    if "a" in d.keys() and list(d.values())[0] is x and (d.keys() == {"a": 1, "b": 2}.keys()):
        x = x + 1
    return x + len(d.items()) + len(d.keys() & {"a"})


@sample(T(3))
def dict_int_keys(x):
    d = {1: x, (1, 2): x + 1, torch.float32: 3, None: 4, int: 5, torch.add: 6, frozenset([1]): 2}
    return d[1] + d[1, 2] * d[torch.float32] + d[None] + d[int] + d[torch.add] + d[frozenset([1])]


class K:
    def __hash__(self):
        return 3

    def __eq__(self, o):
        return isinstance(o, K)


@sample(T(3))
def dict_obj_keys(x):
    k = object
    d = {k: x}
    return d[object] + 1


mod = nn.Linear(3, 3)


@sample(T(3))
def dict_module_keys(x):
    d = {mod: 2, mod.weight: 3}
    return x * d[mod] + d[mod.weight]


@sample(T(3))
def set_of_tensors(x):
    s = {x}
    s.add(x + 1)
    s.add(x)
    return x + len(s)


@sample(T(3))
def frozen(x):
    f = frozenset([1, 2])
    return x + len(f | {3}) + (1 in f)


@sample(T(3), {1, 2, 3})
def set_arg(x, s):
    for e in sorted(s):
        x = x + e
    return x


@sample(T(3))
def list_sort_key(x):
    l = [(2, x), (1, x + 1)]
    l.sort(key=lambda p: p[0])
    s = sorted([3, 1, 2], key=lambda v: -v)
    r = sorted({"b": 1, "a": 2}.items())
    return l[0][1] + s[0] + r[0][1]


@sample(T(3))
def list_compare(x):
    a = [1, 2]
    b = (1, 2)
    if [1, 2] < [1, 3] and a == [1, 2] and (b <= (1, 2)) and (a != [2]):
        return x + 1
    return x


@sample(T(3))
def tuple_methods(x):
    t = (1, 2, 2)
    return x + t.count(2) + t.index(2) + len(t + (3,)) + (t * 2)[4] + (2 in t)


@sample(T(3))
def string_methods(x):
    s = "Hello"
    n = f"{s}-{3:02d}-{1.5:.2f}-{s!r}"
    if (
        s.startswith("He")
        and s.lower() == "hello"
        and ("ell" in s)
        and (s.split("l")[0] == "He")
        and ("%s_%d" % (s, 2) == "Hello_2")
        and ("{}.{a}".format(1, a=2) == "1.2")
        and ("".join((c for c in s)) == s)
        and (s[::-1] == "olleH")
        and n
    ):
        x = x + len(n)
    return x + ord("a") + len(s.encode())


@sample(T(3))
def iter_tools(x):
    for a, b in itertools.product([1, 2], [3]):
        x = x + a * b
    for a in itertools.chain([1], (2,)):
        x = x + a
    for a in itertools.combinations([1, 2, 3], 2):
        x = x + a[0]
    for a in itertools.permutations([1, 2]):
        x = x + a[0]
    for a in itertools.islice(itertools.count(3), 2):
        x = x * a
    for a, b in zip(itertools.repeat(2, 3), itertools.cycle([1, 2])):
        x = x + a * b
    for k, g in itertools.groupby([1, 1, 2]):
        x = x + len(list(g)) * k
    for a in itertools.accumulate([1, 2, 3]):
        x = x + a
    a, b = itertools.tee([1, 2])
    x = x + sum(a) + sum(b)
    return x


@sample(T(3))
def filter_map(x):
    return (
        x
        + sum(filter(None, [0, 1, 2]))
        + sum(filter(lambda v: v > 1, [1, 2, 3]))
        + sum(map(lambda a, b: a * b, [1, 2], [3, 4]))
    )


@sample(T(3))
def reduce_(x):
    return functools.reduce(lambda a, b: a + b, [x, x * 2, x * 3]) + functools.reduce(
        operator.mul, [1, 2, 3], 1
    )


@functools.lru_cache
def cached(n):
    return n * 2


@sample(T(3))
def lru(x):
    return x + cached(3)


@functools.cache
def cached2(n):
    return n * 2


@sample(T(3))
def cache_(x):
    return x * cached2(2)


@functools.singledispatch
def sd(v):
    return 1


@sd.register
def _(v: int):
    return 2


@sample(T(3))
def singledispatch(x):
    return x * sd(3)


@functools.wraps(cached)
def wrapped_fn(n):
    return n + 1


def deco2(f):

    @functools.wraps(f)
    def inner(*a, **k):
        return f(*a, **k) + 1

    return inner


@deco2
def decorated(x):
    return x * 2


@sample(T(3))
def wraps_(x):
    return decorated(x)


@sample(T(3))
def wraps_inside(x):

    @deco2
    def f(y):
        return y * 3

    return f(x)


@sample(T(3))
def partial_returned(x):
    return functools.partial(torch.add, x, alpha=2)


@sample(T(3), lambda a: a + 1)
def fn_arg(x, f):
    return f(x)


@sample(T(3), torch.sin)
def torch_fn_arg(x, f):
    return f(x)


@sample(T(3), functools.partial(torch.add, alpha=3))
def partial_arg(x, f):
    return f(x, x)


@sample(T(3), nn.Linear(3, 3))
def module_arg(x, m):
    return m(x)


@sample(T(3), nn.Linear)
def class_arg(x, c):
    return x + 1 if c is nn.Linear else x


@sample(T(3))
def typing_cast(x):
    y = typing.cast(torch.Tensor, x)
    z: typing.List[int] = [1]
    return y + len(z)


class E(enum.Enum):
    A = 1
    B = "b"


class IE(enum.IntEnum):
    X = 1
    Y = 2


@sample(T(3), E.A)
def enums(x, e):
    if (
        e == E.A
        and e is E.A
        and (e.name == "A")
        and (e.value == 1)
        and (E("b") is E.B)
        and (E["A"] is e)
    ):
        x = x + 1
    return x * IE.Y + len(E) + sum((1 for _ in E))


@dataclasses.dataclass
class DC:
    a: torch.Tensor
    b: int = 2
    c: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class FDC:
    a: torch.Tensor
    b: int = 2

    def __post_init__(self):
        object.__setattr__(self, "z", self.b * 2)


@sample(T(3))
def dataclass_made(x):
    d = DC(x)
    d.c.append(1)
    d.b += 1
    return d.a * d.b + len(d.c) + len(dataclasses.fields(d)) + (d == DC(x, 3, [1]) if False else 0)


@sample(T(3))
def dataclass_frozen(x):
    d = FDC(x, b=4)
    return d.a * d.z


@sample(T(3))
def dataclass_replace(x):
    d = dataclasses.replace(DC(x), b=7)
    return d.a * d.b


@sample(T(3))
def dataclass_asdict(x):
    d = dataclasses.asdict(DC(x, 1))
    return d["a"] * d["b"]


NT = namedtuple("NT", "a b", defaults=[3])


class NT2(typing.NamedTuple):
    a: torch.Tensor
    b: int = 4

    def total(self):
        return self.a + self.b


@sample(T(3), NT2(T(3), 2))
def named_tuple_arg(x, n):
    a, b = n
    return x + n.total() + a * b + n[0]


@sample(T(3))
def named_tuple_returned(x):
    return NT2(x + 1, 2)
