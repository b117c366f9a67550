"""The Python that has imported torch, of which programs are forked: see `tests.ready`.

Only the standard library is imported here: a program sees what it would have imported itself. So a
program that is watched is forked of a second one, which has imported its engine, too.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import importlib.util
import io
import json
import os
import select
import signal
import socket
import sys
import weakref
from types import CodeType, ModuleType
from typing import Any

MOST_BYTES = 1 << 20
"""Of a request, which is one message."""

_FREE = 600
"""From here on descriptors are nobody's."""

ENGINES = {
    "dynamo": "stepper.engines.dynamo.engine",
    "native": "stepper.engines.native.engine",
}
"""What a program that an engine watches has imported when it has imported Dynamo."""

LOGS = ("TORCH_LOGS", "TORCH_LOGS_OUT", "TORCH_TRACE")
"""The variables that say what torch logs: it reads them when it is imported, and when told to."""

_IMPORTED = (
    "torch._dynamo.backends.registry", "torch._dynamo.repro.after_aot", "torch._inductor.codecache",
    "torch._inductor.compile_fx", "torch.distributed.tensor.experimental", "torch.export._trace",
    "sympy.combinatorics", "sympy.tensor.tensor",
)  # fmt: skip

Request = tuple[list[str], dict[str, str], str, str | None, str, list[int], bool]
"""The command, its environment and folder, its terminal and what it reads there (as
`stepper.client.process` has them), the numbers of the open files that come with it, and whether it
is killed when who asked for it has ended."""


def address(owner: int, engine: str = "") -> str:
    """Where the Python that `owner` has started can be reached, or the one that has an engine."""
    return f"\0stepper-tests-{owner}-{engine}"


def serve(owner: int, spared: dict[str, ModuleType]) -> Request:
    """Fork for each request, until there are no more; returns in a program's process. What is
    imported by then is spared at its end."""
    listeners = {engine: _listener(address(owner, engine)) for engine in ("", *ENGINES)}
    if os.fork():  # It can be asked now. The tests have no child that is not their own.
        os._exit(0)
    served = next((engine for engine in ENGINES if not os.fork()), "")
    if served:
        importlib.import_module(ENGINES[served])
    for engine, listener in listeners.items():
        if engine != served:
            listener.close()
    if (
        importlib.util.find_spec("triton") is None
    ):  # its nanobind says what it finds left at the end
        spared.update(sys.modules)
    for each in vars(weakref.finalize)["_registry"]:
        each.atexit = False
    return _serve(listeners[served])


def _listener(name: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(name)
    listener.listen(64)
    return listener


def _serve(listener: socket.socket) -> Request:
    # At its end Python looks at all objects for circles, which takes longer than most programs.
    # Triton, which comes with torch for GPUs, would say there what it finds still alive.
    if "triton" not in sys.modules:
        _set_aside()
    running: dict[int, tuple[int, socket.socket]] = {}
    bound: dict[int, int] = {}
    while True:
        ready = select.select([0, listener.fileno(), *running, *bound], [], [])[0]
        if 0 in ready:
            os._exit(0)
        for asked in bound.keys() & set(ready):
            signal.pidfd_send_signal(bound.pop(asked), signal.SIGKILL)
        for ended in running.keys() & set(ready):
            program, connection = running.pop(ended)
            bound.pop(connection.fileno(), None)
            os.close(ended)
            with connection, contextlib.suppress(OSError):  # who asked may have ended before
                connection.send(str(os.waitpid(program, 0)[1]).encode())
        if listener.fileno() not in ready:
            continue
        connection, _ = listener.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MOST_BYTES)
        body, files, _, _ = socket.recv_fds(connection, MOST_BYTES, 250)
        request: Request | None = json.loads(body) if body else None
        program = os.fork() if request else -1
        if not program:
            for number, other in running.items():
                os.close(number)
                other[1].close()
            listener.close()
            assert request is not None
            return _begin(connection, request, files)
        for number in files:
            os.close(number)
        if request:
            running[ended := os.pidfd_open(program)] = program, connection
            if request[6]:
                bound[connection.fileno()] = ended
        else:
            connection.close()


def _set_aside() -> None:
    """Have the collector leave alone what is there; a program is told of what it sets aside."""
    gc.freeze()
    count, ours = gc.get_freeze_count, gc.get_freeze_count()
    gc.get_freeze_count = lambda: max(0, count() - ours)


def _begin(connection: socket.socket, request: Request, files: list[int]) -> Request:
    """In the program's process: take its files and its terminal, and tell who asked that it is
    there; that lets go of the terminal then."""
    (begins,) = _moved([connection.detach()])
    for number, file in zip(request[5], _moved(files), strict=True):
        os.dup2(file, number)
        os.close(file)
    if request[3] is not None:
        _open_terminal(request[3], request[4])
    with socket.socket(fileno=begins) as told:
        told.send(str(os.getpid()).encode())
    return request


def _moved(files: list[int]) -> list[int]:
    """The same files where they are in nobody's way."""
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, _FREE) for number in files]
    for number in files:
        os.close(number)
    return moved


