"""Writes the page docs/command-line.md from the parsers and the configuration.

python -m stepper.cli.document > docs/command-line.md
"""

from __future__ import annotations

import argparse
import typing

import msgspec

from stepper.cli.arguments import build_parser
from stepper.cli.config import Config
from stepper.cli.examples import EXAMPLES
from stepper.model.printing import give

_HEAD = """\
# Command line

<!-- Written by `python -m stepper.cli.document` from the parsers. Do not edit. -->

Everything after the program is the program's own. Options can also stand in the nearest
`pyproject.toml`, see [below](#configuration). The exit code is the program's (or its signal) for
`run`, `record` and `console`, 0 when you quit first, 2 when the command cannot be carried out as
given.

"""


def page() -> str:
    """The whole page."""
    _, subparsers = build_parser()
    lines = []
    for name, parser in subparsers.items():
        lines += [f"## stepper {name}", "", parser.description or "", ""]
        lines += [
            f"- `{_spelling(action)}`: {action.help}"
            for action in parser._actions
            if action.help is not argparse.SUPPRESS and action.dest != "help"
        ]
        lines += ["", "```sh", *EXAMPLES[name], "```", ""]
    lines += ["## Configuration", "", "In `[tool.stepper]`:", ""]
    config = msgspec.inspect.type_info(Config)
    assert isinstance(config, msgspec.inspect.StructType)
    for field in config.fields:
        lines.append(f"- `{field.encode_name}`: {_description(field.type)}")
    return _HEAD + "\n".join(lines) + "\n"


def _spelling(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(action.choices) if action.choices else "")
    names = ", ".join(action.option_strings)
    return " ".join(filter(None, (names, str(value) if value else "")))


def _description(kind: typing.Any) -> str:
    extra = getattr(kind, "extra_json_schema", None) or {}
    return str(extra.get("description", ""))


if __name__ == "__main__":
    give(page())
