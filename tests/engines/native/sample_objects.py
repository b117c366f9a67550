"""Small functions as people write them, each with arguments: containers, classes, contexts, modules.

Both engines are asked to capture them; each shows one thing, and its name says which.
"""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import itertools
import typing

import torch
from torch import nn

from tests.engines.native.samples import T, sample


# --- containers


@sample(T(3), [T(3)])
def list_methods(x, xs):
    xs = list(xs)
    xs.extend([x, x + 1])
    xs.insert(0, x * 2)
    xs.pop()
    xs.reverse()
    return xs, len(xs), xs.index(xs[0]) if False else 0, xs[-1]


@sample(T(3), {"a": T(3)})
def dict_methods(x, d):
    d = dict(d, b=x)
    d.setdefault("c", x + 1)
    d |= {"e": x}
    return {k: v * 2 for k, v in d.items()}, list(d), d.get("z", 0), "a" in d, d.pop("b")


@sample(T(3))
def tuples_compared(x):
    a, b = (1, 2), (1, 3)
    return x + (a < b) + len(a + b) + (2 in a) + a.index(2) + b.count(3)


@sample(T(3))
def starred_unpacking(x):
    first, *middle, last = [1, 2, 3, 4]
    return x * first + last, [*middle, first], {**{"a": 1}, "b": x}


@sample(T(3))
def sets_of_constants(x):
    s = {1, 2, 3}
    s.add(4)
    return x * len(s & {2, 4}), 3 in s


@sample(T(3))
def strings(x):
    name = "layer_{}".format(2) + f".{x.dim()}" + "a,b".split(",")[1].upper()
    return x * len(name), name.startswith("layer"), "-".join(["a", "b"])


@sample(T(3))
def counted(x):
    return x * collections.Counter("aab")["a"]


@sample(T(3))
def ordered(x):
    d = collections.OrderedDict(a=x, b=x + 1)
    d.move_to_end("a")
    return list(d), d["b"]


@sample(T(3))
def with_defaultdict(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    return d["a"][0] + 1


@sample(T(3))
def with_deque(x):
    q = collections.deque([x, x + 1], maxlen=2)
    q.append(x + 2)
    return q[0] + q.popleft()


@sample(T(3))
def iterated(x):
    total = 0
    for a, b in itertools.product([1, 2], [3]):
        total += a * b
    for i, v in enumerate(itertools.chain([x], [x + 1]), start=1):
        total = total + v * i
    return total, list(zip([1, 2], "ab")), list(itertools.islice(range(9), 2, 4))


@sample(T(3))
def sorted_by_key(x):
    names = sorted(["bb", "a", "ccc"], key=len, reverse=True)
    return x * len(names[0]), min(3, 1, 2), max([1, 5], default=0)


@sample(T(3))
def nested_comprehensions(x):
    return [[x * i * j for j in range(2) if i != j] for i in range(3)], {i: i for i in range(2)}


@sample([T(3), [T(3), {"a": T(3)}]])
def nested_containers(xs):
    return xs[0] + xs[1][0] + xs[1][1]["a"]


# --- classes


class Point(typing.NamedTuple):
    x: torch.Tensor
    y: int = 2


@sample(T(3), Point(T(3)))
def named_tuples(x, p):
    q = Point(x, y=3)
    return q.x + p.y, q._replace(y=4).y, p[0]


@dataclasses.dataclass
class Config:
    width: int = 3
    scale: float = 0.5


@sample(T(3), Config())
def data_class_read(x, config):
    return x * config.scale + config.width


@sample(T(3))
def data_class_made(x):
    config = Config(width=4)
    return x * config.width * config.scale


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


@sample(T(3), Mode.FAST)
def enumerations(x, mode):
    return x * mode.value if mode is Mode.FAST else x + len(mode.name)


class Accumulator:
    total = 0

    def __init__(self):
        self.seen = []

    def add(self, x):
        self.seen.append(x)
        self.total = self.total + 1
        return x * self.total

    def __call__(self, x):
        return self.add(x) + 1

    def __getitem__(self, i):
        return self.seen[i]

    def __len__(self):
        return len(self.seen)

    @staticmethod
    def double(x):
        return x * 2

    @classmethod
    def named(cls):
        return cls.__name__


@sample(Accumulator(), T(3))
def methods_that_change(a, x):
    return a.add(x) + a.add(x), a.total


@sample(Accumulator(), T(3))
def special_methods(a, x):
    y = a(x)
    return y + len(a) + a[0]


@sample(Accumulator(), T(3))
def static_and_class_methods(a, x):
    return a.double(x), Accumulator.double(x), a.named()


@sample(T(3))
def instance_made(x):
    a = Accumulator()
    return a.add(x) + a.total


@sample(Accumulator(), T(3))
def attributes_by_name(a, x):
    setattr(a, "extra", 3)
    return x * getattr(a, "extra") + getattr(a, "missing", 1), hasattr(a, "total")


@sample(Accumulator(), T(3))
def copied_object(a, x):
    b = copy.copy(a)
    return x + b.total


# --- contexts and modes


@sample(T(3))
def without_gradients(x):
    with torch.no_grad():
        y = x * 2
    with torch.enable_grad():
        y = y + 1
    return y, torch.is_grad_enabled()


@torch.no_grad()
def quiet(x):
    return x * 2


@sample(T(3))
def decorated_without_gradients(x):
    return quiet(x) + 1


@contextlib.contextmanager
def tracing():
    yield 3


@sample(T(3))
def context_of_a_generator(x):
    with tracing() as n:
        y = x * n
    return y


@sample(T(3))
def suppressed(x):
    with contextlib.suppress(KeyError):
        x = x * 2
    return x


@sample(T(3))
def autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x.reshape(1, 3) @ x.reshape(3, 1)


# --- breaks


@sample(T(3))
def item(x):
    return x * x[0].item()


@sample(T(3))
def prints(x):
    y = x + 1
    print(end="")
    return y * 2


@sample(T(3))
def a_break_between(x):
    y = x.sin()
    print(end="")
    z = y.cos()
    print(end="")
    return y + z


@sample(T(3))
def data_in_a_helper(x):
    def positive(v):
        return bool(v.sum() > 0)

    return x * 2 if positive(x) else x


@sample(T(3))
def to_numpy_and_back(x):
    return torch.from_numpy(x.numpy() * 2) + 1


@sample(T(3))
def nonzero(x):
    return x.nonzero().shape[0:0], torch.nonzero(x > 1)


# --- modules


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
        self.gate = nn.Parameter(torch.ones(3))
        self.steps = 0

    def forward(self, x, which="a", *, gate=True):
        self.steps += 1
        for name, layer in self.layers.items():
            if name == which:
                x = layer(x)
        return x * self.gate.sigmoid() if gate else x


torch.manual_seed(0)
GATED = Gated()
NORM = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.0), nn.ReLU())
LSTM = nn.LSTMCell(3, 3)
HOOKED = nn.Linear(3, 3)
HOOKED.register_forward_hook(lambda module, args, output: output * 2)


@sample(T(2, 3))
def module_with_branches(x):
    return GATED(x), GATED(x, which="b", gate=False)


@sample(T(2, 3))
def module_in_training(x):
    return NORM(x)


@sample(T(2, 3))
def module_with_a_hook(x):
    return HOOKED(x)


@sample(T(2, 3))
def recurrent_cell(x):
    h = c = torch.zeros(2, 3)
    for _ in range(3):
        h, c = LSTM(x, (h, c))
    return h


@sample(T(2, 3))
def parameters_listed(x):
    return x * len(list(GATED.parameters())) + sum(p.sum() for p in HOOKED.parameters())
