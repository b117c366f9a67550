"""Which phases and lines became slower from one recording to another, and what a cache saved."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import msgspec

from stepper.analysis.cache_answers import answers, asking, saved_text
from stepper.analysis.compile_times import CompileTimes, Timed, unnumbered
from stepper.analysis.line import Line
from stepper.analysis.slow_lines import NOT_RECORDED, phase_text
from stepper.client.names import program_file
from stepper.client.text import first_names, function_name, plural, short_path, time_words
from stepper.model.timing import CacheAnswer
from stepper.recording.reader import Recording

_MOST = 12
"""Rows of a list."""
_VERSIONS = ("torch", "python", "engine")
_SCRIPT = "the script"
"""What the file that was run is called, where it has another name in each recording."""
_LEAST = 0.005
"""Part of the longer of both below which a difference is not told."""


class Change(msgspec.Struct, frozen=True):
    """What one thing took in both recordings, in nanoseconds."""

    name: str
    a: int | None
    b: int | None
    """None: it did not happen there."""

    @property
    def more(self) -> int:
        """What b took beyond a."""
        return (self.b or 0) - (self.a or 0)


def time_diff_lines(a: Recording, b: Recording) -> Iterator[Line]:
    """The whole answer: both sums, then by phase, by line, and what the caches said."""
    one, other = CompileTimes(a), CompileTimes(b)
    for times, recording in ((one, a), (other, b)):
        if not times.recorded:
            yield Line(f"{recording.path}: {NOT_RECORDED}")
            return
    yield Line(_sentence(one.total, other.total), role="title")
    yield from _versions(a, b)
    least = _LEAST * max(one.total, other.total)
    phases = _changes(_of_phases(one), _of_phases(other))
    yield from _rows("by phase, with all in its midst", phases, least)
    ran = program_file(a.facts), program_file(b.facts)
    own, its = ran if ran[0] != ran[1] else ("", "")
    lines = _changes(_of_lines(one, a, unnamed=own), _of_lines(other, b, unnamed=its))
    yield from _rows("by line while tracing, with what was inlined from there", lines, least)
    yield from _caches(answers(one), answers(other))
    yield from _left_out_by_hits(one, other)


def _sentence(a: int, b: int) -> str:
    both = f"a {time_words(a)} of compiling, b {time_words(b)}"
    if a == b:
        return both
    how = "longer" if b > a else "shorter"
    part = f" ({b / a:.2f} of a)" if a else ""
    return f"{both}: b takes {time_words(abs(b - a))} {how}{part}"


def _versions(a: Recording, b: Recording) -> Iterator[Line]:
    both = [(name, getattr(a.facts, name), getattr(b.facts, name)) for name in _VERSIONS]
    told = [f"a ran with {name} {one}, b with {other}" for name, one, other in both if one != other]
    if told:
        yield Line(f"{'; '.join(told)}: phases of one can have another name in the other")


def _of_phases(times: CompileTimes) -> Counter[str]:
    spent: Counter[str] = Counter()

    def add(phase: Timed, around: frozenset[str]) -> None:
        name = unnumbered(phase.name)
        if phase.timing.cache is None and name not in around:
            spent[name] += phase.total
        for child in phase.children:
            add(child, around | {name})

    for root in times.roots:
        add(root, frozenset())
    return spent


def _of_lines(times: CompileTimes, recording: Recording, *, unnamed: str = "") -> Counter[str]:
    """`unnamed`: a file that is called otherwise in the other recording."""
    spent: Counter[str] = Counter()
    for line in times.lines:
        place = line.place
        path = short_path(place.filename, recording.facts.cwd)
        where = f"{_SCRIPT if os.path.basename(path) == unnamed else path}:{place.line}"
        spent[f"{where} in {function_name(place.function)}"] += line.total
    return spent


def _changes(a: Counter[str], b: Counter[str]) -> list[Change]:
    """Each name of both, what differs most first."""
    found = [Change(name, a.get(name), b.get(name)) for name in {**a, **b}]
    return sorted(found, key=lambda change: -abs(change.more))


def _rows(title: str, changes: list[Change], least: float) -> Iterator[Line]:
    told = [change for change in changes if abs(change.more) >= max(1, least)]
    if not told:
        return
    yield Line("")
    yield Line(f"{title}: a, b, and what b took beyond a", role="title")
    for change in told[:_MOST]:
        both = f"{_spent(change.a):>9} {_spent(change.b):>9}"
        sign = "+" if change.more > 0 else "-"
        yield Line(f"  {both}  {sign}{time_words(abs(change.more))}  {phase_text(change.name)}")
    if len(told) > _MOST:
        yield Line(f"  … {plural(len(told) - _MOST, 'more difference')}", role="dim")


def _spent(nanoseconds: int | None) -> str:
    return "-" if nanoseconds is None else time_words(nanoseconds)


# What the caches answered


def _caches(a: list[tuple[str, CacheAnswer]], b: list[tuple[str, CacheAnswer]]) -> Iterator[Line]:
    if not a and not b:
        return
    yield Line("")
    yield Line("what caches on disk answered", role="title")
    for side, found in (("a", a), ("b", b)):
        counted = Counter((answer.cache, answer.state) for _, answer in found)
        told = ", ".join(f"{cache} {state} {n}" for (cache, state), n in sorted(counted.items()))
        yield Line(f"  {side}: {told or 'none was asked'}{saved_text(found)}")
    keys: dict[str, list[CacheAnswer]] = {}
    for name, answer in a:
        keys.setdefault(f"{answer.cache} {name}", []).append(answer)
    for name, answer in b:
        others = keys.get(f"{answer.cache} {name}", [])
        before = others.pop(0) if others else None
        if answer.state != "hit":
            yield Line(f"  b: {name}: {answer.cache} {answer.state}: {_why(answer, before)}")


def _left_out_by_hits(a: CompileTimes, b: CompileTimes) -> Iterator[Line]:
    """The phases of compilations that missed in a and hit in b, as far as b does not have them."""
    missed = {asking(a, root): root for root in a.roots if _states(root) & {"miss"}}
    spent: Counter[str] = Counter()
    for root in b.roots:
        before = missed.get(asking(b, root))
        if before is None or _states(root) != {"hit"}:
            continue
        there = {unnumbered(each.name) for each in root.walk()}
        phases = (each for each in before.walk() if each.timing.cache is None)
        gone = {each.name for each in phases if unnumbered(each.name) not in there}
        for each in before.outermost(gone):
            spent[each.name] += each.total
    if spent:
        told = ", ".join(f"{phase_text(name)} {time_words(ns)}" for name, ns in spent.most_common())
        yield Line(f"  phases of a that hits have left out in b: {told}")


def _states(root: Timed) -> set[str]:
    return {each.timing.cache.state for each in root.walk() if each.timing.cache is not None}


def _why(answer: CacheAnswer, before: CacheAnswer | None) -> str:
    """Why there was no hit, as far as both recordings say it."""
    if answer.reason:
        return answer.reason
    if answer.state == "disabled":
        return "the cache is not enabled"
    if before is None or not before.key or not answer.key:
        return "a has not asked for it"
    if before.key == answer.key:
        return "the same key as in a: what was stored is not there any more, or was not found"
    differ = _differing(before.parts, answer.parts)
    return f"another key than in a: {differ}" if differ else "another key than in a"


def _differing(a: dict[str, str], b: dict[str, str]) -> str:
    return first_names([name for name in {**a, **b} if a.get(name) != b.get(name)], _MOST)
