"""The report as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from stepper.client.text import plural
from stepper.report.contents import Answer, Moment, Report, Walk
from stepper.report.drawn_timeline import drawn_timeline, mood
from stepper.report.linking import (
    Links,
    code,
    command_of,
    details,
    listed,
    place,
    section,
    sentence,
    table,
    walk_name,
)
from stepper.report.markup import Html, element, joined
from stepper.report.page_entries import code_section, graphs_section, guards_section
from stepper.report.page_findings import (
    breaks_section,
    failures_section,
    recompilations_section,
)
from stepper.report.page_sizes import sizes_section
from stepper.report.page_times import times_section

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_SECTIONS = (
    ("overview", "Overview"),
    ("frames", "Frames"),
    ("times", "Compile time"),
    ("failed", "Failures"),
    ("sizes", "Sizes"),
    ("breaks", "Graph breaks"),
    ("recompilations", "Recompilations"),
    ("guards", "Guards"),
    ("graphs", "Graphs"),
    ("code", "Transformed code"),
    ("moments", "Moments"),
)


def page(report: Report) -> str:
    """The whole page: complete in itself, without scripts."""
    links = Links(report)
    title = f"stepper report: {report.about.name}"
    body = (
        element("a", "Skip to the report", href="#report", class_="skip"),
        element("header", element("h1", title), _about(report)),
        element("nav", _navigation(report), aria_label="Sections"),
        element(
            "main",
            _overview(report),
            _frames(report, links),
            times_section(report.times),
            failures_section(report, links),
            sizes_section(report, links),
            breaks_section(report, links),
            recompilations_section(report, links),
            guards_section(report, links),
            graphs_section(report, links),
            code_section(report, links),
            *map(_answer, report.answers),
            _moments(report, links),
            id="report",
            tabindex="-1",
        ),
    )
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Html(style)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, element('body', *body), lang='en')}\n"


def _navigation(report: Report) -> Html:
    *sections, last = _SECTIONS
    answers = [(each.question, each.title) for each in report.answers]
    every = (*sections, *answers, last)
    return listed(element("a", title, href=f"#{id}") for id, title in every)


def _answer(answer: Answer) -> Html:
    return section(answer.question, answer.title, element("pre", "\n".join(answer.lines)))


def _about(report: Report) -> Html:
    about = report.about
    rank = "" if about.rank is None else f"rank {about.rank}"
    facts = (
        ("recording", code(about.recording)),
        ("program", code(about.program)),
        ("directory", code(about.directory)),
        ("started", about.started),
        ("ended", about.unseen or about.ended),
        ("with", ", ".join(filter(None, (
            f"torch {about.torch}", f"python {about.python}", f"engine {about.engine}",
            f"stepper {about.stepper}", rank,
        )))),
        ("redacted", "no text of the program" if about.redacted else ""),
    )  # fmt: skip
    rows = (element("dt", name) + element("dd", text) for name, text in facts if text)
    return element("dl", *map(Html, rows), class_="about")


def _overview(report: Report) -> Html:
    totals = report.totals
    facts = (
        ("frames", f"{totals.frames:,}"),
        ("compiled", f"{totals.compiled:,}"),
        ("skipped", f"{totals.skipped:,}" if totals.skipped else ""),
        ("failed", f"{totals.failed:,}" if totals.failed else ""),
        ("graphs", f"{totals.graphs:,}"),
        ("graph breaks", f"{totals.graph_breaks:,}"),
        ("recompilations", f"{totals.recompilations:,}"),
        ("refused at a limit", f"{totals.refused:,}" if totals.refused else ""),
        ("instructions", f"{totals.instructions:,}"),
        ("guards", f"{totals.guards:,}"),
        ("nodes", f"{totals.nodes:,}"),
        ("compiling", f"{totals.seconds:.2f} s"),
        ("lookups", f"{totals.lookups:,}" if totals.lookups else ""),
        ("executions", f"{totals.executions:,}" if totals.executions else ""),
    )
    boxes = (
        element("div", element("dt", name), element("dd", text)) for name, text in facts if text
    )
    return section(
        "overview",
        "Overview",
        element("dl", *boxes, class_="facts"),
        _worst(report),
        _left_out(report),
    )


def _left_out(report: Report) -> Html:
    if not report.left_out:
        return Html("")
    parts = ", ".join(
        f"{count:,} of {part.replace('_', ' ')}" for part, count in report.left_out.items()
    )
    return element(
        "p",
        f"Left out, since the report would be too long: {parts}. All of it is in the recording: ",
        code(command_of(report.about.recording)),
        class_="dim",
    )


def _worst(report: Report) -> Html:
    """What somebody should look at first."""
    first: list[Html] = []
    if report.failed:
        link = element("a", plural(len(report.failed), "compilation"), href="#failed-1")
        first.append(sentence(link, "failed."))
    if report.causes:
        worst = report.causes[0]
        link = element("a", worst.kind, href="#cause-1")
        first.append(sentence("The most expensive graph break:", link, place(worst.where)))
    for at, each in enumerate(report.recompiled[:1], 1):
        link = element("a", each.name, href=f"#recompiled-{at}")
        why = "; ".join(each.series[:2])
        first.append(sentence("Compiled again most:", link, why))
    if not first:
        first.append(sentence("No graph break, no recompilation and no failure is recorded."))
    return listed(first)


def _frames(report: Report, links: Links) -> Html:
    outcomes = {walk.id: str(walk.outcome) for walk in report.walks}
    frames = [walk for walk in report.walks if walk.phase == "translate"]
    others = [walk for walk in report.walks if walk.phase != "translate"]
    left_out = report.totals.lookups + report.totals.executions - len(others)
    parts = [
        drawn_timeline(report.timeline, outcomes, links.walks) if report.about.newest else Html(""),
        _legend(report),
        _walks(frames, links) if frames else element("p", "No frame was compiled."),
    ]
    if others:
        note = element("p", f"{left_out:,} more are not told of.", class_="dim")
        parts.append(
            details(
                f"Lookups and executions: {len(others):,}",
                _walks(others, links),
                note if left_out else "",
            )
        )
    return section("frames", "Frames", *parts)


def _legend(report: Report) -> Html:
    """What the colours mean, each once."""
    of_color: dict[str, list[str]] = {}
    ends = sorted({str(walk.outcome) for walk in report.walks})
    for kind in dict.fromkeys((*(str(each.kind) for each in report.timeline.marks), *ends)):
        of_color.setdefault(mood(kind), []).append(kind)
    note = element("li", "Left to right: the moments, in the order in which they happened.")
    items = [
        element("li", _swatch(color), " ", ", ".join(kinds)) for color, kinds in of_color.items()
    ]
    return element("ul", note, *items, class_="legend dim") if report.about.newest else Html("")


def _swatch(color: str) -> Html:
    square = element("rect", width=10, height=10, class_=f"told {color}")
    return element(
        "svg", square, width=10, height=10, class_="timeline-swatch timeline", aria_hidden="true",
        style="display:inline-block;width:10px;margin:0",
    )  # fmt: skip


def _walks(walks: Iterable[Walk], links: Links) -> Html:
    columns = (
        "frame", "outcome", "attempts", "instructions", "guards", "nodes", "breaks", "seconds",
        "why", "moment",
    )  # fmt: skip
    return table(
        columns,
        (
            (
                f"w{walk.id}",
                (
                    sentence(code(walk_name(walk)), _callers(walk)),
                    element("span", walk.outcome, class_=mood(walk.outcome)),
                    str(walk.attempts),
                    f"{walk.instructions:,}",
                    f"{walk.guards:,}",
                    f"{walk.nodes:,}",
                    str(walk.graph_breaks or ""),
                    "" if walk.seconds is None else f"{walk.seconds:.2f}",
                    _why(walk),
                    links.moment(walk.first_moment),
                ),
            )
            for walk in walks
        ),
        numbers=frozenset(columns[2:8]),
    )


def _why(walk: Walk) -> Html:
    resumed = f"goes on after a break in {walk.resume_of}" if walk.resume_of else ""
    return joined(filter(None, (walk.reason, walk.recompile_reason, resumed)), "; ")


def _callers(walk: Walk) -> Html:
    if not walk.called_by:
        return element("div", place(walk.where))
    return details(str(walk.where), "called by", listed(map(place, walk.called_by)))


def _moments(report: Report, links: Links) -> Html:
    by_walk: dict[int, list[Moment]] = {}
    for each in report.moments:
        by_walk.setdefault(each.walk, []).append(each)
    command = code(command_of(report.about.recording, "N"))
    intro = element(
        "p",
        "A moment is the instant before one instruction. Beside each stands the command that shows "
        "it; all are ",
        command,
        ", or ",
        code("goto N"),
        " in the console.",
    )
    groups = (
        details(
            joined((links.walk(walk) or f"walk {walk}", f": {plural(len(found), 'moment')}")),
            element("ol", *(_moment(each, links) for each in found), class_="moments"),
        )
        for walk, found in by_walk.items()
    )
    return section("moments", "Moments", intro, *groups)


def _moment(each: Moment, links: Links) -> Html:
    return element(
        "li",
        sentence(code(each.instruction), place(each.where, each.source)),
        element("br"),
        code(links.command(each.moment)),
        id=f"m{each.moment}",
        value=each.moment,
    )
