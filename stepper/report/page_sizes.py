"""Sizes that were fixed, on the page."""

from __future__ import annotations

from collections.abc import Iterator

from stepper.client.text import plural
from stepper.report.contents import Decision, FixedSize, Report
from stepper.report.linking import Links, code, listed, place, section, sentence
from stepper.report.markup import Html, element


def sizes_section(report: Report, links: Links) -> Html:
    """Every size that was to be a symbol and is a number, with what made it one."""
    parts = [_fixed(each, links) for each in report.fixed_sizes]
    free = f"{plural(report.free_sizes, 'size')} stayed free." if report.free_sizes else ""
    if not parts and not free:
        free = "No size was a symbol."
    return section("sizes", "Sizes", *([element("p", free)] if free else []), *parts)


def _fixed(each: FixedSize, links: Links) -> Html:
    name = " ".join(filter(None, (each.compile_id, each.name)))
    was = f"It was the symbol {each.symbol}" if each.symbol else "It never was a symbol"
    why = f": {each.why}." if each.why else "."
    return element(
        "article",
        element("h3", f"{name}: ", code(each.size), " is ", code(each.value)),
        element("p", f"{was}{why}"),
        listed(list(_told(each.decisions, links))),
    )


def _told(decisions: tuple[Decision, ...], links: Links) -> Iterator[Html]:
    for each in decisions:
        stage = f"by {each.stage}" if each.stage != "tracing" else ""
        where = place(each.where) if each.where is not None else Html("")
        yield sentence(code(each.text), stage, where, links.moment(each.moment))
