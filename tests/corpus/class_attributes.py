"""Class attributes, class methods, static methods, inheritance and super()."""

import torch


class Base:
    scale = 2
    instances = []

    def run(self, x):
        return x * self.scale

    @classmethod
    def named(cls):
        return cls.__name__

    @staticmethod
    def shift(x):
        return x + 1


class Derived(Base):
    scale = 3

    def run(self, x):
        return self.shift(super().run(x)) + len(self.named())


@torch.compile(backend="eager")
def f(x, runner):
    return runner.run(x)


x = torch.ones(2)
print(f(x, Base()), f(x, Derived()))
Derived.scale = 4
print(f(x, Derived()))
