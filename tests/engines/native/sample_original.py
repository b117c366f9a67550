"""Functions as the tests of the first TorchDynamo have them: what programs do to objects, their
dictionaries, named tuples, generators and texts, each in a few lines."""

from __future__ import annotations

import collections
import contextlib
import copy
import enum
import functools
import inspect
import itertools
import math
import operator
import os
import sys
from typing import Any, NamedTuple

import numpy
import torch
from torch import nn

from tests.engines.native.samples import T, sample


class Thing:
    z = 3

    def __init__(self) -> None:
        self.x = 1
        self.y: Any = 2


class Shadow(Thing):
    y = 8


@sample(Thing(), T(3))
def attribute_deleted(thing, t):
    thing.x += 1
    thing.w = t + 1
    del thing.y
    return thing.w * thing.x, hasattr(thing, "y"), "y" in thing.__dict__, list(vars(thing))


@sample(Shadow(), T(3))
def attribute_deleted_of_both(thing, t):
    thing.new = t
    del thing.y, thing.new
    try:
        t = t + thing.new
    except AttributeError:
        t = t - 1
    return t + thing.y, len(thing.__dict__)


@sample(Thing(), T(3))
def attributes_as_dictionary(thing, t):
    thing.__dict__["q"] = t
    thing.__dict__.update(r=1, x=4)
    total = thing.q + thing.r + sum(v for k, v in thing.__dict__.items() if k in ("x", "y"))
    return total, list(thing.__dict__.keys()), {**vars(thing)}, dict(thing.__dict__).pop("x")


@sample(T(3))
def attributes_of_a_new_object(t):
    thing = Thing()
    thing.y = t
    names = list(vars(thing))
    return t + len(names), names, vars(thing), [v + 1 for v in thing.__dict__.values()]


Point = collections.namedtuple("Point", "x y", defaults=(2,))


class Marked(NamedTuple):
    a: torch.Tensor
    b: int = 3

    def total(self):
        return self.a + self.b

    @property
    def doubled(self):
        return self.a * 2

    @classmethod
    def of(cls, t):
        return cls(t, 1)

    @staticmethod
    def moved(t):
        return t + 1


@sample(Point(T(2), T(2)), T(2))
def named_tuple_replaced(p, t):
    q = p._replace(x=p.x + 1)
    r = Point._make([t, q.x])
    a, b = r
    return q, r.y, p._fields, a * b, q._asdict(), Point._field_defaults


@sample(Marked(T(2)))
def named_tuple_with_methods(p):
    moved = Marked.moved(p.a)
    return p.total() + moved, p.doubled, Marked.of(p.a).total(), p.of(moved).doubled


@sample({"a": T(2), "b": T(2)})
def item_popped(d):
    d["c"] = d["a"] + 1
    key, value = d.popitem()
    other = dict(d)
    return key, value * 2, other.popitem()[0], other


@sample(T(3))
def generators_closed(t):
    notes = []

    def counting():
        try:
            for i in range(3):
                yield t + i
        except GeneratorExit:
            notes.append("closed")
            raise
        finally:
            notes.append("left")

    one, unbegun, empty = counting(), counting(), (each for each in [t][1:])
    first = next(one)
    one.close()
    one.close()
    unbegun.close()
    empty.close()
    begun = counting()
    second = begun.send(None)
    begun.close()
    return first + second, notes, list(one), next(begun, None)


class Worded:
    def __init__(self, text: Any) -> None:
        self.text = text

    def __repr__(self):
        return f"Worded({self.text!r})"


class Formatted(Worded):
    def __str__(self):
        return "formatted " + self.text

    def __format__(self, spec):
        return f"<{self.text:{spec}}>" if spec else "plain"


@sample(Worded("a"), Formatted("b"), T(3))
def texts_of_objects(a, b, t):
    made = Worded("c")
    texts = [repr(a), str(a), f"{a}", f"{a!r}", repr(b), str(b), f"{b:>3}", f"{b}", f"{made!s}"]
    return t + len("".join(texts)), texts


@sample(T(3))
def patterns_of_classes(t):
    match {"k": 1, "j": [2, 3]}:
        case {"k": int(q), "j": [w, *_]}:
            t = t + q + w
    match Point(1):
        case Point(x=1, y=z):
            t = t * z
    return t


class Number:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __int__(self):
        return 2

    def __float__(self):
        return 1.5

    def __complex__(self):
        return 1j

    def __index__(self):
        return 1

    def __abs__(self):
        return self.value * 2

    def __round__(self):
        return 3

    def __trunc__(self):
        return 6


