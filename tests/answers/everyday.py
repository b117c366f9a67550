"""Programs as models, their caches and training loops have them, of a sweep in which an answer was
wrong, or was right and nothing asked for it."""

from __future__ import annotations

import collections
import contextlib
import functools
import math
import os
from typing import Any

import torch
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.utils.checkpoint import checkpoint

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "transformers#37908", "why-recompile",
    cause=("length of cache.keys changes: 0, 2", "cache.keys[0].shape[0]: expected 2, actual 4"),
    advice="cache.keys is changed by the compiled function itself",
    counts=(3, 1),
)  # fmt: skip
def cache_of_lists(run: Run) -> None:
    class Cache:
        def __init__(self) -> None:
            self.keys: list[Any] = []

        def update(self, key: Any, layer: int) -> Any:
            if len(self.keys) <= layer:  # cause
                self.keys.append(key)
            else:
                self.keys[layer] = torch.cat([self.keys[layer], key])
            return self.keys[layer]

    class Model(nn.Module):
        def forward(self, x: Any, cache: Cache) -> Any:
            return sum(cache.update(x * (layer + 1), layer).sum() for layer in range(2))

    model = run.compile(Model())
    cache = Cache()
    if run.remedied:
        cache.keys = [torch.zeros(2, 2), torch.zeros(2, 2)]
        for key in cache.keys:
            torch._dynamo.mark_dynamic(key, 0)
    for _ in range(4):
        model(ones(2, 2), cache)


@case(
    "", "why-recompile",
    cause="length of frames grows: 0, 1, 2, 3",
    advice="hand over frames always with as many elements",
    counts=(4, 1),
)  # fmt: skip
def deque_of_frames(run: Run) -> None:
    frames: Any = collections.deque(maxlen=3)
    if run.remedied:
        frames.extend(ones(2) * at for at in range(3))

    @run.compile
    def stacked(x: Any, frames: Any) -> Any:
        return x + sum(frame.sum() for frame in frames)  # cause

    for _ in range(4):
        stacked(ones(2), frames)
        frames.append(ones(2))


@case(
    "", "why-recompile",
    cause=("os.environ['STEPPER_ANSWERS'] changes: b'a', b'b'", "called from"),
    advice="Each value of os.environ['STEPPER_ANSWERS'] is compiled by itself",
    counts=(2, 1),
    never=("._data changes",),
)  # fmt: skip
def variable_of_the_environment(run: Run) -> None:
    os.environ["STEPPER_ANSWERS"] = "a"

    @run.compile
    def by_variable(x: Any) -> Any:
        return x * 2 if os.environ.get("STEPPER_ANSWERS") == "a" else x * 3  # cause

    by_variable(ones(2))
    os.environ["STEPPER_ANSWERS"] = "a" if run.remedied else "b"
    by_variable(ones(2))
    del os.environ["STEPPER_ANSWERS"]


@case(
    "", "why-recompile",
    cause="allow_tf32 changes: False, True",
    advice="the same precision of matrix products (torch.set_float32_matmul_precision)",
    counts=(2, 1),
)  # fmt: skip
def precision_of_products(run: Run) -> None:
    @run.compile
    def squared_matrix(x: Any) -> Any:
        return x @ x

    squared_matrix(ones(2, 2))
    torch.set_float32_matmul_precision("highest" if run.remedied else "high")
    squared_matrix(ones(2, 2))
    torch.set_float32_matmul_precision("highest")


@case(
    "", "why-recompile",
    cause="self.layer_idx grows: 0, 1, 2, 3",
    advice="needs the value of self.layer_idx as an index into a list",
    counts=(4, 2),
    never=("allow_unspec_int_on_nn_module",),
)  # fmt: skip
def blocks_called_one_by_one(run: Run) -> None:
    class Block(nn.Module):
        def __init__(self, layer_idx: int) -> None:
            super().__init__()
            self.layer_idx = layer_idx
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Any, caches: Any) -> Any:
            own = caches if run.remedied else caches[self.layer_idx]  # cause
            return self.linear(x) + own

    caches = [ones(2) for _ in range(4)]
    x = ones(2)
    for at in range(4):
        block = run.compile(Block(at))
        x = block(x, caches[at] if run.remedied else caches)


@case(
    "", "why-recompile",
    cause="self.blocks[3].scale changes: 1.0, 2.0",
    advice="or keep it in a tensor",
    counts=(2, 1),
)  # fmt: skip
def scale_of_an_inner_block(run: Run) -> None:
    class Scaling(nn.Module):
        scale: Any = 1.0

        def forward(self, x: Any) -> Any:
            return x * self.scale  # cause

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Scaling() for _ in range(4))

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return x

    net = Net()
    compiled = run.compile(net)
    for block in net.blocks:
        block.scale = 1.0
    for scale in (1.0, 2.0, 3.0):
        net.blocks[3].scale = torch.tensor(scale) if run.remedied else scale
        compiled(ones(2))


