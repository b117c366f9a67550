"""Generators that are made and used up while the frame is interpreted.

A generator is a function that is interpreted piece by piece. Where it stands is kept like the
position of any iterator: a snapshot of its translator, replaced by a new one at each step.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from stepper.native import polyfills
from stepper.native.bytecode.opcodes import handler_of, listing, resume_index
from stepper.native.exc import Reason, RestartAnalysis, Unsupported, unimplemented
from stepper.native.variables.base import (
    Arguments,
    Keywords,
    ValueMutationNew,
    VariableTracker,
    tracker_class,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.exceptions import (
    ExceptionClassVariable,
    ExceptionVariable,
    ObservedException,
    is_exception_class,
    observed,
    raised,
)
from stepper.native.variables.iter import IteratorVariable

if TYPE_CHECKING:
    from stepper.native.protocols import Codegen, InlinedTranslator, Position, Translator


_CLOSED_QUIETLY = (Sequence.__iter__.__code__, polyfills.items_by_index.__code__)
"""Codes of generators that wait in a `try` block which handles nothing but an IndexError."""


_PASSES_ON = ("COPY", "POP_EXCEPT", "RERAISE")
"""What handles an exception that is raised while another one is handled."""
_USED_UP = "have the break before the generator is made, or behind its end"


class Suspended(NamedTuple):
    """Where a generator stands that has given a value, or has not begun."""

    tx: InlinedTranslator
    at: Position


@tracker_class
class LocalGeneratorObjectVariable(IteratorVariable):
    """A generator."""

    python_class = types.GeneratorType

    code: types.CodeType
    """The code of the generator."""
    state: Suspended | None
    """Where it stands now; None: it has ended."""
    place: int
    """The instruction by which it was made."""
    returned: VariableTracker | None = None
    """What it returned in the end."""

    @classmethod
    def begin(cls, tx: InlinedTranslator) -> LocalGeneratorObjectVariable:
        """A generator that has not run yet."""
        made = Suspended(tx, tx.position())
        place = tx.root.current_instruction.index
        return cls(tx.f_code, made, place, mutation_type=ValueMutationNew())

    def describe(self) -> str:
        return f"generator {self.code.co_qualname}"

    def next_variable(self, tx: Translator) -> VariableTracker | None:
        if self.state is not None:
            return self._go_on(tx, None)
        if self.returned is not None:  # it is told once
            self._becomes(tx, None, None)
        return None

    def call_method(
        self, tx: Translator, name: str, args: Arguments, kwargs: Keywords
    ) -> VariableTracker:
        thrown = args[1] if len(args) == 3 else args[0] if len(args) == 1 else None
        begun = self._has_begun
        if thrown is not None and is_exception_class(thrown) and name == "throw":
            thrown = thrown.call_function(tx, [], {})
        if name == "close" and not args and not kwargs:
            return self._close(tx)
        if name == "send" and len(args) == 1 and not kwargs and self.state and not begun:
            if not isinstance(args[0], ConstantVariable) or args[0].value is not None:
                raise self.refuse("a value that is sent before it begins, method send")
            return self._given(tx, self._go_on(tx, None))
        begun = begun and not self._is_within_another
        if name == "send" and len(args) == 1 and not kwargs and begun:
            return self._given(tx, self._go_on(tx, None, args[0]))
        if name != "throw" or not isinstance(thrown, ExceptionVariable) or kwargs or not begun:
            raise self.refuse_method(name)
        return self._given(tx, self._go_on(tx, thrown))

    @property
    def _has_begun(self) -> bool:
        at = self.state.at.instruction_pointer if self.state is not None else 0
        return at > resume_index(self.code)

    def _close(self, tx: Translator) -> VariableTracker:
        """Have a GeneratorExit raised where it stands, if anything there would notice."""
        if self.state is not None and not self._has_begun:
            self._becomes(tx, None, None)
        elif self.state is not None:
            if self._is_within_another:
                raise self.refuse("method close")
            leaving = observed(GeneratorExit)
            assert isinstance(leaving, ObservedException)
            try:
                given = self._go_on(tx, leaving.value)
            except ObservedException as error:
                if not error.counts_as(GeneratorExit):
                    raise
                return ConstantVariable(None)
            newest = tx.output.side_effects.latest(self)
            assert isinstance(newest, LocalGeneratorObjectVariable)
            if given is not None or not newest.gives_nothing:
                raise self.refuse("what it gives when it is closed, method close")
        return ConstantVariable(None)

    def _given(self, tx: Translator, found: VariableTracker | None) -> VariableTracker:
        if found is not None:
            return found
        raise self.ended(tx)

    def _go_on(
        self, tx: Translator, thrown: ExceptionVariable | None, sent: VariableTracker | None = None
    ) -> VariableTracker | None:
        """Run on to the next value, None: there is none; with an exception, raise that first; with
        a value that is sent, give it that."""
        assert self.state is not None
        running = self.state.tx.resumed(tx, self.state.at)
        try:
            if sent is not None:
                running.pop()
                running.push(sent)
            if thrown is not None:
                running.throw_in(thrown)
            running.run_inlined()
        except ObservedException as error:
            if error.counts_as(StopIteration):
                raise unimplemented("StopIteration in a generator") from None
            self._becomes(tx, None, None)
            raise
        value = running.yielded
        running.yielded = None
        if value is not None:
            running.push(ConstantVariable(None))  # what `send` would give
        state = Suspended(running, running.position()) if value is not None else None
        self._becomes(tx, state, running.result)
        return None if value is None else value.with_guards(self.guards)

    def _becomes(
        self, tx: Translator, state: Suspended | None, returned: VariableTracker | None
    ) -> None:
        new = LocalGeneratorObjectVariable(
            self.code, state, self.place, returned,
            guards=self.guards, mutation_type=self.mutation_type,
        )  # fmt: skip
        tx.output.side_effects.mutate(self, new, "next")

    @property
    def gives_nothing(self) -> bool:
        """Whether it has ended, and returned None; or has ended before."""
        returned = self.returned
        return returned is None or (
            isinstance(returned, ConstantVariable) and returned.value is None
        )

    def ended(self, tx: Translator) -> Unsupported:
        newest = tx.output.side_effects.latest(self)
        assert isinstance(newest, LocalGeneratorObjectVariable)
        if newest.gives_nothing or newest.returned is None:
            return observed(StopIteration)
        kind = ExceptionClassVariable(StopIteration)
        return raised(ExceptionVariable(kind, [newest.returned]))

    @property
    def _remaking(self) -> polyfills.Remaking | None:
        """How the iterator is made anew whose values it gives; None: it cannot be."""
        made = polyfills.REMAKING.get(self.code)
        if made is None or self.state is None:
            return None
        return made if made.begun or not self._has_begun else None

    def parts(self) -> Sequence[VariableTracker]:
        made = self._remaking
        if made is None or self.state is None:
            return ()
        return [self.state.at.symbolic_locals[name] for name in made.names]

    def reconstruct(self, codegen: Codegen) -> None:
        raise RestartAnalysis(self.place, Reason(f"{self.describe()} lives on", _USED_UP))

    def remake(self, codegen: Codegen) -> None:
        """Push an iterator that goes on where the generator stands in whose place it is."""
        made = self._remaking
        if made is None:
            raise self.refuse("reconstruction")
        codegen.make(made.function, *self.parts())

    @property
    def _is_within_another(self) -> bool:
        """Whether it has been left in a `yield from`, where what is thrown in goes to another."""
        assert self.state is not None
        before = self.state.at.instruction_pointer - 2
        return before >= 0 and listing(self.code).instructions[before].opname == "SEND"

    @property
    def would_run_when_closed(self) -> bool:
        """Whether it has been left within a `try` or `with` block, which it would leave when it is
        let go. One that it has been left in, by a `yield from`, is asked itself."""
        if self.state is None or self.code in _CLOSED_QUIETLY:
            return False
        at = self.state.at.instruction_pointer - 1
        while (entry := handler_of(self.code, at)) is not None:
            after = listing(self.code).instructions[entry.target : entry.target + 3]
            if tuple(each.opname for each in after) == _PASSES_ON:
                at = entry.target + 2
                continue
            first = after[0].opname
            if first != "CLEANUP_THROW":
                return first != "CALL_INTRINSIC_1"  # the generator's own, which only passes on
            at = entry.target
        return False
