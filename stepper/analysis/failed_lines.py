"""What failed to compile, in words: for the command line, the console and the screen.

Dynamo's own words are told whole; beside them stands what the recording knows: the instruction to
blame, what it was about to take, and the way there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from stepper.analysis.entryless import inlined_lines
from stepper.analysis.failure_changes import change_of
from stepper.analysis.failures import (
    Failed,
    Operand,
    device_of,
    failed_count,
    failures,
    fixed_sizes,
    guard_built,
    operands,
    said_inside,
)
from stepper.analysis.faked import fakes_behind
from stepper.analysis.handed_on import spelled_inside
from stepper.analysis.line import Line
from stepper.analysis.recompile_advice import REFUSED
from stepper.analysis.recompile_lines import tried_lines
from stepper.analysis.recompiles import Tried, failed_checks, failed_guards, recompilation
from stepper.analysis.shape_lines import size_lines
from stepper.analysis.shapes import symbols_at
from stepper.analysis.sites import Site, in_torch, line_that_made, made_at, site_at
from stepper.analysis.trial_lines import Told, enough, in_vain
from stepper.analysis.unseen import so_far
from stepper.analysis.walks import nothing_to_ask_about
from stepper.client.text import (
    expression_text,
    function_name,
    instruction_text,
    line_text,
    node_meta,
    place_text,
    short_path,
    value_line,
    way_texts,
    without_addresses,
)
from stepper.model.failure import FailedStage
from stepper.model.program import PythonFrame, UserLine
from stepper.model.shapes import ShapeStepKind, Why
from stepper.model.trace import MomentId, Node, headline
from stepper.model.value import Value
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_SYMBOL = re.compile(r"\bs\d+\b")
_GIVEN_OUT = re.compile(r"Provided `out=` shape: torch\.Size\(\[([\d, ]*)\]\)")
"""How Dynamo words the size of what it was given for a result of another size."""
_RAISED = 3
"""Frames of the traceback that are told, beside the program's own among them."""

_DISPATCH, _GRADIENTS = "torch/_functorch/", "torch/autograd/"
"""How the files begin of AOTAutograd, and of what it has trace gradients."""
_MOST_ENTRIES = 3
"""Entries of which it is told why they did not fit."""

NOT_COMPILING = "; what compiled code raises when it runs is recorded where it ends the program"

_STAGES = {
    FailedStage.LOOKUP: "before tracing",
    FailedStage.TRACING: "while tracing",
    FailedStage.GUARDS: "while building guards",
    FailedStage.DISPATCH: "in AOTAutograd",
    FailedStage.BACKEND: "in the backend",
    FailedStage.BACKWARD: "while compiling the backward",
    FailedStage.ASKED: "",
    FailedStage.RUNNING: "when its compiled code ran",
    FailedStage.EXPORT: "in torch.export",
    FailedStage.OTHER: "",
}

_OF_WHOLE_GRAPHS = (FailedStage.DISPATCH, FailedStage.BACKEND, FailedStage.BACKWARD)
"""Where a graph fails as a whole."""
_OF_OPERATORS = "UncapturedHigherOrderOpError"
"""What is raised where an operator cannot have the whole of a function that it is given."""

Trying = Callable[[Failed], Told]
"""Says what came of what may be done about a failure."""


def failed_lines(
    recording: Recording, function: str = "", *, after: int = 0, trying: Trying | None = None
) -> Iterator[Line]:
    """The whole answer: a heading, then each compilation that failed.

    Args:
        recording: what is asked.
        function: only of functions with this in their name; empty: all.
        after: only of walks after this one.
        trying: tries each failure; None: nothing is tried.
    """
    found = failures(recording, function, after=after)
    if not any(function.lower() in each.name.lower() for each in found):
        yield from inlined_lines(recording, function)
    if not found:
        where = f" of a function with {function!r} in its name" if function else ""
        more = nothing_to_ask_about(recording) or NOT_COMPILING
        yield Line(f"no compilation{where} failed{so_far(recording)}{more}")
        return
    yield Line(failed_count(found), role="title")
    groups: dict[tuple[object, ...], list[Failed]] = {}
    for each in found:
        groups.setdefault(_alike(recording, each), []).append(each)
    for number, group in enumerate(groups.values(), 1):
        yield Line("")
        yield from _failed(recording, group, number, trying)


def failed_headline(failed: Failed) -> str:
    """`0/0 f failed while tracing: Unsupported: Data-dependent branching`."""
    failure = failed.failure
    words = _words_inside(failed) or headline(failure.message)
    said = ": ".join(filter(None, (failure.exception, words)))
    if failure.stage is FailedStage.RUNNING:
        return f"{_whose(failed)}, {stage_text(failure.stage)}: {said}"
    return f"{_whose(failed)} failed {stage_text(failure.stage)}".rstrip() + f": {said}"


