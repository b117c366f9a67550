"""What goes wrong and is caught, as programs that go on with another way have it, and what classes
do in the place of builtins: make containers, answer operators, end iterators."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tests.engines.native.samples import T, sample


def texts_of(*attempts: Callable[[], Any]) -> list[str]:
    texts = []
    for attempt in attempts:
        try:
            attempt()
        except Exception as error:
            texts.append(f"{type(error).__name__}: {error}")
    return texts


@sample(T(3))
def errors_of_lists(t):
    return t + 1, texts_of(
        lambda: [].pop(),
        lambda: [1].remove(2),
        lambda: (1,).index("no"),
        lambda: [1][4],
        lambda: [1].index(3, 0),
    )


@sample(T(3))
def errors_of_keys(t):
    return t + 1, texts_of(
        lambda: {[]: 1},
        lambda: {}[{}],
        lambda: {set()},
        lambda: [] in {1: 2},
        lambda: set().add([1]),
        lambda: {}.get([]),
    )


@sample(T(3))
def changed_while_iterated(t):
    told, known = [], {"a": 1}
    steps = iter(known)
    next(steps)
    for change in (lambda: known.update(b=2), lambda: known.pop("b")):
        change()
        told += texts_of(lambda: next(steps))
    members = {1, 2}
    for each in members:
        members.discard(each)
        break
    return t + len(told), told, known, members


def halves(t):
    yield t / 2
    return t * 2


@sample(T(3))
def value_of_an_end(t):
    found = []
    for again in (False, True):
        generator = halves(t)
        first = next(generator)
        if again:
            list(generator)
        try:
            next(generator)
        except StopIteration as end:
            found.append(first if end.value is None else end.value)
    try:
        raise StopIteration(t)
    except StopIteration as end:
        return found, end.value, end.args


@sample(T(3))
def constant_sets_joined(t):
    few = frozenset([1, 2])
    return t + 1, few | {3}, few.union([9]), {5} | few, few - {1}, few & {2}, set(few)


class Span(tuple):
    def __new__(cls, start, end):
        return super().__new__(cls, (start, end))

    @property
    def length(self):
        return self[1] - self[0]


class Tagged(dict):
    def __new__(cls, *given, **named):
        made = super().__new__(cls)
        made.tag = 3
        return made

    def __init__(self, **named):
        super().__init__(**named)
        self["tagged"] = self.tag


class Latest(collections.deque):
    def __new__(cls, *given):
        return super().__new__(cls)


@sample(T(3))
def containers_that_make_themselves(t):
    span, tagged, latest = Span(t, t + 2), Tagged(given=t), Latest([1, 2])
    latest.append(3)
    return span.length + tagged["given"] + tagged["tagged"] + latest[2], span, tagged, latest


class Amount:
    def __init__(self, held):
        self.held = held

    def __neg__(self):
        return Amount(-self.held)

    def __invert__(self):
        return self.held + 1

    def __divmod__(self, other):
        return self.held, other

    def __rpow__(self, other):
        return self.held * other

    def __mul__(self, other):
        return NotImplemented


class Nothing:
    pass


@sample(T(3))
def operators_of_one_side(t):
    amount = Amount(t)
    return (-amount).held, ~amount, divmod(amount, 2), pow(3, amount), operator.neg(amount).held


@sample(T(3))
def operators_nobody_answers(t):
    amount, nothing = Amount(1), Nothing()

    def in_place():
        changed = amount
        changed *= 2

    return t + 1, texts_of(
        in_place,
        lambda: amount * 3,
        lambda: nothing + 1,
        lambda: 1 - nothing,
        lambda: nothing < amount,
        lambda: -nothing,
        lambda: ~nothing,
        lambda: divmod(nothing, 2),
        lambda: nothing**None,
    )


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, layers, seen):
        ctx.layers = layers
        ctx.save_for_backward(t)
        for layer in layers:
            seen.append(len(seen))
            t = layer(t)
        return t, t + 1

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[0], None, None


layers = [nn.Identity(), nn.Tanh()]


@sample(T(3))
def function_given_layers(t):
    seen = []
    with torch.no_grad():
        return Through.apply(t, layers, seen), seen


@sample(T(3))
def tensors_taken_as_they_are(t):
    same = torch.as_tensor(t, dtype=torch.float32)
    return same is t, same + 1, torch.as_tensor(t, dtype=torch.float64)


class Twos:
    """An iterator that notes what it is asked."""

    def __init__(self):
        self.asked = []
        self.left = 2

    def __iter__(self):
        self.asked.append("iter")
        self.left = 2
        return self

    def __next__(self):
        self.asked.append("next")
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return 2


@sample(T(3))
def iterators_asked_as_often(t):
    twos = Twos()
    given = [
        max(twos),
        min(twos, key=lambda two: -two),
        sorted(twos),
        functools.reduce(operator.add, twos),
        list(filter(None, twos)),
        list(itertools.chain(twos, twos)),
        list(itertools.accumulate(twos)),
        list(itertools.islice(twos, 1)),
        list(itertools.pairwise(twos)),
        list(itertools.zip_longest(twos, "abc")),
        [list(each) for each in itertools.tee(twos)],
    ]
    return t + len(given), given, twos.asked
