"""Forward hooks and pre-hooks run, change values and count, also when added after compiling."""

import torch
from torch import nn

calls = []


def before(module, args):
    calls.append("before")
    return (args[0] * 2,)


def after(module, args, output):
    calls.append("after")
    return output + 1


torch.manual_seed(0)
linear = nn.Linear(3, 3)
linear.register_forward_pre_hook(before)
net = torch.compile(nn.Sequential(linear, nn.Tanh()), backend="eager")
x = torch.randn(2, 3)
print(net(x).sum().item(), calls)
handle = linear.register_forward_hook(after)
print(net(x).sum().item(), calls)
handle.remove()
print(net(x).sum().item(), calls)
