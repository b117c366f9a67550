"""What is answered while a function is being compiled."""

from __future__ import annotations

import re
from pathlib import Path

from tests.console.test_programs import commands, console

STOPPED = """
import torch

@torch.compile(backend="eager")
def shifted(x):
    y = x * 2
    if x.shape[0] > 3:
        y = y + 1
    return y

for n in (2, 5):
    shifted(torch.ones(n))
"""


def test_at_a_stop_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "shifted.py").write_text(STOPPED)
    asked = "why-break", "why-recompile", "why-failed", "why-shape x.shape[0]", "is-guarded x"
    walk = commands("b shifted.py:7", "c", *asked, "c", *asked, "clear", "c", *asked)
    text = console(tmp_path, *walk, "-o", "run.stepper", "shifted.py")
    first, second, last = (
        re.split(r"^\(stepper\) .*\n", text, flags=re.M)[at : at + 5] for at in (3, 9, 16)
    )
    assert first[0] == "no graph break and no skipped frame so far\n"
    assert first[1].startswith("no function was compiled again so far; ")
    assert first[2].startswith("no compilation failed so far")
    assert first[4].startswith("no compilation is over so far")
    assert "0 recompilations; 1 being compiled\n" in second[1]
    assert "0/1 being compiled" in second[1]
    assert "x.shape[0] is free: the symbol" in second[3]
    assert "so far: its compilation is under way, and can ask for more\n" in second[3]
    assert "so far" not in "".join(last)
    assert "x.shape[0] is free: the symbol s77, 4 or more" in last[3]
