"""Why compiling takes so long, in words: for the command line, the console and the screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sized
from typing import TypeVar

from stepper.analysis.cache_answers import cache_lines
from stepper.analysis.compile_times import (
    BYTECODE,
    COMPILERS,
    WORKERS,
    CompileTimes,
    LineTime,
    Timed,
    merged,
    unfinished,
)
from stepper.analysis.entryless import inlined_lines
from stepper.analysis.line import Line
from stepper.analysis.run_costs import cost_lines
from stepper.analysis.sites import program_line
from stepper.analysis.slow_tree import calls
from stepper.client.frame_names import common_name, compiled_name
from stepper.client.text import (
    function_name,
    line_text,
    one_line,
    place_text,
    plural,
    short_name,
    short_path,
    source_line,
    time_words,
    walk_name,
)
from stepper.model.program import UserLine
from stepper.model.timing import (
    ASSEMBLE,
    BACKEND_PHASES,
    CODEGEN,
    COMPILE_LOCK,
    EFFECT_MADE,
    FAKE_TENSORS,
    FILE_LOCK,
    GARBAGE,
    GENERATING,
    GUARD_MADE,
    GUARDS,
    SIDE_EFFECTS,
    TRACING,
    WAITS,
)
from stepper.model.trace import Attempt, MomentId, Translation, headline
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_Row = TypeVar("_Row")

_MOST = 10
"""Rows of a list, unless all are asked for."""
_MOST_CALLS = 24
_MUCH, _MOST_OF = 0.1, 0.5
"""The first line names a line where tracing is so much of the whole, and it so much of tracing."""
_LEAST_CALL = 0.03
"""Part of tracing below which a line is not told in the tree of calls."""
_LEAST = 0.01
"""Part of the whole below which a phase is not told."""

_IN_BACKEND = BACKEND_PHASES | {"create_aot_dispatcher_function"}
"""What tells of the backend: where one compiles ahead of time, torch does not time its call."""

_WORDS = {
    "bytecode_tracing": "tracing",
    "backend_compile": "the backend",
    "entire_backward_compile": "the backward, compiled when gradients were asked for",
    "build_guards": "building guards",
    "create_aot_dispatcher_function": "AOTAutograd",
    "min_cut_rematerialization_partition": "the partitioner",
    "inductor_compile": "Inductor",
    "GraphLowering.run": "lowering",
    GENERATING: "generating code",
    "Scheduler.__init__": "scheduling",
    "compile_file": "the C++ compiler",
    "async_compile.wait": "waiting for compile workers",
    "gc": "garbage that the compiler collects",
    GARBAGE: "Python's garbage collection",
    COMPILE_LOCK: "waiting for the lock under which Dynamo compiles",
    FILE_LOCK: "waiting for a file's lock in a cache on disk",
    CODEGEN: "making bytecode",
    SIDE_EFFECTS: "bytecode of side effects",
    EFFECT_MADE: "one of them",
    ASSEMBLE: "putting bytecode together",
    FAKE_TENSORS: "results of nodes, with tensors that have no data",
    "inductor_codecache_torch_key": "torch's key for the cache",
}
"""What torch's names for some of its phases mean."""

_WAITED = {
    COMPILE_LOCK: "Dynamo's lock, while another thread compiled; not in the sum",
    FILE_LOCK: "locks of files in caches on disk",
    WORKERS: "compile workers",
    GARBAGE: "Python's garbage collector",
}
_LEAST_WAIT = 1_000_000
"""Nanoseconds."""

NOT_RECORDED = (
    "not recorded: the recording is older than times are; record the program again to have them"
)


def slow_lines(
    recording: Recording,
    function: str = "",
    *,
    every: bool = False,
    after: int = 0,
    trying: Callable[[CompileTimes], Iterator[Line]] | None = None,
) -> Iterator[Line]:
    """The whole answer: the sum in a sentence, then by function, attempt, line and phase.

    Args:
        recording: what is asked.
        function: only of functions with this in their name; empty: all.
        every: all rows, not only the longest.
        after: only what began after this walk.
        trying: tries what can be done about it; None: nothing is tried.
    """
    yield from inlined_lines(recording, function)
    times = CompileTimes(recording, function, after=after)
    if not times.recorded:
        yield Line(NOT_RECORDED)
        return
    if not times.roots:
        where = f" with {function!r} in its name" if function else ""
        what = "phases that the compiler times" if times.translations else "compilation"
        yield Line(f"no {what}{where} {'are' if times.translations else 'is'} recorded")
    else:
        yield Line(_sentence(times), role="title")
    if cut := unfinished(times.translations.values()):
        names = ", ".join(compiled_name(recording, each) for each in cut)
        yield Line(f"how long {names} took is not known: the recording ends before", role="dim")
    yield from _by_function(times, every)
    yield from _thrown_away(recording, times, every)
    yield from _by_line(recording, times, every)
    if not function and not after:
        yield from _by_call(recording, times, every)
    yield from _by_opname(times, every)
    yield from _by_guard(recording, times, every)
    yield from _by_side_effect(recording, times, every)
    yield from _by_phase(times, every)
    yield from _waited(times)
    yield from cache_lines(times)
    if not after:
        yield from cost_lines(recording, function, every=every)
    if trying is not None:
        yield from trying(times)


