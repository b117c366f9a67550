"""Programs whose graphs break at what Python, its library or a package does beside the tensors."""

from __future__ import annotations

import array
import contextlib
import datetime
import gc
import io
import json
import logging
import pathlib
import random
import threading
import time
import uuid
import warnings
from typing import Any

import msgspec
import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones
config = torch._dynamo.config
lock = threading.Lock()


@torch.compiler.disable
def warn(x: Any) -> Any:
    """The program's own, of the name of one of Python's."""
    return x + 1


@case(
    "", "why-break",
    cause="builtin operator `print`",
    advice="print outside of the compiled function",
    counts=(2, 1),
    never=("reorderable_logging_functions.add",),
)  # fmt: skip
def printed_size(run: Run) -> None:
    """Dynamo cannot leave the shape for later."""

    @run.compile
    def chatty(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            print("the size is", x.shape)  # cause
        return x + 1

    chatty(ones(2))


@case(
    "", "why-break",
    cause=("builtin operator `print`", "then graph break in loop"),
    advice="reorderable_logging_functions.add(print)",
    counts=(0, 1),
)  # fmt: skip
def printed_in_a_loop(run: Run) -> None:
    @run.compile
    def steps(x: Any) -> Any:
        for step in range(3):
            x = x * 2
            print(step)  # cause
        return x

    if run.remedied:
        config.reorderable_logging_functions.add(print)
    steps(ones(2))
    config.reorderable_logging_functions.discard(print)


@case(
    "", "why-break",
    cause="builtin operator `print`",
    advice="reorderable_logging_functions.add(print)",
    counts=(0, 1),
)  # fmt: skip
def printed_in_try(run: Run) -> None:
    @run.compile
    def guarded(x: Any) -> Any:
        x = x * 2
        try:
            print("trying")  # cause
            x = x + 1
        except ValueError:
            pass
        return x * 3

    if run.remedied:
        config.reorderable_logging_functions.add(print)
    guarded(ones(2))
    config.reorderable_logging_functions.discard(print)


@case(
    "", "why-break",
    cause="torch.compiler.disable",
    advice="remove torch.compiler.disable",
    counts=(2, 1),
    never=("reorderable_logging_functions",),
)  # fmt: skip
def own_function_named_warn(run: Run) -> None:
    used = warn.__wrapped__ if run.remedied else warn  # type: ignore[attr-defined]

    @run.compile
    def warned(x: Any) -> Any:
        x = x * 2
        x = used(x)  # cause
        return x * 3

    warned(ones(2))


@case(
    "", "why-break",
    cause="builtin operator `bytes`",
    advice="call bytes outside of the compiled function",
    counts=(2, 1),
)  # fmt: skip
def bytes_of_an_array(run: Run) -> None:
    @run.compile
    def size(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + x.nbytes
        return x + len(bytes(x.numpy()))  # cause

    size(ones(2))


@case(
    "", "why-break",
    cause="Tensor.uniform_ op called with `from` keyword",
    advice="pass the bounds by position",
    counts=(2, 1),
    never=("outside of the compiled function",),
)  # fmt: skip
def keyword_of_uniform(run: Run) -> None:
    @run.compile
    def noisy(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            x.uniform_(0.0)
        else:
            x.uniform_(**{"from": 0.0})  # cause
        return x + 1

    noisy(ones(2))


@case(
    "", "why-break",
    cause="time.perf_counter",
    advice="measure around the call",
    counts=(2, 1),
    never=("custom_op", "allow_in_graph may do"),
)  # fmt: skip
def performance_counter(run: Run) -> None:
    @run.compile
    def timed(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            time.perf_counter()  # cause
        return x + 1

    timed(ones(2))


@case(
    "", "why-break",
    cause="method `now`",
    advice="call the method outside",
    counts=(2, 1),
    never=("measure around",),
)  # fmt: skip
def date(run: Run) -> None:
    @run.compile
    def dated(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            datetime.datetime.now()  # cause
        return x + 1

    dated(ones(2))


@case(
    "", "why-break",
    cause=("posix.urandom", "called by tests/answers/breaks_in_python.py"),
    advice="the line is a library's: take what `uuid.uuid4()` calls out of the compiled function",
    counts=(2, 1),
    never=("custom_op",),
)  # fmt: skip
def unique_id(run: Run) -> None:
    @run.compile
    def named(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            uuid.uuid4()
        return x + 1

    named(ones(2))


@case(
    "", "why-break",
    cause=("Scanner", "called by tests/answers/breaks_in_python.py"),
    advice="the line is a library's: take what `scale = ",
    counts=(2, 1),
    never=("call the method outside",),
)  # fmt: skip
def parsed_json(run: Run) -> None:
    @run.compile
    def scaled(x: Any) -> Any:
        x = x * 2
        scale = 2 if run.remedied else json.loads("2")
        return x * scale

    scaled(ones(2))


@case(
    "", "why-break",
    cause=("posix.stat", "called by tests/answers/breaks_in_python.py"),
    advice="the line is a library's",
    counts=(0, 1),
)  # fmt: skip
def path_exists(run: Run) -> None:
    there = pathlib.Path(__file__).exists()

    @run.compile
    def loaded(x: Any) -> Any:
        x = x * 2
        return x + (there if run.remedied else pathlib.Path(__file__).exists())

    loaded(ones(2))


@case(
    "", "why-break",
    cause=("__init__.py:", "called by tests/answers/breaks_in_python.py"),
    advice="the line is a library's: take what `logging.info(\"here\")` calls out",
    counts=(2, 1),
)  # fmt: skip
def logging_of_the_module(run: Run) -> None:
    @run.compile
    def told(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            logging.info("here")
        return x + 1

    told(ones(2))


@case(
    "", "why-break",
    cause="`torch.nn.Parameter()` constructor",
    advice="make parameters and modules before the compiled function",
    counts=(2, 1),
    never=("the line is a library's",),
)  # fmt: skip
def module_made_inside(run: Run) -> None:
    outside = nn.Linear(2, 2)

    @run.compile
    def projected(x: Any) -> Any:
        x = x * 2
        layer = outside if run.remedied else nn.Linear(2, 2)
        return layer(x) + 1

    projected(ones(2))


@case(
    "", "why-break",
    cause="gc.collect",
    advice="call it before or after the compiled function",
    counts=(2, 1),
    never=("custom_op", "allow_in_graph may do"),
)  # fmt: skip
def collected_garbage(run: Run) -> None:
    @run.compile
    def tidy(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            gc.collect()  # cause
        return x + 1

    tidy(ones(2))


@case(
    "pytorch#101154", "why-break",
    cause="manual_seed",
    advice="call it before or after the compiled function",
    counts=(2, 1),
    never=("custom_op", "allow_in_graph may do"),
)  # fmt: skip
def seeded_inside(run: Run) -> None:
    dropout = nn.Dropout()

    @run.compile
    def noisy(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            torch.manual_seed(0)  # cause
        return dropout(x)

    noisy(ones(2))


@case(
    "pytorch#145446", "why-break",
    cause="Random.random",
    advice="call it before or after the compiled function",
    counts=(2, 1),
    never=("custom_op",),
)  # fmt: skip
def random_number(run: Run) -> None:
    @run.compile
    def noisy(x: Any, number: float) -> Any:
        x = x * 2
        return x + (number if run.remedied else random.random())  # cause

    noisy(ones(2), random.random())


@case(
    "", "why-break",
    cause="msgspec._core.json_encode",
    advice="wrap your own C or CUDA code as a custom operator",
    counts=(2, 1),
)  # fmt: skip
def package_in_c(run: Run) -> None:
    @run.compile
    def sized(x: Any) -> Any:
        x = x * 2
        size = 3 if run.remedied else len(msgspec.json.encode([1]))  # cause
        return x + size

    sized(ones(2))


@case(
    "", "why-break",
    cause="<class 'array.array'>",
    advice="make the object before the compiled function, and pass it in",
    counts=(2, 1),
    never=("instead of this object",),
)  # fmt: skip
def array_made_inside(run: Run) -> None:
    outside = torch.tensor([1, 2])

    @run.compile
    def shifted(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return x + outside
        made = array.array("i", [1, 2])  # cause
        return x + len(made)

    shifted(ones(2))


@case(
    "", "why-break",
    cause="`lock` context manager",
    advice="enter it around the call of the compiled function",
    counts=(0, 1),
)  # fmt: skip
def lock_held_inside(run: Run) -> None:
    @run.compile
    def locked(x: Any) -> Any:
        x = x * 2
        with contextlib.nullcontext() if run.remedied else lock:  # cause
            x = x + 1
        return x * 3

    locked(ones(2))


@case(
    "", "why-break",
    cause="An opaque object was created in the middle of the program.",
    advice="draw without a generator of its own (torch.manual_seed before the call)",
    counts=(2, 1),
    never=("pass it in",),
)  # fmt: skip
def generator_made_inside(run: Run) -> None:
    """Who passes one in gets a break where it is used."""

    @run.compile
    def noisy(x: Any) -> Any:
        x = x * 2
        made = None if run.remedied else torch.Generator()  # cause
        return x + torch.rand(2, generator=made)

    noisy(ones(2))


@case(
    "", "why-break",
    cause="torch.* op returned non-Tensor",
    advice="ask before the compiled function",
    counts=(2, 1),
)  # fmt: skip
def allocated_memory(run: Run) -> None:
    used = torch.cuda.memory_allocated()

    @run.compile
    def told(x: Any) -> Any:
        x = x * 2
        return x + (used if run.remedied else torch.cuda.memory_allocated())  # cause

    told(ones(2))


@case(
    "", "why-break",
    cause="torch.autograd.grad",
    advice="trace_autograd_ops = True",
    counts=(2, 1),
)  # fmt: skip
def gradient_inside(run: Run) -> None:
    weight = torch.ones(2, requires_grad=True)

    @run.compile
    def gradient(x: Any) -> Any:
        value = (x * weight).sum()
        (found,) = torch.autograd.grad(value, weight)  # cause
        return found + 1

    with config.patch(trace_autograd_ops=run.remedied):
        gradient(ones(2))


@case(
    "", "why-break",
    cause="RNN, GRU, or LSTM",
    advice="allow_rnn = True",
    counts=(0, 1),
)  # fmt: skip
def recurrent_module(run: Run) -> None:
    recurrent = nn.LSTM(4, 4)

    @run.compile
    def encoded(x: Any) -> Any:
        x = x * 2
        return recurrent(x)[0] + 1  # cause

    with config.patch(allow_rnn=run.remedied):
        encoded(ones(1, 1, 4))


@case(
    "", "why-break",
    cause="sparse Tensor",
    advice="keep sparse tensors outside",
    counts=(1, 2),
)  # fmt: skip
def sparse_inside(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2

    @run.compile
    def through_sparse(x: Any) -> Any:
        x = x * 2
        made = x.to_sparse()  # cause
        return made.to_dense() + 1

    if run.remedied:
        doubled(doubled(ones(4)).to_sparse().to_dense().unsqueeze(0))
    else:
        through_sparse(ones(4))


@case(
    "", "why-break",
    cause=("setattr() on unsupported type", "called by tests/answers/breaks_in_python.py"),
    advice="the line is a library's",
    counts=(2, 1),
)  # fmt: skip
def hook_registered_inside(run: Run) -> None:
    layer = nn.Linear(4, 4)

    @run.compile
    def hooked(x: Any) -> Any:
        x = x * 2
        if not run.remedied:
            layer.register_forward_hook(print)
        return x + 1

    hooked(ones(4))


@case(
    "", "why-break",
    cause="StringIO",
    advice="change: take what `with contextlib.redirect_stdout(",
    counts=(1, 1),
)  # fmt: skip
def output_redirected_inside(run: Run) -> None:
    @run.compile
    def quiet(x: Any) -> Any:
        x = x * 2
        if run.remedied:
            return (x + 1) * 3
        with contextlib.redirect_stdout(io.StringIO()):
            x = x + 1
        return x * 3

    quiet(ones(4))


@case(
    "", "why-break",
    cause="_warnings.warn",
    advice="warn outside of the compiled function",
    counts=(2, 1),
    never=("reorderable_logging_functions",),
)  # fmt: skip
def warning_of_a_category(run: Run) -> None:
    def halved(x: Any) -> Any:
        x = x.relu()
        if not run.remedied:
            warnings.warn("halves", FutureWarning, stacklevel=2)  # cause
        return x / 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.compile(halved)(ones(2))
