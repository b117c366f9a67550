"""Programs that are compiled again because something is a constant of the graph from the beginning:
by its own value, by a mark or a setting, or because of what it belongs to."""

from __future__ import annotations

import contextlib
import gc
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "vllm#38933", "why-recompile",
    cause="x.shape[0] changes: 1, 4, and of 1 other",
    advice="mark_unbacked(x, 0) before the first call, and likewise of values.",
    counts=(2, 1),
    never=("mark_dynamic", "dynamic=True"),
)  # fmt: skip
def batch_of_one_first(run: Run) -> None:
    @run.compile
    def count_greater(x: Any, values: Any) -> Any:
        return (x >= values).sum(-1)  # cause

    for size in (1, 4, 5):
        x, values = ones(size, 8), ones(size, 1)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 0)
            torch._dynamo.decorators.mark_unbacked(values, 0)
        count_greater(x, values)


@case(
    "sglang#24307", "why-recompile",
    cause="tokens.shape[0] changes: 1, 4",
    advice="mark_unbacked(tokens, 0) before the first call.",
    counts=(2, 1),
    never=("mark_dynamic", "dynamic=True"),
)  # fmt: skip
def masked_tokens(run: Run) -> None:
    def masked(tokens: Any) -> Any:
        return tokens * (tokens > 0)  # cause

    compiled = run.compile(masked, dynamic=True)
    for size in (1, 4, 5):
        tokens = ones(size)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(tokens, 0)
        compiled(tokens)


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 1, 4", "in by_length asks for s77 <= 6, which takes a value"),
    advice="in by_length asks for: keep the calls on one side of it",
    counts=(3, 3),
)  # fmt: skip
def one_and_a_branch(run: Run) -> None:
    """Unbacked, the size could not be decided about: that is an error."""

    @run.compile
    def by_length(x: Any) -> Any:
        return x * 2 if x.shape[0] > 6 else x * 3  # cause

    for size in (1, 4, 8):
        by_length(ones(size))


@case(
    "lightning-thunder#2682", "why-recompile",
    cause="shift grows: 0, 1, 2, 3, 4",
    advice="With dynamic=False, or automatic_dynamic_shapes off, each value of shift is",
    counts=(5, 2),
    never=("price",),
)  # fmt: skip
def counted_without_dynamic(run: Run) -> None:
    def shifted(x: Any, shift: Any) -> Any:
        return x + shift  # cause

    compiled = run.compile(shifted, dynamic=None if run.remedied else False)
    for shift in range(5):
        compiled(ones(3), shift)


@case(
    "", "why-recompile",
    cause="scale changes: 0.5, 0.6, 0.7",
    advice="With dynamic=False, or automatic_dynamic_shapes off, each value of scale is",
    counts=(3, 2),
)  # fmt: skip
def float_without_dynamic(run: Run) -> None:
    def scaled_down(x: Any, scale: Any) -> Any:
        return x * scale  # cause

    compiled = run.compile(scaled_down, dynamic=None if run.remedied else False)
    for scale in (0.5, 0.6, 0.7):
        compiled(ones(3), scale)


@case(
    "", "why-recompile",
    cause="times grows: 2, 3, 4",
    advice="With specialize_int each value of times is compiled by itself",
    counts=(3, 2),
    never=("torch.compile(dynamic=True)", "price"),
)  # fmt: skip
def ints_that_are_specialized(run: Run) -> None:
    torch._dynamo.config.specialize_int = not run.remedied

    @run.compile
    def multiplied_often(x: Any, times: Any) -> Any:
        return x * times  # cause

    for times in (2, 3, 4):
        multiplied_often(ones(3), times)


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 3, 4",
    advice="To save the entry for its first size: torch.compile(dynamic=True); an array of numpy",
    counts=(2, 1),
    never=("mark_dynamic", "___from_numpy(x)"),
)  # fmt: skip
def arrays_of_other_sizes(run: Run) -> None:
    def doubled_array(x: Any) -> Any:
        return x * 2  # cause

    compiled = run.compile(doubled_array, dynamic=True if run.remedied else None)
    for size in (3, 4, 5):
        compiled(np.ones(size))


