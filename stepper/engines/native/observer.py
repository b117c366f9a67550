"""Who is told what a translation does.

The translator is ours, and so it tells its observer itself; nothing has to be hooked. Without a
session the observer does nothing. `explain` listens by `OBSERVERS.explanation`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch.fx

    from stepper.engines.native.codegen import PyCodegen
    from stepper.engines.native.convert_frame import GuardedCode, Translation
    from stepper.engines.native.fork import Plan
    from stepper.engines.native.guards import Guard
    from stepper.engines.native.opcodes import Instruction
    from stepper.engines.native.variables.base import Guards, VariableTracker


class TranslationObserver:
    """Told about one translation; this one does nothing with it."""

    follows = False
    """Whether it wants to know what guards are for: `acts`, `chosen` and `needs` are called."""

    def attempt_begins(self, plan: Plan) -> None:
        """The interpreter begins at the first instruction."""

    def checkpoint(self) -> None:
        """Something is going to be made that lasts.

        Raises:
            ForkAnalysis: the user wants to go back.
        """

    def restarts(self, reason: str) -> None:
        """It is going to begin again."""

    def enter(self, tx: Any) -> None:
        """A frame, the first or an inlined one, begins."""

    def leave(self, tx: Any) -> None:
        """A frame ends."""

    def step(self, tx: Any) -> None:
        """An instruction is about to be interpreted."""

    def guard_installed(self, guard: Guard) -> None:
        """A guard is new."""

    def guard_withdrawn(self, guard: Guard) -> None:
        """A guard was taken back."""

    def node_made(self, node: torch.fx.Node, guards: Guards) -> None:
        """The graph has one more node, which depends on these guards."""

    def node_erased(self, node: torch.fx.Node) -> None:
        """A node was taken back."""

    def acts(self, guards: Guards) -> Callable[[], object] | None:
        """An operator that depends on these guards does more than give a value. Returns how to take
        that back, None: nobody has noted it."""
        return None

    def chosen(self, guards: Guards) -> Callable[[], object] | None:
        """What is interpreted next was chosen by what these guards hold; returns the same."""
        return None

    def needs(self, codegen: PyCodegen, roots: Iterable[VariableTracker]) -> None:
        """The frame's code is going to be written, and these values are what it is for."""

    def graph_break(self, tx: Any, inst: Instruction, reason: str) -> None:
        """The graph is broken before the instruction."""

    def compiled(self, tx: Any, entry: GuardedCode) -> None:
        """The translation has ended with an entry."""

    def skipped(self, reason: str) -> None:
        """The translation has ended with nothing."""


class Explanation:
    """What was captured while it listened.

    graphs: of each code, by name, its graphs.
    breaks: code name, line, reason.
    skips: code name, reason.
    """

    def __init__(self) -> None:
        self.graphs: list[tuple[str, Any]] = []
        self.breaks: list[tuple[str, int | None, str]] = []
        self.skips: list[tuple[str, str]] = []

    @property
    def graph_count(self) -> int:
        """How many graphs were made."""
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        """How many times a graph was broken."""
        return len(self.breaks)

    @property
    def op_count(self) -> int:
        """How many operations are in all graphs together."""
        calls = ("call_function", "call_method", "call_module")
        return sum(node.op in calls for _, gm in self.graphs for node in gm.graph.nodes)

    def __str__(self) -> str:
        lines = [
            f"{self.graph_count} graphs, {self.op_count} operations, "
            f"{self.graph_break_count} graph breaks"
        ]
        lines += [f"  break in {name} line {line}: {why}" for name, line, why in self.breaks]
        lines += [f"  {name} runs as it is: {why}" for name, why in self.skips]
        return "\n".join(lines)


class Decision(NamedTuple):
    """What becomes of a call instead of a translation; no entry: it runs as it is."""

    entry: GuardedCode | None


class Observers:
    """Whom translations tell."""

    def __init__(self) -> None:
        self.engine: Any = None
        self.explanation: Explanation | None = None

    def begin(self, translation: Translation) -> TranslationObserver:
        """A translation begins."""
        if self.engine is None:
            return TranslationObserver()
        observer: TranslationObserver = self.engine.translation_begins(translation)
        return observer

    def decided(self, code: types.CodeType) -> Decision | None:
        """What the user has decided about a call of the code; None: to translate it."""
        if self.engine is None:
            return None
        decision: Decision | None = self.engine.decided(code)
        return decision

    def cache_limit(self, code: types.CodeType, text: str) -> None:
        """A code is given up, because it was captured too often."""
        if self.engine is not None:
            self.engine.cache_limit(code, text)

    def note_break(self, code: types.CodeType, line: int | None, reason: str) -> None:
        """For `explain`."""
        if self.explanation is not None:
            self.explanation.breaks.append((code.co_name, line, reason))

    def note_skip(self, code: types.CodeType, reason: str) -> None:
        """For `explain`."""
        if self.explanation is not None:
            self.explanation.skips.append((code.co_name, reason))

    def note_graph(self, code: types.CodeType, gm: Any) -> None:
        """For `explain`."""
        if self.explanation is not None:
            self.explanation.graphs.append((code.co_name, gm))


OBSERVERS = Observers()
