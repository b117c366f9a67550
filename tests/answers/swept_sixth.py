"""Programs of a sixth sweep, of subclasses, caches, schedulers and exceptions, of which an answer
was wrong, or said what did not help."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-break",
    cause="raised exception AttributeError",
    advice="without the __call__ of its class's class, Counted",
    counts=(0, 1),
)  # fmt: skip
def made_by_its_metaclass(run: Run) -> None:
    class Counted(type):
        def __call__(cls, *args: Any) -> Any:
            made = super().__call__(*args)
            made.parts = 2
            return made

    class Plan(metaclass=Counted):
        parts: int

    globals()["Plan"] = Plan  # as a class of a module is

    @run.compile
    def scaled(x: Any, plan: Any) -> Any:
        plan = plan or Plan()
        return x * plan.parts  # cause

    scaled(ones(3), Plan() if run.remedied else None)


@case(
    "", "why-break",
    cause=("Data dependent operator", "then graph break in loop"),
    advice="compile one round of it, with the loop around that",
    counts=(0, 3),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def suppressed_boxes(run: Run) -> None:
    """With index_select in place of the index, the mask breaks in its place."""

    def apart(boxes: Any, order: Any) -> Any:
        return (boxes[order[1:]] - boxes[order[:1]]).abs().sum(1)

    measured = run.compile(apart) if run.remedied else apart

    def suppressed(boxes: Any, order: Any) -> Any:
        kept = []
        while order.numel() > 0:
            best = order[0]
            kept.append(best)
            if run.remedied:
                distances = measured(boxes, order)
            else:
                distances = (boxes[order[1:]] - boxes[best]).abs().sum(1)  # cause
            order = order[1:][distances > 0.5]
        return torch.stack(kept)

    boxes = torch.tensor([[0.0, 0], [0, 0.1], [3, 3], [9, 9]])
    (suppressed if run.remedied else run.compile(suppressed))(boxes, torch.arange(4))


@case(
    "", "why-break",
    cause=("1 cause: 3 frames given up", "raised exception ValueError('too long')"),
    advice="handle what raises before the compiled function",
    counts=(0, 1),
)  # fmt: skip
def refused_deep_within(run: Run) -> None:
    """Each function that the exception leaves is tried by itself."""

    def checked(x: Any) -> Any:
        if x.shape[0] > 2:
            raise ValueError("too long")  # cause
        return x

    def inner(x: Any) -> Any:
        y = checked(x)
        return y + 1

    @run.compile
    def outer(x: Any) -> Any:
        return inner(x.sin()) * 2

    with run.failing():
        outer(ones(2 if run.remedied else 3))


@case(
    "", "why-recompile",
    cause=("self.at changes: None, 1, 2", "step changes: 9.0, 6.0"),
    advice="self.at is a symbol until",
    counts=(3, 2),
    never=("To save the entry for its first value",),
    function="Schedule.denoised",
)  # fmt: skip
def steps_of_a_scheduler(run: Run) -> None:
    """Where one thing is None at first, a symbol for the other saves no entry."""
    sigmas = [1.0, 0.7, 0.3, 0.1]

    class Schedule:
        def __init__(self) -> None:
            self.at: int | None = None

        def denoised(self, x: Any, step: Any, sigma: Any = None) -> Any:
            if sigma is None:
                if self.at is None:
                    self.at = 0
                sigma = sigmas[self.at]  # cause
                self.at += 1
            return x - sigma * step

    schedule = Schedule()
    denoised = run.compile(schedule.denoised)
    for at, step in enumerate((9.0, 6.0, 3.0)):
        denoised(ones(3), step, sigmas[at] if run.remedied else None)


@case(
    "", "why-recompile",
    cause=("ids.shape[1] changes: 3, 1", "cache.filled changes: False, True"),
    advice="Each value of cache.filled is compiled by itself",
    counts=(2, 1),
    never=("mark_unbacked", "Change all of it"),
    function="prefilled_or_decoded",
)  # fmt: skip
def filled_and_then_decoded(run: Run) -> None:
    """Whatever is done for the size 1, there is an entry for each of the two states."""

    class Cache:
        def __init__(self) -> None:
            self.filled = False

    cache = Cache()

    @run.compile
    def prefilled_or_decoded(ids: Any, cache: Any) -> Any:
        return ids + 1 if cache.filled else ids.sum(1)  # cause

    prefilled_or_decoded(ones(2, 3), cache)
    cache.filled = not run.remedied
    prefilled_or_decoded(ones(2, 3 if run.remedied else 1), cache)


@case(
    "", "why-break",
    cause="skipping FSDP hooks",
    advice="what breaks is of fully_shard: compile the module that it is given, before",
    counts=(1, 1),
    function="forward_of_shards",
)  # fmt: skip
def compiled_around_the_shards(run: Run) -> None:
    distributed = torch.distributed
    distributed.init_process_group("fake", rank=0, world_size=1, store=FakeStore())
    try:
        layer = nn.Linear(2, 2)
        model = run.compile(layer) if run.remedied else layer
        fully_shard(model, mesh=init_device_mesh("cpu", (1,)))

        def forward_of_shards(x: Any) -> Any:
            return model(x).sum()  # cause

        (forward_of_shards if run.remedied else run.compile(forward_of_shards))(ones(2, 2))
    finally:
        distributed.destroy_process_group()


@case(
    "", "why-break",
    cause=("Unsupported python_type() call", "gives up"),
    advice="hand over a list of it, or the number, with range() inside",
    counts=(1, 2),
)  # fmt: skip
def gone_through_a_range(run: Run) -> None:
    @run.compile
    def summed(x: Any, rounds: Any) -> Any:
        for each in rounds:  # cause
            x = x + each
        return x

    for rounds in (range(2), range(3)):
        summed(ones(2), list(rounds) if run.remedied else rounds)


class Scaled(torch.Tensor):
    """A tensor beside which a number is kept."""

    inner: torch.Tensor
    scale: float

    @staticmethod
    def __new__(cls, inner: torch.Tensor, scale: float) -> Scaled:
        made: Any = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner, made.scale = inner, scale
        return made  # type: ignore[no-any-return]  # torch says it is a tensor

    def __tensor_flatten__(self) -> tuple[list[str], float]:
        return ["inner"], self.scale

    @staticmethod
    def __tensor_unflatten__(inner: Any, scale: float, size: Any, stride: Any) -> Scaled:
        return Scaled(inner["inner"], scale)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch types its arguments as required
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*[each.inner if isinstance(each, Scaled) else each for each in args])


@case(
    "", "why-recompile",
    cause="metadata of weights changes",
    advice="keep what changes of weights in one of the tensors",
    counts=(3, 1),
    never=("___check_metadata",),
)  # fmt: skip
def scale_beside_a_tensor(run: Run) -> None:
    @run.compile
    def shifted(weights: Any) -> Any:
        return weights + 1  # cause

    for scale in (1.0, 0.5, 0.25):
        shifted(Scaled(ones(3), 1.0 if run.remedied else scale))


@case(
    "", "why-recompile",
    cause=("rows.shape[0] changes: 3, 4", "many changes: 3, 4"),
    advice="torch.compile(dynamic=True)",
    counts=(2, 1),
    never=("torch._dynamo.mark_dynamic(rows, 0)",),
    function="as_many_as_told",
)  # fmt: skip
def rows_and_their_number(run: Run) -> None:
    """With a mark alone there are as many entries: the size has to be the number."""

    def as_many_as_told(rows: Any, many: int) -> Any:
        return rows[:many] * many  # cause

    compiled = run.compile(as_many_as_told, dynamic=True if run.remedied else None)
    for many in (3, 4):
        compiled(ones(many, 2), many)


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 1, 3", "times changes: 1.0, 2.0"),
    advice="Change all of it: torch.compile(dynamic=True) (for value of times); mark_unbacked",
    counts=(2, 1),
    function="times_of_rows",
)  # fmt: skip
def row_and_a_number(run: Run) -> None:
    def times_of_rows(x: Any, times: float) -> Any:
        return x * times  # cause

    compiled = run.compile(times_of_rows, dynamic=True if run.remedied else None)
    for size, times in ((1, 1.0), (3, 2.0)):
        x = ones(size, 2)
        if run.remedied:
            torch._dynamo.decorators.mark_unbacked(x, 0)
        compiled(x, times)


@torch.library.custom_op("stepper_answers::turned", mutates_args=())
def turned(x: torch.Tensor) -> torch.Tensor:
    return x.flip(-1)


@turned.register_fake
def _turned(x: torch.Tensor) -> torch.Tensor:
    assert x.dim() == 2, "two dimensions are wanted"
    return torch.empty_like(x)


@case(
    "", "why-failed",
    cause=("AssertionError: two dimensions are wanted", "swept_sixth.py"),
    counts=(0, 1),
)  # fmt: skip
def fake_that_refuses(run: Run) -> None:
    """The line that refuses is told, too: the last of what it was raised in."""

    @run.compile
    def twice(x: Any) -> Any:
        return turned(x) * 2  # cause

    with run.failing():
        twice(ones(2, 3) if run.remedied else ones(1, 2, 3))
