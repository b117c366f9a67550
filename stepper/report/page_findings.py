"""Graph breaks and recompilations on the page."""

from __future__ import annotations

from collections.abc import Iterator

from stepper.client.text import plural
from stepper.report.contents import (
    Cause,
    Failed,
    Failure,
    Occurrence,
    Recompiled,
    Report,
    Skipped,
    Tried,
)
from stepper.report.linking import Links, code, details, listed, place, section, sentence, table
from stepper.report.markup import Html, element, joined


def failures_section(report: Report, links: Links) -> Html:
    """Every compilation that failed, with Dynamo's whole message."""
    parts = [_failed(at, each, links) for at, each in enumerate(report.failed, 1)]
    return section("failed", "Failures", *(parts or [element("p", "No compilation failed.")]))


def _failed(number: int, each: Failed, links: Links) -> Html:
    name = " ".join(filter(None, (each.compile_id, each.name)))
    stack = element("ol", *(element("li", code(value)) for value in each.stack))
    way = [*map(place, each.called_from), *map(place, each.called_by)]
    facts = [
        sentence(place(each.where, each.source), links.moment(each.moment)),
        sentence("Instruction:", code(each.instruction)) if each.instruction else Html(""),
        sentence(each.note),
    ]
    return element(
        "article",
        element("h3", " ".join(filter(None, (f"{number}. {name}:", each.exception, each.stage)))),
        *(element("p", fact) for fact in facts if fact),
        element("pre", "\n".join(each.message)) if each.message else "",
        details("What the instruction took, the top first", stack, open=True) if each.stack else "",
        details("Called by", listed(way)) if way else "",
        details("Raised in", listed(map(place, each.raised))) if each.raised else "",
        id=f"failed-{number}",
    )


def breaks_section(report: Report, links: Links) -> Html:
    """Every cause of graph breaks, then the frames that were skipped without one."""
    parts = [_cause(at, each, links) for at, each in enumerate(report.causes, 1)]
    if not parts:
        parts.append(element("p", "No graph broke."))
    if report.skipped:
        parts += [element("h3", "Skipped without a graph break"), _skipped(report.skipped, links)]
    return section("breaks", "Graph breaks", *parts)


def _cause(number: int, cause: Cause, links: Links) -> Html:
    times = f"{cause.times}× " if cause.times > 1 else ""
    then = f", then {cause.then}" if cause.then else ""
    stack = element("ol", *(element("li", code(each)) for each in cause.stack))
    facts = [
        sentence(place(cause.where, cause.source), links.moment(cause.moment)),
        sentence("Cost:", cause.cost) if cause.cost else Html(""),
        sentence("Change:", cause.change) if cause.change else Html(""),
        sentence(cause.explanation),
        sentence("Context:", code(cause.context)) if cause.context else Html(""),
        *(sentence("Hint:", hint) for hint in cause.hints),
        sentence("See", element("a", cause.page, href=cause.page, rel="noreferrer"))
        if cause.page
        else Html(""),
        sentence("Instruction:", code(cause.instruction)) if cause.instruction else Html(""),
    ]
    return element(
        "article",
        element("h3", f"{number}. {times}{cause.kind}{then}"),
        *(element("p", each) for each in facts if each),
        details("Symbolic stack, the top first", stack) if cause.stack else "",
        details(
            plural(cause.times, "time") + " this happened",
            listed(_occurrence(each, links) for each in cause.occurrences),
            open=len(cause.occurrences) < 4,
        ),
        id=f"cause-{number}",
    )


def _occurrence(each: Occurrence, links: Links) -> Html:
    resumed = joined((links.walk(walk) for walk in each.resumed), ", ")
    frames = "; ".join(map(str, reversed(each.user_stack)))
    return sentence(
        "splits" if each.resumes else "gives up",
        links.walk(each.walk),
        links.moment(each.moment),
        code(frames),
        sentence("and goes on in", resumed) if resumed else "",
    )


def _skipped(skipped: tuple[Skipped, ...], links: Links) -> Html:
    return table(
        ("frame", "where", "times", "wasted", "reason", "moment"),
        (
            (
                None,
                (
                    code(each.name),
                    place(each.where),
                    str(each.times),
                    f"{each.wasted:,}" if each.wasted else "",
                    each.reason,
                    links.moment(each.moment),
                ),
            )
            for each in skipped
        ),
        numbers=frozenset({"times", "wasted"}),
    )


def recompilations_section(report: Report, links: Links) -> Html:
    """Every function that was compiled again, what changed, and what could be done about it."""
    parts = [_recompiled(at, each, links) for at, each in enumerate(report.recompiled, 1)]
    if not parts:
        parts.append(element("p", "No function was compiled again."))
    return section("recompilations", "Recompilations", *parts)


def _recompiled(number: int, function: Recompiled, links: Links) -> Html:
    count = plural(function.times, "recompilation")
    calls = [
        joined(
            (
                sentence(
                    links.walk(each.walk),
                    each.result,
                    links.moment(each.moment),
                ),
                listed(row for tried in each.tried for row in _tried(tried, links)),
            )
        )
        for each in function.recompilations
    ]
    return element(
        "article",
        element("h3", f"{function.name}: {count}, {function.seconds:.2f} s"),
        element("p", place(function.where)),
        listed(function.series),
        element("p", function.limit, class_="bad") if function.limit else "",
        *(
            element("p", sentence("Advice:", each.text, _evidence(each.evidence)))
            for each in function.advice
        ),
        details("Each call, and the guards that failed", listed(calls), open=len(calls) < 9),
        id=f"recompiled-{number}",
    )


def _evidence(text: str) -> Html:
    since = f"since {text}; " if text else ""
    return element("span", f"({since}nobody has tried it)", class_="dim")


def _tried(tried: Tried, links: Links) -> Iterator[Html]:
    entry = element("b", tried.entry)
    if not tried.failures:
        yield sentence(entry, "it is not recorded why")
    for failure in tried.failures:
        yield sentence(entry, _failure(failure, links))


def _failure(failure: Failure, links: Links) -> Html:
    known = {"behind": "(would fail too)", "unguarded": "(no guard is on it)"}.get(
        failure.known, ""
    )
    because = place(failure.because_of, failure.because_text)
    return sentence(
        failure.text,
        element("span", known, class_="dim") if known else "",
        links.moment(failure.moment),
        sentence("because of", because) if because else "",
        sentence("guard installed", links.moment(failure.installed)) if failure.installed else "",
    )
