"""Each test has Dynamo's cache to itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch._dynamo

from stepper.engines.dynamo.cache import BOOK
from stepper.engines.dynamo.toolkit import TOOLKIT


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    for number in [each.id for each in BOOK.entries.values() if each.draft is not None]:
        for _ in range(2):  # out of the cache, then away
            if number in BOOK.entries:
                TOOLKIT.remove(number)
    torch._dynamo.reset()
