"""What a compilation wants of the values that it was made for, as far as its findings say.

A guard that compares with a constant says it in its code, `L['times'] == 1`. What TENSOR_MATCH
compares stands in no code that Dynamo gives away, but the graph's input of the same source shows
it: a size that is a number is guarded, one that is a symbol is free.

Two compilations of one function are compared so: the later one fits the call that made it, so where
it wants something else than the earlier one, that call failed the earlier one's guard. This is how
a recording without lookups is read beyond the compiler's own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from stepper.analysis.reasons import parse_check
from stepper.analysis.sources import unscoped
from stepper.model.trace import Node, Translation
from stepper.recording.reader import Recording

Wanted = dict[tuple[str, str], str]
"""By source, without `L[…]` around locals, and by what of it (`value`, `type`, `length`, `dtype`,
`rank`, `size[0]` …): what it must be."""


def wanted_by(recording: Recording, translation: Translation) -> Wanted:
    """What the entry that a translation made wants; empty when it made none."""
    attempts = recording.attempts(translation.id)
    if not attempts:
        return {}
    found: Wanted = {}
    for guard in recording.guards(None, attempt=attempts[-1].id):
        for part in guard.code:
            said = _said(part)
            if said is not None and said[2]:
                found[said[0], said[1]] = said[2]
    for node in recording.nodes(None, attempt=attempts[-1].id):
        if node.op == "placeholder" and node.source and not node.graph:
            found.update(_of_tensor(unscoped(node.source), node))
    return found


@lru_cache(maxsize=16_384)
def _said(code: str) -> tuple[str, str, str] | None:
    """What a guard's code compares with a constant; entries of one function mostly say the same."""
    return parse_check(unscoped(code))


def _of_tensor(source: str, node: Node) -> Wanted:
    meta = node.meta
    if meta is None:
        return {}
    found = {
        (source, "dtype"): meta.dtype,
        (source, "device"): meta.device,
        (source, "requires_grad"): str(meta.requires_grad),
    }
    for name, sizes in (("size", meta.shape), ("stride", meta.stride)):
        if sizes is None:
            continue
        if name == "size":
            found[source, "rank"] = str(len(sizes))
        for at, size in enumerate(sizes):
            found[source, f"{name}[{at}]"] = size
    return found


def symbolic(size: str) -> bool:
    """Whether a size is a symbol, or made of symbols, and so is not guarded as a number."""
    return not size.lstrip("-").isdecimal()


def varying(wanted: Sequence[Wanted]) -> list[Wanted]:
    """The same, without what all of them want alike: as many comparisons need no more than that."""
    if not wanted:
        return []
    alike = set(wanted[0].items())
    for each in wanted:
        alike &= each.items()
    return [{key: each[key] for key in each if (key, each[key]) not in alike} for each in wanted]


def differing(earlier: Wanted, later: Wanted) -> list[tuple[str, str, str, str]]:
    """In what two compilations want something else: source, what, the earlier's, the later's.

    Sizes and strides count where both have numbers, and strides where the sizes are the same.
    """
    found: list[tuple[str, str, str, str]] = []
    for (source, what), wants in earlier.items():
        new = later.get((source, what))
        if new is None or new == wants:
            continue
        if what.startswith(("size[", "stride[")):
            if symbolic(wants) or symbolic(new):
                continue
            if earlier.get((source, "rank")) != later.get((source, "rank")):
                continue
        found.append((source, what, wants, new))
    resized = {source for source, what, _, _ in found if what.startswith("size[")}
    return [each for each in found if not (each[1].startswith("stride[") and each[0] in resized)]
