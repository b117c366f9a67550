"""What is known of a compilation that failed, from its exception alone.

Dynamo hands the exception to a function of its own before it changes it and lets it go. By then all
translators have been left, so the traceback says where it was raised: the interpreter's `step`, the
guards, the backend, a node of the graph. Where an exception was raised from another, that one knows
more. Nothing of either is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType, FunctionType
from typing import Any

import msgspec
import torch
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

from stepper._C import frame_locals, shortened
from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import FrameMirror, LiveTranslation, newest_moment_of
from stepper.engines.common import fakes
from stepper.engines.common.ended import Frames, words_of
from stepper.engines.common.node_words import stack_of
from stepper.engines.common.python_stack import (
    MAX_PYTHON_FRAMES,
    MAX_RAISED_FRAMES,
    place_of,
    traceback_frames,
)
from stepper.engines.common.versions import is_running_graph, part_of_torch
from stepper.engines.dynamo import versions
from stepper.engines.dynamo.bytecode import active_names, is_program
from stepper.engines.dynamo.graphs import ORIGINAL, compiled_names
from stepper.engines.dynamo.versions import (
    TorchDynamoException,
    UncapturedHigherOrderOpError,
    Unsupported,
)
from stepper.model.failure import FailedStage, Failure
from stepper.model.program import PythonFrame
from stepper.model.trace import MomentId, Outcome
from stepper.support.exceptions import cause_of, context_of, hides_context, traceback_of
from stepper.uncompiled import keep_out

_LONGEST = 20_000
_MOST_LINKS = 20
_DISPATCH, _GRADIENTS = "_functorch", "autograd"
_COMPILERS = frozenset({"", "_dynamo", "_inductor"})
"""Parts of torch that can be what AOTAutograd hands a graph to, and what is none of torch's."""
_AGAIN = "draft_export exports once more, with Dim.AUTO in the place of sizes"


def message(error: BaseException) -> str:
    """The message of an exception that leaves the compiler: one of Dynamo's, or what it was given
    by an operator or by the program."""
    text = getattr(error, "msg", None) if issubclass(type(error), TorchDynamoException) else None
    return text if type(text) is str else words_of(error)


def break_behind(error: BaseException) -> BaseException:
    """The graph break of which Dynamo has made another exception, since it happened in what an
    operator such as torch.cond has to have whole; else the exception itself."""
    behind = cause_of(error) or context_of(error)
    wraps = issubclass(type(error), UncapturedHigherOrderOpError)
    return behind if wraps and isinstance(behind, Unsupported) else error


def came_out(error: BaseException) -> bool:
    """Whether an exception is one of Dynamo's, or its traceback shows that Dynamo was at work; not
    every exception that leaves it is one of its own."""
    if issubclass(type(error), TorchDynamoException):
        return True
    traceback = traceback_of(error)
    while traceback is not None:
        if versions.is_door(traceback.tb_frame.f_code):
            return True
        traceback = traceback.tb_next
    return False


def of_graph(frames: Frames) -> bool:
    """Whether a graph has raised what has left a transformed code, by the traceback's frames from
    that code's on. What the program calls between its graphs raises in functions of torch's, too:
    a wrapper that disables the compiler is around both."""
    if len(frames) < 2:
        return False
    (caller, _), (called, _) = frames[:2]
    names = compiled_names(caller.f_code)
    return any(_runs(called, dict.get(caller.f_globals, name)) for name in names)


def _runs(frame: FrameType, compiled: Any) -> bool:
    """Whether a frame is a call of this, which is what torch keeps of a graph."""
    if type(compiled) is not FunctionType:
        return bool(part_of_torch(frame.f_code.co_filename))
    wrapped = compiled.__dict__.get(ORIGINAL)
    return frame.f_code is compiled.__code__ and (
        wrapped is None or frame_locals(frame).get("fn") is wrapped
    )


