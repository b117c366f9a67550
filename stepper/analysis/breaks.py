"""Why graphs broke, and what that cost, over a whole run.

One cause often breaks more than once: a `print` in a helper breaks the frame that inlines it, then
the helper when it is compiled by itself, and again in each resume function that reaches it. What
breaks at one instruction's line for one reason is one *cause*, told once with how often. Where that
line is a library's, each line of the program that leads to it is a cause of its own: it is what one
can change.

What a cause costs is counted in instructions, which the recording has exactly: those of attempts
that were thrown away and of frames that were given up (interpreted for nothing), and those of the
resume functions that exist because of it. Causes are ranked by their sum.
"""

from __future__ import annotations

import itertools
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import itemgetter

import msgspec

from stepper.analysis.break_changes import Remedy
from stepper.analysis.break_rules import advised
from stepper.analysis.broken import COUNTS, DECIDES, FINDS, NUMBER, Broken
from stepper.analysis.decisions import (
    checked,
    decided_at,
    decides_by_size,
    ends_a_loop,
    is_returned,
    loop_around,
    raises_either_way,
)
from stepper.analysis.rebuilt import Rebuilt, comes_of, is_not_rebuilt, not_rebuilt
from stepper.analysis.sites import called_at, in_compiler, own_frame
from stepper.analysis.split_graphs import SplitGraphs
from stepper.analysis.taken import function_of, taken, taken_by_call
from stepper.analysis.walks import compilations
from stepper.analysis.written_inside import written_inside
from stepper.client.text import function_name, one_line, place_text, source_line
from stepper.model.break_words import HANDLING, context_of, explanation_of, kinds_of
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.resume_names import resumed
from stepper.model.shapes import ShapeStepKind, Why
from stepper.model.trace import (
    Attempt,
    Frame,
    GraphBreak,
    MomentId,
    Outcome,
    Translation,
)
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.support import break_kinds
from stepper.support.pythons_own import is_installed

_PAGE = re.compile(r"https://meta-pytorch\.github\.io/compile-graph-break-site/gb/gb\d+\.html")
_VMAP = os.path.join("torch", "_functorch", "vmap.py")
_AROUND = {
    "DistributedDataParallel": os.path.join("torch", "nn", "parallel", "distributed.py"),
    "fully_shard": os.path.join("torch", "distributed", "fsdp", "_fully_shard", "_fsdp_common.py"),
}
"""Files of what torch has around a module, of which the graph breaks on the way to it."""
_QUANTIZED = re.compile(r"[/\\]torch[/\\]ao[/\\](?:nn|quantization)[/\\]")
_CUSTOM_OPERATORS = os.path.join("torch", "_library", "custom_ops.py")
_FUNCTIONS = os.path.join("torch", "_functorch", "autograd_function.py")
_SORTED = "['sorted']"
_WRITTEN = "Encountered input mutation during higher order op tracing"
_LACKS = re.compile(r"AttributeError\(\"'(\w+)' object has no attribute ")
_MAKING = "instantiate_user_defined_class_object"
"""The function of Dynamo's that calls `__new__` and `__init__` of a class."""
_METACLASSES = frozenset({"type", "ABCMeta", "EnumType", "EnumMeta"})
"""Those with no `__call__` of their own that would set anything."""
_LEFT = "___stack"
"""How the names begin for what stands on the stack where a graph breaks."""
NULL = "NullVariable"
"""What stands there below a function; the native engine counts it in these names."""
_OF_PYTHONS_NUMBERS = frozenset({"float64", "int64"})
"""The dtypes of tensors of which the compiler knows a number as it knows one of Python's."""
_OPERANDS = 2
"""How many values an instruction takes that is no call, at most in what matters here."""
_EXPLANATION = re.compile(r"^ *Explanation: (.*(?:\n(?! *(?:Hint|Developer)).*)*)", re.MULTILINE)


