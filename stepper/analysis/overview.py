"""What a whole run is about, at a glance: what failed, what broke graphs, what was compiled again,
which sizes were fixed, what took most time. What cost most comes first; each row leads to a moment.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.break_lines import cost_text
from stepper.analysis.breaks import causes
from stepper.analysis.failed_lines import failed_headline
from stepper.analysis.failures import Failed, failures
from stepper.analysis.handed_on import spelled_inside
from stepper.analysis.line import Line
from stepper.analysis.recompile_lines import differing_text, spelling_of
from stepper.analysis.recompile_series import histories
from stepper.analysis.recompiles import recompilations
from stepper.analysis.shapes import cause_of, sizes
from stepper.analysis.unseen import so_far
from stepper.analysis.walks import compilations, interventions
from stepper.client.frame_names import brief_compiled_name, common_name, compiled_title
from stepper.client.names import brief_function
from stepper.client.text import clip, one_line, plural, short_path, translation_summary
from stepper.model.program import PythonFrame
from stepper.model.trace import MomentId, Translation
from stepper.recording.reader import Recording

MOST = 8
"""Rows of a kind."""
_NOTHING = "No failure, no graph break, no recompilation and no fixed size is recorded{}."


def overview_lines(recording: Recording) -> Iterator[Line]:
    """The whole answer."""
    failed = failures(recording)
    compiling = [each for each in failed if each.compiling]
    ended = [each for each in failed if not each.compiling]
    found = [
        *_section("failed to compile", list(_failed(recording, compiling)), "why-failed"),
        *_section("the program ended with", list(_failed(recording, ended)), "why-failed"),
        *_section("causes of graph breaks", list(_broken(recording)), "why-break"),
        *_section("functions compiled again", list(_recompiled(recording)), "why-recompile"),
        *_section("fixed sizes", list(_fixed(recording)), "why-shape"),
    ]
    changed = [Line(f"  {each.text}", each.moment) for each in interventions(recording)]
    yield from _section("changed by the user, at stops", changed, "")
    yield from found or [Line(_NOTHING.format(so_far(recording))), Line("")]
    items = sorted(compilations(recording), key=lambda item: -(item.seconds or 0.0))
    frames = [_frame(recording, item) for item in items if item.attempts or item.instructions]
    yield from _section("frames, the slowest first", frames, "")


def _section(title: str, rows: list[Line], ask: str) -> Iterator[Line]:
    if not rows:
        return
    yield Line(f"{title}  {len(rows):,}", role="title")
    yield from rows[:MOST]
    if len(rows) > MOST:
        told = f": stepper {ask} tells all" if ask else ""
        yield Line(f"  … {len(rows) - MOST:,} more{told}", role="dim")
    yield Line("")


def _where(recording: Recording, place: PythonFrame | None) -> str:
    if place is None:
        return ""
    return f"{short_path(place.filename, recording.facts.cwd)}:{place.line}"


def _row(what: str, where: str, more: str, moment: MomentId | None) -> Line:
    return Line("  " + "  ".join(filter(None, (what, where, more))), moment)


def _failed(recording: Recording, found: list[Failed]) -> Iterator[Line]:
    for each in found:
        text = one_line(failed_headline(each))
        yield _row(text, _where(recording, each.place), "", each.failure.moment or None)


def _broken(recording: Recording) -> Iterator[Line]:
    for cause in causes(recording):
        times = f"{len(cause.occurrences)}× " if len(cause.occurrences) > 1 else ""
        where = f"{_where(recording, cause.place)}  {cause.source.strip()}"
        yield _row(f"{times}{cause.kind}", where, cost_text(cause), cause.moment)


def _recompiled(recording: Recording) -> Iterator[Line]:
    for history in histories(recording, recompilations(recording)):
        first = history.recompilations[0]
        place = PythonFrame(history.filename, history.line, history.name)
        times = plural(len(history.recompilations), "time")
        limit = ", then given up" if history.limit is not None else ""
        nearest = first.nearest
        why = ""
        if nearest is not None:
            spell = spelling_of(recording, nearest)
            why = f"first: {differing_text(nearest.failures[0], spell)}"
        what = (
            f"{brief_function(common_name(recording, history.walks))} {times}{limit}, "
            f"{history.seconds:.2f} s"
        )
        # The moment that the recompilation has the number of: the one before its first.
        moment = max(first.translation.first_moment - 1, recording.oldest)
        yield _row(what, why, _where(recording, place), moment)


def _fixed(recording: Recording) -> Iterator[Line]:
    for item in compilations(recording):
        for size in sizes(recording, item):
            if not size.value or size.static:  # what was asked for costs nothing
                continue
            cause = cause_of(size) or size.number or (size.fixed_by[0] if size.fixed_by else None)
            moment = None if cause is None else cause.moment
            stack = () if cause is None else cause.program_stack
            name = spelled_inside(recording, item, size.source)
            what = f"{name} is {size.value} in {compiled_title(recording, item)}"
            yield _row(what, _where(recording, stack[-1] if stack else None), "", moment)


def _frame(recording: Recording, item: Translation) -> Line:
    where = _where(recording, PythonFrame(item.filename, item.line, item.name))
    name = f"{item.compile_id or '-'} {brief_compiled_name(recording, item)}"
    return _row(clip(name, 48), where, translation_summary(item), item.first_moment)
