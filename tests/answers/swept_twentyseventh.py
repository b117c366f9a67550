"""Programs for what was wrong in answers about users' reports that nobody had asked stepper about:
parts of tensor subclasses, sizes that are one symbol, marks, what numpy makes of a number."""

from __future__ import annotations

import contextlib
import functools
import uuid
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from tests.answers.cases import Run, case

ones = torch.ones


class Scaled(torch.Tensor):
    """A tensor and what it is to be multiplied by, as libraries for quantization have it."""

    values: torch.Tensor
    by: float

    @staticmethod
    def __new__(cls, values: torch.Tensor, by: float) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype)  # type: ignore[attr-defined]  # not in its stubs

    def __init__(self, values: torch.Tensor, by: float) -> None:
        self.values = values  # type: ignore[method-assign,assignment]  # a sparse tensor's, there
        self.by = by

    def __tensor_flatten__(self) -> tuple[list[str], float]:
        return ["values"], self.by

    @staticmethod
    def __tensor_unflatten__(inner: Any, by: float, size: Any, stride: Any) -> Any:
        return Scaled(inner["values"], by)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch types its arguments as required
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        by = next(each.by for each in args if isinstance(each, Scaled))
        plain = pytree.tree_map_only(Scaled, lambda each: each.values, args)
        return Scaled(func(*plain, **(kwargs or {})), by)


@case(
    "pytorch#128149", "why-recompile",
    cause="weight.shape[0] changes: 3, 4",
    advice="torch._dynamo.mark_dynamic(weight, 0) before the first call",
    counts=(2, 1),
    never=("mark_dynamic(weight.values", "likewise of weight.values"),
)  # fmt: skip
def rows_of_a_subclass(run: Run) -> None:
    @run.compile
    def doubled_rows(weight: Any) -> Any:
        return weight * 2  # cause

    first = Scaled(ones(3), 0.5)
    if run.remedied:
        torch._dynamo.mark_dynamic(first, 0)
    for weight in (first, Scaled(ones(4), 0.5), Scaled(ones(5), 0.5)):
        doubled_rows(weight)


@case(
    "pytorch#128149", "why-recompile",
    cause="weight.values.shape[0] changes: 3, 4",
    advice="torch._dynamo.mark_dynamic(weight, 0) before the first call",
    counts=(4, 3),
    never=("mark_dynamic(weight.values", "likewise of weight.values"),
)  # fmt: skip
def rows_of_a_subclass_of_several_scales(run: Run) -> None:
    @run.compile
    def scaled_rows(weight: Any) -> Any:
        return weight * 2  # cause

    for by, rows in ((1, 3), (2, 3), (3, 3), (3, 4), (3, 5)):
        weight = Scaled(ones(rows), by)
        if run.remedied and rows == 3:
            torch._dynamo.mark_dynamic(weight, 0)
        scaled_rows(weight)


@case(
    "pytorch#110322", "why-recompile",
    cause="2 <= key.shape[1], with 1",
    advice="mark_unbacked(key, 1) before the first call, and likewise of query.shape[1] and ",
    counts=(2, 1),
)  # fmt: skip
def attention_of_one_token(run: Run) -> None:
    def attended(query: Any, key: Any, value: Any) -> Any:
        return (query @ key.transpose(1, 2)) @ value  # cause

    compiled = run.compile(attended, dynamic=True)
    for tokens in (5, 6, 1):
        three = [ones(2, tokens, 8) for _ in range(3)]
        if run.remedied and tokens == 5:
            for each in three:
                torch._dynamo.decorators.mark_unbacked(each, 1)
        compiled(*three)


@case(
    "", "is-guarded", expression="rows.shape[0]",
    cause="rows.shape[0] is guarded: it must be 3, since it is marked as static",
    counts=(2, 1),
    never=("a size of 0 or 1",),
)  # fmt: skip
def rows_that_are_marked_as_static(run: Run) -> None:
    def doubled_static(rows: Any) -> Any:
        return rows * 2

    compiled = run.compile(doubled_static, dynamic=True)
    first = ones(3, 4)
    torch._dynamo.mark_static(first, 0)
    compiled(first)
    compiled(first if run.remedied else ones(5, 4))


@case(
    "", "is-guarded", expression="turned.is_contiguous()",
    cause=(
        "turned.is_contiguous() is guarded: it follows from the strides [1, s",
        "], with which it is False",
    ),
    counts=(3, 2),
    never=("is free",),
)  # fmt: skip
def strides_that_are_never_contiguous(run: Run) -> None:
    @run.compile
    def doubled_turned(turned: Any) -> Any:
        return turned * 2

    doubled_turned(ones(3, 8)[:, ::2])
    doubled_turned(ones(4, 3).t())
    doubled_turned(ones(4, 3).t() if run.remedied else ones(3, 4))


@case(
    "", "why-shape", expression="pair.shape[0]",
    cause=(
        "pair.shape[0] is 6: the conditions on sizes together leave nothing else",
        "pair_of_three: return left.view(3) + right",
    ),
    counts=(1, 1),
    never=("is free",),
)  # fmt: skip
def size_of_two_halves(run: Run) -> None:
    @run.compile
    def pair_of_three(pair: Any) -> Any:
        left, right = pair.chunk(2)
        return left.view(3) + right

    halves = ones(6)
    torch._dynamo.mark_dynamic(halves, 0)
    pair_of_three(halves)


made_behind = 0


@functools.cache
def one_more_made(by: int) -> int:
    global made_behind
    made_behind += 1
    return by + made_behind


