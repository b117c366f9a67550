"""The program's output, as lines."""

from __future__ import annotations

from rich.style import Style

from stepper.tui import terminal_text
from stepper.tui.terminal_text import TerminalText


def lines(*pieces: str) -> list[str]:
    text = TerminalText()
    for moment, piece in enumerate(pieces):
        text.feed(piece, moment)
    return [line.text for line in text.lines]


def test_lines_end_at_line_feeds_as_a_terminal_sends_them() -> None:
    assert lines("one\r\ntwo\r\n\r\nthr", "ee") == ["one", "two", "", "three"]


def test_a_progress_bar_rewrites_its_line() -> None:
    assert lines(" 10%|#   |\r 20%|##  |", "\r\x1b[Kdone\r\n") == ["done"]
    assert lines("loading\rLOAD") == ["LOADing"]


def test_several_bars_are_rewritten_by_moving_up() -> None:
    assert lines("a 0\r\nb 0\r\n", "\x1b[2Aa 9\r\n\x1b[Bend") == ["a 9", "b 0", "end"]


def test_backspace_tab_and_erasing() -> None:
    assert lines("abc\b\bX") == ["aXc"]
    assert lines("a\tb") == ["a       b"]
    assert lines("abcdef\x1b[3D\x1b[1K") == ["    ef"]
    assert lines("abcdef\x1b[2G\x1b[0K!") == ["a!"]
    assert lines("abcdef\x1b[2K") == [""]


def test_colours_become_styles_also_when_a_sequence_arrives_in_pieces() -> None:
    text = TerminalText()
    for piece in ("\x1b[1;3", "1mred", "\x1b[0m plain \x1b[38;5;2", "08morange\x1b[m"):
        text.feed(piece, 1)
    strip = text.lines[0].strip(Style())
    assert strip.text == "red plain orange"
    red, plain, orange = (segment.style for segment in strip)
    assert red == Style(bold=True, color="red")
    assert plain == Style.null()
    assert orange is not None
    assert orange.color is not None
    assert orange.color.number == 208


def test_nothing_else_reaches_the_terminal() -> None:
    sneaky = (
        "\x1b]0;title\x07a\x1b[?1049hb\x1b[2Jc\x1b(Bd\x07\x1b]52;c;aGk=\x1b\\e\x9b5mf\x1bP+q\x1b\\g"
    )
    assert lines(sneaky) == ["abcde5mfg"]


def test_an_escape_that_never_ends_does_not_swallow_the_output() -> None:
    assert "x" * 5000 in "".join(lines("\x1b]" + "x" * 5000, "more\r\n"))


def test_a_cursor_sent_far_away_costs_nothing() -> None:
    assert len(lines("\x1b[999999999Cx")[0]) < 20_000
    assert lines("a\x1b[999999999Bb")[-1] == "ab"


def test_a_line_knows_the_newest_moment_when_it_was_written() -> None:
    text = TerminalText()
    text.feed("a\r\nb", 3)
    text.feed("c\r\n", 8)
    assert [line.moment for line in text.lines] == [3, 8]


def test_only_the_newest_lines_are_kept() -> None:
    text = TerminalText()
    for number in range(terminal_text.MAX_LINES + 10):
        text.feed(f"{number}\r\n", 1)
    assert len(text.lines) <= terminal_text.MAX_LINES
    assert text.lines[-1].text == str(terminal_text.MAX_LINES + 9)
    assert text.dropped + len(text.lines) == terminal_text.MAX_LINES + 10
