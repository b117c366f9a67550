"""Each rule by which a change is advised on a graph break or a failure has a program for it, and
one for which it would be wrong."""

from __future__ import annotations

import ast
import inspect

import pytest

from stepper.analysis import break_rules, data_rules, failure_changes
from stepper.analysis.break_changes import CHANGES
from stepper.analysis.break_rules import RULES, rule_of
from stepper.analysis.breaks import Cause, causes
from stepper.analysis.failures import failures
from tests.answers.cases import CASES, Case, of
from tests.answers.running import Recorded

pytestmark = pytest.mark.slow

AGAINST = {
    "quantized": "compiled_around_the_ranks",
    "awaited": "frame_skipped_by_hand",
    "asked by a library": "asked_for",
    "number of an input": "loss_that_is_printed",
    "size taken": "found_and_then_printed",
    "made anew": "iterator_that_is_returned",
    "print": "warning",
    "builtin": "keyword_of_uniform",
    "warnings.warn": "own_function_named_warn",
    "logging": "own_function_named_warn",
    "time": "date",
    "disabled by torch": "disabled_helper",
    "disabled": "disabled_helper",
    "around a module": "reduced_meanwhile",
    "manager": "allocated_memory",
    "entered by a stack": "module_made_inside",
    "mapped method": "module_made_inside",
    "library": "module_made_inside",
    "unreached": "size_from_data",
    "does not hold": "asserted_on_data",
    "torch decides": "divergence_that_checks",
    "lacking": "missing_key",
    "metaclass": "missing_key",
    "vmap": "item_of_a_tensor",
    "autograd.Function": "item_of_a_tensor",
    "check": "decided_and_then_raised",
    "loop": "printed_by_a_condition",
    "round": "item_of_a_tensor",
    "range": "length_of_items",
    "range of symbols": "length_of_items",
    "decision": "square_root_of_an_item",
    "taken": "row_found_by_an_item",
    "Python value": "norm_of_numpy",
    "negation": "allocated_memory",
    "no meta": "counted_bins",
    "no fake of torch's": "least_squares",
    "untraced by AOTAutograd": "backend_without_an_operator",
    "drawn by numpy": "numpy_in_the_middle",
    "any, all": "divergence_that_checks",
    "size decides": "size_from_data",
    "next break": "computed_before_it_is_printed",
    "size counts": "zeros_for_each_that_differs",
    "bound": "item_of_a_tensor",
    "output size": "size_from_data",
    "marked": "decided_by_a_symbol",
    "undecided": "branch_on_an_item",
    "packed": "recurrent_module",
    "as a number": "branch_on_how_many_there_are",
    "index": "square_root_of_an_item",
    "math": "square_root_of_an_item",
    "random number": "norm_of_numpy",
    "scheduler": "package_in_c",
    "opaque function": "package_in_c",
    "functional": "item_of_a_tensor",
    "class in C": "class_in_a_function",
    "written": "date",
    "attributes in C": "namespace_made_inside",
    "operation in C": "date",
    "drawn": "item_of_a_tensor",
    "generator": "drawn_by_numpy",
    "shared": "text_from_a_branch",
    "in place": "disabled_in_one_graph",
    "array by a symbol": "numpy_in_the_middle",
    "nested tensor": "rows_taken_apart_beside_numbers",
    "backward": "item_of_a_tensor",
    "kind": "branch_on_an_item",
}
"""For each rule a program that looks like one for it, and is not."""
RETURNS = "(broken: Broken) -> Remedy | None:"
WITHOUT_PROGRAM = frozenset(
    {
        # No break is first of this kind: it follows on another, is a skipped frame, or a failure.
        "Attempt to trace generator",
        "Dynamo recompile limit exceeded",
        "Graph break under GenericContextWrappingVariable",
        "graph break in loop",
        # Not in every version of torch.
        "Call to `torch.compiler.disable()`",
        "Call to a time function",
        "copy.deepcopy()",
        # Nothing was found that reaches it.
        "Data-dependent branching with non-constant __bool__",
        "non-const argument in nn.Module method",
        "unsupported Tensor comparison op",
    }
)
"""Kinds in the table of which no program here breaks first, and whose advice nobody has tried."""


def told(found: list[Cause], case: Case) -> Cause | None:
    """The first cause that is told of a program."""
    name = case.function or f"{case.name}.<locals>"
    for cause in found:
        names = [each.translation.name for each in cause.occurrences]
        if cause.place is not None:  # of an export the frame is torch's
            names.append(cause.place.function)
        if any(name in each for each in names):
            return cause
    return None


@pytest.fixture(scope="module")
def advising(recorded: Recorded) -> dict[str, str]:
    """The rule that advises on each program."""
    found = causes(recorded[0])
    first = {case.name: told(found, case) for case in CASES.values()}
    return {name: rule_of(cause.facts) for name, cause in first.items() if cause is not None}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_a_program_for_it(rule: str, advising: dict[str, str]) -> None:
    assert rule in advising.values()


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_a_program_against_it(rule: str, advising: dict[str, str]) -> None:
    against = AGAINST[rule]
    assert advising[against] != rule