def _words_inside(failed: Failed) -> str:
    return without_addresses(": ".join(said_inside(failed.failure.message) or ()))


def stage_text(stage: FailedStage) -> str:
    """`while tracing`; empty where there is nothing to say."""
    return _STAGES[stage]


def not_known_text(failed: Failed) -> str:
    """Why no instruction is blamed; empty when one is, or none could be."""
    if failed.late:
        return (
            "a device may fail earlier than that is noticed: which operation failed is not recorded"
        )
    if failed.failure.stage is FailedStage.EXPORT:
        if failed.failure.user_stack:
            return "torch.export ran the program here: no instruction is recorded"
        return "no line of the program was running: it failed in torch.export itself"
    if failed.certain:
        return "" if failed.sites else "the instruction is not recorded"
    node = failed.failure.node
    match failed.failure.stage:
        case FailedStage.BACKEND | FailedStage.DISPATCH if node:
            return f"it was at the node {node}: which instruction that is there for is not recorded"
        case FailedStage.DISPATCH:
            return _at_no_node(failed)
        case FailedStage.BACKEND:
            return "which node of the graph is to blame is not recorded"
        case FailedStage.GUARDS:
            return "which instruction made the guard is not recorded"
        case FailedStage.RUNNING:
            return "which node of the graph raised it is not recorded"
        case FailedStage.BACKWARD:
            return "which node of the backward's graph is to blame is not recorded"
        case _:
            return ""


def _at_no_node(failed: Failed) -> str:
    """What is said where AOTAutograd failed and was not running the graph then."""
    raised = [(short_path(frame.filename), frame.function) for frame in failed.failure.raised]
    own = [at for at, (file, _) in enumerate(raised) if file.startswith(_DISPATCH)]
    if any(file.startswith(_GRADIENTS) for file, _ in raised[own[-1] if own else 0 :]):
        return "AOTAutograd had gradients traced: of which node, is not recorded"
    itself = f", in {function_name(raised[own[-1]][1])}" if own else ""
    return f"AOTAutograd itself raised it{itself}: no node of the graph was being run"


def raised_in(failed: Failed) -> list[PythonFrame]:
    """The frames of the traceback that say most: the innermost, and all that are not torch's."""
    every = failed.failure.raised
    last = len(every) - _RAISED
    return [frame for at, frame in enumerate(every) if at >= last or not in_torch(frame.filename)]


def handed_over_text(failed: Failed, cwd: str = "") -> str:
    """Where the graph was complete that could not be compiled, or what ran when a device's error
    was noticed; empty: that says nothing."""
    if failed.certain or not failed.sites or failed.failure.stage is FailedStage.BACKWARD:
        return ""
    site = failed.sites[0]
    if failed.late:
        return f"noticed at {_with_node(failed, site)} {line_text(site.line, cwd)}"
    return f"the graph ended at {instruction_text(site.instruction)} {line_text(site.line, cwd)}"


def _with_node(failed: Failed, site: Site) -> str:
    """An instruction, with the node of the graph that was run or lowered."""
    node = f" for the node {failed.failure.node}" if failed.failure.node else ""
    return instruction_text(site.instruction) + node


def operand_text(
    recording: Recording, failed: Failed, value: Value | None, operand: Operand
) -> str:
    """A value that an instruction took: as it was before, with where it comes from as its user
    would write that, and as an input of the graph if it became one only then."""
    if value is not None and value.source and failed.translation is not None:
        spelled = spelled_inside(recording, failed.translation, value.source)
        value = msgspec.structs.replace(value, source=spelled)
    text = value_line(value)
    if value is not None and value.lazy and operand.input is not None:
        return f"{text}  {node_meta(_as_given(recording, failed, value.source, operand.input))}"
    return text


def _as_given(recording: Recording, failed: Failed, name: str, taken: Node) -> Node:
    """An input of the graph as the call has it: what is handed over as `out=` has its new size when
    it is described, and Dynamo refuses it for the size that it had."""
    given, site = _GIVEN_OUT.search(failed.failure.message), failed.sites[0]
    if given is None or taken.meta is None or taken.moment != site.moment:
        return taken
    code = recording.code(recording.frame(recording.moment(site.moment).frame).code)
    written = expression_text(code, site.instruction)
    if not re.search(rf"\bout\s*=\s*{re.escape(name)}\s*[,)]", written):
        return taken
    shape = tuple(filter(None, given[1].split(", ")))
    meta = msgspec.structs.replace(taken.meta, shape=shape, stride=None)
    return msgspec.structs.replace(taken, meta=meta)


def _whose(failed: Failed) -> str:
    name = failed.inner or failed.shown or failed.name
    return f"{failed.compile_id} {function_name(name)}".lstrip()


