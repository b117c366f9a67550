"""Commands over the whole session: frames, attempts, events, breaks, search, comparison, output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepper.analysis.here import OF_THE_CACHE, event_at, here_lines
from stepper.analysis.walks import has_graph
from stepper.client.frame_names import compiled_name, event_text, walk_title
from stepper.client.text import (
    attempt_name,
    clip,
    graph_break_lines,
    graph_code,
    instruction_text,
    one_line,
    plural,
    short_name,
    table,
    translation_summary,
    walk_name,
)
from stepper.console.commands import CommandError, command, positive_number, take_direction
from stepper.console.moving import event_kinds
from stepper.console.picture import WIDTH
from stepper.model.trace import Event, EventKind, Translation
from stepper.recording.navigation import search_instructions

if TYPE_CHECKING:
    from stepper.console.shell import Shell

_EVENTS = 40
_REASON = 80
"""Characters of a reason in the list of frames; `why` says all of it."""


@command("frames", "translations", usage="[PATTERN]", group="Find")
def frames(shell: Shell, argument: str) -> None:
    """Every frame translated, looked up or executed: compile id, outcome, attempts, sizes, time."""
    current = shell.recording.translation_at(shell.cursor.position)
    rows = []
    for item in shell.recording.translations():
        name = compiled_name(shell.recording, item)
        if argument and argument.lower() not in f"{walk_name(item)} {item.name} {name}".lower():
            continue
        mark = "->" if current is not None and item.id == current.id else ""
        rows.append(
            (
                mark,
                walk_name(item),
                "· " * item.level + name,
                str(item.outcome),
                str(item.first_moment),
                *(str(n) for n in _sizes(item)),
                "" if item.seconds is None else f"{item.seconds:.2f}",
                clip(short_name(one_line(item.recompile_reason or item.reason)), _REASON),
            )
        )
    if not rows:
        raise CommandError(
            f"no frames match {argument}" if argument else shell.so_far("no frames yet")
        )
    header = (
        "", "id", "function", "outcome", "moment", "att", "instr", "nodes", "guards", "breaks",
        "s", "why",
    )  # fmt: skip
    shell.screen.lines(table(header, rows))


def _sizes(item: Translation) -> tuple[int, ...]:
    return item.attempts, item.instructions, item.nodes, item.guards, item.graph_breaks


@command("attempts", group="Find")
def attempts(shell: Shell, argument: str) -> None:
    """The attempts of this translation, and why each but the last was thrown away."""
    state, recording = shell.state, shell.recording
    for item in recording.attempts(state.translation):
        mark = "->" if item.id == state.attempt else "  "
        end = "…" if item.last_moment is None else item.last_moment
        why = f"  {clip(one_line(item.restart_reason), WIDTH)}" if item.restart_reason else ""
        shell.screen.say(f"{mark} attempt {item.number}  moments {item.first_moment}-{end}{why}")


@command("compare", usage="[A B]", group="Find")
def compare(shell: Shell, argument: str) -> None:
    """Two attempts of this translation, by number: where they part, what only one has.

    Or two frames, by compile id: compare 0/0 0/1.
    """
    from stepper.console.comparing import attempt_diff_lines, frame_diff_lines

    if "/" in argument:
        shell.screen.lines(frame_diff_lines(shell.recording, argument.split()))
        return
    known = shell.recording.attempts(shell.state.translation)
    if argument:
        numbers = [positive_number(word, "an attempt's number") for word in argument.split()]
    else:
        numbers = [item.number for item in known[-2:]]
    by_number = {item.number: item for item in known}
    if len(numbers) != 2 or any(number not in by_number for number in numbers):
        raise CommandError(
            f"compare needs two attempts; this translation has {plural(len(known), 'attempt')}"
        )
    first, second = (by_number[number] for number in numbers)
    shell.screen.lines(attempt_diff_lines(shell.recording, first, second))


@command("diff", usage="A [B]", group="Find")
def diff(shell: Shell, argument: str) -> None:
    """What changed between moment A and moment B (this one, when B is not given).

    Moments of different attempts are laid side by side.
    """
    from stepper.console.comparing import moments_diff_lines

    words = argument.split()
    if len(words) not in (1, 2):
        raise CommandError("diff needs one moment or two, e.g. diff 120 140")
    numbers = [positive_number(word, "a moment") for word in words]
    a, b = numbers if len(numbers) == 2 else (numbers[0], shell.cursor.position)
    oldest, newest = shell.recording.oldest, shell.recording.newest
    if not (oldest <= a <= newest and oldest <= b <= newest):
        raise CommandError(f"moments go from {oldest} to {newest}")
    shell.screen.lines(moments_diff_lines(shell.recording, a, shell.recording, b))


@command("events", usage="[KIND …] [/TEXT]", group="Find")
def events(shell: Shell, argument: str) -> None:
    """What happened, in order, around this moment; filtered by kind and by text."""
    kinds_text, _, wanted = argument.partition("/")
    kinds = event_kinds(kinds_text) if kinds_text.strip() else list(EventKind)
    wanted = wanted.strip()
    count = shell.recording.event_count(kinds=kinds, text=wanted)
    if not count:
        raise CommandError("no such events")
    if wanted:
        offset = 0
    else:
        earlier = shell.recording.event_moments(kinds).before(shell.cursor.position)
        offset = max(0, earlier - _EVENTS // 2)
    found = shell.recording.events(kinds=kinds, text=wanted, limit=_EVENTS, offset=offset)
    if offset:
        shell.screen.say(f"… {plural(offset, 'earlier event')}", "dim")
    for event in found:
        shell.screen.say(_event(shell, event))
    if count > offset + len(found):
        shell.screen.say(f"… {plural(count - offset - len(found), 'later event')}", "dim")


def _event(shell: Shell, event: Event) -> str:
    mark = "->" if event.moment == shell.cursor.position else "  "
    return clip(
        f"{mark} {event.moment:>6}  {event.kind}  {event_text(shell.recording, event)}", WIDTH
    )


@command("why", group="Find")
def why(shell: Shell, argument: str) -> None:
    """Why a graph broke, the analysis restarted, a frame was compiled again, or no entry fits."""
    recording, state = shell.recording, shell.state
    event = event_at(recording, shell.cursor.position)
    if event is not None and event.kind in OF_THE_CACHE:
        shell.screen.lines(line.text for line in here_lines(recording, shell.cursor.position))
        return
    translation = recording.translation(state.translation)
    screen, said = shell.screen, False
    for event in _recompiles_next(shell):
        following = recording.translation(event.ref) if event.ref else translation
        screen.say(f"next, {walk_title(recording, following)} is compiled again: {event.text}")
        said = True
    if translation.recompile_reason:
        screen.say(f"recompiled: {short_name(translation.recompile_reason)}")
        said = True
    at = recording.graph_break_at(shell.cursor.position)
    breaks = [at] if at is not None else recording.graph_breaks(state.attempt)
    if not breaks:
        breaks = [
            found
            for item in recording.attempts(translation.id)
            for found in recording.graph_breaks(item.id)
        ]
    told = " ".join(one_line(found.reason) for found in breaks)
    attempt = recording.attempt(state.attempt)
    if attempt.restart_reason:
        reason = _unless_shown(attempt.restart_reason, told)
        screen.say(f"{attempt_name(attempt, translation)} restarts: {reason}")
        said = True
    for found in breaks:
        screen.say(f"graph break at moment {found.moment}:", "bold")
        screen.lines(f"  {line}" for line in graph_break_lines(found, recording.facts.cwd))
        said = True
    if translation.reason:
        screen.say(f"{translation.outcome}: {_unless_shown(translation.reason, told)}")
        said = True
    if not said:
        screen.say("nothing went wrong in this translation: no break, restart or recompilation")


def _unless_shown(reason: str, told: str) -> str:
    """A reason of Dynamo's; only its first line when the rest is said elsewhere."""
    return reason.partition("\n")[0] if one_line(reason) in told else reason


