"""What is told of recompilations against what Dynamo says of them in its log."""

from __future__ import annotations

import re
from collections.abc import Iterable

from stepper.analysis.reasons import Reason
from stepper.analysis.recompiles import Recompilation
from stepper.analysis.sources import unscoped
from stepper.analysis.unmet_guards import Failure
from stepper.model.datum import UNKNOWN, Datum, Many, text_of
from stepper.model.lookup import Aspect

Facts = set[tuple[str, Aspect, Datum, Datum]]


def facts(failure: Failure) -> Facts:
    """What a failure says, with sources as Dynamo's words have them."""
    source = unscoped(failure.source)
    return {(source, each.aspect, each.expected, each.actual) for each in failure.differences}


def agrees(failure: Failure, reason: Reason) -> None:
    """What Dynamo says of an entry is the first failure; more than it says may be known."""
    assert not failure.behind
    if not reason.source:
        assert reason.text in unscoped(failure.text)
        return
    assert reason.kind == failure.kind
    (said,) = reason.differences
    for source, aspect, expected, actual in facts(failure):
        if aspect == said.aspect:
            assert (source, expected) == (reason.source, said.expected)
            assert said.actual in (UNKNOWN, actual)
            return
    raise AssertionError(f"{reason} is not in {failure}")


def is_true(inferred: list[Recompilation], known: list[Recompilation]) -> None:
    assert [each.translation.compile_id for each in inferred] == [
        each.translation.compile_id for each in known
    ]
    for plain, full in zip(inferred, known, strict=True):
        truth = {tried.entry: tried for tried in full.tried}
        assert {tried.entry for tried in plain.tried} == set(truth)
        assert plain.tried[0].entry == full.tried[0].entry
        for tried in plain.tried:
            real: Facts = set()
            for failure in truth[tried.entry].failures:
                real |= facts(failure)
            texts = {unscoped(failure.text) for failure in truth[tried.entry].failures}
            for failure in tried.failures:
                if not failure.differences:  # a condition, in the compiler's words
                    assert unscoped(failure.text) in texts
                elif failure.differences[0].actual != UNKNOWN:
                    assert all(fact in real or _of_its_type(fact, real) for fact in facts(failure))


def _of_its_type(fact: tuple[str, Aspect, Datum, Datum], real: Facts) -> bool:
    """Whether of a value only the type is told, in place of the value that was there."""
    *said, actual = fact
    shown = text_of(actual).strip("<>")
    return any([*known] == said and shown in _type_of(there) for *known, there in real)


def _type_of(value: Datum) -> str:
    return (
        f"{value.kind}" if isinstance(value, Many) else f"{type(value).__name__} {text_of(value)}"
    )


_ALIKE = {
    **dict.fromkeys(["DICT_LENGTH", "DICT_MANAGER", "SEQUENCE_LENGTH"], "LENGTH_CHECK"),
    **dict.fromkeys(["TRUE_MATCH", "FALSE_MATCH", "CONSTANT_MATCH", "NONE_MATCH"], "EQUALS_MATCH"),
}
"""Guards that say the same in several ways."""
_NOT_THERE = re.compile(r"(?:KeyError on|getattr failed on source|\w+: Not a function on) (.*)")


def is_told(reason: Reason, failures: Iterable[Failure]) -> bool:
    """Whether what Dynamo says of an entry is among what is told of it."""
    return any(_is_it(reason, failure) for failure in failures)


def _is_it(reason: Reason, failure: Failure) -> bool:
    source, text = unscoped(failure.source), reason.text
    differences = [f"{each.source} {each}" for each in failure.differences]
    if text in unscoped(failure.text):
        return True
    if missing := _NOT_THERE.match(text):
        return bool(failure.missing or "no " in failure.text) and source.startswith(missing[1])
    if reason.kind == "GLOBAL_STATE":
        states = text.partition(": ")[2].split()
        return all(any(state.split("(")[0] in each for each in differences) for state in states)
    kinds = [_ALIKE.get(kind, kind) for kind in (reason.kind, failure.kind)]
    if not reason.source:
        return kinds[0] == kinds[1]
    if kinds[0] != kinds[1] or not _is_one(source, reason.source):
        return False
    if "dispatch key set" in text:
        return any("inference" in each or "keys" in each for each in differences)
    said = reason.differences[0].aspect if kinds[0] == "TENSOR_MATCH" else None
    return said is None or any(each.aspect == said for each in failure.differences)


def _is_one(told: str, said: str) -> bool:
    """Whether two expressions are one, however they are quoted."""
    return told.replace("'", '"') == said.replace("'", '"')
