"""What gathers in memory until it is written: descriptions, events, guards and nodes."""

from __future__ import annotations

import inspect
import operator
import random
import struct
import sys
import types
from typing import Any

import pytest

from stepper import _C
from tests.csrc.records import unpacked


class Engine:
    """As much of a describer as these parts ask for."""

    alike: frozenset[type] = frozenset()

    def __init__(self) -> None:
        self.realized: dict[int, object] = {}
        self.facts = _C.Facts(self, object)


class Judge:
    alert = False


def ignore(*arguments: object) -> None:
    """A function of the recorder's that is not asked for anything."""


def new_steps(on_graph: Any = ignore) -> _C.Steps[Any]:
    functions = [on_graph, *[ignore] * 7]
    return _C.Steps(Judge(), Engine(), frozenset(), *functions)


def decoded(run: tuple[Any, ...]) -> Any:
    return unpacked(run[-1])


# Descriptions


def test_a_description_has_one_number_however_often_it_comes() -> None:
    facts = Engine().facts
    source = random.Random(3)
    known: dict[bytes, int] = {}
    for round in range(3):
        before = len(known)
        for _ in range(4000):
            body = source.randbytes(source.choice((0, 1, 7, 8, 9, 40, 300))) if round else b"same"
            number = facts.id_of(body, tuple(range(source.randrange(4))))
            assert known.setdefault(body, number) == number
        taken = facts.take()
        assert taken is not None
        assert (taken[0], taken[1]) == (before + 1, len(known) - before)
        assert decoded(taken) == list(known)[before:]
    assert sorted(known.values()) == list(range(1, len(known) + 1))
    assert facts.take() is None


def test_a_child_that_is_no_number_is_refused() -> None:
    facts = Engine().facts
    with pytest.raises(TypeError):
        facts.id_of(b"body", ("first",))  # type: ignore[arg-type]  # refused
    with pytest.raises(OverflowError):
        facts.id_of(b"body", (-1,))
    assert facts.take() is None


# Events


def test_late_events_are_put_where_they_belong() -> None:
    source = random.Random(5)
    run = _C.EventRun(lambda: None, 1e9, ("late", "none", "told"))
    for _ in range(50):
        told = sorted(source.choices(range(40), k=source.randrange(12)))
        late = sorted(source.choices(range(40), k=source.randrange(12)))
        for moment in told:
            run.add(moment, "told", "é" * moment, moment)
        for moment in late:
            run.add_late(moment, "late", "x" * moment, None, moment)
        taken = run.take()
        wanted = sorted([(m, 0, "told") for m in told] + [(m, 1, "late") for m in late])
        if taken is None:
            assert not wanted
            continue
        assert taken[2:4] == (min(told + late), max(told + late))
        assert taken[4] == struct.pack("<III", len(late), 0, len(told))
        moments, kinds, texts, refs, frames = decoded(taken)
        assert list(zip(moments, kinds, strict=True)) == [(m, kind) for m, _, kind in wanted]
        assert texts == [("é" if kind == "told" else "x") * m for m, _, kind in wanted]
        assert refs == [m if kind == "told" else None for m, _, kind in wanted]
        assert frames == [None if kind == "told" else m for m, _, kind in wanted]


def test_an_event_that_cannot_be_packed_leaves_the_others_whole() -> None:
    run = _C.EventRun(lambda: None, 1e9, ("a",))
    run.add(1, "a", "first")
    with pytest.raises(ValueError, match="not negative"):
        run.add(2, "a", "bad", -1)
    with pytest.raises(TypeError):
        run.add_late(2, "a", 5)  # type: ignore[arg-type]  # refused
    with pytest.raises(ValueError, match="no such kind"):
        run.add(2, "b", "bad")
    run.add(3, "a", "last")
    taken = run.take()
    assert taken is not None
    assert decoded(taken)[2] == ["first", "last"]


# Guards


