"""Calls of code that is run by hand: Dynamo looks at none of what they call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import CodeType
from typing import Any

from torch._C._dynamo import eval_frame as native

from stepper.engines.common import arguments
from stepper.engines.dynamo.hits import by_hand


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
    before = native.set_eval_frame(None)
    try:
        yield
    finally:
        native.set_eval_frame(before)
