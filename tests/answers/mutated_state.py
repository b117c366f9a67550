"""State that the compiled function itself changes: tables, lists, flags, what it makes when it is
missing."""

from __future__ import annotations

import collections
import weakref
from typing import Any

import torch
from torch import nn

from tests.answers.cases import Run, case

ones = torch.ones


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


SEEN: list[Any] = []


@case(
    "", "why-recompile",
    cause=("length of SEEN grows: 0, 1, 2", "by LOAD_METHOD append"),
    advice="SEEN is changed by the compiled function itself at",
    counts=(3, 1),
    never=("hand over",),
)  # fmt: skip
def losses_kept_in_a_global(run: Run) -> None:
    SEEN.clear()

    @run.compile
    def tracked(x: Any) -> Any:
        loss = (x * 2).sum()
        if not run.remedied:
            SEEN.append(loss)  # cause
        return loss

    for _ in range(3):
        tracked(ones(2))


@case(
    "pytorch#175858", "why-recompile",
    cause=("length of state changes: 1, 2", "by STORE_SUBSCR"),
    advice="state is changed by the compiled function itself",
    counts=(2, 1),
)  # fmt: skip
def loss_put_into_the_state(run: Run) -> None:
    @run.compile
    def step(state: Any) -> Any:
        state["loss"] = state["seen"].sum()  # cause
        return state

    state = {"seen": ones(3)}
    if run.remedied:
        state["loss"] = torch.tensor(0.0)
    for _ in range(3):
        step(state)


@case(
    "pytorch#121504", "why-recompile",
    cause="self.local_mask changes: None, <Tensor>",
    advice="until the compiled function sets it itself at",
    counts=(2, 1),
)  # fmt: skip
def mask_that_is_made_later(run: Run) -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.local_mask: Any = ones(3) if run.remedied else None

        def forward(self, x: Any) -> Any:
            if self.local_mask is None:  # cause
                self.local_mask = x > 0
            return x * self.local_mask

    attention = run.compile(Attention())
    for _ in range(3):
        attention(ones(3))


@case(
    "", "why-recompile",
    cause=("self.known[2] changes: 8, 12, and of 1 other", "x.shape[2] changes: 8, 12"),
    advice="self.known, which self.known[2] is a part of, is set by the compiled function itself",
    counts=(5, 2),
    never=("mark_dynamic(x, 2)",),
    function="Detector",
)  # fmt: skip
def shape_that_is_kept(run: Run) -> None:
    """Where the sizes are the same as before, the comparison needs their values."""

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.known: Any = None
            self.anchors = torch.empty(0)

        def forward(self, x: Any) -> Any:
            if run.remedied:
                return x.flatten(2) + torch.arange(x.shape[2] * x.shape[3])
            if self.known != x.shape:  # cause
                self.anchors = torch.arange(x.shape[2] * x.shape[3])
                self.known = x.shape
            return x.flatten(2) + self.anchors

    detect = run.compile(Detector())
    for size in (8, 8, 12, 12, 16):
        detect(ones(1, 3, size, size))


class Key:
    """Something that tables are about."""


@case(
    "", "why-recompile",
    cause="length of self.tables changes: 0, 1",
    advice="self.tables is changed by the compiled function itself at tests/answers/",
    counts=(2, 1),
    never=("self.tables.data changes", "length of self.tables.data"),
)  # fmt: skip
def table_by_a_weak_key(run: Run) -> None:
    class Tabled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables: Any = weakref.WeakKeyDictionary()

        def forward(self, x: Any, key: Any) -> Any:
            if key not in self.tables:
                self.tables[key] = 2  # cause
            return x * self.tables[key]

    key, module = Key(), Tabled()
    tabled = run.compile(module)
    if run.remedied:
        module.tables[key] = 2
    tabled(ones(2), key)
    tabled(ones(2), key)


@case(
    "", "why-recompile",
    cause="x.shape[0] changes: 2 <= x.shape[0] <= 4 does not hold",
    advice="Dynamo has made x.shape[0] a symbol by itself",
    counts=(5, 1),
    never=("self.cos.shape[0], x.shape[0])",),
)  # fmt: skip
def positions_that_grow(run: Run) -> None:
    """As positional embeddings grow theirs."""

    class Positions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.known = 4
            self.register_buffer("cos", ones(4))

        def forward(self, x: Any) -> Any:
            if x.shape[0] > self.known:  # cause
                self.known = x.shape[0]
                self.cos = ones(x.shape[0])
            return x * self.cos[: x.shape[0]]

    positions = Positions()
    if run.remedied:
        positions.known, positions.cos = 16, ones(16)
    compiled = run.compile(positions, dynamic=True if run.remedied else None)
    for size in (3, 4, 6, 5, 9):
        compiled(ones(size))


@case(
    "", "why-recompile",
    cause="length of totals changes: 0, 1",
    advice="totals is changed by the compiled function itself at",
    counts=(2, 1),
    never=("in <lambda>", "RETURN_VALUE"),
)  # fmt: skip
def totals_that_are_made_when_missing(run: Run) -> None:
    """What is made is put there when the function that makes it has returned."""
    totals: Any = collections.defaultdict(lambda: torch.zeros(2))
    if run.remedied:
        totals["loss"] = torch.zeros(2)

    @run.compile
    def added(totals: Any, x: Any) -> Any:
        return totals["loss"] + x  # cause

    for _ in range(2):
        added(totals, ones(2))


@case(
    "", "why-recompile",
    cause="self.longest grows: 4, 5, 6",
    advice="The program decides by self.longest: do that outside of the compiled function, and set",
    counts=(4, 2),
    never=("register_buffer",),
    function="Places",
)  # fmt: skip
def table_that_grows(run: Run) -> None:
    class Places(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.longest = 8 if run.remedied else 4
            self.table = ones(8, 2)

        def forward(self, x: Any) -> Any:
            if x.shape[0] > self.longest:  # cause
                self.longest = x.shape[0]
            return x + self.table[: x.shape[0]]

    places = run.compile(Places())
    for length in (3, 5, 6, 7):
        places(ones(length, 2))


TAGS: set[str] = set()


@case(
    "", "why-recompile",
    cause="TAGS changes: set(), {'tag'}",
    advice="TAGS is changed by the compiled function itself at",
    counts=(2, 1),
)  # fmt: skip
def tags_noted_in_a_set(run: Run) -> None:
    TAGS.clear()

    @run.compile
    def note_the_tag(x: Any) -> Any:
        if not run.remedied:
            TAGS.add("tag")  # cause
        return x * 2

    for _ in range(3):
        note_the_tag(ones(2))
        TAGS.add("tag")


@case(
    "", "why-recompile",
    cause="TAGS changes: set(), {'0'}, {",
    advice="Each value of TAGS is compiled by itself",
    counts=(3, 1),
    never=("is changed by the compiled function itself",),
)  # fmt: skip
def tags_that_the_program_puts_in(run: Run) -> None:
    """The compiled function takes some away, and there are more from call to call."""
    TAGS.clear()

    @run.compile
    def weigh_by_tags(x: Any) -> Any:
        TAGS.discard("none")  # cause
        return x * 2

    for number in range(3):
        weigh_by_tags(ones(2))
        if not run.remedied:
            TAGS.add(str(number))


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
