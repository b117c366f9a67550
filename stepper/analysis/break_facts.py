"""What is recorded of a graph break, as advice on it asks for it."""

from __future__ import annotations

import itertools
import os
import re

from stepper.analysis.break_places import Places
from stepper.analysis.broken import COUNTS, DECIDES, FINDS, NUMBER, Broken
from stepper.analysis.decisions import (
    checked,
    decided_at,
    decides_by_size,
    decides_further_on,
    ends_a_loop,
    is_behind_a_jump,
    is_returned,
    loop_around,
    raises_either_way,
)
from stepper.analysis.rebuilt import comes_of
from stepper.analysis.sites import called_at, in_compiler, own_frame
from stepper.analysis.taken import function_of, taken, taken_by_call
from stepper.client.text import one_line, place_text
from stepper.model.break_words import context_of, explanation_of, kinds_of
from stepper.model.program import Code, Instruction
from stepper.model.shapes import ShapeStepKind, Why
from stepper.model.trace import GraphBreak
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.support import break_kinds
from stepper.support.pythons_own import is_installed

_VMAP = os.path.join("torch", "_functorch", "vmap.py")
_AROUND = {
    "DistributedDataParallel": os.path.join("torch", "nn", "parallel", "distributed.py"),
    "fully_shard": os.path.join("torch", "distributed", "fsdp", "_fully_shard", "_fsdp_common.py"),
}
"""Files of what torch has around a module, of which the graph breaks on the way to it."""
_QUANTIZED = re.compile(r"[/\\]torch[/\\]ao[/\\](?:nn|quantization)[/\\]")
_CUSTOM_OPERATORS = os.path.join("torch", "_library", "custom_ops.py")
_FUNCTIONS = os.path.join("torch", "_functorch", "autograd_function.py")
_DRAWN = "random_value_"
"""How Dynamo's names begin for numbers that the module random has drawn."""
_SORTED = "['sorted']"
_LACKS = re.compile(r"AttributeError\(\"'(\w+)' object has no attribute ")
_MAKING = "instantiate_user_defined_class_object"
"""The function of Dynamo's that calls `__new__` and `__init__` of a class."""
_METACLASSES = frozenset({"type", "ABCMeta", "EnumType", "EnumMeta"})
"""Those with no `__call__` of their own that would set anything."""
NULL = "NullVariable"
"""What stands there below a function; the native engine counts it in these names."""
_OF_PYTHONS_NUMBERS = frozenset({"float64", "int64"})
"""The dtypes of tensors of which the compiler knows a number as it knows one of Python's."""
_OPERANDS = 2
"""How many values an instruction takes that is no call, at most in what matters here."""
_EXPLANATION = re.compile(r"^ *Explanation: (.*(?:\n(?! *(?:Hint|Developer)).*)*)", re.MULTILINE)


def facts_of(recording: Recording, found: GraphBreak) -> Broken:
    """What advice on a break may rest on."""
    return recording.derived(_Reader).facts(found)


def explanation(found: GraphBreak) -> str:
    """How Dynamo explains a break, in one line; of one that came about when another was handled,
    what it says of that other one."""
    explained = _EXPLANATION.search(found.reason) if len(kinds_of(found)) > 1 else None
    return one_line(explained[1] if explained else explanation_of(found))


def only_marked(recording: Recording, attempt: int, moment: int) -> bool:
    """Whether all symbols of what could not be decided at a moment are sizes that the program has
    marked."""
    steps = recording.shape_steps(None, attempt=attempt)
    asked = {
        name
        for step in steps
        if step.kind is ShapeStepKind.UNDECIDED and step.moment == moment
        for name in step.symbols
    }
    marked = {step.symbol for step in steps if step.why is Why.MARKED_UNBACKED}
    return bool(asked) and asked <= marked


def _catches(code: Code) -> bool:
    """Whether a function has an `except` or a `finally`; a `with` has a handler, too, which begins
    otherwise."""
    names = [row.opname for row in code.instructions]
    return any(
        name == "PUSH_EXC_INFO" and following != "WITH_EXCEPT_START"
        for name, following in itertools.pairwise(names)
    )


