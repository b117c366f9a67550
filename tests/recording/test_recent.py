"""What a reader keeps of what it has decoded."""

from __future__ import annotations

from stepper.recording.recent import Recent


def test_what_was_not_asked_for_lately_goes_when_there_is_too_much() -> None:
    kept: Recent[str] = Recent(10)
    for number, thing in enumerate("abc"):
        kept.keep(number, thing, 4)
        assert kept.get(0) == "a"
    assert kept.get(1) is None
    assert kept.get(2) == "c"
    kept.keep(2, "C", 100)  # it has grown: kept all the same, and alone
    assert kept.get(2) == "C"
    assert 0 not in kept
    kept.keep(0, "a", 10)
    assert kept.get(0) == "a"
    assert kept.get(2) is None
