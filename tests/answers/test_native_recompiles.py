"""`why-recompile` and `why-shape` in a recording of the native engine: what they say of programs
of the bench is what its writers found out, in this engine's words, or is known to be otherwise."""

from __future__ import annotations

import re

import pytest

from stepper.engines.native.registration import ENGINE
from stepper.recording.reader import Recording
from tests.answers.running import some_of
from tests.answers.test_answers import ADVICE, answered, astray

pytestmark = pytest.mark.slow

CASES = {case.name: case for case in (*some_of("why-recompile"), *some_of("why-shape"))}
AS_DYNAMO = (("Dynamo ", "The compiler "), ("torch.compile(", "stepper.compile("))
"""What the bench says in words of Dynamo's, and the engine's."""
NOT_AGAIN = frozenset(
    {
        "array_left_by_a_break", "average_that_warms_up",
        "function_and_method_that_torch_decorates", "gradient_set_anew", "inference_tensor",
        "layer_of_two_lines", "layers_with_a_hook_that_prints", "method_whose_argument_breaks",
        "optimizer_of_each_fold", "rows_of_a_subclass", "slices_and_whole_tensors",
    }
)  # fmt: skip
"""Programs of which it compiles nothing twice: it has another entry do for both calls, leaves what
goes on behind a break to Python, or does not begin with what Dynamo compiles."""

ASTRAY = {
    "table_by_a_weak_key": "self.tables.data changes",
    "oblivious_of_one": "0/1 specialization",
    "parameter_that_is_marked": "is free; marked by mark_dynamic",
}
"""What Dynamo would not do, and it does: it looks into a dictionary of weak keys, asks whether a
size is 0 or 1 whatever is set, and has a parameter's size be a symbol that is marked."""

OTHERWISE = {
    # What it knows of a function or of an object is told by itself.
    "key_that_is_a_text_of_a_number": "Each value of self.place is compiled by itself",
    "processors_of_blocks": "Each object that stands in self.processor is compiled by itself",
    # The sizes of its parameters are symbols where they are marked.
    "layers_of_other_widths": "x.shape[1] is a symbol until",
    "models_made_in_a_loop": "each size is compiled by itself that is not marked",
    # Torch's remedies for a size of 1 are none of its, as its sizes are symbols or numbers.
    "empty_at_first": "makes no symbol of a size 0 or 1",
    "guidance_that_is_expanded": "makes no symbol of a size 0 or 1",
    "masked_tokens": "makes no symbol of a size 0 or 1",
    "row_by_itself": "makes no symbol of a size 0 or 1",
    "single_row": "makes no symbol of a size 0 or 1",
    # It makes numbers inputs wherever they are, and no float of a module.
    "calls_that_a_mode_counts": "has made self.calls an input of the graph by itself",
    "number_that_only_decides": "has made Batch.prefills an input of the graph by itself",
    "weights_that_are_kept_at_times": "Keep it on one side of this condition, or accept one more",
    "bound_worked_out_before": "has made CUT['at'] an input of the graph by itself",
    "float_in_a_namedtuple": "has made hyper[0] an input of the graph by itself",
    "gain_beside_a_slice": "has made GAIN['of all'] an input of the graph by itself",
    "global_counter": "has made _variable an input of the graph by itself",
    "slice_that_a_global_bounds": "has made SHOWN['first'] an input of the graph by itself",
    "decay_as_a_number": "Keep model.decay as a tensor",
    "dropout_that_is_scheduled": "Keep self.probability as a tensor",
    "scale_of_an_inner_block": "Keep self.blocks[3].scale as a tensor",
    # It heeds no setting by which it would make one of them an input, or a symbol.
    "counts_by_name": "Each value of self.counts['calls'] is compiled by itself",
    "sizes_and_a_counter": "self.calls is set by the compiled function itself",
    "layer_of_each_step": "Each value of self.step is compiled by itself",
    "sizes_of_parameters": "",
    # It looks at the cache of a function, and calls it again only for what is new there.
    "counted_behind_a_cache": "",
    # What needs a value: known by the line alone.
    "arrays_of_other_sizes": "in doubled_array for <ArrayCall> needs its value",
    "mean_of_numpy_over_floats": "in centered needs its value",
    "noise_of_each_step": "in step needs its value as an index into a tuple",
    "parameter_by_a_name_made_of_a_number": "in weighted_by_name needs its value for a text",
    # What changes has another name, or is told of in more words.
    "hook_that_is_taken_off": "A hook of layer, or a forward that is the object's own,",
    "mask_in_the_first_call": "with the same for options['mask'], which is read",
    "method_whose_calls_are_counted": "calls of type(self).encode is set by",
    "scale_of_a_thread": "is what by_thread goes on with after its graph break",
    "table_by_a_weak_key": "Keep self.tables.data always with the same keys",
}
"""What it advises instead; empty: nothing. Whoever teaches it more takes the row out."""

_SETTING = re.compile(r"torch\._dynamo\.config\.(\w+)")


@pytest.fixture(scope="module")
def answers(native: Recording) -> dict[str, list[str]]:
    found = {
        name: answered(case, native, case.function or f"{name}.<locals>")
        for name, case in CASES.items()
    }
    # A library's function that this engine only inlines is answered of all that it is inlined into.
    return {name: _of_its_own(lines) for name, lines in found.items()}


def _of_its_own(lines: list[str]) -> list[str]:
    return ["no entry of its own"] if ", but inlined: " in lines[0] else lines


def test_nothing_is_said_that_would_be_wrong(
    answers: dict[str, list[str]], native: Recording
) -> None:
    wrong = {name: "; ".join(astray(lines, native, CASES[name])) for name, lines in answers.items()}
    assert {name: said for name, said in wrong.items() if said} == ASTRAY


def test_it_is_what_the_bench_says(answers: dict[str, list[str]]) -> None:
    told = {name: _advice(lines) for name, lines in answers.items()}
    again = {name for name, lines in answers.items() if not lines[0].startswith("no ")}
    assert answers.keys() - again == NOT_AGAIN
    other = {name: told[name] for name in again if not _is_right(name, told[name])}
    assert other.keys() == OTHERWISE.keys()
    for name, words in OTHERWISE.items():
        assert words in other[name] if words else not other[name], (name, other[name])


def test_what_is_advised_is_about_this_engine(answers: dict[str, list[str]]) -> None:
    for name, lines in answers.items():
        advised = "\n".join(line for line in lines if line.lstrip().startswith(ADVICE))
        assert "Dynamo" not in advised, name
        assert all(map(ENGINE.capabilities.heeds, _SETTING.findall(advised))), (name, advised)


def _advice(lines: list[str]) -> str:
    """The first piece of advice; empty: there is none."""
    return next((line.strip() for line in lines if line.lstrip().startswith(ADVICE)), "")


def _is_right(name: str, told: str) -> bool:
    said = CASES[name].advice
    for dynamos, ours in AS_DYNAMO:
        said = said.replace(dynamos, ours)
    return said in told if said else not told
