"""Calls of code that is run by hand: Dynamo looks at none of what they call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import CodeType
from typing import Any

from stepper.engines.common import arguments
from stepper.engines.dynamo.hits import by_hand
from stepper.engines.dynamo.versions.cache import set_callback


def call(
    code: CodeType, f_globals: dict[str, Any], f_locals: dict[str, Any], original: CodeType
) -> Any:
    """Run a code, transformed or not, with these locals of the original's frame. Nothing that it
    calls is compiled or looked up in the cache meanwhile."""
    with uncompiled(), by_hand():
        return arguments.call(code, f_globals, f_locals, original)


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Nothing that this thread calls is compiled or looked up in the cache meanwhile."""
    before = set_callback(None)
    try:
        yield
    finally:
        set_callback(before)