class Inner:
    def __init__(self, *guards: object) -> None:
        self._dict = dict.fromkeys(guards)


class GuardsSet:
    """Has what of Dynamo's set of guards is looked at."""

    def __init__(self, *guards: object) -> None:
        self.inner = Inner(*guards)

    def add(self, steps: _C.Steps[Any], *guards: object) -> None:
        for guard in guards:
            steps.guard_added(self)
            self.inner._dict[guard] = None


def taken(steps: _C.Steps[Any]) -> list[object]:
    return steps.take_guards()[::5]


def test_guards_are_marked_in_order_and_once() -> None:
    steps, guards = new_steps(), GuardsSet()
    guards.add(steps, "nobody asks")
    assert taken(steps) == []
    steps.watch_guards("attempt", False, True)
    guards = GuardsSet()
    guards.add(steps, "a", "b", "a")
    steps.moment = 7
    taken_now = steps.take_guards()
    assert taken_now[::5] == ["a", "b"]
    assert taken_now[6:9] == [7, 0, None]
    guards.add(steps, *map(str, range(1000)))
    assert taken(steps) == list(map(str, range(1000)))
    assert taken(steps) == []
    assert not steps.guards_lost
    assert steps.guards_of == "attempt"


@pytest.mark.parametrize("what", ["last", "middle", "all", "replaced", "another"])
def test_what_happens_to_the_set_otherwise_is_noticed(what: str) -> None:
    steps, guards = new_steps(), GuardsSet()
    steps.watch_guards("attempt", False, True)
    guards.add(steps, *"abcde")
    assert taken(steps) == list("abcde")
    inner = guards.inner._dict
    if what == "last":
        del inner["e"]
    elif what == "middle":
        del inner["b"]
    elif what == "all":
        inner.clear()
    elif what == "replaced":
        guards.inner = Inner(*"abcde")
    else:
        guards = GuardsSet(*"abcde")
    guards.add(steps, "f")
    assert taken(steps) == []
    assert steps.guards_lost
    assert steps.graph_changed
    steps.guards_seen(guards.inner._dict)
    assert not steps.guards_lost
    guards.add(steps, "g", "h")
    assert taken(steps) == ["g", "h"]


