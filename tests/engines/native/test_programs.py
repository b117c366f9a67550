"""Each program does, captured, what it does by itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engines.native import programs
from tests.engines.native.harness import check

pytestmark = pytest.mark.evaluator_out

NAMES = [function.__name__ for function, _ in programs.PROGRAMS]

NO_GRAPH = {"alias", "isinst"}
"""Nothing is computed in them."""

BROKEN = {
    "break_body", "break_expr", "loop_break", "with_break", "raise", "opfail", "data",
    "nested_break", "class_made", "parent_method", "wrong_calls", "cell_on_the_stack",
    "many_variables", "parameter_in_a_cell", "set_in_one_branch", "super_without_arguments",
    "class_without_order", "member_being_made", "text_of_a_dead_proxy", "raised_in_two_blocks",
    "class_that_cannot_be_made",
}  # fmt: skip
"""In these the graph breaks."""


@pytest.mark.parametrize(("function", "args"), programs.PROGRAMS, ids=NAMES)
def test_a_program_does_the_same(function: Any, args: Any) -> None:
    explanation = check(function, *args, namespace=vars(programs))
    name = function.__name__.rstrip("_")
    if name in NO_GRAPH:
        assert explanation.graph_count == 0
    elif name in BROKEN:
        assert explanation.breaks
    else:
        assert explanation.graph_count == 1, str(explanation)
        assert not explanation.breaks