def phase_text(name: str) -> str:
    """`async_compile.wait (waiting for compile workers)`."""
    if name.startswith(GUARD_MADE):
        return f"{name} (making guards)"
    return f"{name} ({_WORDS[name]})" if name in _WORDS else name


def _sentence(times: CompileTimes) -> str:
    total = times.total
    backend, tracing = times.spent(_IN_BACKEND), times.spent({TRACING})
    guards, compiler = times.spent({GUARDS}), times.spent(COMPILERS, without=WAITS)
    files = times.spent({FILE_LOCK})
    code = times.spent({GENERATING}, without={*COMPILERS, *WAITS})
    kernels = f" for {plural(times.kernels, 'kernel')}" * bool(times.kernels)
    bytecode = times.spent(BYTECODE)
    thrown = times.traced_in_vain()
    most, own = times.largest(_IN_BACKEND, without={GENERATING, *COMPILERS, *WAITS})
    in_backend = [
        f"{time_words(code)} generating code{kernels}" if code else "",
        f"{time_words(compiler)} in compilers of C++ or Triton" if compiler else "",
        f"{time_words(files)} waiting for locks of files in caches"
        if files > _LEAST * total
        else "",
        f"{time_words(own)} in {phase_text(most)}" if own > _MUCH * total else "",
    ]
    of_backend = f", of which {', '.join(filter(None, in_backend))}" * any(in_backend)
    in_tracing = [
        f"of which {time_words(thrown)} by attempts thrown away" if thrown else "",
        _at(times, tracing) if tracing > _MUCH * total else "",
    ]
    of_tracing = "".join(f", {each}" for each in filter(None, in_tracing))
    parts = [
        f"{time_words(backend)} in the backend{of_backend}" if backend else "",
        f"{time_words(tracing)} tracing{of_tracing}" if tracing else "",
        f"{time_words(guards)} building guards" if guards else "",
        f"{time_words(bytecode)} making bytecode" if bytecode else "",
        f"{time_words(max(0, total - backend - tracing - guards - bytecode))} else",
    ]
    groups = times.by_function()
    later = sum(root.total for pairs in groups for root in _forwards(pairs)[1:])
    again = f" ({time_words(later)} after the first time)" * (later > 0)
    return f"{time_words(total)} compiling {plural(len(groups), 'function')}{again}: " + "; ".join(
        filter(None, parts)
    )


def _at(times: CompileTimes, tracing: int) -> str:
    """The innermost of the program's lines that has most of tracing; empty: none has, or it is a
    library that was traced."""
    found = [
        line
        for line in times.lines
        if line.total > _MOST_OF * tracing and not is_installed(line.place.filename)
    ]
    if not found:
        return ""
    line = found[-1]
    cwd = times.recording.facts.cwd
    return f"most of it at {place_text(line.place, cwd)} ({time_words(line.total)})"


def _forwards(pairs: list[tuple[Translation, Timed]]) -> list[Timed]:
    return [root for _, root in pairs if root.name not in BACKEND_PHASES]


def _by_function(times: CompileTimes, every: bool) -> Iterator[Line]:
    groups = times.by_function()
    if not groups:
        return
    yield Line("")
    yield Line("by function", role="title")
    for pairs in _cut(groups, every):
        first = pairs[0][0]
        total = sum(root.total for _, root in pairs)
        again = ""
        forwards = _forwards(pairs)
        if len(forwards) > 1:
            later = sum(root.total for root in forwards[1:])
            again = f"  compiled {len(forwards)} times, after the first {time_words(later)}"
        name = common_name(times.recording, (item for item, _ in pairs))
        text = f"  {_row(total, times.total)}  {name}{again}"
        yield Line(text, first.first_moment)
        for item, root in _cut(pairs, every):
            yield Line(f"             {_compilation(item, root)}", item.first_moment, "dim")
            for text, count in Counter(_from_caches(root)).items():
                graphs = f", {count:,} graphs" if count > 1 else ""
                yield Line(f"               {text}{graphs}", item.first_moment, "dim")
    yield from _left(groups, every, "function")


