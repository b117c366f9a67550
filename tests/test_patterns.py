"""Whether a regular expression of stepper can take a text for ever.

Source lines, reasons, printed output and what stands in a recording can be of any length, and a
table that a program prints has hundreds of spaces behind a word. So each pattern of the package is
given texts that repeat what it is made of, and then four times as long ones.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]  # there is no public one
from typing import Any

import pytest

import stepper

ROOT = Path(__file__).resolve().parent.parent

LENGTHS = (100, 400, 1_600)
"""Characters: the short ones find what would not come to an end with the long ones."""
TIMES = 4
MORE_THAN_LINEAR = 2.2 * TIMES
LEAST = 0.008
"""Seconds of the longer text below which a ratio says nothing."""
MOST = 16
"""Parts of a pattern that are tried."""
SEARCHES = {"search", "finditer", "findall", "sub", "subn", "split"}
TYPED = ("stepper.console.", "stepper.model.breakpoint", "stepper.tui.", "stepper.cli.")
"""Modules whose patterns read what the user types."""
AT_THE_BEGINNING = "stepper.analysis.reasons"
"""Its patterns are in a table, and each is tried at the beginning only."""
BOUNDED = {
    "stepper.engines.dynamo.guard_tree._COMMENT": "one line of the program, with its comments",
    "stepper.recording.document._COLUMN": "a line of the schema",
}


def patterns() -> dict[str, re.Pattern[Any]]:
    """All that modules and classes of the package keep, by where they are."""
    found: dict[str, re.Pattern[Any]] = {}

    def look(thing: object, where: str, depth: int) -> None:
        if isinstance(thing, re.Pattern):
            found[where] = thing
        elif depth and isinstance(thing, (tuple, list, set, frozenset)):
            for at, each in enumerate(thing):
                look(each, f"{where}[{at}]", depth - 1)
        elif depth and isinstance(thing, dict):
            look([*thing, *thing.values()], where, depth)

    for module in pkgutil.walk_packages(stepper.__path__, "stepper."):
        if module.name.endswith("_main") or "__main__" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            look(value, f"{module.name}.{name}", 3)
    unique = {(each.pattern, each.flags): where for where, each in found.items()}
    return {where: found[where] for where in unique.values()}


def pieces(pattern: str | bytes, flags: int) -> set[str]:
    """Texts that the parts of a pattern match: its words, and a character of each class."""
    found = set()

    def walk(tree: Any) -> None:
        word = ""
        for kind, value in tree:
            name = str(kind)
            if name == "LITERAL":
                word += chr(value)
                found.add(chr(value))
                continue
            found.add(word)
            word = ""
            if name.endswith("_REPEAT"):
                walk(value[2])
            elif name == "SUBPATTERN":
                walk(value[3])
            elif name == "ATOMIC_GROUP":
                walk(value)
            elif name.startswith("ASSERT"):
                walk(value[1])
            elif name == "BRANCH":
                for branch in value[1]:
                    walk(branch)
            elif name == "IN":
                found.update(map(sample, value))
        found.add(word)

    walk(_parser.parse(pattern, flags))
    return {*found, "a", "7", " ", "\n", "."} - {""}


def sample(kind_and_value: tuple[Any, Any]) -> str:
    kind, value = kind_and_value
    if str(kind) == "LITERAL":
        return chr(value)
    if str(kind) == "RANGE":
        return chr(value[0])
    return {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "7"}.get(str(value), "w")


def way_of(where: str) -> str:
    """How the pattern is applied: of several ways the one that reads most."""
    if where.startswith(AT_THE_BEGINNING):
        return "match"
    module, _, name = where.partition("[")[0].rpartition(".")
    own = str(sys.modules[module].__file__)
    readers = [Path(own)] if name.startswith("_") else Path(ROOT, "stepper").rglob("*.py")
    uses = re.compile(rf"\b{re.escape(name)}\.(\w+)")
    used = {way for path in readers for way in uses.findall(path.read_text())}
    if not used or used & SEARCHES:
        return "search"
    return "match" if "match" in used else "fullmatch"


def pumped(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """Beginnings of texts, and what is repeated behind them."""
    parts = pieces(pattern.pattern, pattern.flags)
    by_length = sorted(parts, key=lambda part: (len(part), part))
    short, long = by_length[:MOST], by_length[-MOST:]
    pairs = [a + b for a in short for b in short[: MOST // 4]]
    for each in dict.fromkeys([*short, *long, "".join(sorted(parts)), *pairs]):
        for before in ("", *long[-MOST // 4 :]):
            yield before, each


def seconds(pattern: re.Pattern[Any], way: str, before: str, each: str, length: int) -> float:
    text: Any = before + each * (length // len(each)) + "\0"
    if isinstance(pattern.pattern, bytes):
        text = text.encode("latin-1", "replace")
    begun = time.process_time()
    getattr(pattern, way)(text)
    return time.process_time() - begun


def grows(pattern: re.Pattern[Any], way: str) -> tuple[str, str] | None:
    """A text that takes much more than four times as long when it is four times as long."""
    for before, each in pumped(pattern):
        for length in LENGTHS:
            if seconds(pattern, way, before, each, length) * TIMES * TIMES < LEAST:
                continue
            short, long = (
                min(seconds(pattern, way, before, each, times * length) for _ in range(3))
                for times in (1, TIMES)
            )
            if long > LEAST and long > MORE_THAN_LINEAR * short:
                return before, each
    return None


@pytest.mark.slow
def test_no_pattern_takes_much_longer_over_longer_texts() -> None:
    slow = {
        where: text
        for where, pattern in patterns().items()
        if where not in BOUNDED and not where.startswith(TYPED)
        if (text := grows(pattern, way_of(where)))
    }
    assert not slow


def test_a_pattern_that_does_is_found() -> None:
    assert grows(re.compile(r"[a-z]+\d"), "search")
    assert grows(re.compile(r"token\s*=?\s*:?\s*'"), "search")
    assert not grows(re.compile(r"(?<![a-z])[a-z]++\d"), "search")
