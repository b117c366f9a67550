"""Running the program of a recording again, in a scratch process, with something changed.

What is run is the command line that the recording holds, in its directory and with its hash seed,
under a pseudo-terminal whose output is kept and shown to nobody, for a limited time. The program is
the user's own, and does again whatever it does: writes its files, opens its connections. So it is
never run unasked, and not at all where it is not the program that was recorded: when the program
opened the recording itself (a test, a notebook, `stepper.record()`), its files are gone or have
changed, or it is one of several ranks.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator

import msgspec

from stepper.client.events import OutputArrived, SessionEvent
from stepper.client.launch import LaunchError, LaunchSpec, launch
from stepper.client.session import Session
from stepper.model.change import Change
from stepper.recording.reader import Recording

SECONDS = 300.0
"""How long a program may run, unless the user says otherwise."""
_WITH_VALUE = frozenset({"-X", "-W", "--check-hash-based-pycs"})
_TAIL = 400
"""Characters of a failed program's output that are told."""
_HASH_SEED = "PYTHONHASHSEED"


class ReplayError(Exception):
    """The program of a recording cannot be run again; the message says why."""


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


def program_of(recording: Recording) -> LaunchSpec:
    """The program of a recording, to be run again.

    Raises:
        ReplayError: it cannot be, or it is not the one that was recorded.
    """
    facts = recording.facts
    if not facts.argv:
        raise ReplayError("the recording does not hold the program's command line")
    if not facts.launched:
        raise ReplayError(
            "the program opened this recording itself, so nothing is known that would do it again; "
            "stepper record makes one that can be replayed"
        )
    if facts.rank is not None:
        raise ReplayError(f"it is rank {facts.rank} of several, which only run together")
    if not os.path.isdir(facts.cwd):
        raise ReplayError(f"the directory {facts.cwd!r} that it ran in is gone")
    spec = _parsed(facts.argv)
    files = {recording.code(item.code).filename for item in recording.translations()}
    if spec.kind == "script":
        files.add(os.path.join(facts.cwd, spec.target))
    _see_unchanged(files, facts.started)
    return msgspec.structs.replace(spec, engine=facts.engine)


def _parsed(argv: tuple[str, ...]) -> LaunchSpec:
    python, *words = argv
    options: list[str] = []
    while words and words[0].startswith("-") and words[0] not in ("-", "-m", "-c"):
        options.append(words.pop(0))
        if options[-1] in _WITH_VALUE and words:
            options.append(words.pop(0))
    kind = {"-m": "module", "-c": "code"}.get(words[0] if words else "", "script")
    rest = words if kind == "script" else words[1:]
    if not rest or rest[0] == "-":
        raise ReplayError("the program was read from standard input, and is not in the recording")
    return LaunchSpec(
        kind=kind,  # type: ignore[arg-type]
        target=rest[0],
        args=tuple(rest[1:]),
        python=python,
        python_options=tuple(options),
    )


def _see_unchanged(files: Iterable[str], since: float) -> None:
    for path in sorted(files):
        if path.startswith("<"):
            continue  # of code that was no file
        try:
            changed = os.stat(path).st_mtime > since
        except OSError:
            raise ReplayError(f"{path} is gone: record the program again") from None
        if changed:
            raise ReplayError(f"{path} has changed since: record the program again")


@contextlib.contextmanager
def replayed(
    recording: Recording,
    changes: tuple[Change, ...],
    *,
    seconds: float,
    progress: Progress | None = None,
) -> Iterator[tuple[Recording, str]]:
    """Run the program again with something changed; gives what was recorded then, for as long as
    the block lasts, and how it ended, empty when it ended with exit code 0.

    Args:
        seconds: after which it is killed.
        progress: where it is said what runs, and where it can be given up.

    Raises:
        ReplayError: it cannot be run, recorded nothing, or was given up.
    """
    spec = program_of(recording)
    with tempfile.TemporaryDirectory(prefix="stepper-replay-") as folder:
        path = os.path.join(folder, "replay.stepper")
        spec = msgspec.structs.replace(spec, recording=path, changes=changes, echo=False)
        trouble = _run(spec, recording, seconds, progress or Progress())
        if not os.path.exists(path):
            raise ReplayError(f"nothing was recorded when it was run again; {trouble}")
        again = Recording.open(path)
        try:
            yield again, trouble
        finally:
            again.close()


def _run(spec: LaunchSpec, recording: Recording, seconds: float, progress: Progress) -> str:
    output: list[str] = []

    def heard(event: SessionEvent) -> None:
        if isinstance(event, OutputArrived):
            output.append(event.text)
            del output[:-50]

    with running(spec, recording, progress) as session:
        session.subscribe(heard)
        in_time = session.wait(seconds)
        status = session.exit_status
    progress.check()
    if not in_time:
        return f"it was killed after {seconds:g} s"
    if status is None or status.code == 0:
        return ""
    last = "".join(output).strip()[-_TAIL:].splitlines()[-1:]
    return ": ".join([f"it {status.text}", *last])


@contextlib.contextmanager
def running(spec: LaunchSpec, recording: Recording, progress: Progress) -> Iterator[Session]:
    """The program of a recording at work again, for as long as the block lasts.

    Raises:
        ReplayError: it cannot be started, or was given up.
    """
    progress.check()
    with _surroundings(recording):
        try:
            session = launch(spec)
        except LaunchError as error:
            raise ReplayError(str(error)) from None
    try:
        progress.runs(session)
        session.write_input("\x04")  # nobody will type anything
        yield session
    finally:
        with contextlib.suppress(ReplayError):
            progress.runs(None)
        # Also at Ctrl-C: not to be hung up on, which a program may survive.
        session.kill()
        session.close()


@contextlib.contextmanager
def _surroundings(recording: Recording) -> Iterator[None]:
    """The directory and the hash seed that the program had."""
    seed = os.environ.get(_HASH_SEED)
    if recording.facts.hash_seed:
        os.environ[_HASH_SEED] = recording.facts.hash_seed
    try:
        with contextlib.chdir(recording.facts.cwd):
            yield
    finally:
        if seed is None:
            os.environ.pop(_HASH_SEED, None)
        else:
            os.environ[_HASH_SEED] = seed
