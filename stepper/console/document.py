"""Writes the page docs/console-commands.md from the table of commands.

python -m stepper.console.document > docs/console-commands.md
"""

from __future__ import annotations

from stepper.console import shell
from stepper.console.commands import reference
from stepper.model.printing import give

_HEAD = """\
# Commands of the console

<!-- Written by `python -m stepper.console.document` from the table of commands. Do not edit. -->

`stepper console` and a program that calls `stepper.breakpoint()` understand these. A command can
be shortened to any beginning that no other command has. `[-]` stands where a command goes
backwards too: `step -`, or `s-`. An empty line repeats a movement. Lines that begin with `#` are
passed over.

"""


def page() -> str:
    """The whole page."""
    assert shell.COMMAND_MODULES, "importing the shell fills the table"
    return _HEAD + reference()


if __name__ == "__main__":
    give(page())
