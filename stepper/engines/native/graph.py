"""Tells of the nodes that a translation makes, and of those whose sizes are other ones by now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
import torch.fx

from stepper.engines.common.node_words import example_of
from stepper.engines.common.tensors import symbols_in
from stepper.model import trace
from stepper.support.words import callable_name, plain_text

if TYPE_CHECKING:
    from stepper.debuggee.engine import Recorder
    from stepper.debuggee.mirror import LiveAttempt
    from stepper.model.ranges import Ranges

_STEP = 1024.0
"""Between the ranks of two nodes."""
_INPUTS = -(2.0**40)
"""The rank of the first input: inputs come before all others, in the order in which they came."""


class NodeRows:
    """The nodes of one attempt that were told of."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._attempt: LiveAttempt
        self._recorded: dict[torch.fx.Node, trace.Node] = {}
        self._count = 0
        self._with: dict[str, dict[torch.fx.Node, None]] = {}
        """The nodes of which a symbol was said."""

    def begin(self, attempt: LiveAttempt) -> None:
        """An attempt begins, with an empty graph."""
        self._attempt = attempt
        self._recorded.clear()
        self._with.clear()

    def made(self, node: torch.fx.Node, source: str, guards: Ranges) -> None:
        """A node is new; `source`: where an input comes from."""
        self._count += 1
        meta, text = example_of(node.meta.get("example_value"))
        first = _INPUTS if node.op == "placeholder" else 0.0
        record = trace.Node(
            id=next(self._recorder.node_ids),
            attempt=self._attempt.id,
            moment=self._recorder.moment,
            graph="",
            rank=first + self._count * _STEP,
            name=node.name,
            op=node.op,
            target=node.target if isinstance(node.target, str) else callable_name(node.target),
            args=", ".join(map(_argument, node.args)),
            inputs=tuple(dict.fromkeys(each.name for each in node.all_input_nodes)),
            meta=meta,
            meta_text=text,
            source=source,
            guards=guards,
        )
        self._record(node, record, known=False)

    def erased(self, node: torch.fx.Node) -> None:
        """A node was taken back."""
        told = self._recorded.pop(node, None)
        if told is not None:
            self._recorder.node_erased(told.id)

    def resized(self, symbols: Iterable[str]) -> None:
        """These symbols are something else from now on, so nodes whose sizes have them are, too."""
        found = [node for symbol in symbols for node in self._with.pop(symbol, ())]
        for node in dict.fromkeys(found):
            old = self._recorded.get(node)
            meta, text = example_of(node.meta.get("example_value"))
            if old is None or (meta, text) == (old.meta, old.meta_text):
                continue
            recorder = self._recorder
            recorder.node_erased(old.id)
            number, moment = next(recorder.node_ids), recorder.moment
            new = msgspec.structs.replace(old, id=number, renamed=moment, meta=meta, meta_text=text)
            self._record(node, new, known=True)

    def _record(self, node: torch.fx.Node, record: trace.Node, *, known: bool) -> None:
        self._recorded[node] = record
        for symbol in symbols_in(record.meta_text, record.meta):
            self._with.setdefault(symbol, {})[node] = None
        self._recorder.node(self._attempt, record, known=known)


def _argument(argument: object) -> str:
    if isinstance(argument, torch.fx.Node):
        return argument.name
    if isinstance(argument, list | tuple):
        return f"({', '.join(map(_argument, argument))})"
    if type(argument) is slice:
        parts = (argument.start, argument.stop, argument.step)
        return f"slice({', '.join(map(_argument, parts))})"
    return plain_text(argument)
