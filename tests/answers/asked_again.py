"""Programs of which an answer was wrong: a thing called by a name that nobody wrote, advice that
would not help, a call that ran uncompiled told as one that found an entry."""

from __future__ import annotations

import collections
import decimal
import threading
import types
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


def halves_with_a_break(parts: Any, at: int) -> Any:
    torch._dynamo.graph_break()
    return parts[at]


@case(
    "", "why-recompile",
    cause=("rank of halves_with_a_break(parts, at) changes: 1, 2", "TENSOR_MATCH L['___stack1']"),
    advice="halves_with_a_break(parts, at) is what weighted_by_a_part goes on with after its graph",
    counts=(4, 1),
    never=("of ___stack", "reshape"),
    # Of the two functions that are compiled again, the one that took longer is told first.
    function="resume_in_weighted_by_a_part",
)  # fmt: skip
def rank_left_by_a_break(run: Run) -> None:
    @run.compile
    def weighted_by_a_part(x: Any, parts: Any, at: int) -> Any:
        return x.sin() + (parts[0] if run.remedied else halves_with_a_break(parts, at)) * 2  # cause

    for at in (0, 0) if run.remedied else (0, 1):
        weighted_by_a_part(ones(2), [ones(2), ones(2, 1)], at)


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
    "", "why-recompile",
    cause="type of parts changes: dict, OrderedDict",
    advice="Pass parts always as the same type",
    counts=(2, 1),
    never=("same keys", "dictionary of"),
)  # fmt: skip
def another_kind_of_dict(run: Run) -> None:
    @run.compile
    def added_up(x: Any, parts: Any) -> Any:
        for part in parts.values():  # cause
            x = x + part
        return x

    parts = {"a": ones(2), "b": ones(2)}
    added_up(ones(2), parts)
    added_up(ones(2), parts if run.remedied else collections.OrderedDict(parts))


