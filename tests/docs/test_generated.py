"""Pages that are made from the code say what the code says."""

from __future__ import annotations

import inspect

import msgspec
import pytest

import stepper.tui.document
import tests.answers.document
from stepper.cli.config import Config
from stepper.model import breakpoint as model
from stepper.model.breakpoint import BreakpointKind
from stepper.tui.keys import KEYS
from tests.docs.transcripts import DOCS


def test_the_page_on_keys_is_up_to_date() -> None:
    assert (DOCS / "keys.md").read_text(encoding="utf-8") == stepper.tui.document.page(), (
        "run: python -m stepper.tui.document > docs/keys.md"
    )


def test_the_page_on_answers_is_up_to_date() -> None:
    assert (DOCS / "answers.md").read_text(encoding="utf-8") == tests.answers.document.page(), (
        "run: python -m tests.answers.document > docs/answers.md"
    )


def test_every_key_is_on_the_page() -> None:
    page = stepper.tui.document.page()
    for key in KEYS:
        assert f"| `{key.shown}` | {key.title}. " in page


@pytest.mark.parametrize("kind", list(BreakpointKind))
def test_every_kind_of_breakpoint_is_explained(kind: BreakpointKind) -> None:
    page = (DOCS / "breakpoints.md").read_text(encoding="utf-8")
    assert f"| `{kind}" in page or (kind is BreakpointKind.LINE and "| `FILE:LINE`" in page)


def test_the_modifiers_of_a_breakpoint_are_explained() -> None:
    page = (DOCS / "breakpoints.md").read_text(encoding="utf-8")
    for modifier in (", if CONDITION", ", ignore N", ", once"):
        assert modifier in (inspect.getdoc(model) or "")
        assert modifier in page


def test_every_setting_is_explained() -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    for name in (field.encode_name for field in msgspec.structs.fields(Config)):
        assert f"| `{name}` |" in page
