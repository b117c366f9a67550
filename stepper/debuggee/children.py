"""Following a program into the processes that it starts: each is recorded by itself.

**How a child is found.** By its environment: our directory on PYTHONPATH and one variable, as for
the program itself (`startup/sitecustomize.py`), gone again before its first line. What was decided
against: a `.pth` file in the user's environment would have to be installed, and acts in programs
that nobody watches; words put into command lines show in `sys.orig_argv`; variables that stay in
`os.environ` are seen by the program, are lost where it passes an environment of its own (torchrun
does), and are printed by whoever lists them. So the variables are put in where a process is made,
by hooks in the functions of CPython that do it (csrc/support/processes.c): `subprocess`,
`multiprocessing`, pools, torchrun and `os.spawn*` all end there. A program that is no Python, such
as a shell, sees them and hands them on.

**What a child costs.** Most children compile nothing: pools, loaders, trackers of resources. So
this module is all that is imported in one: it needs no package and no database. When the compiler
is imported, the engine's doors are watched; when something comes through one, the rest of stepper
is loaded; and a file is made when there is something to record. In a forked child nothing has to be
imported; its parent's session is let go, and one of its own begun.

**The index** is written by `stepper.recording.process_entry`, and read by `session_folder` there.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stepper import _C
from stepper.recording import process_entry
from stepper.support.arrival import when_imported
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.model.launch import DebuggeeConfig

VARIABLE = "STEPPER_CHILD"
"""What a child is told: the modules to wait for, the `DebuggeeConfig` as JSON, the engine's doors,
and the folder, in a line each."""
_PATH = "PYTHONPATH"
_STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


class _Following:
    """What this process hands on to those that it starts."""

    def __init__(self, entry: process_entry.Entry, compiler: str, config: str, doors: str) -> None:
        self.entry = entry
        self.compiler = compiler
        self.config = config
        self.doors = doors
        self.begin: Callable[[str], None] | None = None
        """Begins this process's session, given the module that is there; None: it has begun."""
        self.beginning = _C.ReentrantLock()
        """Held while it begins: what another thread has compiled meanwhile is recorded, too."""
        self.stop_waiting: Callable[[], None] = lambda: None
        """Takes away what waits for the compiler to be used."""
        self.restart: Callable[[], None] | None = None
        """Begins a session in a forked child; None: the compiler is not there yet."""
        self.close: Callable[[], None] = lambda: None
        """Ends this process's session in order."""
        self.forked: Callable[[], None] = lambda: None
        """Called when this process has forked."""

    @property
    def text(self) -> str:
        """What stands in the environment of what this process starts; `begin_child` reads it."""
        return f"{self.compiler}\n{self.config}\n{self.doors}\n{self.entry.folder}"


_following: _Following | None = None
_apart = 0
_hooked = False


def entry() -> process_entry.Entry | None:
    """This process's entry, when it is one of a session with children."""
    return None if _following is None else _following.entry


def follow(
    folder: str,
    compiler: str,
    config: str,
    *,
    how: str,
    doors: str = "",
    restart: Callable[[], None] | None = None,
    close: Callable[[], None] = lambda: None,
    forked: Callable[[], None] = lambda: None,
) -> process_entry.Entry:
    """Enter this process into the index, and follow it into those that it starts.

    Args:
        folder: the session's.
        compiler: names of the modules at whose import a child's session begins, with commas.
        config: the children's configuration, encoded.
        how: how the process came to be.
        doors: see `EngineType.doors`.
        restart: see `recording_begins`.
        close: likewise.
        forked: likewise.
    """
    global _following, _hooked
    _following = _Following(process_entry.Entry(folder, how), compiler, config, doors)
    recording_begins(restart, close, forked)
    _C.hook_processes(_environment, _leaving, _child_ended, _forked)
    if not _hooked:
        _hooked = True
        atexit.register(_at_exit)
        when_imported("multiprocessing.util", _hear_names)
        os.register_at_fork(after_in_child=_in_child)
    return _following.entry


def recording_begins(
    restart: Callable[[], None] | None, close: Callable[[], None], forked: Callable[[], None]
) -> None:
    """Take note of a session: in a forked child `restart` begins another, `forked` goes on with
    this one in the parent, and `close` ends it where the process is left without being
    finalized."""
    assert _following is not None
    _following.restart, _following.close, _following.forked = restart, close, forked


def begin_child(text: str, home: str) -> None:
    """In a process that one that is watched has started, before its first line.

    Args:
        text: what the parent has put into its environment.
        home: the folder that holds the package, for what it needs and the program has not.
    """
    compiler, config, doors, folder = text.split("\n", 3)
    follow(folder, compiler, config, how="start", doors=doors)
    assert _following is not None
    _following.begin = partial(_begin, config, home)
    for module in compiler.split(","):
        when_imported(module, partial(_arrived, module))


def _arrived(module: str) -> None:
    """A module has been imported with which a session begins."""
    if _following is None or _following.begin is None:
        return
    if _following.doors:
        try:
            doors = import_module(_following.doors)
            _following.stop_waiting = doors.wait(partial(begin_now, module))
        except Exception:  # a torch that we do not know: the engine says so
            begin_now(module)
    else:
        begin_now(module)


