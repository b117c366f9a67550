"""The recording of one test.

It is made in the test's own process, from its first fixture or from where it first asks, to the end
of its teardown. In a process that a session watches already (`stepper record -m pytest`) that
session's recording serves, and stays.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stepper.analysis.questions import QUESTIONS
from stepper.debuggee import api, start
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording


class RecordedTest:
    """A test that is being recorded.

    Args:
        path: where to record to; None: somewhere, until the test is over.
        engine: the compiler to watch.
        lookups: whether to record each guard of the lookups, too.

    Raises:
        stepper.SessionError: it cannot be recorded.
    """

    def __init__(self, path: Path | None, *, engine: str, lookups: bool) -> None:
        self.failed = False
        """Whether a part of the test failed, so that the recording is worth keeping."""
        with contextlib.ExitStack() as stack:
            self.own = start.current() is None
            """Whether the recording is this test's, and not a session's around it."""
            if self.own:
                if path is None:
                    folder = tempfile.TemporaryDirectory(prefix="stepper-")
                    path = Path(stack.enter_context(folder), "test.stepper")
                else:
                    stack.callback(self._delete_unless_failed)
                stack.enter_context(api.record(path, engine=engine, lookups=lookups))
            session = start.current()
            assert session is not None
            self._writer = session.writer
            self._stack = stack.pop_all()

    @property
    def path(self) -> str:
        """The recording's absolute path."""
        return self._writer.path

    @contextlib.contextmanager
    def reader(self) -> Iterator[Recording]:
        """What has been recorded up to now.

        Raises:
            RecordingError: it cannot be read.
        """
        self._writer.flush()
        recording = Recording.open(self.path)
        try:
            yield recording
        finally:
            recording.close()

    def newest_walk(self) -> int:
        """Id of the latest walk; 0 when there is none.

        Raises:
            RecordingError: the recording cannot be read.
        """
        with self.reader() as recording:
            walks = recording.translations()
        return walks[-1].id if walks else 0

    def ask(self, question: str, *arguments: str) -> list[str]:
        """The answer to a question about what has been recorded up to now, line by line.

        Args:
            question: its name, as a subcommand of stepper: `why-break`.
            arguments: what stands behind the recording there.

        Raises:
            ValueError: there is no such question, or it takes other arguments.
            RecordingError: the recording cannot be read.
        """
        found = QUESTIONS.get(question)
        if found is None:
            raise ValueError(f"no question is called {question!r}: {', '.join(QUESTIONS)}")
        needed = sum(each.required for each in found.arguments)
        if not needed <= len(arguments) <= len(found.arguments):
            raise ValueError(f"{question} takes {' '.join(e.name for e in found.arguments)}")
        with self.reader() as recording:
            recording.ended = "detached"  # the test asks about what there is where it asks
            return [line.text for line in found.answer()(recording, *arguments)]

    def close(self) -> None:
        """End the recording, and keep it only when the test failed."""
        self._stack.close()

    def _delete_unless_failed(self) -> None:
        # The test may have deleted it, and one that cannot be read may say something yet.
        with contextlib.suppress(FileNotFoundError, RecordingError):
            if not (self.failed and self.newest_walk()):
                os.unlink(self.path)
