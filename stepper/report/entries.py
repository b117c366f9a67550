"""Cache entries as a report tells them: guards with what they cost, graph, transformed code."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stepper.analysis.guard_kinds import KINDS
from stepper.analysis.guard_uses import GuardUse, Matched, Uses, guards_of
from stepper.client.text import bytecode_listing, node_meta
from stepper.model import trace
from stepper.model.trace import Translation
from stepper.report import contents
from stepper.report.places import Places
from stepper.report.telling import Told

_MOST = 40_000
"""Guards, nodes and instructions that are told of, or a browser gets slow; entries that come later
are only named."""


class Entries:
    """Reads entries."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._uses = Uses(places.recording)
        self._kinds: set[str] = set()
        self._told = 0

    def read(self, item: Translation) -> contents.Entry:
        """The entry that a compilation made."""
        recording, tell = self._places.recording, self._places.tell
        named = contents.Entry(
            walk=item.id,
            compile_id=tell.own(item.compile_id),
            name=tell.name(item.name),
            where=self._places.where(item.filename, item.line),
            moment=self._places.moment(item.last_moment or item.first_moment),
            lookups=False,
            left_out=self._told > _MOST,
            guards=(),
            graph=(),
            transformed=(),
        )
        if named.left_out:
            return named
        uses = [self._uses.of(Matched(guard, item)) for guard in guards_of(recording, item)]
        self._kinds.update(use.guard.kind for use in uses)
        attempts = recording.attempts(item.id)
        nodes = recording.nodes(None, attempt=attempts[-1].id) if attempts else []
        code = recording.transformed(item.id)
        lines = bytecode_listing(self._places.code(code), None) if code is not None else []
        self._told += len(uses) + len(nodes) + len(lines)
        return msgspec.structs.replace(
            named,
            lookups=any(use.lookups for use in uses),
            guards=tuple(map(self._guard, uses)),
            graph=tuple(map(self._node, nodes)),
            transformed=tuple(map(tell.own, lines)),
        )

    def kinds(self) -> Iterator[contents.GuardKind]:
        """The kinds of guards that were read."""
        tell = self._places.tell
        for name in sorted(self._kinds):
            known = KINDS.get(name)
            protects, fact = (known.protects, known.fact) if known is not None else ("", "")
            yield contents.GuardKind(tell.name(name), tell.own(protects), tell.own(fact))

    def _made(self, found: trace.Guard | trace.Node) -> int:
        """The moment that it belongs to: of its attempt, though it was there before."""
        first = self._places.recording.attempt(found.attempt).first_moment
        return self._places.moment(max(first, found.moment))

    def _guard(self, use: GuardUse) -> contents.Guard:
        guard, tell = use.guard, self._places.tell
        line = use.origin.line
        measured = bool(use.runs and use.of_nanoseconds)
        return contents.Guard(
            id=guard.id,
            kind=tell.name(guard.kind),
            source=tell.source(guard.source),
            checks=tuple(self._checks(use)),
            where=None if line is None else self._places.frame(line.place),
            line=tell.line("" if line is None else line.text),
            moment=self._made(guard),
            runs=use.runs,
            failures=use.failures,
            nanoseconds=round(use.nanoseconds / use.runs, 1) if measured else None,
            share=round(use.nanoseconds / use.of_nanoseconds, 4) if measured else None,
            implied_by=use.implied.by.id if use.implied is not None else None,
            implied_why=tell.own(use.implied.why if use.implied is not None else ""),
        )

    def _checks(self, use: GuardUse) -> Iterator[Told]:
        tell = self._places.tell
        for part in use.checks:
            # What is no code of the guard's is told by us: dtype, sizes and strides of a tensor.
            if not tell.redact:
                yield tell.code(part)
            elif part not in use.guard.code:
                yield tell.sizes(part)

    def _node(self, node: trace.Node) -> contents.Node:
        tell = self._places.tell
        value = node_meta(node)
        inputs = tuple(map(tell.name, node.inputs))
        return contents.Node(
            name=tell.name(node.name),
            op=tell.own(node.op),
            target=tell.name(node.target),
            args=tell.own(", ".join(inputs)) if tell.redact else tell.code(node.args),
            inputs=inputs,
            value=tell.sizes(value) if node.meta is not None else tell.constant(value),
            source=tell.source(node.source),
            graph=tell.name(node.graph),
            moment=self._made(node),
        )
