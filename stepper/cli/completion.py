"""`stepper completion`: what a shell reads to complete stepper's commands, options and files."""

from __future__ import annotations

import argparse
from typing import Any

from stepper.cli.arguments import UsageError
from stepper.model.printing import say

_SHELLS = ("bash", "zsh", "fish")
_FILES = frozenset({"FILE", "DIR", "PYTHON", "A", "B", "script.py [args …]"})
"""How arguments are called that are paths."""


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

    try:
        import shtab
    except ImportError:
        raise UsageError("this takes the package shtab: pip install shtab") from None
    parser, subparsers = build_parser()
    for each in subparsers.values():
        for action in each._actions:
            if action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab's way
    say(shtab.complete(parser, options.shell))
    return 0
