"""Programs that decide by what a tensor holds: branches, loops, assertions and what is sorted."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="any() decides by each of its tensors: have them in one, with torch.stack",
    counts=(2, 1),
    never=("the line is a library's",),
)  # fmt: skip
def any_of_several(run: Run) -> None:
    """Dynamo has a function of its own for any(), in which it breaks."""

    @run.compile
    def summed(xs: Any) -> Any:
        if run.remedied:
            lost = torch.stack([x.isnan().any() for x in xs]).any()
            return torch.where(lost, xs[0] * 0, xs[0] + xs[1])
        if any([x.isnan().any() for x in xs]):  # noqa: C419  # cause
            return xs[0] * 0
        return xs[0] + xs[1]

    summed([ones(2), ones(2)])


@case(
    "pytorch#180406", "why-break",
    cause="Data-dependent branching",
    advice="torch.where",
    counts=(3, 1),
    never=("_assert_async",),
)  # fmt: skip
def clamped_where_not_finite(run: Run) -> None:
    @run.compile
    def clamped(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where(torch.isfinite(x), x, x.clamp(-1, 1)) + 1
        if x.isinf().any() or x.isnan().any():  # cause
            x = x.clamp(-1, 1)
        return x + 1

    clamped(ones(2))


@case(
    "pytorch#94626", "why-break",
    cause="aten._local_scalar_dense.default",
    advice="torch.logical_not",
    counts=(1, 1),
    never=("capture_scalar_outputs",),
)  # fmt: skip
def negated_tensor(run: Run) -> None:
    """capture_scalar_outputs does not help: then `not` returns no tensor, which is a break, too."""

    @run.compile
    def marked(x: Any) -> Any:
        x = x * 2
        found = (x > 3).any()
        return x + (torch.logical_not(found) if run.remedied else (not found))  # cause

    marked(ones(2))


@case(
    "pytorch#108904", "why-break",
    cause="Tensor.item()",
    advice="decide on tensors with torch.where",
    counts=(0, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def value_among_those_of_a_tensor(run: Run) -> None:
    @run.compile
    def ended(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where((x == 3).any(), x + 1, x)
        if 3 in x:  # cause
            return x + 1
        return x

    ended(ones(2))


@case(
    "pytorch#106821", "why-break",
    cause="Data-dependent branching",
    advice="torch.where",
    counts=(2, 1),
)  # fmt: skip
def named_in_its_condition(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        if run.remedied:
            result = x.to(torch.bool).any()
            return torch.where(result, result * 2, result)
        if result := x.to(torch.bool).any():  # cause
            result = result * 2
        return result

    doubled(torch.tensor([[0, 1]]))


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="how often the loop runs depends on data: compile one round of it",
    counts=(1, 1),
    never=("torch.cond",),
    function="next_tokens",
)  # fmt: skip
def stopped_at_the_last_token(run: Run) -> None:
    """`generate()`: with torch.where the loop would not end."""
    table = torch.eye(4).roll(1, 1)

    def next_token(token: Any) -> Any:
        return table[token].argmax(-1)

    def next_tokens(token: Any) -> Any:
        for _ in range(8):
            token = compiled(token)
            if (token == 3).all():  # cause
                break
        return token

    compiled = run.compile(next_token) if run.remedied else next_token
    (next_tokens if run.remedied else run.compile(next_tokens))(torch.tensor([1]))


@case(
    "", "why-break",
    cause=("invalid call to builtin op handler", "TypeError when trying to handle op max"),
    advice="write out in a loop what the builtin does, or use torch functions",
    counts=(1, 1),
)  # fmt: skip
def largest_by_a_key(run: Run) -> None:
    @run.compile
    def largest(xs: Any) -> Any:
        if run.remedied:
            return torch.where(xs[0].sum() > xs[1].sum(), *xs)
        return max(xs, key=lambda x: x.sum())  # cause

    largest([ones(2), ones(2) * 2])


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="put the check into the graph: torch._assert_async(condition, message)",
    counts=(2, 1),
    never=("capture_scalar_outputs = True, which",),
)  # fmt: skip
def asserted_not_to_be_nan(run: Run) -> None:
    """With the setting it breaks at `not`."""

    @run.compile
    def doubled_if_finite(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            torch._assert_async(doubled.isnan().logical_not().all(), "nan")
        else:
            assert not doubled.isnan().any().item(), "nan"  # cause
        return doubled + 1

    doubled_if_finite(ones(2))


@case(
    "", "why-break",
    cause="capture_scalar_outputs=False",
    advice="put the check into the graph: torch._assert_async(condition, message)",
    counts=(2, 1),
    never=("capture_scalar_outputs = True, which", "torch.cond"),
)  # fmt: skip
def raised_on_the_worst(run: Run) -> None:
    """With the setting it breaks where the program decides whether to raise."""

    @run.compile
    def doubled_if_small(x: Any) -> Any:
        doubled = x * 2
        if run.remedied:
            torch._assert_async(doubled.max() <= 5, "too large")
            return doubled + 1
        worst = doubled.max().item()  # cause
        if worst > 5:
            raise ValueError("too large")
        return doubled + 1

    doubled_if_small(ones(2))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="the program decides by what comes of this, which is data",
    counts=(0, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def truth_of_an_object(run: Run) -> None:
    """Python asks the object, and that the tensor."""

    class Flag:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __bool__(self) -> bool:
            return bool(self.tensor.sum() > 0)  # cause

    @run.compile
    def doubled_if_flagged(x: Any) -> Any:
        if run.remedied:
            return torch.where(x.sum() > 0, x * 2, x - 1)
        if Flag(x):
            return x * 2
        return x - 1

    doubled_if_flagged(ones(3))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="the program decides by what comes of this, which is data",
    counts=(3, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def decided_by_who_calls(run: Run) -> None:
    def how_many(mask: Any) -> Any:
        return mask.sum().item()  # cause

    @run.compile
    def doubled_if_any(x: Any) -> Any:
        if run.remedied:
            return torch.where((x > 0).any(), x * 2, x)
        count = how_many(x > 0)
        return x if count == 0 else x * 2

    doubled_if_any(ones(3))


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="torch._assert_async",
    counts=(2, 1),
    never=("torch.where", "torch.cond for two"),
)  # fmt: skip
def raised_on_data(run: Run) -> None:
    @run.compile
    def checked(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            torch._assert_async(~x.isnan().any(), "not a number")
        elif x.isnan().any():  # cause
            raise ValueError(f"{x} is not a number")
        return x + 1

    checked(ones(4))


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="torch._assert_async",
    counts=(2, 1),
    never=("torch.cond for two",),
)  # fmt: skip
def asserted_on_data(run: Run) -> None:
    @run.compile
    def checked(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            torch._assert_async(x.sum() > 0, "it must be positive")
        else:
            assert x.sum() > 0, f"{x.sum()} must be positive"  # cause
        return x + 1

    checked(ones(4))


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="decide on tensors with torch.where",
    counts=(2, 1),
    never=("_assert_async",),
)  # fmt: skip
def decided_and_then_raised(run: Run) -> None:
    """It raises, too, but decides before that."""

    @run.compile
    def chosen(x: Any, name: str) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where(x.sum() > 0, x + 1, x - 1)
        if x.sum() > 0:  # cause
            x = x + 1
            if name == "":
                raise ValueError(name)
            return x
        return x - 1

    chosen(ones(4), "a")


@case(
    "", "why-break",
    cause="Data-dependent branching",
    advice="how often the loop runs depends on data",
    counts=(3, 1),
    never=("torch.cond for two",),
)  # fmt: skip
def loop_until_large(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        if run.remedied:
            for _ in range(8):
                x = torch.where(x.sum() < 100, x * 2, x)
            return x + 1
        while x.sum() < 100:  # cause
            x = x * 2
        return x + 1

    doubled(ones(4))


@case(
    "", "why-break",
    cause="Tensor.item()",
    advice="decide on tensors with torch.where",
    counts=(2, 1),
    never=("capture_scalar_outputs = True",),
)  # fmt: skip
def branch_on_an_item(run: Run) -> None:
    """As a symbol the number breaks at the branch, too."""

    @run.compile
    def clipped(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return torch.where(x.sum() > 0, x + 1, x)
        if x.sum().item() > 0:  # cause
            return x + 1
        return x

    clipped(ones(4))


@case(
    "", "why-break",
    cause="sort with non-constant keys",
    advice="torch.sort",
    counts=(2, 1),
)  # fmt: skip
def sorted_tensors(run: Run) -> None:
    @run.compile
    def smallest(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + torch.sort(x[:2]).values[0]
        return x + sorted([x[0], x[1]])[0]  # cause

    smallest(ones(4))


@case(
    "", "why-break", cause="Data-dependent branching",
    advice="decide on tensors with torch.where",
    counts=(0, 1),
    never=("_assert_async",),
)  # fmt: skip
def raised_and_caught(run: Run) -> None:
    @run.compile
    def clipped(x: Any) -> Any:
        if run.remedied:
            return torch.where(x.sum() > 0, x * 2, x.relu())
        try:
            if x.sum() > 0:  # cause
                raise ValueError
        except ValueError:
            return x * 2
        return x.relu()

    clipped(ones(2))


@case(
    "pytorch#145970", "why-failed",
    cause=("Unsupported while tracing", "aten.equal.default"),
    advice="torch.where",
    counts=(0, 1),
    never=("capture_scalar_outputs",),
)  # fmt: skip
def branch_on_equality(run: Run) -> None:
    known = ones(2)

    @run.whole
    def squared_if_known(x: Any) -> Any:
        if run.remedied:
            return torch.where((x == known).all(), x * x, x)
        if torch.equal(x, known):  # cause
            return x * x
        return x

    with contextlib.suppress(Exception):
        squared_if_known(ones(2))
