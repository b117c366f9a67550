"""The words that are nobody's secret: those of Python, torch and stepper.

A redacted report keeps these and gives every other word a name of its own making. They are read
from what is installed, without importing torch: what its stubs declare (functions, methods of
tensors), Dynamo's trackers, guards and kinds of graph breaks, and the sources of the rooms of
stepper whose words a report shows. Without torch there are fewer, and more is renamed.
"""

from __future__ import annotations

import builtins
import dis
import keyword
import math
import operator
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import stepper

_ROOMS = ("analysis/*.py", "client/text.py", "client/names.py", "model/*.py", "report/*.py")
_DECLARED = re.compile(r"^[ \t]*(?:class|def) (\w+)", re.MULTILINE)
_DECLARING = (
    "_C/_VariableFunctions.pyi", "_C/__init__.pyi", "_C/_nn.pyi", "nn/functional.py",
    "_dynamo/guards.py", "_dynamo/variables/*.py",
)  # fmt: skip
_BREAKS = "_dynamo/graph_break_registry.json"
_WORD = re.compile(r"[^\W\d]\w*")
_MORE = frozenset(
    {
        "L", "G", "T", "self", "cls", "args", "kwargs", "torch", "nn", "aten", "prims",
        "functional", "modules", "parameters", "buffers", "cpu", "cuda", "mps", "xpu", "meta",
        "eager", "inductor", "aot_eager", "native", "dynamo", "exit", "running", "MainThread",
        "Thread", "py",
    }
)  # fmt: skip


@cache
def words() -> frozenset[str]:
    """All of them."""
    found = {*_MORE, *keyword.kwlist, *keyword.softkwlist, *dis.opname, *dir(builtins)}
    found |= {*dir(operator), *dir(math), *dir(str), *dir(list), *dir(dict), *dir(object)}
    ours = Path(stepper.__file__).parent
    for pattern in _ROOMS:
        for path in ours.glob(pattern):
            found.update(_WORD.findall(path.read_text(encoding="utf-8")))
    found.update(_of_torch())
    return frozenset(found)


def torch_folder() -> Path | None:
    """Where torch is installed; None: it is not."""
    spec = find_spec("torch")
    origin = spec.origin if spec is not None else None
    return Path(origin).parent if origin is not None else None


def _of_torch() -> Iterator[str]:
    folder = torch_folder()
    if folder is None:
        return
    for pattern in _DECLARING:
        for path in folder.glob(pattern):
            yield from _DECLARED.findall(path.read_text(encoding="utf-8", errors="replace"))
    breaks = folder / _BREAKS
    if breaks.exists():
        # Its kinds only: the explanations are words of a language.
        text = breaks.read_text(encoding="utf-8")
        for kind in re.findall(r'"Gb_type": "((?:\\.|[^"\\])*)"', text):
            yield from _WORD.findall(kind)
