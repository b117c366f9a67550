"""Cache entries on the page: guards with what they cost, graphs, transformed code."""

from __future__ import annotations

from collections.abc import Callable

from stepper.client.text import plural
from stepper.report.contents import Entry, Guard, Report
from stepper.report.drawn_graph import drawn_graph
from stepper.report.linking import Links, code, details, place, section, sentence, table
from stepper.report.markup import Html, element, joined

_OPEN = 40
"""Rows that are not folded away, when the entries are few."""
_FEW = 3


def guards_section(report: Report, links: Links) -> Html:
    """The guards of each entry, then what their kinds are for."""
    kinds = table(
        ("kind", "protects against", "source in torch"),
        (
            (f"kind-{each.name}", (code(each.name), each.protects, code(each.fact)))
            for each in report.guard_kinds
        ),
    )
    told: set[str] = {each.name for each in report.guard_kinds}
    return section(
        "guards",
        "Guards",
        *_of_each(report, links, lambda entry: _guards(entry, links, told)),
        details("What each kind protects against", kinds) if report.guard_kinds else "",
    )


def graphs_section(report: Report, links: Links) -> Html:
    """The final graph of each entry, drawn."""
    return section("graphs", "Graphs", *_of_each(report, links, lambda each: _graph(each, links)))


def code_section(report: Report, links: Links) -> Html:
    """The transformed bytecode of each entry."""
    return section("code", "Transformed code", *_of_each(report, links, _transformed))


_Drawn = tuple[int, str, Html]
"""How long a part is, what it is, and the part."""


def _of_each(report: Report, links: Links, drawn: Callable[[Entry], _Drawn]) -> list[Html]:
    """What there is of each entry, folded away where it is long."""
    if not report.entries:
        return [element("p", "Nothing was compiled.")]
    parts = []
    for entry in report.entries:
        length, what, html = drawn(entry)
        if entry.left_out:
            what = "left out, since the report would be too long"
        label = sentence(links.walk(entry.walk), what)
        open = 0 < length <= _OPEN and len(report.entries) <= _FEW
        parts.append(details(label, html, open=open) if length else element("p", label))
    return parts


def _guards(entry: Entry, links: Links, kinds: set[str]) -> _Drawn:
    guards = entry.guards
    if entry.lookups:
        guards = tuple(sorted(guards, key=lambda guard: -(guard.nanoseconds or 0)))
    columns = ["guard", "checks", "because of"]
    if entry.lookups:
        columns += ["runs", "failed", "µs", "share"]
    columns += ["implied by", "moment"]
    rows = (
        (
            f"g{guard.id}",
            (
                _named(guard, kinds),
                joined(map(code, guard.checks), " "),
                place(guard.where, guard.line),
                *(_cost(guard) if entry.lookups else ()),
                _implied(guard),
                links.moment(guard.moment),
            ),
        )
        for guard in guards
    )
    drawn = table(columns, rows, numbers=frozenset({"runs", "failed", "µs", "share"}))
    note = "The dearest first; times are of asking each guard once more, from Python."
    measured = entry.lookups and any(guard.nanoseconds is not None for guard in guards)
    return (
        len(guards),
        plural(len(guards), "guard"),
        joined((element("p", note, class_="dim") if measured else Html(""), drawn)),
    )


def _named(guard: Guard, kinds: set[str]) -> Html:
    kind = code(guard.kind)
    linked = element("a", kind, href=f"#kind-{guard.kind}") if guard.kind in kinds else kind
    return sentence(linked, code(guard.source))


def _cost(guard: Guard) -> tuple[str, str, str, str]:
    micros = "" if guard.nanoseconds is None else f"{guard.nanoseconds / 1000:.2f}"
    share = "" if guard.share is None else f"{100 * guard.share:.1f} %"
    return str(guard.runs or ""), str(guard.failures or ""), micros, share


def _implied(guard: Guard) -> Html:
    if guard.implied_by is None:
        return Html("")
    by = element("a", f"guard {guard.implied_by}", href=f"#g{guard.implied_by}")
    return joined((by, ": ", guard.implied_why))


def _graph(entry: Entry, links: Links) -> _Drawn:
    nodes = entry.graph
    label = f"graph of {entry.compile_id} {entry.name}"
    region = element(
        "div",
        drawn_graph(nodes, links.moments, label) if nodes else "",
        class_="wide",
        tabindex="0",
        role="region",
        aria_label=label,
    )
    return len(nodes), plural(len(nodes), "node"), region


def _transformed(entry: Entry) -> _Drawn:
    lines = entry.transformed
    listing = element("pre", "\n".join(lines), tabindex="0")
    return len(lines), plural(sum(map(bool, lines)), "instruction"), listing
