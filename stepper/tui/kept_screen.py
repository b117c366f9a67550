"""How a user has the screen, kept from one session to the next."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec


class KeptScreen(msgspec.Struct):
    """What is kept; whatever cannot be read or written is as if nobody had chosen anything."""

    preset: str = ""
    shares: dict[str, dict[str, float]] = {}
    """By preset: the factors by which groups and columns were made larger."""

    @classmethod
    def read(cls, path: Path) -> KeptScreen:
        """What was kept last."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except (OSError, msgspec.DecodeError):
            return cls()

    def write(self, path: Path) -> None:
        """Keep it, or leave what was kept where that is not possible."""
        written = path.with_name(f"{path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            written.write_bytes(msgspec.json.encode(self))
            written.replace(path)
