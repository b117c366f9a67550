"""Cache entries in a session: events as they happen, and a front end that asks and changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepper.model.breakpoint import parse_breakpoint
from stepper.model.cache import (
    CacheCheck,
    CacheListing,
    EntryState,
    EntryView,
    RunResult,
)
from stepper.model.control import (
    CheckCache,
    CloneEntry,
    EditEntry,
    Evaluate,
    InspectEntry,
    ListCache,
    RegisterEntry,
    RemoveEntry,
    RunEntry,
    SetBreakpoints,
    Terminate,
)
from stepper.model.trace import EventKind, Outcome, Phase
from stepper.recording.reader import Recording
from tests.debuggee.harness import Program

LIFETIME = """
import gc
import torch

def make():
    class Scaler:
        factor = 2.0
    return Scaler

def apply(x, scaler):
    return x * scaler.factor

def other(x):
    return x + 1

scaler = make()
compiled = torch.compile(apply, backend="eager")
compiled(torch.ones(3), scaler)
torch.compile(other, backend="eager")(torch.ones(2))
print(compiled(torch.ones(4), scaler).tolist())
if scaler:
    del scaler
    gc.collect()
torch._dynamo.reset()
print("end")
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    programs: list[Program] = []

    def begin(*breakpoints: str, source: str = LIFETIME, **config: Any) -> Program:
        programs.append(Program(source, tmp_path, breakpoints=breakpoints, **config))
        return programs[-1]

    yield begin
    for program in programs:
        program.close()


def listing(program: Program) -> CacheListing:
    data = program.ask(lambda seq: ListCache(seq)).data
    assert isinstance(data, CacheListing)
    return data


def states(program: Program) -> dict[str, list[EntryState]]:
    codes = listing(program).codes
    return {code.name: [entry.state for entry in code.entries] for code in codes}


def events(program: Program) -> list[tuple[EventKind, str]]:
    with_cache = (EventKind.ENTRY, EventKind.INVALIDATE, EventKind.EVICT)
    recording = Recording.open(program.recording)
    found = [(event.kind, event.text) for event in recording.events(kinds=with_cache)]
    recording.close()
    return found


def test_what_happens_to_entries_is_recorded(start: Any) -> None:
    program = start()
    assert program.finish()[0] == 0
    kinds = [kind for kind, _ in events(program)]
    assert kinds == [EventKind.ENTRY] * 3 + [EventKind.INVALIDATE] * 2 + [EventKind.EVICT] * 3
    died = next(text for kind, text in events(program) if kind is EventKind.INVALIDATE)
    assert "class Scaler died" in died
    assert "L['scaler']" in died
    assert "in apply" in died  # the line that made the guard
    assert "program.py:23 in <module>" in died  # the place where it died


def test_breakpoints_stop_where_it_happens(start: Any) -> None:
    program = start("entry:other", "invalidate:apply, once", "evict:other")
    texts = []
    for _ in range(3):
        texts.append(program.stopped().text)
        seen = states(program)
        program.resume()
    assert ["other" in texts[0], "died" in texts[1], "reset()" in texts[2]] == [True] * 3
    assert set(seen["apply"]) == set(seen["other"]) == {EntryState.EVICTED}
    assert program.finish()[0] == 0


def test_the_dead_entry_is_dead_at_the_stop(start: Any) -> None:
    program = start("invalidate", forked=False)
    stop = program.stopped()
    assert EntryState.INVALID in states(program)["apply"]
    # Where the program is, and not where it was when it called what was recorded last.
    (frame,) = stop.stack
    assert frame.function == "<module>"
    assert f"{frame.filename}:{frame.line} in <module>" in stop.text


IN_THE_MIDST = """
import gc
import torch

def make():
    class Scaler:
        factor = 2.0
    return Scaler

def apply(x, scaler):
    return x * scaler.factor

scalers = [make(), make()]
compiled = torch.compile(apply, backend="eager", dynamic=False)
for scaler in scalers:
    compiled(torch.ones(3), scaler)
del scaler

@torch._dynamo.assume_constant_result
def kill():
    del scalers[0]
    gc.collect()
    return 1

def backend(graph, inputs):
    kill()
    return graph.forward

@torch.compile(backend=backend)
def other(x):
    x = x + kill()
    x = x * 2
    return x + 1

print(other(torch.ones(2)).tolist())
"""


