"""A program whose threads wait for each other, and whose function changes what was there before."""

from __future__ import annotations

import sys
import threading
import time

import torch
from torch import Tensor
from torch.utils._filelock import FileLock

from tests.timings.programs import SLEEP

compiles, comes, held = threading.Event(), threading.Event(), threading.Event()
kept: list[Tensor] = []


def hold(path: str) -> None:
    """Has the file's lock for a while, as another process does that fills a cache."""
    with FileLock(path):
        held.set()
        time.sleep(SLEEP)


def backend(module, _inputs):
    """Needs the file, and takes its time while another thread comes."""
    threading.Thread(target=hold, args=(sys.argv[1],)).start()
    held.wait()
    with FileLock(sys.argv[1]):
        compiles.set()
    comes.wait()
    time.sleep(2 * SLEEP)
    return module.forward


@torch.compile(backend=backend)
def first(x: Tensor) -> Tensor:
    """Has a side effect."""
    kept.append(x + 1)
    return x * 2


@torch.compile(backend="eager")
def second(x: Tensor) -> Tensor:
    """Is compiled when the other one is."""
    return x + 1


def come() -> None:
    """Once the other is compiled."""
    compiles.wait()
    comes.set()
    second(torch.ones(3))


if __name__ == "__main__":
    thread = threading.Thread(target=come, name="second")
    thread.start()
    first(torch.ones(3))
    thread.join()
