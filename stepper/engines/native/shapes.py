"""What the native engine knows of who asks about sizes; see `stepper.engines.common.shapes`.

Its ShapeEnv is torch's, so what it decides is heard where Dynamo's is. Two things are the
compiler's own: that a size of 0 or 1 is a number is decided before a ShapeEnv is asked (see
`SymbolicShapes`), and a node is made when its example value is known, so has no name before.
"""

from __future__ import annotations

import inspect
from itertools import islice
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from stepper.engines.common.node_words import called
from stepper.engines.common.shapes import Computed, ShapeWatcher
from stepper.engines.common.versions import is_running_graph
from stepper.model.program import PythonFrame
from stepper.model.shapes import ShapeStepKind, Stage, Why
from stepper.native.tracing.output_graph import OutputGraph
from stepper.native.tracing.symbolic_convert import InstructionTranslatorBase
from stepper.native.tracing.symbolic_shapes import Cause, SymbolicShapes
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    import torch.fx

    from stepper.native.protocols import Translator

_STEP = InstructionTranslatorBase.step.__code__
_CONDITIONS = SymbolicShapes.conditions.__code__
_RUN_FAKE = inspect.unwrap(OutputGraph._run_fake).__code__

_WHY = {
    Cause.MARKED: Why.MARKED,
    Cause.WISHED: Why.MARKED_MAYBE,
    Cause.ASKED: Why.DYNAMIC,
    Cause.CHANGED: Why.AUTOMATIC,
    Cause.UNBACKED: Why.MARKED_UNBACKED,
    Cause.LISTED: Why.LISTED,
    Cause.LISTED_UNBACKED: Why.LISTED_UNBACKED,
    Cause.STATIC: Why.MARKED_STATIC,
}

_Place = tuple[tuple[CodeType, int], ...]
"""Codes and the offsets in them at which they are, outermost first."""


class NativeShapes(ShapeWatcher):
    """Watches the ShapeEnv of one attempt of the native compiler."""

    def __init__(self) -> None:
        super().__init__()
        self.txs: list[Translator] = []
        """What interprets at present, the innermost last."""
        self._shapes: SymbolicShapes
        self._places: dict[torch.fx.Node, _Place] = {}
        self._known: set[str] = set()

    def follow(self, shapes: SymbolicShapes) -> None:
        """These are the symbols of the attempt."""
        self._shapes = shapes

    def forget(self) -> None:
        super().forget()
        self._places.clear()
        self._known.clear()

    def node_made(self, node: torch.fx.Node) -> None:
        """A node is new: it is there for the instruction that is being interpreted."""
        self._places[node] = _place(self.txs[-1] if self.txs else None)

    def known(self, name: str, value: int, cause: Cause) -> None:
        """A size or number of this name would be a symbol if it was not 0 or 1, or not marked."""
        if cause is Cause.STATIC:
            self._record_static(name, value)
            return
        if name in self._known:
            return  # what was given up is tried again
        self._known.add(name)
        self.record()
        self._record(
            self._asker(),
            ShapeStepKind.ZERO_ONE,
            expression=str(value),
            source=name,
            hint=str(value),
            why=_WHY[cause],
        )

    def interprets(self, code: CodeType) -> bool:
        return code is _STEP

    def builds_guards(self, code: CodeType) -> bool:
        return code is _CONDITIONS

    def computed(self, frame: FrameType) -> Computed | None:
        """The operator that is run on fake tensors, or the node of our graph that a later stage is
        at; its own graphs have no lines of the program."""
        if frame.f_code is _RUN_FAKE:
            return Computed("", called(frame.f_locals["target"]))
        if is_running_graph(frame.f_code):
            node: Any = frame.f_locals.get("node")
            place = None if node is None else self._places.get(node)
            if place is not None:
                return Computed(node.name, called(node.target), _lines(place))
        return None

    def user_stack(self, stage: Stage) -> tuple[PythonFrame, ...]:
        if stage is not Stage.TRACING or not self.txs:
            return ()
        return user_stack(self.txs[-1])

    def why(self, source: Any, frame: FrameType | None) -> Why:
        index = getattr(source, "idx", None)
        name = source.name if index is None else source.base.name
        cause = self._shapes.causes.get((name if type(name) is str else name(), index))
        return Why.UNKNOWN if cause is None else _WHY[cause]


def user_stack(tx: Translator | None) -> tuple[PythonFrame, ...]:
    """Where a translator and its callers are in the program, outermost first."""
    return _lines(_place(tx))


def _place(tx: Translator | None) -> _Place:
    found: list[tuple[CodeType, int]] = []
    while tx is not None:
        found.append((tx.f_code, tx.current_instruction.offset))
        tx = tx.parent
    return tuple(found[::-1])


def _lines(place: _Place) -> tuple[PythonFrame, ...]:
    found = []
    for code, offset in place:
        line, *_ = next(islice(code.co_positions(), offset // 2, None))
        found.append(PythonFrame(code.co_filename, line or code.co_firstlineno, code.co_name))
    return tuple(found)


keep_out()
