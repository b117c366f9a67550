"""What `stepper completion` prints, in the shells that it is for: each completes in a terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pexpect
import pytest

import stepper.cli
from stepper.cli.arguments import build_parser
from stepper.cli.completion import FILES, FOLDERS

NO_PATHS = {
    "COMMAND", "CODE", "DAYS", "ENTRY", "EXPRESSION", "FUNCTION", "GUARD", "MB", "MODULE",
    "MOMENT", "N", "NAME", "OPTION", "SECONDS", "SPEC", "SQL", "TEXT", ("X", "Y"), None,
}  # fmt: skip
"""How arguments are called that are no files or folders."""
LINES = {
    "why-rec": "why-recompile",
    "record --look": "--lookups",
    "run --engine na": "native",
    "completion z": "zsh",
    "open al": "alpha.stepper",
    "record be": "beta.py",
    "ranks ga": "gamma",
    "report alpha.stepper -o of": "of.html",
}
"""What is typed after `stepper`, and what the last word becomes."""
# Each shell as it is without anybody's settings, where it has read what the documentation says.
START = {
    "bash": (["--norc", "--noprofile"], 'eval "$(cat completion.bash)"'),
    "zsh": (["-f"], "fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -D -u"),
    "fish": ([], "true"),  # it reads its folder by itself
}
READ_FROM = {
    "bash": "completion.bash",
    "zsh": "functions/_stepper",
    "fish": ".config/fish/completions/stepper.fish",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home with something of each kind in it."""
    for name in ("alpha.stepper", "beta.py", "of.html"):
        (tmp_path / name).touch()
    (tmp_path / "gamma").mkdir()
    (tmp_path / "gallery.txt").touch()
    return tmp_path


@pytest.mark.parametrize("shell", START)
def test_a_shell_completes_commands_options_choices_and_files(
    shell: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    assert stepper.cli.main(["completion", shell]) == 0
    read = folder / READ_FROM[shell]
    read.parent.mkdir(parents=True, exist_ok=True)
    read.write_text(capsys.readouterr().out)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(folder), "PATH": path, "TERM": "dumb"}
    completed = _by_fish if shell == "fish" else _in_terminal
    found = completed(shell, folder, environment)
    # zsh takes the slash of a folder back, where nothing follows it.
    assert {typed: word.rstrip("/") for typed, word in found.items()} == LINES


def _in_terminal(shell: str, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Type each line and ask for completion; a function in stepper's place notes what is run."""
    options, start = START[shell]
    terminal = pexpect.spawn(
        shell, options, env=dict(environment), cwd=str(folder), encoding="utf-8", timeout=60
    )
    terminal.sendline(start)
    terminal.sendline('stepper() { printf "%s\\n" "${@: -1}" >> noted; }')
    for typed in LINES:
        terminal.sendline(f"stepper {typed}\t")
    terminal.sendline("exit")
    terminal.expect(pexpect.EOF)
    terminal.close()
    return dict(zip(LINES, (folder / "noted").read_text().splitlines(), strict=True))


def _by_fish(shell: str, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Ask fish, which tells without a terminal what it would complete."""
    asked = "; ".join(f"complete -C 'stepper {typed}'; echo =" for typed in LINES)
    done = subprocess.run(
        [shell, "-c", asked], env=environment, cwd=folder, capture_output=True, text=True,
        timeout=120, check=True,
    )  # fmt: skip
    parts = done.stdout.split("=\n")[:-1]
    return {
        typed: " ".join(line.partition("\t")[0] for line in part.splitlines())
        for typed, part in zip(LINES, parts, strict=True)
    }


def test_each_argument_is_known_to_be_a_path_or_none() -> None:
    _, parsers = build_parser()
    found = {action.metavar for each in parsers.values() for action in each._actions}
    assert found == FILES | FOLDERS | NO_PATHS
