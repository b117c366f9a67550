"""An index out of range: the kernel fails, and it is said later, where the program waits."""

import torch


@torch.compile(backend="eager")
def look_up(table, ids):
    rows = torch.nn.functional.embedding(ids, table)
    return rows.relu() * 2


@torch.compile(backend="eager")
def reduce(rows):
    return rows.sum()


table = torch.ones(10, 4, device="cuda")
rows = look_up(table, torch.tensor([1, 12], device="cuda"))
total = reduce(rows)
print(total.item())
