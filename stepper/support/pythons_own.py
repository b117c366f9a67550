"""What is Python's own: files by where they lie, modules by their names."""

from __future__ import annotations

import os
import re
import sys

_HERE = os.path.join(os.path.dirname(os.__file__), "")
_INSTALLED = re.compile(r"[/\\](?:site-packages|dist-packages|lib[/\\]python3\.\d+)[/\\]")

_POLYFILLS = re.compile(r"[/\\]stepper[/\\]native[/\\]polyfills[/\\]")


def is_own_file(filename: str) -> bool:
    """Whether a file belongs to the Python that runs here."""
    if filename.startswith("<frozen "):
        return True
    # Installed packages can lie below the standard library.
    return filename.startswith(_HERE) and "-packages" not in filename[len(_HERE) :]


def is_installed(filename: str) -> bool:
    """Whether a file belongs to some Python, or to a package that is installed in one, and not to
    the program: for what was recorded elsewhere."""
    installed = _INSTALLED.search(filename) is not None or filename.startswith("<frozen")
    return installed or is_polyfill(filename)


def is_polyfill(filename: str) -> bool:
    """Whether a file holds what the native engine interprets in the place of functions of Python's
    own, wherever stepper lies."""
    return _POLYFILLS.search(filename) is not None


def is_own_file_anywhere(filename: str) -> bool:
    """Whether a file belongs to some Python itself."""
    return is_installed(filename) and "-packages" not in filename


def is_own_module(name: str) -> bool:
    """Whether a module, or what it is in, belongs to Python."""
    root = name.partition(".")[0]
    return root in sys.stdlib_module_names and root != "__main__"
