"""torch._dynamo.graph_break() with values on the stack and in locals."""

import torch


@torch.compile(backend="eager")
def f(x, scale):
    y = x.sin()
    table = {"y": y, "scale": scale}
    torch._dynamo.graph_break()
    return [x, table["y"] * table["scale"]]


torch.manual_seed(0)
print(f(torch.randn(2), 3))
