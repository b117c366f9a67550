"""Which recording is meant where a session folder is named."""

from __future__ import annotations

import argparse
import os
import sys

from stepper.cli.arguments import UsageError

ONE = "one with --process N or --rank N"
"""How to say which process of a session folder is meant."""


def choose(options: argparse.Namespace) -> None:
    """Put the recording that is meant in the place of the folder that was named.

    Raises:
        UsageError: none is meant, or it is not said which.
    """
    if hasattr(options, "file") and options.subcommand != "open":
        options.file = recording_in(options.file, options.process, options.rank)


def recording_to_look_at(path: str, process: int | None, rank: int | None, theme: str) -> str:
    """The recording that the full screen shows: where several are meant, they are listed there.

    Raises:
        UsageError: none is meant, or none was chosen.
    """
    if os.path.isdir(path) and process is None and rank is None:
        from stepper.analysis.processes import ChoiceError, chosen
        from stepper.recording.errors import RecordingError
        from stepper.recording.session_folder import read

        try:
            folder = read(path)
            return chosen(folder, None, None, ONE).recording
        except RecordingError as error:
            raise UsageError(str(error)) from None
        except ChoiceError as error:
            if not (folder.recorded and sys.stdin.isatty() and sys.stdout.isatty()):
                return recording_in(path)
            from stepper.tui.processes_dialog import ProcessChooser

            found = ProcessChooser(folder, theme).run()
            if found is None:
                raise UsageError(str(error)) from None
            return found
    return recording_in(path, process, rank)


def recording_in(
    path: str,
    process: int | None = None,
    rank: int | None = None,
    *,
    how: str = ONE,
) -> str:
    """Path of the recording of a process in a session folder; a path of something else is the one
    that is meant itself. What there is to choose from is printed.

    Args:
        path: of the folder, or of something else.
        process: the process's number, if it was said.
        rank: likewise.
        how: how to say which of several is meant.

    Raises:
        UsageError: none is meant, or it is not said which.
    """
    if not os.path.isdir(path):
        if process is not None or rank is not None:
            raise UsageError(f"{path} is no session folder: leave --process and --rank out")
        return path
    from stepper.analysis.processes import ChoiceError, chosen
    from stepper.cli.asking import say
    from stepper.recording.errors import RecordingError
    from stepper.recording.session_folder import read

    try:
        return chosen(read(path), process, rank, how).recording
    except RecordingError as error:
        raise UsageError(str(error)) from None
    except ChoiceError as error:
        say(error.lines)
        raise UsageError(str(error)) from None
