"""Numbers out of tensors (item(), tolist(), int()) that can be symbols of the graph, with
capture_scalar_outputs, or stay in tensors."""

from __future__ import annotations

import logging
import math
import types
from typing import Any

import torch
from torch import zeros

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="torch._dynamo.config.capture_scalar_outputs = True",
    counts=(1, 1),
    never=("no setting helps",),
)  # fmt: skip
def summed_over_what_is_handed_over(run: Run) -> None:
    @run.compile
    def along_that(x: Any, dim: Any) -> Any:
        return (x * 2).sum(dim=dim.item()) + 1  # cause

    with torch._dynamo.config.patch(capture_scalar_outputs=run.remedied):
        along_that(ones(2, 2), torch.tensor(1))


@case(
    "pytorch#145970", "why-break",
    cause="aten.equal.default",
    advice="(a == b).all()",
    counts=(2, 1),
    never=("capture_scalar_outputs",),
)  # fmt: skip
def compared_as_a_whole(run: Run) -> None:
    """capture_scalar_outputs does nothing for an operator that returns a Python value itself."""
    known = ones(2)

    @run.compile
    def marked(x: Any) -> Any:
        x = x * 2
        same = (x == known).all() if run.remedied else torch.equal(x, known)  # cause
        return x + same

    marked(ones(2))


@case(
    "prime-rl#996", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="capture_scalar_outputs = True",
    counts=(1, 1),
)  # fmt: skip
def tokens_of_each_expert(run: Run) -> None:
    config.capture_scalar_outputs = run.remedied

    @run.compile
    def routed(x: Any, counts: Any) -> Any:
        sizes = counts.tolist()  # cause
        parts = torch.split(x, sizes)
        return torch.cat([part * 2 for part in parts])

    routed(ones(6, 2), torch.tensor([2, 4]))
    config.capture_scalar_outputs = False


@case(
    "torchdynamo#739", "why-break",
    cause="Tensor.item()",
    advice="capture_scalar_outputs = True",
    counts=(1, 1),
)  # fmt: skip
def sliced_by_a_tensor(run: Run) -> None:
    config.capture_scalar_outputs = run.remedied

    @run.compile
    def rest(x: Any, where: Any) -> Any:
        x = x * 2
        first = where[0]
        return x[first:] + 1  # cause

    rest(ones(8), torch.tensor([1, 2]))
    config.capture_scalar_outputs = False


@case(
    "pytorch#167266", "why-break",
    cause="Tensor.item()",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
)  # fmt: skip
def whether_all_are_zero(run: Run) -> None:
    config.capture_scalar_outputs = run.remedied

    @run.compile
    def shifted(x: Any, mask: Any) -> Any:
        x = x * 2
        causal = bool((mask == 0).all())  # cause
        return x + causal

    shifted(ones(2), torch.zeros(2))
    config.capture_scalar_outputs = False


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="keep the value a tensor; or, where the program decides nothing by it",
    counts=(2, 1),
    never=("Python finds an element", "Python sorts"),
)  # fmt: skip
def row_found_by_an_item(run: Run) -> None:
    """A tensor has an element at a symbol."""
    torch._dynamo.config.capture_scalar_outputs = run.remedied

    @run.compile
    def row_of(x: Any, rows: Any) -> Any:
        return x * rows[x.argmax().item()]  # cause

    row_of(torch.arange(3.0), ones(3, 3))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="keep the value a tensor; or, where the program decides nothing by it",
    counts=(3, 1),
    never=("Python finds an element", "Python sorts"),
)  # fmt: skip
def items_of_a_map(run: Run) -> None:
    """A function that only says what to make of each is no order."""
    torch._dynamo.config.capture_scalar_outputs = run.remedied

    @run.compile
    def totalled(rows: Any) -> Any:
        return ones(2) * sum(map(lambda row: row.sum().item(), rows))  # noqa: C417  # cause

    totalled([ones(2), zeros(2)])


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="Python itself takes the number, which is data (print()), and no setting helps",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def loss_that_is_printed(run: Run) -> None:
    """With the setting it breaks at print(), which cannot wait with a symbol."""

    @run.compile
    def stepped(x: Any) -> Any:
        loss = (x * 2).mean()
        if not run.remedied:
            print("loss", loss.item())  # cause
        return loss * 3, loss

    _, loss = stepped(ones(3))
    print(loss.item())


