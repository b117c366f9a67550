"""What came out of a translation, as rows: both bytecodes, guards, graph, breaks, attempts.

Each function makes the rows of one view, once for a translation; a row may name a moment to go to.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

import msgspec

from stepper.client.text import (
    graph_break_lines,
    guard_line,
    instruction_line,
    node_line,
    one_line,
    plural,
    short_name,
)
from stepper.model.program import Code, Instruction
from stepper.model.trace import (
    Attempt,
    Guard,
    MomentId,
    Node,
    Outcome,
    Phase,
    Translation,
)
from stepper.recording.diff import AttemptDiff, compare_attempts
from stepper.recording.reader import Recording
from stepper.tui.highlight import python_spans
from stepper.tui.palette import Row, Span, row
from stepper.tui.places import Places


class Item(NamedTuple):
    """A row of a view."""

    spans: tuple[Span | str, ...]
    moment: MomentId | None = None
    """Where Enter goes."""
    why: str = ""
    """What is there."""
    python: str = ""
    """Python that follows the spans; it gets its colours when it is on screen."""

    def row(self) -> Row:
        """The row, drawn."""
        return row(*self.spans, *(python_spans([self.python])[0] if self.python else ()))


class Pair(NamedTuple):
    """Instructions side by side: by their indices, None where one side has nothing."""

    original: int | None
    transformed: int | None


def aligned(original: Code, transformed: Code) -> list[Pair]:
    """The two codes side by side, what is the same in both on one row."""
    left = [_kind(instruction) for instruction in original.instructions]
    right = [_kind(instruction) for instruction in transformed.instructions]
    pairs: list[Pair] = []
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for _, a, b, c, d in matcher.get_opcodes():
        for at in range(max(b - a, d - c)):
            one = a + at if a + at < b else None
            other = c + at if c + at < d else None
            pairs.append(Pair(one, other))
    return pairs


def _kind(instruction: Instruction) -> tuple[str, str]:
    # Jumps go to other offsets once code is rewritten; that they jump is what is the same.
    return instruction.opname, "" if instruction.target is not None else instruction.argrepr


def side_by_side_headings(width: int) -> Row:
    """What the two columns of `side_by_side` are, and what the signs between them say."""
    return row(
        (f"  {'original':<{_half(width)}}   ", "dim"),
        ("transformed", "dim"),
        ("   < gone  > new  ≠ changed", "dim"),
    )


def _half(width: int) -> int:
    return max(10, (width - 5) // 2)


def side_by_side(pair: Pair, original: Code, transformed: Code, width: int, current: bool) -> Row:
    """A row of the two codes.

    Args:
        pair: what stands on it.
        original: the code on the left.
        transformed: the code on the right.
        width: columns there are.
        current: whether the next instruction stands on it.
    """
    half = _half(width)
    left = _instruction(original, pair.original)[:half].ljust(half)
    right = _instruction(transformed, pair.transformed)[:half]
    if pair.original is None or pair.transformed is None:
        sign = "<" if pair.transformed is None else ">"
    else:
        one = original.instructions[pair.original]
        other = transformed.instructions[pair.transformed]
        sign = " " if _kind(one) == _kind(other) else "≠"
    return row(
        ("▶ " if current else "  ", "key"),
        (left, "dim" if sign == "<" else ""),
        (f" {sign} ", "changed"),
        (right, "new" if sign == ">" else "changed" if sign == "≠" else ""),
        role="current" if current else "",
    )


def _instruction(code: Code, index: int | None) -> str:
    return "" if index is None else instruction_line(code.instructions[index])


def guard_items(recording: Recording, attempt: Attempt) -> list[Item]:
    """The guards of the attempt that counted, with what they check."""
    items: list[Item] = []
    for guard in recording.guards(None, attempt=attempt.id):
        why = f"installed {guard_line(guard)}"
        items.append(
            Item(
                (
                    (guard.kind, "type"),
                    "  ",
                    (short_name(guard.source) or "(global)", "source"),
                ),
                guard.moment,
                why,
            )
        )
        items += [Item(("    ",), guard.moment, why, one_line(code)) for code in guard.code]
    return items


def graph_items(recording: Recording, translation: Translation, attempt: Attempt) -> list[Item]:
    """The nodes of the graph."""
    nodes = recording.nodes(None, attempt=attempt.id)
    return [Item((node_line(node),), node.moment, f"made {node.name}") for node in nodes]


def so_far(recording: Recording, translation: Translation) -> Translation:
    """The translation; one that still runs with the counts that it has by now."""
    if translation.outcome is not Outcome.RUNNING or translation.phase is not Phase.TRANSLATE:
        return translation
    attempts = recording.attempts(translation.id)
    if not attempts:
        return translation
    newest = attempts[-1]
    return msgspec.structs.replace(
        translation,
        attempts=len(attempts),
        instructions=max(0, recording.newest - translation.first_moment + 1),
        guards=len(recording.guards(None, attempt=newest.id)),
        nodes=len(recording.nodes(None, attempt=newest.id)),
        graph_breaks=sum(len(recording.graph_breaks(attempt.id)) for attempt in attempts),
    )


def lookup_items(walk: Translation, width: int) -> list[Item]:
    """What came of a lookup."""
    text = f"{walk.outcome}: {one_line(walk.reason)}" if walk.reason else str(walk.outcome)
    return [Item((part,)) for part in _wrapped(text, width - 1)]


def break_items(recording: Recording, attempts: list[Attempt], cwd: str, width: int) -> list[Item]:
    """The graph breaks of all attempts, in Dynamo's own words, wrapped to a width."""
    items: list[Item] = []
    for attempt in attempts:
        for found in recording.graph_breaks(attempt.id):
            title = f"graph break in attempt {attempt.number}, at moment {found.moment}"
            if items:
                items.append(Item((" ",)))
            items.append(Item(((title, "title"),), found.moment, "the graph break"))
            items += [
                Item((f"  {part}",), found.moment, "the graph break")
                for line in graph_break_lines(found, cwd)
                for part in _wrapped(line, width - 3)
            ]
    return items


