"""From a frame to a cache entry.

The frame hook asks the thread's callback about each function that is called. `convert_frame`
decides whether to look at it at all, has it translated, and hands back a `GuardedCode`: the code
that may run in the frame's place, the check that says when, and what it dies with.

Nothing that goes wrong here is the program's concern. What cannot be captured raises one of the
exceptions of `exc` and the frame runs as it is; so it does after a defect of ours, which is
reported.
"""

from __future__ import annotations

import logging
import os
import traceback
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from stepper import _C
from stepper.native import config
from stepper.native.exc import (
    NothingToCapture,
    SkipFrame,
    Unsupported,
    let_go_of_frames,
    not_one_graph,
)
from stepper.native.guards.class_dicts import note_as
from stepper.native.runtime.backends import Backend
from stepper.native.runtime.cache_entry import RESET, GuardedCode
from stepper.native.runtime.surroundings import Surroundings
from stepper.native.runtime.translation import Translation
from stepper.native.skip_reasons import Call, demanded, has_tensor_in_frame, why_skip
from stepper.native.trace_rules import forget_given_up
from stepper.native.tracing.symbolic_shapes import forget
from stepper.native.variables.cached_function import end_capture
from stepper.native.variables.functions import forget_told_apart
from stepper.native.watching import WATCHING
from stepper.support.outside import comes_from_outside
from stepper.uncompiled import keep_out

log = logging.getLogger("stepper.native")


compile_lock = _C.ReentrantLock()
"""One thread captures at a time, as in Dynamo: a translation puts back the state of random numbers
and of gradient mode, which are everybody's, and what watches it follows one."""


def _new_lock() -> None:
    """In a forked process: the thread that held it is not there."""
    global compile_lock
    compile_lock = _C.ReentrantLock()


os.register_at_fork(after_in_child=_new_lock)


class Settings(NamedTuple):
    """What is asked of a capture, when it begins.

    dynamic: see `optimize`.
    limit: how many entries a code may have.
    """

    dynamic: bool | None
    limit: int


def callback_for(backend: Backend, settings: Callable[[], Settings]) -> Callable[..., Any]:
    """The frame callback that captures for a backend."""

    def convert(
        code: types.CodeType, function: types.FunctionType, f_locals: dict[str, Any]
    ) -> GuardedCode | None:
        nopython = False
        try:
            nopython = not _C.parts_will_do()
            return convert_frame(code, function, f_locals, backend, nopython, settings())
        except RecursionError:  # there may be room for the frame, if not for looking at it
            if nopython:
                raise not_one_graph(code, "the recursion is too deep to look at it") from None
            return None

    return convert


def convert_frame(
    code: types.CodeType,
    function: types.FunctionType,
    f_locals: dict[str, Any],
    backend: Backend,
    nopython: bool,
    settings: Settings,
) -> GuardedCode | None:
    """The entry for a call, put into the code's cache; None: it is to run as it is.

    Raises:
        Unsupported: with `nopython`, when the frame does not become one graph.
    """
    if (decision := WATCHING.watcher.decided(code)) is not None:
        return decision.entry
    call = Call(code, function, f_locals)
    if (skip := why_skip(call)) is not None:
        words, reason = skip
        if nopython and not reason.innocent:
            if demanded.get(code) or has_tensor_in_frame(*call):
                raise not_one_graph(code, words)
        elif reason.mark is not None:
            _C.set_skip(code, reason.mark, unless_whole=not reason.innocent)
        return None
    capture = _Capture(code, function, f_locals, backend, nopython, settings)
    return _C.call_and_undo(capture.undo, capture.run)


