"""`STEPPER_DEBUG=FILE` tells what stepper does, and costs nothing but that when it cannot."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, clean_environment


def record(folder: Path, log: Path) -> subprocess.CompletedProcess[str]:
    code = "import torch; torch.compile(lambda x: x * 2, backend='eager')(torch.ones(2))"
    return subprocess.run(
        [sys.executable, "-m", "stepper", "record", "-o", "r.stepper", "-c", code],
        cwd=folder,
        env=clean_environment() | {"PYTHONPATH": str(ROOT), "STEPPER_DEBUG": str(log)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_both_processes_say_what_they_do_line_by_line(tmp_path: Path) -> None:
    log = tmp_path / "debug.log"
    assert record(tmp_path, log).returncode == 0
    said = [line.split(": ", 1) for line in log.read_text().splitlines()]
    texts = [text for _, text in said]
    begun = texts.index("watches with the dynamo engine")
    assert texts.index("closes the session: exit") > begun
    assert any(text.startswith("commits ") for text in texts[begun:])
    assert len({where.split()[1].split(":")[0] for where, _ in said}) == 2  # processes
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_log_that_cannot_be_written_is_said_and_the_program_runs(tmp_path: Path) -> None:
    done = record(tmp_path, tmp_path / "missing" / "debug.log")
    assert done.returncode == 0
    assert "STEPPER_DEBUG=" in done.stderr
    assert "cannot be written: No such file or directory" in done.stderr
