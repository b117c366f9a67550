"""Going back to an earlier moment of a translation that still goes on, and on from there.

A fork is an attempt of its own. The translation begins again at its first instruction, with a graph
and trackers of its own, and repeats what it did up to the moment that was asked for; there the
interventions are made, and the program stands still. That repeats exactly: nothing of the program's
own code runs while it is interpreted, and which instruction comes as the n-th depends on nothing
else. The first attempt stays in the recording, beside it.

The alternative is to keep states and put one back. Trackers never change, so the stack and the
variables of a moment would cost next to nothing to keep. But what stands between them cannot be
copied: the Python frames of the translators of inlined calls, which are in the midst of an
instruction, the graph, fake tensors that operators have changed in place, the ShapeEnv. To put back
only some of it would be a state that never was.

What the program runs on with. A fork in which the graph is broken, or nothing is changed, computes
what the program computes, and its entry is kept. One with another value or without a guard does
not: it is carried on to where its code would be written, is set aside there, before the backend is
asked, and the program goes on with another attempt, without interventions. Who wants the entry all
the same says so (`keep`), and is told that it is unsound. A fork that fails is set aside, too.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stepper.engines.common.jumps import Landing
from stepper.model.trace import MomentId
from stepper.native.exc import RestartAnalysis
from stepper.native.tracing.plan import AnotherPlan, Plan
from stepper.native.variables.base import VariableTracker
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.folding import wrap_constant
from stepper.native.variables.functions import CellVariable

if TYPE_CHECKING:
    from stepper.native.guards.guard import Guard
    from stepper.native.protocols import Translator

GuardName = tuple[str, str]
"""A guard's kind and expression: what is the same in every attempt."""


@dataclass(frozen=True)
class Intervention:
    """What is other than in the program, from one instruction on.

    steps: how many instructions are interpreted before.
    values: slots of the innermost frame, `x` or `stack[-1]`, and expressions of what they get.
    drop: guards that are left out.
    break_graph: the graph is broken before the instruction.
    jump: the innermost frame goes on elsewhere.
    """

    steps: int
    values: tuple[tuple[str, str], ...] = ()
    drop: frozenset[GuardName] = frozenset()
    break_graph: bool = False
    jump: Landing | None = None

    def __str__(self) -> str:
        if self.jump is not None:
            return self.jump.words
        words = [f"{slot} = {expression}" for slot, expression in self.values]
        words += [f"without {kind} {name}".rstrip() for kind, name in sorted(self.drop)]
        words += ["a graph break"] if self.break_graph else []
        return ", ".join(words) or "nothing changed"

    @property
    def sound(self) -> bool:
        """Whether what comes of it computes what the program computes."""
        return not self.values and not self.drop and self.jump is None


@dataclass(frozen=True)
class Fork:
    """An attempt that is to be other than the program has it.

    interventions: in the order of instructions; at the last the program stands still.
    break_at: as in `Plan`.
    keep: its entry is wanted, sound or not.
    arrived: the program has stood still there.
    """

    interventions: tuple[Intervention, ...]
    break_at: dict[int, str]
    keep: bool
    arrived: bool = False

    def __str__(self) -> str:
        return "; ".join(map(str, self.interventions))

    @property
    def sound(self) -> bool:
        """Whether what comes of it computes what the program computes."""
        return all(each.sound for each in self.interventions)

    @property
    def kept(self) -> bool:
        """Whether its entry goes into the cache."""
        return self.keep or self.sound

    def again(self) -> Fork:
        """This fork for another attempt: its breaks are in `break_at` by now."""
        return replace(
            self,
            interventions=tuple(replace(each, break_graph=False) for each in self.interventions),
            arrived=True,
        )


class Forked(Plan):
    """The plan of attempts that carry a fork out.

    own: the plan as the program has it, by which the translation goes on behind the fork.
    """

    def __init__(self, fork: Fork, own: Plan) -> None:
        super().__init__()
        self.fork = fork
        self.own = own
        self.break_at = fork.break_at

    def after(self, error: Exception) -> tuple[Plan, str]:
        """See `Plan.after`; whatever else ends an attempt sets the fork aside."""
        if isinstance(error, RestartAnalysis) and error.index not in self.break_at:
            self.break_at[error.index] = error.msg
            return Forked(self.fork.again(), self.own), error.msg
        if isinstance(error, AnotherPlan):
            return super().after(error)
        return self.own, f"the fork ({self.fork}) is set aside: {type(error).__name__}: {error}"

    def settle(self) -> None:
        if not self.fork.kept:
            reason = f"the fork ({self.fork}) is set aside: it was only tried"
            raise AnotherPlan(self.own, reason)

    def keeps(self, guard: Guard) -> bool:
        name = guard.kind, guard.name
        return not any(name in each.drop for each in self.fork.interventions)


