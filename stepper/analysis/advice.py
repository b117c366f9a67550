"""Advice on a function that is compiled again, and the facts that it may rest on."""

from __future__ import annotations

import msgspec

from stepper.analysis.recompile_series import Series
from stepper.analysis.shapes import Size
from stepper.analysis.wanted import Wanted, symbolic
from stepper.client.text import plural, python_frame_line
from stepper.model.change import Change
from stepper.model.datum import UNKNOWN, text_of
from stepper.model.lookup import Aspect
from stepper.model.shapes import ShapeStep
from stepper.recording.reader import Recording

Entries = list[tuple[str, Wanted]]
"""The recompiled entries of a function, the newest first: compile id, and what it wants."""


class Advice(msgspec.Struct, frozen=True):
    """Something to change, and what speaks for it."""

    text: str
    evidence: str
    """What the recording shows; nobody has tried the change."""
    source: str = ""
    aspect: Aspect = Aspect("")
    """What of it changes."""
    changes: tuple[Change, ...] = ()
    """Each a way to try it; empty: it is about the program's own text."""
    together: bool = False
    """They are one way, made at once."""


def symbol_of(wanted: Entries, series: Series) -> tuple[str, str]:
    """What the newest entry has that has no constant there, and its compile id; empty: none."""
    source, aspect = series.source, series.aspect
    for compile_id, wants in wanted:
        has = wants.get((source, aspect), UNKNOWN)
        if aspect.what == "value":
            typed = (source, Aspect("type")) in wants
            found = "an input" if typed and has == UNKNOWN else ""
        else:
            found = text_of(has) if has != UNKNOWN and symbolic(has) else ""
        if found:
            return found, compile_id
    return "", ""


def all_are(kind: type, series: Series) -> bool:
    """Whether all values that were seen are of a type."""
    return all(type(value) is kind for value in series.values)


def needed_by(recording: Recording, size: Size, cause: ShapeStep, what: str) -> tuple[str, str]:
    """What is to be done about a symbol that the program needs the value of, and the fact that
    speaks for it.

    Args:
        recording: what is asked.
        size: the symbol, in the entry where it was fixed.
        cause: the condition that fixed it, which has a line of the program.
        what: what the symbol stands for.
    """
    place = python_frame_line(cause.user_stack[-1], recording.facts.cwd)
    by = f" for {cause.target}" if cause.target else ""
    text = (
        f"{what} is a symbol until {place}{by} needs its value. As long as that is asked for, each "
        "value is compiled by itself: take it out of the compiled function, or do it without the "
        "value."
    )
    return text, f"{size.translation.compile_id} has {cause.expression} from there"


def seen(series: Series, name: str) -> str:
    """What the recording shows of how something changes."""
    if series.likewise:
        others = plural(len(series.likewise), "other")
        return f"{_seen_alone(series, name)}; likewise of {others}"
    return _seen_alone(series, name)


def _seen_alone(series: Series, name: str) -> str:
    if len(series.values) == 1:
        return f"{_what(series, name)} is no longer {text_of(series.values[0])}"
    if not series.seen:
        return f"{_what(series, name)} differed {plural(series.times, 'time')}"
    return f"{_what(series, name)} was {series.seen}"


def _what(series: Series, name: str) -> str:
    return " of ".join(filter(None, (str(series.aspect), name)))