@case(
    "pytorch#146598", "why-recompile",
    cause="made_behind grows: ",
    advice="behind the cache of one_more_made (functools.lru_cache), which is not looked at",
    counts=(3, 1),
    never=("count outside of it",),
)  # fmt: skip
def counted_behind_a_cache(run: Run) -> None:
    global made_behind
    made_behind = 0
    one_more_made.cache_clear()

    @run.compile
    def made_once_more(x: Any, made: int | None) -> Any:
        return x * (one_more_made(1) if made is None else made)

    for _ in range(3):
        made_once_more(ones(3), one_more_made(1) if run.remedied else None)


@case(
    "pytorch#156720", "why-break",
    cause=(
        "Unsupported Tensor.item() call with capture_scalar_outputs=False",
        "(no graph is split by it: what follows it runs uncompiled)",
    ),
    advice="torch._dynamo.config.capture_scalar_outputs = True",
    counts=(0, 1),
    never=("no fewer graphs",),
)  # fmt: skip
def as_many_as_a_tensor_says(run: Run) -> None:
    torch._dynamo.config.capture_scalar_outputs = run.remedied

    @run.compile
    def greatest(x: Any, count: Any) -> Any:
        return x.topk(int(count)).values * 2  # cause

    greatest(ones(5), torch.tensor(3))


UNSEEN = """
def named_inside(x):
    return x * len(str(uuid.uuid4()))
"""


@case(
    "", "why-break", function="named_inside",
    cause=("uuid.py", "called by <made>:3 in named_inside"),
    advice="the line is a library's: take what leads there out of the compiled function",
    counts=(1, 1),
    never=("so is what is compiled",),
)  # fmt: skip
def library_called_by_unseen_code(run: Run) -> None:
    made: dict[str, Any] = {"uuid": uuid}
    text = UNSEEN.replace("uuid.uuid4()", "123") if run.remedied else UNSEEN
    exec(compile(text, "<made>", "exec"), made)  # as libraries make functions
    run.compile(made["named_inside"])(ones(3))


class Cubed(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


@case(
    "pytorch#129845", "why-break",
    cause="Unsupported hasattr call",
    advice="give it a function that calls that, e.g. a lambda",
    counts=(0, 1),
    never=("the line is a library's: take what",),
)  # fmt: skip
def mapped_autograd_function(run: Run) -> None:
    @run.compile
    def cubes(x: Any) -> Any:
        if run.remedied:
            return torch.vmap(lambda each: Cubed.apply(each))(x)
        return torch.vmap(Cubed.apply)(x)  # cause

    cubes(ones(3, 2))


@case(
    "", "why-failed",
    cause="'ndarray' object has no attribute '__round__'",
    advice="take the function of math (math.floor for numpy.floor)",
    counts=(0, 1),
)  # fmt: skip
def rounded_after_numpy(run: Run) -> None:
    import math

    @run.compile
    def halved_and_rounded(x: Any, count: int) -> Any:
        floor = math.floor if run.remedied else np.floor
        return x * round(floor(count / 2))  # cause

    with run.failing():
        halved_and_rounded(ones(3), 5)


@case(
    "", "why-failed",
    cause=("in AOTAutograd", "AOTAutograd itself raised it, in "),
    counts=(0, 1),
    never=("in the backend", "which node of the graph is to blame"),
)  # fmt: skip
def written_to_what_is_expanded(run: Run) -> None:
    backend = run if run.remedied else "aot_eager"

    @torch.compile(backend=backend)
    def first_row_cleared(x: Any) -> Any:
        x[torch.tensor([0])] = 0
        return x.sum()

    with contextlib.suppress(Exception):
        first_row_cleared(ones(3).expand(3, 3))


@case(
    "", "why-break",
    cause="aten._local_scalar_dense",
    advice="keep the value a tensor",
    counts=(2, 1),
    never=("how often the loop runs",),
)  # fmt: skip
def numbers_beside_a_range(run: Run) -> None:
    @run.compile
    def weighed(x: Any, weights: Any) -> Any:
        x = x * 2
        weights = weights if run.remedied else weights.tolist()  # cause
        for place, weight in zip(range(3), weights, strict=True):
            x = x + weight * place
        return x

    weighed(ones(3), torch.tensor([1, 2, 3]))


@case(
    "", "why-break",
    cause="aten._local_scalar_dense",
    advice="keep the value a tensor",
    counts=(2, 1),
    never=("how often the loop runs",),
)  # fmt: skip
def numbers_in_a_loop_over_a_range(run: Run) -> None:
    @run.compile
    def weighed_by_each(x: Any, weights: Any) -> Any:
        x = x * 2
        each = iter(weights) if run.remedied else None
        for at, weight in zip(range(3), each or weights.tolist(), strict=True):  # cause
            x = x + weight * at
        return x

    weighed_by_each(ones(3), torch.tensor([1, 2, 3]))


@case(
    "", "why-break",
    cause="aten._local_scalar_dense",
    advice="keep the value a tensor",
    counts=(2, 1),
    never=("nested tensor",),
)  # fmt: skip
def rows_taken_apart_beside_numbers(run: Run) -> None:
    @run.compile
    def weighed_rows(x: Any, weights: Any) -> Any:
        x = x * 2
        each = zip(x.unbind(0), weights, strict=True) if run.remedied else None
        each = each or zip(x.unbind(0), weights.tolist(), strict=True)  # cause
        return torch.stack([row * by for row, by in each])

    weighed_rows(ones(3, 2), torch.tensor([1, 2, 3]))
