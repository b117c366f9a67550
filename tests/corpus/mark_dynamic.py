"""A dimension marked dynamic, one marked static, and a size used as a number."""

import torch


@torch.compile(backend="eager")
def f(x, y):
    rows, columns = x.shape
    if rows > columns:
        return x.sum() + y.sum() * rows
    return x.mean() + y.sum() / columns


torch.manual_seed(0)
for rows in (5, 7, 3):
    x, y = torch.randn(rows, 4), torch.randn(rows)
    torch._dynamo.mark_dynamic(x, 0)
    torch._dynamo.mark_static(y)
    print(rows, f(x, y).item())
