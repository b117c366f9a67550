"""Watches the engine that decides about sizes: torch's `ShapeEnv`.

The idea. Each decision is one call of a ShapeEnv's method, and a probe stands at its entry (see
`probes`). Some of these calls say all: that a condition is kept, that a symbol without a value was
born, that a decision depends on data. The others only say what was asked for: `create_symbol` may
give a number or somebody else's symbol, a replacement or a range may turn out to be none. What was
asked for is kept with the place where it was, and looked up in the ShapeEnv's own tables at the
next call of a probe or before the next instruction: what stands there has happened.

Nothing is evaluated for that: tables are read, expressions are made texts by sympy, and no method
of a ShapeEnv, a SymInt or a SymNode is called, since these add conditions.

The alternative, torch's structured log, tells the same, but as a text for each event with both
stacks in it, and only to who has set TORCH_TRACE before torch was imported.

What engines differ in is who asks: the program's line, the node, why a size was to be a symbol.
An engine says that in a class of its own, by the methods from `interprets` to `why`.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from torch.fx.traceback import get_current_meta

from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import LiveAttempt
from stepper.engines.common import versions
from stepper.engines.common.node_words import called, stack_of
from stepper.engines.common.versions import source_name
from stepper.model.program import PythonFrame
from stepper.model.shapes import Late, ShapeStep, ShapeStepKind, Stage, Why
from stepper.model.trace import MomentId
from stepper.support.words import one_of
from stepper.uncompiled import keep_out

_ASKING_FRAMES = 8
"""How many of torch's own frames are kept of who asked."""


class Asker(NamedTuple):
    """Who asks a ShapeEnv, and where that is."""

    moment: MomentId
    frame: int | None
    stage: Stage
    late: Late
    node: str
    target: str
    user_stack: tuple[PythonFrame, ...]
    node_stack: tuple[PythonFrame, ...]
    asked_by: tuple[PythonFrame, ...]


class _Claim(NamedTuple):
    """What was asked for, and has to be looked up."""

    kind: ShapeStepKind
    about: Any
    """The symbol; of SYMBOL the Source."""
    asked: Any
    """The expression, or the value."""
    why: Why
    reason: str
    asker: Asker


class Computed(NamedTuple):
    """What an example value is computed for, or what a later stage is at.

    name: of the FX node; empty: it is not made yet.
    target: what it calls.
    stack: the program's lines for which it is there, outermost first.
    """

    name: str
    target: str
    stack: tuple[PythonFrame, ...] = ()


