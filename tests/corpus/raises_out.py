"""An exception leaves the compiled function; its type and message are the program's own."""

import torch


@torch.compile(backend="eager")
def f(x, key):
    table = {"a": 1}
    return x * table[key]


torch.manual_seed(0)
x = torch.randn(2)
print(f(x, "a"))
try:
    f(x, "b")
except KeyError as error:
    print("KeyError", error)