class _Reader:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._places = recording.derived(Places)

    def facts(self, found: GraphBreak) -> Broken:
        """What advice on a break may rest on."""
        kinds = kinds_of(found)
        row = self._places.instruction(found)
        stack, can = found.user_stack, self._recording.facts.capabilities
        place = row[1] if row is not None else (stack[-1] if stack else None)
        at = "" if place is None else place.filename
        library = is_installed(at) and not at.endswith(_CUSTOM_OPERATORS)
        leads_there = self._places.leads_there(found) if library and row is not None else ""
        called = self._called(found, row[0]) if row is not None else None
        decided = decided_at(self._places.codes_to(found)) if row is not None else None
        counted = kinds[0] in {break_kinds.SHAPED, *NUMBER}
        how = self._taken(found) if counted and row is not None else ""
        return Broken(
            kind=kinds[0],
            explanation=explanation(found),
            context=one_line(context_of(found)),
            statement=row[2].strip() if row is not None else "",
            in_block=row is not None and self._is_in_block(found),
            opname=row[0].opname if row is not None else "",
            called=called.source if called is not None else "",
            calls=called.text if called is not None else "",
            can=can,
            hint="" if can.dynamo_config or not found.hints else found.hints[0],
            of_torch=called is not None and called.brief.startswith("torch."),
            checks=row is not None and self._checks(found),
            library=library,
            within=place.function if place is not None else "",
            of_compiler=in_compiler(at),
            leads_there=leads_there or "",
            unreached=leads_there is None,
            marked=only_marked(self._recording, found.attempt, found.moment),
            operands=self._operands(found, row[0]) if row is not None else frozenset(),
            drawn=row is not None and self._drawn(found, row[0]),
            mapped=row is not None and self._within(found, _VMAP),
            differentiated=row is not None and self._within(found, _FUNCTIONS),
            decides=decided is not None or how == DECIDES or self._decides_further_on(found),
            orders=row is not None and self._orders(found),
            indexes=how == FINDS,
            counts=how == COUNTS,
            taken=how if how not in (COUNTS, DECIDES, FINDS) else "",
            next_break=self._next_break(found) if counted else "",
            of_input=called is not None and self._is_of_an_input(found, called),
            ends_a_loop=decided is not None and ends_a_loop(decided[0].instructions, decided[1]),
            around_module=self._around_module(found) if row is not None else "",
            types=self._types(found) if row is not None else frozenset(),
            metaclass=self._metaclass(found) if kinds[0] == break_kinds.RAISED else "",
            around=self._loop_around(found) if len(kinds) > 1 and row is not None else "",
            comes_of_another=comes_of(self._recording, found) is not None,
            quantizes=self._quantizes(found),
        )

    def _is_in_block(self, found: GraphBreak) -> bool:
        at = self._recording.moment(self._places.blamed(found))
        code = self._recording.code(self._recording.frame(at.frame).code)
        return is_behind_a_jump(code.instructions, at.ip)

    def _decides_further_on(self, found: GraphBreak) -> bool:
        """Whether a library keeps a number, and decides by it behind."""
        if kinds_of(found)[0] not in NUMBER or not self._recording.has(found.moment):
            return False
        code, at = next(self._places.codes_to(found))
        return is_installed(code.filename) and decides_further_on(code.instructions, at)

    def _quantizes(self, found: GraphBreak) -> bool:
        codes = self._places.codes_to(found)
        return any(_QUANTIZED.search(code.filename) for code, _ in codes)

    def _operands(self, found: GraphBreak, row: Instruction) -> frozenset[str]:
        return frozenset(value.cls for value in self._taken_by(found, row))

    def _drawn(self, found: GraphBreak, row: Instruction) -> bool:
        return any(value.source.startswith(_DRAWN) for value in self._taken_by(found, row))

    def _taken_by(self, found: GraphBreak, row: Instruction) -> list[Value]:
        state = self._recording.state(self._places.blamed(found))
        taken = (row.arg or 0) if row.opname.startswith("CALL") else _OPERANDS
        values = map(state.values.get, state.top.stack[-taken:] if taken else ())
        return [value for value in values if value is not None]

    def _metaclass(self, found: GraphBreak) -> str:
        """That of a class of the program's of which the attempt has made an object that lacks what
        it is asked for."""
        lacks = _LACKS.search(context_of(found))
        for frame in self._recording.frames(found.attempt) if lacks else ():
            code, call = self._recording.code(frame.code), frame.call_moment
            if lacks and call is not None and code.name == _MAKING:
                state, row = self._recording.state(call), self._places.row_at(call)
                made = called_at(state, row)
                if made is not None and made.source.endswith((f"'{lacks[1]}']", f".{lacks[1]}")):
                    return "" if made.type in _METACLASSES else made.type
        return ""

    def _around_module(self, found: GraphBreak) -> str:
        said = context_of(found)
        for name, file in _AROUND.items():
            if f"qualname: {name}." in said or self._within(found, file):
                return name
        return ""

    def _loop_around(self, found: GraphBreak) -> str:
        *_, (code, at) = self._places.codes_to(found)
        return loop_around(code.instructions, at)

    def _types(self, found: GraphBreak) -> frozenset[str]:
        state = self._recording.state(found.moment)
        values = map(state.values.get, state.top.locals.values())
        return frozenset(value.type for value in values if value is not None)

    def _within(self, found: GraphBreak, file: str) -> bool:
        """Whether a function of a file of torch's leads there."""
        names = (code.filename for code, _ in self._places.codes_to(found))
        return any(name.endswith(file) and is_installed(name) for name in names)

    def _orders(self, found: GraphBreak) -> bool:
        """Whether it is in a function that says how to sort, or what to leave out, and returns what
        the instruction leaves."""
        (code, at), *callers = self._places.codes_to(found)
        moment = self._recording.moment(found.moment)
        call = self._recording.frame(moment.frame).call_moment
        while callers and call is not None and in_compiler(callers[0][0].filename):
            del callers[0]  # it stands for the function that is called
            call = self._recording.frame(self._recording.moment(call).frame).call_moment
        if call is None or not callers or not is_returned(code, at):
            return False
        state, row = self._recording.state(call), self._places.row_at(call)
        called = called_at(state, row)
        taken = (value.cls for each in state.top.stack if (value := state.values.get(each)))
        if called is not None and (called.source.endswith(_SORTED) or called.brief == ".sort"):
            return True
        return "FilterVariable" in taken

    def _taken(self, found: GraphBreak) -> str:
        """How Python itself takes what the instruction leaves, in the function that goes on after
        it, or where that returns it."""
        state = self._recording.state(found.moment)
        counts_no_null = self._recording.facts.capabilities.dynamo_config
        for depth, (frame, ip) in enumerate(self._places.way_to(found), 1):
            values = (state.values.get(each) for each in state.frames[-depth].stack)
            left = [
                None if value.cls == NULL else function_of(state, value)
                for value in values
                if value is not None and not (value.cls == NULL and counts_no_null)
            ]
            after = self._places.going_on((frame.code, ip))
            if after is not None:
                how = taken(self._recording, after, left)
            else:
                rows = self._recording.code(frame.code).instructions
                how = taken_by_call(rows, ip, state) if depth == 1 else ""
                if kinds_of(found)[0] == break_kinds.SHAPED and decides_by_size(rows, ip):
                    how = DECIDES  # as it is where the whole function is given up
            if how or not is_returned(self._recording.code(frame.code), ip):
                return how
        return ""

    def _next_break(self, found: GraphBreak) -> str:
        """Where the function that goes on breaks before it computes anything; empty: it computes
        something, or is not known to break."""
        site, place = self._places.site(found), self._places.place_of(found)
        if site is None or place is None:
            return ""
        moment = self._recording.moment(found.moment)
        if self._recording.frame(moment.frame).parent is not None:
            return ""  # what is inlined may compute more before the function goes on that calls it
        after = self._places.going_on(site)
        attempts = () if after is None else self._recording.attempts(after.id)
        for attempt in attempts:
            if broken := self._recording.graph_breaks(attempt.id):
                made = self._recording.nodes_made(attempt.id)
                at = own_frame(broken[0].user_stack) or self._places.place_of(broken[0]) or place
                computed = any(node.op != "placeholder" for node in made)
                return "" if computed else place_text(at, self._recording.facts.cwd)
        return ""

    def _is_of_an_input(self, found: GraphBreak, called: Value) -> bool:
        """Whether what is called is `item` of an input that has nothing but a number."""
        if called.brief != ".item" or not called.items:
            return False
        owner = self._recording.state(found.moment).values.get(called.items[0].value)
        tensor = None if owner is None or not owner.source else owner.tensor
        if tensor is None or tensor.shape != () or tensor.device != "cpu":
            return False
        return tensor.dtype in _OF_PYTHONS_NUMBERS

    def _called(self, found: GraphBreak, row: Instruction) -> Value | None:
        return called_at(self._recording.state(self._places.blamed(found)), row)

    def _checks(self, found: GraphBreak) -> bool:
        moment = self._recording.moment(found.moment)
        code = self._recording.code(self._recording.frame(moment.frame).code)
        by_number = kinds_of(found)[0] in NUMBER and checked(self._places.codes_to(found))
        if not by_number and not raises_either_way(code.instructions, moment.ip):
            return False
        # What is caught on the way out is no error, but one more way to go on.
        frames = [frame for frame, _ in self._places.way_to(found)]
        return not any(_catches(self._recording.code(frame.code)) for frame in frames)
