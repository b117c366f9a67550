"""Frames that Dynamo does not translate or gives up: no tensors, a generator, a library's."""

import collections

import torch


def plain(n):
    return n * 2


def numbers(n):
    for i in range(n):
        yield torch.ones(1) * i


@torch.compile(backend="eager")
def f(n):
    return plain(n)


compiled_generator = torch.compile(numbers, backend="eager")
print(f(3), f(4))
print(sum(compiled_generator(3)))
print(torch.compile(collections.Counter, backend="eager")("abca"))
