"""What is advised on the graph breaks of the bench's programs, in a recording of the native engine:
its reasons are its own, and its breaks are of Dynamo's kinds.

What is wrong to say of it is found by the bench as a whole: a setting that it does not heed, or
what Dynamo does. What it advises otherwise than is right under Dynamo is in a table, with a reason
for each kind: whoever teaches it more takes the row out."""

from __future__ import annotations

import inspect

import pytest

from stepper.analysis.break_changes import SETTINGS
from stepper.analysis.breaks import Cause, causes
from stepper.engines.native.registration import ENGINE
from stepper.recording.reader import Recording
from tests.answers.cases import of

pytestmark = pytest.mark.slow

UNBROKEN = frozenset(
    {
        "allocated_memory", "asserted_on_data", "attribute_of_a_namespace",
        "backend_without_an_operator", "context_variable", "coroutine_compiled",
        "first_step_computes_nothing",
        "function_of_torch_that_picks", "gamma_whose_gradient_is_needed",
        "generator_that_is_compiled", "gone_through_a_range", "hook_registered_inside",
        "hook_removed_inside", "interpolated_by_numpy", "iterator_that_is_returned",
        "keys_as_attributes", "keyword_of_uniform", "library_called_by_unseen_code",
        "loop_that_only_counts",
        "made_by_its_metaclass", "mapped_autograd_function", "mapped_from_outside",
        "mode_of_inference", "mode_that_a_stack_enters", "namespace_made_inside",
        "numpy_turned_off", "observed_by_torch", "only_steps_of_an_optimizer",
        "printed_in_a_backward", "raised_on_data", "random_in_place", "random_number",
        "rolled_at_random", "shape_changed_in_place", "size_written_by_percent",
        "sparse_inside", "sum_of_what_came_before", "tokens_that_come_by_and_by",
    }
)  # fmt: skip
"""Programs that it captures whole, or does not begin with, or whose function is in no file."""

OTHERWISE = {
    "summed_over_what_is_handed_over": "the number is all that an input of the function holds: ha",
    "logger_info": "the line is a library's: take what `",
    "printing": "print outside of the compiled function",
    "warning": "warn outside of the compiled function",
    "numpy_in_the_middle": "the compiler has no model of what the line does with the object: do i",
    "module_copied_inside": "the line is a library's: take what `",
    "address_of_a_tensor": "decide by the address before the compiled function, and pass what fol",
    "reordered_print_of_a_list": "print outside of the compiled function",
    "gradients_cleared_inside": "the line is a library's: take what `",
    "printed_in_a_loop": "print outside of the compiled function",
    "printed_in_try": "print outside of the compiled function",
    "date": "call it before or after the compiled function",
    "gradient_inside": "the line is a library's: take what `",
    "recurrent_module": "the line is a library's: take what `",
    "output_redirected_inside": "make the object before the compiled function, and pass it in",
    "list_of_floats": "keep the value a tensor",
    "norm_of_numpy": "make the array a tensor before the compiled function (torch.from_numpy), an",
    "printed_by_a_condition": "print outside of the compiled function",
    "module_converted_inside": "the line is a library's: take what `",
    "rows_of_what_was_found": "do it with the tensor as a whole (torch.where in place of what pic",
    "share_of_numpys": "draw it with torch.rand and its like, or before the compiled function",
    "resized_in_place": "make a new tensor of that size, with torch.empty say",
    "sequences_packed_inside": "the line is a library's: take what `",
    "aligned_by_its_address": "decide by the address before the compiled function, and pass what ",
    "whether_all_are_zero": "decide on tensors with torch.where (both sides computed), or torch.c",
    "text_of_a_tensor": "make the text outside of the compiled function",
    "backward_of_a_loss_that_is_detached": "call backward outside of the compiled function",
    "generator_across_a_break": "remove the call; somebody asked for this break",
    "largest_by_a_key": "take what `",
    "printed_and_then_written_into": "print outside of the compiled function",
    "printed_around_a_block": "print outside of the compiled function",
    "epoch_over_a_loader": "the line is a library's: take what `",
    "curvature_of_a_loss": "the line is a library's: take what `",
    "slopes_of_a_map": "the line is a library's: take what `",
    "printed_before_anything": "print outside of the compiled function",
    "written_in_one_branch": "change nothing outside of the function that the operator is given: ",
    "logged_from_within": "the line is a library's: take what `",
    "step_that_a_scheduler_has_wrapped": "the line is a library's: take what `",
    "hook_of_the_backward": "the line is a library's: take what `",
    "suppressed_boxes": "the program decides by how many elements come out",
    "truth_of_an_object": "decide on tensors with torch.where (both sides computed), or torch.con",
    "item_for_a_backward": "keep the value a tensor",
    "packed_for_a_recurrent_layer": "the line is a library's: take what `",
    "generator_forked_inside": "the line is a library's: take what `",
    "noise_by_a_generator_of_numpy": "the compiler has no model of what the line does with the ob",
    "reduced_meanwhile": "the line is a library's: take what `",
    "cut_where_a_tensor_says": "keep the value a tensor",
    "kept_elsewhere_on_the_way": "the line is a library's: take what `",
}
"""What it advises instead where the bench's advice is of a setting that it does not heed (those on
what is printed, on recurrent modules, gradients and hooks), or of what it does in another way: it
follows Python's and torch's own functions to a line within them, reads an address or a text as no
number, and knows the truth of a tensor as such."""

WITHOUT = frozenset({"epoch_over_a_loader", "output_redirected_inside"})
"""Programs with a break for which nothing is known: what goes on behind another."""


@pytest.fixture(scope="module")
def by_program(native: Recording) -> dict[str, list[Cause]]:
    """The causes of graph breaks by the name of the program that they are in."""
    places = [(each, _places(each)) for each in causes(native)]
    found = {}
    for case in of("why-break"):
        lines, first = inspect.getsourcelines(case.program)
        own = {(str(case.file), number) for number in range(first, first + len(lines))}
        found[case.name] = [each for each, there in places if there & own]
    return found


def _places(cause: Cause) -> set[tuple[str, int]]:
    """The lines that lead to a break."""
    stacks = (place for each in cause.occurrences for place in each.found.user_stack)
    return {(place.filename, place.line) for place in (*stacks, *filter(None, [cause.place]))}


def test_each_break_of_the_bench_is_advised_on(by_program: dict[str, list[Cause]]) -> None:
    assert {name for name, found in by_program.items() if not found} == UNBROKEN
    without = {name for name, found in by_program.items() if any(not x.change for x in found)}
    assert without == WITHOUT


def test_what_is_advised_is_about_this_engine(by_program: dict[str, list[Cause]]) -> None:
    unheeded = [name for name in SETTINGS if not ENGINE.capabilities.heeds(name)]
    for name, found in by_program.items():
        for words in (str(each.change) for each in found):
            assert "Dynamo" not in words, name
            assert "logging_functions" not in words, name
            assert not [setting for setting in unheeded if setting in words], name


def test_it_is_what_the_bench_says(by_program: dict[str, list[Cause]]) -> None:
    told = {
        name: [f"change: {each.change}" for each in found] for name, found in by_program.items()
    }
    other = {
        case.name
        for case in of("why-break")
        if told[case.name] and not any(case.advice in words for words in told[case.name])
    }
    assert other == OTHERWISE.keys()
    for name, advice in OTHERWISE.items():
        assert any(advice in words for words in told[name]), (name, told[name])