@case(
    "", "why-recompile",
    cause="dtype of x changes: float64, float32",
    advice="convert the array x before the call, e.g. x.astype('float64')",
    counts=(2, 1),
    never=(".to(torch",),
)  # fmt: skip
def arrays_of_other_dtypes(run: Run) -> None:
    @run.compile
    def squared_array(x: Any) -> Any:
        return x * x  # cause

    squared_array(np.ones(3))
    second = np.ones(3, dtype=np.float32)
    squared_array(second.astype("float64") if run.remedied else second)


@case(
    "dion#23", "why-recompile",
    cause="updates[0].shape[1] grows: 4, 5, 6",
    advice="torch._dynamo.config.force_parameter_static_shapes = False: with that",
    counts=(3, 2),
    never=("mark_dynamic", "is a symbol until"),
)  # fmt: skip
def updates_of_parameters(run: Run) -> None:
    torch._dynamo.config.force_parameter_static_shapes = not run.remedied

    @run.compile
    def updated(parameters: Any, updates: Any) -> Any:
        for parameter, update in zip(parameters, updates, strict=True):
            parameter.mul_(0.9).add_(update)  # cause

    with torch.no_grad():
        for size in (4, 5, 6):
            updated([nn.Parameter(ones(3, size))], [ones(3, size)])


@case(
    "diffusers#9279", "why-recompile",
    cause="self.down.weight.shape[0] grows: 2, 3, 4",
    advice="torch._dynamo.config.force_nn_module_property_static_shapes = False: with that",
    counts=(3, 2),
    never=("mark_dynamic", "dynamic=True"),
)  # fmt: skip
def ranks_of_adapters(run: Run) -> None:
    torch._dynamo.config.force_parameter_static_shapes = not run.remedied
    torch._dynamo.config.force_nn_module_property_static_shapes = not run.remedied

    class LowRank(nn.Module):
        def __init__(self, rank: int) -> None:
            super().__init__()
            self.down = nn.Linear(4, rank, bias=False)
            self.up = nn.Linear(rank, 4, bias=False)

        def forward(self, x: Any) -> Any:
            return self.up(self.down(x))

    for rank in (2, 3, 4):
        run.compile(LowRank(rank))(ones(2, 4))


@case(
    "", "why-recompile",
    cause=("x.shape[1] grows: 3, 4, 5", "self.weight.shape[0] grows: 3, 4, 5"),
    advice="torch._dynamo.config.force_parameter_static_shapes = False: with that",
    counts=(3, 2),
    never=("mark_dynamic", "is a symbol until", "nn_module_property"),
)  # fmt: skip
def widths_of_layers(run: Run) -> None:
    torch._dynamo.config.force_parameter_static_shapes = not run.remedied

    class Projection(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(ones(width, 2))

        def forward(self, x: Any) -> Any:
            return x @ self.weight  # cause

    for width in (3, 4, 5):
        run.compile(Projection(width))(ones(2, width))


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="x.shape[0] is marked as static (torch._dynamo.mark_static)",
    counts=(3, 1),
    never=("Make x.shape[0] a symbol",),
)  # fmt: skip
def static_where_all_is_dynamic(run: Run) -> None:
    def negative(x: Any) -> Any:
        return -x  # cause

    compiled = run.compile(negative, dynamic=True)
    for size in (3, 4, 5):
        x = ones(size, 2)
        torch._dynamo.mark_static(x, 1 if run.remedied else 0)
        compiled(x)


@case(
    "pytorch#111562", "why-recompile",
    cause="identity of y changes: x, another object",
    advice="y and x were one object when the entry was made",
    counts=(2, 1),
    never=("is no plain number",),
)  # fmt: skip
def one_tensor_and_then_two(run: Run) -> None:
    def added(x: Any, y: Any) -> Any:
        return x * 2 + y  # cause

    compiled = run.compile(added, dynamic=True)
    x = ones(3, 4)
    compiled(x, x.clone() if run.remedied else x)
    compiled(x, ones(3, 4))


