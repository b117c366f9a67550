"""`stepper why-shape`: why a size is fixed, or free."""

from __future__ import annotations

import argparse
from typing import Any

from stepper.cli.arguments import add_recording


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "why-shape",
        help="why a size is fixed, or free",
        description="Why a size or a number is a symbol, what it stands for, and what fixed it: "
        "each condition with the line and the instruction that asked, the graph's node, and "
        "torch's own frames. Without EXPRESSION: every size that was to be a symbol and was fixed.",
        allow_abbrev=False,
    )
    add_recording(parser)
    parser.add_argument(
        "expression", nargs="?", default="", metavar="EXPRESSION",
        help="a size (x.shape[0]), a number, or a symbol (s77)",
    )  # fmt: skip
    parser.add_argument(
        "function", nargs="?", default="", metavar="FUNCTION", help="only in functions named so"
    )
    parser.set_defaults(handler=why_shape)


def why_shape(options: argparse.Namespace) -> int:
    """Print the answer."""
    from stepper.analysis.shape_lines import shape_lines
    from stepper.cli.asking import answer

    return answer(
        options.file,
        lambda recording: shape_lines(recording, options.expression, options.function),
    )
