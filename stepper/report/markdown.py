"""The report as Markdown, short enough to be pasted into an issue.

Everything that comes from the recording stands in code spans and blocks of code, between more
backticks than there are in them: so it is shown as it is, mentions nobody, and is no HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from stepper.client.text import clip, plural
from stepper.report.contents import Cause, Entry, Guard, Recompiled, Report, Where
from stepper.report.linking import command_of, walk_name

LONGEST = 60_000
"""Characters; an issue on GitHub takes 65,536."""
_MOST = 40
_MOST_GUARDS = 15
_MOST_LAYERS = 8
_WIDEST = 160
_TICKS = re.compile(r"`+")


def markdown(report: Report) -> str:
    """The whole report; what is too long is cut at the end of a line, and says so."""
    text = "\n".join(_lines(report)) + "\n"
    if len(text) <= LONGEST:
        return text
    kept = text[:LONGEST].rpartition("\n\n")[0]
    return f"{kept}\n\n… cut here: the rest is in `stepper report` as HTML or JSON.\n"


def _lines(report: Report) -> Iterator[str]:
    about, totals = report.about, report.totals
    yield f"# stepper report: {span(about.name)}"
    yield ""
    with_ = f"torch {span(about.torch)}, python {span(about.python)}, engine {span(about.engine)}"
    yield f"{with_}, stepper {span(about.stepper)}"
    yield ""
    yield ", ".join(
        (
            plural(totals.frames, "frame"),
            plural(totals.graphs, "graph"),
            plural(totals.graph_breaks, "graph break"),
            plural(totals.recompilations, "recompilation"),
            *([f"{totals.refused:,} refused at a limit"] if totals.refused else []),
            *([f"{len(report.failed):,} failed"] if report.failed else []),
            plural(totals.instructions, "instruction"),
            plural(totals.guards, "guard"),
            plural(totals.nodes, "node"),
            f"{totals.seconds:.2f} s compiling",
        )
    )
    yield ""
    if about.unseen:
        yield from (f"The recording {span(about.unseen)}.", "")
    yield f"`@N` is a moment: {span(command_of(about.recording, 'N'))} shows it."
    yield from _frames(report)
    yield from _failures(report)
    yield from _sizes(report)
    yield from _breaks(report)
    yield from _recompilations(report)
    yield from _guards(report)
    for answer in report.answers:
        yield from ("", f"## {answer.title}", "")
        yield from _block(answer.lines)
    if report.left_out:
        yield from ("", f"All of it is in the recording: {span(command_of(about.recording))}.")


def _frames(report: Report) -> Iterator[str]:
    frames = [walk for walk in report.walks if walk.phase == "translate"]
    yield from ("", "## Frames", "")
    rows = (
        (
            span(walk_name(walk)),
            _where(walk.where),
            walk.outcome,
            f"{walk.instructions:,}",
            f"{walk.guards:,}",
            f"{walk.nodes:,}",
            str(walk.graph_breaks),
            "" if walk.seconds is None else f"{walk.seconds:.2f}",
            _at(walk.first_moment),
        )
        for walk in frames[:_MOST]
    )
    columns = (
        "frame", "where", "outcome", "instructions", "guards", "nodes", "breaks", "seconds", "",
    )  # fmt: skip
    yield from _table(columns, rows)
    yield from _more(len(frames), _MOST, "frame")


def _failures(report: Report) -> Iterator[str]:
    if not report.failed:
        return
    yield from ("", "## Failures")
    for number, each in enumerate(report.failed[:_MOST], 1):
        name = span(" ".join(filter(None, (each.compile_id, each.name))))
        said = f"{span(each.exception)} {each.stage}".strip()
        yield from ("", f"{number}. {name} {said} {_where(each.where)} {_at(each.moment)}")
        yield from _block(each.message)
        facts = (
            span(each.source),
            f"instruction: {span(each.instruction)}" if each.instruction else "",
            *(f"took {span(value)}" for value in each.stack),
            each.note,
            *(f"called from {_where(place)}" for place in each.called_from),
            *(f"called by {_where(place)}" for place in each.called_by),
            *(f"raised in {_where(place)}" for place in each.raised),
        )
        yield from (f"   - {fact}" for fact in facts if fact)
    yield from _more(len(report.failed), _MOST, "failure")


def _sizes(report: Report) -> Iterator[str]:
    if not report.fixed_sizes:
        return
    yield from ("", "## Sizes that were fixed", "")
    for each in report.fixed_sizes[:_MOST]:
        name = span(" ".join(filter(None, (each.compile_id, each.name))))
        was = f", which was the symbol {span(each.symbol)}" if each.symbol else ""
        why = f" ({each.why})" if each.why else ""
        yield f"- {name} {span(each.size)} is {span(each.value)}{was}{why}"
        for decision in each.decisions:
            place = _where(decision.where) if decision.where is not None else ""
            stage = f"by {decision.stage}" if decision.stage != "tracing" else ""
            facts = (span(decision.text), stage, place, _at(decision.moment))
            yield f"  - {' '.join(filter(None, facts))}"
    yield from _more(len(report.fixed_sizes), _MOST, "size")


def _breaks(report: Report) -> Iterator[str]:
    if not report.causes and not report.skipped:
        return
    yield from ("", "## Graph breaks")
    for number, cause in enumerate(report.causes[:_MOST], 1):
        yield from _cause(number, cause)
    yield from _more(len(report.causes), _MOST, "cause")
    if report.skipped:
        yield from ("", "Skipped without a graph break:", "")
        for each in report.skipped[:_MOST]:
            reason = f": {span(each.reason)}" if each.reason else ""
            yield f"- {each.times}× {span(each.name)} {_where(each.where)}{reason}"
        yield from _more(len(report.skipped), _MOST, "reason")


def _cause(number: int, cause: Cause) -> Iterator[str]:
    times = f"{cause.times}× " if cause.times > 1 else ""
    yield ""
    yield f"{number}. {times}{span(cause.kind)} {_where(cause.where)} {_at(cause.moment)}"
    facts = (
        span(cause.source),
        f"cost: {span(cause.cost)}" if cause.cost else "",
        f"change: {span(cause.change)}" if cause.change else "",
        span(cause.explanation),
        f"context: {span(cause.context)}" if cause.context else "",
        *(f"hint: {span(hint)}" for hint in cause.hints),
        f"instruction: {span(cause.instruction)}" if cause.instruction else "",
        cause.page,
    )
    yield from (f"   - {fact}" for fact in facts if fact)


def _recompilations(report: Report) -> Iterator[str]:
    if not report.recompiled:
        return
    yield from ("", "## Recompilations")
    for each in report.recompiled[:_MOST]:
        yield from _recompiled(each, report)
    yield from _more(len(report.recompiled), _MOST, "function")


def _recompiled(function: Recompiled, report: Report) -> Iterator[str]:
    names = {walk.id: walk_name(walk) for walk in report.walks}
    count = plural(function.times, "recompilation")
    yield ""
    yield f"### {span(function.name)} {_where(function.where)}: {count}, {function.seconds:.2f} s"
    yield ""
    yield from (f"- {span(series)}" for series in function.series)
    if function.limit:
        yield f"- {span(function.limit)}"
    for advice in function.advice:
        since = f" (since {span(advice.evidence)})" if advice.evidence else ""
        yield f"- advice: {span(advice.text)}{since}"
    for each in function.recompilations[:_MOST]:
        yield f"- {span(names.get(each.walk, ''))} {each.result} {_at(each.moment)}"
        for tried in each.tried:
            for failure in tried.failures:
                because = f", because of {_where(failure.because_of)}" if failure.because_of else ""
                yield f"  - {span(tried.entry)} {span(failure.text)}{because}"


def _guards(report: Report) -> Iterator[str]:
    if not report.entries:
        return
    yield from ("", "## Guards")
    for entry in report.entries[:_MOST]:
        yield from _entry(entry)
    yield from _more(len(report.entries), _MOST, "entry")


def _entry(entry: Entry) -> Iterator[str]:
    measured = [guard for guard in entry.guards if guard.nanoseconds is not None]
    measured.sort(key=lambda guard: -(guard.nanoseconds or 0))
    shown = (measured or entry.guards)[:_MOST_GUARDS]
    name = f"{entry.compile_id} {entry.name}"
    which = ", the dearest first" if measured else ""
    yield from ("", f"{span(name)}: {plural(entry.guard_count, 'guard')}{which}", "")
    if len(entry.layers) > 1:
        largest = sorted(entry.layers, key=lambda layer: -layer.guards)[:_MOST_LAYERS]
        told = (f"{span(layer.path or 'of no module')} {layer.guards:,}" for layer in largest)
        rest = len(entry.layers) - len(largest)
        yield from (f"By module: {', '.join(told)}{f', {rest} more' if rest else ''}", "")
    if shown:
        yield from _table(("guard", "on", "checks", "µs", "share", ""), map(_guard, shown))


def _guard(guard: Guard) -> Sequence[str]:
    return (
        span(guard.kind),
        span(guard.source),
        span("; ".join(guard.checks)),
        "" if guard.nanoseconds is None else f"{guard.nanoseconds / 1000:.2f}",
        "" if guard.share is None else f"{100 * guard.share:.0f} %",
        _at(guard.moment),
    )


def _more(count: int, most: int, noun: str) -> Iterator[str]:
    if count > most:
        yield from ("", f"… {plural(count - most, f'more {noun}')}")


def _where(where: Where | None) -> str:
    return span(str(where)) if where is not None else ""


def _at(moment: int) -> str:
    return f"`@{moment}`"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in islice(rows, _MOST):
        # Within a table a bar ends the cell, in code too, unless a backslash stands before it.
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _block(lines: Sequence[str]) -> Iterator[str]:
    """Code within an item of a list, without an empty line: the report may be cut at one."""
    if lines:
        fence = "`" * max(3, 1 + max(map(_longest_ticks, lines)))
        yield from (f"   {line}" for line in (fence, *lines, fence))


def _longest_ticks(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def span(text: str) -> str:
    """A text as code; empty when it is empty."""
    text = clip(text, _WIDEST)
    if not text:
        return ""
    fence = "`" * (_longest_ticks(text) + 1)
    around = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{around}{text}{around}{fence}"
