"""A metaclass with its own __instancecheck__, __getattribute__ and __repr__ that count."""

import collections

import torch

counts = collections.Counter()


class Meta(type):
    def __instancecheck__(cls, instance):
        counts["instancecheck"] += 1
        return True

    def __repr__(cls):
        counts["repr"] += 1
        return "class"


class Odd(metaclass=Meta):
    factor = 2

    def __getattribute__(self, name):
        counts["getattribute"] += 1
        return object.__getattribute__(self, name)


@torch.compile(backend="eager")
def f(x, odd):
    return x * odd.factor + isinstance(odd, Odd)


odd = Odd()
counts.clear()
print(f(torch.ones(2), odd), f(torch.ones(2), odd))
print(sorted(counts.items()))
