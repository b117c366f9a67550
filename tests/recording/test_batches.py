"""Guards and nodes, which are stored in runs: each attempt gets its own, whatever lies between."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import msgspec
import pytest

from stepper.model.program import PythonFrame
from stepper.model.trace import Attempt, Guard, Node, Outcome, Translation
from stepper.recording.database import Database
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.schema import MOST_TOGETHER
from stepper.recording.writer import Writer
from tests.recordings import FACTS


class Story:
    """Writes attempts with guards and nodes, and remembers what was written."""

    def __init__(self, tmp_path: Path) -> None:
        self.path = str(tmp_path / "r.stepper")
        self.writer = Writer(self.path, FACTS)
        self.moment = 0
        self.attempts: dict[int, Attempt] = {}
        self.guards: dict[int, Guard] = {}
        self.nodes: dict[int, Node] = {}

    def begin(self) -> int:
        """A translation with one attempt, both numbered alike."""
        id = len(self.attempts) + 1
        first = self.moment + 1
        self.writer.translation(Translation(id, f"{id}/0", 1, "f", "f.py", 1, first))
        self.attempts[id] = Attempt(id, id, 1, first)
        self.writer.attempt(self.attempts[id])
        return id

    def end(self, id: int) -> None:
        """It is over, which is committed."""
        attempt = self.attempts[id]
        self.attempts[id] = msgspec.structs.replace(attempt, last_moment=self.moment)
        self.writer.attempt(self.attempts[id])
        self.writer.translation(
            Translation(
                id, f"{id}/0", 1, "f", "f.py", 1, attempt.first_moment,
                last_moment=self.moment, outcome=Outcome.COMPILED,
            )
        )  # fmt: skip
        self.writer.flush()

    def guard(
        self, attempt: int, source: str = "L['x']", *, number: int = 0, count: int = 1
    ) -> int:
        """Guards of the newest moment; the number of the first."""
        number = number or max(self.guards, default=0) + 1
        line = PythonFrame("f.py", self.moment, "f")
        self.writer.guards(
            number, attempt, (self.moment,) * count, ("TENSOR_MATCH",) * count, (source,) * count,
            ("local",) * count, (line,) * count,
        )  # fmt: skip
        for id in range(number, number + count):
            self.guards[id] = Guard(
                id, attempt, self.moment, "TENSOR_MATCH", source, "local", user_line=line
            )
        return number

    def node(self, attempt: int, name: str = "add") -> int:
        """A node of the newest moment, every other one an input; its number."""
        id = max(self.nodes, default=0) + 1
        op, source = ("placeholder", "L['x']") if id % 2 else ("call_function", "")
        node = Node(id, attempt, self.moment, "", -float(id), name, op, name, source=source)
        self.nodes[id] = node
        self.writer.node(node)
        return id

    def withdraw(self, guard: int) -> None:
        """The newest moment's instruction takes a guard back."""
        self.guards[guard] = msgspec.structs.replace(self.guards[guard], withdrawn=self.moment)
        self.writer.guard_withdrawn(guard, self.moment)

    def erase(self, node: int) -> None:
        """The newest moment's instruction removes a node."""
        self.nodes[node] = msgspec.structs.replace(self.nodes[node], erased=self.moment)
        self.writer.node_erased(node, self.moment)

    def check(self, recording: Recording) -> None:
        """See to it that a recording says what was written."""
        for id in self.attempts:
            guards = [guard for guard in self.guards.values() if guard.attempt == id]
            nodes = [node for node in self.nodes.values() if node.attempt == id]
            assert recording.guards_installed(id) == guards
            assert recording.nodes_made(id) == nodes
            inputs = [node for node in reversed(nodes) if node.source and not node.erased]
            assert recording.inputs(id) == inputs
            for moment in range(self.moment + 2):
                assert recording.guards(moment, attempt=id) == [
                    guard
                    for guard in guards
                    if guard.moment < moment and (guard.withdrawn or moment) >= moment
                ]
                assert recording.nodes(moment, attempt=id) == [
                    node
                    for node in reversed(nodes)  # their ranks descend
                    if node.moment < moment and (node.erased or moment) >= moment
                ]


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def change(path: str, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("seed", range(12))
def test_nested_attempts_of_a_growing_recording(story: Story, seed: int) -> None:
    chance = random.Random(seed)
    follower = Recording.open(story.path)
    open_attempts = [story.begin()]
    for _ in range(120):
        attempt = open_attempts[-1]
        what = chance.choice(["step", "guard", "guard", "node", "back", "flush", "begin", "end"])
        if what == "step":
            story.moment += 1
        elif what == "guard":
            story.guard(attempt, count=chance.choice([1, 1, 3]))
        elif what == "node":
            story.node(attempt)
        elif what == "back":
            held = [g.id for g in story.guards.values() if g.attempt == attempt and not g.withdrawn]
            alive = [n.id for n in story.nodes.values() if n.attempt == attempt and not n.erased]
            if held and alive and story.moment:
                story.withdraw(chance.choice(held))
                story.erase(chance.choice(alive))
        elif what == "begin" and len(open_attempts) < 4:
            open_attempts.append(story.begin())
        elif what == "end" and len(open_attempts) > 1:
            story.end(open_attempts.pop())
        elif what == "flush":
            story.writer.flush()
            follower.refresh()
            story.check(follower)
    story.writer.close()
    follower.refresh()
    story.check(follower)
    follower.close()
    story.check(Recording.open(story.path))


def test_what_is_taken_back_before_it_was_committed_and_after(story: Story) -> None:
    attempt = story.begin()
    guards = [story.guard(attempt) for _ in range(3)]
    nodes = [story.node(attempt) for _ in range(3)]
    story.moment = 1
    story.withdraw(guards[0])
    story.erase(nodes[0])
    story.writer.flush()
    recording = Recording.open(story.path)
    story.check(recording)
    story.moment = 2
    story.withdraw(guards[1])
    story.erase(nodes[1])
    story.end(attempt)
    recording.refresh()
    story.check(recording)
    assert [guard.id for guard in recording.guards(None, attempt=attempt)] == [guards[2]]
    assert [node.id for node in recording.nodes(None, attempt=attempt)] == [nodes[2]]


def test_more_than_a_run_may_hold(story: Story) -> None:
    attempt = story.begin()
    story.moment = 1
    story.guard(attempt, count=MOST_TOGETHER + 2)
    first = Node(1, attempt, 1, "", 1.0, "add", "call_function", "operator.add")
    for id in range(1, MOST_TOGETHER + 3):
        story.writer.node(msgspec.structs.replace(first, id=id))
    story.end(attempt)
    story.writer.close()
    recording = Recording.open(story.path)
    assert [g.id for g in recording.guards_installed(attempt)] == [*story.guards]
    assert len(recording.nodes_made(attempt)) == MOST_TOGETHER + 2


def test_many_withdrawn_and_erased(story: Story) -> None:
    attempt, other = story.begin(), story.begin()
    story.moment = 1
    for _ in range(700):
        story.withdraw(story.guard(attempt))
        story.erase(story.node(other))
    story.guard(other)
    story.end(attempt)
    story.end(other)
    story.writer.close()
    story.check(Recording.open(story.path))


def test_numbers_of_guards_can_be_missing(story: Story) -> None:
    """An exception, at the program's recursion limit, can come between a number and its guard."""
    attempt = story.begin()
    story.moment = 1
    story.guard(attempt)
    story.guard(attempt, number=5, count=2)
    story.writer.flush()
    story.guard(attempt, number=9)
    story.end(attempt)
    recording = Recording.open(story.path)
    story.check(recording)
    assert [guard.id for guard in recording.guards_installed(attempt)] == [1, 5, 6, 9]


def test_text_that_is_no_unicode(story: Story) -> None:
    attempt = story.begin()
    story.guard(attempt, "L['caf\udce9']")
    story.node(attempt, "caf\udce9")
    story.writer.flush()
    recording = Recording.open(story.path)
    assert [guard.source for guard in recording.guards_installed(attempt)] == ["L['caf\\udce9']"]
    assert [node.name for node in recording.nodes_made(attempt)] == ["caf\\udce9"]


def test_a_lock_delays_and_neither_loses_nor_doubles(story: Story) -> None:
    story.writer._database.execute("PRAGMA busy_timeout=0")  # type: ignore[union-attr]  # it is open
    attempt = story.begin()
    other = Database.append(story.path)
    other.execute("BEGIN IMMEDIATE")
    for moment in range(1, 4):
        story.moment = moment
        story.withdraw(story.guard(attempt))
        story.erase(story.node(attempt))
        story.guard(attempt)
        story.writer.flush()
    other.execute("COMMIT")
    other.close()
    story.guard(attempt)
    story.end(attempt)
    assert story.writer.failed == ""
    story.check(Recording.open(story.path))


@pytest.mark.parametrize("table", ["guards", "nodes"])
@pytest.mark.parametrize("body", ["x'90'", "x'c1'", "'text'", "substr(body, 1, length(body) - 1)"])
def test_a_damaged_run_is_told_to_those_who_ask_for_it(story: Story, table: str, body: str) -> None:
    for _ in range(3):
        attempt = story.begin()
        story.moment += 1
        story.guard(attempt)
        story.node(attempt)
        story.moment += 1
        story.end(attempt)
    story.writer.close()
    change(story.path, f"UPDATE {table} SET body = {body} WHERE first = 2")
    recording = Recording.open(story.path)
    ask, other = recording.guards_installed, recording.nodes_made
    if table == "nodes":
        ask, other = other, ask  # type: ignore[assignment]  # replaced
    for attempt in (1, 3):
        assert [found.id for found in ask(attempt)] == [attempt]
    for _ in range(2):
        with pytest.raises(RecordingError, match="damaged"):
            ask(2)
    assert [found.id for found in other(2)] == [2]


@pytest.mark.parametrize("table", ["guards", "nodes"])
def test_a_cut_off_translation_is_told_although_a_run_of_it_is_damaged(
    story: Story, table: str
) -> None:
    attempt = story.begin()
    story.moment = 1
    story.withdraw(story.guard(attempt))
    story.guard(attempt, count=2)
    story.erase(story.node(attempt))
    story.writer.close()
    [cut] = Recording.open(story.path).translations()
    assert (cut.outcome, cut.guards, cut.nodes) == (Outcome.CUT_OFF, 2, 1)
    change(story.path, f"UPDATE {table} SET body = x'90'")
    [cut] = Recording.open(story.path).translations()
    assert (cut.guards, cut.nodes) == ((0, 1) if table == "guards" else (2, 0))
