"""How it is compiled: by which backend, under which stance, with which settings and options of
torch.compile, by which thread."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import UnsupportedOperatorException

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config


@case(
    "pytorch#181817", "why-recompile",
    cause=(
        "1 call ran uncompiled: counted: torch.compiler's stance is 'eager_on_recompile'",
        "count: expected 1, actual 2",
    ),
    counts=(1, 2),
    never=("each call found an entry",),
)  # fmt: skip
def stance_that_compiles_nothing(run: Run) -> None:
    @run.compile
    def counted(x: Any, count: int) -> Any:
        return x + count  # cause

    counted(ones(3), 1)
    with torch.compiler.set_stance("default" if run.remedied else "eager_on_recompile"):
        counted(ones(3), 2)


@case(
    "pytorch#114511", "why-recompile",
    cause="self.rank grows: 2, 3, 4",
    advice="Keep self.rank in a tensor (register_buffer)",
    counts=(3, 1),
    never=("allow_unspec_int_on_nn_module",),
)  # fmt: skip
def numbers_where_nothing_is_dynamic(run: Run) -> None:
    class Ranked(nn.Module):
        def __init__(self, rank: int) -> None:
            super().__init__()
            self.rank: Any = torch.tensor(rank) if run.remedied else rank

        def forward(self, x: Any) -> Any:
            return x * self.rank  # cause

    for rank in (2, 3, 4):
        run.compile(Ranked(rank), dynamic=False)(ones(2))


@case(
    "", "why-recompile",
    cause="rate changes: 0.5, 0.25, 0.125",
    advice="Hand over rate as a tensor: torch.tensor(rate)",
    counts=(3, 1),
    never=("torch.compile(dynamic=True)",),
)  # fmt: skip
def floats_that_are_specialized(run: Run) -> None:
    @run.compile
    def decayed_by(x: Any, rate: Any) -> Any:
        return x * rate  # cause

    torch._dynamo.config.specialize_float = True
    for rate in (0.5, 0.25, 0.125):
        decayed_by(ones(2), torch.tensor(rate) if run.remedied else rate)


@case(
    "", "why-recompile",
    cause="x.shape[1] grows: 64, 128, 256",
    advice="Where that is on purpose, as with sizes padded to a few, an entry for each is the",
    counts=(3, 2),
)  # fmt: skip
def padded_to_buckets(run: Run) -> None:
    def summed_up(x: Any) -> Any:
        return x.cumsum(1)  # cause

    compiled = run.compile(summed_up, dynamic=None if run.remedied else False)
    for length in (64, 128, 256):
        compiled(ones(2, length))


@case(
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="With dynamic=False, or automatic_dynamic_shapes off, each size is compiled by itself",
    counts=(3, 2),
    never=("With dynamic=False each",),
)  # fmt: skip
def sizes_where_a_setting_is_off(run: Run) -> None:
    """Which of the two it is by which nothing is dynamic, Dynamo's settings do not say."""
    config.automatic_dynamic_shapes = run.remedied

    @run.compile
    def doubled_by_itself(x: Any) -> Any:
        return x * 2  # cause

    for size in (3, 4, 5):
        doubled_by_itself(ones(size))


@case(
    "", "why-recompile",
    cause="backend changes",
    advice="with the same dynamic, mode and options each time",
    counts=(2, 1),
)  # fmt: skip
def compiled_for_both_uses(run: Run) -> None:
    """Both share the entries of one code, but not what torch.compile makes of the backend."""

    def shifted_by_its_size(x: Any) -> Any:
        return x + x.shape[0]

    trained = run.compile(shifted_by_its_size, dynamic=True if run.remedied else None)
    served = run.compile(shifted_by_its_size, dynamic=True)
    trained(ones(3))
    for size in (5, 6):
        served(ones(size))


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 3, 4",
    advice="was compiled with dynamic=True (or assume_static_by_default off), and a number in",
    counts=(2, 1),
    never=("by itself",),
)  # fmt: skip
def sizes_as_symbols_at_last(run: Run) -> None:
    @run.compile
    def shifted(x: Any) -> Any:
        return x + x.shape[0]  # cause

    with torch._dynamo.config.patch(assume_static_by_default=not run.remedied):
        shifted(ones(3))
    with torch._dynamo.config.patch(assume_static_by_default=False):
        shifted(ones(4))