class ShapeWatcher(ABC):
    """Tells what becomes known in one attempt's ShapeEnv. What `versions.POINTS` names are its
    methods of those names, called with what torch's own functions are called with."""

    def __init__(self) -> None:
        self._claims: list[_Claim] = []
        self._ranges: dict[Any, Any] = {}
        """What was told of symbols' ranges."""
        self._sources: dict[Any, set[str]] = {}
        """What symbols were told to stand for."""
        self._static: set[str] = set()
        """Sizes that were told to be marked as static."""
        self._recorder: Recorder
        self._attempt = 0
        """The attempt's number."""
        self._env: Any = None
        self._earliest: MomentId = 0
        """The attempt's first moment, where its ShapeEnv is asked before that."""
        self.replaced: set[str] = set()
        """The symbols that became something else: whoever shows sizes has to look again."""

    def begin(self, recorder: Recorder, attempt: LiveAttempt, env: Any) -> None:
        """An attempt begins, with its ShapeEnv."""
        self.forget()
        self._recorder, self._attempt, self._env = recorder, attempt.id, env

    def succeed(self, other: ShapeWatcher) -> None:
        """Go on where another ends, who knows nothing any more."""
        self._recorder, self._attempt = other._recorder, other._attempt
        self._ranges, other._ranges = other._ranges, {}
        self._sources, other._sources = other._sources, {}
        self._static, other._static = other._static, set()
        other.forget()

    def forget(self) -> None:
        """Hold nothing of an attempt that is over."""
        self._claims.clear()
        self._ranges.clear()
        self._sources.clear()
        self._static.clear()
        self._env = None
        self._earliest = 0
        self.replaced.clear()

    def is_of(self, env: Any) -> bool:
        """Whether a ShapeEnv is that of the attempt that is being made."""
        return env is not None and env is self.env

    @property
    def env(self) -> Any:
        """The ShapeEnv; None: there is none."""
        return self._env

    @property
    def waits(self) -> bool:
        """Whether something has to be looked up."""
        return bool(self._claims)

    # --- what engines differ in

    @abstractmethod
    def interprets(self, code: CodeType) -> bool:
        """Whether a code object is that of the symbolic interpreter's step: what it calls asks."""

    @abstractmethod
    def builds_guards(self, code: CodeType) -> bool:
        """Whether it is that of what makes guards of what was concluded."""

    @abstractmethod
    def computed(self, frame: FrameType) -> Computed | None:
        """What a frame on the way to the ShapeEnv is at; None: at nothing for the program."""

    @abstractmethod
    def user_stack(self, stage: Stage) -> tuple[PythonFrame, ...]:
        """The program's lines that the compiler blames, outermost first."""

    @abstractmethod
    def why(self, source: Any, frame: FrameType | None) -> Why:
        """Why a size or number is to be a symbol, or a size none; `frame` asks for it."""

    def marked_static(self, source: Any, frame: FrameType | None) -> bool:
        """Whether the program has marked a size as static; `frame` asks for it."""
        return self.why(source, frame) is Why.MARKED_STATIC

    def late(self, frame: FrameType) -> Late:
        """Whether the attempt was over when it was asked, by `frame`."""
        return Late.NO

    # --- what is said by the call

    def shape_condition(self, prefix: str, expression: Any) -> None:
        """`_log_guard`: an expression was evaluated or asserted."""
        asserted = prefix.startswith("runtime_assert")
        # Guards were made of a frozen ShapeEnv: it evaluates, and makes no more.
        suppressed = "suppressed" in prefix or (self.env.frozen and not asserted)
        kind = ShapeStepKind.ASSERTION if asserted else ShapeStepKind.GUARD
        self._say(ShapeStepKind.SUPPRESSED if suppressed else kind, expression)

    def symbol_unbacked(self, symbol: Any, source: Any) -> None:
        """`_log_create_unbacked_symbol`: a symbol without a value was born."""
        self.record()
        asker = self._asker()
        from_input = source is not None
        self._sources[symbol] = set()
        self._record(
            asker,
            ShapeStepKind.UNBACKED,
            symbol=str(symbol),
            source=source_name(source) if from_input else "",
            why=self.why(source, sys._getframe(1)) if from_input else Why.OPERATOR,
            **self._range(symbol),
        )

    def shape_undecided(self, expression: Any) -> None:
        """`_make_data_dependent_error`: an expression without a value was asked for one."""
        self._say(ShapeStepKind.UNDECIDED, expression)

    def shape_assumed(self, expression: Any, value: object) -> None:
        """`_log_suppressed_dde`: an expression without a value was taken to have this one."""
        self._say(ShapeStepKind.ASSUMED, expression, f" is {value}")

    # --- what has to be looked up

    def symbol_asked(self, value: object, source: Any, dynamic_dim: Any) -> None:
        """`create_symbol`: a size or a number may become a symbol."""
        if dynamic_dim._name_ == "UNBACKED" or not one_of(type(value), (int, float)):
            return
        if dynamic_dim._name_ == "STATIC":
            self._number_asked(value, source)
            return
        if value in (0, 1) and not versions.is_size_or_number(source):
            return  # nearly every tensor begins at offset 0 and has a stride of 1
        self.record()
        asker = self._asker()
        why = self.why(source, sys._getframe(1))
        self._claims.append(_Claim(ShapeStepKind.SYMBOL, source, value, why, "", asker))

    def _number_asked(self, value: object, source: Any) -> None:
        """A size is to be a number: that is told where the program has marked it so."""
        if versions.is_size_or_number(source) and self.marked_static(source, sys._getframe(2)):
            self._record_static(source_name(source), value)

    def _record_static(self, name: str, value: object) -> None:
        if name not in self._static:  # a later stage, or what was given up, asks again
            self._static.add(name)
            self.record()
            number = str(value)
            self._record(
                self._asker(),
                ShapeStepKind.STATIC,
                expression=number,
                source=name,
                hint=number,
                why=Why.MARKED_STATIC,
            )

    def replacement_asked(self, symbol: Any, target: Any, reason: str) -> None:
        """`_set_replacement`: a symbol may be something else from now on."""
        self._recorder.flush_pending()  # what has the symbol is told as it is before
        if self.env.replacements.get(symbol) != target:
            self._claim(ShapeStepKind.REPLACED, symbol, target, reason)

    def range_asked(self, symbol: Any) -> None:
        """`_update_var_to_range`: a symbol may have fewer values from now on."""
        if symbol in self._ranges:
            self._claim(ShapeStepKind.RANGE, symbol, None, "")

    def _claim(self, kind: ShapeStepKind, about: Any, asked: Any, reason: str) -> None:
        # What waits is looked up only when something else has been asked for: a replacement asks
        # for ranges before it is made.
        self._claims.append(_Claim(kind, about, asked, Why.UNKNOWN, reason, self._asker()))

    def record(self) -> None:
        """Look up what waits, and tell what has happened."""
        claims, self._claims = self._claims, []
        for claim in claims:
            if claim.kind is ShapeStepKind.SYMBOL:
                self._record_symbol(claim)
            elif claim.kind is ShapeStepKind.REPLACED:
                self._record_replacement(claim)
            else:
                self._record_range(claim)

    def _record_symbol(self, claim: _Claim) -> None:
        source = source_name(claim.about)
        found = self.env.source_to_var.get(source)
        facts = {"source": source, "hint": str(claim.asked), "why": claim.why}
        if found is None:
            if claim.asked in (0, 1):
                self._record(
                    claim.asker, ShapeStepKind.ZERO_ONE, expression=str(claim.asked), **facts
                )
            return
        stands_for = self._sources.setdefault(found, set())
        if source in stands_for:
            return  # a later stage has asked again
        kind = ShapeStepKind.SHARED if stands_for else ShapeStepKind.SYMBOL
        stands_for.add(source)
        self._record(claim.asker, kind, symbol=str(found), **facts, **self._range(found))

    def _record_replacement(self, claim: _Claim) -> None:
        if self.env.replacements.get(claim.about) == claim.asked:
            self.replaced.add(str(claim.about))
            self._record(
                claim.asker,
                ShapeStepKind.REPLACED,
                symbol=str(claim.about),
                expression=str(claim.asked),
                symbols=_symbols(claim.asked),
                source=self._stands_for(claim.about),
                reason=claim.reason,
            )

    def _record_range(self, claim: _Claim) -> None:
        symbol = claim.about
        known = self._ranges.get(symbol)
        if known is not None and self.env.var_to_range.get(symbol) != known:
            facts = self._range(symbol)
            self._record(
                claim.asker,
                ShapeStepKind.RANGE,
                symbol=str(symbol),
                source=self._stands_for(symbol),
                **facts,
            )

    # --- telling

    def _say(self, kind: ShapeStepKind, expression: Any, more: str = "") -> None:
        self.record()
        text = f"{expression}{more}"
        self._record(self._asker(), kind, expression=text, symbols=_symbols(expression))

    def _record(self, asker: Asker, kind: ShapeStepKind, **facts: Any) -> None:
        step = ShapeStep(
            id=0,
            attempt=self._attempt,
            moment=asker.moment,
            kind=kind,
            stage=asker.stage,
            late=asker.late,
            node=asker.node,
            target=asker.target,
            user_stack=asker.user_stack,
            node_stack=asker.node_stack,
            asked_by=asker.asked_by,
            **facts,
        )
        self._recorder.shape(step, asker.frame)

    def _range(self, symbol: Any) -> dict[str, str]:
        found = self.env.var_to_range.get(symbol)
        if found is None:
            return {}
        self._ranges[symbol] = found
        return {"low": str(found.lower), "high": str(found.upper)}

    def _stands_for(self, symbol: Any) -> str:
        sources = self.env.var_to_sources.get(symbol)
        return source_name(sources[0]) if sources else ""

    def _asker(self) -> Asker:
        recorder = self._recorder
        at = recorder.stepping or recorder.current
        stage, computed, asked_by = self._asking(sys._getframe(1))
        user_stack = self.user_stack(stage)
        later = not user_stack and stage is not Stage.TRACING
        return Asker(
            max(recorder.moment, self._earliest),
            None if at is None else at.id,
            stage,
            self.late(sys._getframe(1)),
            "" if computed is None else computed.name,
            "" if computed is None else computed.target,
            user_stack,
            _stack_of(computed) if later else (),
            asked_by,
        )

    def _asking(
        self, frame: FrameType | None
    ) -> tuple[Stage, Computed | None, tuple[PythonFrame, ...]]:
        """The stage that a ShapeEnv is asked in, what is computed, and torch's frames that ask,
        from the innermost outwards."""
        stage, computed = Stage.TRACING, None
        asking: list[PythonFrame] = []
        while frame is not None and not self.interprets(frame.f_code):
            code = frame.f_code
            if computed is None:
                computed = self.computed(frame)
            if stage is Stage.TRACING:
                stage = Stage.GUARDS if self.builds_guards(code) else _stage(code)
            if len(asking) < _ASKING_FRAMES and versions.asks_for_shapes(code.co_filename):
                line = frame.f_lineno or 0
                asking.append(PythonFrame(code.co_filename, line, code.co_qualname))
            frame = frame.f_back
        return stage, computed, tuple(asking)


