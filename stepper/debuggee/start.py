"""The beginning and the end of a session in the user's process.

`begin` is called before the program's first line (by `startup/sitecustomize.py`) or in its midst
(by `stepper.breakpoint()` and the like). It opens the recording and the channel and waits for the
compiler to be imported; nothing else of the process changes. A session ends with the interpreter,
with a detach, or, in a forked child, at once.
"""

from __future__ import annotations

import atexit
import importlib
import os
import re
import sys
import time
from typing import TYPE_CHECKING

import stepper
from stepper.debuggee.arrival import when_imported
from stepper.debuggee.channel import Channel
from stepper.debuggee.controller import Controller
from stepper.debuggee.engine import Engine
from stepper.debuggee.evaluator import describe_exception
from stepper.model.control import Exiting, Hello, Notice
from stepper.model.launch import DebuggeeConfig
from stepper.model.trace import EventKind, Phase, SessionFacts
from stepper.recording.errors import RecordingError
from stepper.recording.writer import Writer

if TYPE_CHECKING:
    from stepper.debuggee.recorder import Recorder

_TRIGGERS = {"dynamo": "torch._dynamo", "native": "stepper.engines.native.eval_frame"}
"""The module by whose import each engine's compiler arrives."""


class Debuggee:
    """A session of this process: what records, what listens, and what watches."""

    def __init__(self, config: DebuggeeConfig, channel: Channel | None, writer: Writer) -> None:
        self.writer = writer
        self._channel = channel
        self._detail = config.detail
        self._phases = frozenset(
            phase
            for phase, asked in ((Phase.LOOKUP, config.lookups), (Phase.EXECUTE, config.execute))
            if asked
        )
        self._engine_name = config.engine
        self._changes = config.changes
        self._engine: Engine | None = None
        self._recorder: Recorder | None = None
        self.controller = Controller(
            channel,
            breakpoints=config.breakpoints,
            stop_at_entry=config.stop_at_entry,
            on_detach=lambda: self.close("detached"),
        )
        self._closed = False
        writer.on_failure = self._writing_failed
        self._stop_waiting = when_imported(_TRIGGERS[config.engine], self._install)

    def _install(self) -> None:
        """The compiler has been imported: watch it."""
        try:
            # Only now: a program that never compiles anything need not wait for it.
            from stepper.debuggee.recorder import Recorder

            module = importlib.import_module(f"stepper.engines.{self._engine_name}")
            if self._changes:
                importlib.import_module(f"{module.__name__}.changes").change(self._changes)
            engine: Engine = module.create()
            recorder = Recorder(self.writer, self.controller, engine, detail=self._detail)
            recorder.walks.asked = self._phases
            self.controller.attach(engine, recorder)
            engine.install(recorder)
        except Exception as error:  # nothing of ours may fail the program's import
            text = f"stepper cannot watch this program: {describe_exception(error)}"
            self.writer.event(0, EventKind.NOTE, text)
            self.writer.flush()
            self.controller.notice(text)
        else:
            self._engine = engine
            self._recorder = recorder

    def _writing_failed(self, reason: str) -> None:
        text = f"the recording ends here, the program goes on: {reason}"
        self.controller.notice(text)

    def close(self, ended: str = "exit") -> None:
        """End the session in order; the program goes on. Harmless when it has ended."""
        if self._closed:
            return
        self._closed = True
        self.controller.let_go()
        self._unhook()
        self.writer.close(ended)
        if self._channel is not None:
            if ended == "exit":
                self._channel.send(Exiting())
            self._channel.close()
        _forget(self)

    def abandon(self) -> None:
        """In a forked child: let go of everything, and leave what is the parent's untouched."""
        self._closed = True
        self.controller.abandon()
        self.writer.abandon()
        self._unhook()
        _forget(self)

    def _unhook(self) -> None:
        self._stop_waiting()
        if self._recorder is not None:
            self._recorder.detach()
        if self._engine is not None:
            self._engine.uninstall()


