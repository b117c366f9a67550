"""What is typed to go back in a translation, and on from there otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable

from stepper.model.control import ForkTranslation
from stepper.model.trace import MomentId

NOT_LIVE = (
    "what is recorded has happened, and no line of it can be left out: goto N shows any moment; a "
    "program that runs jumps where it stands (goto newest), and with --engine native fork goes back"
)
"""Why a frame of a recorded moment does not jump."""

_SET = re.compile(r"set\s+(?P<slot>stack\[-?\d+\]|\w+)\s*=\s*(?P<expression>.+)", re.DOTALL)
_DROP = re.compile(r"drop-guard\s+(?P<number>\d+)")
_EXAMPLE = "set x = 3; drop-guard 7; break-graph; keep"


def fork_request(moment: MomentId, text: str) -> Callable[[int], ForkTranslation]:
    """The request of a fork, but for its number.

    Args:
        moment: where it begins, unless the text names another.
        text: `[MOMENT] [set SLOT = EXPR | drop-guard N | break-graph | keep; …]`.

    Raises:
        ValueError: it says something else.
    """
    number, _, rest = text.strip().partition(" ")
    if number.isdecimal():
        moment, text = int(number), rest
    clauses = [clause.strip() for clause in text.split(";") if clause.strip()]
    values: list[tuple[str, str]] = []
    drop: list[int] = []
    for clause in clauses:
        if match := _SET.fullmatch(clause):
            values.append((match["slot"], match["expression"]))
        elif match := _DROP.fullmatch(clause):
            drop.append(int(match["number"]))
        elif clause not in ("break-graph", "keep"):
            raise ValueError(f"{clause!r} is nothing that a fork can do; it can {_EXAMPLE}")
    return lambda seq: ForkTranslation(
        seq, moment, tuple(values), tuple(drop), "break-graph" in clauses, "keep" in clauses
    )
