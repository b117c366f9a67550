"""What ended the program, where neither the program nor the compiler raised it: compiled code did
when it ran, or `torch.compile` that was given what it does not take.

The interpreter keeps the exception that nobody handled. Its traceback tells the rest: which frame
ran the code that an entry keeps, which line of the graph's module it had come to. Others keep
exceptions in the same place that they have handled themselves, as pytest does: the traceback of
those does not begin where the program does. What is handled, or ends a thread, is not seen.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

import torch

from stepper._C import frame_locals
from stepper.debuggee.evaluator import shorten
from stepper.engines.common import fakes
from stepper.engines.common.known import KnownEntry
from stepper.engines.common.node_words import stack_of
from stepper.engines.common.python_stack import (
    MAX_PYTHON_FRAMES,
    MAX_RAISED_FRAMES,
    place_of,
    traceback_frames,
)
from stepper.engines.common.versions import is_backward
from stepper.model.failure import FailedStage, Failure
from stepper.model.trace import MomentId
from stepper.support.exceptions import arguments_of
from stepper.support.words import class_name, is_subclass, plain_text
from stepper.uncompiled import keep_out

_ASSIGNED = re.compile(r"\s*(\w+) = ")
_BACKWARD = "the backward"

Frames = list[tuple[FrameType, int]]


def ended_by(
    error: BaseException,
    newest: MomentId,
    entries: Iterable[tuple[KnownEntry, CodeType | None]],
    is_program: Callable[[str], bool],
    asks: CodeType,
    of_graph: Callable[[Frames], bool],
) -> Failure | None:
    """What is known of an exception that ended the program; None: it is another's.

    Args:
        error: what nobody handled.
        newest: the newest moment.
        entries: those that there are, and the code that each runs.
        is_program: whether a file is the program's, its libraries included.
        asks: the code of what has a function compiled.
        of_graph: whether it was a graph that raised it, by the traceback's frames from that on
            which runs an entry's code; else the program's own code did, which stands beside it.
    """
    frames = traceback_frames(error)
    if not frames or frames[0][0].f_back is not None:
        return None
    asked = [at for at, (frame, _) in enumerate(frames) if frame.f_code is asks]
    if asked:
        inside = frames[asked[-1] + 1 :]
        if any(is_program(frame.f_code.co_filename) for frame, _ in inside):
            return None
        return _failure(
            error, newest, FailedStage.ASKED, frames, asked[-1], is_program,
            name="torch.compile",
        )  # fmt: skip
    running = {id(code): entry for entry, code in entries if code is not None}
    ran = [at for at, (frame, _) in enumerate(frames) if id(frame.f_code) in running]
    at = ran[-1] if ran else 0
    if not ran or not of_graph(frames[at:]):
        # Compiled code may call for a backward, too, between its graphs.
        backward = [at for at, (frame, _) in enumerate(frames) if is_backward(frame.f_code)]
        if not backward or backward[0] < at:
            return None
        return _failure(
            error, newest, FailedStage.RUNNING, frames, backward[0], is_program,
            name=_BACKWARD,
        )  # fmt: skip
    entry = running[id(frames[at][0].f_code)]
    node = node_run(frames[at + 1 :])
    return _failure(
        error, newest, FailedStage.RUNNING, frames, at, is_program,
        name=entry.code.qualname, filename=entry.code.filename, line=entry.code.line,
        compile_id=entry.facts.compile_id, translation=entry.facts.translation,
        node="" if node is None else node.name,
        user_stack=() if node is None else stack_of(node.stack_trace),
    )  # fmt: skip


def words_of(error: BaseException) -> str:
    """What an exception was made with: its message, for most."""
    arguments = arguments_of(error)
    return " ".join(shorten(part) if type(part) is str else plain_text(part) for part in arguments)


def _failure(
    error: BaseException,
    newest: MomentId,
    stage: FailedStage,
    frames: Frames,
    at: int,
    is_program: Callable[[str], bool],
    **known: Any,
) -> Failure:
    """What is known where the frame at `at` of the traceback is what the program had called."""
    callers = [each for each in frames[:at] if is_program(each[0].f_code.co_filename)]
    return Failure(
        id=0,
        moment=newest,
        stage=stage,
        exception=class_name(type(error)),
        message=words_of(error),
        python_stack=tuple(place_of(*each) for each in callers[-MAX_PYTHON_FRAMES:]),
        raised=tuple(place_of(*each) for each in frames[at:][-MAX_RAISED_FRAMES:]),
        fakes=fakes.registered(is_program),
        **known,
    )


def node_run(frames: Frames) -> torch.fx.Node | None:
    """The node of the innermost graph whose module was at its line; None: no such module ran."""
    for frame, line in reversed(frames):
        module: Any = frame_locals(frame).get("self")
        if not is_subclass(torch.fx.GraphModule, type(module)) or frame.f_code.co_name != "forward":
            continue
        text = linecache.getline(frame.f_code.co_filename, line, frame.f_globals)
        if (assigned := _ASSIGNED.match(text)) is not None:
            found = (each for each in module.graph.nodes if each.name == assigned[1])
            return next(found, None)
    return None


keep_out()
