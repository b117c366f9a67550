"""Functions as the tests of the first TorchDynamo have them: what programs do to objects, their
dictionaries, named tuples, generators and texts, each in a few lines."""

from __future__ import annotations

import collections
from typing import Any, NamedTuple

import torch

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