class Occurrence(msgspec.Struct, frozen=True):
    """A graph break, and what came of it."""

    found: GraphBreak
    translation: Translation
    wasted: int
    """Instructions that were interpreted for nothing: of the attempt, when it was thrown away or
    the frame was given up."""
    resumed: tuple[Translation, ...]
    """Compilations of the resume function that goes on after it."""
    left_by: GraphBreak | None
    """The earlier break that leaves a call to Python, by which the function that breaks is run, so
    that it is compiled by itself; None: none is known, or the function is called by the program."""

    lies_between: bool
    """Whether there are graphs on more than one side of it."""

    @property
    def splits(self) -> bool:
        """Whether the frame is compiled in parts because of it."""
        return is_split(self.found, self.translation)

    @property
    def splits_graph(self) -> bool:
        """Whether these parts have more than one graph."""
        return self.splits and self.lies_between

    @property
    def failed(self) -> bool:
        """Whether it is an error here."""
        return not self.found.resumes and self.translation.outcome is Outcome.FAILED


def is_split(found: GraphBreak, item: Translation) -> bool:
    """Whether a frame is compiled in parts because of a break: of one that was to be, the whole
    frame may be given up later, or its compilation fail."""
    return found.resumes and item.outcome not in (Outcome.SKIPPED, Outcome.FAILED)


class Cause(msgspec.Struct, frozen=True):
    """Breaks at one line for one reason; where it is a library's, at one of the program's that
    leads there."""

    kind: str
    """Dynamo's name for the kind, or the first line of its message."""
    then: str
    """The kind of break that came of handling it; empty: none."""
    explanation: str
    context: str
    """Which method of what, with which arguments, as Dynamo says it; empty: it does not."""
    hints: tuple[str, ...]
    page: str
    """Dynamo's documentation of the kind; empty when the message names none."""
    facts: Broken
    """What advice on it may rest on."""
    place: PythonFrame | None
    """Where the instruction is; None when it is not recorded."""
    source: str
    """The line's text."""
    moment: MomentId
    """The moment of the first one."""
    instruction: Instruction | None
    occurrences: tuple[Occurrence, ...]

    comes_of: GraphBreak | None
    """The break that was being handled when the first one came about; None: it is by itself."""
    rebuilt: Rebuilt | None
    """What could not be made for the rest of the function; None: it is not for that."""

    @property
    def change(self) -> Remedy | None:
        """The nearest change that avoids it; None where none is known."""
        return advised(self.facts)

    @property
    def splits(self) -> int:
        """How many graphs it split in two."""
        return sum(each.splits_graph for each in self.occurrences)

    @property
    def splits_none(self) -> bool:
        """Whether all graphs are on one side of it, each time: there are no fewer without it."""
        return all(each.splits and not each.lies_between for each in self.occurrences)

    @property
    def given_up(self) -> int:
        """How many frames run uncompiled because of it."""
        return sum(not each.found.resumes and not each.failed for each in self.occurrences)

    @property
    def failed(self) -> int:
        """How many compilations failed of it, since a graph break is an error there."""
        return sum(each.failed for each in self.occurrences)

    @property
    def wasted(self) -> int:
        """Instructions interpreted for nothing."""
        return sum(each.wasted for each in self.occurrences)

    @property
    def resume_functions(self) -> tuple[Translation, ...]:
        """The compilations of resume functions that exist because of it, each once."""
        every = {item.id: item for each in self.occurrences for item in each.resumed}
        return tuple(every[id] for id in sorted(every))

    @property
    def cost(self) -> int:
        """Instructions: those wasted, and those of the resume functions."""
        return self.wasted + sum(item.instructions for item in self.resume_functions)


def causes(recording: Recording, *, after: int = 0) -> list[Cause]:
    """Every cause of graph breaks, in walks after the one given, the most expensive first, and
    before it the one without which it would not be there."""
    return [*(_causes_after(recording, after) if after else recording.derived(_causes_after))]


def _causes_after(recording: Recording, after: int = 0) -> Iterable[Cause]:
    reader = recording.derived(_Reader)
    groups: dict[tuple[object, ...], list[GraphBreak]] = {}
    for each in recording.graph_breaks():
        if recording.attempt(each.attempt).translation <= after:
            continue
        key = (kinds_of(each)[0], reader.place_of(each), reader.asked_at(each))
        groups.setdefault(key, []).append(each)
    found = [reader.cause(group) for group in groups.values()]
    found.sort(key=lambda cause: (-cause.cost, cause.moment))
    made_by = {each.found.id: cause for cause in found for each in cause.occurrences}
    ordered: dict[MomentId, Cause] = {}
    for cause in found:
        for of_chain in reversed(_chain(reader, cause, made_by)):
            ordered.setdefault(of_chain.moment, of_chain)
    return ordered.values()


