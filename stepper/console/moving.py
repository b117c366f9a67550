"""Commands that move: along the program, and to any moment that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepper.analysis.sites import line_that_made
from stepper.client.forks import NOT_LIVE
from stepper.client.text import line_text, node_line, plural
from stepper.console.caching import response_to
from stepper.console.commands import (
    CommandError,
    command,
    positive_number,
    take_count,
    take_direction,
)
from stepper.console.paths import resolve
from stepper.model.control import Jump
from stepper.model.stepping import Motion
from stepper.model.trace import EventKind

if TYPE_CHECKING:
    from stepper.console.shell import Shell


def _move(shell: Shell, motion: Motion, argument: str) -> None:
    direction, rest = take_direction(argument)
    before = shell.cursor.position
    shell.show(shell.cursor.move(motion, direction, count=take_count(rest)), before)


@command("step", "s", usage="[N]", group="Move", reversible=True, repeats=True)
def step(shell: Shell, argument: str) -> None:
    """One instruction (or N), into inlined calls.

    At the newest moment of a live session this runs the program on; before it, it moves within the
    recording. `s-` (or `bs`) goes back.
    """
    _move(shell, Motion.STEP, argument)


@command("back-step", "bs", usage="[N]", group="Move", repeats=True)
def back_step(shell: Shell, argument: str) -> None:
    """One instruction (or N) back: the same as `s-`."""
    _move(shell, Motion.STEP, f"- {argument}")


@command("next", "n", usage="[N]", group="Move", reversible=True, repeats=True)
def next_(shell: Shell, argument: str) -> None:
    """One instruction of this frame (or N), over inlined calls."""
    _move(shell, Motion.NEXT, argument)


@command("line", "ln", usage="[N]", group="Move", reversible=True, repeats=True)
def line(shell: Shell, argument: str) -> None:
    """To another source line of this frame, or out of it."""
    _move(shell, Motion.LINE, argument)


@command("finish", "return", "r", usage="[N]", group="Move", reversible=True, repeats=True)
def finish(shell: Shell, argument: str) -> None:
    """Out of this frame, to its caller; backwards, to the call that entered it."""
    _move(shell, Motion.FINISH, argument)


@command("until", "unt", ">", usage="[LINE]", group="Move", reversible=True, repeats=True)
def until(shell: Shell, argument: str) -> None:
    """To a line greater than this one (or to LINE and beyond), in this frame or out of it."""
    direction, rest = take_direction(argument)
    wanted = positive_number(rest, "a line") if rest else None
    before = shell.cursor.position
    shell.show(shell.cursor.move(Motion.UNTIL, direction, line=wanted), before)


@command("back-until", "<", usage="[LINE]", group="Move", repeats=True)
def back_until(shell: Shell, argument: str) -> None:
    """To a line less than this one: the same as `unt-`."""
    until(shell, f"- {argument}".rstrip())


@command("continue", "c", "cont", usage="[N]", group="Move", reversible=True, repeats=True)
def continue_(shell: Shell, argument: str) -> None:
    """To the next breakpoint (or the Nth), in the recording first, then in the program.

    Conditions can only be evaluated live: within the recording a breakpoint stops without regard
    to its condition.
    """
    direction, rest = take_direction(argument)
    if shell.session.running and direction > 0:  # another process stood, and this one was turned to
        shell.wait(far=True)
        return
    shell.show(shell.cursor.move(Motion.CONTINUE, direction, count=take_count(rest)), far=True)


@command("jump", "j", usage="LINE", group="Move")
def jump(shell: Shell, argument: str) -> None:
    """Have the newest frame go on at LINE, so that what is compiled leaves out what lies between.

    At a live stop at the beginning of an instruction. To stand before a graph break, jump behind it
    and continue shows what the compiler makes of the rest without it. Not into a block or a loop,
    not out of a `with` or `except`, and only where all that is read has a value. The recording
    notes it. The entry that comes of it is kept, and computes for each call that it serves what the
    lines that were interpreted compute.
    """
    line = positive_number(argument, "a line")
    if not shell.cursor.at_stop:
        raise CommandError(NOT_LIVE)
    if len(shell.state.frames) - 1 != shell.selected % len(shell.state.frames):
        raise CommandError("only the newest frame can jump, its callers stand in a call: down")
    response = response_to(shell, lambda seq: Jump(seq, line))
    if not response.ok:
        raise CommandError(response.text)
    shell.wait()  # the stop says what that comes to


@command("goto", "g", usage="N | P% | first | newest | +N | -N", group="Move")
def goto(shell: Shell, argument: str) -> None:
    """To moment N, to a percentage of the recording, to its first or newest moment."""
    cursor = shell.cursor
    text = argument.replace(",", "")
    if text in ("first", "start"):
        move = cursor.goto(cursor.oldest)
    elif text in ("newest", "last", "end"):
        move = cursor.to_newest()
    elif text.endswith("%"):
        try:
            percent = float(text[:-1])
        except ValueError:
            raise CommandError(f"{argument!r} is no percentage") from None
        if not 0 <= percent <= 100:
            raise CommandError("percentages go from 0% to 100%")
        move = cursor.goto_percent(percent)
    elif text[:1] in "+-" and text[1:].isdecimal():
        move = cursor.goto(cursor.position + int(text))
    else:
        move = cursor.goto(positive_number(text, "a moment"))
    shell.show(move)


@command("to", usage="KIND …", group="Move", reversible=True, repeats=True)
def to(shell: Shell, argument: str) -> None:
    """To the next event of a kind.

    The kinds are those of `events`: graph-break, restart, guard, node, inline, recompile and so on.
    Several kinds mean any of them; `to-` looks backwards.
    """
    direction, rest = take_direction(argument)
    shell.show(shell.cursor.to_event(event_kinds(rest), direction))


@command("origin", "made", usage="node NAME | guard ID | VALUE-PATH", group="Move")
def origin(shell: Shell, argument: str) -> None:
    """To the moment that made a node, a guard or a value: where does this come from?"""
    what, _, rest = argument.partition(" ")
    if what == "node" and rest:
        move = shell.cursor.to_node(rest.strip())
    elif what == "guard" and rest:
        move = shell.cursor.to_guard(positive_number(rest.strip(), "a guard's id"))
    elif argument:
        value, _ = resolve(shell.state, shell.frame, argument)
        move = shell.cursor.to_value(value)
    else:
        raise CommandError("of what? origin node NAME, origin guard ID, origin VALUE-PATH")
    shell.show(move)


@command("chain", usage="[N | node NAME | VALUE-PATH]", group="Move")
def chain(shell: Shell, argument: str) -> None:
    """Where a node or a value comes from, step by step, back to an input; `chain N` goes to step N.

    Each step is a node, with the line of the program that made it; where it reads several, the
    chain goes on with the first, and `chain node NAME` follows another. Without arguments, the
    chain that was shown last.
    """
    if argument.isdecimal():
        if not 0 < int(argument) <= len(shell.chain):
            raise CommandError(f"the chain has {plural(len(shell.chain), 'step')}")
        shell.show(shell.cursor.goto(shell.chain[int(argument) - 1][1]))
        return
    if argument:
        shell.chain = _chain(shell, argument)
    if not shell.chain:
        raise CommandError("of what? chain node NAME, chain VALUE-PATH; then chain N")
    shell.screen.lines(
        f"{number:>3}  {text}  @{moment}" for number, (text, moment) in enumerate(shell.chain, 1)
    )


def _chain(shell: Shell, argument: str) -> list[tuple[str, int]]:
    recording, state = shell.recording, shell.state
    what, _, name = argument.partition(" ")
    if what != "node" or not name:
        _, value = resolve(state, shell.frame, argument)
        if not value.node:
            raise CommandError(f"no node computes {argument}: origin {argument} goes to its moment")
        name = value.node
    nodes = {node.name: node for node in recording.nodes(state.moment.id)}
    if name not in nodes:
        raise CommandError(f"no node {name!r} in the graph; graph shows them")
    found: list[tuple[str, int]] = []
    while name in nodes:
        node = nodes.pop(name)  # each once
        others = f"; reads {', '.join(node.inputs[1:])}, too" if node.inputs[1:] else ""
        line = line_that_made(recording, node.moment)
        by = "" if line is None else f"  {line_text(line, recording.facts.cwd)}"
        moment = max(node.moment, recording.attempt(state.attempt).first_moment)
        found.append((f"{node_line(node)}{others}{by}", moment))
        name = node.inputs[0] if node.inputs else ""
    return found


@command("back", group="Move")
def back(shell: Shell, argument: str) -> None:
    """To the place before the last jump, like a browser's back button."""
    shell.show(shell.cursor.back())


