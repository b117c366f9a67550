"""The beginning and the end of a session in the user's process.

`begin` is called before the program's first line (by `startup/sitecustomize.py`) or in its midst
(by `stepper.breakpoint()` and the like). It opens the recording and the channel and waits for the
compiler to be imported; nothing else of the process changes. A session ends with the interpreter,
with a detach, or, in a forked child, at once. Where children are recorded, too
(`stepper.debuggee.children`), a session of the child's own follows.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import sys
import time
import traceback
from functools import partial
from typing import TYPE_CHECKING

import msgspec

import stepper
from stepper._C import call_and_undo, keep_stack_chunk, release_stack_chunk
from stepper.debuggee import children
from stepper.debuggee.channel import Channel
from stepper.debuggee.controller import Controller
from stepper.debuggee.engine import Engine, EngineType
from stepper.debuggee.evaluator import describe_exception
from stepper.debuggee.nothing_seen import compiler_is_there, why_nothing
from stepper.debuggee.registry import EngineError, find
from stepper.model.capabilities import Capabilities
from stepper.model.control import Exiting, Hello, Moved, Notice
from stepper.model.launch import DebuggeeConfig, encode_config
from stepper.model.printing import say
from stepper.model.trace import EventKind, Phase, SessionFacts
from stepper.recording.at_once import at_once
from stepper.recording.errors import RecordingError
from stepper.recording.process_entry import rank
from stepper.recording.writer import Writer
from stepper.support.arrival import when_imported
from stepper.support.debug_log import log
from stepper.support.needed import explain_import
from stepper.support.system import absolute, here
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepper.debuggee.recorder import Recorder


class Debuggee:
    """A session of this process: what records, what listens, and what watches."""

    def __init__(
        self,
        config: DebuggeeConfig,
        kind: EngineType,
        channel: Channel | None,
        writer: Writer,
        *,
        arrived: bool = False,
    ) -> None:
        """`arrived`: the compiler has just been imported, so nobody need wait for it."""
        self.pid = os.getpid()
        self.writer = writer
        self._channel = channel
        self._detail = config.detail
        self._phases = frozenset(
            phase
            for phase, asked in ((Phase.LOOKUP, config.lookups), (Phase.EXECUTE, config.execute))
            if asked
        )
        self._engine_name = config.engine
        self._kind = kind
        self._launched = bool(config.path_entry)
        self._blind = False
        """Whether the engine could not be installed."""
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
        self._closer: object = None
        """The call of `close` that ends the session."""
        self._said_why: list[bool] = []
        self._told_end: list[bool] = []
        writer.on_failure = self._writing_failed
        writer.on_create = self._created
        writer.on_move = self._moved
        self._said: set[str] = set()
        self._stop_waiting: Callable[[], None] = _nothing
        if arrived:
            self._install()
        else:
            self._stop_waiting = when_imported(kind.compiler, self._install)
        self._stop_serving = _nothing if kind.serve is None else kind.serve(self._say_once)

    def _install(self) -> None:
        """The compiler has been imported: watch it."""
        compiler_is_there()
        try:
            # Only now: a program that never compiles anything need not wait for it.
            from stepper.debuggee.recorder import Recorder

            engine = self._kind.create()
            if self._changes:
                engine.change(self._changes)
            recorder = Recorder(self.writer, self.controller, engine, detail=self._detail)
            recorder.walks.asked = self._phases
            recorder.from_the_start = self._launched or children.entry() is not None
            self.controller.attach(engine, recorder)
            engine.install(recorder)
            keep_stack_chunk()
            log(f"watches with the {self._engine_name} engine")
        except Exception as error:  # nothing of ours may fail the program's import
            reason = explain_import(error) or describe_exception(error)
            text = f"stepper cannot watch this program: {reason}"
            self._blind = True
            log(f"cannot watch: {''.join(traceback.format_exception(error))}")
            self.writer.event(0, EventKind.NOTE, text)
            self.writer.flush()
            self._say(text)
        else:
            self._engine = engine
            self._recorder = recorder

    def _writing_failed(self, reason: str) -> None:
        self._say(f"the recording ends here, the program goes on: {reason}")

    def _created(self) -> None:
        if self._channel is not None:
            self._channel.send(Moved(recording=self.writer.path))

    def _moved(self, text: str) -> None:
        self._created()
        if (entry := children.entry()) is not None:
            entry.update(recording=os.path.basename(self.writer.path))
        self._say(text)

    def _say(self, text: str) -> None:
        """Tell what must not go unseen: the recording is not where it was asked for, or not all."""
        if (entry := children.entry()) is not None:
            entry.update(note=text)
        # A program that a front end has started has its own terminal, whatever became of that, and
        # its children write to the same.
        if self._channel is not None or entry is not None:
            self.controller.notice(text)
        else:
            with contextlib.suppress(Exception):  # the program's stderr can be anything
                say(f"stepper: {text}", sys.stderr)

    def _say_once(self, text: str) -> None:
        """Tell something about the whole session, and write it down."""
        if text not in self._said:
            self._said.add(text)
            self.writer.event(0, EventKind.NOTE, text)
            self._say(text)

    def close(self, ended: str = "exit") -> None:
        """End the session in order; the program goes on. Harmless when it has ended.

        An interrupt that comes in the midst reaches the program when the session has ended.
        """
        call_and_undo(partial(self._end, object(), ended), _nothing)

    def _end(self, closer: object, ended: str) -> None:
        """Called again, from its beginning, when it is interrupted: what is done is done twice."""
        if self._closer is None:
            self._closer = closer
        if self._closed or self._closer is not closer:
            return
        log(f"closes the session: {ended}")
        self.controller.let_go()
        if ended == "exit" and not self._told_end:
            self._tell_the_end()
        self._unhook()
        if ended == "exit" and self._launched and not self._said_why and self._saw_nothing():
            text = why_nothing(
                self._engine_name,
                self._kind.capabilities,
                serves=self._kind.serve is not None,
                children=children.entry() is not None,
                skipped="" if self._recorder is None else self._recorder.first_skip,
            )
            noted = (self.writer.event, 0, EventKind.NOTE, text)
            at_once(noted, (self._said_why.append, True))
        self.writer.close(ended)
        if self._channel is not None:
            if ended == "exit":
                self._channel.send(Exiting())
            self._channel.close()
        _forget(self)
        self._closed = True

    def _tell_the_end(self) -> None:
        """What compiled code raised when it ran is told if the program ended with it."""
        error: BaseException | None = sys.__dict__.get("last_value")
        engine, recorder = self._engine, self._recorder
        if engine is None or recorder is None or error is None:
            return
        if not issubclass(type(error), Exception):
            return  # the user's Ctrl-C is nobody's failure
        with contextlib.suppress(Exception):  # of what is said of the program's last exception
            failure = engine.ended_by(error)
            if failure is not None:
                at_once((recorder.ended_by, failure), (self._told_end.append, True))

    def _saw_nothing(self) -> bool:
        """Whether there was nothing to see (and not: nobody to see it)."""
        recorder = self._recorder
        return not self._blind and (
            recorder is None or (recorder.moment == 0 and not recorder.broken)
        )

    def abandon(self) -> None:
        """In a forked child: let go of everything, and leave what is the parent's untouched."""
        call_and_undo(self._let_go, _nothing)

    def _let_go(self) -> None:
        self._closed = True
        log("lets go in a forked child")
        self.controller.abandon()
        self.writer.abandon()
        self._unhook()
        _forget(self)

    def came_out_of_the_compiler(self, error: BaseException) -> bool:
        """Whether the compiler that is watched raised it, or was at work."""
        return self._engine is not None and self._engine.came_out(error)

    def _unhook(self) -> None:
        self._stop_waiting()
        self._stop_serving()
        if self._recorder is not None:
            self._recorder.detach()
        if self._engine is not None:
            self._engine.uninstall()
            release_stack_chunk()


