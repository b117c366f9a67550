"""Which Python runs a program, where the user names none.

It is the one that runs stepper, if torch can be imported there. If not, stepper was installed as a
tool of its own (`uv tool install`, `pipx`), and the program has an environment elsewhere: the one
that is active, or a `.venv` in the program's folder or above it. Whether an environment has torch
is seen by its folder of packages: no Python is started to ask.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from stepper.support.system import absolute, here, user

_NAMES = (".venv", "venv")
_TORCH = "lib*/python3*/*-packages/torch/__init__.py"


def python_of(folder: str) -> str:
    """The interpreter for a program in a folder; empty: stepper's own."""
    if find_spec("torch") is not None:
        return ""
    for environment in _environments(Path(absolute(folder))):
        python = environment / "bin" / "python"
        if python.exists() and _has_torch(environment):
            return str(python)
    return ""


def _environments(folder: Path) -> Iterator[Path]:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if active := os.environ.get(variable):
            yield Path(active)
    current = Path(here())
    for place in dict.fromkeys((folder, *folder.parents, current, *current.parents)):
        for name in _NAMES:
            # Not one that somebody else has put above us, for instance into /tmp.
            if _is_ours(place / name):
                yield place / name


def _is_ours(environment: Path) -> bool:
    try:
        return (environment / "pyvenv.cfg").stat().st_uid in (user(), 0)
    except OSError:
        return False


def _has_torch(environment: Path) -> bool:
    if environment.resolve() == Path(sys.prefix).resolve():
        return False
    return any(any(place.glob(_TORCH)) for place in _places(environment))


def _places(environment: Path) -> Iterator[Path]:
    """An environment, and what it was made from if it has the packages of that, too."""
    yield environment
    settings = {}
    made = environment / "pyvenv.cfg"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in made.read_text().splitlines():
            name, _, value = line.partition("=")
            settings[name.strip().lower()] = value.strip()
    if settings.get("include-system-site-packages", "").lower() == "true" and "home" in settings:
        base = Path(settings["home"]).parent
        yield from (base, base / "local")  # Debian's pip installs below the second
