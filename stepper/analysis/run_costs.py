"""What calls of compiled functions cost: their guards, the transformed code and the graphs.

Of recorded lookups that hit. A call is told by the median of all calls that an entry has served.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import median_low
from typing import NamedTuple

from stepper.analysis.line import Line
from stepper.client.text import function_name, plural, short_name
from stepper.model.lookup import BACKEND, Check, CheckedGuard
from stepper.model.timing import GRAPH_RUN, TRANSFORMED_RUN, Timing
from stepper.model.trace import MomentId, Outcome, Phase, Translation
from stepper.recording.reader import Recording

_MOST = 5


class Served:
    """The calls that one entry has served, and that were asked as many guards."""

    def __init__(self, lookup: Translation, asks: int) -> None:
        self.name = lookup.name
        self.place = (lookup.name, lookup.filename, lookup.line)
        self.entry = lookup.compile_id
        self.moment: MomentId = lookup.first_moment
        self.asks = asks
        """How many: fewer under a stance that leaves some out."""
        self.calls = 0
        self.guards: list[int] = []
        """Nanoseconds of each call's guards, where they are known."""
        self.least: list[int] = []
        """Likewise of the guards that have a time, where others have none."""
        self.untimed = 0
        """How many have none, at most."""
        self.transformed: list[int] = []
        """Likewise of the transformed code alone."""
        self.graphs: list[int] = []
        self.by_guard: defaultdict[CheckedGuard, list[int]] = defaultdict(list)
        """Nanoseconds of each guard in calls that were measured, without getting to its value."""

    @property
    def run(self) -> int:
        """Nanoseconds of the transformed code and its graphs at a call; 0: not known."""
        if not self.transformed:
            return 0
        return median_low(self.transformed) + median_low(self.graphs)

    @property
    def share(self) -> float:
        """The part that guards are of a call, at least: a run that comes after a lookup was
        recorded takes longer than others. 0: not known."""
        if not (self.guards and self.run):
            return 0
        guards = median_low(self.guards)
        return guards / (guards + self.run)


class CallCost(NamedTuple):
    """What guards cost the calls of a function that found an entry."""

    calls: int
    guards: float
    """That are asked at a call, on average."""
    nanoseconds: float
    """Likewise, for all of them; of each entry by its shortest call, since what else the machine
    does only makes others longer."""
    names: frozenset[str]
    """Each guard that was asked, in words."""


def call_costs(recording: Recording) -> dict[tuple[str, str, int], CallCost]:
    """What guards cost each function at calls, where that is known."""
    found: dict[tuple[str, str, int], list[Served]] = defaultdict(list)
    for each in served(recording):
        if each.guards:
            found[each.place].append(each)
    costs = {}
    for place, some in found.items():
        calls = sum(len(each.guards) for each in some)
        costs[place] = CallCost(
            calls=sum(each.calls for each in some),
            guards=sum(each.asks * len(each.guards) for each in some) / calls,
            nanoseconds=sum(min(each.guards) * len(each.guards) for each in some) / calls,
            names=frozenset(guard_words(row) for each in some for row in each.by_guard),
        )
    return costs


def guard_words(row: CheckedGuard) -> str:
    """`TENSOR_MATCH L['x']`."""
    return f"{row.kind} {short_name(row.source)}".rstrip()