def fork_of(plan: Plan) -> Fork | None:
    """The fork that attempts of a plan carry out."""
    return plan.fork if isinstance(plan, Forked) else None


def forked(fork: Fork, plan: Plan) -> AnotherPlan:
    """To be raised in an attempt of a plan: begin again, with the fork."""
    own = plan.own if isinstance(plan, Forked) else plan
    return AnotherPlan(Forked(fork, own), f"forked: {fork}")


@dataclass
class _Past:
    """An attempt, to be gone back to.

    moments: the newest moment after each instruction that was begun.
    """

    break_at: Mapping[int, str]
    interventions: tuple[Intervention, ...]
    moments: array[int] = field(default_factory=lambda: array("q"))


class Past:
    """The attempts of one translation so far.

    wanted: where the user wants to go; None: on.
    """

    def __init__(self) -> None:
        self._attempts: list[_Past] = []
        self._due: list[Intervention] = []
        self.wanted: Fork | None = None
        self.next_due = -1
        """After how many instructions there is something to do; -1: never."""

    def begin(self, plan: Plan) -> None:
        """An attempt begins."""
        fork = fork_of(plan)
        made = () if fork is None else fork.interventions
        self._attempts.append(_Past(dict(plan.break_at), made))
        self.step_begun = self._attempts[-1].moments.append
        """Called at each instruction with the newest moment."""
        self.wanted = None
        self._due = list(made)
        self.next_due = self._due[0].steps if self._due else -1

    @property
    def steps(self) -> int:
        """How many instructions of the attempt have been begun."""
        return len(self._attempts[-1].moments)

    def take(self) -> tuple[Intervention, bool]:
        """What is to be done now, and whether it is the last."""
        due = self._due.pop(0)
        self.next_due = self._due[0].steps if self._due else -1
        return due, not self._due

    def fork(self, moment: MomentId, newest: MomentId, new: Intervention, *, keep: bool) -> Fork:
        """The fork that begins at a moment, `newest`: at which the program stands now.

        Raises:
            LookupError: it is no moment of this translation.
        """
        for number, past in enumerate(reversed(self._attempts)):
            moments = [*past.moments, *([newest] if not number else [])]
            at = bisect_left(moments, moment)
            if at < len(moments) and moments[at] == moment:
                if moments.count(moment) > 1:
                    break
                # A jump does not take a step: what else was done there was so before or behind it.
                before = tuple(
                    each
                    for each in past.interventions
                    if each.steps < at
                    or (each.steps == at and (each.jump is None) != (new.jump is None))
                )
                made = (*before, replace(new, steps=at))
                return Fork(made, dict(past.break_at), keep)
        raise LookupError(
            f"moment {moment} is none of the translation that is under way: only at such, and with "
            "every instruction recorded, it can be gone back to"
        )


def give_value(tx: Translator, slot: str, expression: str, names: dict[str, object]) -> None:
    """Give a slot of a frame another value.

    Args:
        tx: the frame's translator.
        slot: a local variable, or `stack[N]`.
        expression: what it gets: a constant, tuples and lists of such, or a tracker of the frame.
        names: what the expression can speak of, behind the frame's own names.

    Raises:
        Exception: whatever the expression raises; it is no such value; there is no such slot.
    """
    known = tx.symbolic_locals
    values = {
        name: value.value if isinstance(value, ConstantVariable) else value
        for name, value in known.items()
    }
    names.update({"stack": list(tx.stack), "locals": dict(known), **values})
    found = eval(expression, names)
    tracker = found if isinstance(found, VariableTracker) else wrap_constant(found)
    if slot.startswith("stack[") and slot.endswith("]"):
        tx.stack[int(slot[6:-1])] = tracker
    elif not slot.isidentifier() or slot not in tx.f_code.co_varnames + _cells(tx):
        raise LookupError(f"{tx.f_code.co_name} has no variable {slot}")
    elif isinstance(known.get(slot), CellVariable):
        tx.output.side_effects.store_attr(known[slot], "cell_contents", tracker)
    else:
        # Another dictionary: whether this one has changed is looked at only after stores.
        tx.symbolic_locals = {**known, slot: tracker}


def _cells(tx: Translator) -> tuple[str, ...]:
    code = tx.f_code
    return (*code.co_cellvars, *code.co_freevars)
