"""The parts of a call's life that belong together, found in a recording.

Walks are recorded one after another: a lookup that misses, then the translation that it led to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stepper.analysis.line import Line
from stepper.client.text import nothing_translated
from stepper.model.lookup import Check, CheckedGuard
from stepper.model.program import Code
from stepper.model.trace import EventKind, Node, Outcome, Phase, Translation
from stepper.recording.reader import Recording
from stepper.support.guarded_values import parsed, values_of


class LookedUp(NamedTuple):
    """A guard of an entry, asked in a recorded lookup."""

    entry: str
    """Compile id of the entry."""
    guard: CheckedGuard
    """What is checked."""
    check: Check
    """What it said."""


def compilations(recording: Recording) -> list[Translation]:
    """Every frame that the compiler was asked to compile, in order."""
    return recording.derived(_compilations)


def _compilations(recording: Recording) -> list[Translation]:
    return [item for item in recording.translations() if item.phase is Phase.TRANSLATE]


def lookups_by_function(recording: Recording) -> dict[tuple[str, str], list[Translation]]:
    """The lookups of the program's calls by the function's name and file, each in order."""
    return recording.derived(_lookups_by_function)


def _lookups_by_function(recording: Recording) -> dict[tuple[str, str], list[Translation]]:
    found: dict[tuple[str, str], list[Translation]] = {}
    for item in recording.translations():
        if item.phase is Phase.LOOKUP and not item.by_hand:
            found.setdefault((item.name, item.filename), []).append(item)
    return found


def free_variables(code: Code) -> set[str]:
    """The variables of a function that belong to one around it, as far as it reads them."""
    ways = ("LOAD_DEREF", "LOAD_CLOSURE")
    return {row.argrepr for row in code.instructions if row.opname in ways} - own_cells(code)


def own_cells(code: Code) -> set[str]:
    """The variables of a function that functions in it use, too: each call makes them anew."""
    return {row.argrepr for row in code.instructions if row.opname == "MAKE_CELL"}


def nothing_to_ask_about(recording: Recording) -> str:
    """Behind an answer of none: that there was nothing to ask about; empty: there was."""
    return "" if compilations(recording) else f"; {nothing_translated(recording)}"


def interventions(recording: Recording) -> Iterator[Line]:
    """What the user has changed, so that what follows is not what the program has by itself."""
    for event in recording.events(kinds=(EventKind.INTERVENTION,)):
        yield Line(f"the user intervened: {event.text}", event.moment)


def has_graph(recording: Recording, item: Translation) -> bool:
    """Whether a compilation made a graph; a resume function that returns a constant makes none.

    Where that cannot be told by an output node, a graph was handed over if it does something: by
    then the compiler has taken back what nobody needs.
    """
    attempts = recording.attempts(item.id)
    nodes = recording.nodes(None, attempt=attempts[-1].id) if attempts else []
    if recording.facts.capabilities.output_nodes:
        return any(node.op == "output" and not node.graph for node in nodes)
    return item.outcome is Outcome.COMPILED and any(map(computes, nodes))


def computes(node: Node) -> bool:
    """Whether a node does something: it is neither handed in nor handed back."""
    return node.op not in ("placeholder", "get_attr", "output")


def graphs(recording: Recording, *, after: int = 0) -> list[Translation]:
    """The compilations after a walk that gave the backend a graph, in order."""
    return [
        item
        for item in compilations(recording)
        if item.id > after and item.outcome is Outcome.COMPILED and has_graph(recording, item)
    ]


def compiled_again(recording: Recording) -> list[Translation]:
    """The compilations of functions that had cache entries already, those refused too."""
    return [
        item for item in compilations(recording) if item.recompile_reason or item.cache_size > 0
    ]


class Calls:
    """Finds the lookup that led to a compilation."""

    def __init__(self, recording: Recording) -> None:
        self._before: dict[int, Translation] = {}
        newest: dict[str, Translation] = {}
        for item in recording.translations():
            if item.by_hand:
                continue
            if item.thread in newest:
                self._before[item.id] = newest[item.thread]
            newest[item.thread] = item

    def before(self, translation: Translation) -> Translation | None:
        """The lookup that found no entry, just before in the same thread; None when it was not
        recorded."""
        item = self._before.get(translation.id)
        if item is None or item.phase is not Phase.LOOKUP or item.outcome is not Outcome.MISS:
            return None
        same = (item.name, item.filename) == (translation.name, translation.filename)
        return item if same else None


def lookup_checks(recording: Recording, lookup: Translation) -> Iterator[LookedUp]:
    """Every guard that a lookup has run, in order."""
    for entry in recording.tried(lookup.id):
        guards = recording.guard_program(entry.code)
        for check in entry.checks:
            yield LookedUp(entry.entry, guards[check.place], check)


def source_of(guard: CheckedGuard) -> str:
    """The expression that a guard looks at; where it only has a condition, the one in that. Empty
    when it is about none, or about several."""
    if guard.source or not guard.code:
        return guard.source
    sources = expressions_in(guard.code[0])
    return sources.pop() if len(sources) == 1 else ""


def expressions_in(condition: str) -> set[str]:
    """The expressions that a condition of Dynamo's looks at; empty when it is not understood."""
    tree = parsed(condition)
    return set() if tree is None else set(values_of(tree))