@sample(Number(T(3)), T(3))
def number_of_ones_own(n, t):
    return t + int(n) + float(n), abs(n), round(n), operator.index(n), complex(n), math.trunc(n)


@sample(T(3), numpy.float32(2.5), numpy.int64(2), numpy.float64(1.5), numpy.uint8(3))
def numbers_of_numpy(t, f, n, d, u):
    small = f + d if n > 1 else f
    return (t * f + n - d) ** u, f * t, small, n.item(), torch.zeros(n), t[n], [1, 2, 3][n], n + 1


@sample(T(2, 3, 4))
def numpy_of_constants(t):
    flat = t.reshape(-1, numpy.prod(t.shape[1:]))
    half = numpy.sqrt(numpy.float64(0.25)).item() * int(numpy.ceil(2.5))
    return flat * numpy.pi + half, numpy.finfo(numpy.float32).eps * t, numpy.max([1, 2]) + t


@sample(T(3))
def numpy_warns(t):
    with numpy.errstate(all="ignore"):
        return t * numpy.float64(1.0) / numpy.float64(0.0), t + 1


@sample(T(3).requires_grad_())
def inference_in_a_function(t):
    @torch.inference_mode()
    def inner(y):
        return y * 3

    return inner(t) + 1, torch.is_inference_mode_enabled()


class Adding(Thing):
    def __setattr__(self, name, value):
        super().__setattr__(name, value + 1 if name == "x" else value)


class Restored(Thing):
    def __setstate__(self, state):
        self.x = 8


class Copied(Thing):
    def __copy__(self):
        return 5


@sample(Thing(), Adding(), Restored(), Copied(), T(3))
def copies_of_objects(thing, adding, restored, copied, t):
    one, two, three = copy.copy(thing), copy.copy(adding), copy.copy(restored)
    one.x, two.n = 9, t
    made = Thing()
    made.y = t
    four = copy.copy(made)
    four.y = t + 1
    return t + one.x + thing.x, one, two, three, copy.copy(copied), made, four.y


@sample(Thing(), [1, {"a": (2, 3)}, "x", 1, "x"], T(3))
def deep_copies(thing, given, t):
    thing.y = [thing, {"given": given}]
    other, listed = copy.deepcopy(thing), copy.deepcopy(given)
    other.y[1]["given"].append(4)
    listed[1]["a"] = t
    delattr(other, "x")
    same = other.y[0] is other, other.y[1]["given"] is given, listed[0] is given[0]
    thing.y = 2
    return t + len(other.y[1]["given"]), same, listed, given


@sample(T(3))
def sentinels_and_names(x):
    missing = object()
    other = object()
    found = {"a": other}.get("key", missing)
    path = os.path.join("a", "b")
    try:
        raise ValueError(path)
    except ValueError as error:
        name = type(error).__name__ + int.__name__ + len.__qualname__
    chained = list(itertools.chain.from_iterable([[x, x + 1], (x * 2,)]))
    return found is missing, missing is other, chained, name, path, type(missing) is object


@sample(T(3).requires_grad_(), T(3))
def tensors_with_attributes(x, t):
    t.count = 2
    doubled = t * t.count
    doubled.seen = [1]
    doubled.seen.append(hasattr(doubled, "unseen"))
    t.count += 1
    old, x.grad = x.grad, t + 1
    return doubled, doubled.seen, t.count, old, x.grad, x * 2


@sample(T(3))
def results_remembered(x):
    calls = []

    @functools.lru_cache(maxsize=4)
    def scaled(by):
        calls.append(by)
        return by * 2

    total = x + scaled(2) + scaled(2) + scaled(2.0) + scaled("a").count("a")
    partial = functools.partial(torch.add, 1)
    return total, calls, scaled.__name__, isinstance(partial, functools.partial), partial(x)


@sample(T(3))
def named_tuple_made_here(t):
    Pair = collections.namedtuple("Pair", ["first", "second"], defaults=(2,))
    pair = Pair(t)
    first, second = pair._replace(first=t + 1)
    return first * second, isinstance(pair, Pair), isinstance(pair, tuple), len(pair), pair[1]


@sample(T(3).requires_grad_())
def stack_of_contexts(x):
    notes: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.callback(notes.append, "called")
        y = x + stack.enter_context(contextlib.nullcontext(2))
        raised = contextlib.suppress(ValueError)
        with raised:
            raise ValueError
    return y, x * 2, notes, sys.exc_info()


