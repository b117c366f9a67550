"""Where recordings go when nobody says: the state directory, kept private and kept small."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from stepper.recording.occupied import delete, process_exists

KEEP = 20
"""How many recordings the default directory holds; older ones make room."""

SUFFIX = ".stepper"


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
    directory = recordings_directory()
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Programs' data can be in a recording; the umask may have been laxer than 0700 elsewhere.
    directory.chmod(0o700)
    prune(directory, KEEP - 1)
    stem = re.sub(r"[^\w.-]+", "-", Path(program).stem).strip("-") or "program"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return str(directory / f"{stem[:60]}-{stamp}-{{pid}}{SUFFIX}")


def prune(directory: Path, keep: int) -> None:
    """Delete all but the newest `keep` recordings, with the files SQLite keeps beside them."""
    aged: list[tuple[float, Path]] = []
    for path in directory.glob(f"*{SUFFIX}"):
        try:
            aged.append((path.stat().st_mtime, path))
        except OSError:
            continue
    aged.sort(reverse=True)
    for _, path in aged[keep:]:
        if _in_use(path):
            continue
        delete(str(path))


def _in_use(path: Path) -> bool:
    """Whether the process that a default name ends with still runs."""
    match = re.search(r"-(\d+)$", path.stem)
    return match is not None and process_exists(int(match[1]))
