"""The hook in, defects of the translator told, made codes proved, nothing captured left behind."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import CodeType

import pytest

from stepper import _C
from stepper.native import config
from stepper.native.runtime.convert_frame import reset
from stepper.native.runtime.translation import register_bytecode_hook
from tests.engines.native.sound_code import prove


@pytest.fixture(autouse=True)
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The frame hook, installed, and away again."""
    monkeypatch.setattr(config, "raise_internal_errors", True)
    _C.install_hook()
    yield
    reset()
    _C.set_frame_callback(None)
    _C.remove_hook()
    linecache.clearcache()  # each graph leaves its code there, and each translation copies it


@pytest.fixture(autouse=True)
def sound_code() -> Iterator[None]:
    """What the interpreter relies on every made code keeps; one that does not is never run."""
    broken: list[AssertionError] = []

    def look(old: CodeType, new: CodeType) -> None:
        try:
            prove(old, new)
        except AssertionError as error:
            broken.append(error)  # the program may catch it
            raise

    remove = register_bytecode_hook(look)
    yield
    remove()
    assert broken == []
