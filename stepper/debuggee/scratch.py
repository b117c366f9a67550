"""A program run with other text in some of its files, which stay as they are.

Python reads that text wherever it would have read one of the files, be it as the main program or as
a module, and so does `linecache`, of which Dynamo has the lines that it tells. What the program
sees of itself (`__file__`, `sys.argv`, `sys.path`) is as if it had been started by itself.
"""

from __future__ import annotations

import importlib.machinery
import json
import linecache
import os
import sys
from types import CodeType
from typing import Any


def begin(namespace: dict[str, Any]) -> CodeType:
    """The program's code; its namespace is then as when Python begins to run it."""
    with open(sys.argv.pop(1), encoding="utf-8") as file:
        told = json.load(file)
    files = {os.path.realpath(path): text for path, text in told["files"].items()}
    target: str = told["target"]
    _shadow(files)
    for name in [name for name in namespace if not name.startswith("__")]:
        del namespace[name]
    namespace["__doc__"] = None
    if told["kind"] == "module":
        _first_on_path(os.getcwd())
        return compile(
            f"__import__('runpy')._run_module_as_main({target!r}, alter_argv=True)",
            "<stepper>", "exec",
        )  # fmt: skip
    path = os.path.abspath(target)
    _first_on_path(os.path.dirname(os.path.realpath(path)))
    sys.argv[0] = target
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    namespace |= {"__file__": path, "__loader__": loader, "__spec__": None, "__cached__": None}
    text = files.get(os.path.realpath(path))
    if text is None:
        with open(path, "rb") as script:
            return compile(script.read(), path, "exec", dont_inherit=True)
    return _compiled(text, path)


def _first_on_path(folder: str) -> None:
    """Put a folder where Python has put this file's."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _compiled(text: str, path: str) -> CodeType:
    # Without a time of change nobody looks whether the file has another text.
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    return compile(text.encode("utf-8"), path, "exec", dont_inherit=True)


def _shadow(files: dict[str, str]) -> None:
    """Have modules of some files made from other text."""
    loads = importlib.machinery.SourceFileLoader
    usual = loads.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        text = files.get(os.path.realpath(self.path))
        return usual(self, name) if text is None else _compiled(text, self.path)

    loads.get_code = get_code  # type: ignore[method-assign,assignment]  # replaced for good, in this process alone
