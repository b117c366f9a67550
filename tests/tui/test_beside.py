"""Questions that are answered beside the screen: who goes first, and who is not waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from textual.message_pump import MessagePump

from stepper.recording.reader import Recording
from stepper.tui import beside
from stepper.tui.beside import Asked, Beside, screen_drawn, screen_first
from tests.debuggee.harness import until


class Asker:
    """Gets the answers."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def post_message(self, message: Beside.Found) -> None:
        self.found.append(message.error or message.found)


@contextmanager
def asked(path: Path, find: Callable[[Recording], Any]) -> Iterator[tuple[Asker, Beside]]:
    asker, recording = Asker(), Recording.open(str(path))
    answers = Beside(cast(MessagePump, asker))
    try:
        answers.ask(Asked(recording, 0, find, over=True))
        yield asker, answers
    finally:
        answers.close()
        recording.close()


def works() -> bool:
    return any(thread.name == "stepper-beside" for thread in threading.enumerate())


def test_a_question_waits_while_a_key_is_served(
    sample_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "_LONGEST_ASIDE", 3600.0)
    screen_first()
    try:
        with asked(sample_path, lambda reader: len(reader.attempts())) as (asker, _):
            threading.Event().wait(0.2)
            assert not asker.found
            assert works()
            screen_drawn()
            until(lambda: bool(asker.found))
            assert asker.found[0] > 0
    finally:
        screen_drawn()


def test_a_screen_that_never_says_that_it_has_drawn_is_not_waited_for(sample_path: Path) -> None:
    screen_first()
    try:
        with asked(sample_path, lambda reader: len(reader.attempts())) as (asker, _):
            until(lambda: bool(asker.found))
    finally:
        screen_drawn()


def test_what_nobody_wants_any_more_is_looked_for_no_longer(sample_path: Path) -> None:
    begun = threading.Event()

    def forever(reader: Recording) -> None:
        while True:
            reader.failures()
            begun.set()

    with asked(sample_path, forever) as (asker, answers):
        assert begun.wait(60.0), asker.found
        answers.close()
        until(lambda: not works())
        assert not asker.found
