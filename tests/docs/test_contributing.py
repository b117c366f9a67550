"""What CONTRIBUTING.md sends people to is there."""

from __future__ import annotations

import importlib.util
import re

from tests.conftest import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
QUOTED = re.findall(r"`([^`\n]+)`", TEXT)


def test_files_and_folders_exist() -> None:
    folders = ("stepper/", "csrc/", "tests/", "docs/", ".ci/")
    paths = {word for text in QUOTED for word in text.split() if word.startswith(folders)}
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_modules_and_targets_exist() -> None:
    modules = {
        match[1] for text in QUOTED if (match := re.match(r"(?:\S*/)?python -m ([\w.]+)", text))
    }
    assert len(modules) > 5
    assert [name for name in sorted(modules) if importlib.util.find_spec(name) is None] == []
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    asked = {match[1] for text in QUOTED if (match := re.fullmatch(r"make (\w+)", text))}
    assert "quick" in asked <= targets
