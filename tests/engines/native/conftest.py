"""The hook in, defects of the translator told, and nothing captured left behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stepper import _C
from stepper.engines.native import config
from stepper.engines.native.convert_frame import reset


@pytest.fixture(autouse=True)
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The frame hook, installed, and away again."""
    monkeypatch.setattr(config, "raise_internal_errors", True)
    _C.install_hook()
    yield
    reset()
    _C.set_frame_callback(None)
    _C.remove_hook()
