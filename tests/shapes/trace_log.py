"""What torch itself says about sizes: the structured log that it writes with TORCH_TRACE."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Said(NamedTuple):
    """An entry of the log."""

    compile_id: str
    attempt: int
    """From 1."""
    kind: str
    body: dict[str, Any]


def entries(folder: Path) -> Iterator[Said]:
    """The entries about compilations, in order; file names stand in their stacks as texts."""
    (path,) = folder.glob("*.log")
    names: dict[int, str] = {}
    for line in path.read_text().splitlines():
        start = line.find("{")
        if start < 0 or line.startswith("\t"):
            continue
        found = json.loads(line[start:])
        if "str" in found:
            text, number = found["str"]
            names[number] = text
            continue
        for kind, body in found.items():
            if isinstance(body, dict) and "frame_compile_id" in found:
                for key in ("user_stack", "stack"):
                    for frame in body.get(key) or ():
                        frame["filename"] = names.get(frame["filename"], frame["filename"])
                where = f"{found['frame_id']}/{found['frame_compile_id']}"
                yield Said(where, found.get("attempt", 0) + 1, kind, body)
