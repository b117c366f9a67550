"""Collectives of `torch.distributed`, as torch's own flight recorder has them."""

from __future__ import annotations

import msgspec

from stepper.model.program import PythonFrame


class ProcessGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """A process group, and how far it had come when the flight recorder was read."""

    backend: str
    """Whose flight recorder it is in: `gloo`, which stands for all that is not NCCL; or `nccl`."""
    id: int
    """The flight recorder's number of it, in this process."""
    enqueued: int = 0
    """Number of the newest collective that was begun in it; 0: none was."""
    completed: int = 0
    """Number of the newest that is over; 0: none is."""
    name: str = ""
    """Torch's name of it, the same in all its processes; empty: it was not read."""
    description: str = ""
    """What the program calls it."""
    ranks: tuple[int, ...] = ()
    """Its members by their global ranks; empty: they were not read."""

    @property
    def shown(self) -> str:
        """What a person calls it."""
        return self.description if self.description not in ("", "undefined") else self.name

    @property
    def under_way(self) -> int | None:
        """The number of the first collective that was begun and was not over; None: there was
        none."""
        return max(0, self.completed) + 1 if self.enqueued > self.completed else None


class Collective(msgspec.Struct, frozen=True, omit_defaults=True):
    """A collective, or a message to one other rank, as this process has begun it."""

    backend: str
    """Whose flight recorder it is in, see `ProcessGroup.backend`."""
    id: int
    """1, 2, … in the order in which that flight recorder noted them."""
    group: int
    """Id of its `ProcessGroup`."""
    number: int
    """1, 2, … within the group: the same in all ranks that do the same. Messages to one rank have
    numbers of their own."""
    name: str
    """Torch's: `all_reduce`, `barrier`."""
    began: int
    """When it was handed to the backend, in nanoseconds since the epoch."""
    ended: int | None = None
    """When torch found it to be over; None: torch does not say, as with gloo, or it was not."""
    over: bool = False
    """Whether it had succeeded or failed, or was given up, when the flight recorder was read."""
    single: bool = False
    """Whether it is a message to one other rank."""
    inputs: tuple[str, ...] = ()
    """Types and shapes of its tensors, e.g. `f32[3]`."""
    outputs: tuple[str, ...] = ()
    stack: int | None = None
    """Index into the reading's stacks; None: it was begun outside of the program's Python code."""


class CollectiveReading(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a look at the flight recorder has found that was not known before."""

    at: int
    """When, in nanoseconds since the epoch."""
    groups: tuple[ProcessGroup, ...] = ()
    """Those in which something has happened."""
    collectives: tuple[Collective, ...] = ()
    """New ones, and those that were not over at the last look. What is written later holds."""
    stacks: tuple[tuple[PythonFrame, ...], ...] = ()
    """The program's frames that began them, outermost first, each stack once."""
    whole: bool = False
    """Whether the session began before the program's first line, so that it has all from the
    first one on."""
    missed: int = 0
    """How many torch has thrown away before they were read: it keeps the newest 2,000."""
