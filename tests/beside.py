"""What somebody who means harm could put beside a recording that is sent to others."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

_MARK = bytes.fromhex("d9d505f920a163d7")


def journal_naming(recording: Path, victim: Path) -> bytes:
    """A journal that changes nothing of the recording, and names a file as the one that lists the
    journals of its transaction: SQLite deletes that file when it has rolled the journal back."""
    pages = recording.stat().st_size // 4096
    head = _MARK + struct.pack(">IIIII", 0, 0, pages, 512, 4096)
    name = os.fsencode(victim)
    super_journal = (
        struct.pack(">I", 1 + 0x40000000 // 4096)
        + name
        + struct.pack(">II", len(name), sum(name))
        + _MARK
    )
    return head.ljust(512, b"\x00") + super_journal


def fingerprint(directory: Path) -> dict[str, tuple[str, int, int]]:
    """The names in a directory, with content, mode and time of change of each."""
    found = {}
    for path in sorted(directory.iterdir()):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else ""
        if path.is_file():
            content += hashlib.sha256(path.read_bytes()).hexdigest()
        found[path.name] = (content, status.st_mode, status.st_mtime_ns)
    return found
