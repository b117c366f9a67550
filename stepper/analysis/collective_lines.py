"""Where the collectives of ranks part, and who waits in which, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from stepper.analysis.collectives import Begun, Compared, Parting, Standing
from stepper.analysis.line import Line
from stepper.client.text import clip, place_text, plural, time_text
from stepper.model.collective import ProcessGroup
from stepper.recording.session_folder import Process

WIDTH = 118
Members = Callable[[Sequence[Process]], str]
"""Names processes: `ranks 0-2`."""

_NANOSECONDS = 1_000_000_000


def waiting_lines(found: Compared, of: Iterable[Process], members: Members) -> Iterator[Line]:
    """In which collectives others stand that some processes have not begun."""
    asked = {each.recording for each in of}
    for standing in found.standings:
        missing = [each for each in standing.missing if each[0].recording in asked]
        if missing:
            yield _line(f"  {_stands(standing, members)}")
            yield from _missing(missing, members)


def collective_lines(found: Compared, told: Iterable[Process], members: Members) -> Iterator[Line]:
    """All of it, but for the waiting that `waiting_lines` has told of some processes."""
    for parting in found.partings:
        yield Line("")
        yield from _parting(parting, members)
    done = {each.recording for each in told}
    rest = [
        each
        for each in found.standings
        if any(process.recording not in done for process, _ in each.missing) or not each.missing
    ]
    if rest:
        yield Line("")
        yield Line("collectives that were not over when they were looked at last", role="title")
    for standing in rest:
        yield _line(f"  {_stands(standing, members)}")
        yield from _missing(standing.missing, members)
        if standing.unknown:
            ranks = ", ".join(map(str, standing.unknown))
            yield _line(f"    not known of rank {ranks}: not recorded")
    if found.silent:
        yield Line("")
        yield _line(f"no collective is known of {members(found.silent)}")


def _parting(parting: Parting, members: Members) -> Iterator[Line]:
    where = f"collective {parting.number:,} of {_group(parting.group)}"
    yield Line(f"{where} is not the same", role="title")
    for processes, begun in parting.sides:
        text = _what(begun) if begun is not None else "has begun no such one"
        yield _line(f"  {members(processes)}: {text}")


def _stands(standing: Standing, members: Members) -> str:
    many = len(standing.standing) > 1
    return (
        f"{members(standing.standing)} {'stand' if many else 'stands'} in collective "
        f"{standing.number:,} of {_group(standing.group)}: {_what(standing.begun)}"
    )


def _missing(missing: Sequence[tuple[Process, int]], members: Members) -> Iterator[Line]:
    by_newest: dict[int, list[Process]] = {}
    for process, newest in missing:
        by_newest.setdefault(newest, []).append(process)
    for newest, processes in by_newest.items():
        has = "have" if len(processes) > 1 else "has"
        last = f"the last is {newest:,}" if newest else "nor any other"
        yield _line(f"    {members(processes)} {has} not begun it: {last}")


def _what(begun: Begun | None) -> str:
    """`all_reduce f32[3] at model.py:14 in step, begun 13:38:17`."""
    if begun is None:
        return "which one was not read"
    each = begun.collective
    shapes = ", ".join(each.inputs[:3]) + (", …" if len(each.inputs) > 3 else "")
    where = f" at {place_text(begun.stack[-1])}" if begun.stack else ""
    clock = time_text(each.began / _NANOSECONDS)[len("2026-03-01 ") :]
    return f"{each.name} {shapes}".rstrip() + where + (f", begun {clock}" if clock else "")


def _group(group: ProcessGroup) -> str:
    size = f" ({plural(len(group.ranks), 'rank')})" if group.ranks else ""
    return f"{group.shown}{size}"


def _line(text: str) -> Line:
    return Line(clip(text, WIDTH))
