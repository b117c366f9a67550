"""Whom the recorder talks to: what it writes to, who decides whether to stand still, and who knows
what a tracker is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, Protocol

from stepper._C import Facts, Steps
from stepper.debuggee.engine import Subject
from stepper.model import trace
from stepper.model.program import Code
from stepper.model.trace import Block, EventKind
from stepper.model.value import ValueId


class AddEvent(Protocol):
    """Tells an event; see `stepper.recording.writer.Writer.event`."""

    def __call__(
        self,
        moment: int,
        kind: EventKind,
        text: str,
        ref: int | None = None,
        frame: int | None = None,
        /,
    ) -> None: ...


class Sink(Protocol):
    """What the recorder writes to; see `stepper.recording.writer.Writer`."""

    moments: Callable[[], tuple[int, int, bytes] | None]
    descriptions: Callable[[], tuple[int, int, bytes] | None]
    frames: Callable[[], tuple[list[int | None], list[int]]]
    before_commit: Callable[[], None]

    def keyframe(self, moment: int, state: bytes) -> None: ...
    def code(self, code: Code) -> None: ...
    def value(self, id: int, body: bytes) -> None: ...
    def translation(self, t: trace.Translation) -> None: ...
    def attempt(self, a: trace.Attempt) -> None: ...
    def frame(
        self,
        id: int,
        attempt: int,
        parent: int | None,
        depth: int,
        code: int,
        first_moment: int,
        call_moment: int | None,
    ) -> None: ...
    def frame_end(self, frame: int, last_moment: int) -> None: ...
    def guards(
        self,
        first: int,
        attempt: int,
        moments: Sequence[int],
        kinds: Sequence[str],
        sources: Sequence[str],
        scopes: Sequence[str],
        lines: Sequence[str],
    ) -> None: ...
    def guard_codes(self, translation: int, codes: dict[int, tuple[str, ...]]) -> None: ...
    def guard_withdrawn(self, id: int, moment: int) -> None: ...
    @property
    def node(self) -> Callable[[trace.Node], None]: ...
    def node_erased(self, id: int, moment: int) -> None: ...
    def side_effect(self, s: trace.SideEffect) -> None: ...
    def graph_break(self, b: trace.GraphBreak) -> None: ...
    @property
    def event(self) -> AddEvent: ...
    @property
    def event_late(self) -> AddEvent: ...
    @property
    def event_at(self) -> Callable[[Steps[Any], EventKind, str, int | None], None]: ...
    def flush(self) -> None: ...


class Judge(Protocol):
    """Who decides whether to stand still; see `stepper.debuggee.controller.Controller`."""

    alert: bool
    wanted: Collection[EventKind]
    passing: bool
    stood: float

    @property
    def stands_here(self) -> bool: ...

    def at_moment(
        self, moment: int, frame: int, attempt: int, depth: int, code: Code, ip: int
    ) -> None: ...
    def occurred(self, kind: EventKind, moment: int, text: str, subject: Subject) -> None: ...
    def at_next_moment(self, tell: Callable[[], None]) -> None: ...
    def request_stop(self, reason: str, text: str = "") -> None: ...
    @property
    def stands(self) -> bool: ...
    def notice(self, text: str) -> None: ...


# The flavours of trackers; csrc/known.h has the same numbers.
Flavour = Literal[0, 1, 2, 3]
ORDINARY: Literal[0] = 0
CONSTANT: Literal[1] = 1
"""Can neither change nor have children; equal ones need not be told apart."""
LAZY: Literal[2] = 2
"""Stands for another tracker, once that is made."""
NOTHING: Literal[3] = 3
"""Is no value, like the NULL below a callable; all are the same."""

# How trackers of a class are described; csrc/facts.c has the same numbers.
Recipe = Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
BY_ENGINE: Literal[0] = 0
"""`Describer.special` describes it."""
BY_NAME: Literal[1] = 1
"""By what it stands for, and the trackers among its fields."""
AS_SEQUENCE: Literal[2] = 2
"""By the trackers in its field `items`."""
AS_LAZY: Literal[3] = 3
"""As what it stands for, once that is made, else by `Describer.special`."""
AS_CONSTANT: Literal[4] = 4
"""By its field `value`, if that is of a common type, else by `Describer.special`."""
AS_MAPPING: Literal[5] = 5
"""By the trackers in its field `items`, if that is an exact dict, else by `Describer.special`."""
AS_TENSOR: Literal[6] = 6
"""By its properties and its node, if its sizes are numbers, else by `Describer.special`."""
AS_SET: Literal[7] = 7
"""By the trackers that the keys in its field `items` stand for, if that is an exact dict."""
AS_PARTS: Literal[8] = 8
"""A range or a slice, by the three trackers in its field `items`."""
AS_CELL: Literal[9] = 9
"""By its name, and what was stored in it last."""

MAX_ITEMS = 100
"""Children shown of one container; its true length is recorded beside them."""


class Describer(Protocol):
    """The engine's knowledge of trackers. `csrc/facts.c` asks it what it cannot read itself."""

    facts: Facts
    """Which describes, and knows what was described."""
    realized: dict[int, Any]
    """Not empty while some lazy trackers are to be shown as they were."""
    alike: frozenset[type]
    """Types of constants, beyond None, bool, int and str, whose equals have the same repr."""

    def kind(self, kind: type) -> tuple[Recipe, str, str, str]:
        """Of a class: how to describe its trackers, its name, the name of the Python type they
        stand for, what they stand for by name; empty where that differs."""

    def special(
        self, tracker: object, fields: dict[str, Any], number: Callable[[object], ValueId]
    ) -> int | None:
        """The id of a tracker's description; None: it is like the others, by name."""

    def words(self, fields: dict[str, Any]) -> tuple[str, str]:
        """The names of the type and of the thing that a tracker stands for, as its fields tell."""

    def tensor(self, properties: tuple[Any, ...]) -> tuple[str, str, bytes]:
        """The name of a tensor's type, its short form and its encoded `TensorMeta`, asked once for
        each dtype, size, stride, device, requires_grad, layout and class."""

    def key_text(self, key: object) -> str:
        """A key of a mapping, in words."""

    def mutability(self, kind: type) -> tuple[str, bool]:
        """A mutation type in words, and whether attributes stored on such a tracker are pending."""

    def attributes(self, tracker: object) -> dict[str, object] | None:
        """The attributes that are pending."""

    def source_text(self, source: object) -> str:
        """The expression of a source."""

    def take_shown_before(self) -> list[object]: ...
    def flavour(self, kind: type) -> Flavour: ...
    def block(self, translator: Any, block: Any) -> Block: ...
    def speculation(self, speculation: Any) -> str: ...