def test_a_death_during_a_compilation_is_told_at_once(start: Any) -> None:
    program = start("invalidate:apply", source=IN_THE_MIDST)
    stops = []
    for _ in range(2):
        stops.append(program.stopped())
        program.resume()
    assert program.finish() == (0, "[5.0, 5.0]\n", "")
    interpreted, in_backend = stops
    assert ":22 in kill" in interpreted.text
    recording = Recording.open(program.recording)
    other = next(each for each in recording.translations() if each.name == "other")
    # At the call that it comes of, and while the backend was at work.
    called = recording.state(interpreted.moment)
    code = recording.code(recording.frame(called.moment.frame).code)
    assert code.instructions[called.top.ip].opname == "CALL"
    assert interpreted.moment < in_backend.moment == other.last_moment
    *_, end = recording.events(kinds={EventKind.END})
    told = recording.events(kinds={EventKind.INVALIDATE})
    assert [event.id < end.id for event in told[:2]] == [True, True]
    recording.close()


def test_the_program_can_be_ended_where_an_object_dies(start: Any) -> None:
    more = LIFETIME.replace("torch._dynamo.reset()", "import time; time.sleep(30)")
    program = start("invalidate", source=more)
    program.stopped()
    assert program.ask(Terminate).ok
    _, _, err = program.finish()
    assert "KeyboardInterrupt" in err
    assert "Exception ignored" not in err, err


