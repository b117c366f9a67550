"""Two recordings side by side: where they part first, and in what each frame differs.

Yesterday's run and today's, torch 2.x and 2.y, rank 0 and rank 1: the same program, compiled
twice. The frames of both are aligned by what they are of (the function's name and file, in the
order in which they were compiled), as a text comparison aligns lines; two frames that belong
together are then compared instruction by instruction, guard by guard and node by node. The script
that was run may have another name, as the copy of it that has the fix.

Numbers and addresses differ between any two runs, so they are compared without: ids of objects,
counters in names that Dynamo makes up. Lines move when a file is edited, so they do not count.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, KeysView, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain, compress
from operator import attrgetter
from typing import NamedTuple

import msgspec

from stepper.analysis.guard_uses import checked
from stepper.analysis.walks import compilations
from stepper.analysis.wanted import wanted_by
from stepper.client.names import program_file
from stepper.client.text import node_line, one_line, short_name
from stepper.model.program import Code
from stepper.model.resume_names import BEGINS
from stepper.model.trace import Attempt, Guard, MomentId, Node, Outcome, Translation
from stepper.recording.moments import Run
from stepper.recording.reader import Recording

# Each with one plain beginning, or kind of it: they go through megabytes.
_ADDRESS = re.compile(r"[0-9](?:(?<=0)x[0-9a-f]+|[0-9]{8,}|[0-9]*(?=\), type=<class ))")
_NUMBERED = re.compile(r"__(?:(builtins_dict__|compiled_fn)_\d+|(resume_at)_\d+_\d+)")
_RESUMED = re.compile(rf"({BEGINS})\w{{1,256}}_at_\d+")
_MOST_MATCHED = 3000
"""Nodes that are aligned; more of them, between the first and the last that differ, are only told
to be on one side."""

_TOGETHER = 4096
"""Instructions that are compared at once."""

Row = tuple[str | None, str | None]
"""What stands on the left and on the right; None: nothing."""


class Named(NamedTuple):
    """A line of one side."""

    name: str
    text: str
    plain: str
    """The text without what differs between any two runs."""

    @classmethod
    def of(cls, name: str, text: str) -> Named:
        """A line by its name."""
        return cls(name, text, plain(text))


class FrameDiff(msgspec.Struct, frozen=True):
    """Two compilations that belong together."""

    a: Translation
    b: Translation
    facts: tuple[tuple[str, str, str], ...]
    """In what they differ as a whole: name, `a`'s, `b`'s."""
    common: int
    """Instructions that were interpreted alike before the two parted."""
    at_a: MomentId | None
    """The first moment that is different; None: `a` was over, or they never parted."""
    at_b: MomentId | None
    before_a: MomentId | None
    """The last moment that both have; None: there is none."""
    before_b: MomentId | None
    guards: tuple[Row, ...]
    """Guards of the entries that only one has, or that check something else."""
    nodes: tuple[Row, ...]
    """Nodes of the final graphs that differ."""

    @property
    def parted(self) -> bool:
        """Whether they were interpreted differently."""
        return self.at_a is not None or self.at_b is not None

    def __bool__(self) -> bool:
        return bool(self.facts or self.parted or self.guards or self.nodes)


class RunDiff(msgspec.Struct, frozen=True):
    """Two recordings, their compilations aligned."""

    pairs: tuple[tuple[Translation | None, Translation | None], ...]
    """In the order of both; None: only the other has it."""
    different: tuple[FrameDiff, ...]
    """The pairs that belong together and differ."""

    @property
    def only_a(self) -> list[Translation]:
        """Compilations that only the first recording has."""
        return [a for a, b in self.pairs if a is not None and b is None]

    @property
    def only_b(self) -> list[Translation]:
        """Compilations that only the second recording has."""
        return [b for a, b in self.pairs if b is not None and a is None]

    @property
    def first(self) -> FrameDiff | Translation | None:
        """The first difference: two frames, or one that only one recording has; None: none."""
        by_a = {each.a.id: each for each in self.different}
        for a, b in self.pairs:
            if a is None or b is None:
                return a or b
            if a.id in by_a:
                return by_a[a.id]
        return None


def compare_runs(a: Recording, b: Recording) -> RunDiff:
    """Everything in which two recordings differ."""
    pairs = list(_aligned_frames(a, b))
    words = Words()
    found = (
        compare_frames(a, one, b, other, words)
        for one, other in pairs
        if one is not None and other is not None
    )
    return RunDiff(tuple(pairs), tuple(each for each in found if each))


def _aligned_frames(
    a: Recording, b: Recording
) -> Iterator[tuple[Translation | None, Translation | None]]:
    left, right = compilations(a), compilations(b)
    one, other = [_whose(a, each) for each in left], [_whose(b, each) for each in right]
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    for kind, a1, a2, b1, b2 in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(left[a1:a2], right[b1:b2], strict=True)
        else:
            yield from ((item, None) for item in left[a1:a2])
            yield from ((None, item) for item in right[b1:b2])


def what_is_compared(recording: Recording, item: Translation) -> Iterator[str]:
    """All texts of a compilation that a comparison looks at, but the code of its frames
    (`body_of`) and the instructions that were interpreted."""
    side = _Side(recording, item, recording.attempts(item.id))
    yield from _whose(recording, item)
    yield from (text for _, text in _told(item))
    for attempt in side.attempts:
        for frame in recording.frames(attempt.id):
            code = recording.code(frame.code)
            yield f"{code.label} {_file(recording, code.filename)} {frame.depth}"
    yield _guards_text(side)
    yield from map(node_line, side.nodes())


def _whose(recording: Recording, item: Translation) -> tuple[str, str]:
    return plain(item.name), _file(recording, item.filename)


def _file(recording: Recording, filename: str) -> str:
    """A file's name without its folders; empty: it is the program itself, which may be called
    otherwise on the other side."""
    name = os.path.basename(filename)
    return "" if name == recording.derived(_program) else name


def _program(recording: Recording) -> str:
    return program_file(recording.facts)


def _same(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but what differs between any two runs."""
    return one == other or plain(one) == plain(other)