class Filled(nn.Module):
    """Has nothing in some places until it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.act: Any = None
        self.steps: torch.Tensor
        self.register_buffer("steps", torch.zeros(()))
        self.register_buffer("last", None)

    def forward(self, t):
        if self.act is None:
            self.act = nn.Sequential(nn.ReLU(), nn.Tanh())
        self.steps = self.steps + 1
        total = sum(each.sum() for each in self.buffers())
        self.steps = self.steps * 2
        self.last = self.act(t)
        return total + self.last, [name for name, _ in self.named_modules()], self.act


@sample(Filled(), T(3))
def modules_that_come_late(module, t):
    return module(t), module.steps, module.last, list(module.state_dict())


@sample(T(3))
def modules_made_here(t):
    module = Filled()
    module.extra = nn.Sigmoid()
    module.scale = t
    module.steps = t.sum()
    del module.scale
    return module.extra(module(t)[0]), len(list(module.modules())), hasattr(module, "scale")


@sample(nn.Linear(3, 3), nn.Linear(3, 3), T(2, 3))
def modules_that_change(module, other, t):
    module.weight = other.weight
    module.bias = None
    module.other = other
    module.other = None
    return module(t), module.other, [name for name, _ in module.named_parameters()]


class Scale(float, enum.Enum):
    HALF = 0.5


def with_defaults(a, b, *rest, factor=3, **more):
    return a + b * factor


@sample(T(3))
def signatures(t):
    bound = inspect.signature(with_defaults).bind(t, 2, factor=4)
    bound.apply_defaults()
    found = [
        (name, parameter.kind.name)
        for name, parameter in inspect.signature(with_defaults).parameters.items()
    ]
    makers = inspect.signature(lambda p, q=1: p).parameters.keys()
    return with_defaults(*bound.args, **bound.kwargs) * Scale.HALF, found, list(makers)


@sample([2, 1], {"a": 3, "b": 1}, T(3))
def methods_with_their_objects(items, d, t):
    add, get = items.append, d.get
    add(get("a"))
    return t * len(items), sorted(d, key=d.__getitem__), list(map(d.__contains__, "az"))


@sample({"a": T(3), "b": T(2)}, collections.OrderedDict(a=T(3), b=T(2)))
def dictionaries_from_the_end(d, ordered):
    last = next(reversed(d.keys()))
    return d[last] + 1, [*reversed(d)], [*reversed(d.items())], list(reversed(ordered))


@sample(T(3))
def values_given_while_handling(t):
    def numbers():
        for each in range(3):
            try:
                if each == 1:
                    raise ValueError(each)
                yield each
            except ValueError as error:
                yield sys.exc_info()[1] is error
            finally:
                yield 5

    return t + sum(numbers()), sys.exc_info(), list(numbers())


class OfTheClass:
    def __init__(self, read):
        self.read = read

    def __get__(self, instance, owner):
        return self.read(owner)


class Documented(property):
    pass


class WithDescriptors:
    size = 3

    @OfTheClass
    def doubled(cls):
        return cls.size * 2

    @Documented
    def twice(self):
        return self.doubled * 2


@sample({(int, str): 1, ("a", Thing): 2}, T(3))
def classes_that_answer(d, t):
    made = {(float, int): 3}
    made[type(t), int] = 5
    total = t + WithDescriptors.doubled + WithDescriptors().twice
    return total + d[int, str] + d["a", Thing], made, (float, int) in made


@sample(T(3))
def distributions_of_parameters(t):
    normal = torch.distributions.Normal(t, torch.ones(3))
    beta = torch.distributions.Beta(t, t)
    return normal.entropy(), beta.mean, normal.log_prob(t)


class Counted:
    count = 0
    last: Any = None

    def __init__(self) -> None:
        Counted.count += 1

    @classmethod
    def reset(cls):
        cls.count, cls.last = 0, None


class CountedToo(Counted):
    pass


@sample(T(3))
def attributes_of_classes(t):
    Counted.last = t + 1
    made = CountedToo()
    CountedToo.count = 7
    found = made.count, Counted.count, CountedToo().count, Counted().count
    total = made.last * Counted.count
    Counted.reset()
    CountedToo.count = 0
    return total, found, Counted.count, made.count


@sample(T(3))
def iterators_taken_up_again(t):
    numbers, items = iter([1.0, 2.0, 3.0, 4.0]), [t, t + 1]
    given = iter(items)
    t = t + next(numbers) + next(given)
    torch._dynamo.graph_break()
    t = t * next(numbers)
    for each in numbers:
        t = t + each
    return t, next(given), next(given, None), next(numbers, 0)
