"""Functions in which values change while they are in view: each mutates something another way."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

SAMPLES: dict[str, Callable[[torch.Tensor], Any]] = {}
STATE: dict[str, Any] = {"count": 0, "items": [1, 2]}
total = 0


def sample(function: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    """Add a function that takes one 2x3 tensor."""
    SAMPLES[function.__name__] = function
    return function


@sample
def tensor_shapes(x: torch.Tensor) -> Any:
    y, held = x.clone(), []
    held.append(y)
    y.t_()
    y.unsqueeze_(0)
    y.squeeze_(0)
    y.transpose_(0, 1)
    y.resize_(3, 2)
    return held[0].add_(1), y


@sample
def tensor_flags(x: torch.Tensor) -> Any:
    y, z = x.clone(), x.clone()
    held = {"y": y, "z": z}
    y.requires_grad_(True)
    w = y * 2
    held["w"] = w
    w.detach_()
    y.requires_grad = False
    z.data = x * 3
    return held["z"] + w


@sample
def tensor_storage(x: torch.Tensor) -> Any:
    y = x.clone()
    pair = (y, 1)
    y.set_(torch.ones(4))
    return pair[0] + 1


@sample
def tensor_made_inplace(x: torch.Tensor) -> Any:
    y = torch.zeros(2, 3)
    views = [y, y.view(3, 2)]
    torch.add(x, 1, out=y)
    y[0] = 5
    y.copy_(x)
    y += x
    return views


@sample
def iterators(x: torch.Tensor) -> Any:
    first = iter([1, 2, 3])
    second = zip([1, 2], (3, 4), strict=True)
    third = itertools.count(5, 2)
    fourth = enumerate("ab")
    fifth = map(lambda a: a + 1, [1, 2])  # as programs are written
    held = [first, second, third, fourth, fifth]
    for iterator in held:
        x = x + (next(iterator) is not None)
        x = x + (next(iterator) is not None)
    sixth, seventh = iter(range(4)), iter({1: 2, 3: 4})
    x = x + next(sixth) + next(sixth) + next(seventh)
    for a, b in itertools.chain([(1, 2)], [(3, 4)]):
        x = x + a * b
    cycled, repeated = itertools.cycle([1, 2]), itertools.repeat(3)
    for _ in range(3):
        x = x + next(cycled) + next(repeated)
    return x, next(filter(lambda a: a > 1, [1, 2, 3]))


def _produce(limit: int) -> Iterator[int]:
    state = []
    for index in range(limit):
        state.append(index)
        got = yield sum(state)
        if got:
            state.append(got)


@sample
def generators(x: torch.Tensor) -> Any:
    made = _produce(4)
    other = _produce(2)
    x = x + next(made)
    x = x + next(other) + next(made)
    x = x + made.send(10)
    squares = (a * a for a in _produce(3))
    x = x + next(squares)
    return x, list(squares), list(other)


@sample
def containers(x: torch.Tensor) -> Any:
    held: list[Any] = [[], {}, set(), collections.deque(maxlen=2)]
    for index in range(3):
        held[0].append(index)
        held[1][index] = x
        held[2].add(index)
        held[3].append(index)
    held[0].reverse()
    held[0].sort(reverse=True)
    held[0].extend([7, 8])
    held[0].insert(0, 9)
    held[0][1:3] = [4]
    del held[0][0], held[1][0]
    held[1].update({5: x + 1}, six=6)
    held[1].pop(1)
    held[1].setdefault("seven", []).append(7)
    held[2].discard(1)
    held[2] |= {5}
    held[2].update([6])
    held[3].appendleft(3)
    held[3].popleft()
    held[0] += [1]
    held[0] *= 2
    held[1].popitem()
    held[0].clear()
    return x + len(held[1]), held


@sample
def dictionaries(x: torch.Tensor) -> Any:
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    ordered["c"] = 3
    counted = collections.Counter("hello")
    counted["z"] += 2
    lists = collections.defaultdict(list)
    lists["x"].append(x)
    lists["y"]
    ordered.popitem(last=False)
    view = ordered.items()
    ordered["d"] = 4
    return x + len(view) + counted["l"], lists


@sample
def existing(x: torch.Tensor) -> Any:
    global total
    STATE["count"] += 1
    STATE["items"].append(3)
    STATE["x"] = x
    del STATE["x"]
    total += 2
    return x + STATE["count"] + total


class Point:
    """A user's object, changed in place."""

    scale = 2

    def __init__(self, left: Any) -> None:
        self.left = left
        self.history: list[Any] = []

    @property
    def right(self) -> Any:
        return self._right

    @right.setter
    def right(self, value: Any) -> None:
        self._right = value
        self.history.append(value)


POINT = Point(1)


@sample
def objects(x: torch.Tensor) -> Any:
    point = Point(x)
    pair = [point, POINT]
    point.left = x + 1
    point.right = 3
    del point.left
    POINT.left = 5
    POINT.right = x
    setattr(point, "extra", [1])  # as programs are written
    point.extra.append(2)
    point.__dict__["more"] = 4
    vars(point)["most"] = 5
    return pair[0].right + x + POINT.left + point.more


