"""The compiler's cache as a tree: codes, their entries in the order of lookup, what is in an entry.

What is deeper than the listing (guards, code, graph) is asked of the program when its branch is
opened; until the answer is there, a row says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from stepper.client.cache_text import (
    SIGNS,
    VERDICT_SIGNS,
    code_facts,
    code_name,
    comparison_lines,
    entry_facts,
    entry_name,
    entry_reason,
    from_here,
    guard_row_checks,
    lifeline_line,
)
from stepper.client.text import (
    instruction_line,
    one_line,
    place_text,
    plural,
    short_name,
    short_path,
)
from stepper.model.cache import (
    CacheCheck,
    CachedCode,
    CacheEntry,
    EntryCheck,
    EntryState,
    EntryView,
    GuardCheck,
    GuardRow,
    Lifeline,
    RunResult,
    Verdict,
)
from stepper.tui.highlight import python_spans
from stepper.tui.palette import Row, Span
from stepper.tui.tree_lines import Branch

_STATE_ROLES = {
    EntryState.NEW: "changed",
    EntryState.VALID: "new",
    EntryState.INVALID: "error",
    EntryState.DRAFT: "changed",
    EntryState.EVICTED: "dim",
}
_VERDICT_ROLES = {
    Verdict.PASS: "new",
    Verdict.FAIL: "error",
    Verdict.UNREACHED: "dim",
    Verdict.ERROR: "error",
    Verdict.UNKNOWN: "warning",
}

_GONE = (EntryState.INVALID, EntryState.EVICTED)
_BY_ID = ("ID_MATCH", "TYPE_MATCH")


class Subject(NamedTuple):
    """What a row of the tree is about."""

    code: int
    entry: int | None = None
    guard: int | None = None


class CacheTree:
    """What is known of the cache, and the rows that show it."""

    def __init__(self, ask_view: Callable[[int], None], ask_source: Callable[[int], None]) -> None:
        """
        Args:
            ask_view: asks the program for the view of an entry.
            ask_source: has the code of an entry decompiled.
        """
        self.codes: Sequence[CachedCode] = ()
        self.views: dict[int, EntryView] = {}
        self.stale: set[int] = set()
        """Entries whose view is shown until a newer one is there."""
        self.refusals: dict[int, str] = {}
        """Why the program gave no view of an entry."""
        self.checks: dict[int, CacheCheck] = {}
        """The newest check of each code."""
        self.runs: dict[int, RunResult] = {}
        """The newest run by hand of each entry."""
        self.note = ""
        """What is to be minded of it all, as the first row."""
        self.cwd = ""
        self.sources: dict[int, str] = {}
        """The decompiled code of entries."""
        self.no_sources: dict[int, str] = {}
        """Why there is none of an entry."""
        self._ask_view = ask_view
        self._ask_source = ask_source

    def take(self, codes: Sequence[CachedCode], *, anew: bool = False) -> list[CacheEntry]:
        """Take a newer listing in. What was known of an entry that has changed is out of date, with
        `anew` that of all.

        Returns:
            The entries that have died since the one before.
        """
        before = {entry.id: entry for code in self.codes for entry in code.entries}
        died = []
        for code in codes:
            for entry in code.entries:
                known = before.get(entry.id)
                if anew or known is None or _lasting(known) != _lasting(entry):
                    self.stale.add(entry.id)
                if known is not None and known.state is not entry.state:
                    if entry.state is EntryState.INVALID:
                        died.append(entry)
                    self.checks.pop(code.id, None)
            old = self.code(code.id)
            if old is not None and _order(old) != _order(code):
                self.checks.pop(code.id, None)
        self.codes = codes
        self.refusals.clear()
        return died

    def take_view(self, view: EntryView) -> None:
        """Take the view of an entry in. Of one that is gone, what was seen before stays."""
        entry = view.entry
        old = self.views.get(entry.id)
        if old is not None and entry.state in _GONE and not view.guards:
            view = msgspec.structs.replace(
                old, entry=entry, code=view.code or old.code, graph=view.graph or old.graph
            )
        if old is None or old.bytecode != view.bytecode:
            self.sources.pop(entry.id, None)
            self.no_sources.pop(entry.id, None)
        self.views[entry.id] = view
        self.stale.discard(entry.id)

    def entry(self, id: int | None) -> CacheEntry | None:
        """An entry by its number."""
        return next((e for code in self.codes for e in code.entries if e.id == id), None)

    def code(self, id: int) -> CachedCode | None:
        """A code by its number."""
        return next((code for code in self.codes if code.id == id), None)

    def roots(self) -> list[Branch]:
        """A branch for each code."""
        note = [_leaf("note", self.note, "warning")] if self.note else []
        return note + [
            Branch(
                code.id,
                partial(self._code_row, code),
                partial(self._entries, code),
                Subject(code.id),
                fits=True,
            )
            for code in self.codes
        ]

    def _code_row(self, code: CachedCode) -> Row:
        full = code.limit and code.nearest >= code.limit
        return Row((
            (code_name(code), "function bold"),
            (f"  {code_facts(code)}", "warning" if full or code.strategy else ""),
            (f"  {short_path(code.filename, self.cwd)}:{code.line}", "dim"),
        ))  # fmt: skip

    def _entries(self, code: CachedCode) -> list[Branch]:
        found = self.checks.get(code.id)
        checks: Mapping[int, EntryCheck] = {e.entry: e for e in found.entries} if found else {}
        branches = []
        if found is not None:
            told = ", ".join(f"{name}={text}" for name, text in found.arguments)
            branches.append(_leaf("asked", f"asked with {told}", "comment"))
            if found.comparison is not None:
                role = "new" if found.comparison.same else "error"
                branches += _texts("compared", comparison_lines(found.comparison), role)
        return branches + [
            Branch(
                entry.id,
                partial(_entry_row, entry, checks.get(entry.id), self.cwd),
                partial(self._inside, entry, checks.get(entry.id)),
                Subject(code.id, entry.id),
                fits=True,
            )
            for entry in code.entries
        ]

    def _inside(self, entry: CacheEntry, check: EntryCheck | None) -> list[Branch]:
        view = self._view(entry)
        # Said in the entry's own row already, where much of it can be out of sight.
        branches = _texts("why", [entry_reason(entry, self.cwd)] if entry.reason else [], "error")
        if check is not None and check.reason:
            branches.append(_leaf("check", one_line(check.reason), "error"))
        told = {line.source: line for line in view.entry.lifelines} if view else {}
        for number, listed in enumerate(entry.lifelines):
            line = told.get(listed.source, listed) if listed.alive else listed
            role = "" if line.alive else "error"
            text = f"lives on {lifeline_line(line, self.cwd)}"
            holders = [f"held by {from_here(each, self.cwd)}" for each in line.holders]
            branches.append(
                Branch(
                    ("life", number),
                    partial(Row, (("♥ " if line.alive else "† ", role or "new"), (text, role))),
                    partial(_texts, "held", holders, "dim") if holders else None,
                )
            )
        branches += _texts("edit", [f"edited: {text}" for text in entry.edits], "changed")
        branches += _texts("beware", [f"beware: {text}" for text in entry.warnings], "warning")
        run = self.runs.get(entry.id)
        if run is not None:
            branches.append(_leaf("run", f"run by hand: {run.text}", "error" if run.raised else ""))
            if run.comparison is not None:
                role = "new" if run.comparison.same else "error"
                branches += _texts("run", comparison_lines(run.comparison), role)
        subject = Subject(entry.code, entry.id)
        guards = "guards" if entry.guards is None else f"guards {entry.guards}"
        for name, text, children in (
            ("guards", guards, self._guards),
            ("code", "transformed code", self._code),
            ("source", "transformed code, decompiled", self._source),
            ("graph", "graph", self._graph),
        ):
            row = partial(Row, ((text, "title"),))
            branches.append(Branch(name, row, partial(children, entry, check), subject))
        return branches

    def _view(self, entry: CacheEntry) -> EntryView | None:
        """What is known of an entry's inside; asked for when that is nothing, or old."""
        view = self.views.get(entry.id)
        if (view is None or entry.id in self.stale) and entry.id not in self.refusals:
            self._ask_view(entry.id)
        return view

    def _instead(self, entry: CacheEntry) -> list[Branch]:
        """What stands where nothing is known yet."""
        refusal = self.refusals.get(entry.id)
        return [_leaf("refused", refusal, "warning") if refusal else _ASKING]

    def _guards(self, entry: CacheEntry, check: EntryCheck | None) -> list[Branch]:
        view = self._view(entry)
        if view is None:
            return self._instead(entry)
        if not view.guards:
            gone = "its guards are gone with it: none of them will ever pass"
            return [_leaf("none", gone if entry.state in _GONE else "no guards", "dim")]
        found = {each.guard: each for each in check.checks} if check else {}
        dead = {
            index for line in entry.lifelines if not line.alive for index in _watching(view, line)
        }
        return [
            Branch(
                row.index,
                partial(_guard_row, row, found.get(row.index), row.index in dead),
                partial(_guard_facts, row, found.get(row.index), self.cwd),
                Subject(entry.code, entry.id, row.index),
                fits=True,
            )
            for row in view.guards
        ]

    def _code(self, entry: CacheEntry, check: EntryCheck | None) -> list[Branch]:
        view = self._view(entry)
        if view is None:
            return self._instead(entry)
        if view.code is None:
            return [_leaf("none", "the code is gone, or the compiler does not give it away", "dim")]
        lines = [instruction_line(instruction) for instruction in view.code.instructions]
        return _texts("instruction", lines, "")

    def _source(self, entry: CacheEntry, check: EntryCheck | None) -> list[Branch]:
        if entry.id in self.no_sources:
            return _texts("refused", [self.no_sources[entry.id]], "warning")
        if entry.id not in self.sources:
            self._ask_source(entry.id)
            return [_leaf("asking", "decompiling …", "dim")]
        return _python(self.sources[entry.id])

    def _graph(self, entry: CacheEntry, check: EntryCheck | None) -> list[Branch]:
        view = self._view(entry)
        if view is None:
            return self._instead(entry)
        return _python(view.graph.strip()) or [_leaf("none", "the backend kept no graph", "dim")]