@case(
    "", "why-recompile",
    cause="identity of others changes: tensors, another object",
    advice="others and tensors were one object when the entry was made",
    counts=(2, 1),
    never=("is no plain number",),
)  # fmt: skip
def one_list_and_then_two(run: Run) -> None:
    @run.compile
    def first_of_both(tensors: Any, others: Any) -> Any:
        return tensors[0] + others[0]  # cause

    tensors = [ones(3)]
    first_of_both(tensors, [ones(3)] if run.remedied else tensors)
    first_of_both(tensors, [ones(3)])


@case(
    "", "why-recompile",
    cause="x.sum().item() changes: 2.0, 4.0",
    advice="x.sum().item() is what scaled_by_itself goes on with after its graph break",
    counts=(3, 1),
    never=("keep it in a tensor",),
)  # fmt: skip
def number_left_by_a_break(run: Run) -> None:
    torch._dynamo.config.capture_scalar_outputs = run.remedied

    @run.compile
    def scaled_by_itself(x: Any) -> Any:
        total = x.sum().item()
        return x * total  # cause

    for factor in (1.0, 2.0, 3.0):
        scaled_by_itself(ones(2) * factor)


@case(
    "", "why-recompile",
    cause="losses.append dies",
    advice="work them out in a statement before its call",
    counts=(4, 2),
    never=("keep it alive",),
)  # fmt: skip
def method_whose_argument_breaks(run: Run) -> None:
    losses: list[float] = []

    @run.compile
    def noted(x: Any) -> Any:
        if run.remedied:
            loss = x.sum().item()
            losses.append(loss)
        else:
            losses.append(x.sum().item())  # cause
        return x * 2

    for _ in range(3):
        losses.clear()
        noted(ones(2))


@case(
    "", "why-recompile",
    cause="requires_grad of self.bias changes: True, False, and of 1 other",
    advice="freeze parameters (requires_grad_(False)) before the first call",
    counts=(2, 1),
    never=("detach",),
)  # fmt: skip
def frozen_after_the_first_call(run: Run) -> None:
    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.bias = nn.Parameter(ones(2)), nn.Parameter(ones(2))

        def forward(self, x: Any) -> Any:
            return self.bias + x * self.weight  # cause

    head = Head().requires_grad_(not run.remedied)
    compiled = run.compile(head)
    compiled(ones(2))
    head.requires_grad_(False)
    compiled(ones(2))


@case(
    "", "why-recompile",
    cause="num_threads changes",
    advice="always the same number of threads (torch.set_num_threads)",
    counts=(2, 1),
    never=("grad mode",),
)  # fmt: skip
def threads_that_are_set(run: Run) -> None:
    @run.compile
    def tripled(x: Any) -> Any:
        return x * 3

    before = torch.get_num_threads()
    tripled(ones(2))
    torch.set_num_threads(before if run.remedied else before + 1)
    tripled(ones(2))
    torch.set_num_threads(before)


@case(
    "pytorch#152588", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is free: the symbol s77, 2 or more",
        "a symbol because torch.compiler.config.dynamic_sources names it",
    ),
    counts=(1, 2),
    never=("automatic",),
)  # fmt: skip
def listed_as_dynamic(run: Run) -> None:
    def listed(x: Any) -> Any:
        return x * 2

    with patch.object(torch.compiler.config, "dynamic_sources", "" if run.remedied else "L['x']"):
        compiled = run.compile(listed)
        for size in (3, 4, 5):
            compiled(ones(size))


