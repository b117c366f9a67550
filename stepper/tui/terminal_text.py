"""What a program wrote to its terminal, as lines to look at.

This is no terminal emulator: the output is a scroll that grows at its end, and the program's last
few lines may be rewritten, as progress bars do. Understood are colours and attributes, carriage
return, backspace, tab, erasing in a line, moving within and up and down among the newest lines.
Everything else that would act on a terminal (titles, alternate screens, mouse modes …) is read
and left out, so that nothing a program prints can touch the real terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from stepper.model.printing import printable
from stepper.model.trace import MomentId

MAX_LINES = 100_000
"""Lines that are kept; older ones are dropped."""

_MAX_COLUMNS = 10_000
"""A cursor movement to the right goes no further, lest a few bytes ask for a gigabyte of blanks."""

_REACH = 200
"""How many of the newest lines a cursor movement can go back to."""

_TAB = 8

# An escape sequence, whole; or the beginning of one at the end of the text; or a control character.
_CONTROL = re.compile(
    r"""(?P<csi>\x1b\[(?P<args>[0-?]*)[ -/]*(?P<final>[@-~]))
      | (?P<string>\x1b[\]PX^_].*?(?:\x07|\x1b\\))
      | (?P<other>\x1b[ -/]+[0-~]|\x1b[0-Z\\`-~])
      | (?P<torn>\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07]*|[ -/]*)?\Z)
      | (?P<char>[\x00-\x1f\x7f-\x9f])""",
    re.VERBOSE | re.DOTALL,
)
_MAX_TORN = 4096
"""Characters of an unfinished escape sequence to wait with before taking it for text."""

_BASIC = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ATTRIBUTES = {
    1: Style(bold=True),
    2: Style(dim=True),
    3: Style(italic=True),
    4: Style(underline=True),
    7: Style(reverse=True),
    9: Style(strike=True),
    22: Style(bold=False, dim=False),
    23: Style(italic=False),
    24: Style(underline=False),
    27: Style(reverse=False),
    29: Style(strike=False),
    39: Style(color="default"),
    49: Style(bgcolor="default"),
}

_Cell = tuple[str, Style]


class TerminalLine:
    """One line of output."""

    __slots__ = ("_cells", "_runs", "moment")

    def __init__(self, moment: MomentId) -> None:
        self._cells: list[_Cell] | None = []
        self._runs: tuple[_Cell, ...] = ()
        self.moment = moment
        """The newest moment known when the line was last written to."""

    @property
    def cells(self) -> list[_Cell]:
        """The characters, to be changed."""
        if self._cells is None:
            self._cells = [(char, style) for text, style in self._runs for char in text]
        return self._cells

    def settle(self) -> None:
        """Take less room: the line is not expected to change any more."""
        self._runs, self._cells = tuple(self._joined()), None

    @property
    def text(self) -> str:
        """The line without its colours."""
        return "".join(text for text, _ in self._joined()).rstrip()

    def strip(self, base: Style) -> Strip:
        """The line ready to be drawn, over a base style."""
        return Strip([Segment(printable(text), base + style) for text, style in self._joined()])

    def _joined(self) -> Iterable[_Cell]:
        if self._cells is None:
            return self._runs
        groups = groupby(self._cells, key=lambda cell: cell[1])
        return [("".join(char for char, _ in group), style) for style, group in groups]


class TerminalText:
    """The lines that a stream of terminal output makes. Its pieces may end anywhere."""

    def __init__(self) -> None:
        self.lines: list[TerminalLine] = []
        self._settled = 0
        self.dropped = 0
        """How many lines were dropped at the beginning."""
        self._row = 0
        self._bottom = 0
        self._column = 0
        self._style = Style.null()
        self._pending = ""

    def feed(self, data: str, moment: MomentId) -> None:
        """Take in the next piece of output, which arrived when `moment` was the newest."""
        data = self._pending + data
        self._pending = ""
        at = 0
        for match in _CONTROL.finditer(data):
            self._write(data[at : match.start()], moment)
            at = match.end()
            if match["csi"]:
                self._command(match["final"], match["args"], moment)
            elif match["char"]:
                self._control(match["char"], moment)
            elif match["torn"] and len(match["torn"]) < _MAX_TORN:
                self._pending = match["torn"]
            elif match["torn"]:
                self._write(match["torn"][1:], moment)
        self._write(data[at:], moment)
        while self._settled < len(self.lines) - _REACH:
            self.lines[self._settled].settle()
            self._settled += 1
        if len(self.lines) > MAX_LINES:
            surplus = len(self.lines) - MAX_LINES + MAX_LINES // 10
            del self.lines[:surplus]
            self.dropped += surplus
            self._settled -= surplus
            self._row = max(0, self._row - surplus)
            self._bottom -= surplus

    def _line(self, moment: MomentId) -> TerminalLine:
        while len(self.lines) <= self._row:
            self.lines.append(TerminalLine(moment))
        line = self.lines[self._row]
        line.moment = max(line.moment, moment)
        return line

    def _write(self, text: str, moment: MomentId) -> None:
        if not text:
            return
        cells = self._line(moment).cells
        if len(cells) < self._column:
            cells.extend([(" ", Style.null())] * (self._column - len(cells)))
        style = self._style
        new = [(char, style) for char in text]
        cells[self._column : self._column + len(new)] = new
        self._column += len(new)

    def _control(self, char: str, moment: MomentId) -> None:
        match char:
            case "\n" | "\x0b" | "\x0c":
                self._line(moment)
                self._row += 1
                self._bottom = max(self._bottom, self._row)
                self._column = 0
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(0, self._column - 1)
            case "\t":
                self._column += _TAB - self._column % _TAB

    def _command(self, final: str, args: str, moment: MomentId) -> None:
        numbers = [int(part) if part.isdecimal() else 0 for part in re.split("[;:]", args)]
        count = max(1, min(numbers[0], _MAX_COLUMNS))
        match final:
            case "m":
                self._style = _restyled(self._style, numbers)
            case "A" | "F":
                self._row = max(self._row - count, len(self.lines) - _REACH, 0)
                self._column = 0 if final == "F" else self._column
            case "B" | "E":
                self._row = min(self._row + count, self._bottom)
                self._column = 0 if final == "E" else self._column
            case "C":
                self._column = min(self._column + count, _MAX_COLUMNS)
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = count - 1
            case "K":
                self._erase(numbers[0], moment)

    def _erase(self, part: int, moment: MomentId) -> None:
        cells = self._line(moment).cells
        if part == 0:
            del cells[self._column :]
        elif part == 2:
            cells.clear()
        else:
            blank = min(self._column + 1, len(cells))
            cells[:blank] = [(" ", Style.null())] * blank


def _restyled(style: Style, numbers: list[int]) -> Style:
    """The style after a `CSI … m`."""
    rest: Iterator[int] = iter(numbers)
    for number in rest:
        if number == 0:
            style = Style.null()
        elif number in _ATTRIBUTES:
            style += _ATTRIBUTES[number]
        elif number in (38, 48):
            color = _extended(rest)
            if color is not None:
                style += Style(color=color) if number == 38 else Style(bgcolor=color)
        elif 30 <= number <= 37:
            style += Style(color=_BASIC[number - 30])
        elif 40 <= number <= 47:
            style += Style(bgcolor=_BASIC[number - 40])
        elif 90 <= number <= 97:
            style += Style(color=f"bright_{_BASIC[number - 90]}")
        elif 100 <= number <= 107:
            style += Style(bgcolor=f"bright_{_BASIC[number - 100]}")
    return style


def _extended(rest: Iterator[int]) -> Color | None:
    kind = next(rest, None)
    if kind == 5:
        return Color.from_ansi(min(next(rest, 0), 255))
    if kind == 2:
        red, green, blue = (min(next(rest, 0), 255) for _ in range(3))
        return Color.from_rgb(red, green, blue)
    return None
