"""The command `stepper`: one file for each subcommand.

Nothing is imported here, or by a subcommand's arguments, that one subcommand alone needs: `--help`
answers at once.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
from collections.abc import Sequence

from stepper.cli.arguments import UsageError, parse
from stepper.model.printing import say, say_what_is_uncaught


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code (2: it was used wrongly)."""
    if argv is None:  # the process is ours
        argv = sys.argv[1:]
        if sys.stdout is None:  # it is closed: nobody reads it
            sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        say_what_is_uncaught()
        if argv[:1] != ["record"]:  # there it is the program's affair
            _expect_nobody_in_a_cell()
        # What was read of a recording is not looked through once more when the process ends.
        atexit.register(gc.freeze)
    try:
        try:
            return _carry_out(argv)
        finally:
            # What is still buffered is written here, where it can be said that nobody reads it.
            if sys.stdout is not None:
                sys.stdout.flush()
            _flush_errors()
    except BrokenPipeError:
        # Whoever read our output has left, e.g. `head`.
        _discard(sys.stdout.fileno())
        return 128 + 13  # SIGPIPE, where there is one
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _discard(sys.stdout.fileno())
        say(f"stepper: the output cannot be written: {error.strerror}", sys.stderr)
        return 1


def _expect_nobody_in_a_cell() -> None:
    """Have nothing to read in a notebook's cell (`!stepper …`): what IPython's kernel gives it is a
    terminal, at which nobody can type or end anything."""
    if os.environ.get("TERM") == "xterm-color" and os.environ.get("GIT_PAGER") == "cat":
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def _flush_errors() -> None:
    """Write what is still to be told: Python 3.14 would end with 120 where its terminal is gone."""
    if sys.stderr is not None:
        try:
            sys.stderr.flush()
        except OSError:
            _discard(sys.stderr.fileno())


def _discard(stream: int) -> None:
    """What is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _carry_out(argv: Sequence[str]) -> int:
    options = parse(argv)
    try:
        if hasattr(options, "process"):
            from stepper.cli.choosing import choose

            choose(options)
        code: int = options.handler(options)
    except UsageError as error:
        say(f"stepper {options.subcommand}: {error}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code