class _Capture:
    """A frame that is to be captured, with all that is put back whatever ends that."""

    def __init__(
        self,
        code: types.CodeType,
        function: types.FunctionType,
        f_locals: dict[str, Any],
        backend: Backend,
        nopython: bool,
        settings: Settings,
    ) -> None:
        self._call = code, function, f_locals, backend, nopython, settings.dynamic
        self._limit = settings.limit
        self._translation: Translation | None = None
        self._made: GuardedCode | None = None
        self._unwind: Callable[[str], None] | None = None
        self._lock = compile_lock
        self._locked = self._lock.depth()

    def run(self) -> GuardedCode | None:
        """See `convert_frame`."""
        code, function, f_locals, backend, nopython, _ = self._call
        waited = not self._lock.acquire(blocking=False)
        if waited:
            self._lock.acquire()
            # Meanwhile the other thread may have captured just this.
            made = _C.code_cache(code).lookup(f_locals, function.__globals__, backend)
            if isinstance(made, GuardedCode):
                return made
        if full := _is_full(code, nopython, self._limit):
            if not nopython:
                return None
            if has_tensor_in_frame(code, function, f_locals):
                raise not_one_graph(code, full)
        self._unwind = WATCHING.watcher.mark()  # now nobody else captures
        self._translation = Translation(*self._call, full)
        self._made = _run(self._translation)
        return self._made

    def undo(self) -> None:
        """End what did not come to its end."""
        translation = self._translation
        if self._unwind is not None:
            self._unwind("" if translation is None else translation.left_by)
        if translation is not None:
            translation.cleanup()
            note_as(translation.noted)
            end_capture(succeeded=self._made is not None)
        self._lock.unwind(self._locked)


def _is_full(code: types.CodeType, nopython: bool, limit: int) -> str:
    """Why no more entries are made for a code, empty: they are; said once."""
    entries = len(_C.code_cache(code))
    if entries < limit:
        return ""
    reason = f"captured {entries} times, which is the limit (cache_size_limit)"
    if not nopython:
        place = f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"
        text = f"{place} was {reason}: it runs as it is now"
        log.warning("%s", text)
        WATCHING.watcher.cache_limit(code, text)
        _C.set_skip(code, "capture", unless_whole=True)
    return f"it was {reason}"


def _run(translation: Translation) -> GuardedCode | None:
    nopython = translation.nopython
    surroundings = Surroundings()
    try:
        return _C.call_and_undo(surroundings.put_back, translation.run, surroundings)
    except NothingToCapture as error:
        translation.skipped(error.msg)
        let_go_of_frames(error)
        return None
    except SkipFrame as error:
        let_go_of_frames(error)
        if nopython:
            translation.failed(Unsupported.__name__, error.msg)
            raise Unsupported(error.msg) from None
        translation.skipped(error.msg)
        return None
    except Unsupported as error:
        let_go_of_frames(error)
        if nopython:
            translation.failed(Unsupported.__name__, error.msg, traced=True)
            raise
        translation.skipped(error.msg)
        return None
    except Exception as error:
        if comes_from_outside(error):
            translation.left_by = type(error).__name__
            raise
        said = f"{type(error).__name__}: {error}"
        if config.raise_internal_errors or nopython:
            translation.failed(type(error).__name__, said)
        else:
            translation.skipped(said)
        if config.raise_internal_errors:
            raise
        report_defect(translation.code, error)
        let_go_of_frames(error)
        if nopython:
            text = f"stepper's native engine failed: {said}"
            raise not_one_graph(translation.code, text) from None
        return None
    except BaseException as error:
        translation.left_by = type(error).__name__
        raise


def report_defect(code: types.CodeType, error: Exception) -> None:
    """Tell of a defect of the translator; the program goes on."""
    _C.set_skip(code, "capture", unless_whole=True)
    log.error(
        "stepper's native engine failed on %s (%s:%d), which runs as it is. Please report it:\n%s",
        code.co_qualname,
        code.co_filename,
        code.co_firstlineno,
        "".join(traceback.format_exception(error)),
    )


def reset() -> None:
    """Forget all that was captured, and what is not to be captured any more."""
    forget_given_up()
    forget()
    forget_told_apart()
    for cache in _C.code_caches():
        for entry in cache.entries:
            if isinstance(entry, GuardedCode):
                entry.invalidate(RESET)
        code = cache.code
        if code is not None and _C.get_skip(code) == "capture":
            _C.set_skip(code, None)


keep_out()