@dataclasses.dataclass
class Pair:
    """A dataclass with a mutable field."""

    first: Any
    second: list[Any] = dataclasses.field(default_factory=list)


@sample
def data(x: torch.Tensor) -> Any:
    pair = Pair(x)
    pair.second.append(1)
    pair.first = pair.first + 1
    copy = dataclasses.replace(pair, second=[2])
    copy.second += [3]
    return copy.first + len(pair.second) + len(copy.second)


class MyList(list):
    """A list with an attribute."""


class MyDict(dict):
    """A dict with an attribute."""


@sample
def subclasses(x: torch.Tensor) -> Any:
    mine, named = MyList([1]), MyDict(a=1)
    mine.append(2)
    mine.name = "mine"
    named["b"] = x
    named.name = "named"
    named.pop("a")
    return named["b"] + len(mine), mine


@sample
def closures(x: torch.Tensor) -> Any:
    count, seen = 0, []

    def bump(by: int) -> int:
        nonlocal count
        count += by
        seen.append(count)
        bump.calls = len(seen)
        return count

    bump(1)
    x = x + bump(2)
    late = lambda: count + len(seen)  # as programs are written
    bump(3)
    return x + late() + functools.partial(bump, 4)()


@sample
def exceptions(x: torch.Tensor) -> Any:
    caught = []
    for index in range(2):
        try:
            try:
                if index:
                    raise ValueError("one")
                [][index]
            except IndexError as error:
                caught.append(error)
                raise KeyError("two") from error
        except (KeyError, ValueError) as error:
            caught.append(error)
            error.note = "noted"
            x = x + len(error.args)
        finally:
            x = x * 2
    return x + len(caught)


@contextlib.contextmanager
def _scaled(log: list[str]) -> Iterator[int]:
    log.append("in")
    try:
        yield 3
    except ValueError:
        log.append("caught")
    finally:
        log.append("out")


@sample
def contexts(x: torch.Tensor) -> Any:
    log: list[str] = []
    with _scaled(log) as scale, torch.no_grad():
        x = x * scale
    with _scaled(log):
        raise ValueError
    with torch.autocast("cpu", dtype=torch.bfloat16), contextlib.suppress(KeyError):
        y = x @ x.t()
        raise KeyError
    with torch.set_grad_enabled(False) as mode:
        x = x + (mode is None)
    return x, y, len(log)


class Net(torch.nn.Module):
    """A module that changes itself."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(3))
        self.calls = 0
        self.log: list[int] = []

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        self.log.append(self.calls)
        self.seen += x.sum(0)
        self.last = self.linear(x)
        self.seen = self.seen * 2
        self.linear.extra = self.calls
        return self.last + self.linear.extra


NET = Net()


@sample
def modules(x: torch.Tensor) -> Any:
    return NET(x) + len(NET.log)


@sample
def randomness(x: torch.Tensor) -> Any:
    source = random.Random(3)
    return x + source.random() + source.randint(1, 3)


@sample
def hooks(x: torch.Tensor) -> Any:
    y = x.clone().requires_grad_(True)
    z = y * 2
    handle = z.register_hook(lambda grad: grad * 2)
    w = z.sum()
    handle.remove()
    return w


@sample
def functionals(x: torch.Tensor) -> Any:
    def squared(a: torch.Tensor) -> torch.Tensor:
        return (a * a).sum()

    y = torch.func.grad(squared)(x)
    z = torch.func.vmap(lambda row: row * 2)(x)
    return y + z + torch.func.jvp(torch.sin, (x,), (x,))[1]


@sample
def checkpoints(x: torch.Tensor) -> Any:
    held = [x + 1]

    def inner(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        b = a.sin()
        held.append(a)
        return b, b.cos()

    first, second = torch.utils.checkpoint.checkpoint(inner, held[0], use_reentrant=False)
    return first + second + len(held)


@sample
def branches(x: torch.Tensor) -> Any:
    y = x.sin()
    z = torch.cond(y.sum() > 0, lambda a: a.cos() + y, lambda a: a - y, (x,))
    return torch.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * y), (torch.tensor(0), z))


class Squared(torch.autograd.Function):
    """A function with its own derivative."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.power = 2
        return x**2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x


@sample
def derivatives(x: torch.Tensor) -> Any:
    y = x.clone().requires_grad_(True) * 1
    return Squared.apply(y) + y


@sample
def names(x: torch.Tensor) -> Any:
    alpha = x + 1
    beta = alpha
    gamma = (alpha, beta)
    delta = gamma[0] * 2
    epsilon, zeta = delta.chunk(2)
    return epsilon + zeta


@sample
def sizes(x: torch.Tensor) -> Any:
    rows = x.shape[0]
    grown = torch.zeros(rows + 1, x.numel())
    shape = list(grown.shape)
    shape[0] += rows
    return torch.ones(shape) * rows


@sample
def graph_breaks(x: torch.Tensor) -> Any:
    log = [x]
    y = x + 1
    torch._dynamo.graph_break()
    log.append(y)
    for index in range(2):
        y = y * index
        torch._dynamo.graph_break()
        log.append(y)
    return log


@sample
def numpy_like(x: torch.Tensor) -> Any:
    array = x.numpy()
    array[0] = 2
    held = [array]
    array += 1
    return held[0].sum() + x
