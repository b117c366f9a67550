"""The file of a program that is named as on Python's command line; nothing is imported for it."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from importlib.machinery import ModuleSpec, PathFinder

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def program_file(kind: str, target: str, folder: str) -> str:
    """Path of the file that Python would run; empty when there is none.

    Args:
        kind: `script`, `module` or `code`.
        target: path of the script, or name of the module.
        folder: the one that it is started in.
    """
    if kind == "module":
        return _module_file(target, folder)
    if kind != "script" or target == "-":
        return ""
    path = os.path.join(folder, target)
    if os.path.isdir(path):
        path = os.path.join(path, "__main__.py")
    return path if os.path.isfile(path) else ""


def _module_file(name: str, folder: str) -> str:
    if not _MODULE.fullmatch(name):
        return ""
    first, *rest = name.split(".")
    spec = PathFinder.find_spec(first, [folder, *sys.path]) or _installed(first)
    full = first
    for part in rest:
        full = f"{full}.{part}"
        spec = _within(spec, full)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _within(spec, f"{full}.__main__")
    found = spec.origin if spec is not None and spec.has_location else None
    return found if found is not None and os.path.isfile(found) else ""


def _installed(name: str) -> ModuleSpec | None:
    """A module that a finder of its own leads to, as for what is installed to be edited."""
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # ValueError: it has been imported and does not say
        return None


def _within(package: ModuleSpec | None, name: str) -> ModuleSpec | None:
    """A module in a package, which is not imported, as `importlib.util.find_spec` would."""
    if package is None or package.submodule_search_locations is None:
        return None
    return PathFinder.find_spec(name, list(package.submodule_search_locations))
