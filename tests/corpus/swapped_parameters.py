"""Parameters are counted that something refers to weakly, which forbids to swap their tensors:
after a compilation, a break, a failure of the compiler and of the backend."""

import gc
import weakref

import torch
from torch import nn

gc.disable()


class Breaks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        x = self.first(x)
        torch._dynamo.graph_break()
        return self.second(x)


def refuse(graph, example_inputs):
    raise ValueError("refused")


def compiled(model, **options):
    try:
        torch.compile(model, **options)(torch.ones(2, 4))
    except Exception as error:
        print(type(error).__name__, end=" ")
    print([weakref.getweakrefcount(each) for each in model.parameters()])


compiled(Breaks(), backend="eager", fullgraph=True)
compiled(Breaks(), backend="eager")
compiled(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), backend="aot_eager")
compiled(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), backend="eager", dynamic=True)
compiled(nn.Linear(4, 4), backend=refuse)

gc.enable()
torch.__future__.set_swap_module_params_on_conversion(True)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
fast = torch.compile(model, backend="eager")
print(fast(torch.ones(2, 4)).dtype)
model.to(torch.float64)
print(fast(torch.ones(2, 4, dtype=torch.float64)).dtype)
