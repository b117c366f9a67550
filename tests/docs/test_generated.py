"""Pages that are made from the code say what the code says."""

from __future__ import annotations

import ast
import inspect
import re

import msgspec
import pytest

import stepper.tui.document
import tests.answers.document
import tests.benchmarks.document
from stepper.cli.config import Config
from stepper.console.stopping import break_
from stepper.model import breakpoint as model
from stepper.model.breakpoint import BreakpointKind
from stepper.tui import breakpoints_dialog
from stepper.tui.keys import KEYS
from tests.docs import python_api
from tests.docs.transcripts import DOCS, ROOT


def test_the_page_on_keys_is_up_to_date() -> None:
    assert (DOCS / "keys.md").read_text(encoding="utf-8") == stepper.tui.document.page(), (
        "run: python -m stepper.tui.document > docs/keys.md"
    )


def test_the_page_on_answers_is_up_to_date() -> None:
    assert (DOCS / "answers.md").read_text(encoding="utf-8") == tests.answers.document.page(), (
        "run: python -m tests.answers.document > docs/answers.md"
    )


def test_the_page_on_costs_has_what_each_bench_prints_and_a_curve_for_each_row() -> None:
    page = tests.benchmarks.document.PAGE.read_text(encoding="utf-8")
    sections = re.findall(
        r"^`python -m tests\.benchmarks\.(\w+)`:\n\n```\n(.+?)^```$", page, re.M | re.S
    )
    assert [bench for bench, _ in sections] == [*tests.benchmarks.document.BENCHES], "make bench"
    rows = dict(sections)["bench_growth"].splitlines()[1:]
    picture = tests.benchmarks.document.PLOT.read_text(encoding="utf-8")
    names = {name.partition("  ")[0] for name in rows}
    assert names <= {*re.findall(r"<text [^>]*>([^<]*)</text>", picture)}


def test_the_page_on_the_python_api_is_up_to_date() -> None:
    assert (DOCS / "python-api.md").read_text(encoding="utf-8") == python_api.page(), (
        "run: python -m tests.docs.python_api > docs/python-api.md"
    )


def test_every_key_is_on_the_page() -> None:
    page = stepper.tui.document.page()
    for key in KEYS:
        assert f"| `{key.shown}` | {key.title}. " in page


@pytest.mark.parametrize("kind", list(BreakpointKind))
def test_every_kind_of_breakpoint_is_explained(kind: BreakpointKind) -> None:
    page = (DOCS / "breakpoints.md").read_text(encoding="utf-8")
    written = "FILE:LINE" if kind is BreakpointKind.LINE else kind
    assert f"| `{written}" in page
    for told in (" ".join(breakpoints_dialog.HELP), inspect.getdoc(break_) or ""):
        assert re.search(rf"(?<![\w-]){written}(?![\w-])", told), told


def test_the_modifiers_of_a_breakpoint_are_explained() -> None:
    page = (DOCS / "breakpoints.md").read_text(encoding="utf-8")
    for modifier in (", if CONDITION", ", ignore N", ", once"):
        assert modifier in (inspect.getdoc(model) or "")
        assert modifier in page


def test_every_setting_is_explained() -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    for name in (field.encode_name for field in msgspec.structs.fields(Config)):
        assert f"| `{name}` |" in page


def _variables(tree: ast.Module) -> set[str]:
    """The environment's variables that a module names, itself or by a constant of its own."""
    constants = {
        target.id: each.value.value
        for each in tree.body
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    keys: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=mapping), args=[key, *_]):
                pass
            case ast.Subscript(value=mapping, slice=key):
                pass
            case _:
                continue
        if ast.unparse(mapping) in ("os.environ", "environ"):
            keys.append(key)
    found = {key.value for key in keys if isinstance(key, ast.Constant)}
    found |= {constants.get(key.id) for key in keys if isinstance(key, ast.Name)}
    return {each for each in found if isinstance(each, str)}


def test_every_variable_of_the_environment_is_explained() -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    explained = {name for row in re.findall(r"^\| (`[A-Z].*?) \|", page, re.MULTILINE)
                 for name in re.findall(r"`([A-Z_]+)", row)}  # fmt: skip
    sources = (ROOT / "stepper").rglob("*.py")
    named = set().union(*(_variables(ast.parse(each.read_text())) for each in sources))
    assert {"XDG_STATE_HOME", "STEPPER_SESSION", "STEPPER_DEBUG"} <= named
    # CC is of who builds the C part, whom the build tells.
    assert named - explained == {"CC"}
