"""Which panes stand where, for what one does: looking at a step, a break, a compilation more …"""

from __future__ import annotations

from typing import NamedTuple


class Group(NamedTuple):
    """Panes that share a place on the screen."""

    name: str
    panes: tuple[str, ...]
    share: float = 1.0
    """How much of its column's height it gets, relative to the others that need it."""
    parts: bool = True
    """Whether two of its panes may be shown where there is room."""


class Column(NamedTuple):
    """Groups on top of each other."""

    name: str
    groups: tuple[Group, ...]
    share: float = 1.0


class Preset(NamedTuple):
    """A way to fill the screen."""

    name: str
    help: str
    columns: tuple[Column, ...]
    """Where panes stand on a broad screen; those that no column names are in the last group."""
    above: tuple[str, ...]
    """Panes of the upper group of a narrow screen; the first is shown."""
    below: tuple[str, ...]
    """Panes of the next group, likewise."""
    pair: tuple[Column, ...] = ()
    """Where they stand where there is room for two columns; empty: as on a broad screen."""
    times: bool = False
    """Whether the source has each line's time in numbers."""


_CODE = ("source", "bytecode", "cache")
_UNDER_SOURCE = Group("bytecode", ("bytecode", "cache"), parts=False)  # it asks the program
_STACK, _CALLS = Group("stack", ("stack",)), Group("calls", ("calls",), 0.7)
_LOCALS = Group("locals", ("locals",), 1.2)
_LOG_PANES = ("events", "frames", "output", "console", "result")
_LOG = Group("more", _LOG_PANES, 0.6)


def _pair(
    code: tuple[Group, ...], state: tuple[Group, ...], share: float = 1.0
) -> tuple[Column, ...]:
    return Column("code", code), Column("state", state, share)


PRESETS: tuple[Preset, ...] = (
    Preset(
        "step",
        "one instruction after the other: code, stack, locals, what grows",
        (
            Column("code", (Group("source", ("source",)), _UNDER_SOURCE), 1.2),
            Column(
                "state",
                (_STACK, _LOCALS, _CALLS, Group("facts", ("guards", "effects", "symbols"), 0.8)),
            ),
            Column("more", (Group("graph", ("graph",)), _LOG), 1.2),
        ),
        _CODE,
        ("stack", "locals", "calls"),
        pair=_pair(
            (Group("source", ("source",)), _UNDER_SOURCE),
            (
                _STACK,
                _LOCALS,
                Group(
                    "graph", ("graph", "guards", "effects", "symbols", "calls", *_LOG_PANES), 1.4
                ),
            ),
        ),
    ),
    Preset(
        "break",
        "why a graph breaks: the reason in full, the line, who called it, the graph until there",
        (
            Column("code", (Group("source", ("source",), 1.4), _UNDER_SOURCE), 1.2),
            Column(
                "state",
                (
                    Group("effects", ("effects", "symbols"), 1.4),
                    _CALLS,
                    Group("locals", ("locals", "stack")),
                ),
                1.2,
            ),
            Column("more", (Group("graph", ("graph", "guards")), _LOG)),
        ),
        _CODE,
        ("effects", "graph", "calls", "locals", "stack"),
        pair=_pair(
            (Group("source", ("source",), 1.4), Group("calls", ("calls",)), _UNDER_SOURCE),
            (
                Group("effects", ("effects", "symbols"), 1.4),
                Group("locals", ("locals", "stack")),
                Group("graph", ("graph", "guards", *_LOG_PANES), 1.2),
            ),
        ),
    ),
    Preset(
        "recompile",
        "why a function is compiled again: its guards, what it is called with, its compilations",
        (
            Column("code", (Group("source", ("source",)), _UNDER_SOURCE)),
            Column(
                "state",
                (
                    Group("facts", ("guards", "symbols", "effects"), 1.4),
                    Group("more", ("frames", "events", "output", "console", "result")),
                ),
                1.6,
            ),
            Column("more", (_LOCALS, _CALLS, Group("graph", ("graph", "stack")))),
        ),
        _CODE,
        ("guards", "frames", "symbols", "locals", "calls"),
        pair=_pair(
            (
                Group("source", ("source",), 1.4),
                Group("locals", ("locals", "calls")),
                _UNDER_SOURCE,
            ),
            (
                Group("facts", ("guards", "symbols", "effects"), 1.4),
                Group(
                    "more", ("frames", "events", "output", "console", "result", "graph", "stack")
                ),
            ),
            1.3,
        ),
    ),
    Preset(
        "cache",
        "what is kept of each function, and what a lookup checks",
        (
            Column("code", (Group("source", ("source",)), Group("bytecode", ("bytecode",)))),
            Column(
                "state",
                (
                    Group("cache", ("cache",), 1.4),
                    Group("more", ("frames", "events", "output", "console", "result")),
                ),
                1.6,
            ),
            Column("more", (_LOCALS, _CALLS, Group("facts", ("guards", "graph", "stack")))),
        ),
        ("cache", "source", "bytecode"),
        ("frames", "guards", "locals", "calls"),
        pair=_pair(
            (Group("source", ("source",)), Group("locals", ("bytecode", "locals", "calls"))),
            (
                Group("cache", ("cache",), 1.6),
                Group(
                    "more",
                    ("frames", "guards", "events", "output", "console", "result", "graph", "stack"),
                ),
            ),
            1.3,
        ),
    ),
    Preset(
        "shapes",
        "which sizes are symbols, which were fixed, and by what",
        (
            Column("code", (Group("source", ("source",)), _UNDER_SOURCE)),
            Column(
                "state",
                (Group("symbols", ("symbols",), 1.2), Group("facts", ("guards", "effects"))),
                1.4,
            ),
            Column("more", (_LOCALS, _CALLS, Group("graph", ("graph", "stack")), _LOG)),
        ),
        _CODE,
        ("symbols", "guards", "locals", "graph"),
        pair=_pair(
            (
                Group("source", ("source",), 1.4),
                Group("locals", ("locals", "calls")),
                _UNDER_SOURCE,
            ),
            (
                Group("symbols", ("symbols",), 1.2),
                Group("facts", ("guards", "effects")),
                Group("graph", ("graph", "stack", *_LOG_PANES)),
            ),
            1.2,
        ),
    ),
    Preset(
        "time",
        "what takes long: each line's time, compile time as a flame graph, the frames with theirs",
        (
            Column("code", (Group("source", ("source",), 1.4), _UNDER_SOURCE)),
            Column(
                "state",
                (
                    Group("flame", ("flame",), 1.6),
                    Group("frames", ("frames",)),
                    Group("calls", ("calls",), 0.4),
                    Group("more", ("events", "output", "console", "result"), 0.6),
                ),
                1.4,
            ),
        ),
        ("source", "timeline", "bytecode", "cache"),
        ("flame", "frames", "events", "calls", "locals"),
        times=True,
    ),
)
"""Every preset; the first is what a new user has."""


def preset_named(name: str) -> Preset:
    """A preset by its name; the first when there is none of that name."""
    return next((preset for preset in PRESETS if preset.name == name), PRESETS[0])
