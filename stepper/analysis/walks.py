"""The parts of a call's life that belong together, found in a recording.

Walks are recorded one after another: a lookup that misses, then the translation that it led to. A
lookup's moments say in their locals what each check wanted and found; here they become records.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from stepper.model.program import Code, Instruction
from stepper.model.trace import MomentId, Outcome, Phase, Translation
from stepper.model.value import Value
from stepper.recording.reader import Recording

_TIME = re.compile(r"([\d.]+) (ns|µs)")
_NOT_CHECKS = frozenset({"ENTRY", "PRECOMPILED", "REGION", "MISS", "HIT"})
_ENTRY_ROWS = frozenset({"ENTRY", "PRECOMPILED"})


class Check(msgspec.Struct, frozen=True):
    """A guard of an entry, run in a recorded lookup."""

    moment: MomentId
    entry: str
    """Compile id of the entry."""
    place: int
    """0, 1, … in the order of the entry."""
    kind: str
    """Name of the leaf guard, e.g. `TENSOR_MATCH`."""
    source: str
    """The expression that it looks at; empty for global state, or when its words do not say."""
    text: str
    """The check in words."""
    expected: str = ""
    actual: str = ""
    verdict: str = ""
    """`pass`, `FAIL` or `unknown`."""
    differs: str = ""
    nanoseconds: int | None = None
    """As asked once more, from Python; None when it was not."""
    user_line: str = ""
    """`file:line in function: text` of the line that made the compiler depend on it."""


def compilations(recording: Recording) -> list[Translation]:
    """Every frame that the compiler was asked to compile, in order."""
    return [item for item in recording.translations() if item.phase is Phase.TRANSLATE]


def has_graph(recording: Recording, item: Translation) -> bool:
    """Whether a compilation made a graph; a resume function that returns a constant makes none.

    Dynamo gives a graph its output node just before the backend gets it. The native engine hands
    over what does something, and by then has taken back what nobody needs.
    """
    attempts = recording.attempts(item.id)
    nodes = recording.nodes(None, attempt=attempts[-1].id) if attempts else []
    if recording.facts.engine == "native":
        made = item.outcome is Outcome.COMPILED
        return made and any(node.op not in ("placeholder", "get_attr") for node in nodes)
    return any(node.op == "output" and not node.graph for node in nodes)


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


def lookup_checks(recording: Recording, lookup: Translation) -> Iterator[Check]:
    """Every guard that a lookup has run, in order."""
    for attempt in recording.attempts(lookup.id):
        entry = ""
        for moment, code, names in recording.locals_of(attempt.id):
            row = code.instructions[moment.ip]
            if row.opname in _ENTRY_ROWS:
                entry = row.argrepr or "precompiled"
            if row.opname not in _NOT_CHECKS:
                yield _check(moment.id, entry, code, row, names)


def _check(
    moment: MomentId, entry: str, code: Code, row: Instruction, names: dict[str, Value]
) -> Check:
    texts = {name: value.text for name, value in names.items()}
    return Check(
        moment, entry, row.index, row.opname, source_in(row.argrepr), row.argrepr,
        texts.get("expected", ""), texts.get("actual", ""), texts.get("verdict", ""),
        texts.get("differs", ""), nanoseconds(texts.get("time", "")), texts.get("because of", ""),
    )  # fmt: skip


def nanoseconds(text: str) -> int | None:
    """A time as a lookup words it (`812 ns`, `16.4 µs`); None when it says none."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    return round(float(match[1]) * (1000 if match[2] == "µs" else 1))


def source_in(text: str) -> str:
    """The expression that a check looks at, out of its words: `L['x']  Tensor float32[2]`,
    `hasattr(L['x'], …) == False; …`. Empty when it is about none, or about several."""
    head, found, _ = text.partition("  ")
    if found:
        return head
    sources = expressions_in(text.partition("; ")[0])
    return sources.pop() if len(sources) == 1 else ""


def expressions_in(condition: str) -> set[str]:
    """The expressions that a condition of Dynamo's looks at; empty when it is not understood."""
    try:
        tree = ast.parse(condition, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return set(_sources(tree.body))


def _sources(node: ast.expr) -> Iterator[str]:
    """The longest expressions in it that begin at a local or a global."""
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute | ast.Subscript | ast.Call):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    if isinstance(inner, ast.Name) and inner.id in ("L", "G") and inner is not node:
        yield ast.unparse(node)
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _sources(child)
