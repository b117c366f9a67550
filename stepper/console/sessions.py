"""Commands about the session itself: help, what this is, detaching, quitting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepper.client.text import plural, time_text
from stepper.console.commands import GROUPS, TABLE, CommandError, command, find_command

if TYPE_CHECKING:
    from stepper.console.shell import Shell


@command("help", "h", "?", usage="[COMMAND]", group="Session")
def help_(shell: Shell, argument: str) -> None:
    """All commands, or everything about one."""
    if argument:
        entry = find_command(argument)
        shell.screen.say(entry.heading, "bold")
        shell.screen.lines(entry.help.splitlines())
        return
    for group in GROUPS:
        shell.screen.say(group, "bold")
        entries = [entry for entry in TABLE.values() if entry.group == group]
        for entry in entries:
            shell.screen.say(f"  {entry.heading:<34} {entry.summary}")
    shell.screen.say("An empty line repeats a movement. s- goes back. help COMMAND says more.")


@command("info", "i", group="Session")
def info(shell: Shell, argument: str) -> None:
    """What this session is: program, versions, recording, how far it is."""
    recording, session = shell.recording, shell.session
    facts = recording.facts
    started = time_text(facts.started)
    if session.stopped is not None:
        status = f"stopped: {session.stopped.reason}"
    elif session.live:
        status = "running"
    elif session.exit_status is not None:
        status = session.exit_status.text
    elif session.growing:
        status = "still being written by another process"
    else:
        # `exit` and `detached` are the program's own word, other ends are told in whole ones.
        ended = recording.ended or "cut short: the program was killed"
        status = f"ended: {ended}" if ended in ("exit", "detached") else ended
    rows = [
        ("program", " ".join(facts.argv)),
        ("status", status),
        ("directory", facts.cwd),
        ("process", str(facts.pid) + (f", rank {facts.rank}" if facts.rank is not None else "")),
        ("versions", f"python {facts.python}, torch {facts.torch}, engine {facts.engine}"),
        ("started", started if facts.started else ""),
        ("recording", recording.path),
        ("recorded", plural(recording.newest, "moment") + f", detail {facts.detail}"),
        ("here", f"moment {shell.cursor.position}"),
    ]
    shell.screen.lines(f"{name:<10} {text}" for name, text in rows if text)


@command("interrupt", group="Session")
def interrupt(shell: Shell, argument: str) -> None:
    """Send Ctrl-C to the program and run it on."""
    if not shell.session.live:
        raise CommandError("there is no program to interrupt")
    shell.session.interrupt()
    shell.wait()


@command("detach", group="Session")
def detach(shell: Shell, argument: str) -> None:
    """Let the program run to its end without the debugger; its output is still shown."""
    if not shell.session.live:
        raise CommandError("there is no program to let go")
    shell.answer(shell.session.detach().result())
    shell.wait()


@command("quit", "q", "exit", group="Session")
def quit_(shell: Shell, argument: str) -> None:
    """End the session; a program that still runs is ended by a KeyboardInterrupt."""
    from stepper.console.shell import Quit

    raise Quit
