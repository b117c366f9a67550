"""What a session tells its subscribers."""

from __future__ import annotations

import msgspec

from stepper.client.status import ExitStatus
from stepper.model.control import DebuggeeEvent


class OutputArrived(msgspec.Struct, frozen=True):
    """The program wrote to its terminal."""

    text: str


class Ended(msgspec.Struct, frozen=True):
    """The program is over: reaped, its output drained. The recording stays open."""

    status: ExitStatus


SessionEvent = DebuggeeEvent | OutputArrived | Ended
