"""How a program ended, as a number and in words."""

from __future__ import annotations

import os
import signal as signals

import msgspec


class ExitStatus(msgspec.Struct, frozen=True):
    """The end of a program: an exit code, a signal, or neither when it was not ours to reap."""

    code: int | None = None
    signal: int | None = None
    orderly: bool = False
    """Whether its interpreter shut down in order, where there is no exit code."""
    explanation: str = ""
    """What a person should know beyond the number, e.g. why no recording was made."""

    @classmethod
    def from_wait(cls, status: int, explanation: str = "") -> ExitStatus:
        """From what `os.waitpid` returned."""
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return cls(signal=-code, explanation=explanation)
        return cls(code=code, explanation=explanation)

    @property
    def text(self) -> str:
        """In words: `ended with exit code 1`, `killed by SIGKILL (9)`."""
        if self.signal is not None:
            text = f"killed by {signal_name(self.signal)} ({self.signal})"
        elif self.code is not None:
            text = f"ended with exit code {self.code}"
        elif self.orderly:
            text = "ended"
        else:
            text = "let go of the debugger"
        return f"{text}; {self.explanation}" if self.explanation else text

    @property
    def sentence(self) -> str:
        """What follows `the program`: `ended with exit code 1`, `was killed by SIGKILL (9)`."""
        return self.text if self.signal is None else f"was {self.text}"

    @property
    def shell_code(self) -> int:
        """The exit code by which a shell would report it: 128 + N for signal N."""
        if self.signal is not None:
            return 128 + self.signal
        return self.code or 0


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; `signal 70` for one without a name."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
