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


def recompile_reasons(folder: Path) -> dict[str, list[str]]:
    """What torch says of each recompilation, by its compile id: a reason for each entry that there
    was, newest first."""
    (path,) = folder.glob("*.log")
    found: dict[str, list[str]] = {}
    lines = iter(path.read_text().splitlines())
    text = next(lines, None)
    while text is not None:
        head, payload, text = text, [], next(lines, None)
        while text is not None and text.startswith("\t"):
            payload.append(text[1:])
            text = next(lines, None)
        if '"name": "recompile_reasons"' in head:
            entry = json.loads(head[head.index("{") :])
            said = "\n".join(payload)
            several = said.startswith("[\n")
            where = f"{entry['frame_id']}/{entry['frame_compile_id']}"
            found[where] = json.loads(said) if several else [said]
    return found
