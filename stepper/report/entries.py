"""Cache entries as a report tells them: guards with what they cost, graph, transformed code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TypeVar

import msgspec

from stepper.analysis.guard_kinds import KINDS
from stepper.analysis.guard_uses import GuardUse, Matched, Uses, guards_of
from stepper.client.text import bytecode_listing, node_meta
from stepper.model import trace
from stepper.model.module_path import layer_of, module_path
from stepper.model.trace import Translation
from stepper.report import contents
from stepper.report.places import Places
from stepper.report.room import Room
from stepper.report.telling import Told

T = TypeVar("T")

_OF_A_GUARD = 600
"""What a guard is long, about."""
_WITHOUT_TARGET = frozenset({"placeholder", "get_attr", "output"})
_TARGETS = 6
_NUMBER = re.compile(r"\d+")


class Entries:
    """Reads entries.

    Args:
        places: tells of places.
        room: how much can be told of guards, nodes and code.
        count: how many entries will be read: what room there is, is for all of them.
    """

    def __init__(self, places: Places, room: Room, count: int) -> None:
        self._places = places
        self._room = room
        self._to_come = count
        self._uses = Uses(places.recording)
        self._kinds: set[str] = set()

    def read(self, item: Translation) -> contents.Entry:
        """The entry that a compilation made."""
        recording, tell = self._places.recording, self._places.tell
        guards = guards_of(recording, item)
        self._kinds.update(guard.kind for guard in guards)
        attempts = recording.attempts(item.id)
        nodes = recording.nodes(None, attempt=attempts[-1].id) if attempts else []
        modules = [self._places.recording.owners.module(node) for node in nodes]
        chosen = self._chosen(item, guards)
        uses = [self._uses.of(Matched(guard, item)) for guard in chosen]
        graph = self._whole("nodes", map(self._node, nodes, modules), len(nodes))
        code = recording.transformed(item.id)
        lines = bytecode_listing(self._places.code(code), None) if code is not None else []
        transformed = self._whole("transformed", map(tell.own, lines), len(lines))
        self._to_come -= 1
        return contents.Entry(
            walk=item.id,
            compile_id=tell.own(item.compile_id),
            name=tell.name(item.name),
            where=self._places.where(item.filename, item.line),
            moment=self._places.moment(item.last_moment or item.first_moment),
            lookups=any(use.lookups for use in uses),
            left_out=(len(uses), len(graph), len(transformed))
            < (len(guards), len(nodes), len(lines)),
            guard_count=len(guards),
            node_count=len(nodes),
            layers=tuple(self._layers(guards, nodes, modules)),
            guards=tuple(map(self._guard, uses)),
            graph=graph,
            transformed=transformed,
        )

    def _share(self, part: str) -> int:
        return self._room.left(part) // max(1, self._to_come)

    def _chosen(self, item: Translation, guards: list[trace.Guard]) -> list[trace.Guard]:
        """The guards to tell of, in order: what failed or costs most, then one of those that only
        differ by their layer, and so on."""
        most = self._share("guards") // _OF_A_GUARD
        if len(guards) <= most:
            return guards
        alike: Counter[tuple[str, str]] = Counter()
        ranks = []
        for at, guard in enumerate(guards):
            shape = (guard.kind, _NUMBER.sub("", guard.source))
            failures, spent = self._uses.cost(Matched(guard, item))
            ranks.append((-failures, -spent, alike[shape], at))
            alike[shape] += 1
        self._room.omit("guards", len(guards) - most)
        return [guards[rank[-1]] for rank in sorted(sorted(ranks)[:most], key=itemgetter(-1))]

    def _whole(self, part: str, records: Iterable[T], count: int) -> tuple[T, ...]:
        """All records of something that says nothing in parts, or none."""
        most, found, size = self._share(part), [], 0
        for each in records:
            found.append(each)
            size += len(msgspec.json.encode(each))
            if size > most:
                self._room.omit(part, count)
                return ()
        self._room.take(part, size)
        return tuple(found)

    def _layers(
        self, guards: list[trace.Guard], nodes: list[trace.Node], modules: list[str]
    ) -> Iterator[contents.Layer]:
        tell = self._places.tell
        kinds: dict[str, Counter[str]] = {}
        targets: dict[str, Counter[str]] = {}
        for guard in guards:
            kinds.setdefault(layer_of(module_path(guard.source)), Counter())[guard.kind] += 1
        for node, module in zip(nodes, modules, strict=True):
            target = node.op if node.op in _WITHOUT_TARGET else node.target
            targets.setdefault(layer_of(module), Counter())[target] += 1
        for layer in dict.fromkeys((*kinds, *targets)):
            checked, called = kinds.get(layer, Counter()), targets.get(layer, Counter())
            yield contents.Layer(
                path=tell.name(layer),
                guards=checked.total(),
                kinds={tell.name(kind): count for kind, count in checked.most_common()},
                nodes=called.total(),
                targets={tell.name(to): count for to, count in called.most_common(_TARGETS)},
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
        measured = bool(use.timed and use.of_nanoseconds)
        return contents.Guard(
            id=guard.id,
            kind=tell.name(guard.kind),
            source=tell.source(guard.source),
            module=tell.name(module_path(guard.source)),
            checks=tuple(self._checks(use)),
            where=None if line is None else self._places.frame(line.place),
            line=tell.line("" if line is None else line.text),
            moment=self._made(guard),
            runs=use.runs,
            failures=use.failures,
            nanoseconds=round(use.nanoseconds / use.timed, 1) if measured else None,
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

    def _node(self, node: trace.Node, module: str) -> contents.Node:
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
            module=tell.name(module),
            moment=self._made(node),
        )