@case(
    "", "why-recompile",
    cause="where.stop changes: 2, 3",
    advice="Dynamo has made where.stop an input of the graph by itself",
    counts=(2, 1),
)  # fmt: skip
def slice_that_is_handed_over(run: Run) -> None:
    def rows(x: Any, where: slice) -> Any:
        return x[where] * 2  # cause

    compiled = run.compile(rows, dynamic=True if run.remedied else None)
    for stop in (2, 3, 4):
        compiled(ones(8), slice(0, stop))


@case(
    "", "why-recompile",
    cause="apply.keywords['by'] changes: 2.0, 3.0",
    advice="or keep it in a tensor",
    counts=(2, 1),
)  # fmt: skip
def partial_with_another_value(run: Run) -> None:
    def scale(x: Any, by: Any) -> Any:
        return x * by  # cause

    @run.compile
    def applied(apply: Any, x: Any) -> Any:
        return apply(x)

    for by in (2.0, 3.0):
        applied(functools.partial(scale, by=torch.tensor(by) if run.remedied else by), ones(3))


@case(
    "", "why-break",
    cause="User-defined object with non-function __getattr__",
    advice="define __getattr__ in Python",
    counts=(0, 1),
)  # fmt: skip
def keys_as_attributes(run: Run) -> None:
    class Config(dict):  # type: ignore[type-arg]  # as programs write it
        __getattr__ = dict.__getitem__

    class Remedied(dict):  # type: ignore[type-arg]
        def __getattr__(self, name: str) -> Any:
            return self[name]

    @run.compile
    def scaled(x: Any, config: Any) -> Any:
        return (x + 1) * config.scale  # cause

    scaled(ones(3), (Remedied if run.remedied else Config)(scale=2))


@case(
    "", "why-break",
    cause="torch.nn.Parameter()",
    advice="and convert or move them there",
    counts=(2, 1),
)  # fmt: skip
def module_converted_inside(run: Run) -> None:
    layer = nn.Linear(2, 2)

    @run.compile
    def converted(x: Any) -> Any:
        x = x + 1
        if not run.remedied:
            layer.to(torch.float64)
        return x * 2

    converted(ones(2))


@case(
    "", "why-failed",
    cause="HOP: Unsafe side effect",
    advice="change nothing outside of the function that the operator is given",
    counts=(0, 1),
)  # fmt: skip
def noted_in_a_branch(run: Run) -> None:
    seen: list[Any] = []

    @run.whole
    def branching(x: Any) -> Any:
        def doubled(x: Any) -> Any:
            if not run.remedied:
                seen.append(x)  # cause
            return x * 2

        return torch.cond(x.sum() > 0, doubled, lambda x: x.sin(), (x,))

    with contextlib.suppress(Exception):
        branching(ones(3))


@case(
    "", "why-failed",
    cause="HOP: Unsafe side effect",
    advice="change nothing outside of the function that the operator is given",
    counts=(0, 1),
)  # fmt: skip
def noted_under_a_checkpoint(run: Run) -> None:
    seen: list[Any] = []

    @run.whole
    def recomputed(x: Any) -> Any:
        def sine(x: Any) -> Any:
            if not run.remedied:
                seen.append(x.sin())  # cause
            return x.sin()

        return checkpoint(sine, x, use_reentrant=False)

    with contextlib.suppress(Exception):
        recomputed(torch.ones(2, requires_grad=True))


@case(
    "", "why-failed",
    cause="body_fn_output and carried_inputs to have same metadata",
    advice="let the function return what it is given",
    counts=(0, 1),
)  # fmt: skip
def loop_that_grows_its_tensor(run: Run) -> None:
    @run.whole
    def grown(x: Any, count: Any) -> Any:
        def body(x: Any, count: Any) -> Any:
            return x + 1 if run.remedied else torch.cat([x, x]), count + 1

        return while_loop(lambda _, count: count < 3, body, (x, count))  # cause

    with contextlib.suppress(Exception):
        grown(ones(3), torch.tensor(0))


@case(
    "pytorch#147672", "why-failed",
    cause=("data-dependent expression Ne(Mod(u0, 2), 0)", "u0 comes from"),
    advice="of what always holds, torch._check",
    counts=(0, 1),
)  # fmt: skip
def asked_whether_a_count_is_odd(run: Run) -> None:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    @run.whole
    def in_pairs(x: Any) -> Any:
        chosen = x[x > 0]
        count = chosen.shape[0]
        if run.remedied:
            torch._check(count % 2 == 0)
        elif count % 2:  # cause
            return chosen
        return chosen * 2

    with contextlib.suppress(Exception):
        in_pairs(ones(4))


