"""Memory that runs out: whatever the extension is asked, and whichever allocation it is that fails,
it raises a MemoryError or does its work, and keeps nothing and loses nothing.

Debug builds and sanitizers look closer at what these calls leave (`counted.py`, `sanitized.py`).
"""

from __future__ import annotations

import itertools
import operator
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

from stepper import _C
from stepper.model import trace
from stepper.support.stack_depths import stack_depth
from tests.csrc import test_node_records
from tests.csrc.compiler import Engine, Program, Session
from tests.csrc.records import plain
from tests.csrc.test_recording_parts import (
    GuardsSet,
    Slotted,
    Translator,
    followed,
    frames_taken,
    new_steps,
)

starving = pytest.importorskip("_testcapi", reason="this Python came without CPython's own tests")

Call = Callable[[], object]
CALLS: list[Callable[[], Call]] = []
raises: Any = len
"""Wants one argument.

No function of Python, and what is called meanwhile has as little of it as can be: where memory
runs out, CPython itself loses references, and even exceptions. 3.11 does so in a list of constants
and in `map`, 3.12 and 3.13.0 where they make a function, so no call here makes one."""
SEEDS = itertools.count()
LOCK = threading.Lock()
TWO = 2
LONG = "long" * 100
named = operator.attrgetter("__name__")


def call(prepare: Callable[[], Call]) -> Callable[[], Call]:
    """Prepares a call in which memory is to run out."""
    CALLS.append(prepare)
    return prepare


def starved(function: Call, at: int) -> bool:
    """Whether a call made so many allocations. The last of them failed."""
    starving.set_nomemory(at, at + 1)
    try:
        function()
    except MemoryError:
        return True
    else:
        return not _fails_yet(at)
    finally:
        starving.remove_mem_hooks()


def _fails_yet(at: int) -> bool:
    """Whether an allocation fails now."""
    try:
        for _ in range(at):
            bytearray(1)  # of which none is kept to be given again, as `object()` is in 3.14
    except MemoryError:
        return True
    return False