def plain(text: str) -> str:
    """A text without what differs between any two runs."""
    if "_" in text and ("__" in text or "_resume_" in text):
        text = _NUMBERED.sub(lambda match: f"__{match[1] or match[2]}", short_name(text))
        text = _RESUMED.sub(r"\1", text)
    return _ADDRESS.sub("", one_line(text))


_plain_argument = lru_cache(maxsize=4096)(plain)
"""`plain` for texts that are short, and are there again and again."""


Column = tuple[list[int], int, int]
"""What the instructions of a frame are called, its depth, its attempt."""


class Words:
    """Numbers for instructions, the same for those that belong together in both recordings.

    An instruction is its place in its function, not its words alone: both sides of a branch may
    begin with the same words. Where a function was edited, its instructions are aligned.
    """

    def __init__(self) -> None:
        self._count = 0
        self._codes: dict[tuple[str, int], list[int]] = {}
        self._known: dict[tuple[str, str], list[_Numbered]] = {}
        self._columns: dict[tuple[int, int, int], Column] = {}

    def column(self, recording: Recording, code: int, depth: int, attempt: int) -> Column:
        """What a frame is compared by. Frames of the same numbers have the same object, so that
        comparing many costs little."""
        numbers = self._of_code(recording, code)
        return self._columns.setdefault((id(numbers), depth, attempt), (numbers, depth, attempt))

    def _of_code(self, recording: Recording, id: int) -> list[int]:
        """The number of each instruction of a code object."""
        found = self._codes.get((recording.path, id))
        if found is None:
            code = recording.code(id)
            body = body_of(code)
            name = (plain(code.label), _file(recording, code.filename))
            found = self._numbered(recording.path, name, body)
            self._codes[recording.path, id] = found
        return found

    def _numbered(self, path: str, name: tuple[str, str], body: tuple[str, ...]) -> list[int]:
        known = self._known.setdefault(name, [])
        for each in known:
            if each.body == body:
                return each.numbers
        numbers = list(range(self._count, self._count + len(body)))
        self._count += len(body)
        other = next((each for each in known if each.path != path), None)
        if other is not None:
            matcher = SequenceMatcher(None, other.body, body, autojunk=False)
            for start, at, size in matcher.get_matching_blocks():
                numbers[at : at + size] = other.numbers[start : start + size]
        known.append(_Numbered(path, body, numbers))
        return numbers


def body_of(code: Code) -> tuple[str, ...]:
    """The instructions of a code object, in words."""
    return tuple(
        f"{row.opname} {'' if row.target is not None else _plain_argument(row.argrepr)}"
        for row in code.instructions
    )


class _Numbered(NamedTuple):
    """The instructions of a function in a recording, and their numbers."""

    path: str
    body: tuple[str, ...]
    numbers: list[int]


def compare_frames(
    a: Recording, one: Translation, b: Recording, other: Translation, words: Words | None = None
) -> FrameDiff:
    """Two compilations, of two recordings or of one."""
    left = _Side(a, one, a.attempts(one.id))
    right = _Side(b, other, b.attempts(other.id))
    return _compared(left, right, tuple(_facts(one, other)), words or Words())


