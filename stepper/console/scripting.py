"""Commands made of commands: aliases, files of them, and what to do at a breakpoint."""

from __future__ import annotations

import os
import re
import stat
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stepper.console.commands import CommandError, command, positive_number
from stepper.support.system import user

if TYPE_CHECKING:
    from stepper.console.shell import Shell

RC = ".stepperrc"
_MOST = 1 << 20
_ARGUMENT = re.compile(r"%(\d|\*)")
_NAME = re.compile(r"[A-Za-z][\w-]*")


@command("alias", usage="[NAME [COMMAND]]", group="Session")
def alias(shell: Shell, argument: str) -> None:
    """Call a command by another name: `alias vs value self`; without NAME, all there are.

    In COMMAND `%1` to `%9` stand for the words behind the name and `%*` for all of them; without
    any of these they are put behind it. `;;` goes between two commands.
    """
    name, _, text = argument.partition(" ")
    if not name:
        shell.screen.lines(f"{each} = {what}" for each, what in shell.aliases.items())
    elif not text.strip():
        if name not in shell.aliases:
            raise CommandError(f"there is no alias {name!r}; alias lists them")
        shell.screen.say(f"{name} = {shell.aliases[name]}")
    elif not _NAME.fullmatch(name):
        raise CommandError(f"{name!r} cannot be the name of a command")
    else:
        shell.aliases[name] = text.strip()


@command("unalias", usage="NAME", group="Session")
def unalias(shell: Shell, argument: str) -> None:
    """Forget an alias."""
    if shell.aliases.pop(argument, None) is None:
        raise CommandError(f"there is no alias {argument!r}; alias lists them")


@command("source", usage="FILE", group="Session")
def source(shell: Shell, argument: str) -> None:
    """Carry out the commands of a file, a line each; `#` begins a comment.

    What is in `~/.stepperrc`, or `stepper/stepperrc` in the folder of configurations
    (`$XDG_CONFIG_HOME`, by default `~/.config`), is carried out when a person's session begins. A
    `.stepperrc` in another folder is only mentioned: it is whoever's.
    """
    if not argument:
        raise CommandError("which file? source FILE")
    shell.carry_out(Path(argument).expanduser())


@command("commands", usage="[N]", group="Stop")
def commands(shell: Shell, argument: str) -> None:
    """Commands to carry out whenever breakpoint N (by default the newest) stops.

    They follow, a line each, up to `end`; none at all: nothing is to be done any more. `silent` as
    the first leaves out what a stop shows. One that runs the program on is the last that is done.
    """
    known = [each.id for each in shell.session.breakpoints]
    if not known:
        raise CommandError("there is no breakpoint; b sets one")
    number = positive_number(argument, "the number of a breakpoint") if argument else max(known)
    if number not in known:
        raise CommandError(f"there is no breakpoint {number}; b lists them")
    lines: list[str] = []
    while (read := shell.line("(commands) ")) is not None and read.strip() != "end":
        lines.append(read.strip())
    shell.at_breakpoint[number] = [line for line in lines if line]


def expanded(line: str, aliases: dict[str, str]) -> list[str]:
    """The commands that a typed line is, its aliases put in; within itself an alias is none."""
    found = []
    defines = line.split(None, 1)[:1] == ["alias"]
    for part in [line] if defines else line.split(";;"):
        name, _, rest = part.strip().partition(" ")
        if name not in aliases:
            found.append(part.strip())
            continue
        text, others = aliases[name], {k: v for k, v in aliases.items() if k != name}
        words = rest.split()
        if _ARGUMENT.search(text):
            text = _ARGUMENT.sub(partial(_argument, words), text)
        else:
            text = f"{text} {rest}".rstrip()
        found += expanded(text, others)
    return found


def _argument(words: list[str], match: re.Match[str]) -> str:
    if match[1] == "*":
        return " ".join(words)
    at = int(match[1])
    return words[at - 1] if 0 < at <= len(words) else ""


def own_rc() -> Path | None:
    """The user's own file of commands, from the home or the folder of configurations."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(config) if os.path.isabs(config) else Path.home() / ".config"
    places = (Path.home() / RC, folder / "stepper" / "stepperrc")
    return next((path for path in places if path.is_file()), None)


def lines_of(path: Path) -> list[str]:
    """The lines of a file of commands.

    Raises:
        CommandError: it cannot be read, or is none.
    """
    try:
        with open(path, encoding="utf-8") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise CommandError(f"{path} is no file of commands")
            return file.read(_MOST).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None


def not_trusted(path: Path) -> str:
    """Why a file of the user's home is not carried out unasked; empty: it may be."""
    found = path.stat()
    if found.st_uid not in (user(), 0):
        return "it belongs to somebody else"
    if found.st_mode & stat.S_IWOTH:
        return "everybody may write it"
    return ""
