"""The one way to the terminal.

Names, values and paths are anybody's: an escape sequence in one can rename the window, fill the
clipboard or rewrite what was printed before, and a bidirectional mark shows a line in another
order. So everything that is printed goes through here. There are three kinds of it. What is *said*
is for a person, and never acts on a terminal, nor on the one where a log of it is looked at later.
*Data* is for a program, which gets it as it is; where a person sees it, it is said. What the
debugged program itself prints is *passed on* untouched, as if there was no debugger.
"""

from __future__ import annotations

import io
import sys
import unicodedata
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import threading

_SIGN = "·"
_ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of what is not shown but does something, or cannot be written anywhere: controls,
marks of direction and the like, lone surrogates, separators of lines."""


class _Signs(dict[int, str]):
    """What is shown in place of each character that is not."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        shown = _SIGN if category in _ACTING else " " if category == "Zs" else char
        if code < 0x10000:  # the others are rare, and many
            self[code] = shown
        return shown


_SIGNS = _Signs({code: chr(0x2400 + code) for code in range(32)} | {ord("\t"): "    "})


def printable(text: str) -> str:
    """The text with everything replaced that would act on the terminal instead of being shown."""
    return text if text.isprintable() else text.translate(_SIGNS)


def say(text: str = "", out: TextIO | None = None, *, end: str = "\n", style: str = "") -> None:
    """Print lines for a person.

    Args:
        text: the lines.
        out: where to; None: stdout.
        end: what comes behind them.
        style: number of an attribute of terminals, such as 1 for bold; empty: none.
    """
    shown = "\n".join(map(printable, text.split("\n")))
    if style and shown:
        shown = f"\x1b[{style}m{shown}\x1b[0m"
    _write(shown + end, sys.stdout if out is None else out)


def give(text: str, out: TextIO | None = None) -> None:
    """Print data: for a program as it is, in UTF-8; on a terminal as what is said."""
    out = sys.stdout if out is None else out
    if out.isatty():
        say(text, out, end="")
        return
    if isinstance(out, io.TextIOWrapper) and (out.encoding, out.errors) != _DATA:
        out.reconfigure(encoding=_DATA[0], errors=_DATA[1])
    out.write(text)


_DATA = ("utf-8", "backslashreplace")


def pass_on(text: str, out: TextIO) -> None:
    """Print what the debugged program has printed."""
    _write(text, out)
    out.flush()


def say_what_is_uncaught() -> None:
    """Have Python say, too, what it tells of exceptions that nobody catches."""
    import threading

    def hook(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        _say_exception("", error)

    def thread_hook(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            name = args.thread.name if args.thread is not None else "?"
            _say_exception(f"Exception in thread {name}:\n", args.exc_value)

    def unraisable_hook(args: sys.UnraisableHookArgs) -> None:
        if args.exc_value is not None:
            about = args.err_msg or "Exception ignored in"
            _say_exception(f"{about}: {object.__repr__(args.object)}\n", args.exc_value)

    sys.excepthook, threading.excepthook = hook, thread_hook
    sys.unraisablehook = unraisable_hook


def _say_exception(before: str, error: BaseException) -> None:
    import traceback

    if sys.stderr is not None:
        say(before + "".join(traceback.format_exception(error)), sys.stderr, end="")


def _write(text: str, out: TextIO) -> None:
    try:
        out.write(text)
    except UnicodeEncodeError:
        # Names and values can be in any script, whatever the locale is.
        encoding = out.encoding or "ascii"
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))
