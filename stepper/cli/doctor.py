"""`stepper doctor`: whether stepper can work here, and with the program's torch."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from stepper.cli.arguments import UsageError
from stepper.model.printing import say

_PACKAGES = ("msgspec", "textual", "rich", "bytecode", "depyf")
_OPTIONAL = frozenset({"depyf"})
_SETTINGS = ("STEPPER_", "TORCH_LOGS", "TORCH_TRACE", "TORCHDYNAMO_", "TORCHINDUCTOR_")
"""How the names of variables begin that change what stepper or the compiler does."""
_ASK = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from stepper.engines.dynamo.health import main; main()"
)


class _Finding(NamedTuple):
    what: str
    found: str
    trouble: str = ""
    """What hinders, and what to do; empty: it is well."""


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "doctor",
        help="see whether stepper can work here; text for a bug report",
        description="See whether stepper can work here and with the program's torch. What is "
        "printed can be pasted into a bug report. The exit code is 1 when something is wrong.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--python", default="", metavar="PYTHON", help="the program's interpreter, as for run"
    )
    parser.set_defaults(handler=doctor)


def doctor(options: argparse.Namespace) -> int:
    """Say what is here, and what is wrong with it."""
    from stepper.client.interpreter import python_of
    from stepper.client.launch import LaunchError, find_python

    try:
        python = find_python(options.python or python_of(os.curdir))
    except LaunchError as error:
        raise UsageError(str(error)) from None
    found = [*_of_stepper(), *_of_the_program(python), *_of_the_terminal()]
    width = max(len(finding.what) for finding in found)
    for finding in found:
        say(f"{finding.what:{width}}  {finding.found}".rstrip())
        if finding.trouble:
            say(f"{'':{width}}  ! {finding.trouble}")
    wrong = sum(1 for finding in found if finding.trouble)
    say("nothing is wrong" if not wrong else f"{wrong} wrong, marked with !")
    return int(wrong > 0)


def _of_stepper() -> Iterator[_Finding]:
    from importlib.metadata import PackageNotFoundError, version

    import stepper

    folder = Path(stepper.__file__).parent
    yield _Finding("stepper", f"{stepper.__version__}  {folder}")
    yield _Finding("python", f"{platform.python_version()}  {sys.executable}")
    yield _Finding("system", platform.platform())
    built = sorted(path.name for path in folder.glob("_C.*.so"))
    yield _Finding("C part", ", ".join(built) or "none", _trouble_of_c_part(bool(built)))
    for package in _PACKAGES:
        try:
            yield _Finding(package, version(package))
        except PackageNotFoundError:
            install = f"{shlex.quote(sys.executable)} -m pip install {package}"
            trouble = "" if package in _OPTIONAL else install
            yield _Finding(package, "not installed", trouble)
    compiler = shutil.which(os.environ.get("CC", "cc"))
    yield _Finding("C compiler", compiler or "none (stepper is built by one; Inductor needs one)")
    yield _of_the_recordings()
    for name in sorted(os.environ):
        if name.startswith(_SETTINGS):
            yield _Finding("set", f"{name}={os.environ[name]}")


def _trouble_of_c_part(built: bool) -> str:
    import stepper

    if not built:
        return (
            "recordings can be read, and no program watched: install stepper where there is a C "
            "compiler"
        )
    try:
        stepper.need_c_part()
    except ImportError as error:
        return str(error)
    return ""


def _of_the_recordings() -> _Finding:
    from stepper.client.paths import recordings_directory
    from stepper.recording.process_entry import SUFFIX

    folder = recordings_directory()
    files = list(folder.glob(f"*{SUFFIX}"))
    size = sum(file.stat().st_size for file in files)
    there = folder
    while not there.exists():
        there = there.parent
    trouble = "" if os.access(there, os.W_OK) else "it cannot be written: set XDG_STATE_HOME"
    return _Finding("recordings", f"{len(files)} in {folder}, {size / 1e6:.0f} MB", trouble)


def _of_the_program(python: str) -> Iterator[_Finding]:
    import json
    import subprocess

    import stepper

    home = str(Path(stepper.__file__).parent.parent)
    try:
        done = subprocess.run(
            [python, "-c", _ASK, home], capture_output=True, text=True, timeout=300, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield _Finding("program's python", python, f"it cannot be started: {error}")
        return
    yield _Finding("program's python", python)
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        yield _Finding("torch", "unknown", f"it cannot be asked: {last}")
        return
    yield _of_torch(answer)


def _of_torch(answer: dict[str, Any]) -> _Finding:
    version = answer["torch"]
    trouble = answer.get("trouble", "")
    if not version:
        return _Finding("torch", "none", f"{trouble}. Name the program's Python with --python")
    if trouble:
        return _Finding("torch", version, f"it cannot be watched: {trouble}")
    oldest, newest = (".".join(map(str, answer[name])) for name in ("oldest", "newest"))
    if _numbers(version) < tuple(answer["oldest"]):
        return _Finding("torch", version, f"it is too old: {oldest} to {newest} can be watched")
    tested = _numbers(version) <= tuple(answer["newest"])
    words = "tested" if tested else f"tested are {oldest} to {newest}"
    if lacks := answer["lacks"]:
        return _Finding("torch", f"{version} ({words})", f"it lacks {', '.join(lacks)}")
    return _Finding("torch", f"{version} ({words}), and has all that is watched")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _of_the_terminal() -> Iterator[_Finding]:
    if not sys.stdout.isatty():
        yield _Finding("terminal", "none: this is not written to one")
        return
    size = shutil.get_terminal_size()
    colours = os.environ.get("COLORTERM", "")
    words = f"{os.environ.get('TERM', 'TERM is not set')}, {size.columns}x{size.lines}"
    words += f", {colours}" if colours else ""
    words += ", NO_COLOR" if os.environ.get("NO_COLOR") else ""
    trouble = ""
    if os.environ.get("TERM", "dumb") == "dumb":
        trouble = "no screen can be drawn on it: use stepper console"
    elif sys.stdout.encoding.lower() != "utf-8":
        trouble = f"its encoding is {sys.stdout.encoding}: set LANG=C.UTF-8 or PYTHONUTF8=1"
    yield _Finding("terminal", words, trouble)
