"""What the guards of one translation are there for.

Guards travel on trackers, so what a value depends on is read off it. What the *output* depends on
is more than that. There are

    the values that the frame returns, hands on to a resume function or stores, with all that is in
    them, and operators that change something in place or draw random numbers;
    what lies on the way to a value: to find `L['self'].fc.weight`, `L['self'].fc` has to be what it
    was;
    choices: a jump, a loop, a call or an unpacking that went one way and not another because of
    what a value was known to be. Nothing that came of it carries that value's guards, and all the
    same it would not be there.

Where a choice is not followed (an exception is handled: which of its causes mattered?) everything
that is guarded so far counts as a reason. So what is left over depends on nothing that is followed
here. It can be for nothing; a proof it is not, since an operator may refuse other values.

The alternative, to write a graph of dependences while interpreting, would name the way from each
guard to the output, and cost every translation what only a session wants to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from stepper.model.ranges import Ranges, ranges_of
from stepper.model.trace import Choice, Dependence, MomentId
from stepper.native.source import ChainedSource, Source
from stepper.native.variables.base import NO_GUARDS, Guards, VariableTracker

if TYPE_CHECKING:
    from stepper.native.guards.guard import Guard
    from stepper.native.protocols import Codegen


class Dependences:
    """Notes what guards are for, while one attempt goes on.

    numbers: the recorded numbers of the guards that are installed.
    """

    def __init__(self, numbers: dict[Guard, int]) -> None:
        self._numbers = numbers
        self._known: dict[Guards, Ranges] = {}
        self._carried: set[Guard] = set()
        self._choices: dict[Guard, MomentId] = {}
        self._acts: list[Guards] = []
        self._output: Guards = NO_GUARDS

    def restart(self) -> None:
        """Another attempt begins."""
        self._known.clear()
        self._carried.clear()
        self._choices.clear()
        self._acts.clear()
        self._output = NO_GUARDS

    def ranges(self, guards: Guards) -> Ranges:
        """The numbers of guards that a value or node carries."""
        found = self._known.get(guards)
        if found is None:
            self._carried |= guards
            found = self._known[guards] = self._moments_of(guards)
        return found

    def _moments_of(self, guards: Iterable[Guard]) -> Ranges:
        return ranges_of(self._numbers[guard] for guard in guards if guard in self._numbers)

    def acts(self, guards: Guards) -> Callable[[], object]:
        """See `TranslationObserver.acts`."""
        self._acts.append(guards)
        return self._acts.pop

    def chosen(self, guards: Guards, moment: MomentId) -> Callable[[], object] | None:
        """See `TranslationObserver.chosen`."""
        new = guards - self._choices.keys()
        if not new:
            return None
        self._choices.update(dict.fromkeys(new, moment))

        def undo() -> None:
            for guard in new:
                del self._choices[guard]

        return undo

    def needs(self, codegen: Codegen, roots: Iterable[VariableTracker]) -> None:
        """See `TranslationObserver.needs`."""
        needed: set[Guard] = set().union(*self._acts)
        pending = [*roots, *codegen.tx.output.side_effects.changed.values()]
        seen: set[int] = set()
        while pending:
            tracker = codegen.newest(pending.pop())
            if id(tracker) not in seen:
                seen.add(id(tracker))
                needed |= tracker.guards
                pending += codegen.parts_of(tracker)
        self._output = frozenset(needed)

    def found(self) -> Dependence:
        """All of it, at the end."""
        by_moment: dict[MomentId, list[Guard]] = {}
        for guard, moment in self._choices.items():
            by_moment.setdefault(moment, []).append(guard)
        passed = {
            base.name()
            for guard in (*self._output, *self._choices)
            for base in _bases(guard.origin)
        }
        return Dependence(
            self._moments_of(self._output),
            self._moments_of(guard for guard in self._numbers if guard.name in passed),
            tuple(
                Choice(moment, self._moments_of(held)) for moment, held in sorted(by_moment.items())
            ),
            self._moments_of(self._carried),
        )


def _bases(source: Source | None) -> Iterable[Source]:
    while isinstance(source, ChainedSource):
        source = source.base
        yield source
