"""Why a recording has no moments, as far as the program's own process can tell."""

from __future__ import annotations

import resource
import sys
from importlib.util import find_spec

from stepper.model.capabilities import Capabilities

_VERSIONS = "stepper.engines.dynamo.versions"
"""There as soon as Dynamo is, see `stepper.uncompiled`."""

_of_the_compiler = 0
"""What `_children` was when the compiler arrived."""


def why_nothing(
    engine: str, of: Capabilities, *, serves: bool, children: bool, skipped: str
) -> str:
    """In words, at the program's end.

    serves: whether the program's own `torch.compile` was served by this compiler.
    children: whether the processes that it starts are recorded, too.
    skipped: what was told of what is not translated; empty: nothing was.
    """
    if find_spec("torch") is None:
        return f"{sys.executable} has no torch: name the program's own Python with --python"
    versions = sys.modules.get(_VERSIONS)
    frames = 0 if versions is None else versions.frames_looked_at()
    asked = f"Dynamo was asked to compile {frames} frame{'s' * (frames != 1)}"
    others = of.compile != "torch.compile"
    if skipped:
        why = skipped
    elif serves:
        why = f"no function was called that `torch.compile` or `{of.compile}` had made"
    elif others and frames:
        why = (
            f"{asked}: what `torch.compile` makes is recorded without `--engine {engine}`, which "
            f"records what `{of.compile}` makes"
        )
    elif others:
        why = f"no function was called that `{of.compile}` had made"
    elif frames:
        why = f"{asked}, and skipped {'them' if frames > 1 else 'it'}"
    else:
        why = "no function was called that `torch.compile` had made, or it was not to be compiled"
    if _children() > _of_the_compiler and not children:
        why += "; the program ran other processes, which `stepper record --children` records, too"
    return why


def compiler_is_there() -> None:
    """What has run by now is not the program's: with CUDA, the import of torch asks `ldconfig`."""
    global _of_the_compiler
    _of_the_compiler = _children()


def _children() -> int:
    """Pages of the processes that this one has started and that have ended. The time that one took
    can be less than what is counted; none runs without a page of memory."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
