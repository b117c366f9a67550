"""Programs for what was wrong in answers about users' reports that nobody had asked stepper about:
backends that begin with AOTAutograd, threads that compile, keys
by their places, operators that are given functions."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from typing import Any

import torch
from torch._higher_order_ops.scan import scan

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "pytorch#165751", "why-break",
    cause="Backend compiler exception",
    advice="AOTAutograd, which aot_eager begins with, cannot trace aten._standard_gamma_grad",
    counts=(0, 1),
    never=("try backend='aot_eager'",),
)  # fmt: skip
def gamma_whose_gradient_is_needed(run: Run) -> None:
    class Rates(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoded = torch.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            rate = self.encoded(x).exp()
            return torch.distributions.Gamma(rate, rate).rsample()  # cause

    backend = run if run.remedied else "aot_eager"
    rates = torch.compile(Rates(), backend=backend, dynamic=True)
    rates(ones(2, 3))


@case(
    "pytorch#123177", "why-recompile",
    cause=(
        "another thread made an entry that fits, while this call was on its way  (1 of 1)",
        "nothing was found to fail: when the compiler looked, all its guards held",
    ),
    advice="Threads call it at one time, and each compiles what another has under way",
    counts=(2, 1),
    never=("does not hold", "Please open an issue"),
)  # fmt: skip
def called_by_two_threads(run: Run) -> None:
    other: list[threading.Thread] = []

    def waits(thread: threading.Thread) -> bool:
        """Whether a call has come to Dynamo's lock, which the compilation under way holds."""
        frame = sys._current_frames().get(thread.ident or 0)
        return frame is not None and frame.f_code.co_filename.endswith("convert_frame.py")

    def backend(graph: Any, example_inputs: Any) -> Any:
        if not other:
            other.append(threading.Thread(target=served, args=(ones(3),)))
            if not run.remedied:
                other[0].start()
                while not waits(other[0]):
                    time.sleep(0.01)
        return run(graph, example_inputs)

    @functools.partial(torch.compile, backend=backend)
    def served(x: Any) -> Any:
        return x * 2

    served(ones(3))
    if run.remedied:
        other[0].start()
    other[0].join()


@case(
    "pytorch#151122", "why-recompile",
    cause="list(users)[0] changes: 10, 20",
    advice="The keys and their order are constants of the graph: hand over users always with the",
    counts=(2, 1),
    never=("dict.keys(users)",),
)  # fmt: skip
def features_of_each_user(run: Run) -> None:
    @run.compile
    def summed_features(users: dict[int, Any]) -> Any:
        total = ones(3)
        for value in users.values():  # cause
            total = total if value is None else total + value
        return total

    for user in (10, 10 if run.remedied else 20):
        summed_features({user: ones(3)})