def _alike(recording: Recording, failed: Failed) -> tuple[object, ...]:
    """What is the same of failures that need to be told only once."""
    failure, lookup = failed.failure, failed.lookup
    guards = () if lookup is None else failed_guards(recording, lookup)
    return failed.name, failure.stage, failure.exception, failure.message, failed.place, guards


def _tried(recording: Recording, failed: Failed) -> Iterator[Tried]:
    """The entries that did not fit, where that was the failure; without a recorded lookup by what
    the compiler said, and what follows from that."""
    item = failed.translation
    if failed.lookup is not None:
        yield from failed_checks(recording, failed.lookup)
    elif failed.failure.exception in REFUSED and item is not None:
        yield from recompilation(recording, item).tried


def _failed(
    recording: Recording, group: list[Failed], number: int, trying: Trying | None
) -> Iterator[Line]:
    failed, *again = group
    cwd, failure = recording.facts.cwd, failed.failure
    moment = failed.moment or None
    said = f"{failure.exception or 'it ended'} {stage_text(failure.stage)}".rstrip()
    place = place_text(failed.place, cwd)
    at = f"  {place}" if place and failed.certain else ""
    times = f"{len(group)}×  " if again else ""
    yield Line(f"{number}. {times}{_whose(failed)}: {said}{at}", moment, "title")
    if failed.certain and failed.text:
        yield Line(f"     {failed.text}", moment)
    if words := _words_inside(failed):
        yield Line(f"   {words}", moment)
        yield from _symbols_in(recording, failed, words)
    ways = [] if trying is None else (yield from trying(failed))
    if failed.suppressed:
        yield Line("   the program never saw it: the frame runs uncompiled", moment)
    change = None if enough(ways) else change_of(recording, failed)
    if change is not None and (change := change.without(in_vain(ways))) is not None:
        label = "change" if trying is None else "change, not proven"
        yield Line(f"   {label}: {change}", moment)
    for text in without_addresses(failure.message).strip().splitlines():
        yield Line(f"   {text}".rstrip(), moment if text.strip() else None)
    yield from blamed_lines(recording, failed)
    entries = [*itertools.islice(_tried(recording, failed), _MOST_ENTRIES)]
    if failed.lookup is not None and failed.lookup.reason and not entries:
        yield Line(f"   the lookup: {failed.lookup.reason}", failed.lookup.first_moment)
    told: set[tuple[str, str, str]] = set()
    for tried in entries:
        yield from tried_lines(recording, tried, told, every=True)
    yield from _traced_last(recording, failed)
    if failed.inside is not None and failed.certain:
        inside = failed.inside
        yield Line(f"   inside {line_text(inside.line, cwd)}", inside.moment, "dim")
    for text, times, at_call in _folded(
        (f"from {line_text(site.line, cwd)}", site.moment)
        for site in (failed.sites[1:] if failed.certain else ())
    ):
        yield Line(f"   called {times}{text}", at_call, "dim")
    for text, times, _ in _folded(
        (f"by {text}", None) for text in way_texts(reversed(failed.callers), cwd)
    ):
        yield Line(f"   called {times}{text}", role="dim")
    for frame in raised_in(failed):
        yield Line(f"   raised in {place_text(frame, cwd)}", role="dim")
    for each in again:
        yield Line(f"   again: {_whose(each)}", each.moment or None, "dim")


def _traced_last(recording: Recording, failed: Failed) -> Iterator[Line]:
    """Where a function ends that an operator such as torch.cond is given, if it was traced to its
    end: the compiler looks at what it returns as soon as it is there."""
    if failed.failure.exception != _OF_OPERATORS or not failed.certain or not failed.moment:
        return
    attempt = recording.frame(recording.moment(failed.moment).frame).attempt
    own = [
        frame
        for frame in recording.frames(attempt)
        if frame.first_moment > failed.moment
        and not is_installed(recording.code(frame.code).filename)
    ]
    last = max(own, key=lambda frame: frame.last_moment or 0, default=None)
    if last is not None and last.last_moment is not None:
        site = site_at(recording, last.last_moment)
        if site is not None and site.instruction.opname.startswith("RETURN"):
            line = line_text(site.line, recording.facts.cwd)
            yield Line(f"   traced last: {line}", site.moment, "dim")


def _folded(
    calls: Iterable[tuple[str, MomentId | None]],
) -> Iterator[tuple[str, str, MomentId | None]]:
    """Calls, each with its moment; of a function that calls itself, once, with how often."""
    for text, group in itertools.groupby(calls, key=lambda call: call[0]):
        (_, moment), *more = group
        yield text, f"{1 + len(more)} times " if more else "", moment


