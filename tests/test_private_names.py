"""Private names of torch are those of one engine: the rooms that serve every engine know none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "stepper"
ROOMS = ("recording", "debuggee", "client")
PRIVATE = re.compile(r"torch(?:\.\w+)*\._\w+(?:\.\w+)*")


def names(path: Path) -> Iterator[str]:
    """The private names of torch among a file's constants."""
    for node in ast.walk(ast.parse(path.read_text())):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and PRIVATE.fullmatch(value):
            yield value


def test_no_room_below_the_engines_names_what_is_private_to_torch() -> None:
    found = {
        str(path.relative_to(ROOT)): known
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if (known := set(names(path)))
    }
    assert not found