@case(
    "pytorch#131265", "why-recompile",
    cause="stride[0] of tokens changes: 5, 9",
    advice="hand over tokens.clone(memory_format=torch.contiguous_format)",
    counts=(2, 1),
)  # fmt: skip
def one_row_of_a_longer_one(run: Run) -> None:
    """Of one row `contiguous()` makes no other: where the next one would lie does not matter."""

    @run.compile
    def embedded(tokens: Any) -> Any:
        return tokens.float() * 2  # cause

    embedded(ones(1, 5))
    tokens = ones(1, 9)[:, :5]
    assert tokens.contiguous().stride() == (9, 1)
    embedded(tokens.clone(memory_format=torch.contiguous_format) if run.remedied else tokens)


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
    "pytorch#111569", "why-recompile",
    cause="grad_mode changes: False, True",
    advice="always the same grad mode (torch.no_grad, torch.enable_grad). Each thread has its own",
    counts=(2, 1),
)  # fmt: skip
def grad_mode_of_another_thread(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2

    def work(enabled: bool) -> None:
        with torch.set_grad_enabled(enabled):
            doubled(ones(2))

    work(False)
    thread = threading.Thread(target=work, args=(not run.remedied,))
    thread.start()
    thread.join()


@case(
    "", "why-recompile",
    cause="fails: 2 <= nested._min_seqlen_tensor.shape[0]",
    advice="nested is a nested tensor, whose shortest part is shorter than 2 here",
    counts=(2, 1),
    never=("size differs", "size changes"),
)  # fmt: skip
def jagged_batch_with_one_of_one(run: Run) -> None:
    @run.compile
    def halved(nested: Any) -> Any:
        return nested * 0.5

    for lengths in ((2, 3), (4, 2 if run.remedied else 1)):
        parts = [ones(length, 5) for length in lengths]
        halved(torch.nested.nested_tensor(parts, layout=torch.jagged))


@case(
    "pytorch#132618", "why-break",
    cause="Data dependent operator",
    advice="how long the parts of a nested tensor are is data: take it apart before the compiled",
    counts=(2, 1),
    never=("capture_scalar_outputs = True, and",),
)  # fmt: skip
def nested_tensor_taken_apart(run: Run) -> None:
    @run.compile
    def added_up(x: Any, nested: Any, given: Any) -> Any:
        x = x + 1
        parts = given if run.remedied else nested.unbind()  # cause
        for part in parts:
            x = x + part.sum()
        return x

    parts = [ones(2, 3), ones(4, 3)]
    added_up(ones(2) * 3, torch.nested.nested_tensor(parts, layout=torch.jagged), parts)


@case(
    "", "why-recompile",
    cause=("Bilinear, inner of wrap_inline", "input1.shape[0] changes: 2, 3"),
    advice="mark_dynamic(input1, 0)",
    counts=(2, 1),
    function="Bilinear",
    never=("args[",),
)  # fmt: skip
def layer_of_torch_by_itself(run: Run) -> None:
    layer = run.compile(nn.Bilinear(3, 3, 3), dynamic=True if run.remedied else None)
    for count in (2, 3):
        layer(ones(count, 3), ones(count, 3))


@case(
    "", "why-break",
    cause=("Unsupported function call", "types.SimpleNamespace"),
    advice="take an object of a plain class, a dataclass or a dict in its place",
    counts=(2, 1),
)  # fmt: skip
def namespace_made_inside(run: Run) -> None:
    class Options:
        def __init__(self, scale: int) -> None:
            self.scale = scale

    @run.compile
    def scaled(x: Any) -> Any:
        x = x + 1
        options = Options(2) if run.remedied else types.SimpleNamespace(scale=2)  # cause
        return x * options.scale

    scaled(ones(2))


@case(
    "", "why-break",
    cause=("Unsupported method call", "`__setattr__` of class `SimpleNamespace`"),
    advice="have it be an object of a plain class, whose attributes are followed",
    counts=(2, 1),
    never=("call the method outside",),
)  # fmt: skip
def attribute_of_a_namespace(run: Run) -> None:
    class Options:
        scale = 2

    @run.compile
    def scaled_once_more(x: Any, options: Any) -> Any:
        x = x + 1
        options.scale = 3  # cause
        return x * options.scale

    scaled_once_more(ones(2), Options() if run.remedied else types.SimpleNamespace(scale=2))


@case(
    "", "why-break",
    cause="vectorcall_maybe on C method descriptor",
    advice="the compiler has no model of what the line does with the object: do it before",
    counts=(0, 1),
)  # fmt: skip
def decimal_in_the_middle(run: Run) -> None:
    @run.compile
    def priced(x: Any, price: Any) -> Any:
        x = x + 1
        total = price if run.remedied else price + 1  # cause
        return x * float(total)

    priced(ones(2), 3.0 if run.remedied else decimal.Decimal(2))


@case(
    "", "why-recompile",
    cause="autocast(cpu) changes: off, bfloat16, float16",
    advice="always the same autocast",
    counts=(3, 1),
    never=("comes in different kinds",),
)  # fmt: skip
def autocast_of_two_types(run: Run) -> None:
    layer = nn.Linear(2, 2)

    @run.compile
    def projected(x: Any) -> Any:
        return layer(x)  # cause

    projected(ones(2, 2))
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype, enabled=not run.remedied):
            projected(ones(2, 2))


