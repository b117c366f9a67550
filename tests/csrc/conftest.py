"""The extension alone: none of these tests needs torch, and none may load it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from stepper import _C


@pytest.fixture
def hook() -> Iterator[None]:
    """The frame hook, installed, and away again with all that a test has set."""
    _C.install_hook()
    yield
    _C.set_observer(None)
    _C.remove_hook()


@pytest.fixture(params=["in place", "helper"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """How other code comes to run: in the frame itself, or in that of a helper function."""
    _C.force_helper(request.param == "helper")
    yield
    _C.force_helper(False)


@pytest.fixture(autouse=True)
def nothing_loads_torch() -> Iterator[None]:
    loaded = "torch" in sys.modules
    yield
    assert ("torch" in sys.modules) == loaded