def _chain(reader: _Reader, cause: Cause, made_by: dict[int, Cause]) -> list[Cause]:
    """A cause, and each without which the one before it would not be there."""
    chain = {cause.moment: cause}
    while True:
        left_by = _left_by(reader, cause)
        earlier = None if left_by is None else made_by.get(left_by.id)
        if earlier is None or earlier.moment in chain:
            return [*chain.values()]
        cause = chain[earlier.moment] = earlier


def _left_by(reader: _Reader, cause: Cause) -> GraphBreak | None:
    """The break without which a cause would not be there: each of its own is in a function that is
    compiled by itself because of an earlier one, calls a method of what that has left, or came
    about when that was handled."""
    if cause.comes_of is not None:
        return cause.comes_of
    if _LEFT in cause.facts.called:
        return reader.break_before(cause.occurrences[0].translation)
    if any(each.left_by is None for each in cause.occurrences):
        return None
    return cause.occurrences[0].left_by


def cause_of_one(recording: Recording, found: GraphBreak) -> Cause:
    """The cause of one break, as if it had happened this once."""
    return recording.derived(_Reader).cause([found])


def break_before(recording: Recording, item: Translation) -> GraphBreak | None:
    """The break after which a resume function goes on; None: it is none, or that is not known."""
    return recording.derived(_Reader).break_before(item) if item.resume_of else None


def left_to_python(recording: Recording, item: Translation) -> GraphBreak | None:
    """The break because of which a function is compiled by itself: it goes on after that, or its
    call is left to Python. None: none is known."""
    reader = recording.derived(_Reader)
    return reader.break_before(item) if item.resume_of else reader.left_by(item)


def _catches(code: Code) -> bool:
    """Whether a function has an `except` or a `finally`; a `with` has a handler, too, which begins
    otherwise."""
    names = [row.opname for row in code.instructions]
    return any(
        name == "PUSH_EXC_INFO" and following != "WITH_EXCEPT_START"
        for name, following in itertools.pairwise(names)
    )


def facts_of(recording: Recording, found: GraphBreak) -> Broken:
    """What advice on a break may rest on."""
    return recording.derived(_Reader).facts(found)


_Site = tuple[int, int]


_Splits = list[tuple[int, GraphBreak]]