def test_names_of_the_main_module_can_be_used_within_a_library(start: Any, tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text("def call(function, *args):\n    return function(*args)\n")
    source = LIFETIME.replace("import gc", "import gc\nimport library").replace(
        'torch.compile(other, backend="eager")(',
        'library.call(torch.compile(other, backend="eager"), ',
    )
    program = start("entry:other", source=source)
    program.stopped()
    assert program.ask(lambda seq: Evaluate(seq, "function.__name__")).text == "'other'"
    assert program.ask(lambda seq: Evaluate(seq, "scaler.factor")).text == "2.0"
    assert program.ask(lambda seq: Evaluate(seq, "del scaler; gc.collect()")).ok
    assert states(program)["apply"] == [EntryState.INVALID]


def test_deleting_the_object_in_the_console_kills_the_entry_at_once(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    assert states(program)["apply"] == [EntryState.VALID]
    assert program.ask(lambda seq: Evaluate(seq, "del scaler; gc.collect()")).ok
    assert states(program)["apply"] == [EntryState.INVALID]
    # and it is in the recording already, while the program stands still
    kind, text = events(program)[-1]
    assert kind is EventKind.INVALIDATE
    assert "in the console" in text
    code = next(code for code in listing(program).codes if code.name == "apply")
    assert "Scaler" in code.entries[0].reason


def test_asking_and_changing_at_a_stop(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    entry = next(code for code in listing(program).codes if code.name == "apply").entries[0]
    assert entry.translation
    assert entry.age is not None

    def check(arguments: str, **how: Any) -> CacheCheck:
        found = program.ask(lambda seq: CheckCache(seq, entry.code, arguments, **how))
        assert isinstance(found.data, CacheCheck), found.text
        return found.data

    assert check("torch.ones(3), scaler", compare=True).winner == entry.id
    assert check("torch.ones(4), scaler=scaler").winner is None
    assert check("f_locals={'x': torch.ones(3), 'scaler': scaler}").winner == entry.id
    view = program.ask(lambda seq: InspectEntry(seq, entry.id)).data
    assert isinstance(view, EntryView)
    (tensor,) = [row.index for row in view.guards if row.kind == "TENSOR_MATCH"]
    made = program.ask(lambda seq: CloneEntry(seq, entry.id, drop=(tensor,))).data
    assert isinstance(made, EntryView)
    text = made.bytecode.rstrip().removesuffix("RETURN_VALUE")
    text += "LOAD_CONST 100.0\nBINARY_OP BinaryOp.ADD\nRETURN_VALUE\n"
    assert program.ask(lambda seq: EditEntry(seq, made.entry.id, text)).ok
    ran = program.ask(
        lambda seq: RunEntry(seq, made.entry.id, "torch.ones(2), scaler", compare=True)
    ).data
    assert isinstance(ran, RunResult)
    assert ran.comparison is not None
    assert "differ by up to 100" in ran.comparison.differences[0]
    assert program.ask(lambda seq: RegisterEntry(seq, made.entry.id)).ok
    assert check("torch.ones(4), scaler").winner == made.entry.id
    program.resume()
    status, out, _ = program.finish()
    assert (status, out.splitlines()[0]) == (0, "[102.0, 102.0, 102.0, 102.0]")


def test_code_that_was_compiled_before_can_be_stepped_at_its_next_call(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    wanted = (parse_breakpoint("execute:apply, once"),)
    assert program.ask(lambda seq: SetBreakpoints(seq, wanted)).ok
    program.resume()
    assert program.stopped().text == "0/1 apply"
    program.resume()
    assert program.finish()[0] == 0


def test_an_entry_is_taken_out_again(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    entry = next(code for code in listing(program).codes if code.name == "apply").entries[0]
    made = program.ask(lambda seq: CloneEntry(seq, entry.id)).data
    assert isinstance(made, EntryView)
    program.ask(lambda seq: RegisterEntry(seq, made.entry.id))
    assert states(program)["apply"] == [EntryState.VALID, EntryState.VALID]
    assert "draft again" in program.ask(lambda seq: RemoveEntry(seq, made.entry.id)).text
    assert states(program)["apply"] == [EntryState.VALID, EntryState.DRAFT]
    assert "thrown away" in program.ask(lambda seq: RemoveEntry(seq, made.entry.id)).text
    assert states(program)["apply"] == [EntryState.VALID]


def test_lookups_and_executions_of_a_registered_copy_are_told(start: Any) -> None:
    program = start("entry:other", lookups=True, execute=True)
    program.stopped()
    entry = next(code for code in listing(program).codes if code.name == "apply").entries[0]
    view = program.ask(lambda seq: InspectEntry(seq, entry.id)).data
    assert isinstance(view, EntryView)
    drop = tuple(row.index for row in view.guards if row.kind == "TENSOR_MATCH")
    made = program.ask(lambda seq: CloneEntry(seq, entry.id, drop)).data
    assert isinstance(made, EntryView)
    assert program.ask(lambda seq: RegisterEntry(seq, made.entry.id)).ok
    wanted = (parse_breakpoint("execute:apply"),)
    assert program.ask(lambda seq: SetBreakpoints(seq, wanted)).ok
    program.resume()
    program.stopped()
    served = {
        each.id: each.hits
        for code in listing(program).codes
        for each in code.entries
        if code.name == "apply"
    }
    assert (served[entry.id], served[made.entry.id]) == (0, 1)
    recording = Recording.open(program.recording)
    lookup, execution = recording.translations()[-2:]
    assert (lookup.phase, lookup.outcome) == (Phase.LOOKUP, Outcome.HIT)
    assert lookup.compile_id == "precompiled"
    assert (execution.phase, execution.name) == (Phase.EXECUTE, "apply")
    recording.close()


def test_the_call_at_which_it_stands_needs_no_arguments(start: Any) -> None:
    program = start("recompile")
    program.stopped()
    code = next(code for code in listing(program).codes if code.name == "apply")
    found = program.ask(lambda seq: CheckCache(seq, code.id)).data
    assert isinstance(found, CacheCheck)
    assert dict(found.arguments)["x"] == "Tensor f32[4]"
    assert found.winner is None


@pytest.mark.parametrize("stop", ["hit:other", "execute:other"])
def test_nor_does_one_that_has_found_an_entry_or_runs_it(start: Any, stop: str) -> None:
    decorated = LIFETIME.replace("def other", "@torch.compile(backend='eager')\ndef other")
    twice = decorated.replace("(torch.ones(2))", "(other(torch.ones(2)))")
    program = start(stop, source=twice)
    program.stopped()
    code = next(code for code in listing(program).codes if code.name == "other")
    for arguments in ("", "x", "x=x"):
        found = program.ask(lambda seq, text=arguments: CheckCache(seq, code.id, text)).data
        assert isinstance(found, CacheCheck)
        assert dict(found.arguments) == {"x": "Tensor f32[2]"}
        assert found.winner


def test_what_cannot_be_done_is_explained(start: Any) -> None:
    program = start("entry:other")
    program.stopped()
    for make, reason in (
        (lambda seq: InspectEntry(seq, 99), "no cache entry 99"),
        (lambda seq: CheckCache(seq, 1, "torch.ones(3"), "no arguments"),
        (lambda seq: CheckCache(seq, 1, "nowhere"), "NameError"),
        (lambda seq: CheckCache(seq, 1, "__import__('sys').exit(3)"), "SystemExit: 3"),
        (lambda seq: CheckCache(seq, 1, "f_locals={}"), "lacks x"),
        (lambda seq: CheckCache(seq, 1), "does not stand at a call"),
    ):
        response = program.ask(make)
        assert not response.ok
        assert reason in response.text