def _compilation(item: Translation, root: Timed) -> str:
    if root.name in BACKEND_PHASES:
        return f"{walk_name(item)}  {time_words(root.total)}  {_WORDS[root.name]}"

    def spent(names: frozenset[str]) -> int:
        return sum(each.total for each in root.outermost(names))

    parts = [
        f"tracing {time_words(spent(frozenset({TRACING})))}",
        f"{plural(item.instructions, 'instruction')}",
        f"backend {time_words(spent(_IN_BACKEND))}",
        f"guards {time_words(spent(frozenset({GUARDS})))}",
    ]
    return f"{walk_name(item)}  {time_words(root.total)}  {', '.join(parts)}"


def _from_caches(root: Timed) -> Iterator[str]:
    """Which caches had what was compiled, and from where."""
    for each in root.walk():
        answer = each.timing.cache
        if answer is not None and answer.state == "hit":
            loaded = f", which load_cache_artifacts had loaded {answer.loaded}" * bool(
                answer.loaded
            )
            yield f"what the backend made was in {answer.cache}{loaded}"


def _thrown_away(recording: Recording, times: CompileTimes, every: bool) -> Iterator[Line]:
    found = times.thrown_away()
    if not found:
        return
    yield Line("")
    yield Line("attempts thrown away", role="title")
    for timed, attempt in _cut(found, every):
        yield Line(f"  {_row(timed.total, times.total)}  {_restart(attempt)}", attempt.last_moment)
        line = program_line(recording, attempt.last_moment) if attempt.last_moment else None
        if line is not None:
            yield Line(f"             {line_text(line, recording.facts.cwd)}", role="dim")
    yield from _left(found, every, "attempt")


def _restart(attempt: Attempt) -> str:
    return f"attempt {attempt.number}: {one_line(headline(attempt.restart_reason))}"


def _by_line(recording: Recording, times: CompileTimes, every: bool) -> Iterator[Line]:
    lines = times.lines
    if not lines:
        return
    yield Line("")
    yield Line("lines of the program while tracing, with what was inlined from there", role="title")
    tracing = times.spent({TRACING})
    for line in _cut(lines, every):
        own = "" if line.own == line.total else f"  own {time_words(line.own)}"
        text = _line_text(recording, line)
        yield Line(f"  {_row(line.total, tracing or None)}  {text}{own}", line.moment)
    yield from _left(lines, every, "line")
    if (rest := tracing - times.of_lines) > _LEAST * tracing:
        yield Line(f"  {_row(rest, tracing)}  before the first instruction of an attempt")


def _by_call(recording: Recording, times: CompileTimes, every: bool) -> Iterator[Line]:
    tracing = times.spent({TRACING})
    rows = list(calls(times, 0 if every else _LEAST_CALL * tracing))
    if not any(row.depth for row in rows):
        return
    yield Line("")
    yield Line("calls while tracing", role="title")
    for row in rows if every else rows[:_MOST_CALLS]:
        where = (
            f"{short_path(row.file, recording.facts.cwd)}:{row.line} in {function_name(row.name)}"
        )
        through = f"  through {plural(row.through, 'other line')}" if row.through else ""
        own = f"  own {time_words(row.own)}" if row.own != row.total else ""
        text = f"  {_row(row.total, tracing)}  {'  ' * row.depth}{where}{through}{own}"
        yield Line(text, row.moment)
    if not every and len(rows) > _MOST_CALLS:
        yield Line(f"  … {plural(len(rows) - _MOST_CALLS, 'more line')} (--all)", role="dim")


def _by_opname(times: CompileTimes, every: bool) -> Iterator[Line]:
    if not times.opnames:
        return
    yield Line("")
    yield Line("instructions while tracing, by kind", role="title")
    tracing = times.spent({TRACING})
    for name, nanoseconds in _cut(times.opnames, every):
        yield Line(f"  {_row(nanoseconds, tracing or None)}  {name}")
    yield from _left(times.opnames, every, "kind")


def _by_guard(recording: Recording, times: CompileTimes, every: bool) -> Iterator[Line]:
    """The guards that took longest to be made, each once for all compilations that made it."""
    made = times.guards_made
    if not made:
        return
    whole = sum(each.total for each in made)
    known = {
        guard.id: guard
        for attempt in _attempts_of(made, times)
        for guard in recording.guards_installed(attempt.id)
    }
    alike = _Alike()
    for each in made:
        guard = known.get(each.timing.guard or 0)
        if guard is not None:
            text = f"{guard.kind} {short_name(guard.source)}".rstrip()
            line = guard.user_line
            cause = "" if line is None else f"  from {place_text(line, recording.facts.cwd)}"
            alike.add(f"{text}{cause}", each.total, guard.moment)
    title = f"guards, made in {time_words(whole)} of {time_words(times.spent({GUARDS}))}"
    yield from alike.lines(f"{title} for building them", "guard", whole, every)


