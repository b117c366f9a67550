"""What is in the binary columns of a recording, for tests that look into the file themselves."""

from __future__ import annotations

import contextlib
import zlib


def inflated(stored: bytes) -> bytes:
    """A column as it was before it was compressed, if it was."""
    if stored.startswith(b"\x78"):
        with contextlib.suppress(zlib.error):
            return zlib.decompress(stored)
    return stored
