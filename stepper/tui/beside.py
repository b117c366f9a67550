"""Questions about the recording that are answered beside the screen.

Most answers take a few milliseconds, those about a function that was compiled a thousand times take
seconds. So a thread with a reader of its own finds them (a recording is read by one thread only),
one at a time and the newest that was asked, and sends a message. It ends when nothing is asked.

Python lets one thread run at a time, and every read of the screen's gives the other one its turn:
beside a long question a key took four times as long to be seen. So whoever answers stands aside, at
the next thing it reads, while a key is served; and stops there when nobody wants the answer any
more. A process of its own would need no turns, but what is asked for and what is found cannot be
sent to one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from textual.message import Message
from textual.message_pump import MessagePump

from stepper.model.trace import MomentId
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Known, Recording

_LONGEST_ASIDE = 0.25
"""Seconds after which a question goes on, whatever the screen does."""

_screen_is_still = threading.Event()
_screen_is_still.set()


def screen_first() -> None:
    """Have all questions wait: something is to be drawn."""
    _screen_is_still.clear()


def screen_drawn() -> None:
    """Have all questions go on."""
    _screen_is_still.set()


class _Unwanted(Exception):
    """Nobody waits for the answer."""


class Asked(NamedTuple):
    """A question."""

    recording: Recording
    """Only says which one is meant; it is read by the screen's thread."""
    about: MomentId
    find: Callable[[Recording], Any]
    """Gives the answer."""
    over: bool
    """Whether nothing more is written."""


class Beside:
    """Answers, one question after the other."""

    class Found(Message):
        """An answer."""

        def __init__(self, asked: Asked, found: Any, newest: MomentId, error: str) -> None:
            super().__init__()
            self.asked = asked
            self.found = found
            self.newest = newest
            """The newest moment that was recorded then."""
            self.error = error
            """Why there is no answer."""

    def __init__(self, asker: MessagePump) -> None:
        """
        Args:
            asker: gets the messages.
        """
        self._asker = asker
        self._turn = threading.Lock()
        self._asked: Asked | None = None
        self._works = False
        self._closed = False
        self._reader: Recording | None = None
        self._path = ""
        """Where the recording lies that was asked about last."""
        self._known: tuple[str, Known] | None = None
        """What the screen's reader knew of it, until it is opened here."""

    def ask(self, asked: Asked) -> None:
        """Answer a question; what was asked before and not begun is not wanted any more."""
        path = asked.recording.path
        with self._turn:
            if path != self._path:
                self._path, self._known = path, (path, asked.recording.known())
            self._asked = asked
            if not self._works and not self._closed:
                self._works = True
                threading.Thread(target=self._work, name="stepper-beside", daemon=True).start()

    def close(self) -> None:
        """Want nothing any more."""
        with self._turn:
            self._asked, self._closed = None, True
            if not self._works:
                self._let_go()

    def _work(self) -> None:
        while (asked := self._next()) is not None:
            found, newest, error, defect = None, 0, "", None
            try:
                reader = self._opened(asked)
                found = asked.find(reader)
                newest = reader.newest
            except RecordingError as refused:
                error = f"not known: {refused}"
            except _Unwanted:
                continue
            except Exception as raised:
                error, defect = f"not known, by a defect of stepper: {raised!r}", raised
                with self._turn:
                    self._works = False
            self._asker.post_message(self.Found(asked, found, newest, error))
            if defect is not None:
                raise defect

    def _next(self) -> Asked | None:
        with self._turn:
            asked, self._asked = self._asked, None
            if asked is None:
                self._works = False
                if self._closed:
                    self._let_go()
            return asked

    def _opened(self, asked: Asked) -> Recording:
        reader, path = self._reader, asked.recording.path
        if reader is None or reader.path != path:
            self._let_go()
            reader = self._reader = Recording.open(
                path, known=self._known_of(path), before_reading=self._stand_aside
            )
        reader.refresh()
        if asked.over and reader.ended is None:
            reader.nobody_writes()
        return reader

    def _stand_aside(self) -> None:
        _screen_is_still.wait(_LONGEST_ASIDE)
        if self._closed:
            raise _Unwanted

    def _known_of(self, path: str) -> Known | None:
        with self._turn:
            if self._known is None or self._known[0] != path:
                return None
            known, self._known = self._known[1], None
            return known

    def _let_go(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
