"""Values as a tree: one row for a value, and under it what it holds and what is known of it.

A row reads from what matters to what helps: sign of change, name, the value in short, what it was,
the node that computes it, where it comes from, the tracker's class.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

from stepper.client.names import brief_node, brief_source
from stepper.client.text import tensor_line
from stepper.model.ranges import in_ranges
from stepper.model.trace import Guard, Phase
from stepper.model.value import Item, Value, ValueId
from stepper.tui.briefly import brief_row
from stepper.tui.palette import Row, Span
from stepper.tui.snapshot import Change, Slot, Snapshot
from stepper.tui.tree_lines import Branch


class Subject(NamedTuple):
    """What a row is about, for `o`: the moment that made it."""

    of: Literal["node", "guard", "value"]
    ref: str | int


def slot_branch(snapshot: Snapshot, slot: Slot, label: Span) -> Branch:
    """The row of a stack entry or a local."""
    value = snapshot.value(slot.value) if slot.value is not None else None
    old = snapshot.old_value(slot.old) if slot.old is not None else None
    if value is None:
        return Branch(slot.label, partial(_gone, label, old))
    assert slot.value is not None
    was = old if slot.change is Change.CHANGED else None
    if snapshot.phase is Phase.LOOKUP:
        return Branch(
            slot.label,
            partial(_finding, label, value),
            partial(_item_branches, snapshot, slot.value, value) if value.items else None,
            fits=bool(value.items),
        )
    return _branch(snapshot, slot.label, label, slot.value, value, slot.change, was)


def _branch(
    snapshot: Snapshot,
    key: str,
    label: Span,
    id: ValueId,
    value: Value,
    change: Change,
    was: Value | None,
) -> Branch:
    return Branch(
        key,
        partial(_row, label, value, change, was),
        partial(_children, snapshot, id, value),
        Subject("value", id),
        fits=True,
    )


def _row(label: Span, value: Value, change: Change, was: Value | None) -> Row:
    spans: list[Span] = [(f"{change} ", change.role), label, ("  ", ""), (value.brief, role(value))]
    if was is not None:
        spans.append((f" (was {_former(was, value)})", "dim"))
    if value.lazy and _NOT_REALIZED not in value.brief:
        spans.append(("  lazy", "comment"))
    if value.length is not None and not value.text:
        spans.append((f"  {value.length} items", "dim"))
    if value.node:
        spans += [("  %", "node"), (value.node, "node")]
    if value.source:
        spans += [("  ", ""), (value.source, "source")]
    spans.append((f"  {value.cls}", "dim"))
    return brief_row(*spans)


def _finding(label: Span, value: Value) -> Row:
    """A row of what a lookup says of a check: the verdict by sign, what differs by colour."""
    name = label[0].strip()
    if name == "verdict":
        sign, role = _VERDICTS.get(value.text.lower(), ("?", "warning"))
        return Row(((f"{sign} ", role), label, ("  ", ""), (value.text, role)))
    text_role = "error" if name == "differs" else "tensor" if value.tensor is not None else ""
    if value.tensor is not None:
        return brief_row(("  ", ""), label, ("  ", ""), (tensor_line(value.tensor), text_role))
    return brief_row(("  ", ""), label, ("  ", ""), (value.brief, text_role))


_VERDICTS = {"pass": ("✓", "new"), "fail": ("✗", "error")}


def _former(was: Value, value: Value) -> str:
    """What a value was, by the first thing that tells it from what it is now."""
    if was.brief != value.brief:
        return was.brief
    if was.node != value.node:
        return f"%{brief_node(was.node)}" if was.node else "no node"
    if was.source != value.source:
        return brief_source(was.source) or "made while tracing"
    if was.length != value.length:
        return f"{was.length} items"
    for name in ("cls", "type", "mutability"):
        if getattr(was, name) != getattr(value, name):
            return f"{getattr(was, name) or f'without {name}'}"
    return "not realized" if was.lazy else "another, alike"


def _gone(label: Span, old: Value | None) -> Row:
    text = old.brief if old else "?"
    return Row(
        ((f"{Change.GONE} ", Change.GONE.role), (label[0], "dim"), (f"  {text}", "gone dim"))
    )


_NOT_REALIZED = "not realized"
"""What the short form of most lazy values says itself."""


def role(value: Value) -> str:
    """The role in which a value's short form is drawn."""
    if value.tensor is not None:
        return "tensor"
    if value.constant is not None:
        return "constant"
    return "type"


def _children(snapshot: Snapshot, id: ValueId, value: Value) -> list[Branch]:
    """What a value holds; and what is known of it, one level further down when it holds much."""
    items = _item_branches(snapshot, id, value)
    facts = partial(_facts, snapshot, value)
    if not items:
        return facts()
    about = Branch(_ABOUT, lambda: Row((("  about this value", "comment"),)), facts)
    return [*items, about]


