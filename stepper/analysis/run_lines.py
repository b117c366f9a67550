"""Two recordings side by side, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepper.analysis.compare_recordings import (
    FrameDiff,
    Row,
    RunDiff,
    compare_attempts,
    compare_frames,
)
from stepper.analysis.line import Line
from stepper.analysis.moments import compare_moments
from stepper.client.frame_names import compiled_title, frame_name
from stepper.client.text import (
    clip,
    instruction_text,
    plural,
    source_line,
)
from stepper.model.trace import Attempt, MomentId, Translation
from stepper.recording.reader import Recording

_MOST_ROWS = 20
WIDTH = 118


def run_lines(a: Recording, b: Recording, found: RunDiff, *, width: int = WIDTH) -> Iterator[Line]:
    """The whole comparison: what both are, the first difference, then the others.

    Args:
        a: the first recording, on the left.
        b: the second one, on the right.
        found: in what they differ.
        width: columns there are for two texts side by side.
    """
    yield from _sides(a, b)
    both = len(found.pairs) - len(found.only_a) - len(found.only_b)
    yield Line(
        f"{plural(both, 'frame')} in both, {len(found.different)} of them different; "
        f"{len(found.only_a)} only in a, {len(found.only_b)} only in b"
    )
    first = found.first
    if first is None:
        yield Line("no difference: the same frames, instructions, guards and graphs", role="title")
        return
    yield Line("")
    if isinstance(first, FrameDiff):
        yield Line("first difference", role="title")
        yield from frame_lines(a, b, first, width=width)
    else:
        side, recording = ("a", a) if first in found.only_a else ("b", b)
        name = compiled_title(recording, first)
        yield Line(f"first difference: only {side} compiles {name}", role="title")
    for each in found.different:
        if each is not first:
            yield Line("")
            yield from frame_lines(a, b, each, width=width)
    for side, recording, items in (("a", a, found.only_a), ("b", b, found.only_b)):
        if items:
            yield Line("")
            yield Line(f"only in {side}", role="title")
            titles = ((compiled_title(recording, item), item.outcome) for item in items)
            yield from (Line(f"  {name}  {outcome}") for name, outcome in titles)


def _sides(a: Recording, b: Recording) -> Iterator[Line]:
    for name, each in (("a", a), ("b", b)):
        facts = each.facts
        rank = f", rank {facts.rank}" if facts.rank is not None else ""
        versions = f"torch {facts.torch}, python {facts.python}{rank}"
        yield Line(f"{name}  {each.path}  {versions}  {' '.join(facts.argv)}".rstrip())
    if a.facts.hash_seed != b.facts.hash_seed:
        yield Line(
            "they ran under different hash seeds (PYTHONHASHSEED): orders of sets can differ",
            role="dim",
        )


def frame_lines(
    a: Recording, b: Recording, found: FrameDiff, *, width: int = WIDTH
) -> Iterator[Line]:
    """Two frames: what differs as a whole, where they part, guards and graphs side by side."""
    left, right = compiled_title(a, found.a), compiled_title(b, found.b)
    yield Line(left if left == right else f"{left}  |  {right}", role="title")
    if not found:
        yield Line("  no difference")
    for name, mine, theirs in found.facts:
        yield Line(f"  {name}: {clip(mine, width)} ≠ {clip(theirs, width)}")
    if found.parted:
        yield Line(f"  alike for {plural(found.common, 'instruction')}, then")
        for name, recording, moment in (("a", a, found.at_a), ("b", b, found.at_b)):
            yield Line(f"    {name} {_at(recording, moment)}", moment if name == "a" else None)
    for title, rows in (("guards", found.guards), ("graph", found.nodes)):
        if rows:
            yield Line(f"  {title}: {plural(len(rows), 'difference')}")
            yield from (Line(f"    {text}") for text in _columns(rows, width - 4))


def _at(recording: Recording, moment: int | None) -> str:
    if moment is None:
        return "is over"
    found = recording.moment(moment)
    code = recording.code(recording.frame(found.frame).code)
    instruction = code.instructions[found.ip]
    text = source_line(code, instruction.line)
    line = "" if instruction.line is None else f", line {instruction.line}"
    where = f"{frame_name(recording, found.frame)}{line}" + (f": {text}" if text else "")
    return f"is at moment {moment}: {instruction_text(instruction)} in {where}"


def _columns(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Left and right with a sign between: `<` only left, `>` only right, `≠` different. What is
    longer than a column stands below each other, with the signs in front."""
    half = max(20, (width - 3) // 2)
    for left, right in rows[:_MOST_ROWS]:
        sign = "≠" if left is not None and right is not None else "<" if right is None else ">"
        if max(len(left or ""), len(right or "")) > half:
            yield from (f"{side} {text}" for side, text in (("<", left), (">", right)) if text)
        else:
            yield f"{left or '':<{half}} {sign} {right or ''}".rstrip()
    if len(rows) > _MOST_ROWS:
        yield f"… {plural(len(rows) - _MOST_ROWS, 'more difference')}"


def entry_lines(
    a: Recording, one: Translation, b: Recording, other: Translation, *, width: int = WIDTH
) -> Iterator[Line]:
    """Two frames that somebody chose, whatever they are of."""
    yield from frame_lines(a, b, compare_frames(a, one, b, other), width=width)


def attempt_lines(
    a: Recording, one: Attempt, b: Recording, other: Attempt, *, width: int = WIDTH
) -> Iterator[Line]:
    """Two attempts that somebody chose."""
    yield from frame_lines(a, b, compare_attempts(a, one, b, other), width=width)


def moment_lines(
    a: Recording, one: MomentId, b: Recording, other: MomentId, *, width: int = WIDTH
) -> Iterator[Line]:
    """Two moments that share nothing but words: frames, guards, graph and side effects side by
    side.

    Raises:
        RecordingError: there is no such moment.
    """
    found = compare_moments(a, one, b, other)
    for name, recording, moment in (("a", a, one), ("b", b, other)):
        yield Line(f"{name} {_at(recording, moment)}", moment if name == "a" else None)
    if not found:
        yield Line("no difference", role="title")
    for pair in found.frames:
        alone = "  (only b has it)" if not pair.a else "  (only a has it)" if not pair.b else ""
        names = pair.a if pair.a == pair.b else "  |  ".join(filter(None, (pair.a, pair.b)))
        yield Line("")
        yield Line(f"{names}{alone}", role="title")
        yield from (Line(f"  {text}") for text in _columns(pair.rows, width - 2))
    for title, rows in (
        ("guards", found.guards), ("graph", found.nodes), ("side effects", found.side_effects),
    ):  # fmt: skip
        if rows:
            yield Line("")
            yield Line(f"{title}: {plural(len(rows), 'difference')}", role="title")
            yield from (Line(f"  {text}") for text in _columns(rows, width - 2))