_session: Debuggee | None = None
_hooked = False


def current() -> Debuggee | None:
    """The session of this process, if there is one."""
    return _session


def _forget(session: Debuggee) -> None:
    global _session
    if _session is session:
        _session = None


def begin(config: DebuggeeConfig) -> None:
    """Begin a session, if that is possible.

    Never prints and never raises because of the world around it: what went wrong is told to the
    front end, and the program runs.
    """
    try_begin(config)


def try_begin(config: DebuggeeConfig) -> tuple[Debuggee | None, str]:
    """Begin a session; without one, the second part says why."""
    global _session
    channel = _open_channel(config)
    facts = collect_facts(config)
    path = fill_in(config.recording) if config.recording else ""
    trouble = "no recording was asked for: there would be nothing to see"
    writer: Writer | None = None
    try:
        if path:
            if os.path.exists(path):
                from stepper.recording.occupied import make_room

                make_room(path)
            writer = Writer(path, facts)
    except (RecordingError, OSError) as error:
        trouble = str(error)
    if channel is not None:
        channel.send(Hello(facts=facts, recording=path if writer is not None else ""))
    if writer is None:
        if channel is not None:
            channel.send(Notice(text=trouble))
            channel.close()
        return None, trouble
    session = _session = Debuggee(config, channel, writer)
    if channel is not None:
        channel.start_reading()
    _hook()
    if config.post_mortem:
        from stepper.debuggee import post_mortem

        post_mortem.install()
    return session, ""


def _open_channel(config: DebuggeeConfig) -> Channel | None:
    try:
        if config.channel is not None:
            return Channel.inherited(config.channel)
        if config.socket:
            return Channel.connect(config.socket)
    except OSError:
        return None  # the front end is gone already; the recording goes on without it
    return None


def _hook() -> None:
    """Once per process: what happens at a fork and at the interpreter's end."""
    global _hooked
    if _hooked:
        return
    _hooked = True
    # First registered is last called: the program's own exit handlers are still watched.
    atexit.register(_at_exit)
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


def _at_exit() -> None:
    if _session is not None:
        _session.close()


def _before_fork() -> None:
    if _session is not None:
        _session.controller.before_fork()


def _after_fork() -> None:
    if _session is not None:
        _session.controller.after_fork()


def _in_child() -> None:
    if _session is not None:
        _session.abandon()


# -- facts -------------------------------------------------------------------------------------


def collect_facts(config: DebuggeeConfig) -> SessionFacts:
    """What this session is a session of."""
    rank = os.environ.get("RANK", "")
    return SessionFacts(
        argv=config.argv or tuple(getattr(sys, "orig_argv", ())),
        cwd=_cwd(),
        pid=os.getpid(),
        rank=int(rank) if rank.isdecimal() else None,
        python=".".join(map(str, sys.version_info[:3])),
        torch=torch_version(),
        engine=config.engine,
        stepper=stepper.__version__,
        started=time.time(),
        hash_seed=os.environ.get("PYTHONHASHSEED", ""),
        detail=config.detail,
        launched=bool(config.path_entry),
        changes=tuple(map(str, config.changes)),
    )


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been deleted
        return ""


def torch_version() -> str:
    """The version of the torch that the program would import; empty when there is none."""
    for entry in sys.path:
        try:
            with open(os.path.join(entry, "torch", "version.py"), encoding="utf-8") as file:
                match = re.search(r"^__version__ = ['\"]([^'\"]+)", file.read(), re.MULTILINE)
        except OSError:
            continue
        return match[1] if match is not None else ""
    return ""


def fill_in(path: str) -> str:
    """A recording's path with `{pid}` and `{rank}` filled in, made absolute."""
    rank = os.environ.get("RANK", "0")
    return os.path.abspath(path.replace("{pid}", str(os.getpid())).replace("{rank}", rank))
