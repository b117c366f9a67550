"""A compilation that failed: an exception left the compiler and reached the program."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from stepper.model.program import PythonFrame
from stepper.model.trace import MomentId


class FailedStage(StrEnum):
    """What the compiler was doing."""

    LOOKUP = "lookup"
    """No cache entry served the call, and that is an error here: nothing was traced."""
    TRACING = "tracing"
    GUARDS = "guards"
    """The guards were being built, when all else was done."""
    DISPATCH = "AOTAutograd"
    """The graph was traced again, for the backend."""
    BACKEND = "backend"
    BACKWARD = "backward"
    """The forward was compiled; this came later, when the program asked for gradients."""
    ASKED = "torch.compile"
    """`torch.compile` itself did not take what it was given: there is nothing to compile."""
    RUNNING = "running"
    """Not the compiler's: compiled code raised it when it ran, and it ended the program."""
    EXPORT = "torch.export"
    """`torch.export` ran the program, without `strict=True` or after it was traced: no instruction
    was interpreted."""
    OTHER = "code generation"
    """None of the others: the rest of what is done once a frame has been traced."""


OUTSIDE = frozenset({FailedStage.ASKED, FailedStage.RUNNING})
"""What is no compilation's: the program ended with such an exception."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """An exception that left the compiler, or ended the program while compiled code ran."""

    id: int
    moment: MomentId
    """The moment whose instruction was being interpreted; the newest one where none was."""
    stage: FailedStage
    exception: str
    """Name of the exception's class, as it was raised. Dynamo hands some on as another, e.g. as an
    InternalTorchDynamoError."""
    message: str
    """The compiler's words, whole."""
    name: str = ""
    """Qualified name of the function that was to be compiled."""
    filename: str = ""
    line: int = 0
    """Its first line."""
    compile_id: str = ""
    translation: int | None = None
    """None: it failed outside of one; see `stage`."""
    user_stack: tuple[PythonFrame, ...] = ()
    """Where the compiler was in the program, outermost first, as it says itself."""
    python_stack: tuple[PythonFrame, ...] = ()
    """Outside of a translation: the program's own frames that led to it, outermost first."""
    raised: tuple[PythonFrame, ...] = ()
    """The innermost frames of the exception's traceback, outermost first."""
    node: str = ""
    """The FX node that was being run or lowered."""
    guard: int = 0
    """Id of the guard that was being built; 0: none was, or it is not recorded."""
    fakes: tuple[tuple[str, PythonFrame], ...] = ()
    """The operators for whose fake tensors the program had registered a function, and where."""