def compare_attempts(a: Recording, one: Attempt, b: Recording, other: Attempt) -> FrameDiff:
    """Two attempts, of two recordings or of one; guards and graphs are those at their ends."""
    left = _Side(a, a.translation(one.translation), [one])
    right = _Side(b, b.translation(other.translation), [other])
    reasons = (one_line(one.restart_reason), one_line(other.restart_reason))
    facts = (("thrown away since", *reasons),) if plain(reasons[0]) != plain(reasons[1]) else ()
    return _compared(left, right, facts, Words())


class _Side(NamedTuple):
    """What is compared with something else."""

    recording: Recording
    translation: Translation
    attempts: list[Attempt]

    def found_as(self, other: _Side) -> bool:
        """Whether guards and graph are the same as on the other side, as far as the file shows it
        at once."""
        if not self.attempts or not other.attempts:
            return False
        mine, its = self.attempts[-1].id, other.attempts[-1].id
        return self.recording.same_findings(mine, other.recording, its)

    def guards(self) -> list[Guard]:
        """The guards at the end of the attempt that counts; none when it was given up before."""
        return self.recording.guards(None, attempt=self.attempts[-1].id) if self.attempts else []

    def nodes(self) -> list[Node]:
        """The graph at its end."""
        return self.recording.nodes(None, attempt=self.attempts[-1].id) if self.attempts else []


def _compared(
    left: _Side, right: _Side, facts: tuple[tuple[str, str, str], ...], words: Words
) -> FrameDiff:
    one, other = _Steps(left, words), _Steps(right, words)
    common, at_a, at_b = _parting(one, other)
    before_a, before_b = (each.moments[common - 1] if common else None for each in (one, other))
    same = left.found_as(right)
    guards, graphs = (() if same else tuple(each(left, right)) for each in (_guards, _graphs))
    return FrameDiff(
        left.translation, right.translation, facts, common, at_a, at_b, before_a, before_b, guards,
        graphs,
    )  # fmt: skip


def _facts(one: Translation, other: Translation) -> Iterator[tuple[str, str, str]]:
    for (name, left), (_, right) in zip(_told(one), _told(other), strict=True):
        if plain(left) != plain(right):
            yield name, one_line(left), one_line(right)


def _told(item: Translation) -> tuple[tuple[str, str], ...]:
    """What a compilation is as a whole."""
    return (
        ("outcome", str(item.outcome)),
        ("reason", item.reason.partition("\n")[0]),
        ("attempts", str(item.attempts)),
        ("graph breaks", str(item.graph_breaks)),
        ("compiled again because", _first_line(item)),
    )


def _first_line(item: Translation) -> str:
    return item.recompile_reason.partition("\n")[0].partition("  #")[0]


# Instructions


