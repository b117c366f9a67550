"""Building the extension otherwise than it is installed, beside a copy of the package."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ASK = (
    "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'), sep=':')"
)


def build(folder: Path, flags: list[str], python: str = sys.executable) -> None:
    """Copy the package and the tests of the extension into a folder, and compile it into that, with
    more flags, for an interpreter."""
    shutil.copytree(ROOT / "stepper", folder / "stepper", ignore=shutil.ignore_patterns("*.so"))
    # pytest's bytecode says where it was made, and not where it lies.
    made = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests" / "csrc", folder / "tests" / "csrc", ignore=made)
    (folder / "tests" / "__init__.py").touch()
    include, suffix = asked(python, _ASK).split(":")
    command = ["gcc", "-shared", "-fPIC", f"-I{include}", "-Werror"]
    command += [*runpy.run_path(str(ROOT / "setup.py"))["FLAGS"], *flags]
    command += map(str, sorted((ROOT / "csrc").rglob("*.c")))
    subprocess.run([*command, "-o", f"{folder}/stepper/_C{suffix}"], cwd=ROOT, check=True)


def asked(python: str, code: str) -> str:
    """What an interpreter prints; empty: it cannot."""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
