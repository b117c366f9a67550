"""Remedies that can be tried from outside are found and proven: a program for each kind of remedy,
since each way takes a run. `python -m tests.answers.proving` goes through all."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.answers.cases import CASES
from tests.answers.proving import TRIED, UNKNOWN, check_proven, proven
from tests.answers.scripts import script

pytestmark = pytest.mark.slow

KINDS = (
    "counter_of_a_module",
    "float_argument",
    "inference_tensor",
    "without_gradients",
    "learning_rate",
    "batches_of_other_sizes",
    "single_row",
    "other_dtype",
    "list_or_tuple",
    "closure_over_an_int",
    "int_argument",
    "logger_info",
    "item_of_a_tensor",
    "disabled_helper",
    "asked_for",
)


@pytest.mark.parametrize("name", KINDS)
def test_the_remedy_is_found_and_proven(name: str, tmp_path: Path) -> None:
    check_proven(name, tmp_path)


@pytest.mark.parametrize("name", UNKNOWN[:3])
def test_nothing_is_proven_where_there_is_nothing(name: str, tmp_path: Path) -> None:
    assert not proven(CASES[name], tmp_path)


@pytest.mark.parametrize("name", [each.name for each in CASES.values() if each.ask in TRIED])
def test_a_program_is_a_script_by_itself(name: str) -> None:
    """Nothing of the bench is left in it: else only that would fail, and be what is answered."""
    text = script(CASES[name])
    tree = ast.parse(text[text.index(f"def {name}(") :])
    left = [each for each in ast.walk(tree) if isinstance(each, ast.Name) and each.id == "run"]
    assert not left
