"""Edits of a file's text, and what they leave alone."""

from __future__ import annotations

import pytest

from stepper.client.plan import ReplayError
from stepper.client.scratch import Edit, applied, exception_line, line_after, line_before

TEXT = "# ä€ 'odd   spacing'\r\nif x :\r\n\ty = f( ä,1 )  # kept\r\n\r\nlast".encode()


def test_all_but_the_edited_places_is_byte_for_byte_the_same() -> None:
    line = "\ty = f( ä,1 )  # kept".encode()
    col = line.index(b"1")
    edits = [
        Edit("p", 3, col, 3, col + 1, "é"),
        Edit("p", 3, 0, 3, 0, "\tmark(ä)\n"),
        Edit("p", 3, 0, 3, 0, "\tand_then\n"),
    ]
    expected = TEXT.replace(b"1 )", "é )".encode())
    expected = expected.replace(b"\ty", "\tmark(ä)\r\n\tand_then\r\n\ty".encode())
    assert applied(TEXT, edits) == expected
    assert applied(TEXT, []) == TEXT


def test_edits_of_one_place_and_of_none_are_refused() -> None:
    with pytest.raises(ReplayError, match="exclude each other"):
        applied(b"abcdef\n", [Edit("p", 1, 0, 1, 3, "x"), Edit("p", 1, 2, 1, 4, "y")])
    with pytest.raises(ReplayError, match="no line 9"):
        applied(b"abcdef\n", [Edit("p", 9, 0, 9, 1, "x")])


@pytest.mark.parametrize(
    "edit",
    [
        Edit("p", 3, 0, 3, 0, "one\ntwo\n"),
        Edit("p", 3, 0, 4, 0, ""),
        Edit("p", 3, 2, 3, 2, "x\n  y"),
        Edit("p", 2, 0, 4, 3, "all"),
        Edit("p", 1, 3, 1, 5, "no more lines"),
    ],
)
def test_a_line_is_found_that_was_moved(edit: Edit) -> None:
    text = b"".join(b"line %d\n" % number for number in range(1, 8))
    after = applied(text, [edit]).splitlines()
    untouched = {*range(1, 8)} - {*range(edit.line, edit.end_line + 1)}
    for now, line in enumerate(after, 1):
        if line in text.splitlines() and (was := int(line[-1:])) in untouched:
            assert line_before([edit], "p", now) == was
            assert line_after([edit], "p", was) == now
    assert line_after([edit], "another", 5) == 5
    assert line_before([edit], "another", 5) == 5


def test_a_function_begins_at_a_decorator_that_is_put_before_it() -> None:
    decorator, comment = (Edit("p", 3, 0, 3, 0, text) for text in ("    @wrapped\n", "# plain\n"))
    assert line_after([decorator], "p", 3) == 3
    assert line_after([comment], "p", 3) == 4
    assert line_after([decorator, comment], "p", 6) == 8


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("Traceback (most recent call last):\n  File 'x'\n    f()\n    ^^^\nValueError: no\n",
         "ValueError: no"),
        ("Traceback (most recent call last):\n  File 'x'\na.B: it says\nmore words\n\n    ^^^^\n",
         "a.B: it says"),
        ("Traceback (most recent call last):\n  File \x1b[35m'x'\x1b[0m, in \x1b[35mf\x1b[0m\n"
         "\x1b[1;35mValueError\x1b[0m: \x1b[35mno\x1b[0m\n", "ValueError: no"),
        ("printed\n   ^^^^\n", "printed"),
        ("", ""),
    ],
)  # fmt: skip
def test_an_exception_is_told_by_its_message(output: str, said: str) -> None:
    assert exception_line(output) == said