def _wrapped(line: str, width: int) -> list[str]:
    """The line in parts, the later ones indented a little more than the first."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    wrapper = textwrap.TextWrapper(
        max(30, width), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return wrapper.wrap(line) or [""]


def attempt_items(recording: Recording, attempts: list[Attempt]) -> list[Item]:
    """Every attempt, and how each differs from the one before it."""
    places = Places(recording)
    items: list[Item] = []
    for attempt in attempts:
        size = plural(_length(attempt, recording.newest), "instruction")
        text = f"attempt {attempt.number}: {size}"
        items.append(Item(((text, "title"),), attempt.first_moment, f"attempt {attempt.number}"))
        if attempt.restart_reason:
            reason = one_line(attempt.restart_reason)
            items.append(
                Item(
                    (
                        "  thrown away: ",
                        (reason, "warning"),
                    ),
                    attempt.last_moment,
                )
            )
    for one, other in pairwise(attempts):
        items.append(Item((" ",)))
        title = f"attempt {one.number} and attempt {other.number}"
        items.append(Item(((title, "title"),)))
        items += _difference(compare_attempts(recording, one.id, other.id), one, other, places)
    return items


def _length(attempt: Attempt, newest: MomentId) -> int:
    last = attempt.last_moment if attempt.last_moment is not None else newest
    return max(0, last - attempt.first_moment + 1)


def _difference(found: AttemptDiff, one: Attempt, other: Attempt, places: Places) -> Iterator[Item]:
    yield Item((f"  alike for {plural(found.common, 'instruction')}",))
    sides = ((one, found.diverges_a), (other, found.diverges_b))
    for attempt, moment in sides:
        if moment is None:
            yield Item(((f"  attempt {attempt.number} ends there", "dim"),))
            continue
        where = f"{places.instruction(moment)}  {places.line(moment)}"
        yield Item(
            (
                f"  then attempt {attempt.number}: ",
                (where, "function"),
            ),
            moment,
            f"where attempt {attempt.number} goes its own way",
        )
    lists: tuple[tuple[Attempt, str, tuple[Guard, ...] | tuple[Node, ...]], ...] = (
        (one, "guards", found.guards_only_a),
        (other, "guards", found.guards_only_b),
        (one, "nodes", found.nodes_only_a),
        (other, "nodes", found.nodes_only_b),
    )
    for attempt, what, things in lists:
        if things:
            yield Item((f"  {what} only in attempt {attempt.number}: {len(things)}",))
        for thing in things:
            text = guard_line(thing) if isinstance(thing, Guard) else node_line(thing)
            sign = "-" if attempt is one else "+"
            role = "gone" if attempt is one else "new"
            yield Item(
                (
                    "    ",
                    (f"{sign} ", role),
                    text,
                ),
                thing.moment,
                text,
            )