def _nothing() -> None:
    return None


FIRST_WORDS = 2.0
"""Seconds that a process waits until its front end has said where to stop."""


_session: Debuggee | None = None
_hooked = False


def current() -> Debuggee | None:
    """The session of this process, if there is one."""
    children.begin_now()
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
    try:
        kind = find(config.engine)
    except EngineError as error:
        return None, _refused(channel, collect_facts(config, Capabilities()), str(error))
    facts = collect_facts(config, kind.capabilities)
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
    if writer is None:
        return None, _refused(channel, facts, trouble)
    if channel is not None:
        channel.send(Hello(facts=facts, recording=path))
    session = _session = Debuggee(config, kind, channel, writer)
    if channel is not None:
        channel.start_reading()
    # Before `_hook`: a forked child's own session begins with what its parent's was like.
    if config.children:
        children.follow(
            config.children,
            # One that takes another's place has to be there before that one is asked.
            kind.compiler if kind.serve is None else f"{kind.compiler},torch",
            encode_config(children.child_config(config)),
            # A change has to be there before the program asks for what is other.
            doors="" if config.changes else kind.doors,
            how="first",
            restart=partial(_begin_in_copy, children.child_config(config)),
            close=_at_exit,
            forked=_forked,
        )
    _hook()
    if config.post_mortem:
        from stepper.debuggee import post_mortem

        post_mortem.install()
    return session, ""


