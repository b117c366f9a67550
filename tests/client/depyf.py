"""A depyf that does what a test wants, for processes that look for it on their path."""

from __future__ import annotations

from pathlib import Path

import pytest

_MODULE = """
import sys
{begin}

def decompile(code):
    {body}
"""


def fake_depyf(
    folder: Path, monkeypatch: pytest.MonkeyPatch, body: str = "pass", *, missing: bool = False
) -> None:
    """Have processes that are started from here find a depyf with this `decompile(code)`.

    Args:
        folder: where to put it.
        body: one line.
        missing: importing it fails, as when it is not installed.
    """
    begin = "raise ImportError" if missing else ""
    (folder / "depyf.py").write_text(_MODULE.format(begin=begin, body=body), encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
