"""What a front end hands to the debuggee it starts: one JSON text in one environment variable.

`stepper.debuggee.startup` is put first on the child's PYTHONPATH; its `sitecustomize` reads the
variable, removes both from the program's sight, and begins, or sends a `Refused`. When nothing
arrives (`python -I`, `-S` and `-E` ignore PYTHONPATH or site), the front end sees the channel close
without either and says so.
"""

from __future__ import annotations

import msgspec

from stepper.model.breakpoint import Breakpoint
from stepper.model.change import Change
from stepper.model.trace import Origin

SESSION_VARIABLE = "STEPPER_SESSION"
"""Environment variable that holds the `DebuggeeConfig` as JSON; gone before the program's first
line runs."""


class DebuggeeConfig(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How the debuggee is to begin."""

    stepper: str = ""
    """The front end's version: a debuggee's side of another one is not begun."""
    recording: str = ""
    """Absolute path of the recording to create; `{pid}` and `{rank}` in it are filled in by the
    debuggee. Empty: nothing is recorded, which leaves a session without moments to look at."""
    channel: int | None = None
    """Number of the inherited file descriptor of the control channel; None: record without a front
    end."""
    socket: str = ""
    """Path of a Unix socket (mode 0600) to connect to, when there is no inherited channel, as in
    the processes that the program starts."""
    engine: str = "dynamo"
    """A name, or `module:NAME`; see `stepper.debuggee.registry`."""
    detail: str = "all"
    """`all`: record every instruction; `stops`: only from the first stop on."""
    lookups: bool = False
    """Whether lookups in the cache are recorded, guard by guard; see `stepper.model.trace.Phase`. A
    breakpoint on one asks for them, too."""
    execute: bool = False
    """Whether the transformed bytecode is recorded as it runs; likewise."""
    breakpoints: tuple[Breakpoint, ...] = ()
    stop_at_entry: bool = False
    """Stop at the first instruction of the first translation."""
    children: str = ""
    """Absolute path of the folder in which the processes that the program starts are recorded, too;
    empty: they are not."""
    post_mortem: bool = False
    """Open a front end on the recording when the program dies while it compiles."""
    path_entry: str = ""
    """What the front end added to PYTHONPATH, to be taken away again."""
    secrets: bool = False
    """Whether values of environment variables, and what looks like a key, are written as they
    are."""
    changes: tuple[Change, ...] = ()
    """What is to be other than in the program."""
    argv: tuple[str, ...] = ()
    """The program's command line for the session's facts; empty: as the debuggee sees it."""
    origin: Origin | None = None
    """Likewise who starts it, and where."""


def encode_config(config: DebuggeeConfig) -> str:
    """The text for the environment variable."""
    return msgspec.json.encode(config).decode()


def decode_config(text: str) -> DebuggeeConfig:
    """Read the environment variable's text.

    Raises:
        msgspec.DecodeError: the text is no configuration.
    """
    return msgspec.json.decode(text, type=DebuggeeConfig)