@case(
    "", "why-recompile",
    cause="times changes: 2, 4",
    advice="was compiled with dynamic=True (or assume_static_by_default off), and a number in",
    counts=(2, 1),
    never=("by itself",),
)  # fmt: skip
def numbers_as_symbols_in_the_end(run: Run) -> None:
    @run.compile
    def multiplied(x: Any, times: int) -> Any:
        return x * times  # cause

    with torch._dynamo.config.patch(assume_static_by_default=not run.remedied):
        multiplied(ones(3), 2)
    with torch._dynamo.config.patch(assume_static_by_default=False):
        multiplied(ones(3), 4)


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
    "", "why-recompile",
    cause="x.shape[0] grows: 3, 4, 5",
    advice="With dynamic=False, or automatic_dynamic_shapes off, each size is compiled by itself",
    counts=(3, 1),
)  # fmt: skip
def static_in_torch_compile(run: Run) -> None:
    def plus_one(x: Any) -> Any:
        return x + 1  # cause

    compiled = run.compile(plus_one, dynamic=None if run.remedied else False)
    for size in (3, 4, 5):
        x = ones(size)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        compiled(x)


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
    "", "why-break",
    cause="Backend compiler exception",
    advice="try backend='aot_eager' to see which part",
    counts=(0, 1),
)  # fmt: skip
def backend_without_an_operator(run: Run) -> None:
    def backend(graph: Any, example_inputs: Any) -> Any:
        if run.remedied:
            return run(graph, example_inputs)
        raise UnsupportedOperatorException(torch.ops.aten.mul.Tensor)

    @torch.compile(backend=backend)
    def doubled(x: Any) -> Any:
        return x * 2  # cause

    doubled(ones(4))


@case(
    "", "why-failed",
    cause=("BackendCompilerFailed in the backend", "did not return callable"),
    advice="let the backend return what runs the graph: gm.forward",
    counts=(0, 1),
)  # fmt: skip
def backend_that_returns_nothing(run: Run) -> None:
    def noted(graph: Any, inputs: Any) -> Any:
        return run(graph, inputs) if run.remedied else None

    @torch.compile(backend=noted)
    def doubled(x: Any) -> Any:
        return x * 2

    with run.failing():
        doubled(ones(2))


@case(
    "pytorch#167927", "why-failed",
    cause=("Unsupported while tracing", "torch.compiler.disable"),
    advice="remove torch.compiler.disable",
    counts=(0, 1),
)  # fmt: skip
def disabled_in_one_graph(run: Run) -> None:
    def helper(x: Any) -> Any:
        return x + 1

    off = helper if run.remedied else torch.compiler.disable(helper)

    @run.whole
    def calls(x: Any) -> Any:
        x = x * 2
        return off(x) * 3  # cause

    with contextlib.suppress(Exception):
        calls(ones(2))


@case(
    "", "why-failed",
    cause=("no lowering for cos", "for the node cos", "in the backend"),
    counts=(0, 1),
    never=("is not recorded",),
)  # fmt: skip
def backend_that_knows_no_cosine(run: Run) -> None:
    def lowered(graph: Any, example_inputs: Any) -> Any:
        for node in graph.graph.nodes:
            if node.op == "call_method" or getattr(node.target, "__name__", "") == "cos":
                raise NotImplementedError(f"no lowering for {node.target.__name__}")
        return run(graph, example_inputs)

    @torch.compile(backend=lowered)
    def waves(x: Any) -> Any:
        y = torch.sin(x)
        return y if run.remedied else torch.cos(y)  # cause

    with run.failing():
        waves(ones(3))
