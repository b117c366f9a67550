"""News of cache entries, told to the recorder where that is safe.

The difficulty is the death of objects. It is heard of in a finalizer, and a finalizer runs wherever
the last reference happens to go or the garbage collector happens to run: in the midst of a
compilation, in the recorder's own work, in any thread. So what is heard is noted (names and places,
no objects) with the moment at which it happened. It is told at once when that is safe: at a stop,
where the user waits to see it; when nothing is being recorded; within a compilation while no
instruction is interpreted, in the backend for the most part. While one is, it is told before the
next one. What is left is told at the next beginning or end of a translation.
"""

from __future__ import annotations

import _thread
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import NamedTuple

from stepper._C import call_and_undo
from stepper.debuggee.engine import Recorder
from stepper.debuggee.program_names import program_frame
from stepper.debuggee.threads import interrupt_program
from stepper.model.program import PythonFrame
from stepper.model.trace import EventKind, MomentId

_OURS = "stepper."
_ENTRANCES = frozenset({"stepper.native.api", "stepper.native.runtime.eval_frame"})
"""Modules of ours through which the program calls itself."""


class Place(NamedTuple):
    """Where something happens."""

    words: str
    frame: PythonFrame | None = None
    """In the program; None: it happens elsewhere."""

    def __str__(self) -> str:
        return self.words


AT_THE_END = Place("as Python ends")
"""Where Python has run the program and calls the finalizers that are left: nothing has died."""
_EXIT_FUNCTION = "finalize._exitfunc"


class _News(NamedTuple):
    """Something to tell."""

    kind: EventKind
    moment: MomentId
    text: str
    ended: PythonFrame | None
    entry: int
    function: str
    compile_id: str


class CacheNews:
    """What was heard, until it is told."""

    def __init__(
        self,
        recorder: Recorder,
        interprets: Callable[[FrameType | None], bool],
        finalizes: Callable[[FrameType], bool],
    ) -> None:
        """
        Args:
            interprets: whether the thread that stood in this frame interprets an instruction, so
                that news have to wait for the next one.
            finalizes: whether a frame is that of a finalizer which calls us.
        """
        self._recorder = recorder
        self._interprets = interprets
        self._finalizes = finalizes
        self._news: deque[_News] = deque()

    def note(
        self,
        kind: EventKind,
        text: str,
        ended: PythonFrame | None,
        entry: int,
        function: str,
        compile_id: str,
    ) -> None:
        """Something has happened to an entry, of a function of this name; `ended`: where in the
        program it ended."""
        moment = self._recorder.moment
        self._news.append(_News(kind, moment, text, ended, entry, function, compile_id))

    def emit(self) -> None:
        """Tell what was noted. Blocks while the program stands still."""
        while self._news:
            self._recorder.walks.lock.during(self._tell, self._news.popleft())

    def _tell(self, news: _News) -> None:
        recorder = self._recorder
        if news.ended is not None:
            recorder.store_entry_end(news.entry, news.moment, news.ended)
        subject = recorder.entry_subject(news.function, news.compile_id)
        recorder.occurred(news.kind, news.text, news.entry, subject, moment=news.moment)

    def emit_if_safe(self) -> None:
        """Tell it now, or see to it that it is told soon."""
        recorder = self._recorder
        if recorder.controller.stands:
            self.emit()
            recorder.commit()
            return
        heard_in = self._beneath_the_finalizer(sys._getframe(1))
        if self._interprets(heard_in):
            recorder.controller.at_next_moment(self.emit)
            return
        if _inside_of_us(heard_in):
            return
        if recorder.walks.busy:
            return
        lock = recorder.walks.lock
        try:
            call_and_undo(partial(lock.unwind, lock.depth()), self._emit_if_free)
        except KeyboardInterrupt:  # no exception leaves a finalizer
            _thread.start_new_thread(self._interrupt_outside, (_thread.get_ident(),))

    def _emit_if_free(self) -> None:
        if self._recorder.walks.lock.acquire(blocking=False):
            self.emit()

    def _beneath_the_finalizer(self, frame: FrameType | None) -> FrameType | None:
        """Where the program was when a finalizer ran that called us."""
        while frame is not None and (_is_ours(frame) or self._finalizes(frame)):
            frame = frame.f_back
        return frame

    def _interrupt_outside(self, thread: int) -> None:
        """End the program as Ctrl-C would, when no finalizer runs any more in a thread."""
        while (frame := sys._current_frames().get(thread)) is not None:
            while frame is not None and not self._finalizes(frame) and not _is_ours(frame):
                frame = frame.f_back
            if frame is None:
                interrupt_program()
                return
            del frame
            time.sleep(0.001)


def _inside_of_us(frame: FrameType | None) -> bool:
    """Whether something of ours is at work in this thread."""
    while frame is not None:
        if _is_ours(frame):
            return True
        frame = frame.f_back
    return False


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return type(name) is str and name.startswith(_OURS) and name not in _ENTRANCES


def place(is_program: Callable[[str], bool]) -> Place:
    """Where in the program something happens."""
    frame = program_frame(is_program)
    if frame is None:
        return AT_THE_END if _ending() else Place(f"in thread {_thread.get_ident()}")
    code = frame.f_code
    if code.co_filename == "<evaluate>":
        return Place("in the console")
    here = PythonFrame(code.co_filename, frame.f_lineno or 0, code.co_qualname)
    return Place(f"at {here}", here)


def _ending() -> bool:
    """Whether a finalizer runs only because Python ends."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_qualname == _EXIT_FUNCTION and frame.f_globals is weakref.__dict__:
            return True
        frame = frame.f_back
    return False