class _Steps:
    """The instructions that a compilation interpreted, all attempts: for each its frame and its
    index, and its moment."""

    def __init__(self, side: _Side, words: Words) -> None:
        recording = side.recording
        self.columns: dict[int, Column] = {}
        parts = []
        for number, attempt in enumerate(side.attempts):
            last = recording.newest if attempt.last_moment is None else attempt.last_moment
            own = {
                frame.id: words.column(recording, frame.code, frame.depth, number)
                for frame in recording.frames(attempt.id)
            }
            self.columns.update(own)
            parts += [_of(own.keys(), run) for run in recording.runs(attempt.first_moment, last)]
        self.moments: Sequence[int]
        self.frames: list[int]
        self.ips: list[int]
        if len(parts) == 1:  # mostly; nothing is copied then
            self.moments, self.frames, self.ips = parts[0]
        else:
            self.moments, self.frames, self.ips = (
                [*chain.from_iterable(part[at] for part in parts)] for at in range(3)
            )

    def whose(self, start: int, end: int) -> list[Column]:
        """The columns that a part of them is in."""
        return [*map(self.columns.__getitem__, self.frames[start:end])]

    def numbers(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """What a part of them is, so that it can be compared: number, depth, attempt."""
        found = []
        for frame, ip in zip(self.frames[start:end], self.ips[start:end], strict=True):
            numbers, depth, attempt = self.columns[frame]
            number = numbers[ip] if 0 <= ip < len(numbers) else -1
            found.append((number, depth, attempt))
        return found


def _of(own: KeysView[int], run: Run) -> tuple[Sequence[int], list[int], list[int]]:
    """The moments of a run that are in some frames, their frames and their instructions."""
    moments, frames, ips = range(run.first, run.first + len(run.frames)), run.frames, run.ips
    if own >= set(frames):
        return moments, frames, ips
    # Another thread's, or another walk's, are in between.
    kept = [frame in own for frame in frames]
    return [*compress(moments, kept)], [*compress(frames, kept)], [*compress(ips, kept)]


def _parting(a: _Steps, b: _Steps) -> tuple[int, MomentId | None, MomentId | None]:
    """How many instructions are alike, and the first moments that are not."""
    shorter = min(len(a.moments), len(b.moments))
    common = shorter
    for start in range(0, shorter, _TOGETHER):
        end = min(start + _TOGETHER, shorter)
        # Mostly they are at the same indices of the same columns, and need no second look.
        if a.ips[start:end] == b.ips[start:end] and a.whose(start, end) == b.whose(start, end):
            continue
        left, right = a.numbers(start, end), b.numbers(start, end)
        if left != right:
            pairs = zip(left, right, strict=True)
            common = start + next(at for at, (one, other) in enumerate(pairs) if one != other)
            break
    at_a = a.moments[common] if common < len(a.moments) else None
    at_b = b.moments[common] if common < len(b.moments) else None
    return common, at_a, at_b


# Guards and graphs


_what_is_guarded = attrgetter("kind", "source", "code")
_what_is_entered = attrgetter("source", "meta")
_what_is_computed = attrgetter(
    "graph", "op", "name", "target", "args", "meta", "meta_text", "source"
)


def _guards(left: _Side, right: _Side) -> Iterator[Row]:
    if _all_guards(left) == _all_guards(right) or _same(*map(_guards_text, (left, right))):
        return
    one, other = _by_key(left), _by_key(right)
    for key in dict.fromkeys((*one, *other)):
        mine, theirs = one.get(key), other.get(key)
        if mine is None or theirs is None:
            yield (mine and mine.text), (theirs and theirs.text)
        elif mine.built == theirs.built and plain(mine.text) != plain(theirs.text):
            yield mine.text, theirs.text


class _Told(NamedTuple):
    """A guard in words, and whether its check was built: of a compilation that failed it may not
    have been, and what it would have checked is not known. One of a compilation that succeeded may
    have nothing to check."""

    text: str
    built: bool


_Guards = tuple[list[object], list[object]]


def _all_guards(side: _Side) -> _Guards:
    """All guards, and the tensors that they are on: a quick first look."""
    guards = map(_what_is_guarded, side.guards())
    tensors = (node for node in side.nodes() if node.op == "placeholder")
    return [*guards], [*map(_what_is_entered, tensors)]


def _guards_text(side: _Side) -> str:
    """All guards as one text: a second look, where `_all_guards` finds no difference."""
    guards, tensors = _all_guards(side)
    return "\n".join(map(str, (*guards, *tensors)))


def _by_key(side: _Side) -> dict[tuple[str, str, int], _Told]:
    found: dict[tuple[str, str, int], _Told] = {}
    counts: Counter[tuple[str, str]] = Counter()
    wants = wanted_by(side.recording, side.translation)
    made = side.translation.outcome is Outcome.COMPILED
    for guard in side.guards():
        key = (guard.kind, plain(guard.source))
        checks = "; ".join(checked(guard, wants))
        text = one_line(short_name(f"{guard.kind} {guard.source}  {checks}"))
        found[(*key, counts[key])] = _Told(text, made or bool(guard.code))
        counts[key] += 1
    return found


def _graphs(left: _Side, right: _Side) -> Iterator[Row]:
    one, other = left.nodes(), right.nodes()
    if [*map(_what_is_computed, one)] == [*map(_what_is_computed, other)]:
        return iter(())
    texts = ("\n".join(map(node_line, nodes)) for nodes in (one, other))
    return iter(()) if _same(*texts) else side_by_side(node_lines(one), node_lines(other))


def node_lines(nodes: Sequence[Node]) -> list[Named]:
    """The nodes of a graph."""
    return [Named.of(f"{node.graph} {node.op} {node.name}", node_line(node)) for node in nodes]


def side_by_side(left: Sequence[Named], right: Sequence[Named]) -> Iterator[Row]:
    """The lines that differ, where they belong; what both have alike is left out. Lines of one name
    belong together."""
    start = _alike(left, right)
    end = _alike(left[start:][::-1], right[start:][::-1])
    left, right = left[start : len(left) - end], right[start : len(right) - end]
    one, other = [line.name for line in left], [line.name for line in right]
    if max(len(one), len(other)) > _MOST_MATCHED:
        mine, theirs = set(one), set(other)
        yield from ((line.text, None) for line in left if line.name not in theirs)
        yield from ((None, line.text) for line in right if line.name not in mine)
        return
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    for kind, a1, a2, b1, b2 in matcher.get_opcodes():
        if kind == "equal":
            pairs = zip(left[a1:a2], right[b1:b2], strict=True)
            yield from ((own.text, its.text) for own, its in pairs if own.plain != its.plain)
        else:
            yield from ((line.text, None) for line in left[a1:a2])
            yield from ((None, line.text) for line in right[b1:b2])


def _alike(left: Sequence[Named], right: Sequence[Named]) -> int:
    """How many lines at the beginning are the same."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one.plain != other.plain:
            break
        count += 1
    return count
