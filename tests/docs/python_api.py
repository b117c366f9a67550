"""The page on what programs can import: `python -m tests.docs.python_api > docs/python-api.md`."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType

import msgspec

_HEAD = """\
# Python API

<!-- Written by `python -m tests.docs.python_api` from the docstrings. Do not edit. -->

What a program can import, and a promise: what is not named here can change in any version. The
guides show it at work: [Debug from code](guides/code.md),
[the cache](guides/cache.md#in-a-program-other-guards-other-bytecode-by-hand),
[the native engine](guides/native.md). Fixtures and marks of tests are on the page on
[pytest](guides/pytest.md). A recording is read from Python with `sqlite3`: its
[format](recording-schema.md) is documented.
"""
_MODULES = {
    "stepper": "`import stepper` costs nothing, and needs no torch: what a function needs is "
    "imported when it is first called.",
    "stepper.cache": "The cache of `torch.compile`, to look at and to change.",
    "stepper.native": "stepper's own engine. Names are Dynamo's, where it has the same.",
}
_SECTION = re.compile(r"(Args|Raises):")


def page() -> str:
    """The whole page."""
    lines = [_HEAD]
    for name, about in _MODULES.items():
        module = importlib.import_module(name)
        lines += [f"## {name}", "", about, ""]
        for each in module.__all__:
            lines += [*_entry(module, each), ""]
    return "\n".join(lines)


def _entry(module: ModuleType, name: str) -> Iterator[str]:
    found = getattr(module, name)
    yield f"### {module.__name__}.{name}"
    yield ""
    if inspect.isfunction(found):
        signature = inspect.signature(found)
        bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
        told = signature.replace(parameters=bare, return_annotation=signature.empty)
        yield f"`{name}{told}`"
        yield ""
    yield from _text(inspect.getdoc(found) or "")
    if inspect.isclass(found):
        yield from _members(found)


def _text(documented: str) -> Iterator[str]:
    """A docstring as Markdown: what stands below `Args:` and `Raises:` becomes a list."""
    listed = False
    for line in documented.splitlines():
        if section := _SECTION.fullmatch(line):
            listed = True
            yield {"Args": "Arguments:", "Raises": "Raises:"}[section[1]]
            yield ""
        elif listed and line.startswith("    ") and not line.startswith("     "):
            what, _, about = line.strip().partition(": ")
            yield f"- `{what}`: {about}" if about else f"  {line.strip()}"
        elif listed and line:
            yield f"  {line.strip()}"
        else:
            listed = False
            yield line


def _members(found: type) -> Iterator[str]:
    """What can be read of an object, and asked of it."""
    if issubclass(found, msgspec.Struct):
        yield ""
        yield "Fields: " + ", ".join(f"`{name}`" for name in found.__struct_fields__) + "."
        return
    rows = [
        f"- `{name}`: {' '.join((inspect.getdoc(member) or '').split())}"
        for name, member in vars(found).items()
        if not name.startswith("_") and isinstance(member, property)
    ]
    yield from ["", *rows] if rows else []


if __name__ == "__main__":
    sys.stdout.write(page())
