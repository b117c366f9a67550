"""Environments of their own for tests: a Python that has some of the packages that this one has.

Nothing is downloaded or copied (torch alone takes gigabytes): the packages are links to this
environment's.
"""

from __future__ import annotations

import subprocess
import sysconfig
import venv
from collections.abc import Iterable
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


def make_environment(folder: Path, requirements: Iterable[str]) -> Path:
    """A virtual environment with these packages and all that they need; the path of its Python."""
    venv.create(folder, symlinks=True, with_pip=False)
    packages = site_packages(folder)
    for name in sorted(with_what_they_need(requirements)):
        for entry in top_level(name):
            target = packages / entry.name
            if not target.exists():
                target.symlink_to(entry)
    return folder / "bin" / "python"


def site_packages(environment: Path) -> Path:
    """Where an environment has its packages."""
    base = {"base": str(environment), "platbase": str(environment)}
    return Path(sysconfig.get_path("purelib", scheme="venv", vars=base))


def with_what_they_need(requirements: Iterable[str]) -> set[str]:
    """The names of distributions, and those of all that they require here."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        if applies and wanted.name not in found:
            found.add(wanted.name)
            waiting += map(Requirement, distribution(wanted.name).requires or ())
    return found


def top_level(name: str) -> set[Path]:
    """The folders and files that a distribution has put into this environment's packages."""
    found = distribution(name)
    assert isinstance(found, PathDistribution)
    names = {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}
    return {Path(str(found.locate_file(part))) for part in names}


def install(python: Path, wheel: Path, installer: Path) -> None:
    """Put a wheel into an environment, and nothing beside it, with another environment's pip."""
    command: list[str | Path] = [
        installer,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
    ]
    subprocess.run([*command, "--no-index", "--disable-pip-version-check", wheel], check=True)
