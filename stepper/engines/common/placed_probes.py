"""The probes that somebody has placed, to be removed together."""

from __future__ import annotations

from stepper.engines.common.probe_points import ProbePoint, resolve
from stepper.engines.common.probes import Answer, Hook, Probe


class Probes:
    """The probes that one watcher has placed. True while there are any."""

    def __init__(self) -> None:
        self._placed: list[Probe] = []

    def __bool__(self) -> bool:
        return bool(self._placed)

    def place(self, point: ProbePoint, hook: Hook, answer: Answer | None = None) -> None:
        """Put a hook in front of a function; see `Probe`."""
        self._placed.append(Probe(resolve(point), point.parameters, hook, answer))

    def replace(self, point: ProbePoint, hook: Hook) -> None:
        """Put another hook in front of a function that has one, at the same place."""
        function = resolve(point)
        for index, probe in enumerate(self._placed):
            if probe.watches(function):
                probe.remove()
                self._placed[index] = Probe(function, point.parameters, hook)

    def remove(self) -> None:
        """Restore the functions."""
        for probe in reversed(self._placed):
            probe.remove()
        self._placed.clear()
