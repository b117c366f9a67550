"""Where recordings go when nobody says: the state directory, kept private and kept small."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

from stepper.model.printing import say
from stepper.recording import session_folder
from stepper.recording.occupied import delete, is_removable, process_exists
from stepper.recording.process_entry import SUFFIX

KEEP = 20
"""How many recordings the default directory holds; older ones make room."""
MOST_TOGETHER = 10_000_000_000
"""How many bytes they may have together."""

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
    _make_room(directory)
    stem = re.sub(r"[^\w.-]+", "-", Path(program).stem).strip("-") or "program"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return directory / f"{stem[:60]}-{stamp}"


def prunable(
    directory: Path,
    *,
    keep: int | None = None,
    older_than: float | None = None,
    together: int | None = None,
) -> list[Path]:
    """Recordings and session folders that go beyond what is to be kept, and may be deleted.

    Args:
        directory: where to look; nothing below it is looked at.
        keep: how many recordings stay, and how many session folders, from the newest on.
        older_than: seconds since it was written to, beyond which none stays.
        together: the bytes that all may have, from the newest on.
    """
    found = []
    used, now = 0, time.time()
    numbers: Counter[str] = Counter()
    for path, changed, size in _aged(directory):
        used += size
        numbers[path.suffix] += 1
        if (
            (keep is not None and numbers[path.suffix] > keep)
            or (older_than is not None and now - changed > older_than)
            or (together is not None and used > together)
        ) and _may_go(path):
            found.append(path)
    return found


def remove(path: Path) -> bool:
    """Delete a recording, or a session folder; False: it cannot be deleted."""
    try:
        if path.suffix == SESSION_SUFFIX:
            session_folder.delete(str(path))
        else:
            delete(str(path))
    except OSError:
        return False
    return not path.exists()


def _make_room(directory: Path) -> None:
    """Keep the default directory small; the first time that costs something, that is told."""
    gone = [
        path for path in prunable(directory, keep=KEEP - 1, together=MOST_TOGETHER) if remove(path)
    ]
    told = state_directory() / "pruning-told"
    if gone and not told.exists():
        with contextlib.suppress(OSError):
            told.touch()
        say(
            f"stepper: of the recordings in {directory} the newest {KEEP} are kept, and not more "
            f"than {MOST_TOGETHER // 10**9} GB; {len(gone)} of the oldest went (told once). -o "
            "records elsewhere",
            sys.stderr,
        )


def _may_go(path: Path) -> bool:
    if path.suffix == SESSION_SUFFIX:
        with contextlib.suppress(OSError):
            return session_folder.is_removable(str(path))
        return False
    return not _in_use(path) and is_removable(str(path))


def _aged(directory: Path) -> list[tuple[Path, float, int]]:
    """What has the name of a recording or of a session folder, with its age and size, from the
    newest on."""
    aged = []
    for path in (*directory.glob(f"*{SUFFIX}"), *directory.glob(f"*{SESSION_SUFFIX}")):
        try:
            status = path.stat()
            parts = path.iterdir() if path.is_dir() else ()
            size = status.st_size + sum(each.lstat().st_size for each in parts)
        except OSError:
            continue
        aged.append((path, status.st_mtime, size))
    return sorted(aged, key=lambda each: (-each[1], each[0]))


def _in_use(path: Path) -> bool:
    """Whether the process that a default name ends with still runs."""
    match = re.search(r"-(\d+)$", path.stem)
    return match is not None and process_exists(int(match[1]))
