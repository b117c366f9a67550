"""Where recordings go when nobody says: the state directory, kept private and kept small."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from stepper.recording import session_folder
from stepper.recording.occupied import delete, process_exists
from stepper.recording.process_entry import SUFFIX

KEEP = 20
"""How many recordings the default directory holds; older ones make room."""

SESSION_SUFFIX = ".session"
"""How the name of a folder ends that holds the recordings of several processes."""


def state_directory() -> Path:
    """`$XDG_STATE_HOME/stepper`, by default under `~/.local/state`."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "stepper"


def recordings_directory() -> Path:
    """Where recordings go when nobody says."""
    return state_directory() / "recordings"


def default_recording(program: str) -> str:
    """Path for a new recording of a program, in a directory that exists and is private.

    `{pid}` in it is for the debuggee to fill in: nobody knows the number before it runs.

    Raises:
        OSError: the directory cannot be made.
    """
    return str(_new_name(program)) + f"-{{pid}}{SUFFIX}"


def default_session(program: str) -> str:
    """Path for a new session folder of a program, likewise.

    Raises:
        OSError: the directory cannot be made.
    """
    return str(_new_name(program)) + f"-{os.getpid()}{SESSION_SUFFIX}"


def _new_name(program: str) -> Path:
    directory = recordings_directory()
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Programs' data can be in a recording; the umask may have been laxer than 0700 elsewhere.
    directory.chmod(0o700)
    prune(directory, KEEP - 1)
    stem = re.sub(r"[^\w.-]+", "-", Path(program).stem).strip("-") or "program"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return directory / f"{stem[:60]}-{stamp}"


def prune(directory: Path, keep: int) -> None:
    """Delete all but the newest `keep` recordings, with the files SQLite keeps beside them, and all
    but as many session folders."""
    for path in _aged(directory, SUFFIX)[keep:]:
        if not _in_use(path):
            delete(str(path))
    for path in _aged(directory, SESSION_SUFFIX)[keep:]:
        if not session_folder.is_in_use(str(path)):
            with contextlib.suppress(OSError):
                session_folder.delete(str(path))


def _aged(directory: Path, suffix: str) -> list[Path]:
    """The files with such names, from the newest on."""
    aged: list[tuple[float, Path]] = []
    for path in directory.glob(f"*{suffix}"):
        try:
            aged.append((path.stat().st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(aged, reverse=True)]


def _in_use(path: Path) -> bool:
    """Whether the process that a default name ends with still runs."""
    match = re.search(r"-(\d+)$", path.stem)
    return match is not None and process_exists(int(match[1]))
