"""Programs that change an argument or a function between their calls, and whether that is guarded
against.

The other run leaves it as it was: the change is guarded against where it makes one graph more."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


@case(
    "", "is-guarded", expression="x.shape[0]",
    cause="x.shape[0] is free within the conditions on sizes: it is the symbol s77",
    counts=(2, 2),
)  # fmt: skip
def size_that_is_free(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2

    for size in (3, 4, 4 if run.remedied else 5):
        doubled(ones(size))


@case(
    "", "is-guarded", expression="x.shape[0]",
    cause="x.shape[0] is guarded: it must be 3: its symbol s77 was fixed",
    counts=(2, 1),
    never=("is free", "not guarded"),
)  # fmt: skip
def size_in_a_message(run: Run) -> None:
    def named(x: Any) -> Any:
        return x * len(f"size {x.shape[0]}")

    compiled = run.compile(named, dynamic=True)
    for size in (3, 3 if run.remedied else 4):
        compiled(ones(size))


@case(
    "", "is-guarded", expression="x.shape[-1]",
    cause="x.shape[-1] is guarded: it must be 3: its symbol s27 was fixed",
    counts=(2, 1),
    never=("is free", "not guarded"),
)  # fmt: skip
def message_of_the_size_at_the_end(run: Run) -> None:
    def worded(x: Any) -> Any:
        return x * len(f"last {x.shape[-1]}")

    compiled = run.compile(worded, dynamic=True)
    for size in (3, 3 if run.remedied else 4):
        compiled(ones(2, size))


@case(
    "", "is-guarded", expression="half",
    cause="half is made by the function itself",
    counts=(2, 2),
    never=("is guarded",),
)  # fmt: skip
def value_that_derives(run: Run) -> None:
    @run.compile
    def derived(x: Any) -> Any:
        half = x.shape[0] // 2
        return x[:half]

    for size in (4, 6, 6 if run.remedied else 8):
        derived(ones(size))


@dataclasses.dataclass
class Config:
    alpha: int = 2
    beta: int = 3


@case(
    "", "is-guarded", expression="config.alpha",
    cause=(
        "config.alpha is guarded: it must be 2",
        "config.alpha is free: it is the symbol",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def scale_in_a_dataclass(run: Run) -> None:
    @run.compile
    def scaled(x: Any, config: Any) -> Any:
        return x * config.alpha

    config = Config()
    scaled(ones(3), config)
    config.alpha = 2 if run.remedied else 4
    scaled(ones(3), config)


@case(
    "", "is-guarded", expression="config.beta",
    cause="config.beta is not guarded itself",
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def other_field_of_a_dataclass(run: Run) -> None:
    @run.compile
    def scaled(x: Any, config: Any) -> Any:
        return x * config.alpha

    config = Config()
    scaled(ones(3), config)
    config.beta = 3 if run.remedied else 4
    scaled(ones(3), config)


@case(
    "", "is-guarded", expression="options['depth']",
    cause="options['depth'] is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def depth_in_a_dict(run: Run) -> None:
    @run.compile
    def deep(x: Any, options: Any) -> Any:
        return x * options["depth"]

    deep(ones(3), {"depth": 2, "width": 3})
    deep(ones(3), {"depth": 2 if run.remedied else 4, "width": 3})


@case(
    "", "is-guarded", expression="options['width']",
    cause="options['width'] is not guarded itself",
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def width_in_a_dict(run: Run) -> None:
    @run.compile
    def deep(x: Any, options: Any) -> Any:
        return x * options["depth"]

    deep(ones(3), {"depth": 2, "width": 3})
    deep(ones(3), {"depth": 2, "width": 3 if run.remedied else 4})


@case(
    "", "is-guarded", expression="len(xs)",
    cause="len(xs) is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def length_of_a_list(run: Run) -> None:
    @run.compile
    def together(xs: Any) -> Any:
        return sum(xs)

    together([ones(3)] * 2)
    together([ones(3)] * (2 if run.remedied else 3))


@case(
    "", "is-guarded", expression="weight",
    cause="weight is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def variable_of_a_closure(run: Run) -> None:
    weight = 2

    @run.compile
    def weighted(x: Any) -> Any:
        return x * weight

    weighted(ones(3))
    weight = 2 if run.remedied else 3
    weighted(ones(3))


@case(
    "", "is-guarded", expression="k",
    cause="k is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def default_of_the_function(run: Run) -> None:
    def powered(x: Any, k: int = 2) -> Any:
        return x**k

    compiled = run.compile(powered)
    compiled(ones(3))
    powered.__defaults__ = (2 if run.remedied else 3,)
    compiled(ones(3))


def helper(x: Any, k: int = 2) -> Any:
    return x * k


@case(
    "", "is-guarded", expression="helper.__defaults__",
    cause=(
        "only the type and length of helper.__defaults__ are guarded, and parts of it",
        "a part: CONSTANT_MATCH G['helper'].__defaults__[0]  G['helper'].__defaults__[0] == 2",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def default_of_a_helper(run: Run) -> None:
    @run.compile
    def helped(x: Any) -> Any:
        return helper(x)

    helped(ones(3))
    helper.__defaults__ = (2 if run.remedied else 3,)
    helped(ones(3))
    helper.__defaults__ = (2,)


@case(
    "", "is-guarded", expression="x.requires_grad",
    cause="x.requires_grad is guarded: it must be False",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def gradients_of_an_input(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2

    doubled(ones(3))
    doubled(ones(3, requires_grad=not run.remedied))


@case(
    "", "is-guarded", expression="x.dtype",
    cause="x.dtype is guarded: it must be float32",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def dtype_of_what_comes(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2

    doubled(ones(3))
    doubled(ones(3, dtype=torch.float32 if run.remedied else torch.float64))


@case(
    "", "is-guarded", expression="x.stride(0)",
    cause="x.stride(0) is guarded: it must be 4",
    counts=(2, 1),
    never=("not guarded", "nothing that can be asked"),
)  # fmt: skip
def strides_of_an_input(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2

    doubled(ones(4, 4))
    doubled(
        ones(4, 4) if run.remedied else ones(4, 4).t().clone(memory_format=torch.preserve_format)
    )


@case(
    "", "is-guarded", expression="x[0]",
    cause="x[0] is not guarded itself",
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def element_of_a_tensor(run: Run) -> None:
    @run.compile
    def first(x: Any) -> Any:
        return x[0] * 2

    first(ones(3))
    first(ones(3) if run.remedied else torch.zeros(3))


Pair = collections.namedtuple("Pair", "first second")


@case(
    "", "is-guarded", expression="pair.first",
    cause="pair.first is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def field_of_a_named_tuple(run: Run) -> None:
    @run.compile
    def scaled(x: Any, pair: Any) -> Any:
        return x * pair.first

    scaled(ones(3), Pair(2, 3))
    scaled(ones(3), Pair(2 if run.remedied else 4, 3))


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


@case(
    "", "is-guarded", expression="mode",
    cause=(
        "mode is guarded",
        "ID_MATCH",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def chosen_by_an_enum(run: Run) -> None:
    @run.compile
    def chosen(x: Any, mode: Any) -> Any:
        return x * 2 if mode is Mode.FAST else x + 1

    chosen(ones(3), Mode.FAST)
    chosen(ones(3), Mode.FAST if run.remedied else Mode.SLOW)


@case(
    "", "is-guarded", expression="kwargs['k']",
    cause="kwargs['k'] is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def keyword_argument(run: Run) -> None:
    @run.compile
    def powered(x: Any, **kwargs: Any) -> Any:
        return x ** kwargs["k"]

    powered(ones(3), k=2)
    powered(ones(3), k=2 if run.remedied else 3)


@case(
    "", "is-guarded", expression="power.keywords['k']",
    cause="power.keywords['k'] is guarded: it must be 2",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def keyword_of_a_partial(run: Run) -> None:
    @run.compile
    def applied(x: Any, power: Any) -> Any:
        return power(x)

    applied(ones(3), functools.partial(helper, k=2))
    applied(ones(3), functools.partial(helper, k=2 if run.remedied else 3))


@case(
    "", "is-guarded", expression="type(x)",
    cause="type(x) is guarded",
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def type_of_an_input(run: Run) -> None:
    @run.compile
    def doubled(x: Any) -> Any:
        return x * 2

    doubled(ones(3))
    doubled(ones(3) if run.remedied else nn.Parameter(ones(3), requires_grad=False))


@case(
    "", "is-guarded", expression="scale",
    cause="scale is free within the conditions on it: it is the symbol",
    counts=(2, 2),
)  # fmt: skip
def float_that_is_an_input(run: Run) -> None:
    @run.compile
    def scaled(x: Any, scale: Any) -> Any:
        return x * scale

    for scale in (0.5, 0.6, 0.6 if run.remedied else 0.7):
        scaled(ones(3), scale)


@case(
    "", "is-guarded", expression="y",
    cause=(
        "y is guarded",
        "DUPLICATE_INPUT L['y']  L['x'] is L['y']",
    ),
    counts=(2, 1),
    never=("not guarded",),
)  # fmt: skip
def one_tensor_or_two(run: Run) -> None:
    @run.compile
    def summed(x: Any, y: Any) -> Any:
        return x + y

    one = ones(3)
    summed(one, one)
    summed(one, one if run.remedied else ones(3))


@case(
    "", "is-guarded", expression="options['extra']",
    cause="only whether options['extra'] is there is guarded, not its value",
    counts=(2, 1),
    never=("is not guarded",),
)  # fmt: skip
def key_that_appears(run: Run) -> None:
    @run.compile
    def chosen(x: Any, options: Any) -> Any:
        return x * 2 if "extra" in options else x + 1

    chosen(ones(3), {})
    chosen(ones(3), {} if run.remedied else {"extra": 1})


@case(
    "pytorch#131893", "is-guarded", expression="y.shape[0]",
    cause="y.shape[0] is not guarded: no guard of 1 entry looks at it",
    counts=(1, 1),
    never=("is guarded",),
)  # fmt: skip
def tensor_that_is_not_used(run: Run) -> None:
    @run.compile
    def doubled(x: Any, y: Any) -> Any:
        kept = y  # noqa: F841
        return x * 2

    for size in (4, 4 if run.remedied else 6):
        doubled(ones(3), ones(size))


@case(
    "", "is-guarded", expression="x.shape",
    cause="x.shape is guarded: it must be [s77, 3], of which s77",
    counts=(2, 1),
)  # fmt: skip
def shape_of_which_one_size_is_free(run: Run) -> None:
    @run.compile
    def summed(x: Any) -> Any:
        return x.sum(0) * x.shape[0]

    for width in (3, 3 if run.remedied else 4):
        x = ones(4, width)
        torch._dynamo.mark_dynamic(x, 0)
        summed(x)


@case(
    "", "is-guarded", expression="image",
    cause="image is guarded as to what kind of tensor it is, not its elements",
    counts=(3, 2),
    never=("image is guarded;",),
)  # fmt: skip
def kind_beside_a_symbol(run: Run) -> None:
    @run.compile
    def measured_in_a_loop(image: Any) -> Any:
        height, _ = image.shape
        return image * height

    for size in (3, 4):
        measured_in_a_loop(ones(size, 2))
    measured_in_a_loop(ones(4, 2, dtype=torch.float32 if run.remedied else torch.float64))
