"""Programs for what was wrong in answers about libraries' programs that nobody had written for
this: kinds of tensors, locals that were symbols, conditions with floors, settings for what is
torch's own."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn.utils.rnn import unpad_sequence

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "is-guarded", expression="image",
    cause="image is guarded as to what kind of tensor it is, not its elements",
    counts=(3, 2),
    never=("image is guarded;",),
)  # fmt: skip
def kind_beside_a_symbol(run: Run) -> None:
    @run.compile
    def measured_in_a_loop(image: Any) -> Any:
        height, _ = image.shape
        return image * height

    for size in (3, 4):
        measured_in_a_loop(ones(size, 2))
    measured_in_a_loop(ones(4, 2, dtype=torch.float32 if run.remedied else torch.float64))


@case(
    "", "why-shape", expression="height",
    cause=(
        "height is 4, and was s64 before that was fixed",
        "picture.shape[0] is 4: it was the symbol s64",
        "requires Eq(s64, 4), by BUILD_STRING",
    ),
    counts=(3, 2),
    never=("is 4, a number",),
)  # fmt: skip
def local_that_was_a_symbol(run: Run) -> None:
    @run.compile
    def worded_height(picture: Any) -> Any:
        height = picture.shape[0]
        said = "height" if run.remedied else f"height {height}"  # cause
        return picture * len(said)

    for size in (3, 4, 5):
        worded_height(ones(size))


@case(
    "", "why-shape", expression="self.grid_size",
    cause="self.grid_size never was a symbol: CONSTANT_MATCH requires (2, 3)",
    counts=(2, 1),
    never=("SEQUENCE_LENGTH requires",),
)  # fmt: skip
def tuple_that_is_compared(run: Run) -> None:
    class OnAGrid(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.grid_size = (2, 3)

        def forward(self, x: Any) -> Any:
            if self.grid_size is None:
                return x
            return x * self.grid_size[1]

    module = OnAGrid()
    compiled = run.compile(module)
    compiled(ones(3))
    module.grid_size = (2, 3) if run.remedied else (4, 5)
    compiled(ones(3))


@case(
    "", "why-shape", expression="sequence.shape[0]",
    cause="sequence.shape[0] is 33: the conditions on sizes together leave nothing else",
    counts=(2, 1),
    never=("is free",),
)  # fmt: skip
def length_in_a_float(run: Run) -> None:
    def in_windows(sequence: Any) -> Any:
        assert sequence.shape[0] < 100
        windows = sequence.shape[0] / 16
        if not run.remedied and windows.is_integer():  # cause
            return sequence
        return sequence[: math.floor(windows) * 16]

    compiled = run.compile(in_windows, dynamic=True)
    for size in (33, 40):
        compiled(ones(size))


@case(
    "", "why-break",
    cause="Dynamic shape operator",
    advice="nothing in the program but a setting, as the function that is compiled is a library's",
    counts=(0, 1),
    never=("no change is known",),
    function="unpad_sequence",
)  # fmt: skip
def function_of_torch_that_picks(run: Run) -> None:
    unpadded = run.compile(unpad_sequence)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=run.remedied):
        unpadded(ones(2, 3), torch.tensor([2, 3]), batch_first=True)


@case(
    "", "why-recompile",
    cause="(tokens.shape[0] / 16) == 2.0625 does not hold",
    advice="tokens.shape[0] is a symbol until",
    counts=(2, 1),
    never=("keep the calls on one side",),
)  # fmt: skip
def float_of_a_length(run: Run) -> None:
    def in_blocks(tokens: Any) -> Any:
        assert tokens.shape[0] < 100
        blocks = tokens.shape[0] / 16
        if not run.remedied and blocks.is_integer():  # cause
            return tokens
        return tokens[: math.floor(blocks) * 16]

    compiled = run.compile(in_blocks, dynamic=True)
    for size in (33, 40):
        compiled(ones(size))
