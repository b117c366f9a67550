"""An installation without the C part, and in an environment without torch: it reads recordings.

It is a copy of the package with the C part left out, run by a Python that has only what its wheel
asks for; and once more with what is not there on Windows hidden.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, clean_environment
from tests.environments import make_environment, site_packages
from tests.recordings import sample_recording


class Reader:
    """The command of such an installation, and a recording."""

    def __init__(self, folder: Path, system: str) -> None:
        environment = folder / "environment"
        self._python = make_environment(
            environment, ["msgspec", "textual", "bytecode", "prompt_toolkit"]
        )
        shutil.copytree(
            ROOT / "stepper",
            site_packages(environment) / "stepper",
            ignore=shutil.ignore_patterns("_C.*", "__pycache__"),
        )
        if system == "windows":
            shutil.copy(
                Path(__file__).with_name("as_on_windows.py"),
                site_packages(environment) / "sitecustomize.py",
            )
        self._folder = folder
        self.recording = folder / "sample.stepper"
        sample_recording(str(self.recording))
        (folder / "program.py").write_text("print('it ran')\n")

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run `stepper` with these arguments."""
        env = {name: value for name, value in clean_environment().items() if name != "PYTHONPATH"}
        env["XDG_STATE_HOME"] = str(self._folder / "state")
        return subprocess.run(
            [self._python, "-m", "stepper", *map(str, arguments)],
            cwd=self._folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


@pytest.fixture(scope="module", params=["linux", "windows"])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader(tmp_path_factory.mktemp("reader"), request.param)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (("query", "{}", "select count(*) from frames"), "count"),
        (("why-break", "{}"), "graph break"),
        (("why-recompile", "{}"), "recompil"),
        (("report", "-o", "report.md", "{}"), ""),
        (("diff", "{}", "{}"), "no difference"),
        (("console", "-x", "where", "-x", "quit", "{}"), "(stepper) where"),
        (("list", "."), "sample.stepper"),
    ],
)
def test_it_answers(command: tuple[str, ...], answer: str, reader: Reader) -> None:
    done = reader(*(word.format(reader.recording) for word in command))
    assert done.returncode == 0, done.stderr
    assert answer in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [("record", "program.py"), ("console", "program.py"), ("why-break", "--replay", "--yes", "{}")],
)
def test_what_watches_a_program_is_refused(command: tuple[str, ...], reader: Reader) -> None:
    done = reader(*(word.format(reader.recording) for word in command))
    assert done.returncode == 2
    assert "can read recordings only" in done.stderr
    assert "it ran" not in done.stdout


def test_the_doctor_says_what_to_install_for_a_program(reader: Reader, tmp_path: Path) -> None:
    python = make_environment(tmp_path / "program", ["torch"])
    done = reader("doctor", "--python", python)
    assert done.returncode == 1
    (line,) = (line for line in done.stdout.splitlines() if "cannot be watched" in line)
    assert "for which this stepper is not built" in line
    assert f"{python} -m pip install torch-stepper==" in line
