"""Two functions that Inductor compiles; the argument is in the second, so that its graph is another
one where it differs."""

import sys

import torch
from torch._functorch import config

config.enable_autograd_cache = False  # which would answer before the cache of graphs is asked
number = int(sys.argv[1])


@torch.compile
def same(x):
    return torch.relu(x) * 2


@torch.compile
def other(x):
    return torch.sigmoid(x) + number


print(same(torch.ones(8)).sum().item(), other(torch.zeros(8)).sum().item())
