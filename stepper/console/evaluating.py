"""pdb's commands that look at values: at the live stop in the program, else as recorded."""

from __future__ import annotations

import codeop
from typing import TYPE_CHECKING

from stepper.client.text import value_line
from stepper.client.value_paths import traced
from stepper.console.commands import CommandError, command
from stepper.console.looking import recorded, value
from stepper.console.paths import resolve
from stepper.recording.errors import RecordingError

if TYPE_CHECKING:
    from stepper.console.shell import Shell
    from stepper.model.control import Response

_WIDTH = 100


@command("pp", usage="EXPRESSION", group="Look")
def pp(shell: Shell, argument: str) -> None:
    """Pretty-print EXPRESSION; where nothing can be evaluated, all that is recorded of a value."""
    if not argument:
        raise CommandError("print what? pp EXPRESSION")
    if not shell.cursor.at_stop:
        value(shell, argument)
        return
    if traced(shell.recording, shell.state, shell.frame, argument):
        _pretty(shell, argument)
        return
    pretty = f"print(__import__('pprint').pformat(({argument}), width={_WIDTH}))"
    response = _evaluated(shell, pretty)
    if not response.ok and recorded(shell, argument):
        _pretty(shell, argument)
        return
    if not response.ok:
        raise CommandError(response.text)
    shell.screen.lines(response.printed.splitlines())


def _pretty(shell: Shell, path: str) -> None:
    """All that is recorded of a value; of a tensor's property, that."""
    try:
        value(shell, path)
    except CommandError:
        shell.screen.say(recorded(shell, path))


@command("whatis", usage="EXPRESSION", group="Look")
def whatis(shell: Shell, argument: str) -> None:
    """The type of EXPRESSION; of a local or a recorded value, what the compiler takes it for."""
    if not argument:
        raise CommandError("what is what? whatis EXPRESSION")
    if shell.cursor.at_stop:
        known = traced(shell.recording, shell.state, shell.frame, argument)
        response = None if known else _evaluated(shell, f"type({argument})")
        if response is not None and (response.ok or not recorded(shell, argument)):
            shell.answer(response)
            return
    try:
        _, described = resolve(shell.state, shell.frame, argument)
    except CommandError:
        if not (told := recorded(shell, argument)):
            raise
        shell.screen.say(f"{told}  (as recorded)")
        return
    shell.screen.say(f"{described.type or 'not known'}  ({described.cls}, as recorded)")


@command("args", "a", group="Look")
def args(shell: Shell, argument: str) -> None:
    """What the selected frame began with, as it is now: arguments, and what it closes over."""
    recording, state, frame = shell.recording, shell.state, shell.frame
    first = recording.frame(frame.frame).first_moment
    if not recording.has(first):
        raise CommandError("where this frame begins is not recorded; locals shows what it has")
    began = recording.state(first).top
    lines = [
        f"  {name} = {value_line(state.values.get(frame.locals[name]))}"
        if name in frame.locals
        else f"  {name} is deleted"
        for name in (began.locals if began.frame == frame.frame else frame.locals)
    ]
    shell.screen.lines(lines or ["it began with nothing"])


@command("retval", "rv", group="Look")
def retval(shell: Shell, argument: str) -> None:
    """What the selected frame returns, as it is recorded at its last instruction."""
    recording = shell.recording
    frame = recording.frame(shell.frame.frame)
    last = frame.last_moment if frame.last_moment is not None else recording.newest
    state = recording.state(last)
    top = next((each for each in state.frames if each.frame == frame.id), None)
    row = None if top is None else recording.code(frame.code).instructions[top.ip]
    if top is None or row is None or not row.opname.startswith("RETURN_"):
        raise CommandError("this frame has returned nothing, as far as it is recorded")
    told = row.argrepr if row.opname == "RETURN_CONST" or not top.stack else ""
    told = told or value_line(state.values.get(top.stack[-1]))
    shell.screen.say(f"{told}  (at moment {last})")


@command("display", usage="[EXPRESSION]", group="Look")
def display(shell: Shell, argument: str) -> None:
    """Show a value at each stop at which it has changed; without EXPRESSION, all that are shown."""
    if argument:
        shell.displays[argument] = ""
    show_displays(shell, every=True, only=argument)


@command("undisplay", usage="[EXPRESSION]", group="Look")
def undisplay(shell: Shell, argument: str) -> None:
    """Show a value no more; without EXPRESSION, none."""
    if argument and argument not in shell.displays:
        raise CommandError(f"{argument!r} is not displayed; display lists what is")
    for each in [argument] if argument else list(shell.displays):
        del shell.displays[each]


def show_displays(shell: Shell, *, every: bool = False, only: str = "") -> None:
    """The displayed values that have changed since they were last shown, or all."""
    for expression, before in shell.displays.items():
        now = _shown(shell, expression)
        if (every and only in ("", expression)) or now != before:
            was = f"  (was {before})" if before and now != before else ""
            shell.screen.say(f"display {expression}: {now}{was}")
        shell.displays[expression] = now


def _shown(shell: Shell, expression: str) -> str:
    """A value as it is recorded; what is no recorded value is evaluated, where that can be."""
    try:
        return value_line(resolve(shell.state, shell.frame, expression)[1])
    except RecordingError as error:
        return str(error)
    except CommandError:
        if not shell.cursor.at_stop:
            return "not here"
        response = _evaluated(shell, expression)
        return response.text if response.ok else "not here"


@command("interact", group="Look")
def interact(shell: Shell, argument: str) -> None:
    """Python at the live stop, line by line, until `exit` or the end of input.

    The names are those of `print`; what one line defines, the next ones know, and so does `print`
    at further stops.
    """
    if not shell.cursor.at_stop:
        raise CommandError("there is no live stop here: a recording has no objects to work with")
    shell.screen.say("Python at the live stop; exit leaves it", "dim")
    lines: list[str] = []
    while True:
        read = shell.line(">>> " if not lines else "... ")
        if read is None or (not lines and read.strip() in ("exit", "exit()", "quit", "quit()")):
            return
        lines.append(read)
        source = "\n".join(lines)
        try:
            if codeop.compile_command(source, "<interact>", "single") is None:
                continue
        except (SyntaxError, ValueError, OverflowError):
            pass  # the program's side says what is wrong with it
        lines = []
        if not source.strip():
            continue
        response = _evaluated(shell, source)
        if response.printed:
            shell.screen.program(response.printed)
        if response.text and not (response.ok and response.text == "None"):
            shell.screen.say(response.text, "" if response.ok else "error")


def _evaluated(shell: Shell, source: str) -> Response:
    innermost = shell.frame is shell.state.top
    return shell.session.evaluate(source, None if innermost else shell.frame.frame).result()