def _lasting(entry: CacheEntry) -> CacheEntry:
    """What of an entry is in its view as well; the rest only passes."""
    return msgspec.structs.replace(entry, hits=None, age=None, position=None)


def _order(code: CachedCode) -> list[int]:
    return [entry.id for entry in code.entries]


def _watching(view: EntryView, line: Lifeline) -> tuple[int, ...]:
    """The guards that know an object by identity; the compiler forgets them when it dies."""
    found = (row for row in view.guards if row.source == line.source and row.kind in _BY_ID)
    return line.guards or tuple(row.index for row in found)


def _leaf(key: str, text: str, role: str) -> Branch:
    return Branch(key, lambda: Row(((text, role),)))


_ASKING = _leaf("asking", "asking the program …", "dim")


def _texts(key: str, texts: Sequence[str], role: str) -> list[Branch]:
    return [
        Branch((key, number), partial(Row, ((text, role),))) for number, text in enumerate(texts)
    ]


def _python(text: str) -> list[Branch]:
    spans = enumerate(python_spans(text.splitlines()))
    return [Branch(number, partial(Row, line)) for number, line in spans]


def _entry_row(entry: CacheEntry, check: EntryCheck | None, cwd: str) -> Row:
    role = _STATE_ROLES[entry.state]
    gone = entry.state in _GONE
    spans: list[Span] = [
        (f"{SIGNS[entry.state]} ", role),
        (f"{entry.id} ", "number"),
        (entry_name(entry), "gone" if gone else "constant"),
        (f"  {entry.state}", role),
    ]
    if check is not None:
        text = "wins" if check.wins else "matches" if check.matches else "does not match"
        verdict = "new" if check.matches else "error"
        spans.append((f"  {'✓' if check.matches else '✗'} {text}", verdict))
        because = f": {one_line(check.reason)}" if check.reason else ""
        if check.eligible:
            spans.append((because, verdict))
        else:
            spans.append((f" (not looked at{because})", "warning"))
    if entry.reason:
        spans.append((f"  {entry_reason(entry, cwd)}", "error" if gone else "warning"))
    if entry.warnings:
        spans.append((f"  ! {plural(len(entry.warnings), 'warning')}", "warning"))
    spans.append((f"  {'  '.join(entry_facts(entry, cwd))}", "dim"))
    return Row(tuple(spans))


