"""Objects in every role that count whoever asks them for their class, or for anything else."""

import collections

import torch

counts = collections.Counter()


class Noticing:
    factor = 2

    def __init__(self):
        self.scale = 3

    @property
    def __class__(self):
        counts["class"] += 1
        return Noticing


class Watchful:
    factor = 2

    def __getattribute__(self, name):
        counts[name] += 1
        return object.__getattribute__(self, name)

    def __call__(self, x):
        return x + 1


HELD = Noticing()
PAIR = [Noticing(), Watchful()]
NAMED = {"a": Noticing(), "b": Watchful()}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.helper = Noticing()
        self.called = Watchful()

    def forward(self, x, other=HELD):
        return self.called(x * other.scale * self.helper.factor)


def made(inner):
    @torch.compile(backend="eager")
    def f(x, given):
        y = x * given.factor + PAIR[0].scale + NAMED["a"].factor
        y = y + HELD.scale
        torch._dynamo.graph_break()
        return y + 1, [given, inner]

    return f


@torch.compile(backend="eager")
def passed_on(x, listed, named):
    first, second = listed
    return x + first.factor, named["b"], {"seen": second}


counts.clear()
x = torch.ones(2)
print(made(Watchful())(x, Noticing())[0])
model = torch.compile(Model(), backend="eager")
for _ in range(2):
    print(model(x), passed_on(x, PAIR, NAMED)[0])
print(sorted(counts.items()))
