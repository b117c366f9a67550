"""Each rule by which a change is advised on a function that is compiled again has a program for it,
and one that looks like one and for which it would be wrong."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stepper.analysis import called_apart, kind_rules, recompile_advice, size_rules, value_rules
from stepper.analysis.recompile_advice import RULES, RULES_OF_ALL, advise
from stepper.analysis.recompile_series import histories
from stepper.analysis.recompiles import recompilations
from stepper.recording.reader import Recording
from tests.answers.cases import of
from tests.answers.running import Recorded

pytestmark = pytest.mark.slow

AGAINST = {
    "made meanwhile": "int_argument",
    "parameter": "batches_of_other_sizes",
    "size needed": "branch_on_a_size",
    "mark_static": "static_in_torch_compile",
    "0/1": "last_batch",
    "size, nothing dynamic": "marked_static",
    "size, dynamic later": "batches_of_other_sizes",
    "size made dynamic": "batch_of_one_first",
    "size, not made again": "static_in_torch_compile",
    "0/1 condition": "branch_on_a_size",
    "condition": "single_row",
    "None": "text_argument",
    "mixed types": "text_argument",
    "order of keys": "dict_with_more_keys",
    "part of what is set inside": "counter_of_a_module",
    "number needed": "int_argument",
    "number, nothing dynamic": "ints_that_are_specialized",
    "specialize_int": "counted_without_dynamic",
    "left by a break": "float_argument",
    "number, not made again": "counted_without_dynamic",
    "number, dynamic later": "int_argument",
    "number made dynamic": "global_counter",
    "float": "float_argument",
    "complex number": "phase_that_decides",
    "constant needed": "counter_of_a_module",
    "int of a module": "modules_with_other_floats",
    "global int": "int_in_a_dict",
    "int of a function mode": "global_counter",
    "default int": "int_argument",
    "tensors of a subclass": "tags_that_the_program_puts_in",
    "set changed inside": "tags_that_the_program_puts_in",
    "value": "counted_without_dynamic",
    "mode of a module": "counter_of_a_module",
    "dtype": "arrays_of_other_dtypes",
    "dtype of an array": "other_dtype",
    "rank": "batches_of_other_sizes",
    "base": "guidance_that_is_expanded",
    "device": "device_that_is_set_between",
    "called apart": "layer_of_one_line",
    "requires_grad": "frozen_after_the_first_call",
    "requires_grad of a parameter": "frozen_and_not",
    "list or tuple": "parameter_or_tensor",
    "class made again": "mixers_of_blocks",
    "type": "list_or_tuple",
    "length": "options_that_are_popped",
    "keys": "attribute_that_appears",
    "hooks": "dict_with_more_keys",
    "attributes": "dict_with_more_keys",
    "stride": "batches_of_other_sizes",
    "few objects": "autocast_handed_over",
    "code made again": "functions_of_torch",
    "object made again": "member_of_an_enum",
    "identity": "one_tensor_twice",
    "same tensor": "one_tensor_and_then_two",
    "backend": "lambda_made_each_time",
    "inference tensor": "inference_tensor",
    "inference mode": "weights_loaded_for_inference",
    "inference": "weights_loaded_for_inference",
    "dispatch keys": "with_autocast_and_without",
    "state": "under_a_function_mode",
    "transforms": "with_autocast_and_without",
    "function modes": "device_that_is_set_between",
    "default device": "under_a_function_mode",
    "type that is not there": "list_or_tuple",
    "not finite": "float_argument",
    "not there": "int_argument",
    "value unread": "text_argument",
    "object that died": "autocast_handed_over",
    "marks": "batches_of_other_sizes",
    "metadata of a subclass": "list_or_tuple",
    "next value": "counter_of_a_module",
    "duck shaping": "branch_on_a_size",
    "relation": "branch_on_a_size",
    "all at once": "sizes_and_numbers",
    "limit": "text_argument",
}
"""For each rule a program that looks like one for it, and is not."""


@pytest.fixture(scope="module")
def advising(recorded: Recorded) -> dict[str, set[str]]:
    """The rules that advise on each program."""
    return _advising(recorded[0])


@pytest.fixture(scope="module")
def natively(native: Recording) -> dict[str, set[str]]:
    """Those that advise on each under the native engine."""
    return _advising(native)


def _advising(recording: Recording) -> dict[str, set[str]]:
    return {
        case.name: {
            advice.rule
            for history in histories(
                recording, recompilations(recording, case.function or f"{case.name}.<locals>")
            )
            for advice in advise(recording, history)
        }
        for case in of("why-recompile")
    }


@pytest.mark.parametrize("rule", [*RULES, *RULES_OF_ALL])
def test_each_rule_has_a_program_for_it(
    rule: str, advising: dict[str, set[str]], natively: dict[str, set[str]]
) -> None:
    assert any(rule in rules for rules in (*advising.values(), *natively.values()))


@pytest.mark.parametrize("rule", [*RULES, *RULES_OF_ALL])
def test_each_rule_has_a_program_against_it(rule: str, advising: dict[str, set[str]]) -> None:
    rules = advising[AGAINST[rule]]
    assert rules
    assert rule not in rules


def test_each_piece_of_advice_has_a_rule(advising: dict[str, set[str]]) -> None:
    assert set().union(*advising.values()) <= {*RULES, *RULES_OF_ALL}


def test_nothing_is_advised_outside_of_the_rules() -> None:
    """No module makes advice but those that the rules are in."""
    modules = [called_apart, kind_rules, recompile_advice, size_rules, value_rules]
    ours = {Path(module.__file__ or "").name for module in modules} | {"advice.py"}
    folder = Path(recompile_advice.__file__).parent
    making = {
        path.name
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Advice", "it.advise")
    }
    assert making == ours
