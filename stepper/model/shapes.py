"""Symbolic shapes: what became known about sizes while a frame was translated, step by step.

A compiler that serves more than one size gives it a *symbol*, e.g. `s77`, and decides about
expressions of symbols. Each such decision is a step, told at the instruction that asked for it;
what is known of a symbol at a moment is what the steps before it have left.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from stepper.model.program import PythonFrame
from stepper.model.trace import EventKind, MomentId

_FLOAT = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.])")


def plain(expression: str) -> str:
    """An expression with floats as a program has them: sympy writes 0.3 as 0.300000000000000."""
    return _FLOAT.sub(lambda found: repr(float(found[0])), expression)


class ShapeStepKind(StrEnum):
    """What became known."""

    SYMBOL = "symbol"
    """A size, or a number, became a symbol of its own."""
    SHARED = "shared"
    """A size took the symbol of another, because both had the same value (duck shaping)."""
    ZERO_ONE = "zero-one"
    """A size that may vary became a number, because it was 0 or 1."""
    STATIC = "static"
    """A size is a number because the program has marked it so (`mark_static`)."""
    UNBACKED = "unbacked"
    """A symbol without a value came to be: what it stands for is known when the graph runs."""
    GUARD = "guard"
    """An expression was evaluated, and that it is so became a condition of the entry."""
    ASSERTION = "assertion"
    """That an expression holds is asserted when the graph runs."""
    SUPPRESSED = "suppressed"
    """An expression was evaluated, and nothing keeps that it is so."""
    ASSUMED = "assumed"
    """An expression without a value was taken to be so, without a condition."""
    REPLACED = "replaced"
    """A symbol is a number, or another expression, from now on."""
    RANGE = "range"
    """The values that a symbol can have became fewer."""
    UNDECIDED = "undecided"
    """An expression without a value was asked for one: that is an error."""


class Why(StrEnum):
    """Why a size or number is a symbol."""

    MARKED = "mark_dynamic"
    MARKED_MAYBE = "maybe_mark_dynamic"
    MARKED_UNBACKED = "mark_unbacked"
    EXPORT = "dynamic_shapes"
    """`torch.export` was told so."""
    MARKED_STATIC = "mark_static"
    LISTED = "dynamic_sources"
    """The setting of this name names it."""
    LISTED_UNBACKED = "unbacked_sources"
    DYNAMIC = "dynamic=True"
    AUTOMATIC = "automatic"
    """The compiler has seen it with other values before: in this run, or in what it keeps of
    earlier ones."""
    OPERATOR = "operator"
    """It comes out of an operator, whose result depends on data."""
    UNKNOWN = ""


class Stage(StrEnum):
    """The part of the compiler that asked."""

    TRACING = "tracing"
    DISPATCH = "AOTAutograd"
    BACKEND = "Inductor"
    CACHE = "a cache"
    """The condition came with a graph that torch had compiled before, in this process or another,
    and had kept."""
    GUARDS = "guards"
    """The guards were being built, when all else was done."""


class Late(StrEnum):
    """Whether something was asked when the attempt was over. No guard checks what is decided then:
    they were made before."""

    NO = ""
    BACKWARD = "backward"
    """While the backward was compiled, since gradients were asked for."""
    OTHERWISE = "later"


class ShapeStep(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Something that became known about sizes."""

    id: int
    attempt: int
    moment: MomentId
    """Whose instruction asked."""
    kind: ShapeStepKind
    symbol: str = ""
    """That the step is about; of expressions: empty."""
    expression: str = ""
    """What holds, is assumed or cannot be decided; REPLACED: what the symbol is now; ZERO_ONE,
    STATIC: the number. As torch writes it; `written` is for people."""
    symbols: tuple[str, ...] = ()
    """Those in the expression, sorted."""
    hint: str = ""
    """The value at hand; empty: there is none."""
    low: str = ""
    high: str = ""
    """The range, both ends included; empty: none is known."""
    source: str = ""
    """What the symbol stands for, e.g. `L['x'].size()[0]`."""
    why: Why = Why.UNKNOWN
    """SYMBOL, SHARED, ZERO_ONE, UNBACKED: why it is to be a symbol; STATIC: why to be none."""
    reason: str = ""
    """The compiler's words, of REPLACED."""
    stage: Stage = Stage.TRACING
    late: Late = Late.NO
    """Then the moment is the newest one that there was, whosever."""
    node: str = ""
    """The FX node whose example value was being computed, or that a later stage was running or
    lowering; empty: there was none. A later stage has a graph of its own, with other names."""
    target: str = ""
    """What that node calls."""
    user_stack: tuple[PythonFrame, ...] = ()
    """The program's lines that the compiler blames, outermost first."""
    node_stack: tuple[PythonFrame, ...] = ()
    """Where the compiler blames no line: those for which the node is there that a later stage was
    at, outermost first."""
    asked_by: tuple[PythonFrame, ...] = ()
    """The compiler's own frames that asked, innermost first, without those that merely decide."""

    @property
    def written(self) -> str:
        """The expression as people write it."""
        return plain(self.expression)

    @property
    def program_stack(self) -> tuple[PythonFrame, ...]:
        """The program's lines for which this was asked, outermost first; empty: not recorded."""
        return self.user_stack or self.node_stack

    @property
    def event(self) -> EventKind:
        """As which kind of event it is told."""
        if self.late:
            return EventKind.SHAPE
        if self.kind is ShapeStepKind.REPLACED and not self.symbols:
            return EventKind.SPECIALIZE
        return _EVENTS[self.kind]

    @property
    def text(self) -> str:
        """In one line, e.g. `Eq(s77, 5)` or `s77 = 5 for L['x'].size()[0]`."""
        match self.kind:
            case (
                ShapeStepKind.SYMBOL
                | ShapeStepKind.SHARED
                | ShapeStepKind.ZERO_ONE
                | ShapeStepKind.STATIC
            ):
                what = self.symbol or self.written
                shared = " shared" if self.kind is ShapeStepKind.SHARED else ""
                hint = f" (now {self.hint})" if self.symbol and self.hint else ""
                return f"{self.source} is{shared} {what}{hint}"
            case ShapeStepKind.UNBACKED:
                return f"{self.symbol} without a value" + (f": {self.source}" * bool(self.source))
            case ShapeStepKind.REPLACED:
                return f"{self.symbol} = {self.written}"
            case ShapeStepKind.RANGE:
                return plain(f"{self.low} <= {self.symbol} <= {self.high}")
            case ShapeStepKind.GUARD:
                return self.written
            case _:
                return f"{self.kind}: {self.written}"


_EVENTS = {
    ShapeStepKind.SYMBOL: EventKind.SYMBOL,
    ShapeStepKind.SHARED: EventKind.SYMBOL,
    ShapeStepKind.UNBACKED: EventKind.SYMBOL,
    ShapeStepKind.ZERO_ONE: EventKind.SPECIALIZE,
    ShapeStepKind.STATIC: EventKind.SPECIALIZE,
    ShapeStepKind.GUARD: EventKind.SHAPE_GUARD,
    ShapeStepKind.ASSERTION: EventKind.SHAPE_GUARD,
    ShapeStepKind.SUPPRESSED: EventKind.SHAPE,
    ShapeStepKind.ASSUMED: EventKind.SHAPE,
    ShapeStepKind.REPLACED: EventKind.SHAPE,
    ShapeStepKind.RANGE: EventKind.SHAPE,
    ShapeStepKind.UNDECIDED: EventKind.DATA_DEPENDENT,
}
SHAPE_EVENTS = frozenset({*_EVENTS.values(), EventKind.SPECIALIZE})