def test_a_set_that_made_room_after_a_loss_is_noticed() -> None:
    """A dictionary that grows moves what it holds together, and places in it mean others."""
    for size in range(3, 60):
        steps, guards = new_steps(), GuardsSet()
        steps.watch_guards("attempt", False, True)
        guards.add(steps, *range(size))
        assert taken(steps) == list(range(size))
        del guards.inner._dict[size // 2]
        guards.add(steps, *range(1000, 1000 + size))
        assert taken(steps) == []
        assert steps.guards_lost


def test_no_guard_is_held_when_it_was_taken_or_forgotten() -> None:
    class Guard:
        pass

    steps, guards, guard = new_steps(), GuardsSet(), Guard()
    before = sys.getrefcount(guard)
    steps.watch_guards("attempt", False, True)
    guards.add(steps, guard)
    steps.take_guards()
    steps.watch_guards(None, False, False)
    guards.inner._dict.clear()
    assert sys.getrefcount(guard) == before


def test_guards_are_timed_while_that_is_wanted_and_held_until_they_are_taken() -> None:
    class Guard:
        pass

    steps, guard = new_steps(), Guard()
    before = sys.getrefcount(guard)
    steps.guard_made(guard)
    assert steps.take_made() == []
    steps.times_guards = True
    began = steps.clock()
    steps.guard_made(guard)
    steps.away += 5
    steps.guard_made(guard)
    first, at, away, second, later, more = steps.take_made()
    assert first is second is guard
    assert began <= at <= later + 5
    assert (away, more) == (0, 5)
    steps.guard_made(guard)
    steps.take_made()
    del first, second
    assert sys.getrefcount(guard) == before


def test_what_is_no_set_of_guards_is_refused() -> None:
    steps = new_steps()
    steps.watch_guards("attempt", False, True)
    steps.guard_added("text")
    with pytest.raises(AttributeError):
        steps.take_guards()
    with pytest.raises(TypeError):
        steps.guards_seen([])  # type: ignore[arg-type]  # refused
    with pytest.raises(TypeError):
        steps.watch_guards("attempt")  # type: ignore[call-arg]  # refused


# Nodes


class Graphs(_C.NodeMarks):
    def __init__(self, ours: object) -> None:
        super().__init__()
        self.ours = ours

    def is_ours(self, graph: Any, /) -> bool:
        return graph is self.ours


class Node:
    def __init__(self, graph: object) -> None:
        self.graph = graph


def test_nodes_of_our_graphs_are_noted() -> None:
    steps, ours = new_steps(), object()
    marks = Graphs(ours)
    node, foreign, old = Node(ours), Node(object()), Node(ours)
    steps.node_inserted(node)  # nobody asks yet
    steps.graph = marks
    for each in (node, foreign):
        steps.node_inserted(each)
    assert list(marks.inserted) == [node]
    assert marks.changed
    assert steps.nodes_changed
    assert not steps.graph_changed
    steps.node_removed(node)
    assert not marks.inserted
    assert marks.removed == []
    marks.known[old] = "what was reported"
    steps.node_removed(old)
    assert marks.removed == [old]
    with pytest.raises(AttributeError):
        steps.node_inserted("text")
    with pytest.raises(TypeError):
        steps.graph = "text"  # type: ignore[assignment]  # refused


# Instructions


class Slotted:
    """Has what an instruction has, in slots, and asks its own class for its hash."""

    __slots__ = ("arg", "argval", "exn_tab_entry", "offset", "opname", "positions", "target")

    def __init__(self, opname: str = "LOAD", arg: Any = 1, argval: Any = "x") -> None:
        self.opname, self.arg, self.argval = opname, arg, argval
        self.offset: int | None = None
        self.positions: Any = None
        self.target: Any = None
        self.exn_tab_entry: Any = None

    def __hash__(self) -> int:
        raise AssertionError("nobody is to ask")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("nobody is to ask")


class Computed:
    """The same, found in another way each time."""

    def __init__(self, *of: Any) -> None:
        self.__dict__["of"] = Slotted(*of)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.of, name, value)


KINDS = pytest.mark.parametrize("kind", [Slotted, Computed])


def _row(*fields: object) -> tuple[object, ...]:
    return fields


def _rows(listed: list[Any], *jumps: list[int | None], make: Any = _row, other: Any = None) -> Any:
    meanings: dict[str, tuple[str, ...] | None] = {"OPERATOR": ("+", "-"), "NAMES": None}
    other = other or (lambda value: "?")
    return _C.instruction_rows(make, listed, ((1, "a"), b"x"), meanings, 8, other, *jumps)