def begin_now(module: str = "") -> None:
    """Begin the session of this process if it has been put off.

    Args:
        module: one of those to wait for that has been imported, if that is why.
    """
    if _following is None or _following.begin is None:
        return
    _following.beginning.during(_begin_once, _following, module)


def _begin_once(following: _Following, module: str) -> None:
    begin, following.begin = following.begin, None
    if begin is not None:
        following.stop_waiting()
        following.entry.update(**_who())
        begin(module)


def _begin(config: str, home: str, module: str) -> None:
    path = list(sys.path)
    known = home in sys.path_importer_cache
    try:
        if home not in sys.path:
            sys.path.append(home)
        from stepper.debuggee.start import begin_in_child
        from stepper.model.launch import decode_config

        begin_in_child(decode_config(config), module)
    except Exception as error:  # the program's use of its compiler goes on
        if _following is not None:
            _following.entry.update(note=f"not watched: {type(error).__name__}: {error}")
    finally:
        sys.path[:] = path
        if not known:
            sys.path_importer_cache.pop(home, None)


def child_config(config: DebuggeeConfig) -> DebuggeeConfig:
    """What is handed on of a configuration: what is recorded, and where the front end listens,
    which says where to stop."""
    import msgspec

    return msgspec.structs.replace(
        config, recording="", channel=None, breakpoints=(), stop_at_entry=False,
        post_mortem=False, path_entry="", argv=(), origin=None,
    )  # fmt: skip


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """What is forked or started meanwhile is stepper's own, and no process of the program."""
    global _apart
    _apart += 1
    try:
        yield
    finally:
        _apart -= 1


# -- what the hooks do ----------------------------------------------------------------------------


def _environment(given: Any) -> object:
    """An environment with what a child is to find in it."""
    if _following is None or _apart:
        return given
    if given is None or isinstance(given, Mapping):
        return _in_mapping(os.environ if given is None else given, _following.text)
    return _in_list(given, _following.text)


def _in_list(given: Sequence[bytes], text: str) -> list[bytes]:
    path_is, ours_is = f"{_PATH}=".encode(), f"{VARIABLE}=".encode()
    path = b""
    kept = []
    for each in given:
        if each.startswith(path_is):
            path = each[len(path_is) :]
        elif not each.startswith(ours_is):
            kept.append(each)
    entry = os.fsencode(_STARTUP)
    kept.append(path_is + (entry + os.pathsep.encode() + path if path else entry))
    kept.append(ours_is + os.fsencode(text))
    return kept


def _in_mapping(given: Mapping[Any, Any], text: str) -> dict[Any, Any]:
    copy = dict(given.items())
    path = [copy.pop(key) for key in (_PATH, _PATH.encode()) if key in copy]
    copy.pop(VARIABLE.encode(), None)
    rest = os.fsdecode(path[0]) if path else ""
    copy[_PATH] = _STARTUP + os.pathsep + rest if rest else _STARTUP
    copy[VARIABLE] = text
    return copy


def _leaving(status: int) -> None:
    """The process calls `os._exit`, as a forked child of `multiprocessing` does."""
    _end(status & 0xFF)


def _child_ended(pid: int, status: int) -> None:
    """`os.waitpid` has told of a child."""
    if pid > 0 and _following is not None and not _apart:
        process_entry.write_exit(_following.entry.folder, pid, status)


def _forked(_pid: int) -> None:
    """`os.fork` has come back in the parent."""
    if _following is not None:
        _following.forked()


def _at_exit() -> None:
    _end(None)


def _end(code: int | None) -> None:
    if _following is None or _apart or _following.entry.pid != os.getpid():
        return
    _following.close()
    ended: dict[str, process_entry.Field] = {"ended": time.time()}
    if code is not None:
        ended["exit"] = code
    _following.entry.update(**ended, **_who())


def _who() -> dict[str, process_entry.Field]:
    """What this process is called, as far as that is known by now: it may have left its group
    already, or not joined it yet."""
    known: dict[str, process_entry.Field] = {}
    if (rank := process_entry.rank()) is not None:
        known["rank"] = rank
    if name := process_entry.process_name():
        known["name"] = name
    return known


def _hear_names() -> None:
    # One that is killed does not say at its end what it was called.
    sys.modules["multiprocessing.util"].register_after_fork(_is_named, _is_named)


def _is_named(_: object) -> None:
    """This process has just begun as a child of `multiprocessing`, by whichever method."""
    if _following is not None and not _apart:
        _following.entry.update(**_who())


def _in_child() -> None:
    """This process is a copy of the one that was followed."""
    global _following
    before = _following
    if before is None:
        return
    if _apart:
        _following = None
        return
    with contextlib.suppress(Exception):  # Python would print it
        mine = process_entry.Entry(before.entry.folder, "fork")
        _following = _Following(mine, before.compiler, before.config, before.doors)
        _following.begin, _following.stop_waiting = before.begin, before.stop_waiting
        if before.restart is not None:
            recording_begins(before.restart, before.close, before.forked)
            before.restart()


keep_out()
