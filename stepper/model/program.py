"""The user's program as the debugger shows it: code objects, their instructions and their source
lines.
"""

from __future__ import annotations

import msgspec

from stepper.support.local_variables import Verb, local_uses


class Instruction(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, array_like=True):
    """One bytecode instruction, as the interpreter that is stepped has it."""

    index: int
    """Position in the code's instruction list; what a moment's `ip` counts in."""
    opname: str
    arg: int | None = None
    argrepr: str = ""
    """The argument in words, as `dis` would print it; never the `repr` of a user's object."""
    offset: int | None = None
    """Offset in bytes in `co_code`; None for an instruction that Dynamo made up."""
    line: int | None = None
    """Line of the source file, 1-based."""
    end_line: int | None = None
    col: int | None = None
    """First column, 0-based, counted in UTF-8 bytes as CPython does."""
    end_col: int | None = None
    target: int | None = None
    """Index of the instruction that a jump goes to."""
    handler: int | None = None
    """Index of the exception handler that covers this instruction."""

    @property
    def local_uses(self) -> tuple[tuple[Verb, str], ...]:
        """What it does to local variables: see `stepper.support.local_variables`."""
        return local_uses(self.opname, tuple(self.argrepr.split(", ")))


class Code(msgspec.Struct, frozen=True):
    """A code object, with the source it was compiled from."""

    id: int
    name: str
    qualname: str
    filename: str
    first_line: int
    instructions: tuple[Instruction, ...]
    source_first_line: int = 0
    """Line number of the first line in `source`."""
    source: tuple[str, ...] = ()
    """The source lines of the whole function, without line ends; empty when no source was found."""

    @property
    def label(self) -> str:
        """The function's name for a person, e.g. `Net.forward`."""
        return self.qualname or self.name

    def lines(self) -> list[int]:
        """The line of each instruction, the function's first where it has none; never empty."""
        return [row.line or self.first_line for row in self.instructions] or [self.first_line]


class PythonFrame(msgspec.Struct, frozen=True, array_like=True):
    """A frame of the running program, below the frame that is translated."""

    filename: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.filename}:{self.line} in {self.function}"


class UserLine(msgspec.Struct, frozen=True, array_like=True):
    """A line of the program."""

    place: PythonFrame
    text: str = ""
    """What stands there."""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.text else str(self.place)