def served(recording: Recording) -> list[Served]:
    """What entries have served, in the order of their first hits."""
    runs: dict[int, list[Timing]] = defaultdict(list)
    within: Counter[int] = Counter()
    for each in recording.timings() or ():
        if each.name in (TRANSFORMED_RUN, GRAPH_RUN) and each.translation is not None:
            runs[each.translation].append(each)
        if each.parent is not None:
            within[each.parent] += each.nanoseconds
    found: dict[tuple[str, str, str, int], Served] = {}
    for item in recording.translations():
        if item.phase is not Phase.LOOKUP or item.outcome is not Outcome.HIT or item.by_hand:
            continue
        asked = _asked(recording, item)
        key = item.name, item.filename, item.compile_id, len(asked)
        entry = found.setdefault(key, Served(item, len(asked)))
        entry.calls += 1
        for tried in recording.tried(item.id):
            if tried.matches and tried.nanoseconds is not None:
                entry.guards.append(tried.nanoseconds)
                for row, check in asked:
                    entry.by_guard[row].append(check.nanoseconds or 0)
            elif tried.matches and any(check.nanoseconds for _, check in asked):
                entry.least.append(sum(check.nanoseconds or 0 for _, check in asked))
                entry.untimed = max(entry.untimed, sum(bool(check.why) for _, check in asked))
        spent = {TRANSFORMED_RUN: 0, GRAPH_RUN: 0}
        for run in runs[item.id]:
            spent[run.name] += max(0, run.nanoseconds - within[run.id])
        if runs[item.id]:
            entry.transformed.append(spent[TRANSFORMED_RUN])
            entry.graphs.append(spent[GRAPH_RUN])
    return list(found.values())


def _asked(recording: Recording, lookup: Translation) -> list[tuple[CheckedGuard, Check]]:
    """The guards of the entry that a lookup has found; that the backend is the same is none."""
    found = []
    for tried in recording.tried(lookup.id):
        if tried.matches:
            program = recording.guard_program(tried.code)
            checks = ((program[check.place], check) for check in tried.checks)
            found += [(row, check) for row, check in checks if row.kind != BACKEND]
    return found


def cost_lines(recording: Recording, function: str = "", *, every: bool = False) -> Iterator[Line]:
    """What calls cost, entry by entry; nothing where no hit is recorded.

    Args:
        recording: what is asked.
        function: only of functions with this in their name; empty: all.
        every: all rows, not only the longest.
    """
    found = [each for each in served(recording) if function in each.name]
    if not found:
        return
    yield Line("")
    yield Line("at calls of what was compiled, the median of those recorded", role="title")
    where = (
        "below each its longest guards, without getting to their values: a call, and all measured"
    )
    yield Line(f"  {where}", role="dim")
    for each in found if every else found[: 2 * _MOST]:
        yield Line(f"  {function_name(each.name)}  {_parts(each)}", each.moment)
        guards = sorted(each.by_guard.items(), key=lambda item: -sum(item[1]))
        for row, spent in guards if every else guards[:_MOST]:
            if any(spent):
                one, whole = brief(median_low(spent)), brief(sum(spent))
                yield Line(f"      {one:>8} {whole:>8}  {guard_words(row)}", role="dim")
    if not every and len(found) > 2 * _MOST:
        yield Line(f"  … {plural(len(found) - 2 * _MOST, 'more entry')} (--all)", role="dim")


def _parts(each: Served) -> str:
    parts = [f"{each.entry}, {plural(each.calls, 'call')} of {plural(each.asks, 'guard')}:"]
    told = []
    if each.transformed:
        transformed, graphs = median_low(each.transformed), median_low(each.graphs)
        told += [f"transformed code {brief(transformed)}", f"graphs {brief(graphs)}"]
    if not each.guards and each.least:
        told.insert(
            0,
            f"guards more than {brief(median_low(each.least))}, without {each.untimed:,} of them: "
            "asking these again could run code of the program",
        )
    elif not each.guards:
        told.insert(0, "guards not measured: asking them again could run code of the program")
    else:
        share = f" (at least {each.share:.0%} of the call)" if each.share >= 0.005 else ""
        told.insert(0, f"guards {brief(median_low(each.guards))}{share}")
    return f"{parts[0]} {', '.join(told)}"


def brief(nanoseconds: int) -> str:
    """`450 ns`, `1.2 µs`, `3.4 ms`."""
    for size, unit in ((1_000_000, "ms"), (1_000, "µs")):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.1f} {unit}"
    return f"{nanoseconds} ns"
