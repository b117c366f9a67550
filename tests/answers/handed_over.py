"""Programs in which what is handed over is another one in each call, and what is written into it,
follows from it, or is drawn for it: containers, lists of sizes, what a thread has, random numbers.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import torch
from torch.func import functional_call
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-recompile",
    cause=("length of weights changes: 2, 1  (1 of 2)", "list(weights)[0] changes"),
    advice="Hand over weights always with the same keys",
    counts=(3, 1),
    never=("is changed by the compiled function itself",),
)  # fmt: skip
def weights_in_another_order(run: Run) -> None:
    """torch.func.functional_call puts the tensors back into the dictionary that it is handed."""
    layer = torch.nn.Linear(4, 4)

    @run.compile
    def of_weights(weights: Any, x: Any) -> Any:
        return functional_call(layer, weights, (x,))  # cause

    own = dict(layer.named_parameters())
    of_weights(own, ones(2, 4))
    if not run.remedied:
        of_weights({"bias": own["bias"], "weight": own["weight"]}, ones(2, 4))
        of_weights({"weight": own["weight"]}, ones(2, 4))


@case(
    "", "why-recompile",
    cause="length of kept grows: 0, 2, 3",
    advice="kept is changed by the compiled function itself at tests/answers/handed_over.py:",
    counts=(3, 1),
    never=("and the next call finds it so:",),
)  # fmt: skip
def kept_in_a_list_of_each_call(run: Run) -> None:
    @run.compile
    def counted_among(kept: Any, x: Any) -> Any:
        kept.append(x)  # cause
        return x * len(kept)

    for count in (0, 0, 0) if run.remedied else (0, 2, 3):
        counted_among([ones(2)] * count, ones(2))


@case(
    "", "why-recompile",
    cause="KEPT_BESIDE grows: 0, 1, 2",
    advice="KEPT_BESIDE is changed by the compiled function itself at tests/answers/handed_over.py",
    counts=(3, 1),
    never=("where it is handed the same one",),
)  # fmt: skip
def kept_in_a_list_of_the_module(run: Run) -> None:
    KEPT_BESIDE.clear()

    def beside(x: Any) -> Any:
        if not run.remedied:
            KEPT_BESIDE.append(x)  # cause
        return x * 2

    compiled = run.compile(beside)
    for _ in range(3):
        compiled(ones(2))


KEPT_BESIDE: list[Any] = []


@case(
    "", "why-recompile",
    cause=("pieces.shape[0] changes: 5, 6", "sizes[0] changes: 2, 3"),
    advice="Dynamo has made sizes[0] an input of the graph by itself. To save the entry for its "
    "first value: torch.compile(dynamic=True)",
    counts=(3, 1),
    never=("mark_dynamic(pieces",),
)  # fmt: skip
def split_by_sizes_of_each_batch(run: Run) -> None:
    def first_of_each(pieces: Any, sizes: Any) -> Any:
        return torch.cat([part[:1] for part in pieces.split(sizes)])  # cause

    compiled = run.compile(first_of_each, **({"dynamic": True} if run.remedied else {}))
    for sizes in ([2, 3], [3, 3], [4, 5]):
        compiled(ones(sum(sizes), 7), sizes)


@case(
    "", "why-recompile",
    cause=("there.scale changes: 1.0, 2.0", "there.scale is not there  (1 of 2)"),
    advice="Dynamo has made there.scale an input of the graph by itself",
    counts=(3, 2),
    never=("there is not there", "there was there"),
)  # fmt: skip
def scale_of_each_thread(run: Run) -> None:
    there = threading.local()

    def scaled_there(x: Any) -> Any:
        return x * getattr(there, "scale", 1.0)  # cause

    compiled = run.compile(scaled_there, **({"dynamic": True} if run.remedied else {}))

    def with_scale(scale: float) -> None:
        there.scale = scale
        compiled(ones(3))

    for scale in (1.0, 2.0):
        thread = threading.Thread(target=with_scale, args=(scale,))
        thread.start()
        thread.join()
    compiled(ones(3))


@case(
    "", "why-break",
    cause="Data dependent operator",
    advice="a number from the module random is a tensor for Dynamo",
    counts=(2, 1),
    never=("capture_scalar_outputs = True, and",),
)  # fmt: skip
def rolled_at_random(run: Run) -> None:
    @run.compile
    def rolled(x: Any, by: Any) -> Any:
        by = by if run.remedied else random.randint(1, 3)
        return torch.roll(x * 2, by, -1) + 1  # cause

    random.seed(0)
    rolled(ones(3, 4), 2)


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="the line is a library's: take what `average.update_parameters(layer)",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def average_that_decides(run: Run) -> None:
    """It asks by a tensor whether it has averaged anything yet."""
    layer = torch.nn.Linear(4, 4)
    average = AveragedModel(layer, multi_avg_fn=get_ema_multi_avg_fn(0.9))

    @run.compile
    def averaged(x: Any) -> Any:
        y = x * 2
        if not run.remedied:
            average.update_parameters(layer)  # cause
        return y + 1

    averaged(ones(3))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="keep the value a tensor; or, where the program decides nothing by it, "
    "torch._dynamo.config.capture_scalar_outputs = True",
    counts=(2, 1),
    never=("the statement decides on data",),
)  # fmt: skip
def noted_each_second_step(run: Run) -> None:
    noted: list[Any] = []

    @run.compile
    def at_each_step(x: Any, step: Any) -> Any:
        y = x * 2
        if step % 2 == 0: noted.append(y.sum() if run.remedied else y.sum().item())  # noqa: E701  # cause  # fmt: skip
        return y + 1

    at_each_step(ones(3), 2)