@case(
    "", "why-shape", expression="count",
    cause="a symbol because torch.compiler.config.dynamic_sources names it",
    counts=(1, 2),
    never=("automatic",),
)  # fmt: skip
def count_in_the_sources(run: Run) -> None:
    def listed_number(x: Any, count: Any) -> Any:
        return x * count

    with patch.object(
        torch.compiler.config, "dynamic_sources", "" if run.remedied else "L['count']"
    ):
        compiled = run.compile(listed_number)
        for count in (3, 4, 5):
            compiled(ones(2), count)


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] has no value while it is compiled: the symbol u0",
        "a symbol because torch.compiler.config.unbacked_sources names it",
    ),
    counts=(1, 3),
    never=("mark_unbacked",),
)  # fmt: skip
def listed_as_unbacked(run: Run) -> None:
    def listed_unbacked(x: Any) -> Any:
        return x * 2

    with patch.object(torch.compiler.config, "unbacked_sources", "" if run.remedied else "L['x']"):
        compiled = run.compile(listed_unbacked)
        for size in (3, 4, 1):
            compiled(ones(size))


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 3, 4",
    advice="Make x.shape[0] a symbol: torch._dynamo.mark_dynamic(x, 0) before the first call",
    counts=(1, 1),
)  # fmt: skip
def refused_the_second_size(run: Run) -> None:
    """What cannot be compiled again cannot be made dynamic by itself."""

    @run.compile
    def not_again(x: Any) -> Any:
        return x * 4  # cause

    with torch._dynamo.config.patch(error_on_recompile=True), contextlib.suppress(RuntimeError):
        for size in (3, 4, 5):
            x = ones(size)
            if run.remedied:
                torch._dynamo.mark_dynamic(x, 0)
            not_again(x)


@case(
    "", "why-recompile",
    cause="scale changes: 1.0, inf",
    advice="Dynamo makes no symbol of inf, which has an entry of its own: keep scale in a tensor",
    counts=(2, 1),
    never=("dynamic=True",),
)  # fmt: skip
def infinite_scale(run: Run) -> None:
    @run.compile
    def scaled_without_end(x: Any, scale: Any) -> Any:
        return x * scale  # cause

    for scale in (1.0, float("inf")):
        scaled_without_end(ones(2), torch.tensor(scale) if run.remedied else scale)


@case(
    "", "why-recompile",
    cause="inference tensor of x changes: False, True",
    advice="hand over x.clone(), made outside of that mode",
    counts=(2, 1),
)  # fmt: skip
def weights_loaded_for_inference(run: Run) -> None:
    @run.compile
    def tangent(x: Any) -> Any:
        return x.tan()  # cause

    tangent(ones(2))
    with torch.inference_mode():
        loaded = ones(2)
    tangent(loaded.clone() if run.remedied else loaded)


@case(
    "", "why-recompile",
    cause="dispatch keys of x changes",
    advice="x comes in different kinds",
    counts=(2, 1),
)  # fmt: skip
def conjugate_and_not(run: Run) -> None:
    @run.compile
    def twice_the_phase(x: Any) -> Any:
        return x * x  # cause

    x = ones(2, dtype=torch.complex64)
    twice_the_phase(x)
    twice_the_phase(x.conj().resolve_conj() if run.remedied else x.conj())


@case(
    "", "why-recompile",
    cause=("x.shape[0] grows: 3, 4, 5", "shift grows: 1, 2, 3"),
    advice="With dynamic=False",
    counts=(3, 1),
)  # fmt: skip
def sizes_and_numbers(run: Run) -> None:
    def moved(x: Any, shift: Any) -> Any:
        return x + shift  # cause

    compiled = run.compile(moved, dynamic=run.remedied)
    for count in (1, 2, 3):
        compiled(ones(count + 2), count)


@case(
    "", "why-recompile",
    cause=("name changes: 'a', 'b', 'c'", "limit reached at call 4"),
    advice="Each value of name is compiled by itself",
    counts=(3, 1),
)  # fmt: skip
def names_beyond_the_limit(run: Run) -> None:
    @run.compile
    def named(x: Any, name: Any) -> Any:
        return x * len(name)  # cause

    with torch._dynamo.config.patch(recompile_limit=3):
        for name in "abcd":
            named(ones(2), "a" if run.remedied else name)


