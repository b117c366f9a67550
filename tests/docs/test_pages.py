"""What the pages show is what happens: transcripts, code, links.

The transcripts show CPython's bytecode and Dynamo's words, which differ between versions. They are
compared word for word where the versions are those that the pages were made with; elsewhere it is
checked that every command is one.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from stepper.cli.arguments import parse
from tests.docs.transcripts import ROOT, Page, Session, pages, read_page

SAME_VERSIONS = sys.version_info[:2] == (3, 11) and version("torch").startswith("2.13.")

PAGES = [read_page(path) for path in pages()]
LIVELY = [
    page for page in PAGES if any(block.language in ("console", "python") for block in page.blocks)
]
SHELL = [
    (page.path.name, line)
    for page in PAGES
    for block in page.blocks
    if block.language == "sh"
    for line in block.text.splitlines()
    if line.startswith("stepper ")
]


def _name(page: Page) -> str:
    return str(page.path.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("page", LIVELY, ids=_name)
def test_the_examples_of_a_page(page: Page, tmp_path: Path) -> None:
    for what, outcome in page.run(tmp_path):
        if isinstance(outcome, Session):
            _check(outcome)
        else:
            assert outcome.returncode == 0, f"{what}\n{outcome.stderr}"


def _check(session: Session) -> None:
    for piece in session.pieces:
        said = "\n".join(piece.actual)
        if SAME_VERSIONS:
            expected = "\n".join(piece.expected)
            assert piece.agrees, f"{piece.typed}\n--- the page\n{expected}\n--- really\n{said}"
        else:
            # Its moments are others, so what is asked for may not be there.
            assert not said.startswith("*** unknown command"), f"{piece.typed}\n{said}"
            assert not re.match(r"\*\*\* .* is no command", said), f"{piece.typed}\n{said}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_file_that_a_page_shows_is_run(page: Page) -> None:
    commands = [piece.typed for block in page.blocks for piece in block.pieces]
    for block in page.blocks:
        if block.title.endswith(".py"):
            assert any(block.title in command for command in commands), block.title


@pytest.mark.parametrize(("page", "line"), SHELL)
def test_a_command_for_the_shell_is_understood(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    own = itertools.takewhile(lambda word: word not in (">", "|"), words)  # the rest is the shell's
    options = parse([*own][1:])
    assert options.subcommand == words[1]


def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # the theme's, about a future mkdocs
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        tags = re.findall(r'<(?:link|script|img)\b[^>]*(?:src|href)="https?:[^>]*>', text)
        # The page's own address is told, and not fetched.
        fetched = [tag for tag in tags if 'rel="canonical"' not in tag]
        assert not fetched, f"{page.name} fetches from elsewhere"


def test_the_site_has_the_addresses_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    source = project["urls"]["Source"]
    site = (ROOT / "mkdocs.yml").read_text()
    owner, name = source.split("/")[-2:]
    assert f"- Source: {source}\n" in site
    assert f"site_url: https://{owner}.github.io/{name}/\n" in site
