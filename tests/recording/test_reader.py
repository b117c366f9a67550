"""What a recording answers, and how fast for long ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepper.client.session import open_recording
from stepper.model.trace import EventKind, Outcome
from stepper.model.value import Value
from stepper.recording.diff import diff
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from tests.recordings import FACTS, Tape, scaled


def test_facts_and_extent(sample: Tape, recording: Recording) -> None:
    assert recording.facts == FACTS
    assert recording.ended == "exit"
    assert (recording.oldest, recording.newest) == (1, sample.moment)


def test_translations_with_their_attempts(recording: Recording) -> None:
    found = recording.translations()
    assert [t.compile_id for t in found] == ["0/0", "1/0", "0/1", "", "2/0"]
    assert [t.outcome for t in found][-2:] == [Outcome.SKIPPED, Outcome.FAILED]
    assert [a.number for a in recording.attempts(found[0].id)] == [1, 2]
    assert recording.attempts(found[0].id)[0].restart_reason.startswith("graph break")
    assert recording.attempts(found[3].id) == []


def test_moment_knows_its_translation_and_place(recording: Recording) -> None:
    last = recording.translation_at(recording.newest)
    assert last is not None
    assert last.name == "block"
    assert recording.translation_at(0) is None
    moment = recording.graph_breaks()[0].moment
    place = recording.place(moment)
    assert (place.attempt, place.depth) == (1, 1)
    frame = recording.frame(place.frame)
    assert recording.code(frame.code).name == "block"
    assert [child.id for child in recording.frame_children(frame.id)] == [frame.id + 1]
    assert recording.moments(1, 3) == [recording.moment(m) for m in (1, 2, 3)]


def test_frames_of_an_attempt_are_in_the_order_of_entering(recording: Recording) -> None:
    names = [recording.code(f.code).name for f in recording.frames(1)]
    assert names == ["forward", "block", "scaled"]
    assert [f.depth for f in recording.frames(1)] == [0, 1, 2]


def test_guard_is_seen_after_the_moment_that_installed_it(recording: Recording) -> None:
    all_of_first = recording.guards(None, attempt=1)
    later = next(g for g in all_of_first if g.source == "G['scaled']")
    assert later not in recording.guards(later.moment)
    assert later in recording.guards(later.moment + 1)
    assert {g.attempt for g in recording.guards(recording.newest)} == {5} or not recording.guards(
        recording.newest
    )


def test_guard_gets_its_code_when_it_is_built(tmp_path: Path) -> None:
    tape = started(tmp_path)
    guard = tape.guard("TENSOR_MATCH", "L['x']")
    tape.step(1)
    tape.writer.flush()
    recording = Recording.open(tape.path)
    assert recording.guards(2)[0].code == ()
    attempt = recording.attempt(1)
    tape.writer.guard_codes(attempt.translation, {guard: ("check_tensor(L['x'])", "\udc80")})
    tape.writer.flush()
    recording.refresh()
    assert recording.guards(2)[0].code == ("check_tensor(L['x'])", "\\udc80")


def test_guard_is_there_until_dynamo_takes_it_back(tmp_path: Path) -> None:
    tape = started(tmp_path)
    first = tape.guard("TYPE_MATCH", "L['n']")
    tape.step(1)
    tape.guard("CONSTANT_MATCH", "L['n']")
    tape.step(2)
    tape.writer.flush()
    recording = Recording.open(tape.path)
    assert [g.kind for g in recording.guards(3)] == ["TYPE_MATCH", "CONSTANT_MATCH"]
    tape.writer.guard_withdrawn(first, 2)
    tape.step(3)
    tape.writer.flush()
    recording.refresh()
    assert [[g.kind for g in recording.guards(m)] for m in (1, 2, 3, 4)] == [
        [], ["TYPE_MATCH"], ["CONSTANT_MATCH"], ["CONSTANT_MATCH"],
    ]  # fmt: skip
    assert [g.kind for g in recording.guards(None, attempt=1)] == ["CONSTANT_MATCH"]
    assert [g.withdrawn for g in recording.guards_installed(1)] == [2, None]
    found = diff(recording, 2, 3)
    assert [g.kind for g in found.guards_removed] == ["TYPE_MATCH"]
    recording.close()


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        ("detached", "the debugger was detached"),
        ("r.stepper: the disk is full", "r.stepper: the disk is full"),
    ],
)
def test_what_runs_when_the_recording_ends_is_cut_off(tmp_path: Path, ended: str, why: str) -> None:
    tape = started(tmp_path)
    tape.guard("TENSOR_MATCH", "L['x']")
    tape.node("a", "call_function", "operator.add")
    tape.step(1)
    tape.step(2)
    tape.writer.flush()
    recording = Recording.open(tape.path)
    assert recording.translation(1).outcome is Outcome.RUNNING
    tape.writer.close(ended)
    recording.refresh()
    [cut] = recording.translations()
    recording.close()
    assert (cut.outcome, cut.reason) == (Outcome.CUT_OFF, why)
    assert (cut.attempts, cut.instructions, cut.guards, cut.nodes) == (1, 3, 1, 1)


def test_what_a_killed_program_had_begun_is_cut_off(tmp_path: Path) -> None:
    tape = started(tmp_path)
    tape.writer.flush()
    recording = open_recording(tape.path).recording
    assert recording is not None
    assert [t.outcome for t in recording.translations()] == [Outcome.CUT_OFF]
    recording.close()


def test_erased_node_is_there_until_it_is_erased(tmp_path: Path) -> None:
    tape = started(tmp_path)
    first = tape.node("a", "call_function", "operator.add")
    tape.step(1)
    tape.node("b", "call_function", "operator.mul", rank=0.5)
    tape.step(2)
    tape.writer.flush()
    recording = Recording.open(tape.path)
    assert [n.name for n in recording.nodes(3)] == ["b", "a"]  # by rank
    tape.writer.node_erased(first, 3)
    tape.step(3)
    tape.writer.flush()
    recording.refresh()
    assert [[n.name for n in recording.nodes(m)] for m in (1, 2, 3, 4)] == [
        [], ["a"], ["b", "a"], ["b"],
    ]  # fmt: skip
    assert [n.name for n in recording.nodes(None, attempt=1)] == ["b"]
    erased = recording.node(1, "a")
    assert erased is not None
    assert erased.erased == 3
    assert recording.node(1, "nobody") is None


def test_side_effects_and_graph_breaks(recording: Recording) -> None:
    [effect] = recording.side_effects(None, attempt=4)
    assert recording.side_effects(effect.moment) == []
    assert recording.side_effects(effect.moment + 1) == [effect]
    [found] = recording.graph_breaks(1)
    assert recording.graph_breaks(2) == []
    assert recording.graph_break_at(found.moment) == found
    assert found.hints


def test_transformed_code(recording: Recording) -> None:
    code = recording.transformed(1)
    assert code is not None
    assert code.name == "compiled_forward"
    assert recording.transformed(4) is None


def test_events_are_filtered_searched_and_paged(recording: Recording) -> None:
    everything = recording.events()
    of_the_cache = {"lookup", "guard-fail", "hit", "miss", "entry", "invalidate", "evict"}
    others = of_the_cache | {"execute", "intervention", "specialize", "data-dependent", "shape"}
    assert {event.kind for event in everything} == set(EventKind) - others
    assert recording.event_count() == len(everything)
    guards = recording.events(kinds={EventKind.GUARD})
    assert guards == [event for event in everything if event.kind is EventKind.GUARD]
    assert recording.events(kinds={EventKind.GUARD}, limit=2, offset=3) == guards[3:5]
    assert recording.events(text="L['X']") == [e for e in everything if "L['x']" in e.text]
    assert recording.events(text="100%_") == []
    assert recording.events(kinds=()) == []
    between = recording.events(after=10, before=20)
    assert between == [event for event in everything if 10 < event.moment < 20]


def test_next_event_in_both_directions(recording: Recording) -> None:
    kinds = (EventKind.GRAPH_BREAK,)
    moment = recording.graph_breaks()[0].moment
    for direction, start in ((1, 1), (-1, recording.newest)):
        event = recording.next_event(start, kinds, direction)
        assert event is not None
        assert event.moment == moment
        assert recording.next_event(moment, kinds, direction) is None


def test_events_out_of_the_order_of_moments_are_all_found(tmp_path: Path) -> None:
    """An attempt is announced at the moment that it will begin with."""
    tape = started(tmp_path)
    for moment in (2, 1, 1, 2, 3):
        tape.writer.event(moment, EventKind.NOTE, str(moment))
    tape.step(1)
    recording = Recording.open(tape.close())
    notes = (EventKind.NOTE,)
    assert [e.text for e in recording.events(kinds=notes)] == ["2", "1", "1", "2", "3"]
    assert [e.text for e in recording.events(kinds=notes, after=1)] == ["2", "2", "3"]
    assert [e.text for e in recording.events(kinds=notes, before=2)] == ["1", "1"]
    assert list(recording.event_moments(notes)) == [1, 1, 2, 2, 3]
    found = recording.next_event(1, notes, 1)
    assert found is not None
    assert found.moment == 2
    assert recording.next_event(2, notes, 1) is None  # moment 3 is not recorded


def test_output_up_to_a_moment(recording: Recording) -> None:
    assert "".join(o.data for o in recording.output()) == "epoch 1\r\n\x1b[32mdone\x1b[0m\r\n"
    assert [o.data for o in recording.output(upto=50)] == ["epoch 1\r\n"]
    assert [o.data for o in recording.output(after_id=1)] == ["\x1b[32mdone\x1b[0m\r\n"]


def test_executed_instructions_whichever_way_they_are_asked_for(big: Path) -> None:
    asked = [5000, 100, 101, 99, 5000, 1]
    recording, fresh = Recording.open(str(big)), Recording.open(str(big))
    for upto in asked:
        expected: dict[int, int] = {}
        for moment in fresh.moments(1, upto - 1):
            if moment.frame == 1:
                expected[moment.ip] = expected.get(moment.ip, 0) + 1
        assert recording.executed(1, upto) == expected


def test_origin_of_a_value_is_the_instruction_that_made_it(tmp_path: Path) -> None:
    tape = started(tmp_path)
    made = tape.describe(Value("TensorVariable", text="y"))
    tape.step(1, stack=[made])
    tape.step(2)
    recording = Recording.open(tape.close())
    assert recording.value_origin(1, made) == 1
    assert recording.value_origin(1, 999) is None


def test_unknown_ids_say_what_there_is(recording: Recording) -> None:
    with pytest.raises(RecordingError, match=r"no moment 999: its moments are 1 to \d+"):
        recording.moment(999)
    for ask in (recording.frame, recording.code, recording.attempt, recording.translation):
        with pytest.raises(RecordingError, match="999"):
            ask(999)
    with pytest.raises(RecordingError):
        recording.moment(10**30)


def test_empty_recording(tmp_path: Path) -> None:
    recording = Recording.open(Tape(str(tmp_path / "r.stepper")).close())
    assert (recording.oldest, recording.newest) == (0, 0)
    assert recording.translations() == []
    assert recording.events() == []
    assert recording.guards(0) == []
    assert list(recording.codes()) == []


def test_closed_recording_says_so(sample: Tape) -> None:
    recording = Recording.open(sample.path)
    recording.close()
    recording.close()
    with pytest.raises(RecordingError, match="closed"):
        recording.moment(1)


@pytest.mark.parametrize("looked", [False, True], ids=["nothing read", "all read"])
def test_a_reader_that_begins_with_what_another_knows_says_what_is_so(
    tmp_path: Path, looked: bool
) -> None:
    tape = Tape(str(tmp_path / "r.stepper"))
    other: Recording | None = None
    for compile_id in ("0/0", "0/1"):
        tape.begin(scaled, compile_id)
        for reason in ("a graph break", ""):
            tape.start_attempt()
            tape.step(0)
            tape.event(EventKind.NOTE, f"{compile_id}, {reason}")
            tape.writer.flush()
            if other is None and reason == "":
                first = Recording.open(tape.path)
                if looked:
                    _told(first)
                other = Recording.open(tape.path, known=first.known())
                first.close()
            elif other is not None:
                other.refresh()
            if other is not None:
                with_nothing = Recording.open(tape.path)
                assert _told(other) == _told(with_nothing)
                with_nothing.close()
            tape.end_attempt(reason)
        tape.end()
    tape.close()
    assert other is not None
    other.refresh()
    with_nothing = Recording.open(tape.path)
    assert _told(other) == _told(with_nothing)
    assert [each.outcome for each in other.translations()] == [Outcome.COMPILED] * 2
    with_nothing.close()
    other.close()


def _told(recording: Recording) -> tuple[object, ...]:
    code = next(recording.codes()).id
    return (
        recording.translations(),
        recording.translations_of(code),
        recording.attempts(),
        recording.attempts(1),
        recording.events(),
        recording.event_count(kinds=(EventKind.NOTE,)),
    )


def started(tmp_path: Path) -> Tape:
    """A tape at its first moment."""
    tape = Tape(str(tmp_path / "r.stepper"))
    tape.begin(scaled, "0/0")
    tape.start_attempt()
    tape.step(0)
    return tape