def failure_of(error: BaseException, moment: MomentId, *, traced: bool) -> Failure:
    """What is known of it.

    Args:
        error: what leaves the compiler.
        moment: the one to blame.
        traced: whether tracing had begun.
    """
    links = list(_links(error))
    frames = [traceback_frames(link) for link in links]
    node = next((found for each in reversed(frames) if (found := _node(each))), None)
    deepest = _hidden(links[-1]) or next((each for each in reversed(frames) if each), [])
    return Failure(
        id=0,
        moment=moment,
        stage=_stage([frame for each in frames for frame, _ in each], traced=traced),
        exception=type(error).__name__,
        message=shortened(_whole_message(links), _LONGEST),
        user_stack=next(filter(None, map(user_stack, links)), ())
        or stack_of(getattr(node, "stack_trace", None)),
        raised=tuple(place_of(*each) for each in deepest[-MAX_RAISED_FRAMES:]),
        node="" if node is None else node.name,
        fakes=fakes.registered(is_program),
    )


def moment_of(
    error: BaseException, innermost: FrameMirror | None, newest: MomentId
) -> MomentId | None:
    """The newest moment of the frame whose instruction raised it; None: no instruction of these
    frames did.

    Args:
        error: what leaves the compiler.
        innermost: the frame of the newest moment.
        newest: that moment.
    """
    for link in reversed(list(_links(error))):
        for frame, _ in reversed(traceback_frames(link)):
            if versions.is_interpreting(frame.f_code):
                found = newest_moment_of(frame.f_locals.get("self"), innermost, newest)
                if found is not None:
                    return found
    return None


def guard_of(error: BaseException, guards: Mapping[int, object]) -> int:
    """The number of the guard that was being built when something raised it; 0: none of these was.

    Args:
        error: what leaves the compiler.
        guards: by number.
    """
    for link in reversed(list(_links(error))):
        for frame, _ in reversed(traceback_frames(link)):
            if versions.is_creating_guard(frame.f_code):
                built = frame_locals(frame).get("self")
                return next((number for number, guard in guards.items() if guard is built), 0)
    return 0


def of_backward(error: BaseException, newest: MomentId, stack: tuple[PythonFrame, ...]) -> Failure:
    """What is known of a backward that could not be compiled; its forward is the compilation of the
    same id.

    Args:
        error: what leaves the compiler.
        newest: the newest moment.
        stack: the program's frames that led to it.
    """
    return msgspec.structs.replace(
        failure_of(error, newest, traced=True),
        stage=FailedStage.BACKWARD,
        compile_id=versions.compiled_now(),
        python_stack=stack,
    )


def of_export(
    error: BaseException, newest: MomentId, name: str, stack: tuple[PythonFrame, ...]
) -> tuple[Failure, FrameType | None]:
    """What is known of an export that ran the program, and the innermost of the program's frames in
    which that ended.

    Args:
        error: what leaves it.
        newest: the newest moment.
        name: what was to be exported.
        stack: the program's frames that led to the export.
    """
    ran: list[tuple[FrameType, int]] = []
    for link in _links(error):
        frames = [each for each in traceback_frames(link) if _is_of_program(each[0])]
        ran = max(ran, frames, key=len)
    failure = msgspec.structs.replace(
        failure_of(error, newest, traced=True),
        stage=FailedStage.EXPORT,
        name=name,
        user_stack=tuple(place_of(*each) for each in ran[-MAX_PYTHON_FRAMES:]),
        python_stack=stack,
    )
    return failure, ran[-1][0] if ran else None


def _is_of_program(frame: FrameType) -> bool:
    """Whether a frame is the program's; torch makes functions from text, too, without a module."""
    filename = frame.f_code.co_filename
    return is_program(filename) and (filename != "<string>" or "__name__" in frame.f_globals)


def refuse_capture(recorder: Recorder, captured: LiveTranslation) -> bool:
    """Tell of a capture that it failed, where that is what an error is raised for now; of one that
    is made once more that it was given up.

    `torch.export` finds its constraints violated when the frame has long been translated: it makes
    the guards itself, keeps what that raises, completes the message, and raises an error of its
    own while it handles that one."""
    error = sys.exc_info()[1]
    if not isinstance(error, ConstraintViolationError):
        return False
    if versions.draft_tries_again(sys._getframe(1)):
        reason = f"{_AGAIN}: {type(error).__name__}: {message(error)}"
        recorder.end_translation(captured, Outcome.SKIPPED, reason=reason)
        return True
    failure = failure_of(error, recorder.moment, traced=True)
    _fail_captured(
        recorder, captured, error, msgspec.structs.replace(failure, stage=FailedStage.GUARDS)
    )
    return True


