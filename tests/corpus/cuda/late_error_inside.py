"""An index out of range whose error is said within another graph, of which it is not."""

import torch


@torch.compile(backend="eager")
def look_up(table, ids):
    return torch.nn.functional.embedding(ids, table).relu()


@torch.compile(backend="eager")
def positive(rows):
    kept = rows * 3
    return kept.cpu() + 1


table = torch.ones(10, 4, device="cuda")
rows = look_up(table, torch.tensor([1, 12], device="cuda"))
positive(rows)
