"""fullgraph=True turns a graph break into an error, with a message for the user."""

import torch


@torch.compile(backend="eager", fullgraph=True)
def f(x):
    y = x + 1
    print("no", y.shape)
    return y


@torch.compile(backend="eager", fullgraph=True)
def g(x):
    return x + 1


try:
    f(torch.ones(2))
except torch._dynamo.exc.Unsupported as error:
    print(type(error).__name__)
    print(str(error).split("from user code")[1])
print(g(torch.ones(2)))