def program(request: Request) -> CodeType:
    """The program's code, when everything is as Python has it when it begins to run it."""
    argv, env, folder, *_ = request
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    _open_streams(bool(env.get("PYTHONUNBUFFERED")))
    if any(name in env for name in LOGS):
        logging = sys.modules["torch._logging._internal"]
        vars(logging)["LOG_TRACE_HANDLER"] = None  # it knows the folder, and is kept
        logging._init_logs()
    if "PYTHON_EXEC" in env:
        importlib.import_module("multiprocessing.spawn").set_executable(env["PYTHON_EXEC"])
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    sys.orig_argv = argv
    _, *sys.argv = argv
    path = env.get("PYTHONPATH", "")
    entries = path.split(os.pathsep) if path else []
    sys.path[:2] = entries  # in the place of the folder and the entry that this was started with
    sys.path_importer_cache.clear()
    if path and entries[0].endswith(os.path.join("debuggee", "startup")):
        sys.modules.pop("sitecustomize", None)  # Debian has one, which has run here
        with contextlib.suppress(ImportError):  # of the user's own
            import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  # as `site` does
    return _code()


def _open_terminal(terminal: str, reads: str) -> None:
    os.setsid()
    opened = os.open(terminal, os.O_RDWR)
    for number in (1, 2) if reads == "ours" else (0, 1, 2):
        os.dup2(opened, number)
    os.close(opened)
    if reads == "nothing":
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)


def _open_streams(unbuffered: bool) -> None:
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  # it stays open
    vars(sys)["__stdin__"] = sys.stdin
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = io.TextIOWrapper(
            open(number, "wb", 0 if unbuffered else -1, closefd=False),  # noqa: SIM115  # so do they
            errors=getattr(sys, name).errors,
            line_buffering=number == 2 or os.isatty(number),
            write_through=unbuffered,
        )
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)


def _code() -> CodeType:
    """What `sys.argv` says is to be run."""
    how = sys.argv[0]
    if how == "-m":
        sys.path.insert(0, os.getcwd())
        _, name, *arguments = sys.argv
        sys.argv = ["-m", *arguments]
        run = f"__import__('runpy')._run_module_as_main({name!r}, alter_argv=True)"
        return compile(run, "<frozen runpy>", "exec")
    if how == "-c":
        sys.path.insert(0, "")
        _, text, *arguments = sys.argv
        sys.argv = ["-c", *arguments]
        return compile(text, "<string>", "exec", dont_inherit=True)
    sys.path.insert(0, os.path.dirname(os.path.realpath(how)))
    path = os.path.abspath(how)
    with open(path, "rb") as script:
        return compile(script.read(), path, "exec", dont_inherit=True)


def begun(namespace: dict[str, Any], code: CodeType) -> tuple[CodeType, dict[str, Any]]:
    """The code, and a namespace for it as when Python begins to run it: that of a module which the
    garbage collector knows, since it does not look at what was there before."""
    sys.modules["__main__"] = module = ModuleType("__main__")
    for name in [name for name in namespace if not name.startswith("__")]:
        del namespace[name]
    vars(module).update(namespace, __doc__=None, __spec__=None)
    if code.co_filename == "<string>":
        del vars(module)["__file__"]
    else:
        vars(module)["__file__"] = code.co_filename
    return code, vars(module)


def leave_processor_caches() -> None:
    """Have Dynamo not measure how long guards take once it has compiled a frame.

    It fills the processor's caches with something else for that, which takes 20 ms each time, as
    long as to compile a small function. Guards are asked as often as before: they learn from it.
    Nothing that is tested tells the time that it measures. Where Dynamo is not imported it stays.
    """
    guards = sys.modules.get("torch._dynamo.guards")
    if guards is not None:
        guards.profile_guard_manager = lambda root, scope, times: float(  # type: ignore[attr-defined]  # torch has it
            all(root.check(scope) for _ in range(10 + times))
        )


def _prepare() -> None:
    """Import what takes long and what a first compilation would import, and find out what torch
    keeps and what is the same in every program."""
    for name in _IMPORTED:
        importlib.import_module(name)
    import torch

    torch._dynamo.backends.registry.list_backends()
    torch._inductor.codecache.torch_key()
    torch.overrides.get_overridable_functions()
    leave_processor_caches()


def _spared_at_the_end() -> dict[str, ModuleType]:
    """The modules that Python, when a program ends, is not to take apart: to fill in.

    That takes longer than most programs, for each page that is touched is copied. The program's own
    modules go as ever, and what they hold; what it wants to be called at its end is called before.
    """
    spared: dict[str, ModuleType] = {}
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(spared))
    modules = sys.modules

    def spare() -> None:  # without a name of this module: the program's has none of them
        for name, module in spared.items():
            if modules.get(name) is module:
                del modules[name]

    atexit.register(spare)  # the first is called last
    return spared


def _end_at_once() -> None:
    """Have a process end when Python has: what C++ has is not taken apart, which takes as long."""
    libc = ctypes.CDLL(None)
    libc.on_exit(libc._exit, None)  # with the status
    libc.on_exit(libc.fcloseall, None)  # before it: whatever was written is


if __name__ == "__main__":
    spared = _spared_at_the_end()
    _prepare()
    _end_at_once()
    exec(*begun(globals(), program(serve(int(sys.argv[1]), spared))))
