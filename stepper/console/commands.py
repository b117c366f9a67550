"""The one table of commands: each with its names, its arguments and its help.

A command is a function with a docstring; the decorator puts it into the table. What the prompt
understands, `help`, and the reference in the documentation all come from the table, so a command
cannot exist without being explained.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from stepper.console.shell import Shell

Handler = Callable[["Shell", str], None]

GROUPS = ("Move", "Stop", "Look", "Find", "Ask", "Cache", "Intervene", "Session")
"""In the order in which help shows them."""

_WORD = re.compile(r"\s*(?P<word>[A-Za-z][\w-]*?|[?!<>])(?P<back>-?)(?:\s+(?P<rest>.*)|$)", re.S)
_GLUED = re.compile(r"\s*(?P<word>[?!])(?P<rest>.+)", re.S)


class CommandError(Exception):
    """A command cannot be carried out; the message says why and what to do instead."""


class Command(msgspec.Struct, frozen=True):
    """An entry of the table."""

    name: str
    aliases: tuple[str, ...]
    usage: str
    """Its arguments, e.g. `[N]`."""
    group: str
    help: str
    """The first line stands alone; the rest is for `help COMMAND` and the reference."""
    handler: Handler
    reversible: bool
    """Whether `-` makes it go backwards: `step -`, `s-`."""
    repeats: bool
    """Whether an empty line repeats it."""

    @property
    def summary(self) -> str:
        """The help in one line."""
        return self.help.partition("\n")[0]

    @property
    def heading(self) -> str:
        """`step, s [-] [N]`."""
        names = ", ".join((self.name, *self.aliases))
        parts = (names, "[-]" if self.reversible else "", self.usage)
        return " ".join(filter(None, parts))


TABLE: dict[str, Command] = {}
"""All commands by name, in the order in which they were defined."""

_BY_WORD: dict[str, Command] = {}


def command(
    name: str,
    *aliases: str,
    usage: str = "",
    group: str,
    reversible: bool = False,
    repeats: bool = False,
) -> Callable[[Handler], Handler]:
    """Put a function into the table."""

    def enter(handler: Handler) -> Handler:
        assert group in GROUPS, group
        assert handler.__doc__, f"{name} has no help"
        entry = Command(
            name, aliases, usage, group, inspect.cleandoc(handler.__doc__), handler, reversible,
            repeats,
        )  # fmt: skip
        for word in (name, *aliases):
            assert word not in _BY_WORD, f"{word} is two commands"
            _BY_WORD[word] = entry
        TABLE[name] = entry
        return handler

    return enter


def words() -> list[str]:
    """Every name of a command, aliases too."""
    return sorted(_BY_WORD)


def find_command(word: str) -> Command:
    """The command of that name or alias; any unambiguous beginning of a name will do.

    Raises:
        CommandError: there is none; with the nearest names.
    """
    found = _BY_WORD.get(word)
    if found is not None:
        return found
    begins = [entry for name, entry in TABLE.items() if name.startswith(word)]
    if len(begins) == 1:
        return begins[0]
    near = [entry.name for entry in begins]
    if not near:
        near = difflib.get_close_matches(word, _BY_WORD, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "see help"
    raise CommandError(f"unknown command {word!r}: {hint}")


def parse_line(line: str) -> tuple[Command, str]:
    """A typed line as a command and its argument; `s-` is `s -`.

    Raises:
        CommandError: it is no command, or one that takes no argument and has been given one.
    """
    match = _WORD.match(line) or _GLUED.match(line)
    if match is None:
        raise CommandError(f"{line.strip()!r} is no command: see help, or p EXPRESSION")
    groups = match.groupdict()
    rest = (groups["rest"] or "").strip()
    word = groups["word"]
    if groups.get("back"):
        if f"{word}-" not in _BY_WORD and not find_command(word).reversible:
            raise CommandError(f"{find_command(word).name} does not go backwards")
        rest = f"- {rest}".rstrip()
    found = find_command(word)
    if rest and not found.usage and not (found.reversible and rest == "-"):
        raise CommandError(f"{found.name} takes no argument, but {rest!r} was given")
    return found, rest


def take_direction(argument: str) -> tuple[int, str]:
    """The direction (-1 after a leading `-`) and the rest of a reversible command's argument."""
    if argument.startswith("-"):
        return -1, argument[1:].strip()
    return 1, argument


def take_count(argument: str) -> int:
    """A count, 1 when nothing is given.

    Raises:
        CommandError: it is no positive number.
    """
    return positive_number(argument, "a count") if argument else 1


def positive_number(text: str, what: str) -> int:
    """A number from 1 on.

    Raises:
        CommandError: it is something else.
    """
    if not text.isdecimal() or int(text) < 1:
        raise CommandError(f"{text!r} is not {what}: give a number from 1 on")
    return int(text)


def reference() -> str:
    """The reference of all commands, as Markdown for the documentation."""
    lines: list[str] = []
    for group in GROUPS:
        lines += [f"## {group}", ""]
        for entry in TABLE.values():
            if entry.group == group:
                lines += [f"### `{entry.heading}`", "", entry.help, ""]
    return "\n".join(lines)
