"""Properties, __getattr__, __call__, __len__, __getitem__ and a descriptor."""

import torch


class Positive:
    def __get__(self, instance, owner):
        return abs(instance.raw)


class Box:
    positive = Positive()

    def __init__(self, x, raw):
        self.x = x
        self.raw = raw

    @property
    def doubled(self):
        return self.x * 2

    def __getattr__(self, name):
        if name.startswith("times"):
            return int(name[5:])
        raise AttributeError(name)

    def __call__(self, y):
        return self.doubled + y

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return self.x[index]


@torch.compile(backend="eager")
def f(box, y):
    missing = getattr(box, "missing", 1)
    return box(y) * box.times5 + box.positive + len(box) + box[0] + missing


torch.manual_seed(0)
print(f(Box(torch.randn(3), -4), torch.ones(3)))
