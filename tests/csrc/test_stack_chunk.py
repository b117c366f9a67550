"""CPython's last chunk of frames: kept for the next call, or given back at each return."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from threading import Thread

import pytest

from stepper import _C

CALLS = 200
DEPTHS = 150
"""Calls within calls whose frames fill more than a chunk."""


def leaf(a: int = 0) -> int:
    b = c = d = e = f = g = h = i = j = k = a
    return b + c + d + e + f + g + h + i + j + k


def faults_at(depth: int) -> int:
    """Of memory, in calls that are made at a depth."""
    if depth:
        return faults_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        leaf()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def most_faults() -> int:
    """Where the loop stands at the end of a chunk."""
    return max(map(faults_at, range(DEPTHS)))


@pytest.fixture(autouse=True)
def own() -> Iterator[None]:
    _C.release_stack_chunk()
    yield
    _C.release_stack_chunk()


def unlike(kept: int, given_back: int) -> bool:
    """Whether only the second has a fault at each call; CPython 3.14 keeps the chunk itself."""
    faults = CALLS if sys.version_info < (3, 14) else 0
    return kept < CALLS // 2 and given_back >= faults


def test_a_kept_chunk_is_not_mapped_at_each_call() -> None:
    given_back = most_faults()
    _C.keep_stack_chunk()
    _C.keep_stack_chunk()
    kept = most_faults()
    assert unlike(kept, given_back)
    for _ in range(2):
        _C.release_stack_chunk()
        assert unlike(kept, most_faults())


def test_threads_share_it() -> None:
    found: list[int] = []
    _C.keep_stack_chunk()
    threads = [Thread(target=lambda: found.append(most_faults())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A thread that is put aside at the edge, while another takes the chunk, maps one of its own.
    assert len(found) == 4
    assert max(found) < CALLS // 2
