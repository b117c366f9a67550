"""A net under what the native compiler tells: a defect of ours ends the watching, not the program.

Dynamo's hooks have theirs in C (`stepper._C.Hook`), which gives nothing back. The native compiler
asks its watcher, too: where to go on, how to take something back. So here each method of a
watcher is replaced by one that answers as if nobody watched, once something has gone wrong, and
that is over in the midst of a translation like everywhere else. Only what a watcher decides reaches
the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from stepper.native.exc import Unsupported
from stepper.native.tracing.plan import AnotherPlan


class AskedBreak(Unsupported):
    """To be raised where a fork breaks the graph."""

    def __init__(self) -> None:
        super().__init__("a break that was asked for at a fork")


class Watches(Protocol):
    """Whom a net belongs to."""

    installed: bool

    def break_down(self, error: Exception) -> None: ...


W = TypeVar("W")
P = ParamSpec("P")
R = TypeVar("R")


def netted(nobody: type, watches: Callable[[W], Watches]) -> Callable[[type[W]], type[W]]:
    """For a class of watchers: a net under all that `nobody` has, which is told of and does
    nothing. `watches`: whom a watcher belongs to."""

    def cast_under(watcher: type[W]) -> type[W]:
        for name, otherwise in vars(nobody).items():
            if not name.startswith("_") and callable(otherwise) and name in vars(watcher):
                setattr(watcher, name, _under(vars(watcher)[name], otherwise, watches))
        return watcher

    return cast_under


def _under(
    told: Callable[Concatenate[W, P], R],
    otherwise: Callable[Concatenate[W, P], R],
    watches: Callable[[W], Watches],
) -> Callable[Concatenate[W, P], R]:
    @wraps(told)
    def call(self: W, /, *args: P.args, **kwargs: P.kwargs) -> R:
        owner = watches(self)
        if owner.installed:
            try:
                return told(self, *args, **kwargs)
            except (AskedBreak, AnotherPlan):
                raise
            except Exception as error:
                owner.break_down(error)
        return otherwise(self, *args, **kwargs)

    return call
