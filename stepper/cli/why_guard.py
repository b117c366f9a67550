"""`stepper why-guard`: why a guard is there; `stepper is-guarded`: whether something is guarded."""

from __future__ import annotations

import argparse
from typing import Any


def add_to(subparsers: Any) -> None:
    """Add both subcommands."""
    parser = subparsers.add_parser(
        "why-guard",
        help="why a guard is there",
        description="What a guard protects against, the instruction and the value that it came "
        "from, how often it ran and failed in recorded lookups and its part of their time, and "
        "whether another guard of its entry implies it.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "guard",
        metavar="GUARD",
        help="a guard's number, a kind (TENSOR_MATCH), an expression (self.fc.weight), or "
        "KIND:EXPRESSION; with * and ?",
    )
    parser.add_argument(
        "entry", nargs="?", default="", metavar="ENTRY", help="only of this entry, e.g. 0/1"
    )
    parser.set_defaults(handler=why_guard)
    parser = subparsers.add_parser(
        "is-guarded",
        help="whether an expression is guarded",
        description="By what an expression over the inputs, a module or globals is guarded in "
        "each entry: its value, a tensor of which it is a property, parts of it, or only what "
        "leads to it.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "expression", metavar="EXPR", help="e.g. x.shape[0], self.fc.weight, config['depth']"
    )
    parser.add_argument(
        "function", nargs="?", default="", metavar="FUNCTION", help="only of functions named so"
    )
    parser.set_defaults(handler=is_guarded)


def why_guard(options: argparse.Namespace) -> int:
    """Print what is known of the guards."""
    from stepper.analysis.guard_lines import guard_lines
    from stepper.cli.asking import answer

    return answer(
        options.file, lambda recording: guard_lines(recording, options.guard, options.entry)
    )


def is_guarded(options: argparse.Namespace) -> int:
    """Print what guards the expression."""
    from stepper.analysis.guard_lines import guarded_lines
    from stepper.cli.asking import answer

    return answer(
        options.file,
        lambda recording: guarded_lines(recording, options.expression, options.function),
    )
