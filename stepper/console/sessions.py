"""Commands about the session itself: help, what this is, detaching, quitting."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from stepper.analysis.live_processes import live_lines
from stepper.analysis.processes import process_lines
from stepper.client.text import plural, time_text
from stepper.console.commands import GROUPS, TABLE, CommandError, command, find_command
from stepper.recording.session_folder import Process, SessionFolder, is_session, read

if TYPE_CHECKING:
    from stepper.console.shell import Shell

ANSWERS = 0.5
"""Seconds that processes have to say where they are."""


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
        status = f"ended: {ended}" if recording.in_order else ended
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


@command("processes", "ps", group="Session")
def processes_(shell: Shell, argument: str) -> None:
    """The processes of the program, and what each does (with `--children`) or how it ended.

    Of a session folder that is opened: what was recorded of each.

    A live process is listed from its first line on. Those that have come to the compiler can be
    stopped: by a breakpoint, or with `process` and Ctrl-C. Where one runs is what its main thread
    says; a collective that is not over, and the ranks that have not begun it, are what torch's
    flight recorder said last.
    """
    if shell.turns.watch is not None:
        found = live_lines(shell.turns.watch.look(ANSWERS), shell.session)
    else:
        found = [*process_lines(_folder(shell), shell.session.recording_path)]
    shell.screen.lines(line.text for line in found)


@command("process", usage="PID | rank N", group="Session")
def process(shell: Shell, argument: str) -> None:
    """Go to another process, also of an opened session folder: what is shown and asked is its own.

    Breakpoints are of all processes, unless they name one: `break graph-break, rank 1` or
    `, process PID`. One that stands still stays there until you go on from it; `c` in one that runs
    waits for it. While the program runs on after `c`, the process that stops first is gone to.
    """
    word, _, number = argument.rpartition(" ")
    if word not in ("", "rank") or not number.isdecimal():
        raise CommandError("which? process PID, or process rank N; processes lists them")

    def meant(entry: Process) -> bool:
        return (entry.rank if word else entry.pid) == int(number)

    nobody = CommandError(f"there is no process {argument}; processes lists them")
    if shell.turns.watch is None:
        entries = [*filter(meant, _folder(shell).processes)]
        recordings = [each.recording for each in entries if each.recording]
        if not entries:
            raise nobody
        if not recordings:
            raise CommandError(f"nothing was recorded of process {argument}")
        shell.turn_to(shell.turns.opened(recordings[-1]))
        return
    found = [each for each in shell.turns.watch.look(ANSWERS) if meant(each.entry)]
    sessions = [each.session for each in found if each.session is not None]
    if not found:
        raise nobody
    if not sessions:
        raise CommandError(f"process {argument} cannot be controlled: it {found[-1].state}")
    shell.turn_to(sessions[-1])


def process_words(shell: Shell) -> list[str]:
    """What `process` can be followed by."""
    if shell.turns.watch is None:
        entries = [each for each in _folder(shell).processes if each.recording]
    else:
        live = shell.turns.watch.look()
        entries = [each.entry for each in live if each.session is not None]
    ranks = [f"rank {each.rank}" for each in entries if each.rank is not None]
    return [*(str(each.pid) for each in entries), *ranks]


def _folder(shell: Shell) -> SessionFolder:
    """The session folder that the recording is in.

    Raises:
        CommandError: it is in none, or the program is alive and its children are not watched.
    """
    if shell.session.live:
        raise CommandError(
            "the program's children are not watched: stepper console --children does that"
        )
    folder = os.path.dirname(os.path.abspath(shell.session.recording_path))
    if not shell.session.recording_path or not is_session(folder):
        raise CommandError(
            "this recording is not in a session folder: stepper record --children makes one"
        )
    return read(folder)


@command("detach", group="Session")
def detach(shell: Shell, argument: str) -> None:
    """Let the program run to its end without the debugger; its output is still shown.

    With `--children` that is said of all its processes.
    """
    processes = shell.session.processes
    if not (shell.session.live or (processes is not None and processes.live)):
        raise CommandError("there is no program to let go")
    if processes is None:
        shell.answer(shell.session.detach().result())
    else:
        processes.detach()
    shell.wait(far=True)


@command("quit", "q", "exit", group="Session")
def quit_(shell: Shell, argument: str) -> None:
    """End the session; a program that still runs is ended by a KeyboardInterrupt."""
    from stepper.console.shell import Quit

    raise Quit
