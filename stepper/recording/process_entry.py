"""What a process of a session says of itself: its entry in the session's index.

The index is a folder with one small JSON file for each process, which that process alone writes, by
renaming: nobody waits for a lock, a killed process leaves the last whole one, and folders of
several machines can be put together by copying. What a process cannot know of itself, how it
ended, is told by its parent when that waits for it, in a file of its own. The reader is
`stepper.recording.session_folder`.

It is imported in every process that a watched program starts, so it needs nothing that takes time
to import, the package `json` included.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Mapping

SUFFIX = ".stepper"
_MOST_COMMAND = 200
_PLAIN_CODE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,; "
_OPTIONS_WITH_VALUE = ("-W", "-X")

Field = int | float | str | list[str] | None


class Entry:
    """This process in the index of its session."""

    def __init__(self, folder: str, how: str) -> None:
        self.folder = folder
        self.pid = os.getpid()
        self._born = _born()
        self._fields: dict[str, Field] = {
            "pid": self.pid,
            "parent": os.getppid(),
            "how": how,
            "born": self._born,
            "boot": _boot(),
            "rank": rank(),
            "command": _command(),
            "started": time.time(),
        }
        self._name = self._claim()
        self.update(recording=self._name + SUFFIX)

    @property
    def recording(self) -> str:
        """Path of the recording, which is made when there is something to record."""
        return os.path.join(self.folder, self._name + SUFFIX)

    def update(self, **fields: Field) -> None:
        """Write the entry, with other values for some fields."""
        self._fields.update(fields)
        with contextlib.suppress(OSError):  # the folder may be gone, the disk full
            write(os.path.join(self.folder, f"{self._name}.json"), self._fields)

    def _claim(self) -> str:
        """The name of this process's files. A number comes again when there were many processes;
        and a process that has become another program without having recorded has its own again."""
        name, number = str(self.pid), 1
        while True:
            path = os.path.join(self.folder, f"{name}.json")
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            except FileExistsError:
                recorded = os.path.exists(os.path.join(self.folder, name + SUFFIX))
                if not recorded and self._born and _born_of(path) == self._born:
                    return name
            except OSError:
                return name
            else:
                return name
            number += 1
            name = f"{self.pid}-{number}"


def write_exit(folder: str, pid: int, status: int) -> None:
    """Note how a process ended, as `os.waitpid` says it, if it is one of the session's."""
    if not os.path.exists(os.path.join(folder, f"{pid}.json")):
        return
    now = time.time_ns()
    with contextlib.suppress(OSError):
        path = os.path.join(folder, f"{pid}.{now}.exit.json")
        write(path, {"pid": pid, "status": status, "at": now / 1e9})


def rank() -> int | None:
    """The rank, by the environment, or by torch where that has been told."""
    told = os.environ.get("RANK", "")
    if told.isdecimal():
        return int(told)
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_initialized():
            return int(distributed.get_rank())
    except Exception:  # half imported, or another version's
        return None
    return None


def _command() -> list[str]:
    """The interpreter and what it runs. Not the program's own words: there may be secrets in them.
    The recording, if there is one, has all of them, without those."""
    words = [str(word) for word in getattr(sys, "orig_argv", ())]
    shown = words[:1]
    rest = iter(words[1:])
    for word in rest:
        if word.startswith("-c"):
            code = word[2:] or next(rest, "")
            plain = next((at for at, sign in enumerate(code) if sign not in _PLAIN_CODE), len(code))
            return [*shown, "-c", code[: min(plain, _MOST_COMMAND)]]
        if word.startswith("-m"):
            return [*shown, "-m", (word[2:] or next(rest, ""))[:_MOST_COMMAND]]
        if not word.startswith("-") or word == "-":
            return [*shown, word[-_MOST_COMMAND:]]
        shown.append(word[:_MOST_COMMAND])
        if word in _OPTIONS_WITH_VALUE:
            shown.append(next(rest, "")[:_MOST_COMMAND])
    return shown


def process_name() -> str:
    """How `multiprocessing` calls this process; empty: it is none of its children."""
    module = sys.modules.get("multiprocessing.process")
    try:
        if module is None or module.parent_process() is None:
            return ""
        return str(module.current_process().name)[:_MOST_COMMAND]
    except Exception:  # a class of the program's own
        return ""


def _born() -> int:
    """When this process began, in the kernel's ticks: with the boot, its number is unique."""
    return born_at(os.getpid())


def born_at(pid: int) -> int:
    """When a process of this machine began, in the kernel's ticks; 0: not known, or it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return 0 if fields[0] == b"Z" else int(fields[19])
    except (OSError, ValueError, IndexError):
        return 0


def _boot() -> str:
    """Which start of which machine this is."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def _born_of(path: str) -> int:
    import json  # only where a number comes again

    try:
        with open(path, encoding="utf-8") as file:
            return int(json.load(file)["born"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def write(path: str, fields: Mapping[str, Field]) -> None:
    """Write a small JSON file: whole, or not at all.

    Raises:
        OSError: the system refuses.
    """
    text = ", ".join(f"{_quoted(name)}: {_json(value)}" for name, value in fields.items())
    draft = f"{path}.{os.getpid()}.draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    data = f"{{{text}}}\n".encode()
    try:
        whole = os.write(descriptor, data) == len(data)
    finally:
        os.close(descriptor)
    if not whole:  # the disk is full
        os.unlink(draft)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    os.replace(draft, path)


def _json(value: Field) -> str:
    """One value. The package `json` takes as long to import as all else here."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(map(_quoted, value))}]"
    if isinstance(value, int):
        return str(int(value))  # a member of an enumeration is one, too
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    # Lone surrogates, which stand for bytes of a name that are no text, are no JSON for others.
    text = text.encode(errors="replace").decode()
    plain = text.translate({0x22: '\\"', 0x5C: "\\\\"})
    return '"' + "".join(c if c >= " " else f"\\u{ord(c):04x}" for c in plain) + '"'