@case(
    "", "why-recompile",
    cause=("self.calls grows: 0, 1, 2", "x.shape[0] changes: 3, 4"),
    advice="torch._dynamo.config.allow_unspec_int_on_nn_module = True makes it a symbol",
    counts=(3, 1),
)  # fmt: skip
def sizes_and_a_counter(run: Run) -> None:
    torch._dynamo.config.allow_unspec_int_on_nn_module = run.remedied

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return x + self.calls  # cause

    compiled = run.compile(Counting(), dynamic=True if run.remedied else None)
    for size in (3, 4, 5):
        compiled(ones(size))


@case(
    "", "why-recompile",
    cause=("kind dies", "an object that it depends on has died: kind"),
    advice="there is another: make it once, and keep it alive",
    counts=(2, 1),
)  # fmt: skip
def class_that_dies(run: Run) -> None:
    @run.compile
    def by_kind(x: Any, kind: Any) -> Any:
        return x * 2 if isinstance(x, kind) else x * 3  # cause

    def made() -> Any:
        class Kind:
            pass

        return Kind

    kept = made()
    for _ in range(2):
        by_kind(ones(2), kept if run.remedied else made())
        gc.collect()


@case(
    "", "why-recompile",
    cause="t changes: 1.0, <Tensor>",
    advice="t is of another type in one call than in another",
    counts=(2, 1),
    never=("Each value of t",),
)  # fmt: skip
def number_or_tensor(run: Run) -> None:
    @run.compile
    def at_time(x: Any, t: Any) -> Any:
        return x * t  # cause

    for t in (torch.tensor(1.0) if run.remedied else 1.0, torch.tensor(2.0)):
        at_time(ones(2), t)


@case(
    "", "why-recompile",
    cause="length of self.layers._modules changes: 1, 2",
    advice="self.layers has other submodules in one call than in another",
    counts=(2, 1),
)  # fmt: skip
def layer_that_is_added(run: Run) -> None:
    class Growing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.ReLU()])

        def forward(self, x: Any) -> Any:
            for layer in self.layers:  # cause
                x = layer(x)
            return x

    model = Growing()
    for number in range(2):
        if number != run.remedied:
            model.layers.append(nn.Tanh())
        run.compile(model)(ones(2))


@case(
    "", "why-recompile",
    cause="lengths[0] changes: 3, 4",
    advice="Dynamo has made lengths[0] an input of the graph by itself",
    counts=(2, 1),
    never=("Each value of",),
)  # fmt: skip
def lengths_that_add_up(run: Run) -> None:
    """The last length is what the others leave."""

    def split_sums(x: Any, lengths: Any) -> Any:
        return torch.stack([part.sum() for part in x.split(lengths)])  # cause

    compiled = run.compile(split_sums, dynamic=True if run.remedied else None)
    for first in (3, 4, 2):
        compiled(ones(8), [first, 8 - first])


@case(
    "", "why-recompile",
    cause=("rounds.stop changes: 2, 3", "0/1 skipped", "1 skipped: why-break says why"),
    counts=(1, 1),
    never=("Each value of", "0/1 compiled"),
)  # fmt: skip
def range_that_is_skipped(run: Run) -> None:
    """What Dynamo would not have again has no entry."""

    @run.compile
    def added_up(x: Any, rounds: Any) -> Any:
        for number in rounds:  # cause
            x = x + number
        return x

    for stop in (2, 3, 4):
        added_up(ones(2), range(2 if run.remedied else stop))


@case(
    "", "why-recompile",
    cause="count changes: 2, 3",
    advice="an input of the graph from the first call on: torch.compile(dynamic=True)",
    counts=(1, 1),
)  # fmt: skip
def refused_the_second_number(run: Run) -> None:
    def not_again_for(x: Any, count: Any) -> Any:
        return x * count  # cause

    compiled = run.compile(not_again_for, dynamic=True if run.remedied else None)
    with torch._dynamo.config.patch(error_on_recompile=True), contextlib.suppress(RuntimeError):
        for count in (2, 3, 4):
            compiled(ones(2), count)
