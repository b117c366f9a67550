"""Strings made while tracing: formats, joins, methods, and their use as keys."""

import torch


@torch.compile(backend="eager")
def f(x, name):
    label = f"{name!r:>8}|{x.ndim}|{3.14159:.2f}"
    parts = "-".join([name.upper(), str(len(label))])
    return x * len(parts), label, parts.split("-")[0] == "AB"


print(f(torch.ones(2), "ab"), f(torch.ones(2), "xyz"))
