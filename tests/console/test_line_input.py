"""What is offered for the word that is typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.client.breakpoint_words import completions
from stepper.client.session import open_recording
from stepper.console.line_input import candidates, offered
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


@pytest.mark.parametrize(
    ("typed", "words", "replaced"),
    [
        ("hit:GPT2Model, wr", ["hit:GPT2Model, wrapper of f"], 17),
        ("hit:GPT2Model, wrapper ", ["hit:GPT2Model, wrapper of f"], 23),
        ("x hit:", ["hit:GPT2Model, wrapper of f", "hit:other"], 4),
        ("x ", ["hit:GPT2Model, wrapper of f", "hit:other", "x"], 0),
        ("", ["hit:GPT2Model, wrapper of f", "hit:other", "x"], 0),
        ("nothing like it", [], 0),
    ],
)
def test_names_with_blanks_are_completed(typed: str, words: list[str], replaced: int) -> None:
    known = ["hit:GPT2Model, wrapper of f", "hit:other", "x"]
    assert completions(known, typed) == (words, replaced)


def test_only_what_follows_the_command_is_completed(shell: Shell) -> None:
    assert offered(shell, "  hel") == (["help"], 3)
    words, typed = offered(shell, "b function:Net.f")
    assert "function:Net.forward" in words
    assert typed == len("function:Net.f")


def test_breakpoints_are_offered_by_number(shell: Shell) -> None:
    shell._one("b graph-break")
    assert "1" in candidates(shell, "disable ")