@pytest.mark.usefixtures("hook")
@pytest.mark.parametrize("prepare", CALLS, ids=lambda prepare: prepare.__name__)
def test_an_allocation_that_fails_is_a_memory_error(
    prepare: Callable[[], Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda report: None)
    # CPython prepares a function for `sys.monitoring` when it is called first after that was used.
    assert not _fails_yet(1)
    at = 1
    # Some are prepared otherwise each time.
    while any(starved(prepare(), at) for _ in range(4)):
        at += 1 + at // 30
    prepare()()


@pytest.mark.usefixtures("hook")
def test_no_call_makes_a_function() -> None:
    calls = {prepare.__name__: prepare() for prepare in CALLS}
    codes = {name: getattr(each, "__code__", None) for name, each in calls.items()}
    made = {
        name: [const.co_name for const in code.co_consts if isinstance(const, types.CodeType)]
        for name, code in codes.items()
        if code is not None
    }
    assert {name: names for name, names in made.items() if names} == {}


@pytest.mark.evaluator_out
def test_all_of_the_extension_is_tried() -> None:
    called: set[str] = set()

    def note(frame: object, event: str, what: Any) -> None:
        if event == "c_call":
            owners = type(what.__self__).__mro__ if what.__self__ is not _C else ()
            called.update(f"{owner.__name__}.{what.__name__}" for owner in owners)
            called.add(what.__name__)

    _C.install_hook()
    for prepare in CALLS:
        function = prepare()
        sys.setprofile(note)
        try:
            function()
        finally:
            sys.setprofile(None)
    _C.set_observer(None)
    _C.remove_hook()
    # Dynamo's callback is set once in a process, as the hooks of processes are, which have tests.
    assert parts() - called == {"dynamo_callback_set_by", "hook_processes"}


def parts() -> set[str]:
    """The functions and methods of the extension."""
    found = set()
    for name, value in vars(_C).items():
        if isinstance(value, types.BuiltinFunctionType):
            found.add(name)
        elif isinstance(value, type):
            found |= {
                f"{name}.{method}"
                for method, of in vars(value).items()
                if isinstance(of, types.MethodDescriptorType) and not method.startswith("__")
            }
    return found


# --- frames and their stacks


def frame() -> types.FrameType:
    """One that has returned."""
    kept = object()

    def inner() -> types.FrameType:
        assert kept
        return sys._getframe()

    return inner()


@call
def stacks() -> Call:
    at = frame()

    def ask() -> None:
        _C.value_stack(at)
        _C.frame_locals(at)

    return ask


@call
def exchanged() -> Call:
    def generator() -> Any:
        yield [object(), (yield)]

    made = generator()
    next(made)

    return lambda: _C.put_on_stack(made.gi_frame, 0, None)


@call
def traced() -> Call:
    at = frame()

    def look(*args: object) -> object:
        return _C.value_stack(at)

    return lambda: _C.AtInstruction(look, stack_depth)(at, "opcode", None)


# --- walks


@call
def walked() -> Call:
    steps = new_steps()
    item: Any = 1, "one", (), None
    holder: Any = 2, "two", (("[0]", item),), None

    def use() -> None:
        values = _C.InView(holds, {})
        known = values.know(holder)
        values.exchange([known], [])
        walk, at = _C.WalkState(), _C.WalkFrameState()
        walk.values = values
        at.stack, at.locals, at.blocks = [], {}, ()
        walk.looked(steps, at, [holder], {"x": item}, (), None)
        values.exchange([], [known])
        values.forget()

    return use


@call
def looked_at() -> Call:
    known: dict[object, Any] = {each: (id(each), each, (), None) for each in (TWO, LONG)}
    stack: Any = operator.itemgetter("stack")
    locals: Any = operator.itemgetter("locals")
    inside: Any = taken
    eyes = _C.Eyes(
        known.__getitem__, inside, inside, operator.is_, stack, locals, (int,), LOCK, known[TWO]
    )
    several = [TWO, (LONG, TWO), "text", [[TWO]]]
    real: Any = {"stack": [LOCK, TWO, several], "locals": {"x": LONG, "y": TWO}}
    hidden = frozenset({"y"})

    def use() -> None:
        values = _C.InView(holds, {})
        eyes.look(values, real, None)
        eyes.look(values, real, hidden)

    return use


@call
def told_again() -> Call:
    steps = new_steps()

    def use() -> None:
        passage = _C.Passage(steps)
        frame = steps.last_frame + 1
        steps.add(frame, 0, None)
        steps.add(frame + 1, 1, b"\x92\x00\x90")
        if passage.end(TWO):
            passage.again(frame + TWO, bool, TWO)

    return use


@call
def ran() -> Call:
    steps = new_steps()
    rows: list[object] = []
    times = _C.RunTimes(
        steps, itertools.count(1), {}, rows.append, str, bool, "transformed", "graph"
    )
    code, graph = ran.__code__, happened.__code__

    def use() -> None:
        rows.clear()
        times.hit(code, TWO, sys._getframe())
        times.hit(code, TWO, sys._getframe())
        times.awaits(graph, sys._getframe())
        times.begins(graph)
        times.ends(graph)
        times.begins(graph)
        times.ends(code, TWO)
        times.telling(TWO)

    return use


@call
def compared() -> Call:
    tensors: dict[Any, Any] = {}
    kinds: dict[str, Any] = {}
    unchanged = _C.Unchanged(
        tensors, kinds, types.SimpleNamespace, types.MethodType, slice, None, bool, named,
        frozenset({types.BuiltinFunctionType}), named, repr, frozenset({dict}),
    )  # fmt: skip
    number = types.SimpleNamespace(constant="2")
    held: Any = id(TWO), number, (), int
    several = [TWO, TWO]
    holder: Any = id(several), None, (("[0]", held), ("[1]", held)), list
    mapping = {"a": TWO, "b": TWO}
    length = types.SimpleNamespace(length=2)
    named_holder: Any = id(mapping), length, (("['a']", held),), dict
    text: Any = id(LONG), types.SimpleNamespace(constant=repr(LONG)), (), str
    name: Any = id(raises), types.SimpleNamespace(text="len"), (), types.BuiltinFunctionType
    tensor = types.SimpleNamespace(
        dtype=1, shape=2, device=3, requires_grad=False, layout=None, stride=tuple
    )
    facts: Any = id(tensor), None, (), types.SimpleNamespace
    kinds["lock"] = None
    other: Any = id(LOCK), None, (), None

    def use() -> None:
        unchanged(several, holder)
        unchanged.alike((several, TWO), (holder, held))
        unchanged(mapping, named_holder)
        unchanged(LONG, text)
        unchanged(raises, name)
        unchanged(tensor, facts)
        unchanged(LOCK, other)

    return use


# --- calls


def double(x: int) -> int:
    return x * 2


def triple(x: int) -> int:
    return x * 3


def fresh(function: Any) -> types.FunctionType:
    return types.FunctionType(function.__code__.replace(), function.__globals__)


def holds(*_: object) -> bool:
    return True


def looked_up(*_: object) -> object:
    return _C.current_backend(), _C.parts_will_do()


def called(*_: object) -> object:
    return _C.entering_call()


def entry(function: types.FunctionType, check: Any = holds) -> _C.CacheEntry:
    guards = [("first", holds), ("second", check)]
    return _C.CacheEntry(function.__code__, triple.__code__.replace(), check, guards)


@call
def cached() -> Call:
    function = fresh(double)

    def use() -> None:
        cache = _C.code_cache(function.__code__)
        _C.set_cache_listener(holds)
        try:
            made, other = entry(function), entry(function, raises)
            cache.add(other)
            cache.add(made)
            made.dies_with(types.SimpleNamespace)
            cache.lookup({"x": 1}, {})
            cache.remove(made)
            cache.add(made)
            cache.add(entry(function))
            made.invalidate("a reason")
            _C.code_caches()
            cache.clear()
        finally:
            _C.set_cache_listener(None)

    return use


@call
def replaced() -> Call:
    function = fresh(double)

    def callback(code: types.CodeType, *_: object) -> _C.CacheEntry | None:
        if code is not function.__code__:
            return None
        made = entry(function)
        _C.code_cache(code).add(made)
        return made

    def use() -> None:
        before = _C.set_frame_callback(callback, "backend", False)
        _C.set_lookup_listener(looked_up)
        try:
            results = {function(3), function(3)}
        finally:
            _C.set_lookup_listener(None)
            _C.set_frame_callback(*before)
        assert results == {9}

    return use


@call
def replaced_by_helper() -> Call:
    use = replaced()

    def use_helper() -> None:
        _C.force_helper(True)
        try:
            use()
        finally:
            _C.force_helper(False)

    return use_helper


@call
def captured() -> Call:
    function = fresh(double)
    _C.code_cache(function.__code__).add(entry(function))

    def use() -> None:
        capturing = _C.Capturing(None, None, True)
        capturing.call(function, (3,), {})
        with capturing:
            function(3)

    return use


@call
def resumed() -> Call:
    function = fresh(double)
    scope: dict[str, Any] = {"resume": _C.resume, "triple": triple}

    def leaves(x: int) -> Any:
        return resume(triple, x)  # type: ignore[name-defined]  # noqa: F821  # it is there when it runs

    original = types.FunctionType(double.__code__.replace(), scope)
    left = _C.CacheEntry(original.__code__, leaves.__code__.replace(co_freevars=()), holds)
    _C.code_cache(original.__code__).add(left)

    def use() -> None:
        assert _C.finish(_C.resume(function, 3)) == 6
        _C.load_special(LOCK, "__exit__")
        before = _C.set_frame_callback(False)
        leave = _C.leave_resume_calls(False)
        try:
            assert original(3) == 9
        finally:
            _C.leave_resume_calls(leave)
            _C.set_frame_callback(*before)

    return use


@call
def watched() -> Call:
    function = fresh(double)

    def use() -> None:
        _C.set_observer(called, holds)
        try:
            _C.watch(function.__code__, "tag")
            function(3)
            _C.count_call(function.__code__)
            _C.watched_calls(function.__code__)
            _C.unwatch(function.__code__)
        finally:
            _C.set_observer(None)

    return use


@call
def skipped() -> Call:
    code = fresh(double).__code__

    def use() -> None:
        _C.traced()
        _C.own_tracer(code)
        _C.set_skip(code, "recursive")
        _C.get_skip(code)
        _C.set_skip(code, None)

    return use


@call
def hooked() -> Call:
    def use() -> None:
        assert _C.hook_installed()
        _C.put_hook_aside()
        _C.put_hook_back()
        _C.remove_hook()
        _C.install_hook()

    return use


# --- guards


class Module:
    """What a guard looks at."""

    def __init__(self) -> None:
        names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
        vars(self).update({name: {} for name in names}, training=False)


@call
def checked() -> Call:
    module = Module()

    def use() -> None:
        _C.check_nn_module(module, False)
        _C.check_obj_id(module, id(module))
        _C.check_type_id(module, id(Module))
        _C.instance_dict(module)
        assert _C.class_name(Module).endswith("Module")
        _C.fields(module)
        _C.no_aliasing(module, Module, Module, *range(20))
        check = _C.ClassCheck(Module, holds)
        assert check()

    return use


@call
def checked_again() -> Call:
    kind = type("Kind", (), {})
    check = _C.ClassCheck(kind, lambda cls: bool(vars(cls)))
    kind.attribute = 1  # type: ignore[attr-defined]  # set as programs set it
    return check


@call
def names_checked() -> Call:
    names: dict[str, Any] = {"a": object()}
    known = {**names, "b": _C.NamespaceCheck}

    def function(a: int = 3, *, b: int = 4) -> None: ...

    def use() -> None:
        functions: list[Any] = [function]
        check = _C.NamespaceCheck([(names, known)], functions)
        names["c"] = object()
        assert check()
        names["a"], before = None, names["a"]
        assert not check()
        names["a"] = before

    return use


@call
def programmed() -> Call:
    thing = Module()
    values = [
        (_C.STEP_LOCALS, 0, None), (_C.STEP_ITEM, 0, "x"), (_C.STEP_ATTR, 1, "training"),
        (_C.STEP_OWN_DICT, 1, None), (_C.STEP_CLASS, 1, None), (_C.STEP_SCOPE, 0, "scoped"),
        (_C.STEP_GLOBALS, 0, None), (_C.STEP_ITEM, 0, "items"), (_C.STEP_ITEM, 0, "number"),
        (_C.STEP_CONSTANT, 0, 2**71), (_C.STEP_CALL, 5, (9, 1)),
    ]  # fmt: skip
    conditions = [
        (_C.TEST_TRUE, 5, None), (_C.TEST_OBJ_ID, 1, id(thing)), (_C.TEST_TYPE_ID, 1, id(Module)),
        (_C.TEST_NN_MODULE, 1, False), (_C.TEST_HAS, 7, 2**70), (_C.TEST_LACKS, 7, "c"),
        (_C.TEST_LACKS_ATTR, 1, "absent"), (_C.TEST_LENGTH, 7, 2), (_C.TEST_EQUALS, 7, {2**70, 2}),
        (_C.TEST_FLOAT, 8, 2.5), (_C.TEST_SAME, 1, 1), (_C.TEST_CALL, 5, (1, 4)),
        (_C.TEST_TRUE, 10, None), (_C.TEST_PYTHON, 0, lambda L, G: L["x"] is thing),
    ]  # fmt: skip
    scope = {"scoped": lambda *_: True}
    found = {"x": thing, "items": {2**70, 2}, "number": 2.5}
    assert _C.GuardProgram(values, conditions, scope)(found, {})
    return lambda: _C.GuardProgram(values, conditions, scope)(found, {})


# --- turns, hooks, undoing


@call
def undone() -> Call:
    def use() -> None:
        _C.call_and_undo(dict, double, 3)
        _C.call_undisturbed(double, 3)

    return use


@call
def in_lock() -> Call:
    watcher: Any = types.SimpleNamespace(lost="", break_down=lambda error: None)

    def use() -> None:
        lock = _C.ReentrantLock()
        lock.acquire()
        lock.release()
        with lock, _C.Writing(lock, True), _C.Writing(lock, False):
            lock.unwind(lock.depth())
        lock.during(dict, one=1)
        hook = _C.Hook(dict, lock, watcher)
        hook()
        _C.Hook(raises, lock, watcher)()
        hook.release()

    return use


@call
def sifted() -> Call:
    patterns = [(b"Planted", 0, 1), *[(b"pattern%d" % number, 0, 1) for number in range(20)]]
    values = ["a Planted b", b"c", 5, [("x", {"Planted": b"y"})]]
    sieve = _C.Sieve(patterns)
    return lambda: (_C.Sieve(patterns).kept(values), sieve.kinds("a Planted b"))


# --- words


@call
def instructions() -> Call:
    listed = [Slotted("LOAD", 1, value) for value in ("a", (1, "x"), 2.5, b"y")]

    def use() -> None:
        _C.instruction_rows(holds, listed, (1,), {"LOAD": None}, 8, repr)
        _C.opname_marks(tuple(listed), {"LOAD": True})
        _C.last_line(fresh(double).__code__)

    return use


@call
def arguments() -> Call:
    node = test_node_records.Graph().add("a")
    given = (node, 1, (node, [2.5, "it's"]), object())
    return lambda: _C.node_words(given, {"out": node}, test_node_records.Node, repr)


@call
def shortened() -> Call:
    text = "words and longer-words " * 20
    return lambda: (_C.shortened(text, 40), _C.shortened(text, 999), _C.shortened_at(text, 40))


@call
def shortest() -> Call:
    return lambda: _C.shortest(3, str, 1)


@call
def chunk_kept() -> Call:
    def keep_and_release() -> None:
        _C.keep_stack_chunk()
        _C.release_stack_chunk()

    return keep_and_release


# --- what is recorded


@call
def described() -> Call:
    trackers = Program(Session(), 7)
    for _ in range(40):
        trackers.tracker()

    def use() -> None:
        engine = Engine()
        for tracker in trackers.made:
            engine.facts.describe(tracker, holds)
        engine.facts.id_of(b"body" * 100, tuple(range(50)))
        engine.facts.take()

    return use


@call
def stepped() -> Call:
    session = Session()
    program = Program(session, next(SEEDS))
    for _ in range(100):
        program.turn()
    steps, trackers = session.steps, program.made[-5:]
    program.go_on()
    tx, frame = program.frames[-1]

    def use() -> None:
        steps.step(tx)
        for tracker in trackers:
            steps.touched(tracker)
            steps.number(tracker)
        steps.note_position(tx)
        steps.restart()
        steps.step(tx)
        steps.flush()
        steps.record_whole(frame)
        steps.moment += 1
        steps.add(1, 2, b"delta")
        steps.clock()
        steps.take()
        steps.step(tx)
        steps.clear()

    return use


def labelled(code: object) -> tuple[int, bytes, str]:
    return 7, b"stores", "a label"


@call
def framed() -> Call:
    def use() -> None:
        steps, output = followed(holds, labelled)
        for code in ("f", "g"):
            steps.frame_entered(output, inner := Translator(code))
            output.at_work.append(inner)
        steps.frame_left(output)
        frames_taken(steps)

    return use


@call
def guarded() -> Call:
    def use() -> None:
        steps, guards = new_steps(), GuardsSet()
        steps.watch_guards("attempt", False, True)
        guards.add(steps, *range(30))
        steps.take_guards()
        steps.guards_seen(guards.inner._dict)

    return use


@call
def timed() -> Call:
    def use() -> None:
        steps = new_steps()
        steps.times_guards = True
        for number in range(30):
            steps.guard_made(number)
        steps.take_made()

    return use


@call
def noded() -> Call:
    steps, graph = new_steps(), test_node_records.Graph()
    steps.graph = records = test_node_records.Records(record=plain(trace.Node))

    def use() -> None:
        value = test_node_records.Fake((2, 3))
        x = graph.add("x", "placeholder", val=3)
        y = graph.add("y", "op", x, example_value=value)
        records.graphs[id(graph)] = (graph, "inner")
        steps.node_inserted(x)
        steps.node_removed(x)
        records.tell(x, y)
        records.target(y)
        records.arguments(y)
        records.rank(graph.add("w"))
        records.forget()

    return use


@call
def placed() -> Call:
    ident = threading.get_ident()

    def use() -> None:
        _C.thread_frames(ident, 20)

    return use


def is_another_file(file: str) -> bool:
    return file != __file__


def taken(*place: object) -> object:
    return place


@call
def led_here() -> Call:
    def use() -> None:
        places = _C.ProgramStack(is_another_file, taken, 20)
        places(sys._getframe())
        places(sys._getframe())
        places(None)

    return use


@call
def happened() -> Call:
    steps = new_steps()

    def use() -> None:
        run = _C.EventRun(dict, 1e9, ("kind",))
        for moment in range(20):
            run.add(moment, "kind", "text" * 20, moment, None)
            run.add_late(moment, "kind", "late", None, moment)
            run.add_at(steps, "kind", "here", None)
        run.take()

    return use
