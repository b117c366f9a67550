"""What may happen in a part of a run at most, and what to say when more has happened.

A limit is about walks after a given one, so that a recording can be asked about its last part: what
a block of a test has compiled, say. The answer to "too much" is the post-mortem of that part.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stepper.analysis.break_lines import break_lines
from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.line import Line
from stepper.analysis.recompile_lines import recompile_lines
from stepper.analysis.slow_lines import slow_lines
from stepper.analysis.walks import compiled_again, graphs
from stepper.client.frame_names import compiled_title
from stepper.client.text import plural, short_path
from stepper.model.trace import Translation
from stepper.recording.reader import Recording

_SECONDS = "s"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many there may be at most; None: any number.

    Raises:
        ValueError: one of them is no number, or below zero.
    """

    graphs: int | None = None
    """Graphs compiled, for all functions together; the parts between graph breaks each count."""
    breaks: int | None = None
    """Graph breaks; one instruction can break more than once."""
    recompilations: int | None = None
    """Compilations of functions that had cache entries, those given up at a limit too."""
    seconds: float | None = None
    """What compiling takes, on the clock that stands still at stops; see `CompileTimes`."""

    def __post_init__(self) -> None:
        # A mark holds what somebody wrote, which no type checker has seen.
        for name in self.__struct_fields__:
            given: object = getattr(self, name)
            if given is None:
                continue
            if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
                raise ValueError(f"{name}={given!r} is no limit, which is a number from 0 on")


class Excess(msgspec.Struct, frozen=True):
    """More of something than there may be."""

    what: str
    """`graph`, `graph break`, `recompilation`, or `s` for seconds."""
    found: float
    allowed: float

    @property
    def text(self) -> str:
        """`2 graphs, at most 1 allowed`."""
        most = f"at most {self.allowed:g} allowed" if self.allowed else "none allowed"
        if self.what == _SECONDS:
            return f"{self.found:.3g} s of compiling, {most}"
        return f"{plural(int(self.found), self.what)}, {most}"


def excesses(recording: Recording, limits: Limits, *, after: int = 0) -> list[Excess]:
    """The limits that walks after the one given exceed together; empty: none."""
    counts = (
        ("graph", len(graphs(recording, after=after)), limits.graphs),
        ("graph break", _breaks(recording, after), limits.breaks),
        ("recompilation", len(_again(recording, after)), limits.recompilations),
        (_SECONDS, 0.0 if limits.seconds is None else _seconds(recording, after), limits.seconds),
    )
    return [
        Excess(what, found, allowed)
        for what, found, allowed in counts
        if allowed is not None and found > allowed
    ]


def excess_lines(recording: Recording, found: list[Excess], *, after: int = 0) -> Iterator[Line]:
    """The post-mortem: what there was too much of, the graphs when those were too many, and why.

    Args:
        recording: what is asked.
        found: the limits exceeded; not empty.
        after: tell of walks after this one only.
    """
    for each in found:
        yield Line(each.text, role="title")
    exceeded = {each.what for each in found}
    if "graph" in exceeded:
        yield Line("")
        yield from (_graph(recording, item) for item in graphs(recording, after=after))
    if "graph break" in exceeded or ("graph" in exceeded and _breaks(recording, after)):
        yield Line("")
        yield from break_lines(recording, after=after)
    if "recompilation" in exceeded or ("graph" in exceeded and _again(recording, after)):
        yield Line("")
        yield from recompile_lines(recording, after=after)
    if _SECONDS in exceeded:
        yield Line("")
        yield from slow_lines(recording, after=after)


def _seconds(recording: Recording, after: int) -> float:
    times = CompileTimes(recording, after=after)
    if times.roots:
        return times.total / 1e9
    # A compiler that does not time its phases is held to the time of its translations.
    return sum(item.seconds or 0.0 for item in times.translations.values())


def _breaks(recording: Recording, after: int) -> int:
    return sum(
        recording.attempt(each.attempt).translation > after for each in recording.graph_breaks()
    )


def _again(recording: Recording, after: int) -> list[Translation]:
    return [item for item in compiled_again(recording) if item.id > after]


def _graph(recording: Recording, item: Translation) -> Line:
    place = f"{short_path(item.filename, recording.facts.cwd)}:{item.line}"
    text = f"  {compiled_title(recording, item)}  {place}  {plural(item.nodes, 'node')}"
    return Line(text, item.first_moment)