def begin_in_child(config: DebuggeeConfig, arrived: str) -> None:
    """Begin the session of a process that one with a session has started: the module `arrived` has
    been imported, with which it begins.

    Raises:
        EngineError: there is no such engine here.
    """
    kind = find(config.engine)
    channel = _open_channel(config)
    _begin_recorded(config, kind, channel, arrived=arrived == kind.compiler)
    if channel is not None:
        channel.take_in(FIRST_WORDS)
        channel.start_reading()
    _hook()
    children.recording_begins(partial(_begin_in_copy, config), _at_exit, _forked)


def _begin_in_copy(config: DebuggeeConfig) -> None:
    """Begin the session of a forked child. Nothing of the world is asked that its parent has not
    asked."""
    channel = None
    if _session is not None:
        # One that the parent's front end has let go is not stopped here either.
        if config.socket and _session.controller.listens:
            breakpoints = _session.controller.breakpoints
            config = msgspec.structs.replace(config, breakpoints=breakpoints)
            with contextlib.suppress(Exception):
                channel = _open_channel(config)
        _session.abandon()
    with contextlib.suppress(Exception):  # what is ours must not keep the child from its work
        _begin_recorded(config, find(config.engine), channel, arrived=False)
        if channel is not None:
            channel.start_reading()


def _begin_recorded(
    config: DebuggeeConfig, kind: EngineType, channel: Channel | None, *, arrived: bool
) -> None:
    """A session whose file is made when there is something to write."""
    global _session
    entry = children.entry()
    assert entry is not None

    def facts() -> SessionFacts:
        found = collect_facts(config, kind.capabilities)
        entry.update(rank=found.rank)
        return found

    writer = Writer.later(entry.recording, facts)
    if channel is not None:
        channel.send(Hello(facts=collect_facts(config, kind.capabilities), recording=""))
    _session = Debuggee(config, kind, channel, writer, arrived=arrived)


def _refused(channel: Channel | None, facts: SessionFacts, trouble: str) -> str:
    """Say to the front end, if there is one, that nothing is recorded, and why."""
    if channel is not None:
        channel.send(Hello(facts=facts, recording=""))
        channel.send(Notice(text=trouble))
        channel.close()
    return trouble


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


def _forked() -> None:
    if _session is not None:
        _session.controller.keep_reading()


def _in_child() -> None:
    # One that is the child's own has begun already where children are followed.
    if _session is not None and _session.pid != os.getpid():
        _session.abandon()


# -- facts -------------------------------------------------------------------------------------


def collect_facts(config: DebuggeeConfig, capabilities: Capabilities) -> SessionFacts:
    """What this session is a session of."""
    return SessionFacts(
        argv=config.argv or tuple(getattr(sys, "orig_argv", ())),
        cwd=here(),
        pid=os.getpid(),
        rank=rank(),
        python=".".join(map(str, sys.version_info[:3])),
        torch=torch_version(),
        engine=config.engine,
        capabilities=capabilities,
        stepper=stepper.__version__,
        started=time.time(),
        hash_seed=os.environ.get("PYTHONHASHSEED", ""),
        detail=config.detail,
        launched=bool(config.path_entry),
        changes=tuple(map(str, config.changes)),
        secrets=config.secrets,
        origin=config.origin,
    )


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
    return absolute(path.replace("{pid}", str(os.getpid())).replace("{rank}", rank))


keep_out()
