"""The doors through which a program comes to Dynamo, each with a light probe while nobody has come.

A process that a watched program has started may import Dynamo and compile nothing, as most workers
do. To load what watches Dynamo takes a fifth of a second. So until the first call of one of these
functions there are only their probes.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType
from typing import Any

from stepper._C import Hook
from stepper.engines.common.placed_probes import Probes
from stepper.engines.common.probe_points import ProbePoint, UnsupportedTorch, resolve
from stepper.engines.dynamo import versions
from stepper.engines.dynamo.versions import points
from stepper.uncompiled import keep_out


def wait(begin: Callable[[], None]) -> Callable[[], None]:
    """Call `begin`, which has the compiler watched, before Dynamo does anything that is recorded.

    Returns what takes the probes away; `begin` is to call it.
    """
    found: dict[ProbePoint, CodeType] = {}
    for point in points.doors():
        # Not every torch that is supported has every door.
        with contextlib.suppress(UnsupportedTorch, ImportError):
            found[point] = _function(point).__code__
    probes = Probes()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in found.values():  # what imports Dynamo can be an export
            begin()
            return probes.remove
        frame = frame.f_back
    for point in found:
        probes.place(point, Hook(partial(_opened, begin, point), None, _Nobody()))
    return probes.remove


def _opened(begin: Callable[[], None], point: ProbePoint, *arguments: Any) -> None:
    # Of what is asked and scripted besides, nothing is recorded.
    if point == points.IN_FX and versions.nested_call(sys._getframe()) is None:
        return
    if point == points.SCRIPTED and versions.scripted_compiled(*arguments) is None:
        return
    begin()
    if points.doors()[point]:
        # The watcher hears of this function by now, but the call under way runs what it was before.
        for constant in _function(point).__code__.co_consts:
            if type(constant) is Hook:
                constant(*arguments)


def _function(point: ProbePoint) -> Any:
    return inspect.unwrap(resolve(point))


class _Nobody:
    """Nobody is told when a door breaks down: the program goes on, and is not watched."""

    lost = ""

    def break_down(self, error: BaseException) -> None:
        """See `Hook`."""


keep_out()
