"""What an attempt found: its guards, nodes, side effects and graph breaks.

Each kind is kept as one list per attempt, read once and extended after a refresh; what was there at
a moment is then a slice of it. Rows are appended in the order of moments, so an attempt's part of
the table is found by bisecting. Two kinds change after they were written, until the translation is
over: a guard gets its code when it is built (told apart, all of a translation's at once) and can be
withdrawn, and a node can be erased.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from stepper.model.trace import Attempt, GraphBreak, Guard, Node, SideEffect
from stepper.recording.catalog import Catalog, unpacked
from stepper.recording.database import Database


class _Found(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def moment(self) -> int: ...


Thing = TypeVar("Thing", bound=_Found)
Row = TypeVar("Row")
Cell = TypeVar("Cell")


class _List(Generic[Thing]):
    """One attempt's things of one kind, in order."""

    def __init__(self, start: int) -> None:
        self.things: list[Thing] = []
        self.moments: list[int] = []
        self.next_id = start
        self.generation = -1
        self.settled = False

    def extend(self, things: Sequence[Thing]) -> None:
        if things:
            self.things.extend(things)
            self.moments.extend(map(_appeared, things))
            self.next_id = things[-1].id + 1

    def before(self, moment: int | None) -> list[Thing]:
        if moment is None:
            return list(self.things)
        return self.things[: bisect_left(self.moments, moment)]

    def replace(self, id: int, **facts: object) -> None:
        at = bisect_left(self.things, id, key=lambda thing: thing.id)
        if at < len(self.things) and self.things[at].id == id:
            self.things[at] = msgspec.structs.replace(self.things[at], **facts)  # type: ignore[type-var]


def _appeared(thing: _Found) -> int:
    """The moment whose instruction brought it; a renamed node is a new one of earlier make."""
    if isinstance(thing, Node) and thing.renamed is not None:
        return thing.renamed
    return thing.moment


class _GuardRow(NamedTuple):
    id: int
    attempt: int
    moment: int
    kind: str
    source: str
    scope: str
    user_line: str
    withdrawn: int | None


class _NodeRow(NamedTuple):
    rank: float
    erased: int | None
    body: bytes


