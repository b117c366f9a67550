"""List, dict, set and generator comprehensions, nested and with conditions."""

import torch


@torch.compile(backend="eager")
def f(x):
    rows = [x + i for i in range(4) if i % 2]
    grid = [[a * b for a in rows] for b in rows]
    table = {i: row for i, row in enumerate(rows)}
    kinds = {type(row).__name__ for row in rows}
    return sum(sum(line) for line in grid) + table[0], len(kinds)


torch.manual_seed(0)
print(f(torch.randn(2)))
