"""Records that need not be decoded, since a text cannot be in them."""

from __future__ import annotations

import sys

from stepper.recording.packing import may_hold, pack


def test_what_is_ascii_in_another_case_is_not_passed_over() -> None:
    characters = map(chr, {*range(128, sys.maxunicode + 1)} - {*range(0xD800, 0xE000)})
    for each in characters:
        for text in (each.lower(), each.casefold()):
            for part in filter(str.isascii, text):
                assert may_hold(pack([each]), part), each


def test_a_text_is_found_in_any_case_and_what_lacks_it_is_not_decoded() -> None:
    record = pack(["Failed to trace", 5, ["é"]])
    assert may_hold(record, "failed")
    assert may_hold(record, "TRACE")
    assert may_hold(record, "É")
    assert not may_hold(record, "print")