class Findings:
    """Guards, nodes, side effects and graph breaks, by attempt and moment."""

    def __init__(self, database: Database, catalog: Catalog) -> None:
        self._database = database
        self._catalog = catalog
        self._generation = 0
        self._guards: dict[int, _List[Guard]] = {}
        self._nodes: dict[int, _List[Node]] = {}
        self._side_effects: dict[int, _List[SideEffect]] = {}
        self._breaks: list[GraphBreak] = []
        self._breaks_generation = -1
        self._codes_decoder = msgspec.msgpack.Decoder(dict[int, tuple[str, ...]])
        self._node_decoder = msgspec.msgpack.Decoder(Node)
        self._side_effect_decoder = msgspec.msgpack.Decoder(SideEffect)
        self._break_decoder = msgspec.msgpack.Decoder(GraphBreak)

    def refresh(self) -> None:
        """Look again at what may have grown or changed, when it is next asked for."""
        self._generation += 1

    def guards(self, attempt: Attempt, moment: int | None) -> list[Guard]:
        """The guards that hold at the moment (None: at the end), in order."""
        return [
            guard
            for guard in self._every_guard(attempt).before(moment)
            if guard.withdrawn is None or (moment is not None and guard.withdrawn >= moment)
        ]

    def all_guards(self, attempt: Attempt) -> list[Guard]:
        """Every guard that was ever installed, in order, withdrawn ones too."""
        return self._every_guard(attempt).things

    def _every_guard(self, attempt: Attempt) -> _List[Guard]:
        found = self._list(self._guards, "guard", attempt)
        if self._is_current(found, attempt):
            return found
        codes = self._codes(attempt)
        for guard in [guard for guard in found.things if not guard.code and guard.id in codes]:
            found.replace(guard.id, code=codes[guard.id])
        for id, moment in self._changed("guard", "withdrawn", int, attempt, found):
            found.replace(id, withdrawn=moment)
        rows = self._new(_GuardRow, ", ".join(_GuardRow._fields), "guard", attempt, found)
        found.extend(
            [Guard(*row[:6], codes.get(row.id, ()), row.user_line, row.withdrawn) for row in rows]
        )
        return found

    def nodes(self, attempt: Attempt, moment: int | None) -> list[Node]:
        """The nodes alive at the moment (None: the end), each graph in its order, main first."""
        alive = [
            node
            for node in self._every_node(attempt).before(moment)
            if node.erased is None or (moment is not None and node.erased >= moment)
        ]
        alive.sort(key=lambda node: (node.graph, node.rank))
        return alive

    def all_nodes(self, attempt: Attempt) -> list[Node]:
        """Every node that was ever made, in the order in which they were, erased ones too."""
        return self._every_node(attempt).things

    def _every_node(self, attempt: Attempt) -> _List[Node]:
        found = self._list(self._nodes, "node", attempt)
        if not self._is_current(found, attempt):
            for id, erased in self._changed("node", "erased", int, attempt, found):
                found.replace(id, erased=erased)
            rows = self._new(_NodeRow, "rank, erased, body", "node", attempt, found)
            found.extend([self._node(row) for row in rows])
        return found

    def side_effects(self, attempt: Attempt, moment: int | None) -> list[SideEffect]:
        """The mutations buffered strictly before the moment; None: all."""
        found = self._list(self._side_effects, "side_effect", attempt)
        if not self._is_current(found, attempt):
            rows = self._new(tuple[bytes], "body", "side_effect", attempt, found)
            found.extend(
                [unpacked(self._database, self._side_effect_decoder, body) for (body,) in rows]
            )
        return found.before(moment)

    def graph_breaks(self) -> list[GraphBreak]:
        """All graph breaks, in order."""
        if self._breaks_generation != self._generation:
            last = self._breaks[-1].id if self._breaks else -1
            for (body,) in self._database.query(
                tuple[bytes], "SELECT body FROM graph_break WHERE id > ? ORDER BY id", (last,)
            ):
                self._breaks.append(unpacked(self._database, self._break_decoder, body))
            self._breaks_generation = self._generation
        return self._breaks

    def _list(self, lists: dict[int, _List[Thing]], table: str, attempt: Attempt) -> _List[Thing]:
        found = lists.get(attempt.id)
        if found is None:
            # What comes before the attempt's first instruction carries the moment before it.
            start = self._catalog.rows.first(table, "moment", attempt.first_moment - 1)
            found = lists[attempt.id] = _List(start)
        return found

    def _is_current(self, found: _List[Thing], attempt: Attempt) -> bool:
        """Whether the list needs no look at the file; if not, it is taken as looked at now."""
        if found.settled or found.generation == self._generation:
            return True
        found.generation = self._generation
        # Asked before the rows are read: everything was committed no later than the end was.
        found.settled = self._catalog.finished(attempt)
        return False

    def _new(
        self, row: type[Row], columns: str, table: str, attempt: Attempt, found: _List[Thing]
    ) -> list[Row]:
        sql = f"SELECT {columns} FROM {table} WHERE id >= ? AND attempt = ?"
        params: list[object] = [found.next_id, attempt.id]
        if attempt.last_moment is not None:
            sql += " AND id < ?"
            params.append(self._catalog.rows.first(table, "moment", attempt.last_moment + 1))
        return self._database.query(row, sql + " ORDER BY id", params)

    def _changed(
        self, table: str, column: str, kind: type[Cell], attempt: Attempt, found: _List[Thing]
    ) -> list[tuple[int, Cell]]:
        """Cells that were empty when their rows were written."""
        if not found.things:
            return []
        sql = (
            f"SELECT id, {column} FROM {table} WHERE id BETWEEN ? AND ? AND attempt = ?"
            f" AND {column} IS NOT NULL"
        )
        ends = (found.things[0].id, found.things[-1].id, attempt.id)
        return self._database.query(tuple[int, kind], sql, ends)  # type: ignore[valid-type]

    def _node(self, row: _NodeRow) -> Node:
        node = unpacked(self._database, self._node_decoder, row.body)
        if node.erased != row.erased or node.rank != row.rank:
            return msgspec.structs.replace(node, erased=row.erased, rank=row.rank)
        return node

    def _codes(self, attempt: Attempt) -> dict[int, tuple[str, ...]]:
        """What the guards of the attempt's translation check, as far as they have been built."""
        sql = "SELECT body FROM guard_codes WHERE translation = ?"
        row = self._database.one(tuple[bytes], sql, (attempt.translation,))
        return {} if row is None else unpacked(self._database, self._codes_decoder, row[0])
