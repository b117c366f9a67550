"""Start a program under the debugger, or take over a control channel that somebody else opened.

The program runs as plain `python script.py args`, with no frame of ours on its stack. What brings
the debugger into it is one directory on PYTHONPATH with a `sitecustomize`, and one environment
variable; both are gone again before the program's first line.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
from glob import escape as glob_escape
from glob import glob
from typing import Literal

import msgspec

import stepper.debuggee
from stepper.client.channel import Channel
from stepper.client.origin import origin_of
from stepper.client.paths import default_recording, default_session
from stepper.client.process import Process, Reads
from stepper.client.processes import Listener, Processes
from stepper.client.program import program_file
from stepper.client.script_file import NoScriptError, script_file
from stepper.client.session import Session, number_breakpoints
from stepper.client.terminal import PseudoTerminal
from stepper.debuggee.registry import is_registered, no_engine
from stepper.model.breakpoint import Breakpoint
from stepper.model.change import Change
from stepper.model.launch import SESSION_VARIABLE, DebuggeeConfig, encode_config
from stepper.recording.occupied import in_use, is_recording, writer_of
from stepper.recording.process_entry import SUFFIX
from stepper.recording.session_folder import make
from stepper.support.debug_log import log
from stepper.support.system import absolute, here


class LaunchError(Exception):
    """A program cannot be started; the message says why and what to do next."""


class LaunchSpec(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A program and how to watch it."""

    kind: Literal["script", "module", "code"] = "script"
    target: str
    """Path of the script, name of the module (`-m`), or the code itself (`-c`)."""
    args: tuple[str, ...] = ()
    """The program's own arguments."""
    python: str = ""
    """The interpreter; empty: the one that runs stepper."""
    python_options: tuple[str, ...] = ()
    """The interpreter's own options, e.g. `-O`."""
    breakpoints: tuple[Breakpoint, ...] = ()
    recording: str | None = None
    """Where to record; None: the default directory, `{pid}` and `{rank}` are filled in."""
    engine: str = "dynamo"
    detail: str = "all"
    lookups: bool = False
    execute: bool = False
    secrets: bool = False
    """Whether values of environment variables, and what looks like a key, are recorded, too."""
    stop_at_entry: bool = False
    children: bool = False
    """Whether the processes that it starts are recorded, too. The recording is a folder then."""
    changes: tuple[Change, ...] = ()
    """What is to be tried."""
    post_mortem: bool = False
    """Whether the program opens a front end on its terminal when it dies while it compiles."""
    capture_output: bool = True
    """Run under a pseudo-terminal; False: with our own stdin, stdout and stderr."""
    reads: Reads = "terminal"
    """What it reads where its output is captured."""
    echo: bool = True
    """Whether the pseudo-terminal echoes what is typed; False where another terminal does."""
    rows: int = 24
    cols: int = 80

    @property
    def label(self) -> str:
        """The program's name for a person."""
        return "-c" if self.kind == "code" else self.target


def need_c_part() -> None:
    """See that programs can be watched from here.

    Raises:
        LaunchError: recordings can only be read.
    """
    if not glob(os.path.join(glob_escape(os.path.dirname(stepper.__file__)), "_C.*.so")):
        raise LaunchError(
            "this stepper can read recordings only: it was installed without its C part, which "
            "watches programs. Install it where a C compiler is, or where there is a wheel for "
            "this system and Python"
        )
    try:
        stepper.need_c_part()
    except ImportError as error:
        raise LaunchError(str(error)) from None


def launch(spec: LaunchSpec) -> Session:
    """Start the program. It stops at its first breakpoint, or with `stop_at_entry` at its first
    translation, or at that of the first of its children that comes to the compiler before it.

    Raises:
        LaunchError: the interpreter or the script is missing, or cannot be started.
    """
    numbered = tuple(number_breakpoints(spec.breakpoints))
    ours, theirs = socket.socketpair()
    terminal, listener, trouble = None, None, ""
    try:
        config = make_config(msgspec.structs.replace(spec, breakpoints=numbered), theirs.fileno())
        argv = command_line(spec)
        # `stepper record` stops nowhere.
        if config.children and spec.capture_output:
            try:
                listener = Listener(config.children)
            except OSError as error:
                trouble = f"what the program starts is recorded, and cannot be stopped: {error}"
            else:
                config = msgspec.structs.replace(config, socket=listener.path)
        if spec.capture_output:
            terminal = PseudoTerminal(spec.rows, spec.cols, echo=spec.echo)
        theirs.set_inheritable(True)
        log(f"starts {shlex.join(argv)}")
        process = start(argv, config, terminal.name if terminal else None, spec.reads)
    except BaseException:
        ours.close()
        if listener is not None:
            listener.close()
        if terminal is not None:
            terminal.close()
        raise
    finally:
        theirs.close()
    if terminal is not None:
        terminal.release_slave()
    session = Session(
        channel=Channel(ours),
        process=process,
        terminal=terminal,
        breakpoints=numbered,
        folder=config.children,
    )
    if listener is not None:
        Processes(session, listener, stop_at_entry=spec.stop_at_entry)
    elif trouble:
        session.notice(trouble)
    session.start_reading()
    return session


def attach(descriptor: int) -> Session:
    """A session over an inherited control channel, for a program that opened the debugger itself.

    Raises:
        LaunchError: the descriptor is no socket.
    """
    try:
        sock = socket.socket(fileno=descriptor)
    except OSError as error:
        raise LaunchError(
            f"descriptor {descriptor} is no control channel: {error.strerror}"
        ) from None
    sock.set_inheritable(False)
    session = Session(channel=Channel(sock))
    session.start_reading()
    return session