class _Reader:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._resuming = [item for item in compilations(recording) if item.resume_of]

    @cached_property
    def _resume_codes(self) -> dict[_Site, int]:
        """The resume function that goes on after each instruction that breaks.

        It is known of which function it is, and from Dynamo's name for it also the line, which can
        break more than once. It is called when the frame that broke has run so far, so it belongs
        to the latest break there that has none.
        """
        recording = self._recording
        found: dict[_Site, int] = {}
        codes: set[int] = set()
        breaks: dict[str, list[tuple[int, GraphBreak]]] = {}
        for each in recording.graph_breaks():
            if each.resumes and each.user_stack:
                owner = recording.attempt(each.attempt).translation
                broken = recording.translation(owner)
                name = (broken.resume_of or broken.name).rpartition(".")[2]
                breaks.setdefault(name, []).append((owner, each))
        for item in self._resuming:
            rest = resumed(item.name)
            if item.code in codes:
                continue
            for owner, each in reversed(breaks.get(item.resume_of.rpartition(".")[2], [])):
                if owner >= item.id or (rest and rest.line != each.user_stack[0].line):
                    continue
                site = self._site(each)
                if site is not None and site not in found:
                    found[site] = item.code
                    codes.add(item.code)
                    break
        return found

    @cached_property
    def _breaks_before(self) -> dict[int, list[GraphBreak]]:
        """The breaks after which each resume function goes on, in order, by its code."""
        found: dict[int, list[GraphBreak]] = {}
        for each in self._recording.graph_breaks():
            code = self._resume_code(each)
            if code is not None:
                found.setdefault(code, []).append(each)
        return found

    def break_before(self, item: Translation) -> GraphBreak | None:
        """The newest break before a compilation of a resume function that it goes on after."""
        recording = self._recording
        found = (
            each
            for each in reversed(self._breaks_before.get(item.code, []))
            if recording.attempt(each.attempt).translation < item.id
        )
        return next(found, None)

    def _resume_code(self, found: GraphBreak) -> int | None:
        site = self._site(found) if found.resumes else None
        return None if site is None else self._resume_codes.get(site)

    def _site(self, found: GraphBreak) -> _Site | None:
        """The code of the frame that breaks, and the index of its own instruction."""
        recording = self._recording
        if not recording.has(found.moment):
            return None
        *_, (frame, ip) = self._way_to(found)
        return frame.code, ip

    def _way_to(self, found: GraphBreak) -> Iterator[tuple[Frame, int]]:
        """The frame of the instruction that breaks, then those that called it; of each the index
        of its own instruction."""
        recording = self._recording
        moment = recording.moment(found.moment)
        frame = recording.frame(moment.frame)
        yield frame, moment.ip
        # No frame is entered before its caller.
        while (
            frame.parent is not None and frame.call_moment is not None and frame.parent < frame.id
        ):
            moment = recording.moment(frame.call_moment)
            frame = recording.frame(frame.parent)
            yield frame, moment.ip

    def _leads_there(self, found: GraphBreak) -> str | None:
        """The text of the innermost line on the way that is the program's, as far as it is
        recorded; None: none is on the way."""
        for frame, ip in self._way_to(found):
            code = self._recording.code(frame.code)
            if not is_installed(code.filename):
                return source_line(code, code.instructions[ip].line).strip()
        return None

    def place_of(self, found: GraphBreak) -> PythonFrame | None:
        """Where the instruction is; of an exception, which is a break in each function that it
        leaves, where it was raised: the innermost frame of the stack."""
        row = self._shown(found)
        if row is not None and not (kinds_of(found)[0] == break_kinds.RAISED and found.user_stack):
            return row[1]
        if not found.user_stack:
            return None
        place = found.user_stack[-1]
        return (is_installed(place.filename) and self._raised_through(found, place)) or place

    def _raised_through(self, found: GraphBreak, place: PythonFrame) -> PythonFrame | None:
        """Where the program raised what a library has only let through, as a `with` around a call
        does: Dynamo's stack then ends in the library's function."""
        recording = self._recording
        codes = {frame.id: recording.code(frame.code) for frame in recording.frames(found.attempt)}
        *_, frame = recording.frames(found.attempt)
        through, code = codes.get(frame.parent or 0), codes[frame.id]
        end = frame.last_moment
        if through is None or end is None or is_installed(code.filename):
            return None
        last = self._row_at(end)
        if through.filename != place.filename or last.opname.startswith("RETURN"):
            return None
        return PythonFrame(code.filename, last.line or code.first_line, code.name)

    def _at_its_place(self, found: GraphBreak) -> bool:
        """Whether the instruction is at the line that is blamed."""
        row, place = self._shown(found), self.place_of(found)
        return row is not None and place is not None and _line(row[1]) == _line(place)

    def _blamed(self, found: GraphBreak) -> MomentId:
        """The moment of the instruction to blame: where Dynamo breaks, or what a function writes
        into that is an operator's."""
        if kinds_of(found)[0] != _WRITTEN:
            return found.moment
        return written_inside(self._recording, found.reason, found.attempt) or found.moment

    def _instruction(self, found: GraphBreak) -> tuple[Instruction, PythonFrame, str] | None:
        recording = self._recording
        if not recording.has(found.moment):
            return None
        moment = recording.moment(self._blamed(found))
        code = recording.code(recording.frame(moment.frame).code)
        row = code.instructions[moment.ip]
        place = PythonFrame(code.filename, row.line or code.first_line, code.label)
        return row, place, source_line(code, row.line)

    def _shown(self, found: GraphBreak) -> tuple[Instruction, PythonFrame, str] | None:
        """The instruction with the line that is told: where Dynamo has a function of its own for
        what Python has in C, that which calls it."""
        row = self._instruction(found)
        if row is None or not in_compiler(row[1].filename):
            return row
        for code, ip in self._codes_to(found):
            if not in_compiler(code.filename):
                line = code.instructions[ip].line
                place = PythonFrame(code.filename, line or code.first_line, code.label)
                return row[0], place, source_line(code, line)
        return row

    def _source_of(self, found: GraphBreak) -> str:
        """The text of the line that is blamed."""
        if (place := self.place_of(found)) is None:
            return ""
        frames = self._recording.frames(found.attempt)
        codes = (self._recording.code(frame.code) for frame in frames)
        lines = (source_line(code, place.line) for code in codes if code.filename == place.filename)
        return next(filter(None, lines), "")

    def cause(self, group: list[GraphBreak]) -> Cause:
        first = next(filter(self._at_its_place, group), group[0])
        kinds = kinds_of(first)
        row = self._shown(first) if self._at_its_place(first) else None
        explanation = _explanation(first, kinds)
        pages = _PAGE.findall(first.reason)
        facts = self.facts(first)
        earlier = comes_of(self._recording, first) if facts.comes_of_another else None
        unmade = earlier is not None or is_not_rebuilt(first)
        return Cause(
            kind=kinds[0],
            then=kinds[1] if len(kinds) > 1 else "",
            explanation=explanation,
            context=one_line(context_of(first)),
            hints=_hints(first, kinds),
            page=pages[0] if pages else "",
            facts=facts,
            place=row[1] if row else self.place_of(first),
            source=row[2] if row else self._source_of(first),
            moment=self._blamed(first),
            instruction=row[0] if row else None,
            occurrences=tuple(self._occurrence(each) for each in group),
            comes_of=earlier,
            rebuilt=not_rebuilt(self._recording, first) if unmade else None,
        )

    def facts(self, found: GraphBreak) -> Broken:
        """What advice on a break may rest on."""
        kinds = kinds_of(found)
        row = self._instruction(found)
        stack, can = found.user_stack, self._recording.facts.capabilities
        place = row[1] if row is not None else (stack[-1] if stack else None)
        at = "" if place is None else place.filename
        library = is_installed(at) and not at.endswith(_CUSTOM_OPERATORS)
        leads_there = self._leads_there(found) if library and row is not None else ""
        called = self._called(found, row[0]) if row is not None else None
        decided = decided_at(self._codes_to(found)) if row is not None else None
        counted = kinds[0] in {break_kinds.SHAPED, *NUMBER}
        how = self._taken(found) if counted and row is not None else ""
        return Broken(
            kind=kinds[0],
            explanation=_explanation(found, kinds),
            context=one_line(context_of(found)),
            statement=row[2].strip() if row is not None else "",
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
            mapped=row is not None and self._within(found, _VMAP),
            differentiated=row is not None and self._within(found, _FUNCTIONS),
            decides=decided is not None or how == DECIDES,
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
            quantizes=any(_QUANTIZED.search(code.filename) for code, _ in self._codes_to(found)),
        )

    def _operands(self, found: GraphBreak, row: Instruction) -> frozenset[str]:
        state = self._recording.state(self._blamed(found))
        taken = (row.arg or 0) if row.opname.startswith("CALL") else _OPERANDS
        values = map(state.values.get, state.top.stack[-taken:] if taken else ())
        return frozenset(value.cls for value in values if value is not None)

    def _metaclass(self, found: GraphBreak) -> str:
        """That of a class of the program's of which the attempt has made an object that lacks what
        it is asked for."""
        lacks = _LACKS.search(context_of(found))
        for frame in self._recording.frames(found.attempt) if lacks else ():
            code, call = self._recording.code(frame.code), frame.call_moment
            if lacks and call is not None and code.name == _MAKING:
                state, row = self._recording.state(call), self._row_at(call)
                made = called_at(state, row)
                if made is not None and made.source.endswith((f"'{lacks[1]}']", f".{lacks[1]}")):
                    return "" if made.type in _METACLASSES else made.type
        return ""

    def _row_at(self, moment: MomentId) -> Instruction:
        at = self._recording.moment(moment)
        return self._recording.code(self._recording.frame(at.frame).code).instructions[at.ip]

    def _around_module(self, found: GraphBreak) -> str:
        said = context_of(found)
        for name, file in _AROUND.items():
            if f"qualname: {name}." in said or self._within(found, file):
                return name
        return ""

    def _loop_around(self, found: GraphBreak) -> str:
        *_, (code, at) = self._codes_to(found)
        return loop_around(code.instructions, at)

    def _types(self, found: GraphBreak) -> frozenset[str]:
        state = self._recording.state(found.moment)
        values = map(state.values.get, state.top.locals.values())
        return frozenset(value.type for value in values if value is not None)

    def _codes_to(self, found: GraphBreak) -> Iterator[tuple[Code, int]]:
        for frame, ip in self._way_to(found):
            yield self._recording.code(frame.code), ip

    def _within(self, found: GraphBreak, file: str) -> bool:
        """Whether a function of a file of torch's leads there."""
        names = (code.filename for code, _ in self._codes_to(found))
        return any(name.endswith(file) and is_installed(name) for name in names)

    def _orders(self, found: GraphBreak) -> bool:
        """Whether it is in a function that says how to sort, or what to leave out, and returns what
        the instruction leaves."""
        (code, at), *callers = self._codes_to(found)
        moment = self._recording.moment(found.moment)
        call = self._recording.frame(moment.frame).call_moment
        while callers and call is not None and in_compiler(callers[0][0].filename):
            del callers[0]  # it stands for the function that is called
            call = self._recording.frame(self._recording.moment(call).frame).call_moment
        if call is None or not callers or not is_returned(code, at):
            return False
        state, row = self._recording.state(call), self._row_at(call)
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
        for depth, (frame, ip) in enumerate(self._way_to(found), 1):
            values = (state.values.get(each) for each in state.frames[-depth].stack)
            left = [
                None if value.cls == NULL else function_of(state, value)
                for value in values
                if value is not None and not (value.cls == NULL and counts_no_null)
            ]
            after = self._going_on((frame.code, ip))
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

    def _going_on(self, site: _Site) -> Translation | None:
        """The first translation of what goes on after a break at a site; None: there is none."""
        code = self._resume_codes.get(site)
        return next((each for each in self._resuming if each.code == code), None)

    def _next_break(self, found: GraphBreak) -> str:
        """Where the function that goes on breaks before it computes anything; empty: it computes
        something, or is not known to break."""
        site, place = self._site(found), self.place_of(found)
        if site is None or place is None:
            return ""
        moment = self._recording.moment(found.moment)
        if self._recording.frame(moment.frame).parent is not None:
            return ""  # what is inlined may compute more before the function goes on that calls it
        after = self._going_on(site)
        attempts = () if after is None else self._recording.attempts(after.id)
        for attempt in attempts:
            if broken := self._recording.graph_breaks(attempt.id):
                made = self._recording.nodes_made(attempt.id)
                at = own_frame(broken[0].user_stack) or self.place_of(broken[0]) or place
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
        return called_at(self._recording.state(self._blamed(found)), row)

    def _checks(self, found: GraphBreak) -> bool:
        moment = self._recording.moment(found.moment)
        code = self._recording.code(self._recording.frame(moment.frame).code)
        by_number = kinds_of(found)[0] in NUMBER and checked(self._codes_to(found))
        if not by_number and not raises_either_way(code.instructions, moment.ip):
            return False
        # What is caught on the way out is no error, but one more way to go on.
        frames = [frame for frame, _ in self._way_to(found)]
        return not any(_catches(self._recording.code(frame.code)) for frame in frames)

    def _occurrence(self, found: GraphBreak) -> Occurrence:
        recording = self._recording
        attempt = recording.attempt(found.attempt)
        item = recording.translation(attempt.translation)
        thrown_away = bool(attempt.restart_reason) or not found.resumes
        resumed: Iterable[Translation] = ()
        code = self._resume_code(found)
        if code is not None:
            resumed = (each for each in self._resuming if each.code == code and each.id > item.id)
        wasted = self._length(attempt) if thrown_away else 0
        left_by = self.left_by(item)
        # A helper that breaks where it is inlined breaks by itself for the same reason.
        while left_by is not None and self.place_of(left_by) == self.place_of(found):
            left_by = self.left_by(
                recording.translation(recording.attempt(left_by.attempt).translation)
            )
        lies_between = self._graphs.lies_between(found, item)
        return Occurrence(found, item, wasted, tuple(resumed), left_by, lies_between)

    @cached_property
    def _graphs(self) -> SplitGraphs:
        return SplitGraphs(self._recording, self.break_before, self._resume_code, self.left_by)

    def asked_at(self, found: GraphBreak) -> tuple[str, int] | None:
        """The program's own line that leads to one of a library's: what to change is there. Of what
        is compiled by itself, that of the break which left it to Python. None: none is known, or
        the line that breaks is the program's."""
        place = self.place_of(found)
        if place is None or not is_installed(place.filename):
            return None
        if (own := own_frame(found.user_stack)) is not None:
            return own.filename, own.line
        attempt = self._recording.attempt(found.attempt)
        left_by = self.left_by(self._recording.translation(attempt.translation))
        return None if left_by is None else self.asked_at(left_by)

    def left_by(self, item: Translation) -> GraphBreak | None:
        """The earlier break that leaves a call to Python, by which a compilation came to be."""
        if item.resume_of:  # it goes on after a break, which is told with that one
            if (before := self.break_before(item)) is None:
                return None
            attempt = self._recording.attempt(before.attempt)
            return self.left_by(self._recording.translation(attempt.translation))
        for place in reversed(item.python_stack):
            keys = (place.filename, place.line), (place.filename, function_name(place.function))
            for known in filter(None, map(self._leaving.get, keys)):
                if at := bisect_left(known, item.id, key=itemgetter(0)):
                    return known[at - 1][1]
        return self._left_in_midst(item)

    def _left_in_midst(self, item: Translation) -> GraphBreak | None:
        """The break where the outermost frame that it splits is none of the program's, as one of
        Dynamo's own around a module: a call on the way to it, in the same call of the program."""
        stack = item.python_stack
        for place in reversed(stack):
            for begun, known in self._on_the_way.get((place.filename, place.line), {}).items():
                at = bisect_left(known, item.id, key=itemgetter(0))
                if at and len(begun) < len(stack) and stack[: len(begun)] == begun:
                    return known[at - 1][1]
        return None

    @cached_property
    def _on_the_way(self) -> dict[tuple[str, int], dict[tuple[PythonFrame, ...], _Splits]]:
        """Breaks that split a frame of Dynamo's own, with the id of the compilation, by each line
        that calls on the way to them, and by the calls that led to the frame."""
        found: dict[tuple[str, int], dict[tuple[PythonFrame, ...], _Splits]] = {}
        for each in self._recording.graph_breaks():
            owner = self._recording.translation(self._recording.attempt(each.attempt).translation)
            if in_compiler(owner.filename) and is_split(each, owner):
                for place in each.user_stack[1:]:
                    by_calls = found.setdefault((place.filename, place.line), {})
                    by_calls.setdefault(owner.python_stack, []).append((owner.id, each))
        return found

    @cached_property
    def _leaving(self) -> dict[tuple[str, object], list[tuple[int, GraphBreak]]]:
        """The breaks that are no error, with the id of the compilation, by what runs in Python
        because of them: the line that is split, or the function that is given up."""
        recording = self._recording
        found: dict[tuple[str, object], list[tuple[int, GraphBreak]]] = {}
        for each in recording.graph_breaks():
            owner = recording.translation(recording.attempt(each.attempt).translation)
            if is_split(each, owner) and each.user_stack:
                key: tuple[str, object] = (each.user_stack[0].filename, each.user_stack[0].line)
            elif owner.outcome is Outcome.SKIPPED and not each.resumes:
                key = (owner.filename, function_name(owner.name))
            else:
                continue
            found.setdefault(key, []).append((owner.id, each))
        for known in found.values():
            known.sort(key=itemgetter(0))
        return found

    def _length(self, attempt: Attempt) -> int:
        """How many instructions an attempt has; other threads may have interpreted meanwhile."""
        recording = self._recording
        frames = {frame.id for frame in recording.frames(attempt.id)}
        last = recording.newest if attempt.last_moment is None else attempt.last_moment
        return sum(
            frame in frames
            for run in recording.runs(attempt.first_moment, last)
            for frame in run.frames
        )


def _line(place: PythonFrame) -> tuple[str, int]:
    return place.filename, place.line


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


def _explanation(found: GraphBreak, kinds: tuple[str, ...]) -> str:
    explained = _EXPLANATION.search(found.reason) if len(kinds) > 1 else None
    return one_line(explained[1] if explained else explanation_of(found))


def _hints(found: GraphBreak, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Dynamo's hints on what happened first; those on the rest are about the rest."""
    if len(kinds) == 1:
        return tuple(map(one_line, found.hints))
    first = HANDLING.split(found.reason)[0]
    return tuple(
        line.strip().removeprefix("Hint: ")
        for line in first.splitlines()
        if line.strip().startswith("Hint: ")
    )