@case(
    "pytorch#112260", "is-guarded", expression="torch.get_autocast_dtype('cpu')",
    cause="torch.get_autocast_dtype('cpu') is guarded, with other global state",
    counts=(2, 1),
)  # fmt: skip
def type_of_autocast(run: Run) -> None:
    @run.compile
    def product(x: Any) -> Any:
        return x @ x

    for dtype in (torch.bfloat16, torch.bfloat16 if run.remedied else torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            product(ones(2, 2))


@case(
    "", "is-guarded", expression="torch.is_autocast_cache_enabled()",
    cause="torch.is_autocast_cache_enabled() is guarded, with other global state",
    counts=(2, 1),
)  # fmt: skip
def cache_of_autocast(run: Run) -> None:
    @run.compile
    def product(x: Any) -> Any:
        return x @ x

    for enabled in (True, run.remedied):
        with torch.autocast("cpu", cache_enabled=enabled):
            product(ones(2, 2))


@case(
    "", "is-guarded", expression="torch.get_default_device()",
    cause="torch.get_default_device() is guarded",
    counts=(2, 1),
)  # fmt: skip
def device_by_default(run: Run) -> None:
    @run.compile
    def shifted(x: Any) -> Any:
        return x + torch.zeros(2, device="cpu")

    shifted(ones(2))
    try:
        torch.set_default_device(None if run.remedied else "cpu")
        shifted(ones(2))
    finally:
        torch.set_default_device(None)


@case(
    "", "is-guarded", expression="layer._forward_hooks",
    cause="layer._forward_hooks is not guarded",
    counts=(1, 1),
    function="Hardtanh",
    never=("_forward_hooks is guarded",),
)  # fmt: skip
def hooks_by_the_callers_name(run: Run) -> None:
    """What the caller calls `layer` is `self` where Dynamo begins."""
    layer = nn.Hardtanh()
    compiled = run.compile(layer)
    compiled(ones(2) + 1)
    if not run.remedied:
        layer.register_forward_hook(lambda module, args, result: result * 2)
    compiled(ones(2) + 1)


@case(
    "", "why-recompile",
    cause="self.weight.shape[0] changes: 4, 1",
    advice="0 and 1 are numbers with",
    counts=(2, 1),
    never=("they are symbols",),
)  # fmt: skip
def parameter_replaced_by_one_of_one(run: Run) -> None:
    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(ones(4))

        def forward(self, x: Any) -> Any:
            return x * self.weight  # cause

    net = Weighted()
    compiled = run.compile(net)
    compiled(ones(4))
    net.weight = nn.Parameter(ones(4 if run.remedied else 1))
    compiled(ones(4))


@case(
    "", "why-recompile",
    cause=(
        "past[0][0].shape[1] changes: 3, 4, and of 1 other  (1 of 2)",
        "past changes: None",
        "(1 of 2)",
    ),
    advice="Dynamo has made past[0][0].shape[1] a symbol by itself",
    counts=(3, 2),
    never=("(2 of 2)",),
)  # fmt: skip
def cache_that_grows_by_one(run: Run) -> None:
    """What the first entry was made for, the second serves."""

    @run.compile
    def attended(x: Any, past: Any) -> Any:
        if past is not None:
            keys = torch.cat([past[0][0], x], 1)  # cause
            return x + keys.sum(), [(keys, torch.cat([past[0][1], x], 1))]
        return x + x.sum(), [(x, x * 2)]

    past = None
    for step in range(5):
        _, past = attended(ones(1, 1 if step else 3, 4), past)
        if run.remedied:
            for each in past[0]:
                torch._dynamo.mark_dynamic(each, 1)


@case(
    "", "why-recompile",
    cause=(
        "attributes of self changes: without 'extra', with 'extra'  (1 of 2)",
        "type of self.extra changes: float, Tensor  (1 of 2)",
    ),
    advice="self has an attribute in one call that it has not in another",
    counts=(3, 1),
)  # fmt: skip
def attribute_that_comes_and_changes(run: Run) -> None:
    class Shifted(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + self.extra if hasattr(self, "extra") else x * 2  # cause

    net = Shifted()
    compiled = run.compile(net)
    for extra in (None, 1.0, ones(3)):
        if run.remedied:
            net.extra = ones(3)
        elif extra is not None:
            net.extra = extra
        compiled(ones(3))


@case(
    "", "why-recompile",
    cause=("batch['x'].shape[0] changes: 4, 2  (1 of 2)", "keys of batch changes"),
    advice="To save the entry for its first size: torch._dynamo.mark_dynamic(batch['x'], 0)",
    counts=(3, 2),
    never=("is a symbol until",),
)  # fmt: skip
def size_that_a_later_entry_needs(run: Run) -> None:
    """The entry with weights is there for their key, whatever it asks of the size."""

    @run.compile
    def weighted(batch: Any) -> Any:
        found = batch["x"] * 2  # cause
        return found * batch["w"] if "w" in batch else found

    for size in (4, 2):
        batch = {"x": ones(size, 3)}
        if run.remedied:
            torch._dynamo.mark_dynamic(batch["x"], 0)
        weighted(batch)
    weighted({"x": ones(2, 3), "w": ones(2, 1)})


@case(
    "", "why-recompile",
    cause="x.shape[3] == x.shape[2] does not hold  (1 of 1)",
    advice="use_duck_shape = False before the first call",
    counts=(2, 1),
    never=("x.shape[2] changes",),
)  # fmt: skip
def square_image_and_a_float(run: Run) -> None:
    def enlarged(x: Any, scale: float) -> Any:
        return x * (int(x.shape[2] * scale) + int(x.shape[3] * scale))  # cause

    compiled = run.compile(enlarged, dynamic=True)
    for sides in ((8, 9) if run.remedied else (8, 8), (10, 8)):
        compiled(ones(1, 3, *sides), 1.5)


@case(
    "", "why-recompile",
    cause=("length of tables changes: 0, 1", "keys of tables"),
    advice="tables is changed by the compiled function itself at",
    counts=(2, 1),
    never=("always with",),
)  # fmt: skip
def table_made_when_it_is_missing(run: Run) -> None:
    tables: dict[str, Any] = {"cos": ones(4)} if run.remedied else {}

    @run.compile
    def turned(x: Any) -> Any:
        if "cos" not in tables:
            tables["cos"] = torch.arange(4).cos()  # cause
        return x * tables["cos"]

    for _ in range(3):
        turned(ones(4))


@case(
    "", "why-recompile",
    cause=(
        "stride[3] of input changes: 1, 3  (1 of 2)",
        "input.shape[2] changes: 32, 48  (1 of 2)",
    ),
    advice="hand over input always in one memory format",
    counts=(3, 2),
    never=("input.shape[2] changes: 32, 48  (2 of 2)",),
    function="Conv2d",
)  # fmt: skip
def resolutions_and_a_layout(run: Run) -> None:
    """What the entry for other resolutions serves is not why a layout takes one more."""
    compiled = run.compile(nn.Conv2d(3, 4, 3))
    for side, layout in (
        (32, torch.contiguous_format),
        (48, torch.contiguous_format),
        (48, torch.channels_last),
    ):
        image = ones(2, 3, side, side)
        compiled(image if run.remedied else image.to(memory_format=layout))


@case(
    "", "why-recompile",
    cause="self[0].enabled changes: True, False, and of 1 other",
    advice="Each value of self[0].enabled is compiled by itself",
    counts=(2, 1),
    function="Chain",
    never=("of self.enabled", "fn[0]"),
)  # fmt: skip
def layers_of_a_container(run: Run) -> None:
    """`self` is what was compiled, and not the first layer with a `forward` of the program's."""

    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enabled = True

        def forward(self, x: Any) -> Any:
            return x * 2 if self.enabled else x + 1

    class Chain(nn.Sequential):
        pass

    net = Chain(Adapted(), Adapted())
    compiled = run.compile(net)
    compiled(ones(2))
    for layer in net:
        layer.enabled = run.remedied
    compiled(ones(2))


class Batch:
    """What a server keeps beside the model, as vLLM its forward context."""

    prefills = 1


@case(
    "", "why-recompile",
    cause="Batch.prefills changes: 1, 2, 0",
    advice="Hand Batch.prefills over as an argument, or hand over what is decided by it",
    counts=(3, 2),
    never=("keep it in a tensor",),
)  # fmt: skip
def number_that_only_decides(run: Run) -> None:
    """As a tensor it would break the graph."""

    @run.compile
    def attended_to(x: Any, any_prefills: Any = None) -> Any:
        if Batch.prefills > 0 if any_prefills is None else any_prefills:  # cause
            return x + 1
        return x * 2

    for count in (1, 2, 0):
        Batch.prefills = count
        attended_to(ones(2), count > 0 if run.remedied else None)


@case(
    "", "why-recompile",
    cause=("x.shape[0] changes: 2, 4  (1 of 2)", "2 <= x.shape[0] does not hold  (1 of 2)"),
    advice="To save the entry for its first size: torch._dynamo.mark_dynamic(x, 0)",
    counts=(3, 2),
)  # fmt: skip
def one_at_last(run: Run) -> None:
    """That a size is 1 in a later entry is not why the second one was made."""

    @run.compile
    def doubled_each(x: Any) -> Any:
        return x * 2 + x.shape[0]  # cause

    for size in (2, 4, 1):
        x = ones(size)
        if run.remedied and size > 1:
            torch._dynamo.mark_dynamic(x, 0)
        doubled_each(x)


@case(
    "", "why-shape", expression="both.shape[0]",
    cause=(
        "both.shape[0] is s",
        ", made of symbols, at",
        "is upper.shape[0]",
        "is lower.shape[0]",
    ),
    counts=(1, 1),
    never=("nothing is recorded",),
)  # fmt: skip
def size_of_what_is_computed(run: Run) -> None:
    def put_together(upper: Any, lower: Any) -> Any:
        both = torch.cat([upper, lower])
        return both * 2  # cause

    compiled = run.compile(put_together, dynamic=True)
    for size in (3, 4):
        compiled(ones(size, 2), ones(size + 2, 2))


class ByName(dict[str, Any]):
    """A dictionary with a way of its own to store, as `transformers` keeps what models capture."""

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(str(key), value)


CAPTURED = ByName()
CAPTURED["first"], CAPTURED["second"] = 2, 3


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 3, 4",
    advice="To save the entry for its first size",
    counts=(2, 1),
    never=("has no key",),
)  # fmt: skip
def keys_of_a_dict_of_ones_own(run: Run) -> None:
    """Dynamo reads it by the place of a key."""

    @run.compile
    def by_all_names(x: Any) -> Any:
        for name in CAPTURED:
            x = x * CAPTURED[name]  # cause
        return x

    for size in (3, 4):
        x = ones(size)
        if run.remedied:
            torch._dynamo.mark_dynamic(x, 0)
        by_all_names(x)


@case(
    "", "why-recompile",
    cause=(
        "(((-1)*x.shape[1]) % width) != 0 does not hold  (1 of 2)",
        "(x.shape[1] // width) != 1 does not hold  (1 of 2)",
    ),
    advice="in padded_to_windows asks for: keep the calls on one side of it",
    counts=(3, 1),
)  # fmt: skip
def two_lines_that_ask_of_one_size(run: Run) -> None:
    """What each asks is a cause of its own."""

    def padded_to_windows(x: Any, width: int) -> Any:
        more = -x.shape[1] % width
        if more:  # cause
            x = nn.functional.pad(x, (0, more))
        return x.view(x.shape[0], -1, width).mean(-1)

    compiled = run.compile(padded_to_windows, dynamic=True)
    for size in (10, 12, 18) if run.remedied else (10, 12, 16, 24, 8):
        compiled(ones(2, size), 8)


@case(
    "", "why-recompile",
    cause=("2 <= a.shape[0] does not hold  (1 of 2)", "b.shape[0] == a.shape[0] does not hold"),
    advice="Torch's remedy: torch._dynamo.decorators.mark_unbacked(a, 0) before the first call",
    counts=(3, 1),
)  # fmt: skip
def sizes_that_part_and_one_of_one(run: Run) -> None:
    """That two sizes are one symbol no longer is why there is a second entry, and not a third."""

    def added_both(a: Any, b: Any) -> Any:
        return a.sum() + b.sum()  # cause

    compiled = run.compile(added_both, dynamic=True)
    for first, second in ((5, 5), (6, 7), (1, 3)):
        a, b = ones(first), ones(second)
        if run.remedied:
            for each in (a, b):
                torch._dynamo.decorators.mark_unbacked(each, 0)
        compiled(a, b)
