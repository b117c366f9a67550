"""The compiler's cache in plain lines, for every front end."""

from __future__ import annotations

from stepper.client.text import (
    clip,
    function_name,
    guarded_text,
    one_line,
    place_text,
    plural,
    short_name,
)
from stepper.model.cache import (
    CacheCheck,
    CachedCode,
    CacheEntry,
    Comparison,
    EntryCheck,
    EntryState,
    GuardRow,
    Lifeline,
    Origin,
    Verdict,
    WitnessSearch,
    WitnessTrial,
)

SIGNS = {
    EntryState.NEW: "…",
    EntryState.VALID: "✓",
    EntryState.INVALID: "✗",
    EntryState.DRAFT: "○",
    EntryState.EVICTED: "–",
}
VERDICT_SIGNS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.UNREACHED: "·",
    Verdict.ERROR: "!",
    Verdict.UNKNOWN: "?",
}
_KILO = 1024


def code_line(code: CachedCode) -> str:
    """`scale  2 entries of at most 8`, and what is out of the ordinary."""
    return f"{code_name(code)}  {code_facts(code)}"


def code_name(code: CachedCode) -> str:
    """`scale`."""
    return function_name(code.qualname or code.name)


def code_facts(code: CachedCode) -> str:
    """`2 entries of at most 8`, and what is out of the ordinary."""
    parts = []
    if code.resume_of:
        parts.append(f"continues {function_name(code.resume_of)}")
    count = sum(entry.position is not None for entry in code.entries)
    limit = f" of at most {code.limit}" if code.limit else ""
    parts.append(f"{plural(count, 'entry')}{limit}")
    if code.limit and code.nearest >= code.limit:
        parts.append("limit reached")
    if code.strategy:
        parts.append(code.strategy)
    return "  ".join(parts)


def entry_name(entry: CacheEntry) -> str:
    """`0/1`, or `copy of 0/1`: what a person would call an entry."""
    label = entry.compile_id or "precompiled"
    return f"copy of {label}" if entry.origin is Origin.MADE else label


def entry_reason(entry: CacheEntry, cwd: str = "") -> str:
    """Why it is invalid or gone, in one line; empty for others."""
    return from_here(one_line(entry.reason), cwd)


def entry_facts(entry: CacheEntry, cwd: str = "") -> list[str]:
    """What there is to say of an entry in short, what is usual left out."""
    facts = []
    if entry.origin is Origin.MADE:  # a precompiled one is called so
        facts.append(str(entry.origin))
    if entry.loaded:
        facts.append(from_here(entry.loaded, cwd))
    if entry.guards is not None:
        facts.append(plural(entry.guards, "guard"))
    if entry.hits is not None:
        facts.append(plural(entry.hits, "hit"))
    if entry.backend:
        facts.append(entry.backend)
    elif entry.position is not None:
        facts.append("backend not checked")
    if entry.region != -1:
        facts.append(f"region {entry.region}")
    if entry.age is not None:
        facts.append(f"{_duration(entry.age)} old")
    if entry.graph_nodes is not None:
        facts.append(plural(entry.graph_nodes, "node"))
    memory = (entry.graph_bytes or 0) + entry.code_bytes
    if memory:
        facts.append(_size(memory))
    return facts


def entry_line(entry: CacheEntry, cwd: str = "") -> str:
    """`✓ 3  0/1  valid  9 guards  2 hits  eager`; the number is for commands."""
    parts = [f"{SIGNS[entry.state]} {entry.id:>2}", entry_name(entry), entry.state]
    parts += [entry_reason(entry, cwd), *entry_facts(entry, cwd)]
    return "  ".join(filter(None, parts))


def lifeline_line(line: Lifeline, cwd: str = "") -> str:
    """`class Scaler  L['scaler']  alive, 3 references`."""
    state = "alive" if line.alive else "DEAD"
    if line.alive and line.references is not None:
        state += f", {plural(line.references, 'reference')}"
    parts = [line.object, short_name(line.source), state]
    if line.user_line is not None:
        parts.append(f"because of {place_text(line.user_line, cwd)}")
    return "  ".join(parts)