def _guard_row(row: GuardRow, check: GuardCheck | None, dead: bool) -> Row:
    spans: list[Span] = []
    if dead:
        spans.append(("† ", "error"))
    elif check is not None:
        spans.append((f"{VERDICT_SIGNS[check.verdict]} ", _VERDICT_ROLES[check.verdict]))
    failed = dead or (check is not None and check.verdict in (Verdict.FAIL, Verdict.ERROR))
    spans += [
        (f"{row.index:>2} ", "number"),
        (row.kind, "error" if failed else "new" if row.made else "type"),
        (f"  {guard_row_checks(row)}", ""),
    ]
    if check is not None and check.difference:
        spans.append((f"  {check.difference}", "error"))
    return Row(tuple(spans))


def _guard_facts(row: GuardRow, check: GuardCheck | None, cwd: str) -> list[Branch]:
    facts = [("expected", row.expected)]
    if check is not None:
        facts += [("actual", check.actual), ("verdict", str(check.verdict))]
        facts.append(("differs", check.difference))
    facts += [("checks", short_name(code)) for code in row.code]
    if row.user_line is not None:
        facts.append(("because of", place_text(row.user_line.place, cwd)))
        facts.append(("line", row.user_line.text))
    facts.append(("hint", row.hint))
    return _texts("fact", [f"{name}  {one_line(text)}" for name, text in facts if text], "")
