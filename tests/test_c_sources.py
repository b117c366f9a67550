"""The C part's sources: which folder uses which, what files share, which numbers Python copies."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

from stepper import _C
from tests.conftest import ROOT

CSRC = ROOT / "csrc"
FILES = sorted(CSRC.rglob("*.[ch]"))
MAY_USE: dict[str, set[str]] = {
    "support": set(),
    "describe": {"support"},
    "record": {"support", "describe"},
    "evalframe": {"support"},
}
"""See csrc/module.c."""


def folder(file: Path) -> str:
    return file.relative_to(CSRC).parts[0]


def test_a_folder_uses_only_those_below_it() -> None:
    sources = [file for file in FILES if file.parent != CSRC]
    assert {folder(file) for file in sources} == MAY_USE.keys()
    for file in sources:
        allowed = {folder(file), *MAY_USE[folder(file)]}
        for header in re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE):
            assert header == "module.h" or header.partition("/")[0] in allowed, file
            assert (CSRC / header).is_file()


def symbols(file: Path, *options: str) -> list[str]:
    """What a compiled file defines for others."""
    command = ["nm", "--defined-only", *options, str(file)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in listed.splitlines()]


def test_what_a_file_shares_begins_with_its_name(tmp_path: Path) -> None:
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))
    # In a process of its own: setuptools changes sys.path.
    asked = "import runpy; print('\\n'.join(runpy.run_path('setup.py')['FLAGS']))"
    told = subprocess.run(
        [sys.executable, "-c", asked], cwd=ROOT, check=True, capture_output=True, text=True
    )
    flags = told.stdout.splitlines()
    flags += ["-O0", "-w", "-fPIC", f"-I{sysconfig.get_path('include')}", f"-I{CSRC}"]
    sources = [str(file) for file in FILES if file.suffix == ".c"]
    subprocess.run([*compiler, *flags, "-c", *sources], check=True, cwd=tmp_path)
    objects = sorted(tmp_path.glob("*.o"))
    assert len(objects) == len(sources)
    strange = {
        (file.stem, name)
        for file in objects
        for name in symbols(file, "--extern-only")
        if not name.startswith(f"{file.stem}_") and name != file.stem
        if not re.fullmatch("([A-Z][a-z]+)+_Type", name)
    }
    assert strange == {("module", "PyInit__C")}


def test_the_library_shows_nothing_but_its_beginning() -> None:
    assert symbols(Path(_C.__file__), "--dynamic") == ["PyInit__C"]


def test_no_number_is_written_in_both_languages() -> None:
    """Python has it from `stepper._C`; the same name by chance has another value."""
    in_c = {
        (name, int(value))
        for file in FILES
        if file.suffix == ".h"
        for name, value in re.findall(r"\b([A-Z][A-Z_]+)(?: =|\b) (\d+)\b", file.read_text())
    }
    in_c |= {(name, value) for name, value in vars(_C).items() if type(value) is int}
    in_python = {
        (name, int(value.replace("_", "")))
        for file in (ROOT / "stepper").rglob("*.py")
        for name, value in re.findall(
            r"^_?([A-Z][A-Z_]+)(?:: .+)? = (\d[\d_]*)$", file.read_text(), re.MULTILINE
        )
    }
    assert {("KEYFRAME_EVERY", 400), ("MAX_ITEMS", 100), ("AS_CELL", 9)} <= in_c
    assert not in_c & in_python