def guard_row_line(row: GuardRow) -> str:
    """`TENSOR_MATCH  L['x']  Tensor float32[3]`."""
    return f"{row.kind}  {guard_row_checks(row)}"


def guard_row_checks(row: GuardRow) -> str:
    """`L['x']  Tensor float32[3]`."""
    if row.made:
        return one_line(" and ".join(row.code))
    checks = clip(short_name(one_line(row.expected or " and ".join(row.code))), 200)
    source = guarded_text(row.kind, row.source)
    return f"{source}  {checks}" if checks else source


def entry_check_line(check: EntryCheck, entry: CacheEntry | None) -> str:
    """`✓ 3  0/1  matches and wins  9 guards run`."""
    name = f"{check.entry:>2}  {entry_name(entry)}" if entry is not None else f"{check.entry:>2}"
    verdict = "matches" if check.matches else "does not match"
    if check.wins:
        verdict += " and wins"
    if not check.eligible:
        verdict += ", but is not looked at"
    parts = [f"{'✓' if check.matches else '✗'} {name}", verdict]
    if check.executed:
        parts.append(f"{plural(check.executed, 'guard')} run")
    if check.reason:
        parts.append(one_line(check.reason))
    return "  ".join(parts)


def check_summary(check: CacheCheck) -> str:
    """What a call with these arguments would come to."""
    matching = sum(each.matches for each in check.entries)
    if check.winner is None:
        return "no entry would run: the call would be compiled, or run as it is"
    others = matching - 1
    also = f"; {plural(others, 'other entry')} would match too" if others > 0 else ""
    return f"entry {check.winner} would run{also}"


def comparison_lines(comparison: Comparison) -> list[str]:
    """An entry's result beside eager's."""
    lines = ["the same as eager" if comparison.same else "NOT the same as eager"]
    lines += [f"  entry: {one_line(comparison.entry)}", f"  eager: {one_line(comparison.eager)}"]
    lines += [f"  {text}" for text in comparison.differences]
    if comparison.shared:
        lines.append(f"  beware: {', '.join(comparison.shared)} could not be copied, and was used")
    return lines


def witness_lines(search: WitnessSearch) -> list[str]:
    """Whether a guard is needed, as far as an experiment says."""
    name = f"{search.guard.kind} {search.guard.source}".strip()
    found = search.witness
    if found is not None and found.comparison is not None:
        first = f"{name} is needed: without it the code was run with {found.text}, and is"
        lines = comparison_lines(found.comparison)
        return [f"{first} {lines[0]}", *lines[1:]]
    if found is not None:
        return [f"{name} is needed: the code was run with {found.text}, and {found.trouble}"]
    if not search.trials:
        return [f"{name}: no input can be built that differs in just what it watches"]
    compared = sum(trial.comparison is not None for trial in search.trials)
    others = sum(bool(trial.others) for trial in search.trials)
    what = "no witness was found"
    if others == len(search.trials):
        what = "no witness: other guards refuse all that it was found to refuse"
    lines = [f"{name}: {what} ({plural(compared, 'input')} run without it). Tried:"]
    return [*lines, *(f"  {_trial(trial)}" for trial in search.trials)]


def _trial(trial: WitnessTrial) -> str:
    if trial.others:
        return f"{trial.text}: refused also by {', '.join(trial.others)}"
    if trial.comparison is None:
        return f"{trial.text}: {one_line(trial.trouble)}"
    return f"{trial.text}: the same as eager, {one_line(trial.comparison.eager)}"


def from_here(text: str, cwd: str) -> str:
    """A text with the paths in it as a person in `cwd` would write them."""
    return text.replace(f"{cwd.rstrip('/')}/", "") if cwd else text


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _size(count: int) -> str:
    if count < _KILO:
        return f"{count} B"
    return f"{count / _KILO:.0f} kB" if count < _KILO**2 else f"{count / _KILO**2:.1f} MB"