_ABOUT = "\0about"
"""Key of the branch that holds a container's own facts; no label begins so."""


def _item_branches(snapshot: Snapshot, id: ValueId, value: Value) -> list[Branch]:
    before = snapshot.old_value(id)
    old: dict[str, Item] = {item.label: item for item in before.items} if before else {}
    branches: list[Branch] = []
    for item in value.items:
        held = snapshot.value(item.value)
        if held is None:
            continue
        change, was = _item_change(snapshot, item, old, known=before is not None)
        label = (item.label, "name")
        branches.append(_branch(snapshot, item.label, label, item.value, held, change, was))
    labels = {item.label for item in value.items}
    for item in old.values():
        if item.label not in labels:
            gone = partial(_gone, (item.label, "name"), snapshot.old_value(item.value))
            branches.append(Branch(item.label, gone))
    hidden = (value.length or 0) - len(value.items)
    if hidden > 0 and value.items:
        more = f"  and {hidden} more, which were not recorded"
        branches.append(Branch("\0more", lambda: Row(((more, "comment"),))))
    return branches


def _item_change(
    snapshot: Snapshot, item: Item, old: dict[str, Item], *, known: bool
) -> tuple[Change, Value | None]:
    if not known:
        return Change.SAME, None
    former = old.get(item.label)
    if former is None:
        return Change.NEW, None
    if former.value != item.value:
        return Change.CHANGED, snapshot.old_value(former.value)
    change = snapshot.change_of(item.value)
    return change, snapshot.old_value(item.value) if change is Change.CHANGED else None


def _facts(snapshot: Snapshot, value: Value) -> list[Branch]:
    branches = [_fact(name, text, role) for name, text, role in _plain_facts(value)]
    if value.node:
        branches.append(_fact("node", f"%{value.node}", "node", Subject("node", value.node)))
    guards = snapshot.guards_by_source.get(value.source, ()) if value.source else ()
    if value.source:
        branches.append(_guards_branch(snapshot, "guards", guards))
    if value.guards:
        held = [guard for guard in snapshot.guards if in_ranges(guard.id, value.guards)]
        branches.append(_guards_branch(snapshot, "depends on", held))
    return branches


def _plain_facts(value: Value) -> list[tuple[str, str, str]]:
    facts = [
        ("class", value.cls, "type"),
        ("type", value.type, "type"),
        ("source", value.source or "made while tracing", "source" if value.source else "dim"),
        ("constant", value.constant or "", "constant"),
    ]
    if tensor := value.tensor:
        facts += [
            ("dtype", tensor.dtype, "tensor"),
            ("shape", _tuple(tensor.shape), "tensor"),
            ("stride", _tuple(tensor.stride), "tensor"),
            ("device", tensor.device, "tensor"),
            ("requires_grad", str(tensor.requires_grad), "tensor"),
            ("layout", tensor.layout if tensor.layout != "strided" else "", "tensor"),
            ("subclass", tensor.subclass, "type"),
        ]
    facts.append(("mutability", value.mutability, ""))
    if value.lazy:
        facts.append(("lazy", "not realized: the compiler has not looked into it yet", ""))
    facts += [(name, text, "") for name, text in value.attributes]
    return [fact for fact in facts if fact[1]]


def _tuple(sizes: Sequence[str] | None) -> str:
    return "unknown" if sizes is None else f"({', '.join(sizes)})"


def _fact(name: str, text: str, text_role: str, subject: Subject | None = None) -> Branch:
    spans = ((f"  {name} ", "dim"), (text, text_role))
    return Branch(f"\0{name}", lambda: Row(spans), None, subject)


def _guards_branch(snapshot: Snapshot, name: str, guards: Sequence[Guard]) -> Branch:
    if not guards:
        return _fact(name, "none yet", "dim")
    kinds = ", ".join(dict.fromkeys(guard.kind for guard in guards))
    spans = ((f"  {name} ", "dim"), (kinds, ""))
    return Branch(
        f"\0{name}",
        lambda: Row(spans),
        lambda: [_guard_branch(snapshot, guard) for guard in guards],
    )


def _guard_branch(snapshot: Snapshot, guard: Guard) -> Branch:
    sign = Change.NEW if snapshot.is_new(guard.moment) else Change.SAME
    checks = " and ".join(guard.code)
    spans: tuple[Span, ...] = (
        (f"{sign} ", sign.role),
        (guard.kind, "keyword"),
        (f"  {checks or guard.source}", ""),
        (f"  moment {guard.moment}", "number"),
    )
    return Branch(guard.id, lambda: Row(spans), None, Subject("guard", guard.id))
