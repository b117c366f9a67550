"""Objects, lists, globals and cells that exist outside are changed, and seen by a later read."""

import torch

total = 0
seen = []


class Meter:
    def __init__(self):
        self.count = 0
        self.last = None

    def update(self, x):
        self.count += 1
        self.last = x
        return self


@torch.compile(backend="eager")
def f(x, meter):
    global total
    total += 1
    seen.append(x.shape[0])
    meter.update(x * 2).update(x * 3)
    setattr(meter, "name", f"meter{total}")
    del meter.spare
    return meter.last + meter.count


torch.manual_seed(0)
meter = Meter()
for _ in range(2):
    meter.spare = 1
    print(f(torch.randn(2), meter))
print(total, seen, meter.count, meter.name, meter.last)