@case(
    "", "why-failed",
    cause=("Could not extract specialized integer", "u0 comes from"),
    advice="do it with tensors as a whole",
    counts=(0, 1),
)  # fmt: skip
def loop_over_what_was_found(run: Run) -> None:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    @run.whole
    def summed(x: Any) -> Any:
        found = x.nonzero()
        return found.sum() if run.remedied else sum(each.sum() for each in found)  # cause

    with contextlib.suppress(Exception):
        summed(ones(3))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=(
        "x.shape[0] is free within the conditions on it: the symbol s77, 2 or more",
        "requires Eq(s77, TruncToInt(OpaqueUnaryFn_sqrt(ToFloat(s77)))**2)",
    ),
    counts=(1, 1),
)  # fmt: skip
def side_of_a_square(run: Run) -> None:
    def square(x: Any) -> Any:
        side = int(math.sqrt(x.shape[0]))
        return x.view(side, side)  # cause

    run.compile(square, dynamic=True)(ones(16))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is 4: it was the symbol", "the same symbol as x.shape[1]"),
    counts=(2, 2),
)  # fmt: skip
def shape_compared_with_a_tuple(run: Run) -> None:
    def doubled_if_square(x: Any) -> Any:
        return x * 2 if x.shape == (4, 4) else x + 1  # cause

    compiled = run.compile(doubled_if_square, dynamic=True)
    compiled(ones(4, 4))
    compiled(ones(5, 6))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is 3: it was the symbol", "by BINARY_OP *"),
    counts=(1, 1),
)  # fmt: skip
def list_that_is_repeated(run: Run) -> None:
    def repeated(x: Any) -> Any:
        return sum([x[0]] * x.shape[0])  # cause

    run.compile(repeated, dynamic=True)(ones(3))


@case(
    "", "why-shape", expression="x.shape[0]",
    cause=("x.shape[0] is 3: it was the symbol", "for the node unbind"),
    counts=(1, 1),
)  # fmt: skip
def rows_unbound(run: Run) -> None:
    def added(x: Any) -> Any:
        return sum(x.unbind(0))  # cause

    run.compile(added, dynamic=True)(ones(3))


@case(
    "", "why-break",
    cause="Could not extract specialized integer",
    advice="do it with tensors as a whole",
    counts=(0, 1),
)  # fmt: skip
def rows_of_what_was_found(run: Run) -> None:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    @run.compile
    def summed_by_rows(x: Any) -> Any:
        found = x.nonzero()
        return found.sum() if run.remedied else sum(each.sum() for each in found)  # cause

    summed_by_rows(ones(3))


@case(
    "", "is-guarded", expression="optimizer.param_groups[0]['lr']",
    cause=(
        "if its self is optimizer, optimizer.param_groups[0]['lr'] is guarded",
        "guards self.param_groups[0]['lr']",
    ),
    counts=(2, 1),
)  # fmt: skip
def rate_behind_a_break(run: Run) -> None:
    """The step is compiled by itself, behind a graph break of torch's own."""
    weight = nn.Parameter(ones(2))
    weight.grad = ones(2)
    optimizer = torch.optim.Adagrad([weight], lr=0.1)

    @run.compile
    def stepping() -> None:
        optimizer.step()

    stepping()
    optimizer.param_groups[0]["lr"] = 0.1 if run.remedied else 0.5
    stepping()


class Rates(list):  # type: ignore[type-arg]  # as people write it
    """A list whose elements Dynamo gets by `list.__getitem__`, since the class has its own way."""

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place)


@case(
    "", "why-recompile",
    cause="rates[0] changes: 2.5, 3.5",
    advice="Dynamo has made rates[0] an input of the graph by itself",
    counts=(2, 1),
)  # fmt: skip
def list_of_its_own_kind(run: Run) -> None:
    @run.compile
    def rated(x: Any, rates: Rates) -> Any:
        return x * rates[0]  # cause

    for rate in (2.5, 3.5, 4.5):
        rated(ones(3), Rates([torch.tensor(rate) if run.remedied else rate]))


@case(
    "", "why-recompile",
    cause="self.seen[8] grows: 1, 2, 3",
    advice="An int that belongs to an nn.Module is a constant of the graph",
    counts=(4, 1),
)  # fmt: skip
def counter_by_length(run: Run) -> None:
    """A value whose key Dynamo names by its place, since the key is no constant of the program."""

    class Lengths(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seen: collections.Counter[int] = collections.Counter()

        def forward(self, x: Any) -> Any:
            if not run.remedied:
                self.seen[x.shape[1]] += 1  # cause
            return x + 1

    lengths = run.compile(Lengths())
    for _ in range(4):
        lengths(ones(2, 8))