def _guard_line(recording: Recording, failed: Failed) -> Iterator[Line]:
    """The guard that could not be built, and what it was to check."""
    item = failed.translation
    guard = None if item is None else guard_built(recording, failed.failure, item)
    if item is not None and guard is not None:
        of = f" of {spelled_inside(recording, item, guard.source)}" if guard.source else ""
        yield Line(f"   the guard that it was at: {guard.kind}{of}", guard.moment)


def blamed_lines(recording: Recording, failed: Failed) -> Iterator[Line]:
    """The instruction to blame, what it was about to take, and where that comes from."""
    yield from _guard_line(recording, failed)
    named = [*_named_nodes(recording, failed)]
    for node, of_program in named:
        told = line_text(of_program, recording.facts.cwd)
        yield Line(f"   the operator that it names is at the node {node.name}, {told}", node.moment)
    if not named and (text := not_known_text(failed)):
        yield Line(f"   {text}", role="dim")
    if text := handed_over_text(failed, recording.facts.cwd):
        yield Line(f"   {text}", failed.moment, "dim")
    if not failed.sites or not failed.certain:
        return
    site, cwd = failed.sites[0], recording.facts.cwd
    yield Line(f"   at {_with_node(failed, site)}", site.moment)
    state = recording.state(site.moment)
    taken = operands(recording, failed)
    devices = [device_of(state.values.get(each.value), each) for each in taken]
    differ = len(set(filter(None, devices))) > 1
    for each, device in zip(taken, devices, strict=True):
        text = operand_text(recording, failed, state.values.get(each.value), each)
        text += f"  on {device}" if differ and device else ""
        yield Line(f"     [{each.place}] {text}", site.moment, "dim")
        made = (
            None if each.made_at is None or each.input else line_that_made(recording, each.made_at)
        )
        if made is not None:
            yield Line(f"         made by {line_text(made, cwd)}", each.made_at, "dim")
    for faked in fakes_behind(recording, failed):
        at = place_text(faked.registered, cwd)
        yield Line(f"     {faked.operator} was traced with what the program says it returns: {at}")
    yield from _undecided(recording, failed)
    if failed.failure.stage is FailedStage.GUARDS and failed.translation is not None:
        for size in fixed_sizes(recording, failed.translation):
            for line in size_lines(recording, size, failed=True):
                yield line._replace(text=f"     {line.text}", role="dim")


def _symbols_in(recording: Recording, failed: Failed, words: str) -> Iterator[Line]:
    """What the symbols in an operator's words stand for, and what they were in this call."""
    item = failed.translation
    attempts = [] if item is None else recording.attempts(item.id)
    for attempt in attempts[-1:]:
        known = symbols_at(recording, attempt.id)
        for name in dict.fromkeys(_SYMBOL.findall(words)):
            symbol = known.get(name)
            if symbol is not None and symbol.sources and item is not None:
                spelled = ", ".join(
                    spelled_inside(recording, item, source) for source in symbol.sources
                )
                value = f", {symbol.born.hint} in this call" if symbol.born.hint else ""
                yield Line(f"     {name} is {spelled}{value}", symbol.born.moment, "dim")


def _named_nodes(recording: Recording, failed: Failed) -> Iterator[tuple[Node, UserLine]]:
    """The nodes of a graph that could not be compiled of which the message names the operator,
    where no node is known to have been run or lowered; none: it names none of the graph's."""
    item, failure = failed.translation, failed.failure
    if item is None or failed.certain or failure.stage not in _OF_WHOLE_GRAPHS or failure.node:
        return
    for attempt in recording.attempts(item.id)[-1:]:
        for node in recording.nodes(None, attempt=attempt.id):
            called = node.op == "call_function" and "." in node.target
            if called and re.search(rf"(?<![\w.]){re.escape(node.target)}(?!\w)", failure.message):
                line = line_that_made(recording, node.moment)
                if line is not None:
                    yield node, line


def _undecided(recording: Recording, failed: Failed) -> Iterator[Line]:
    """Where the symbols come from of a decision that depends on data."""
    item, cwd = failed.translation, recording.facts.cwd
    attempts = [] if item is None else recording.attempts(item.id)
    steps = recording.shape_steps(None, attempt=attempts[-1].id) if attempts else []
    asked = {
        name
        for step in steps
        if step.kind is ShapeStepKind.UNDECIDED and step.moment == failed.failure.moment
        for name in step.symbols
    }
    for step in steps:
        if step.kind is not ShapeStepKind.UNBACKED or step.symbol not in asked:
            continue
        if step.why is Why.MARKED_UNBACKED:
            name = spelled_inside(recording, item, step.source) if item is not None else ""
            text = f"     {step.symbol} is {name}, which is marked by mark_unbacked"
            yield Line(text, step.moment, "dim")
        else:
            born = site_at(recording, made_at(recording, step.moment))
            where = "a line that is not recorded" if born is None else line_text(born.line, cwd)
            yield Line(f"     {step.symbol} comes from {where}", step.moment, "dim")
