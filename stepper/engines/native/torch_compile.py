"""Serves a program's own `torch.compile`.

While a session of this engine is under way, what a program gives to `torch.compile` (also as a
decorator, or by `Module.compile`) is captured by the native compiler, so that one program can be
stepped with either engine. torch does all that comes before: it reads the arguments and makes a
backend of `mode` and `options`. Then it calls `torch._dynamo.optimize`, and that is replaced until
the session ends, as is `torch._dynamo.reset`. Nothing else is: what `torch.compiler.disable` makes
is known to the compiler (`native.skip_reasons`); stances, and the settings of Dynamo that mean the
same here, are read at each call.

What torch itself gives to `torch.compile` (flex attention, optimizers) stays Dynamo's: it counts on
what Dynamo makes of it. So does what was made before the session.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepper.engines.native import versions
from stepper.support.arrival import when_imported
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.debuggee.engine import Say

_SERVED = "torch.compile is served by stepper's native compiler, since its engine was asked for"


def serve(say: Say) -> Callable[[], None]:
    """Begin, as soon as Dynamo is there; returns what ends it."""
    service = _Service(say)
    stop_waiting = when_imported(versions.DYNAMO, service.begin)

    def end() -> None:
        stop_waiting()
        service.end()

    return end


class _Service:
    """What stands in the place of Dynamo's functions."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._over = False
        self._dynamo: object = None
        self._before: dict[str, Callable[..., object]] = {}

    def begin(self) -> None:
        self._dynamo = versions.dynamo()
        self._before = {name: getattr(self._dynamo, name) for name in ("optimize", "reset")}
        for name in self._before:
            setattr(self._dynamo, name, getattr(self, name))

    def end(self) -> None:
        # Should the program have put something over ours, or a module that was imported meanwhile
        # have taken it: what they have is torch's from now on, and holds nothing of the session.
        self._over = True
        self._say = _nobody
        for name, before in self._before.items():
            if getattr(self._dynamo, name) == getattr(self, name):
                setattr(self._dynamo, name, before)

    def optimize(self, *args: Any, **kwargs: Any) -> object:
        """In the place of `torch._dynamo.optimize`."""
        # torch's own hands a disabled function back.
        off = kwargs.get("disable") or os.environ.get("TORCHDYNAMO_DISABLE", "") == "1"
        if self._over or off or not _is_asked_by_program():
            return self._before["optimize"](*args, **kwargs)
        # Only now: a program that compiles nothing need not wait for the compiler.
        from stepper.engines.native.served import served

        self._say(_SERVED)
        return served(self._say, *args, **kwargs)

    def reset(self) -> None:
        """In the place of `torch._dynamo.reset`."""
        self._before["reset"]()
        compiler = sys.modules.get("stepper.native.runtime.convert_frame")
        if compiler is not None and not self._over:
            compiler.reset()


def _nobody(_text: str) -> None:
    """Whom something is told when the session is over."""


def _is_asked_by_program() -> bool:
    """Whether the call comes from outside of torch, by way of what programs call."""
    import torch

    home = os.path.dirname(torch.__file__) + os.sep
    ways = (f"{home}__init__.py", os.path.join(home, "nn", "modules", "module.py"))
    frame = sys._getframe(2)
    while frame.f_code.co_filename in ways and frame.f_back is not None:
        frame = frame.f_back
    return not frame.f_code.co_filename.startswith(home)


keep_out()
