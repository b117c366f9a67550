"""What is offered for the word that is typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.client.session import open_recording
from stepper.console.line_input import candidates
from stepper.console.shell import Shell
from tests.recordings import sample_recording


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    sample_recording(str(tmp_path / "r.stepper"))
    session = open_recording(str(tmp_path / "r.stepper"))
    shell = Shell(session, ())
    shell.cursor.goto(3)
    yield shell
    session.close()


@pytest.mark.parametrize(
    ("before", "offered"),
    [
        ("", {"step", "s", "why-break"}),
        ("he", {"help"}),
        ("help ", {"step", "break"}),
        ("b ", {"graph-break", "function:Net.forward", "recordings.py:"}),
        ("p ", {"self", "x"}),
        ("to ", {"graph-break", "recompile"}),
        ("cl ", {"all"}),
    ],
)
def test_the_word_decides_what_is_offered(shell: Shell, before: str, offered: set[str]) -> None:
    assert offered <= set(candidates(shell, before))


def test_breakpoints_are_offered_by_number(shell: Shell) -> None:
    shell._one("b graph-break")
    assert "1" in candidates(shell, "disable ")
