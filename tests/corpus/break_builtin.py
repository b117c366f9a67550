"""Builtins and functions that cannot be traced: input from the system, a C extension."""

import binascii
import os

import torch


@torch.compile(backend="eager")
def f(x):
    x = x + 1
    x = x * binascii.crc32(b"stepper") % 7
    length = len(os.path.abspath("."))
    return x + (length > 0)


print(f(torch.ones(2)))