FAILURES = {
    "graph break": ("branch_in_one_graph", "shapes_that_do_not_fit"),
    "caught": ("error_that_is_handled", "shapes_that_do_not_fit"),
    "fixed size": ("marked_and_multiplied", "dimension_out_of_range"),
    "gradient": ("gradient_of_another_shape", "shapes_that_do_not_fit"),
    "exported": ("run_by_the_export", "positions_of_one_length"),
    "no fake": ("operator_without_a_fake", "shapes_that_do_not_fit"),
    "no gradient": ("operator_without_a_derivative", "operator_without_a_fake"),
    "rounded": ("rounded_after_numpy", "tensors_where_numbers_stand"),
    "devices": ("mask_that_is_no_buffer", "shapes_that_do_not_fit"),
    "not begun": ("generator_in_one_graph", "recompilation_refused"),
    "recompilation refused": ("counter_in_one_graph", "recompilation_refused"),
    "stance": ("size_refused", "shapes_that_do_not_fit"),
    "number": ("tensors_where_numbers_stand", "dimension_out_of_range"),
    "number inside": ("number_kept_for_a_backward", "tensors_where_numbers_stand"),
    "symbol": ("number_in_a_mapped_gradient", "tensors_where_numbers_stand"),
    "branches": ("branches_that_differ", "shapes_that_do_not_fit"),
    "undecided": ("asked_whether_a_count_is_odd", "tensors_where_numbers_stand"),
    "carried": ("loop_that_grows_its_tensor", "branches_that_differ"),
    "written": ("written_after_exp", "shapes_that_do_not_fit"),
    "not resumed": ("library_awaited", "written_after_exp"),
    "leaf": ("average_as_parameters", "written_after_exp"),
    "viewed": ("viewed_when_transposed", "shapes_that_do_not_fit"),
    "one Dim": ("one_dim_for_two_sizes", "run_by_the_export"),
    "range": ("longer_than_it_is_marked", "one_dim_for_two_sizes"),
    "mapped number": ("number_of_each_that_is_mapped", "shapes_that_do_not_fit"),
    "mapped": ("picked_in_each_row", "viewed_when_transposed"),
    "ragged": ("ragged_of_equal_lengths", "halves_of_an_odd_length"),
    "nothing to run": ("backend_that_returns_nothing", "backend_that_fails"),
    "not fake": ("fake_that_looks_into_a_table", "operator_without_a_fake"),
    "not mapped": ("loop_that_is_mapped", "number_of_each_that_is_mapped"),
    "faked": ("fake_that_asks_its_data", "asked_whether_a_count_is_odd"),
    "forbidden": ("marked_inside", "dimension_out_of_range"),
    "leaf returned": ("leaf_made_in_a_helper", "noted_in_a_branch"),
    "combined": ("scanned_by_what_sums", "shapes_that_do_not_fit"),
    "expanded": ("doubled_where_it_is_expanded", "added_to_a_view_of_it"),
    "fake behind": ("pooled_by_a_wrong_fake", "shapes_that_do_not_fit"),
}
"""For each rule of failures a program for it, and one that looks like one."""


REFUSED = {"refused_the_second_number", "refused_the_second_size", "row_by_itself"}
"""Programs on recompilations, which are an error there."""
ERRORS = {"tokens_that_come_by_and_by", "written_in_one_branch"}
"""Programs on breaks that are errors."""
LAYERS = "wrap_inline"
"""Torch's own function around a layer that is compiled by itself."""


@pytest.mark.parametrize("rule", failure_changes.RULES)
def test_each_rule_of_failures_has_programs(rule: str, recorded: Recorded) -> None:
    advises = failure_changes.RULES[rule]
    for name, expected in zip(FAILURES[rule], (True, False), strict=True):
        (failed,) = failures(recorded[0], f"{name}.<locals>")
        assert (advises(recorded[0], failed) is not None) is expected


def test_the_compilations_that_failed_are_those_of_the_programs_on_failures(
    recorded: Recorded,
) -> None:
    found = {each.name.partition(".")[0] for each in failures(recorded[0])}
    of_their_own = {case.name for case in of("why-failed") if not case.function}
    assert found == of_their_own | REFUSED | ERRORS | {LAYERS}


def test_every_rule_is_asked() -> None:
    trees = [ast.parse(inspect.getsource(each)) for each in (break_rules, data_rules)]
    rules = {
        each.name
        for tree in trees
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and RETURNS in ast.unparse(each)
    }
    assert rules - {"advised"} == {rule.__name__ for rule in RULES.values()}
    assert AGAINST.keys() == RULES.keys()


def test_each_kind_has_a_program(recorded: Recorded) -> None:
    kinds = {cause.facts.kind for cause in causes(recorded[0])}
    assert set(CHANGES) - kinds == WITHOUT_PROGRAM
