"""Where a text is too long to be recorded whole, no half of a secret is left that nobody knows."""

from __future__ import annotations

import ast
import dis
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from stepper._C import MAX_TEXT, node_words, shortened
from stepper.debuggee import evaluator, rendering
from stepper.engines.common import code_listing, lookup_walk, lookup_words, rebuildable, values
from stepper.recording.secrets import Secrets
from stepper.support.words import plain_text
from tests.conftest import ROOT

VARIABLE = "zq7-planted-variable"
LONG = "zq8-" + "-planted" * 12
SECRETS = [
    VARIABLE,
    LONG,
    "ghp_Zq7PlantedMarker0123456789",
    "sk_live_Zq7PlantedMarker0123456789Zq7PlantedMarker0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123",
]
PHRASES = {
    "Bearer {}": "ab.cd/ef+ghij",
    "postgres://ann:{}@db/x": "hunter2!x",
    "password = '{}'": "hunter2 and more",
}
LIMITS = (code_listing.MAX_ARGUMENT, MAX_TEXT, lookup_words.MAX_TEXT, 400)


class Pair(NamedTuple):
    one: str
    other: str


def texts_of(value: str) -> Iterator[str]:
    """What a recording may hold of a long text of the program."""
    data = value.encode()
    for limit in LIMITS:
        yield shortened(value, limit)
        yield shortened(node_words((value, [value]), {"k": value}, type(None), plain_text), limit)
        yield evaluator.shorten(value, limit)
        for short in (value, data, [value], {value: 1}):
            yield rendering.rendered(short, limit)
    shown: Any
    for shown in (value, data, (value,), [value, 1], {value: 1}, {1: value}, Pair("", value)):
        yield plain_text(shown)
        yield values.describe(shown).value.text
        yield rebuildable.describe_whole(shown).value.text
    yield lookup_words.note("x", value).value.text
    yield lookup_walk.rows([("CHECK", value, 1)])[0].argrepr
    code = compile(f"x = {value!r}, {value!r}; f({data!r})", "f.py", "exec")
    listed = list(dis.get_instructions(code))
    for row in code_listing.instructions(code, listed, [None] * len(listed)):
        yield row.argrepr
    yield evaluator.describe_exception(ValueError(value))


def cases() -> Iterator[tuple[str, str]]:
    for secret in SECRETS:
        yield "{}", secret
    yield from PHRASES.items()


@pytest.mark.parametrize(("phrase", "secret"), cases())
def test_no_part_of_a_secret_is_left(phrase: str, secret: str) -> None:
    whole = phrase.format(secret)
    for limit in LIMITS:
        for room in range(-8, len(whole) + 3):
            value = "." * (limit - room - 1) + " " + whole
            for text in texts_of(value):
                left = Secrets({"ONE": VARIABLE, "OTHER": LONG}).text(text)
                assert secret[:5] not in left, (limit, room)


def test_what_is_cut_says_so_and_keeps_what_fits() -> None:
    assert shortened("ab cd", 5) == "ab cd"
    assert shortened("ab cd ef", 6) == "ab cd…"
    assert shortened("ab cd ef", 5) == "ab …"
    assert shortened("x" * 50, 40) == "x" * 39 + "…"
    assert plain_text("a b " * 60) == repr("a b " * 50) + "…"


CUTS = re.compile(r"TEXT|ARGUMENT|REASON|LENGTH|\b(length|room|most)\b")
WHOLE = {
    "stepper/debuggee/evaluator.py": "what an evaluation prints, which is shown and not recorded",
    "stepper/debuggee/rendering.py": "cut once more, by `_cut`",
}
"""Files that cut otherwise, and what."""


def test_whatever_is_recorded_is_cut_by_one_function() -> None:
    cutting = set()
    for room in ("debuggee", "engines", "native", "support"):
        for file in (ROOT / "stepper" / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                upper = getattr(getattr(node, "slice", None), "upper", None)
                if upper is None or "shortened_at" in ast.unparse(upper):
                    continue
                is_number = isinstance(upper, ast.Constant) and isinstance(upper.value, int)
                if (is_number and upper.value >= 60) or CUTS.search(ast.unparse(upper)):
                    cutting.add(str(file.relative_to(ROOT)))
    assert cutting - {"stepper/support/words.py"} == WHOLE.keys()
    in_c = [
        str(file.relative_to(ROOT))
        for file in (ROOT / "csrc").rglob("*.c")
        if "PyUnicode_Substring(" in file.read_text()
    ]
    assert in_c == ["csrc/support/shorten.c"]