def hearer(
    meaning: str,
    find: Callable[[Any], ShapeWatcher | None],
    waits: Callable[[], None] = lambda: None,
) -> Callable[..., None]:
    """What hears a decision about sizes, and has it told.

    meaning: which, of `versions.POINTS`.
    find: who watches a ShapeEnv; None: nobody.
    waits: called when something has to be looked up before the next instruction.
    """
    told: Callable[..., None] = getattr(ShapeWatcher, meaning)

    def heard(env: Any, *asked: Any) -> None:
        watcher = find(env)
        if watcher is not None:
            told(watcher, *asked)
            if watcher.waits:
                waits()

    return heard


def run_in_graph(frame: FrameType) -> Computed | None:
    """The node that a later stage is at in this frame; None: it is at none. (The backend runs
    graphs of its own, for the bodies of loops: their nodes have no stack.)"""
    node: Any = frame.f_locals.get("node") if versions.is_running_graph(frame.f_code) else None
    if not getattr(node, "stack_trace", None):
        return None
    return Computed(node.name, called(node.target), stack_of(node.stack_trace))


def _symbols(expression: Any) -> tuple[str, ...]:
    return tuple(sorted(map(str, expression.free_symbols)))


def _stage(code: CodeType) -> Stage:
    if versions.is_cache(code):
        return Stage.CACHE
    part = versions.part_of_torch(code.co_filename)
    if part == "_inductor":
        return Stage.BACKEND
    return Stage.DISPATCH if part == "_functorch" else Stage.TRACING


def _stack_of(computed: Computed | None) -> tuple[PythonFrame, ...]:
    """The program's lines for which a node is there. While gradients are traced no node is run:
    then torch keeps the text for whatever it makes."""
    return stack_of(get_current_meta().get("stack_trace")) if computed is None else computed.stack


MARKED = {
    "_dynamo_dynamic_indices": Why.MARKED,
    "_dynamo_unbacked_indices": Why.MARKED_UNBACKED,
    "_dynamo_strict_unbacked_indices": Why.MARKED_UNBACKED,
    "_dynamo_weak_dynamic_indices": Why.MARKED_MAYBE,
    "_dynamo_static_indices": Why.MARKED_STATIC,
}
"""The attributes of a tensor in which `mark_dynamic` and the like leave what they were given: what
comes first outweighs the others."""


keep_out()
