"""`stepper completion`: what a shell reads to complete stepper's commands, options and files."""

from __future__ import annotations

import argparse
from typing import Any

from stepper.cli.arguments import UsageError
from stepper.model.printing import say

_SHELLS = ("bash", "zsh", "fish")
FILES = frozenset({"FILE", "PYTHON", "A", "B", "REPORT", "OUT", "script.py [args …]"})
"""How arguments are called that are files, ..."""
FOLDERS = frozenset({"DIR", "FOLDER"})
"""... and folders."""


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "completion",
        help="print what a shell needs to complete stepper's commands",
        description="Print what a shell reads to complete stepper's commands, options and files. "
        'For bash: eval "$(stepper completion bash)" in ~/.bashrc. For zsh: put it into a file '
        "_stepper in a folder of $fpath. For fish: stepper completion fish > "
        "~/.config/fish/completions/stepper.fish.",
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=_SHELLS, help="which shell")
    parser.set_defaults(handler=completion)


def completion(options: argparse.Namespace) -> int:
    """Print it."""
    from stepper.cli.arguments import build_parser
    from stepper.debuggee.registry import names

    try:
        import shtab
    except ImportError:
        raise UsageError("this takes the package shtab: pip install shtab") from None
    parser, subparsers = build_parser()
    for each in subparsers.values():
        for action in each._actions:
            if action.metavar in FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab's way
            elif action.metavar in FOLDERS:
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # as above
            elif action.dest == "engine":
                action.choices = names()
    (choice,) = (each for each in parser._actions if each.dest == "subcommand")
    # Lists of commands have a line for each: its help, and not its description.
    for short in choice._get_subactions():  # type: ignore[attr-defined]  # argparse's, untyped
        subparsers[short.dest].description = short.help
    say(shtab.complete(parser, options.shell))
    return 0
