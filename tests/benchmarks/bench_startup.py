"""What watching costs a program that never imports torch: the time until its first line."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.debuggee.harness import Program
from tests.real.running import environment

ROUNDS = 9
MOST_SECONDS = 0.1

FIRST_LINE = "import time; print(time.time())"


def test_the_first_line_is_soon_reached(tmp_path: Path) -> None:
    plain, watched = [], []
    script = tmp_path / "plain.py"
    script.write_text(FIRST_LINE)
    for _ in range(ROUNDS):
        begun = time.time()
        out = subprocess.check_output([sys.executable, script], env=environment(tmp_path))
        plain.append(float(out) - begun)
        begun = time.time()
        program = Program(FIRST_LINE, tmp_path)
        _, text, _ = program.finish()
        watched.append(float(text) - begun)
        program.close()
    print(f"first line after {min(plain) * 1e3:.0f} ms, watched {min(watched) * 1e3:.0f} ms")
    assert min(watched) - min(plain) < MOST_SECONDS
