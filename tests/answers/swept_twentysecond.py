"""Programs of a twenty-second sweep: equal sizes, enumerations, what else adds, fakes."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn, ones
from torch._higher_order_ops import while_loop
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.answers.cases import Run, case


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 2 <= x.shape[0] <= 16 does not hold",
    advice="The entry requires 2 <= x.shape[0] <= 16, which",
    counts=(2, 1),
)  # fmt: skip
def elements_against_a_limit(run: Run) -> None:
    """What is compared is not the size itself, so that the entry has a range of it."""

    @run.compile
    def limited(x: Any) -> Any:
        return x.sum() if x.numel() > 64 else x.cumsum(0)  # cause

    for size in (6, 12 if run.remedied else 20):
        x = ones(size, 4)
        torch._dynamo.mark_dynamic(x, 0)
        limited(x)


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 4, 6",
    advice="torch.compile(dynamic=True) would make one symbol of it and x.shape[1], which are",
    counts=(2, 1),
    never=(", or torch.compile(dynamic=True)",),
)  # fmt: skip
def as_many_rows_as_columns(run: Run) -> None:
    """Where all sizes are symbols, the entry is for as many rows as columns, too."""

    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2  # cause

    for size in (4, 6):
        x = ones(size, 4)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        doubled(x)


class Kernels:
    chosen = SDPBackend.MATH


@case(
    "", "why-recompile",
    cause="keys of kernels.__dict__ changes: without 'chosen', with 'chosen'",
    advice="to what they are later: each value of kernels.chosen is compiled by itself",
    counts=(2, 1),
)  # fmt: skip
def kernels_that_the_class_has_first(run: Run) -> None:
    kernels = Kernels()

    @run.compile
    def attended(q: Any) -> Any:
        with sdpa_kernel(kernels.chosen):  # cause
            return F.scaled_dot_product_attention(q, q, q)

    for later in (False, True):
        if later or run.remedied:
            kernels.chosen = SDPBackend.FLASH_ATTENTION
        attended(ones(1, 2, 4, 8))


@case(
    "", "why-recompile",
    cause="kernel changes: <SDPBackend.MATH: 0>, SDPBackend.FLASH_ATTENTION",
    advice="Each value of kernel is compiled by itself",
    counts=(2, 1),
)  # fmt: skip
def kernel_that_is_handed_over(run: Run) -> None:
    """It is a member of an enumeration in C++."""

    @run.compile
    def attended_by(q: Any, kernel: Any) -> Any:
        with sdpa_kernel(kernel):  # cause
            return F.scaled_dot_product_attention(q, q, q)

    for kernel in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        attended_by(ones(1, 2, 4, 8), SDPBackend.MATH if run.remedied else kernel)


@case(
    "pytorch#141034", "why-failed",
    cause=("ConstraintViolationError while building guards", "labels.shape[0] is 6"),
    advice="mark logits as well, which has this size as a number there; or do without mark_dynamic",
    counts=(1, 1),
)  # fmt: skip
def labels_marked_alone(run: Run) -> None:
    """What meets the labels is made of another input, which is not marked."""

    @run.compile
    def lost(logits: Any, labels: Any) -> Any:
        return F.cross_entropy(logits.float(), labels)  # cause

    logits, labels = ones(6, 3), torch.zeros(6, dtype=torch.long)
    torch._dynamo.mark_dynamic(labels, 0)
    if run.remedied:
        torch._dynamo.mark_dynamic(logits, 0)
    with contextlib.suppress(Exception):
        lost(logits, labels)


TABLE = ones(4)


@torch.library.custom_op("stepper_answers::looked_up", mutates_args=())
def looked_up(at: torch.Tensor) -> torch.Tensor:
    return TABLE[at]


@torch.library.custom_op("stepper_answers::looked_up_there", mutates_args=())
def looked_up_there(at: torch.Tensor) -> torch.Tensor:
    return TABLE[at]


@looked_up.register_fake
def _looked_up(at: Any) -> Any:
    return TABLE[at]


@looked_up_there.register_fake
def _looked_up_there(at: Any) -> Any:
    return at.new_empty(at.shape, dtype=TABLE.dtype)


@case(
    "", "why-failed",
    cause="Please convert all Tensors to FakeTensors first",
    advice="which says what stepper_answers::looked_up returns for fake tensors, computes with",
    counts=(0, 1),
)  # fmt: skip
def fake_that_looks_into_a_table(run: Run) -> None:
    @run.whole
    def shifted(at: Any) -> Any:
        if run.remedied:
            return looked_up_there(at) + 1
        return looked_up(at) + 1  # cause

    with run.failing():
        shifted(torch.tensor([1, 2]))


@case(
    "pytorch#175522", "why-failed",
    cause="Cannot access storage of BatchedTensorImpl",
    advice="what is called there does not go with torch.vmap: call it for the whole batch instead",
    counts=(0, 1),
)  # fmt: skip
def loop_that_is_mapped(run: Run) -> None:
    def increased(row: Any) -> Any:
        return while_loop(lambda r: r.sum() < 10, lambda r: (r + 1,), (row,))[0]  # cause

    def all_increased(rows: Any) -> Any:
        return while_loop(
            lambda r: (r.sum(-1) < 10).any(),
            lambda r: (torch.where(r.sum(-1, keepdim=True) < 10, r + 1, r),),
            (rows,),
        )[0]

    @run.whole
    def each_increased(rows: Any) -> Any:
        return all_increased(rows) if run.remedied else torch.vmap(increased)(rows)

    with run.failing():
        each_increased(ones(4, 3))


@case(
    "", "why-break",
    cause="Unsupported Tensor.item() call",
    advice="a slice takes its bounds as numbers: pick by a mask, which keeps the size (torch.where",
    counts=(0, 1),
)  # fmt: skip
def cut_where_a_tensor_says(run: Run) -> None:
    @run.compile
    def cut_there(x: Any, many: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            return torch.where(torch.arange(8) < many, doubled, 0.0).sum()
        return (doubled[:many] + 1).sum()  # cause

    cut_there(ones(8), torch.tensor(3))


@case(
    "", "why-break",
    cause="Attempted to inline function marked as skipped",
    advice="enter it around the call of the compiled function instead of inside",
    counts=(1, 1),
)  # fmt: skip
def kept_elsewhere_on_the_way(run: Run) -> None:
    def kept(tensor: Any) -> Any:
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks

    @run.compile
    def squared(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            return (doubled * doubled).sum()
        with torch.autograd.graph.saved_tensors_hooks(kept, kept):  # cause
            return (doubled * doubled).sum()

    x = ones(3, requires_grad=True)
    with hooks(kept, kept) if run.remedied else contextlib.nullcontext():
        squared(x)


@case(
    "", "why-recompile",
    cause="list(averages)[0].grad dies",
    advice="keep the one that there is, which backward() adds to: zero_grad(set_to_none=False)",
    counts=(2, 1),
)  # fmt: skip
def gradient_set_anew(run: Run) -> None:
    weight = nn.Parameter(ones(3))
    averages = {weight: torch.zeros(3)}

    @run.compile
    def averaged() -> None:
        for of, average in averages.items():
            average.lerp_(of.grad, 0.1)  # cause

    weight.grad = ones(3)
    for _ in range(2):
        averaged()
        if run.remedied:
            weight.grad.copy_(ones(3))
        else:
            weight.grad = None
            weight.grad = ones(3)


class Memory(nn.Module):
    kept: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.length = 0
        self.register_buffer("kept", torch.zeros(16, 4))

    def written(self, x: Any) -> None:
        self.kept[: x.shape[0]] = x
        self.length = self.length + x.shape[0]

    def compared(self, x: Any) -> Any:
        return x @ self.kept[: self.length].T  # cause


@case(
    "", "why-recompile",
    cause=(
        "self.length grows: 2, 4, 6",
        "a compiled method sets that of its self: tests/answers/swept_twentysecond.py",
    ),
    advice="torch._dynamo.config.allow_unspec_int_on_nn_module = True",
    counts=(6, 4),
    function="Memory.compared",
)  # fmt: skip
def length_that_another_method_sets(run: Run) -> None:
    with torch._dynamo.config.patch(allow_unspec_int_on_nn_module=run.remedied):
        memory = Memory()
        write, read = run.compile(memory.written), run.compile(memory.compared)
        for _ in range(3):
            write(ones(2, 4))
            read(ones(1, 4))


CALLERS: list[str] = []


@case(
    "", "why-recompile",
    cause="length of CALLERS grows: 0, 2, 4",
    advice="More is put in from call to call than that, which takes entries as well",
    counts=(3, 1),
)  # fmt: skip
def noted_by_both(run: Run) -> None:
    @run.compile
    def noted(x: Any, many: Any) -> Any:
        if run.remedied:
            return x * many
        CALLERS.append("compiled")  # cause
        return x * len(CALLERS)

    CALLERS.clear()
    for at in range(3):
        noted(ones(3), torch.tensor(at))
        CALLERS.append("program")
    CALLERS.clear()


class Begun:
    def __init__(self, *, begun: bool) -> None:
        self.begun = begun
        self.total = torch.zeros(3)


@case(
    "", "why-recompile",
    cause="state.begun changes: False, True",
    advice="state.begun is set by the compiled function itself at",
    counts=(2, 1),
    never=("Each value of",),
)  # fmt: skip
def state_begun_inside(run: Run) -> None:
    state = Begun(begun=run.remedied)

    @run.compile
    def added_up(x: Any, state: Begun) -> None:
        if not state.begun:  # cause
            state.total, state.begun = x * 1, True
        else:
            state.total = state.total + x

    for _ in range(3):
        added_up(ones(3), state)


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="needs its value to go through a tensor row by row, which is unrolled",
    counts=(3, 2),
)  # fmt: skip
def one_row_after_another(run: Run) -> None:
    @run.compile
    def summed_in_turn(x: Any) -> Any:
        if run.remedied:
            return x.sin().sum(0)
        total = torch.zeros(2)
        for row in x:  # cause
            total = total + row.sin()
        return total

    for size in (3, 4, 5):
        summed_in_turn(ones(size, 2))


@case(
    "", "why-recompile",
    cause="layer._forward_hooks changes",
    advice="A hook of layer was registered, or removed, between the calls: do that before the",
    counts=(2, 1),
)  # fmt: skip
def hook_that_is_taken_off(run: Run) -> None:
    layer = nn.Linear(4, 4)

    def doubled(module: Any, given: Any, got: Any) -> Any:
        return got * 2

    handle = layer.register_forward_hook(doubled)

    @run.compile
    def through(x: Any) -> Any:
        return layer(x)  # cause

    if run.remedied:
        handle.remove()
    through(ones(2, 4))
    handle.remove()
    through(ones(2, 4))


KINDS: Counter[str] = Counter()


@case(
    "", "why-recompile",
    cause="KINDS['a'] grows: 1, 2, 3",
    advice="The compiled function itself changes it at",
    counts=(4, 1),
)  # fmt: skip
def kinds_that_are_counted(run: Run) -> None:
    @run.compile
    def counted_by_kind(x: Any, kind: str) -> Any:
        if not run.remedied:
            KINDS[kind] += 1  # cause
        return x * 2

    KINDS.clear()
    for _ in range(4):
        counted_by_kind(ones(3), "a")
        KINDS["a"] += run.remedied
    KINDS.clear()