@case(
    "", "is-guarded", expression="list(columns)[1]",
    cause="list(columns)[1] is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def second_of_the_keys(run: Run) -> None:
    @run.compile
    def summed_columns(columns: dict[int, Any], x: Any) -> Any:
        for value in columns.values():
            x = x + value
        return x

    for key in (2, 2 if run.remedied else 3):
        summed_columns({1: ones(3), key: ones(3)}, ones(3))


@case(
    "", "is-guarded", expression="list(rows)[1].dtype",
    cause="list(rows)[1].dtype is guarded: it must be float32",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def second_of_the_rows(run: Run) -> None:
    @run.compile
    def added_rows(rows: list[Any]) -> Any:
        return rows[0] + rows[1]

    for dtype in (torch.float32, torch.float32 if run.remedied else torch.float64):
        added_rows([ones(3), ones(3, dtype=dtype)])


@case(
    "pytorch#158566", "why-failed",
    cause=(
        "UncapturedHigherOrderOpError while tracing", "traced last: ",
        "carried: return state, state.clone() if run.remedied else state",
    ),
    advice="return what is new: where a function returns what it was given",
    counts=(0, 1),
)  # fmt: skip
def state_that_is_returned_twice(run: Run) -> None:
    def carried(state: Any, row: Any) -> Any:
        state = state + row
        return state, state.clone() if run.remedied else state

    @run.compile
    def accumulated(rows: Any) -> Any:
        return scan(carried, torch.zeros(3), rows, dim=0)  # cause

    with contextlib.suppress(Exception):
        accumulated(ones(2, 3))


@case(
    "pytorch#183017", "why-failed",
    cause=(
        "UncapturedHigherOrderOpError while tracing", "traced last: ",
        "halved: return at + 1, y / 2 if run.remedied else y.to(torch.float64) / 2",
    ),
    advice="let the function return what it is given",
    counts=(0, 1),
)  # fmt: skip
def halved_in_more_bits(run: Run) -> None:
    def more(at: Any, y: Any) -> Any:
        return at < 3

    def halved(at: Any, y: Any) -> Any:
        return at + 1, y / 2 if run.remedied else y.to(torch.float64) / 2

    @run.compile
    def solved(x: Any) -> Any:
        loop = torch._higher_order_ops.while_loop
        return loop(more, halved, (torch.tensor(0), x))  # cause

    with contextlib.suppress(Exception):
        solved(ones(3))


@case(
    "", "is-guarded", expression="hyper.momentun",
    cause=(
        "hyper.momentun is not guarded itself",
        "whether hyper has an attribute momentun is not recorded: no function of the program's",
    ),
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def attribute_that_is_misspelled(run: Run) -> None:
    class Hyper:
        def __init__(self) -> None:
            self.rate = 0.1
            self.momentum = 0.9

    @run.compile
    def stepped_by(x: Any, hyper: Any) -> Any:
        return x * hyper.rate

    hyper = Hyper()
    stepped_by(ones(3), hyper)
    hyper.momentum = 0.9 if run.remedied else 0.8
    stepped_by(ones(3), hyper)


@case(
    "", "is-guarded", expression="plan['height']",
    cause=(
        "plan['height'] was not there when this was compiled, and no guard looks at that",
        "plan has no such key: its keys are 'depth', 'width'",
    ),
    counts=(1, 1),
    never=("is guarded", "not guarded itself"),
)  # fmt: skip
def key_that_comes_later(run: Run) -> None:
    @run.compile
    def planned_as(x: Any, plan: Any) -> Any:
        return x * plan["depth"]

    planned_as(ones(3), {"depth": 2, "width": 3})
    more = {} if run.remedied else {"height": 5}
    planned_as(ones(3), {"depth": 2, "width": 3, **more})


@case(
    "", "why-failed",
    cause=("in AOTAutograd", "the operator that it names is at the node copied"),
    advice="register its gradient: torch.library.register_autograd",
    counts=(0, 1),
    never=("in the backend", "which node of the graph is to blame", "is not recorded"),
)  # fmt: skip
def operator_without_a_derivative(run: Run) -> None:
    @torch.library.custom_op("tests_swept::copied", mutates_args=())
    def copied(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @copied.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    if run.remedied:
        copied.register_autograd(lambda ctx, grad: grad)
    backend = run.traced_again if run.remedied else "aot_eager"

    @torch.compile(backend=backend)
    def copied_twice(x: Any) -> Any:
        return copied(x) * 2  # cause

    with contextlib.suppress(Exception):
        copied_twice(ones(3, requires_grad=True))


@case(
    "", "why-failed",
    cause=("in AOTAutograd", "AOTAutograd itself raised it, in ", "no node of the graph was being"),
    counts=(0, 1),
    never=("which node of the graph is to blame",),
)  # fmt: skip
def two_views_of_what_has_a_gradient(run: Run) -> None:
    backend = run if run.remedied else "aot_eager"

    @torch.compile(backend=backend)
    def written_to_both(left: Any, right: Any) -> Any:
        left.mul_(2)
        right.add_(1)
        return left + right

    whole = ones(4, requires_grad=True) * 1
    with contextlib.suppress(Exception):
        written_to_both(whole[:3], whole[1:])


@case(
    "", "why-shape", expression="padding",
    cause="nothing that was traced asks what padding is: none of it is required",
    counts=(1, 1),
    never=("nothing is recorded about", "a number, at"),
)  # fmt: skip
def number_that_is_not_used(run: Run) -> None:
    @run.compile
    def padded_by_nothing(x: Any, padding: int) -> Any:
        return x * 2

    padded_by_nothing(ones(3), 4)
    padded_by_nothing(ones(3), 4 if run.remedied else 5)


@case(
    "", "why-shape", expression="spare.shape[0]",
    cause=(
        "nothing that was traced asks what spare is until the frame was given up (why-break says "
        "why): none of it is required"
    ),
    counts=(0, 1),
    never=("nothing is recorded about",),
)  # fmt: skip
def spare_rows_of_what_is_given_up(run: Run) -> None:
    @run.compile
    def summed_with_spare(x: Any, spare: Any) -> Any:
        for _ in range(2):
            x = x + 1
            if not run.remedied:
                torch._dynamo.graph_break()
        return x

    summed_with_spare(ones(3), ones(5))
