"""Who is told what the compiler does.

Whoever wants to watch it, a debugger for one, puts a `Watcher` of its own at `WATCHING.watcher`.
The compiler knows nothing of who that is: it calls the methods that are declared here, which do
nothing as long as nobody watches. A watcher may do more than look: decide what becomes of a call
(`decided`), and have a translation begin again by another plan (`TranslationWatcher.checkpoint`).
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    import torch.fx

    from stepper.native.bytecode.opcodes import Instruction
    from stepper.native.explanation import Explanation
    from stepper.native.guards.guard import Guard
    from stepper.native.protocols import Codegen, Translator
    from stepper.native.runtime.backends import Backend
    from stepper.native.runtime.cache_entry import GuardedCode
    from stepper.native.skip_reasons import Call
    from stepper.native.tracing.plan import Plan
    from stepper.native.tracing.symbolic_shapes import Cause
    from stepper.native.variables.base import Guards, VariableTracker


class CapturedFrame(Protocol):
    """A translation, as far as its watcher may ask it.

    dynamic: whether sizes and ints are symbols; a watcher may set it before anything is done.
    entry: what came of it; None: nothing yet, or nothing.
    """

    code: types.CodeType
    function: types.FunctionType
    f_locals: dict[str, object]
    backend: Backend
    dynamic: bool | None
    entry: GuardedCode | None


class TranslationWatcher:
    """Told about one translation; this one does nothing with it."""

    follows = False
    """Whether it wants to know what guards are for, and what is changed: `acts`, `chosen`, `needs`
    and `changed` are called."""

    def attempt_begins(self, plan: Plan) -> None:
        """The interpreter begins at the first instruction."""

    def checkpoint(self) -> None:
        """Something is going to be made that lasts.

        Raises:
            AnotherPlan: the translation is to begin again, by another plan.
        """

    def restarts(self, reason: str) -> None:
        """The translation is going to begin again."""

    def enter(self, tx: Translator) -> None:
        """A frame, the first or an inlined one, begins."""

    def leave(self, tx: Translator) -> None:
        """A frame ends."""

    def step(self, tx: Translator) -> bool:
        """An instruction is about to be interpreted; whether the watcher has had it that the
        translator goes on at another one instead."""
        return False

    def guard_installed(self, guard: Guard) -> None:
        """A guard is new."""

    def guard_withdrawn(self, guard: Guard) -> None:
        """A guard was taken back."""

    def node_made(self, node: torch.fx.Node, guards: Guards) -> None:
        """The graph has one more node, which depends on these guards."""

    def node_erased(self, node: torch.fx.Node) -> None:
        """A node was taken back."""

    def changed(self, owner: VariableTracker, what: str, value: VariableTracker | None) -> None:
        """Something was done to an object, if the watcher follows.

        what: an attribute, if there is a `value` that was stored there; else a method.
        """

    def size_known(self, name: str, value: int, cause: Cause) -> None:
        """The size or number of this expression is not a symbol, because it is 0 or 1.

        cause: why it would have been one.
        """

    def acts(self, guards: Guards) -> Callable[[], object] | None:
        """An operator that depends on these guards does more than give a value. Returns how to take
        that back, None: nobody has noted it."""
        return None

    def chosen(self, guards: Guards) -> Callable[[], object] | None:
        """What is interpreted next was chosen by what these guards hold; returns the same."""
        return None

    def needs(self, codegen: Codegen, roots: Iterable[VariableTracker]) -> None:
        """The frame's code is going to be written, and these values are what it is for."""

    def graph_break(self, tx: Translator, inst: Instruction, reason: str, *, resumes: bool) -> None:
        """The graph is broken before the instruction; it goes on there, or that is an error."""

    def backend_called(self) -> None:
        """The backend is about to be given the graph, for which it can take long."""

    def compiled(self, tx: Translator, entry: GuardedCode) -> None:
        """The translation has ended with an entry."""

    def skipped(self, reason: str) -> None:
        """The translation has ended with nothing."""

    def failed(self, exception: str, reason: str, *, traced: bool) -> None:
        """The translation has ended with nothing, and that is an error of the call.

        exception: the name of its class.
        traced: the newest instruction is to blame.
        """


class Decision(NamedTuple):
    """What becomes of a call instead of a translation; no entry: it runs as it is."""

    entry: GuardedCode | None


class Watcher:
    """Told about translations; this one does nothing with it."""

    def translation_begins(self, translation: CapturedFrame) -> TranslationWatcher:
        """A frame is going to be translated; who is told of that."""
        return TranslationWatcher()

    def mark(self) -> Callable[[str], None]:
        """What ends, given the name of an exception, all that has begun in this thread since and
        that the exception has left."""
        return lambda left_by: None

    def decided(self, code: types.CodeType) -> Decision | None:
        """What has been decided about a call of the code; None: to translate it."""
        return None

    def cache_limit(self, code: types.CodeType, text: str) -> None:
        """A code is given up, because it was captured too often."""

    def refused(self, call: Call, backend: object, message: str) -> None:
        """A call that no entry serves is about to be an error."""


NOBODY = Watcher()


class Watching:
    """Who watches at present.

    explanation: what `explain` collects, while it does.
    """

    def __init__(self) -> None:
        self.watcher = NOBODY
        self.explanation: Explanation | None = None

    def note_break(self, code: types.CodeType, line: int | None, reason: str) -> None:
        """For `explain`."""
        if self.explanation is not None:
            self.explanation.breaks.append((code.co_name, line, reason))

    def note_skip(self, code: types.CodeType, reason: str) -> None:
        """For `explain`."""
        if self.explanation is not None:
            self.explanation.skips.append((code.co_name, reason))

    def note_graph(self, code: types.CodeType, gm: torch.fx.GraphModule) -> None:
        """For `explain`."""
        if self.explanation is not None:
            self.explanation.graphs.append((code.co_name, gm))


WATCHING = Watching()


keep_out()