def _by_side_effect(recording: Recording, times: CompileTimes, every: bool) -> Iterator[Line]:
    """The side effects whose bytecode took longest to be made, each once likewise."""
    made = times.effects_made
    if not made:
        return
    whole = sum(each.total for each in made)
    known = {
        effect.id: effect
        for attempt in _attempts_of(made, times)
        for effect in recording.side_effects(None, attempt=attempt.id)
    }
    alike = _Alike()
    for each in made:
        effect = known.get(each.timing.side_effect or 0)
        if effect is not None:
            line = program_line(recording, effect.moment)
            cause = "" if line is None else f"  from {line_text(line, recording.facts.cwd)}"
            alike.add(f"{one_line(effect.text)}{cause}", each.total, effect.moment)
    title = f"side effects, made in {time_words(whole)} of {time_words(times.spent(BYTECODE))}"
    yield from alike.lines(f"{title} for making bytecode", "side effect", whole, every)


def _attempts_of(made: list[Timed], times: CompileTimes) -> Iterator[Attempt]:
    for number in {each.timing.translation for each in made} & times.translations.keys():
        yield from times.recording.attempts(number)


class _Alike:
    """What is told in the same words, as one row."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, MomentId]]] = {}

    def add(self, text: str, nanoseconds: int, moment: MomentId) -> None:
        self._found.setdefault(text, []).append((nanoseconds, moment))

    def lines(self, title: str, noun: str, whole: int, every: bool) -> Iterator[Line]:
        """The longest first; a row leads to where the longest of its own was."""
        yield Line("")
        yield Line(title, role="title")
        spent = {text: sum(total for total, _ in each) for text, each in self._found.items()}
        longest = sorted(spent, key=lambda text: -spent[text])
        for text in _cut(longest, every):
            found = self._found[text]
            often = f"  {len(found):,} times" if len(found) > 1 else ""
            yield Line(f"  {_row(spent[text], whole)}  {text}{often}", max(found)[1])
        yield from _left(longest, every, noun)


def _line_text(recording: Recording, line: LineTime) -> str:
    found = recording.moment(line.moment)
    code = recording.code(recording.frame(found.frame).code)
    cwd = recording.facts.cwd
    return line_text(UserLine(line.place, source_line(code, line.place.line)), cwd)


def _by_phase(times: CompileTimes, every: bool) -> Iterator[Line]:
    yield from _phases("by phase, as the compiler times itself", times.by_phase(), times, every)
    title = "in other threads meanwhile, not in the sum"
    yield from _phases(title, list(merged(times.beside)), times, every)


def _waited(times: CompileTimes) -> Iterator[Line]:
    """For what compiling stood still."""
    waited = {key: spent for key, spent in times.waited.items() if spent >= _LEAST_WAIT}
    if not waited:
        return
    yield Line("")
    yield Line("waited for", role="title")
    for (name, thread), spent in waited.items():
        where = f"  thread {one_line(thread)}" * bool(thread)
        yield Line(f"  {time_words(spent):>8}  {_WAITED[name]}{where}")


def _phases(
    title: str, rows: list[tuple[int, str, int, int, int]], times: CompileTimes, every: bool
) -> Iterator[Line]:
    if not rows:
        return
    yield Line("")
    yield Line(title, role="title")
    for depth, name, count, total, own in rows:
        if not every and total < _LEAST * times.total:
            continue
        often = f"  {count} times" if count > 1 else ""
        rest = f"  own {time_words(own)}" if own != total else ""
        yield Line(f"  {_row(total, times.total)}  {'  ' * depth}{phase_text(name)}{often}{rest}")


def _row(nanoseconds: int, whole: int | None) -> str:
    part = f"{nanoseconds / whole:4.0%}" if whole else "    "
    return f"{time_words(nanoseconds):>8} {part}"


def _cut(rows: list[_Row], every: bool) -> list[_Row]:
    return rows if every else rows[:_MOST]


def _left(rows: Sized, every: bool, noun: str) -> Iterator[Line]:
    if not every and len(rows) > _MOST:
        yield Line(f"  … {plural(len(rows) - _MOST, f'more {noun}')} (--all)", role="dim")