def _recompiles_next(shell: Shell) -> list[Event]:
    """The recompilation that follows on this moment, the last one before it: `to recompile` and
    `break recompile` lead here, since no instruction of the new translation has been looked at."""
    here, translation = shell.cursor.position, shell.state.translation
    found = shell.recording.events(kinds=(EventKind.RECOMPILE,), after=here - 1, before=here + 1)
    return [event for event in found if event.ref != translation]


@command("output", usage="[N]", group="Find")
def output(shell: Shell, argument: str) -> None:
    """The last N lines (20) that the program had written by this moment."""
    count = positive_number(argument, "a number of lines") if argument else 20
    text = "".join(piece.data for piece in shell.recording.output(upto=shell.cursor.position))
    lines = text.replace("\r\n", "\n").splitlines()
    if not lines:
        shell.screen.say("no output by this moment")
    shell.screen.lines(f"| {line}" for line in lines[-count:])


@command("search", "/", usage="TEXT", group="Find", reversible=True, repeats=True)
def search(shell: Shell, argument: str) -> None:
    """To the next instruction whose name or argument has TEXT in it; `search-` looks backwards."""
    direction, text = take_direction(argument)
    if not text:
        raise CommandError("search for what? search TEXT, or events /TEXT for events")
    found = search_instructions(shell.recording, text, shell.cursor.position, direction)
    if found is None:
        side = "after" if direction > 0 else "before"
        raise CommandError(f"no instruction with {text!r} {side} this moment")
    shell.show(shell.cursor.goto(found))


@command("trace", usage="[N]", group="Find")
def trace(shell: Shell, argument: str) -> None:
    """The last N instructions (10) up to this moment, inlined calls indented."""
    count = positive_number(argument, "a number of instructions") if argument else 10
    last = shell.state.moment.id
    recording = shell.recording
    for moment in recording.moments(max(1, last - count + 1), last):
        frame = recording.frame(moment.frame)
        instruction = recording.code(frame.code).instructions[moment.ip]
        mark = "->" if moment.id == last else "  "
        line = "" if instruction.line is None else str(instruction.line)
        shell.screen.say(
            f"{mark} {moment.id:>6} {line:>5}  {'  ' * frame.depth}{instruction_text(instruction)}"
        )


@command("translation", "tr", group="Find")
def translation_(shell: Shell, argument: str) -> None:
    """This translation: its outcome, sizes, time, and its final graph."""
    item = shell.recording.translation(shell.state.translation)
    shell.screen.say(f"{walk_title(shell.recording, item)}: {translation_summary(item)}")
    if item.resume_of:
        shell.screen.say(f"resumes {item.resume_of} after a graph break")
    if has_graph(shell.recording, item):
        attempt = shell.recording.attempts(item.id)[-1]
        shell.screen.lines(graph_code(shell.recording.nodes(None, attempt=attempt.id)))
