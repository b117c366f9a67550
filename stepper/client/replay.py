"""Running the program of a recording again, in a scratch process, with something changed.

What is run is said by a plan that the user has agreed to (`stepper.client.plan`): the program does
again whatever it does, writes its files, opens its connections. It runs under a pseudo-terminal
whose output is kept and shown to nobody, for a limited time, and finds nothing to read.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping

import msgspec

from stepper.client.events import OutputArrived, SessionEvent
from stepper.client.launch import LaunchError, LaunchSpec, launch
from stepper.client.plan import CACHES, HASH_SEED, Plan, ReplayError
from stepper.client.scratch import exception_line, in_scratch
from stepper.client.session import Session
from stepper.client.text import clip
from stepper.model.change import Change
from stepper.recording.reader import Recording

SECONDS = 300.0
"""How long a program may run, unless the user says otherwise."""
_SAID = 200
"""Characters that are told of the exception that a program died of."""
_HEARD = 400
"""Parts of its output that are kept, the last ones."""


class Progress:
    """What is being run again, for whoever waits in another thread, and a way to end it."""

    def __init__(self) -> None:
        self.doing = ""
        """What the program is run with, in words; empty: nothing runs yet."""
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._given_up = False

    @property
    def given_up(self) -> bool:
        """Whether nobody waits any more."""
        return self._given_up

    def give_up(self) -> None:
        """End the program that runs, and let none be started after it; from any thread."""
        with self._lock:
            self._given_up = True
            session = self._session
        if session is not None:
            session.kill()

    def runs(self, session: Session | None) -> None:
        """Say which program runs now, if any.

        Raises:
            ReplayError: it was given up meanwhile.
        """
        with self._lock:
            self._session = session
        self.check()

    def check(self) -> None:
        """See that somebody still waits.

        Raises:
            ReplayError: it was given up.
        """
        if self._given_up:
            raise ReplayError("given up")


@contextlib.contextmanager
def replayed(
    plan: Plan,
    changes: tuple[Change, ...],
    *,
    seconds: float,
    progress: Progress | None = None,
    texts: Mapping[str, bytes] | None = None,
) -> Iterator[tuple[Recording, str]]:
    """Run the program again with something changed; gives what was recorded then, for as long as
    the block lasts, and how it ended, empty when it ended with exit code 0.

    Args:
        plan: what is run; the user has agreed to it.
        changes: what is other than in the program.
        seconds: after which it is killed.
        progress: where it is said what runs, and where it can be given up.
        texts: what this run is to find in some of the program's files, by their paths.

    Raises:
        ReplayError: it cannot be run, recorded nothing, was given up, or somebody else killed it.
    """
    with tempfile.TemporaryDirectory(prefix="stepper-replay-") as folder:
        path = os.path.join(folder, "replay.stepper")
        spec = msgspec.structs.replace(plan.spec, recording=path, changes=changes, echo=False)
        if texts:
            spec = in_scratch(spec, plan, dict(texts), folder)
        trouble = _run(spec, plan, seconds, progress or Progress())
        if not os.path.exists(path):
            raise ReplayError(f"nothing was recorded when it was run again; {trouble}")
        again = Recording.open(path)
        try:
            yield again, trouble
        finally:
            again.close()


def _run(spec: LaunchSpec, plan: Plan, seconds: float, progress: Progress) -> str:
    output: list[str] = []

    def heard(event: SessionEvent) -> None:
        if isinstance(event, OutputArrived):
            output.append(event.text)
            del output[:-_HEARD]

    with running(spec, plan, progress) as session:
        session.subscribe(heard)
        in_time = session.wait(seconds)
        status = session.exit_status
    progress.check()
    if not in_time:
        return f"it was killed after {seconds:g} s"
    if status is None or status.code == 0:
        return ""
    if status.signal == signal.SIGKILL:
        # No program does that to itself: it says nothing of what was tried.
        raise ReplayError(
            "the run was killed by SIGKILL from outside, for want of memory for instance"
        )
    said = clip(exception_line("".join(output)), _SAID)
    return ": ".join(filter(None, (f"it {status.sentence}", said)))


@contextlib.contextmanager
def running(spec: LaunchSpec, plan: Plan, progress: Progress) -> Iterator[Session]:
    """The program of a plan at work, for as long as the block lasts.

    Args:
        spec: that of the plan, with what is to be watched.
        plan: what the user has agreed to.
        progress: where it is said what runs, and where it can be given up.

    Raises:
        ReplayError: it cannot be started, or was given up.
    """
    progress.check()
    plan.see_unchanged()
    with _surroundings(plan, os.path.dirname(spec.recording or "")):
        try:
            session = launch(spec)
        except LaunchError as error:
            raise ReplayError(str(error)) from None
    try:
        progress.runs(session)
        yield session
    finally:
        with contextlib.suppress(ReplayError):
            progress.runs(None)
        # Also at Ctrl-C: not to be hung up on, which a program may survive.
        session.kill()
        session.close()


@contextlib.contextmanager
def _surroundings(plan: Plan, scratch: str) -> Iterator[None]:
    """The directory and the hash seed that the program had; `scratch`: a folder of this run."""
    before = {name: os.environ.get(name) for name in (HASH_SEED, CACHES)}
    if plan.hash_seed:
        os.environ[HASH_SEED] = plan.hash_seed
    if plan.empty_caches:
        os.environ[CACHES] = os.path.join(scratch, "caches")
    try:
        with contextlib.chdir(plan.folder):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
