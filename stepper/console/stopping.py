"""Commands for breakpoints."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING

import msgspec

from stepper.client.placing import placed_text
from stepper.client.text import plural
from stepper.console.commands import CommandError, command, positive_number
from stepper.model.breakpoint import (
    Breakpoint,
    BreakpointError,
    BreakpointKind,
    parse_breakpoint,
)

if TYPE_CHECKING:
    from stepper.console.shell import Shell

_NAME = re.compile(r"[A-Za-z_*?][\w.*?<>\[\]]*")


@command("break", "b", usage="[SPEC]", group="Stop")
def break_(shell: Shell, argument: str) -> None:
    """Set a breakpoint, or list all of them.

    SPEC is `graph-break`, `skip`, `inline`, `restart`, `recompile`, `cache-limit`, `exception`,
    `FILE:LINE`, `LINE` (of this file), `function:GLOB` (or just a name), `offset:FUNCTION@N`,
    `opcode:NAME`, `guard[:KIND[:SOURCE]]` or `node[:TARGET]`; of sizes `symbol`, `shape-guard`,
    `specialize` or `data-dependent`, each with `:GLOB` for what names it; in the cache `lookup`,
    `hit`, `miss`, `entry`, `invalidate`, `evict` or `execute`, each with `:FUNCTION` for one
    function only, and `guard-fail[:KIND[:SOURCE]]`; followed by any of `, rank N`,
    `, process PID`, `, if CONDITION`, `, ignore N`, `, once`.
    """
    if not argument:
        _list(shell)
        return
    _add(shell, _parse(shell, argument))


@command("tbreak", usage="SPEC", group="Stop")
def tbreak(shell: Shell, argument: str) -> None:
    """Set a breakpoint that is removed at its first stop."""
    if not argument:
        raise CommandError("at what? See help break")
    _add(shell, msgspec.structs.replace(_parse(shell, argument), once=True))


@command("clear", "cl", usage="N … | all", group="Stop")
def clear(shell: Shell, argument: str) -> None:
    """Remove breakpoints."""
    gone = {breakpoint.id for breakpoint in _chosen(shell, argument)}
    _set(shell, [b for b in shell.session.breakpoints if b.id not in gone])
    shell.screen.say(f"removed {', '.join(map(str, sorted(gone)))}")


@command("enable", usage="N … | all", group="Stop")
def enable(shell: Shell, argument: str) -> None:
    """Let breakpoints stop again."""
    _change(shell, argument, enabled=True)


@command("disable", usage="N … | all", group="Stop")
def disable(shell: Shell, argument: str) -> None:
    """Keep breakpoints, but do not stop at them."""
    _change(shell, argument, enabled=False)


@command("condition", usage="N [EXPRESSION]", group="Stop")
def condition(shell: Shell, argument: str) -> None:
    """Stop at breakpoint N only when EXPRESSION holds; without one, always.

    It is evaluated in the program over `stack`, `locals`, `inst`, `graph`, `guards` and `tx`.
    """
    number, _, expression = argument.partition(" ")
    expression = expression.strip()
    if expression:
        try:
            compile(expression, "<condition>", "eval")
        except SyntaxError as error:
            raise CommandError(f"{expression!r} is not an expression: {error.msg}") from None
    _change(shell, number, condition=expression)


@command("ignore", usage="N COUNT", group="Stop")
def ignore(shell: Shell, argument: str) -> None:
    """Let breakpoint N pass COUNT times before it stops."""
    number, _, count = argument.partition(" ")
    if not count.strip().isdecimal():
        raise CommandError("ignore needs a breakpoint and a count, e.g. ignore 1 5")
    _change(shell, number, ignore=int(count))


def _list(shell: Shell) -> None:
    if not shell.session.breakpoints:
        shell.screen.say("no breakpoints")
    for breakpoint in shell.session.breakpoints:
        hits = shell.session.hits.get(breakpoint.id, 0)
        met = f"  (met {plural(hits, 'time')})" if hits else ""
        to_do = "; ".join(shell.at_breakpoint.get(breakpoint.id, ()))
        shell.screen.say(f"{_line(breakpoint)}{met}" + (f"  then: {to_do}" if to_do else ""))


def _line(breakpoint: Breakpoint) -> str:
    return f"breakpoint {breakpoint.id}: {breakpoint}" + (
        "" if breakpoint.enabled else "  (disabled)"
    )


def _parse(shell: Shell, text: str) -> Breakpoint:
    """A breakpoint as it is written everywhere; besides, a line of this file and a bare name."""
    what, comma, rest = text.partition(",")
    what = what.strip()
    if what.isdecimal():
        code = shell.cursor.code
        if code is None:
            raise CommandError("no file yet: write FILE:LINE")
        text = f"{os.path.basename(code.filename)}:{what}{comma}{rest}"
    elif _NAME.fullmatch(what) and what not in list(BreakpointKind):
        near = difflib.get_close_matches(what.lower().replace("_", "-"), list(BreakpointKind), 1)
        if near:
            raise CommandError(f"{what!r}: did you mean {near[0]}? A function is function:{what}")
        text = f"function:{what}{comma}{rest}"
    try:
        return parse_breakpoint(text)
    except BreakpointError as error:
        raise CommandError(str(error)) from None


def _add(shell: Shell, breakpoint: Breakpoint) -> None:
    before = shell.session.breakpoints
    try:
        text = placed_text(breakpoint, shell.session.recording, live=shell.session.live)
    except BreakpointError as error:
        raise CommandError(str(error)) from None
    _set(shell, [*before, breakpoint])
    same = {"id": 0, "enabled": True}
    found = next(
        each
        for each in shell.session.breakpoints
        if msgspec.structs.replace(each, **same) == msgspec.structs.replace(breakpoint, **same)
    )
    there = any(each.id == found.id for each in before)
    shell.screen.say(_line(found))
    if text := "; ".join(filter(None, ("it was set already" * there, text))):
        shell.screen.say(f"  {text}")


def _change(shell: Shell, numbers: str, **changes: object) -> None:
    chosen = {breakpoint.id for breakpoint in _chosen(shell, numbers)}
    changed = [
        msgspec.structs.replace(b, **changes) if b.id in chosen else b
        for b in shell.session.breakpoints
    ]
    _set(shell, changed)
    for breakpoint in shell.session.breakpoints:
        if breakpoint.id in chosen:
            shell.screen.say(_line(breakpoint))


def _chosen(shell: Shell, numbers: str) -> list[Breakpoint]:
    known = {breakpoint.id: breakpoint for breakpoint in shell.session.breakpoints}
    if not numbers:
        raise CommandError("which breakpoint? Give its number, or all; b lists them")
    if numbers.strip() == "all":
        return list(known.values())
    chosen = []
    for word in numbers.split():
        number = positive_number(word, "the number of a breakpoint")
        if number not in known:
            raise CommandError(f"there is no breakpoint {number}; b lists them")
        chosen.append(known[number])
    return chosen


def _set(shell: Shell, breakpoints: list[Breakpoint]) -> None:
    shell.answer(shell.session.set_breakpoints(breakpoints).result())