def fail_captured(recorder: Recorder, captured: LiveTranslation, error: BaseException) -> None:
    """Tell of a capture that what is made of it failed: in the backend, say."""
    failure = failure_of(error, recorder.moment, traced=True)
    _fail_captured(recorder, captured, error, failure)


def _fail_captured(
    recorder: Recorder, captured: LiveTranslation, error: BaseException, failure: Failure
) -> None:
    recorder.failed(failure, captured)
    reason = f"{type(error).__name__}: {message(error)}"
    recorder.end_translation(captured, Outcome.FAILED, reason=reason)


def _links(error: BaseException) -> Iterator[BaseException]:
    """The exception, what it was raised from, and so on."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen and len(seen) < _MOST_LINKS:
        seen.add(id(link))
        yield link
        link = cause_of(link)


def _whole_message(links: list[BaseException]) -> str:
    """What an exception says, and what those say that it was raised from and that it does not
    repeat."""
    text = message(links[0])
    for link in links[1:]:
        said = message(link)
        if said.strip() and said.strip().split("\n", 1)[0] not in text:
            text = f"{text}\n\nCaused by {type(link).__name__}: {said}"
    return text


def _hidden(error: BaseException) -> list[tuple[FrameType, int]]:
    """Those of what it was raised in place of, where the program's own function had failed, as a
    custom operator's for fake tensors does; the compiler says no more than its words."""
    hidden = context_of(error) if hides_context(error) and cause_of(error) is None else None
    frames = [] if hidden is None else traceback_frames([*_links(hidden)][-1])
    return frames if frames and is_program(frames[-1][0].f_code.co_filename) else []


def _stage(frames: list[FrameType], *, traced: bool) -> FailedStage:
    codes = [frame.f_code for frame in frames]
    if not traced:
        return FailedStage.LOOKUP
    if versions.is_in_backend(codes):
        return FailedStage.DISPATCH if _runs_for_dispatch(codes) else FailedStage.BACKEND
    if any(map(versions.is_interpreting, codes)):
        return FailedStage.TRACING
    if any(map(versions.is_guard_building, codes)):
        return FailedStage.GUARDS
    return FailedStage.OTHER


def _runs_for_dispatch(codes: list[CodeType]) -> bool:
    """Whether it was AOTAutograd that ran the graph, or failed by itself: in what of torch it calls
    but compilers, or anywhere while it had torch trace gradients."""
    codes = [code for code in codes if not versions.is_disabling(code)]
    parts = [part_of_torch(code.co_filename) for code in codes]
    running = next((at for at, code in enumerate(codes) if is_running_graph(code)), None)
    asking = [part for part in parts[:running] if part != "fx"]
    if _DISPATCH not in asking:
        return False
    behind = asking[len(asking) - asking[::-1].index(_DISPATCH) :]
    return _GRADIENTS in behind or _COMPILERS.isdisjoint(behind)


def _node(frames: list[tuple[FrameType, int]]) -> Any:
    """The FX node that was run, the outermost, which is of Dynamo's graph; else the one that a
    backend of the program's own was at."""
    for frame, _ in frames:
        if is_running_graph(frame.f_code):
            node = frame.f_locals.get("node")
            if type(node) is torch.fx.Node:
                return node
    own = (frame for frame, _ in reversed(frames) if is_program(frame.f_code.co_filename))
    return next(filter(None, map(_taken_up, own)), None)


def _taken_up(frame: FrameType) -> Any:
    """The only FX node that a function was called with, or that a loop had come to in which it
    was. What another variable has may be left from before."""
    names = active_names(frame.f_code, frame.f_lasti)
    values = [frame.f_locals.get(name) for name in names]
    nodes = {id(value): value for value in values if type(value) is torch.fx.Node}
    return nodes.popitem()[1] if len(nodes) == 1 else None


def user_stack(error: BaseException) -> tuple[PythonFrame, ...]:
    """The program's frames, outermost first, as Dynamo notes them on its exceptions."""
    stack = getattr(error, "real_stack", None)
    if stack is None:
        return ()
    return tuple(PythonFrame(frame.filename, frame.lineno or 0, frame.name) for frame in stack)


keep_out()