@command("forward", "fwd", group="Move")
def forward(shell: Shell, argument: str) -> None:
    """Undo `back`."""
    shell.show(shell.cursor.forward())


@command("up", "u", usage="[N]", group="Move", repeats=True)
def up(shell: Shell, argument: str) -> None:
    """Select the frame N calls further out, for stack, locals, v, list and p."""
    _select(shell, -take_count(argument))


@command("down", "d", usage="[N]", group="Move", repeats=True)
def down(shell: Shell, argument: str) -> None:
    """Select the frame N calls further in."""
    _select(shell, take_count(argument))


def _select(shell: Shell, distance: int) -> None:
    from stepper.console.looking import frame_lines

    count = len(shell.state.frames)
    current = shell.selected % count
    wanted = current + distance
    if wanted < 0 or wanted >= count:
        if current in (0, count - 1) and (current == 0) == (distance < 0):
            end = "outermost" if distance < 0 else "innermost"
            raise CommandError(f"this is the {end} symbolic frame")
        wanted = 0 if distance < 0 else count - 1
    shell.selected = wanted - count
    shell.screen.lines(frame_lines(shell, shell.frame, "->"))


def event_kinds(text: str) -> list[EventKind]:
    """Event kinds, as they were typed.

    Raises:
        CommandError: there is none, or one is unknown.
    """
    known = ", ".join(EventKind)
    words = text.replace(",", " ").split()
    if not words:
        raise CommandError(f"which kind? One of: {known}")
    kinds = []
    for word in words:
        try:
            kinds.append(EventKind(word.lower()))
        except ValueError:
            raise CommandError(f"no kind of event is called {word!r}. They are: {known}") from None
    return kinds