def make_config(spec: LaunchSpec, channel: int | None) -> DebuggeeConfig:
    """What the debuggee is told.

    Raises:
        LaunchError: there is no such engine, or nowhere to put the recording.
    """
    # Another interpreter may have others; what is not there either is told when it has begun.
    if not (spec.python or ":" in spec.engine or is_registered(spec.engine)):
        raise LaunchError(no_engine(spec.engine))
    recording, folder = spec.recording, ""
    if spec.children:
        folder = _session_folder(spec)
        recording = os.path.join(folder, "{pid}" + SUFFIX)
    elif recording is not None:
        check_output(recording)
    else:
        try:
            recording = default_recording("code" if spec.kind == "code" else spec.target)
        except OSError as error:
            raise LaunchError(
                f"cannot make the directory for recordings: {error}. "
                "Choose a file with -o FILE, or set XDG_STATE_HOME"
            ) from None
    argv = tuple(command_line(spec))
    started_in = here()
    program = program_file(spec.kind, spec.target, started_in)
    return DebuggeeConfig(
        stepper=stepper.__version__,
        recording=absolute(recording),
        channel=channel,
        engine=spec.engine,
        detail=spec.detail,
        lookups=spec.lookups,
        execute=spec.execute,
        secrets=spec.secrets,
        breakpoints=spec.breakpoints,
        stop_at_entry=spec.stop_at_entry,
        post_mortem=spec.post_mortem,
        children=folder,
        changes=spec.changes,
        path_entry=startup_directory(),
        argv=argv,
        origin=origin_of(argv, folder=started_in, engine=spec.engine, program=program),
    )


def _session_folder(spec: LaunchSpec) -> str:
    """Make the folder for the recordings of a program and of the processes that it starts."""
    path = spec.recording
    try:
        if path is None:
            path = default_session("code" if spec.kind == "code" else spec.target)
        return make(path)
    except FileExistsError:
        raise LaunchError(
            f"cannot record to {path}: with --children it has to be a new folder or an empty one"
        ) from None
    except OSError as error:
        raise LaunchError(f"cannot make the folder {path}: {error.strerror}") from None


def check_output(path: str) -> None:
    """See that a recording can be made there, before a program is started for it.

    Raises:
        LaunchError: its directory is missing or read-only, another kind of file is there, or a
        recording that another program still writes.
    """
    path = path.replace("{rank}", os.environ.get("RANK", "0"))
    directory = os.path.dirname(absolute(path))
    if not os.path.isdir(directory):
        raise LaunchError(f"cannot record to {path}: there is no directory {directory}")
    if not os.access(directory, os.W_OK):
        raise LaunchError(f"cannot record to {path}: no permission to write into {directory}")
    try:
        if not os.path.getsize(path):
            return
        if not is_recording(path):
            raise LaunchError(
                f"cannot record to {path}: it exists and is no recording; name another file with -o"
            )
    except FileNotFoundError:
        return
    except OSError as error:
        raise LaunchError(f"cannot record to {path}: {error.strerror}") from None
    if (pid := writer_of(path)) is not None:
        raise LaunchError(in_use(path, pid))


def command_line(spec: LaunchSpec, folder: str = "") -> list[str]:
    """The whole command, as one would type it.

    Args:
        spec: the program.
        folder: the one that it is started in; empty: the current one.

    Raises:
        LaunchError: the interpreter or the script does not exist.
    """
    python = find_python(spec.python)
    isolating = [option for option in spec.python_options if _isolates(option)]
    if isolating:
        raise LaunchError(
            f"python's option {isolating[0]} keeps stepper out of the program "
            "(-I, -E and -S ignore PYTHONPATH or site). Run it without that option, "
            "or use stepper.record() or stepper.breakpoint() in the program"
        )
    command = [python, *spec.python_options]
    if spec.kind == "module":
        command += ["-m", spec.target]
    elif spec.kind == "code":
        command += ["-c", spec.target]
    else:
        try:
            command.append(script_file(spec.target, folder))
        except NoScriptError as error:
            raise LaunchError(str(error)) from None
    return [*command, *spec.args]


def find_python(name: str) -> str:
    """Path of the interpreter to run.

    Raises:
        LaunchError: there is none.
    """
    wanted = name or sys.executable
    if not wanted:
        raise LaunchError("python does not know its own executable; name one with --python")
    found = shutil.which(wanted)
    if found is None:
        raise LaunchError(f"no python interpreter at {wanted!r}; name another with --python")
    return found


def startup_directory() -> str:
    """The directory whose `sitecustomize` begins the debuggee's side."""
    return os.path.join(os.path.dirname(stepper.debuggee.__file__), "startup")


def start(
    argv: list[str], config: DebuggeeConfig, terminal: str | None, reads: Reads = "terminal"
) -> Process:
    """Start the command with the configuration in its environment.

    Raises:
        LaunchError: the system refuses.
    """
    env = dict(os.environ)
    path = env.get("PYTHONPATH")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (config.path_entry, path)))
    env[SESSION_VARIABLE] = encode_config(config)
    try:
        return Process.spawn(argv, env, terminal, reads)
    except OSError as error:
        raise LaunchError(f"cannot start {argv[0]}: {error.strerror}") from None


def _isolates(option: str) -> bool:
    """Whether an option (or a cluster of them, like `-Es`) makes python ignore us."""
    if not option.startswith("-") or option.startswith("--"):
        return False
    for letter in option[1:]:
        if letter in "WX":
            return False
        if letter in "IES":
            return True
    return False
