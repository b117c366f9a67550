"""What may make compiling shorter, or guards at calls, as a table: what in the recording makes it
worth a run, and the change.

| what the recording shows | what is tried |
| --- | --- |
| a function of the program that is inlined again and again | `nested_compile_region` of it |
| a call in a loop that needs nothing that the loop sets | the call once, in front of the loop |
| attempts that a graph break has thrown away | what `why-break` knows against the break |
| a function that is compiled again | what `why-recompile` knows against what changes |
| guards on modules or globals, at calls | the filters that torch brings for them |
| calls after the last compilation | `skip_guard_eval_unsafe` from there on |
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from stepper.analysis import recompile_remedies, regions
from stepper.analysis.break_remedies import ways_for as ways_against_break
from stepper.analysis.breaks import causes
from stepper.analysis.call_sites import CallSites
from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.places import Files
from stepper.analysis.recompile_series import histories
from stepper.analysis.recompiles import recompilations
from stepper.analysis.replays import Way
from stepper.analysis.run_costs import Served
from stepper.analysis.sites import own_frame
from stepper.client.text import clip, one_line
from stepper.model.timing import TRACING
from stepper.model.trace import Outcome
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_EACH = 3
"""Ways that are tried for one thing."""
_THINGS = 2
"""Functions, causes and lines that are looked at, those that took longest."""
_LEAST = 0.02
"""Part of tracing that a line takes at least."""
_TEXT = 60
"""Characters of a call that are told."""
_STANCE = "torch.compiler.set_stance(skip_guard_eval_unsafe=True)"


def compile_ways(times: CompileTimes, files: Files) -> list[Way]:
    """What may make compiling shorter, each once, the nearest first."""
    return _once(way for ways in COMPILING for way in ways(times, files))


def guard_ways(recording: Recording, files: Files, served: Served) -> list[Way]:
    """What may make the guards of an entry shorter, each once, what trusts least first."""
    sites = CallSites(recording, files, served.place)
    return _once([*_filters(sites, served), *_few_guards(recording, files)])


def _once(ways: Iterable[Way]) -> list[Way]:
    known: dict[tuple[object, ...], Way] = {}
    for way in ways:
        known.setdefault((way.edits, way.changes), way)
    return list(known.values())


# Compiling ----------------------------------------------------------------------------------------


def _as_regions(times: CompileTimes, files: Files) -> Iterator[Way]:
    for pairs in times.by_function()[:_THINGS]:
        made = [item for item, _ in pairs]
        yield from regions.ways_for(times.recording, files, made)


def _out_of_loops(times: CompileTimes, files: Files) -> Iterator[Way]:
    """Calls at the lines that took longest, each in front of the loop that it stands in."""
    least = _LEAST * times.spent({TRACING})
    lines = [each for each in times.lines if each.total >= least]
    found: list[Way] = []
    for line in lines:
        file = files.at(line.place.filename)
        if file is None or is_installed(file.path):
            continue
        here = [each.node for each in file.calls if each.node.lineno == line.place.line]
        for node in here:
            inside = any(other is not node and node in ast.walk(other) for other in here)
            if inside or isinstance(file.parent(node), ast.Expr):
                continue
            if edits := recompile_remedies.hoisted(file, node, "once", beyond=False):
                words = f"{clip(one_line(file.text(node)), _TEXT)} once, in front of the loop"
                found.append(Way(words, edits, unsafe=True))
    yield from found[:_EACH]


def _against_restarts(times: CompileTimes, files: Files) -> Iterator[Way]:
    thrown = {attempt.id for _, attempt in times.thrown_away()}
    if not thrown:
        return
    found = [each for each in causes(times.recording) if each.wasted]
    for cause in sorted(found, key=lambda each: -each.wasted)[:_THINGS]:
        yield from ways_against_break(times.recording, files, cause)[:_EACH]


def _against_recompilations(times: CompileTimes, files: Files) -> Iterator[Way]:
    recording = times.recording
    again = [
        each for each in recompilations(recording) if each.translation.id in times.translations
    ]
    for history in histories(recording, again)[:_THINGS]:
        for ways in recompile_remedies.ways_for(recording, files, history)[:_THINGS]:
            yield from ways[:_EACH]


COMPILING: tuple[Callable[[CompileTimes, Files], Iterator[Way]], ...] = (
    _as_regions,
    _out_of_loops,
    _against_restarts,
    _against_recompilations,
)
"""The rows of the table that are about compiling."""


# Guards at calls ----------------------------------------------------------------------------------


def _filters(sites: CallSites, served: Served) -> Iterator[Way]:
    sources = [guard.source for guard in served.by_guard]
    names = []
    if any("._modules" in source or "self" in source for source in sources):
        names += ["skip_guard_on_inbuilt_nn_modules_unsafe", "skip_guard_on_all_nn_modules_unsafe"]
    if any(source.startswith("G[") for source in sources):
        names.append("skip_guard_on_globals_unsafe")
    return recompile_remedies.filtered(sites, names)


def _few_guards(recording: Recording, files: Files) -> Iterator[Way]:
    """The stance behind the call for which something was compiled last."""
    made = [each for each in recording.translations() if each.outcome is Outcome.COMPILED]
    frame = own_frame(made[-1].python_stack) if made else None
    file = None if frame is None else files.at(frame.filename)
    if frame is None or file is None or not file.torch:
        return
    for each in file.calls:
        statement = each.statement
        if statement.lineno <= frame.line <= (statement.end_lineno or frame.line):
            edit = file.line_after(statement, file.torched(_STANCE))
            if edit is not None:
                words = f"{_STANCE} after the last call that compiles"
                yield Way(f"{words}, which has the rest unchecked", (edit,), unsafe=True)
            return
