"""Cache entries on the page: guards with what they cost, graphs, transformed code."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stepper.client.text import plural
from stepper.model.module_path import layer_of
from stepper.report.contents import Entry, Guard, Layer, Report
from stepper.report.drawn_graph import drawn_graph
from stepper.report.linking import Links, code, details, place, section, sentence, table
from stepper.report.markup import Html, element, joined
from stepper.report.telling import Told

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
        return [element("p", "No compilation is recorded.")]
    parts = []
    for entry in report.entries:
        length, what, html = drawn(entry)
        label = sentence(links.walk(entry.walk), what)
        open = 0 < length <= _OPEN and len(report.entries) <= _FEW
        parts.append(details(label, html, open=open) if length else element("p", label))
    return parts


def _guards(entry: Entry, links: Links, kinds: set[str]) -> _Drawn:
    guards = entry.guards
    measured = entry.lookups and any(guard.nanoseconds is not None for guard in guards)
    if entry.lookups:
        guards = tuple(sorted(guards, key=lambda guard: -(guard.nanoseconds or 0)))
    told = len(entry.guards) < entry.guard_count
    parts = [
        element("p", _DEAREST, class_="dim") if measured else Html(""),
        element("p", f"{_SOME} {len(guards):,} are told of.", class_="dim") if told else Html(""),
    ]
    if entry.guard_count <= _OPEN or len(entry.layers) < _FEW:
        parts.append(_guard_table(entry, guards, links, kinds))
    else:
        of_layer: dict[str, list[Guard]] = {layer.path: [] for layer in entry.layers}
        for guard in guards:
            of_layer.setdefault(layer_of(guard.module), []).append(guard)
        for layer in entry.layers:
            if layer.guards:
                rows = of_layer[layer.path]
                label = sentence(
                    _layer(layer), plural(layer.guards, "guard") + ":", _counts(layer.kinds)
                )
                drawn = _guard_table(entry, rows, links, kinds) if rows else Html("")
                parts.append(details(label, drawn) if rows else element("p", label))
    return entry.guard_count, plural(entry.guard_count, "guard"), joined(parts)


_DEAREST = "The dearest first; times are without getting to the value."
_SOME = "Those that failed or take most time, then one of each that many layers have:"


def _layer(layer: Layer) -> Html:
    return code(layer.path) if layer.path else Html("of no module")


def _counts(counts: dict[Told, int]) -> str:
    return ", ".join(f"{name} ×{count:,}" if count > 1 else name for name, count in counts.items())


def _guard_table(entry: Entry, guards: Iterable[Guard], links: Links, kinds: set[str]) -> Html:
    columns = ["guard", "checks", "because of"]
    if entry.lookups:
        columns += ["runs", "failed", "µs", "share"]
    columns += ["implied by", "moment"]
    told = {guard.id for guard in entry.guards}
    rows = (
        (
            f"g{guard.id}",
            (
                _named(guard, kinds),
                joined(map(code, guard.checks), " "),
                place(guard.where, guard.line),
                *(_cost(guard) if entry.lookups else ()),
                _implied(guard, told),
                links.moment(guard.moment),
            ),
        )
        for guard in guards
    )
    return table(columns, rows, numbers=frozenset({"runs", "failed", "µs", "share"}))


def _named(guard: Guard, kinds: set[str]) -> Html:
    kind = code(guard.kind)
    linked = element("a", kind, href=f"#kind-{guard.kind}") if guard.kind in kinds else kind
    return sentence(linked, code(guard.source))


def _cost(guard: Guard) -> tuple[str, str, str, str]:
    micros = "" if guard.nanoseconds is None else f"{guard.nanoseconds / 1000:.2f}"
    share = "" if guard.share is None else f"{100 * guard.share:.1f} %"
    return str(guard.runs or ""), str(guard.failures or ""), micros, share


def _implied(guard: Guard, told: set[int]) -> Html:
    if guard.implied_by is None:
        return Html("")
    by = Html(f"guard {guard.implied_by}")
    if guard.implied_by in told:
        by = element("a", by, href=f"#g{guard.implied_by}")
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
    parts = [region if nodes else element("p", _TOO_LONG, class_="dim")]
    if entry.node_count > _OPEN and len(entry.layers) >= _FEW:
        rows = (
            (None, (_layer(layer), f"{layer.nodes:,}", _counts(layer.targets)))
            for layer in entry.layers
            if layer.nodes
        )
        layers = table(("module", "nodes", "what they call"), rows, numbers=frozenset({"nodes"}))
        parts = [layers, details("Drawn", *parts) if nodes else parts[0]]
    return entry.node_count, plural(entry.node_count, "node"), joined(parts)


_TOO_LONG = "Left out, since the report would be too long: stepper open shows it."


def _transformed(entry: Entry) -> _Drawn:
    lines = entry.transformed
    if not lines and entry.left_out:
        return 0, _TOO_LONG, Html("")
    listing = element("pre", "\n".join(lines), tabindex="0")
    return len(lines), plural(sum(map(bool, lines)), "instruction"), listing
