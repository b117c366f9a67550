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
calls = 0


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


def remembering():
    last = None

    def remember(x):
        nonlocal last
        last = x * 3

    return remember


remember = remembering()


@torch.compile(backend=backend)
def first(x: Tensor) -> Tensor:
    """Has three side effects."""
    global calls
    calls += 1
    kept.append(x + 1)
    remember(x)
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
