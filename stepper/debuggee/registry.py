"""Which engines there are, and where each is found.

An engine is registered under a name, as an `EngineType`: ours in the table below, others by the
package that brings them, as entry points of a group:

    [project.entry-points."stepper.engines"]
    toy = "toy_engine:ENGINE"

One that is not registered is asked for as `module:NAME`.

A recording says which engine made it, and anybody can have written it. So what stands there is
never more than a choice between the engines that are registered here: no `module:NAME` is imported
because of a recording.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from stepper.debuggee.engine import EngineType
    from stepper.debuggee.entries import Entries

_OURS = {
    "dynamo": "stepper.engines.dynamo.registration:ENGINE",
    "native": "stepper.engines.native.registration:ENGINE",
}
_GROUP = "stepper.engines"


class EngineError(Exception):
    """Raised for an engine that there is not; the message says what there is."""


class UnsupportedPython(EngineError):
    """Raised for an engine that cannot work in this Python; the message says why."""


def names() -> list[str]:
    """The names of the engines that are registered."""
    return [*_OURS, *(name for name in _installed().names if name not in _OURS)]


def is_registered(name: str) -> bool:
    """Whether an engine is registered under a name; nothing of it is imported."""
    return name in _OURS or name in _installed().names


def find(asked: str) -> EngineType:
    """The engine of a name, or at `module:NAME`.

    Raises:
        EngineError: there is none, or it cannot work in this Python.
    """
    if asked in _OURS:
        place = _OURS[asked]
    elif asked in _installed().names:
        place = _installed()[asked].value
    elif ":" in asked:
        place = asked
    else:
        raise EngineError(no_engine(asked))
    # The contract takes the C part, which whoever only asks for names does without.
    from stepper.debuggee.engine import EngineType

    module, _, attribute = place.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise EngineError(f"the engine {asked} cannot be imported: {error}") from error
    if not isinstance(found, EngineType):
        raise EngineError(f"{place} is no engine: it has to be an EngineType")
    if found.unsupported:
        raise UnsupportedPython(found.unsupported)
    return found


def entries() -> list[Entries]:
    """The entries of all engines that let a program ask for them, ours first. An engine of a
    package that cannot be imported has none."""
    found = []
    for name in names():
        try:
            kind = find(name)
        except UnsupportedPython:
            continue
        except EngineError:
            if name in _OURS:
                raise
            continue
        if kind.entries is not None:
            # First the compiler: by its import a session's engine arrives, which must not find its
            # own modules half made.
            with suppress(
                ImportError
            ):  # then there is no cache yet whose entries could be asked for
                import_module(kind.compiler)
            found.append(kind.entries())
    return found


def no_engine(asked: str) -> str:
    """What to tell a person who asks for an engine that is not registered."""
    return (
        f"there is no engine called {asked!r}. There are: {', '.join(names())}; one that is not "
        "registered is asked for as module:NAME"
    )


def _installed() -> EntryPoints:
    # Only for who asks for an engine that is not ours: it looks at all that is installed.
    from importlib.metadata import entry_points

    return entry_points(group=_GROUP)