@KINDS
def test_plain_arguments_are_put_in_words(kind: Any) -> None:
    class Text(str):
        __slots__ = ()

    code = compile("lambda: 0", "", "eval").co_consts[0]
    cases = [
        ("x", 1, "LOAD", "x"),
        ("été", None, "LOAD", "été"),
        ("class", 1, "LOAD", "class"),
        ("n" * 8, 1, "LOAD", "n" * 8),
        ("x", 0, "OPERATOR", "x"),
        ("a b", 1, "LOAD", "'a b'"),
        ("a b", None, "LOAD", "'a b'"),
        ("", 1, "LOAD", "''"),
        ("it's", 1, "LOAD", '"it\'s"'),
        ("\n" * 8, 1, "LOAD", "'\\n\\n\\n…"),
        ("\udc80", 1, "LOAD", "'\\udc80'"),
        (None, None, "POP", ""),
        (7, None, "LOAD", ""),
        (object(), None, "OPERATOR", ""),
        (None, 0, "LOAD", "None"),
        (True, 5, "LOAD", "True"),
        (-1.5, 5, "LOAD", "-1.5"),
        (-1, 5, "LOAD", "-1"),
        (code, 5, "LOAD", "<code <lambda>>"),
        (0, 0, "OPERATOR", "+"),
        (None, 1, "OPERATOR", "-"),
        *[(7, number, "OPERATOR", "7") for number in (2, -1, 2**70, True, "1")],
        (b"x", 2, "OPERATOR", "?"),
        (object(), 0, "NAMES", "(1, 'a')"),
        (7, 1, "NAMES", "?"),
        *[(7, number, "NAMES", "7") for number in (2, -1, 2**70, True, "1")],
        ((), 1, "LOAD", "()"),
        ((1,), 1, "LOAD", "(1,)"),
        ((1, None, "abc"), 1, "LOAD", "(1, …"),
        (("z", "i"), 1, "LOAD_FAST_LOAD_FAST", "z, i"),
        (("name", "other"), 1, "LOAD_FAST_LOAD_FAST", "name, …"),
        ((1, 2), 1, "LOAD_FAST_LOAD_FAST", "(1, 2)"),
        *[(value, 1, "LOAD", "?") for value in ("n" * 9, b"x", Text("x"), 2**70, object())],
        *[(value, 1, "LOAD", "?") for value in (((),), (b"x",), (1,) * 11, ("n" * 9,), [1])],
    ]
    listed = [kind(opname, arg, value) for value, arg, opname, _ in cases]
    assert [row[3] for row in _rows(listed)] == [wanted for *_, wanted in cases]


@KINDS
def test_instructions_become_rows(kind: Any) -> None:
    listed = [kind("LOAD", 1, "x"), kind("JUMP", 4, 4)]
    listed[0].positions, listed[0].offset = (3, 4, 5, 6), 8
    first, second = _rows(listed, [None, 0], [1, None])
    assert first == (0, "LOAD", 1, "x", 8, 3, 4, 5, 6, None, 1)
    assert second == (1, "JUMP", 4, "", None, None, None, None, None, 0, None)


@KINDS
def test_instructions_refer_to_each_other(kind: Any) -> None:
    count = 100
    listed = [kind() for _ in range(count)]
    for index, each in enumerate(listed):
        each.target = listed[index * 7 % count] if index % 3 == 0 else None
        each.exn_tab_entry = types.SimpleNamespace(target=listed[-1]) if index % 2 else None
    listed[0].target, listed[1].exn_tab_entry.target = kind(), None
    told = [(row[3], *row[-2:]) for row in _rows(listed)]
    assert told[:2] == [("x", None, None), ("x", None, None)], "none of the list"
    assert told[2:] == [
        (
            "" if index % 3 == 0 else "x",
            index * 7 % count if index % 3 == 0 else None,
            count - 1 if index % 2 else None,
        )
        for index in range(2, count)
    ]
    assert _rows([]) == ()


def test_instructions_of_several_kinds_stand_side_by_side() -> None:
    class Hidden(Slotted):
        @property
        def opname(self) -> str:
            return "HIDDEN"

        @opname.setter
        def opname(self, opname: str) -> None:
            pass

    listed = [Slotted(), Computed(), Slotted(), Hidden(), Slotted("POP")]
    assert [row[1] for row in _rows(listed)] == ["LOAD", "LOAD", "LOAD", "HIDDEN", "POP"]