LOG = logging.getLogger(__name__)


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="torch._dynamo.config.capture_scalar_outputs = True alone only moves the break to",
    counts=(2, 1),
    never=("change: keep the value a tensor; or",),
)  # fmt: skip
def loss_that_is_logged(run: Run) -> None:
    """The next break is at the same line, with nothing between them."""

    @run.compile
    def trained(x: Any) -> Any:
        loss = (x * 2).mean()
        if not run.remedied:
            LOG.info("loss %s", loss.item())  # cause
        return loss * 3, loss

    _, loss = trained(ones(3))
    LOG.info("loss %s", loss.item())


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="keep the value a tensor; or, where the program decides nothing by it",
    counts=(3, 2),
    never=("only moves the break",),
)  # fmt: skip
def computed_before_it_is_printed(run: Run) -> None:
    """A graph lies between the two breaks."""
    if run.remedied:
        config.capture_scalar_outputs = True

    @run.compile
    def counted(x: Any) -> Any:
        number = (x * 2).sum().int().item()  # cause
        times = x * number
        print("here")
        return times + number

    counted(ones(3))


F = types.ModuleType("of_the_programs_own")


exec("def topk(x, times):\n    return x * times\n", vars(F))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="keep the value a tensor; or, where the program decides nothing by it",
    counts=(2, 1),
    never=("of torch",),
)  # fmt: skip
def handed_to_an_own_function(run: Run) -> None:
    """It has the name of one of torch's, in a module that has another's."""
    if run.remedied:
        config.capture_scalar_outputs = True

    @run.compile
    def multiplied(x: Any) -> Any:
        times = (x * 2).sum().int().item()  # cause
        return F.topk(x, times) + 1

    multiplied(ones(3))


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


@case(
    "", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
)  # fmt: skip
def sizes_of_a_split(run: Run) -> None:
    @run.compile
    def parts(x: Any) -> Any:
        x = x * 2
        sizes = x[:2].int().tolist()  # cause
        first, _ = torch.split(x, sizes)
        return first.sum()

    with config.patch(capture_scalar_outputs=run.remedied):
        parts(ones(4))


@case(
    "", "why-break",
    cause="Tensor.tolist() with non-integer tensor",
    advice="keep the values a tensor",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def list_of_floats(run: Run) -> None:
    @run.compile
    def shifted(x: Any) -> Any:
        x = x * 2
        first = x[0] if run.remedied else x.tolist()[0]  # cause
        return x + first

    shifted(ones(4))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
    never=("decide on tensors",),
)  # fmt: skip
def length_of_items(run: Run) -> None:
    @run.compile
    def counted(x: Any) -> Any:
        x = x * 2
        return x + len([each.item() for each in x])  # cause

    with config.patch(capture_scalar_outputs=run.remedied):
        counted(ones(4))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="capture_scalar_outputs = True",
    counts=(2, 1),
    never=("instead of that of math",),
)  # fmt: skip
def square_root_of_an_item(run: Run) -> None:
    """It is the number that breaks, and not the function of math."""

    @run.compile
    def scaled(x: Any) -> Any:
        x = x * 2
        return x / math.sqrt(x.sum().item())  # cause

    with config.patch(capture_scalar_outputs=run.remedied):
        scaled(ones(4))


@case(
    "", "why-break",
    cause=("Data dependent operator", "aten._local_scalar_dense"),
    advice="an index that is a tensor without dimensions is read as a number: take index_select",
    counts=(2, 1),
    never=("change: an index that is a tensor without dimensions is read as a number: take "
           "index_select(0, index), or keep a dimension in the index, [:1] in place of [0]; or",),
)  # fmt: skip
def index_without_dimensions(run: Run) -> None:
    """As in non-maximum suppression, and in the schedulers of diffusion models."""

    @run.compile
    def best(boxes: Any, order: Any) -> Any:
        first = order[0]
        if run.remedied:
            return boxes.index_select(0, first) * 2
        return boxes[first] * 2  # cause

    best(ones(6, 4), torch.arange(6))