def test_what_is_no_instruction_is_refused() -> None:
    for broken in (object(), Slotted.__new__(Slotted)):
        with pytest.raises(AttributeError):
            _rows([Slotted(), broken])
    for name in Slotted.__slots__:
        broken = Slotted()
        delattr(broken, name)
        with pytest.raises(AttributeError, match=name):
            _rows([broken])
    with pytest.raises(ValueError, match="length"):
        _rows([Slotted()], [])
    with pytest.raises(ValueError, match="length"):
        _rows([Slotted()], [None], [None, None])
    with pytest.raises(TypeError):
        _rows((Slotted(),))  # type: ignore[arg-type]  # refused
    with pytest.raises(TypeError, match="unhashable"):
        _rows([Slotted([], 1, 7)])  # type: ignore[arg-type]  # refused
    with pytest.raises(ZeroDivisionError):
        _rows([Slotted()], make=lambda *fields: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        _rows([Slotted("LOAD", 1, b"")], other=lambda each: 1 / 0)
    with pytest.raises(TypeError, match="no str"):
        _rows([Slotted("LOAD", 1, b"")], other=lambda each: 7)
    for place in ((3, 4), [1, 2, 3, 4], 7):
        broken = Slotted()
        broken.positions = place
        with pytest.raises(TypeError, match="four"):
            _rows([broken])
    broken = Slotted()
    broken.exn_tab_entry = object()
    with pytest.raises(AttributeError, match="target"):
        _rows([broken])


def test_who_is_asked_may_change_the_lists() -> None:
    listed = [Slotted("LOAD", 1, b"") for _ in range(50)]
    for each in listed:
        each.target = None
    targets: list[int | None] = [None] * 50

    def other(each: Slotted) -> str:
        listed.clear()
        targets.clear()
        return "said"

    rows = _rows(listed, targets, other=other)
    assert [row[3] for row in rows] == ["said"] * 50
    assert _rows(listed) == ()


def test_no_part_of_an_instruction_is_held() -> None:
    class Fresh(Slotted):
        __slots__ = ()

    parts = [object() for _ in range(3)]
    each = Fresh("LOAD", 1, parts[0])
    each.exn_tab_entry = types.SimpleNamespace(target=parts[1])
    each.positions = (parts[2],) * 4
    each.target = each
    listed: list[Any] = [each, object()]
    targets: list[int | None] = [None, None]
    held = [*parts, each, each.exn_tab_entry, Fresh, listed, targets, _row]
    before = list(map(sys.getrefcount, held))
    for _ in range(20):
        _rows(listed[:1])
        _rows(listed[:1], targets[:1], targets[:1])
        with pytest.raises(AttributeError):
            _rows(listed)
        with pytest.raises(ZeroDivisionError):
            _rows(listed[:1], targets[:1], make=lambda *fields: 1 / 0)
    assert list(map(sys.getrefcount, held)) == before


@KINDS
def test_marks_are_what_a_table_says_of_a_name(kind: Any) -> None:
    class Table(dict[str, bool]):
        def __missing__(self, name: str) -> bool:
            self[name] = name.startswith("STORE")
            return self[name]

    listed = tuple(map(kind, ("LOAD", "STORE_X", "LOAD", "STORE_X", "POP")))
    table = Table(POP=True)
    assert _C.opname_marks(listed, table) == b"\0\1\0\1\1"
    assert table == {"POP": True, "LOAD": False, "STORE_X": True}
    assert _C.opname_marks((), table) == b""
    with pytest.raises(KeyError, match="LOAD"):
        _C.opname_marks(listed, {})
    with pytest.raises(AttributeError):
        _C.opname_marks((object(),), table)
    with pytest.raises(TypeError):
        _C.opname_marks(list(listed), table)  # type: ignore[arg-type]  # refused


# Lines


def _last_line(code: types.CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line]
    inner = [each for each in code.co_consts if type(each) is types.CodeType]
    return max([0, *lines, *map(_last_line, inner)])


def test_the_last_line_is_that_of_a_code_and_all_within() -> None:
    for module in (types, random, inspect, sys.modules[__name__]):
        code = compile(inspect.getsource(module), "", "exec")
        assert _C.last_line(code) == _last_line(code) > 10
    far = "\n" * 70_000 + "def f():\n" + "\n" * 3000 + "  return (\n" + "\n" * 90 + "1 + x)"
    for text in ("", "x", "(\nx\n)", "class A:\n  def f(self):\n    pass\nA\n", far):
        code = compile(text, "", "exec")
        assert _C.last_line(code) == _last_line(code)
        backward = code.replace(co_firstlineno=code.co_firstlineno + 5000)
        assert _C.last_line(backward) == _last_line(backward)


def test_a_table_of_lines_that_is_cut_does_no_harm() -> None:
    code = compile("\n" * 100_000 + "x(\n\n\ny)", "", "exec")
    table = code.co_linetable
    for size in range(len(table)):
        assert 0 <= _C.last_line(code.replace(co_linetable=table[:size])) <= 100_004
    for byte in range(256):
        _C.last_line(code.replace(co_linetable=bytes([byte]) * 100))
    deep = code
    for _ in range(10_000):
        deep = deep.replace(co_consts=(deep,))
    assert _C.last_line(deep) == _C.last_line(code)
    with pytest.raises(TypeError):
        _C.last_line("text")  # type: ignore[arg-type]  # refused


# Nodes


class _Node:
    def __init__(self, name: object) -> None:
        self.name = name


def test_the_arguments_of_a_node_are_put_in_words() -> None:
    class Pair(tuple[object, ...]):
        __slots__ = ()

    a, b = _Node("a"), _Node("b")
    arguments = (a, 1, -0.5, None, True, "it's", (b,), (), [a, (1, b)], Pair((a, 2)), 2**70, b"x")
    said: list[object] = []

    def other(argument: object) -> str:
        said.append(argument)
        return "other"

    words = _C.node_words(arguments, {"out": a, "dim": [0]}, _Node, other)
    assert words == (
        'a, 1, -0.5, None, True, "it\'s", (b,), (), [a, (1, b)], (a, 2), other, other, '
        "out=a, dim=[0]"
    )
    assert said == [2**70, b"x"]
    assert _C.node_words((), {"out": a}, _Node, other) == "out=a"
    assert _C.node_words((), {}, _Node, other) == ""
    assert _C.node_words(("n" * 201,), {}, _Node, other) == "other"


def test_what_cannot_be_put_in_words_is_an_error() -> None:
    deep: list[object] = []
    deep.append(deep)
    for argument, error in (
        (_Node(7), TypeError),
        (b"x", ZeroDivisionError),
        (deep, RecursionError),
    ):
        with pytest.raises(error):
            _C.node_words((argument,), {"named": argument}, _Node, lambda other: 1 / 0)  # type: ignore[arg-type, return-value]  # refused
    with pytest.raises(TypeError, match="no str"):
        _C.node_words((b"x",), {}, _Node, lambda other: 7)  # type: ignore[arg-type, return-value]  # refused


# Frames


class Translator:
    """What interprets a code, and what has the translators at work."""

    def __init__(self, code: Any = None) -> None:
        self.f_code = code
        self.instructions: list[object] = []
        self.at_work: list[Translator] = []


class Attempt:
    id = 5


def followed(events: Any, facts_of: Any) -> tuple[_C.Steps[Any], Translator]:
    """Steps that put frames down, with an output whose first frame is number 1."""
    steps = new_steps()
    steps.write_frames(facts_of, events, "begun", "ended")
    steps.hear_frames("at_work", operator.attrgetter("f_code"), ignore, ignore, ignore, ignore)
    attempt, output, first = Attempt(), Translator(), Translator("first")
    output.at_work.append(first)
    steps.follow(attempt, output)
    steps.top = _C.Mirror(1, first, ignore, None, attempt, None)
    steps.last_frame = 1
    steps.writes_frames = True
    return steps, output


def frames_taken(steps: _C.Steps[Any]) -> tuple[list[Any], list[Any]]:
    """The frames that were put down, behind what was in the lists."""
    rows, ends = ["before"], ["before"]
    steps.take_frames(rows, ends)
    assert [rows.pop(0), ends.pop(0)] == ["before", "before"]
    return rows, ends


def test_inlined_calls_are_put_down_with_their_events() -> None:
    told: list[Any] = []
    asked: list[str] = []

    def facts_of(code: str) -> tuple[int, bytes, str]:
        asked.append(code)
        return 70 + len(asked), b"stores", f"the {code}"

    steps, output = followed(lambda *event: told.append(event), facts_of)
    for moment, code in ((3, "f"), (4, "g")):
        steps.moment = moment
        steps.frame_entered(output, inner := Translator(code))
        output.at_work.append(inner)
    steps.moment = 9
    steps.frame_left(output)
    output.at_work.pop()
    rows: list[list[Any]] = [[2, 5, 1, 1, 71, 4, None, 3], [3, 5, 2, 2, 72, 5, 9, 4]]
    assert frames_taken(steps) == ([*rows[0], *rows[1]], [])
    steps.moment = 11
    steps.frame_left(output)
    assert frames_taken(steps) == ([], [11, 2]), "its row was taken before"
    assert told == [
        (3, "begun", "the f", 2, None),
        (4, "begun", "the g", 3, None),
        (9, "ended", "the g", 3, 2),
        (11, "ended", "the f", 2, 1),
    ]
    output.at_work.pop()
    steps.frame_entered(output, again := Translator("f"))
    again.instructions.append(4)
    output.at_work.append(again)
    steps.frame_left(output)
    assert asked == ["f", "g", "f"], "only the list of instructions that was made anew"


def test_a_frame_that_cannot_be_put_down_is_not_there() -> None:
    steps, output = followed(ignore, lambda code: code)
    first = steps.top
    with pytest.raises(TypeError, match="facts"):
        steps.frame_entered(output, Translator("f"))
    assert steps.top is first
    assert frames_taken(steps) == ([], [])


# Moments that are told again


def test_moments_are_told_again_with_other_frames() -> None:
    steps = new_steps()
    steps.last_frame = 1
    steps.add(1, 7, None)
    passage = _C.Passage(steps)
    for frame, ip, delta in ((2, 0, b"a"), (300, 1, None), (2, 70_000, b"c")):
        steps.add(frame, ip, delta)
    assert passage.end(3)
    rows: list[object] = []
    passage.again(70_000, rows.append, "a row")
    assert (steps.moment, rows) == (7, ["a row"])
    taken = steps.take()
    assert taken is not None
    assert taken[:2] == (1, 7)
    frames, ips, deltas, clock = decoded(taken)
    assert frames == [1, 2, 300, 2, 70_000, 70_298, 70_000]
    assert ips == [7, *[0, 1, 70_000] * 2]
    assert deltas == [None, *[b"a", None, b"c"] * 2]
    assert clock[5:] == [0, 0]
    passage.again(400_000, rows.append, "another")  # in a run of its own
    assert (steps.moment, rows) == (10, ["a row", "another"])
    taken = steps.take()
    assert taken is not None
    assert taken[:2] == (8, 3)
    assert decoded(taken)[0] == [400_000, 400_298, 400_000]
    assert decoded(taken)[3][0] > 0


def test_moments_that_are_not_all_there_or_not_alone_are_not_told_again() -> None:
    steps = new_steps()
    taken = _C.Passage(steps)
    steps.add(1, 0, None)
    steps.take()
    steps.add(1, 1, None)
    assert not taken.end(2)
    steps.last_frame = 5
    others = _C.Passage(steps)
    steps.add(6, 0, None)
    steps.add(3, 0, None)
    assert not others.end(2)
    fewer = _C.Passage(steps)
    steps.add(6, 0, None)
    assert not fewer.end(2)
    for passage in (taken, others, fewer):
        with pytest.raises(RuntimeError, match="cannot be told again"):
            passage.again(7, pytest.fail, "none is told")
