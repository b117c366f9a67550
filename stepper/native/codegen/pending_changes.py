"""Writes instructions that do what is pending, as `side_effects` has it.

All values are read before the first change is done: what a later change would read may be what an
earlier one has changed.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from stepper.native.codegen.pycodegen import PyCodegen
from stepper.native.source import ConstantSource, Kept, LocalSource
from stepper.native.variables.base import DELETED, VariableTracker
from stepper.native.variables.cached_function import PendingCallVariable, call_again
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.containers import BareDictVariable, put_contents
from stepper.native.variables.context_var import ContextVariable
from stepper.native.variables.ctx_manager import ExitVariable, left
from stepper.native.variables.dicts import ConstDictVariable, follow_steps
from stepper.native.variables.functions import CellVariable
from stepper.native.variables.generators import LocalGeneratorObjectVariable
from stepper.native.variables.iter import ListIteratorVariable, advanced
from stepper.native.variables.lists import ListVariable
from stepper.native.variables.namespace import NamespaceVariable
from stepper.native.variables.sets import SetVariable
from stepper.native.variables.user_defined import UserDefinedObjectVariable
from stepper.native.versions import set_grad_enabled
from stepper.support.bytecode_package import CellVar, FreeVar


def keep_sources(codegen: PyCodegen, roots: Sequence[VariableTracker]) -> None:
    """Read every value that a pending change could reach, before the first change."""
    pending = [codegen.newest(root) for root in roots]
    seen: set[int] = set()
    while pending:
        tracker = pending.pop()
        if id(tracker) in seen:
            continue
        seen.add(id(tracker))
        source = tracker.source
        if source is None or isinstance(tracker, CellVariable):
            pending += codegen.parts_of(tracker)
        elif not source.stable and not isinstance(tracker, ConstantVariable):
            name = source.name()
            if name not in codegen.kept:
                codegen.load_anew(source)
                kept = codegen.temporary()
                codegen.store(kept)
                codegen.kept[name] = kept


def changed_values(codegen: PyCodegen) -> list[VariableTracker]:
    """All values that pending changes need."""
    effects = codegen.tx.output.side_effects
    values: list[VariableTracker] = []
    for key, owner in effects.changed.items():
        if not isinstance(owner, NamespaceVariable | CellVariable):
            values.append(getattr(owner, "holder", owner))
        newest = effects.newest.get(key)
        if newest is not None:
            values += newest.parts()
        values += effects.attributes.get(key, {}).values()
    return values


def write_changes(codegen: PyCodegen) -> None:
    """Do what is pending."""
    effects = codegen.tx.output.side_effects
    planned: list[tuple[VariableTracker, str, Kept | None]] = []
    for key, owner in effects.changed.items():
        newest = effects.newest.get(key)
        if newest is not None:
            planned.append((owner, "", _kept(codegen, _contents(codegen, owner, newest))))
        for name, value in effects.attributes.get(key, {}).items():
            kept = None if value is DELETED else _kept(codegen, value)
            planned.append((owner, name, kept))
    codegen.fill_cells()
    for owner, name, kept in planned:
        if kept is None:
            codegen.do(object.__delattr__, owner, name)
        else:
            _write_change(codegen, owner, name, kept)


def _kept(codegen: PyCodegen, value: object) -> Kept:
    """Have a part of a recipe be in a variable."""
    codegen.push(value)
    kept = codegen.temporary()
    codegen.store(kept)
    return Kept(kept)


def _contents(codegen: PyCodegen, owner: Any, newest: Any) -> object:
    """What a change of a container is made with."""
    match newest:
        case SetVariable():
            return getattr(owner, "holder", None) or owner
        case ListVariable():
            return newest.items
        case ListIteratorVariable():
            return newest.taken_since(codegen, owner)
        case BareDictVariable() if newest.holder is not None:
            return newest.items
        case ConstDictVariable() if newest.only_grew:
            return {k: v for k, v in newest.items.items() if owner.items.get(k) is not v}
        case ConstDictVariable():
            return newest.planned()
    raise newest.refuse("a change")


def _write_change(codegen: PyCodegen, owner: Any, name: str, value: Kept) -> None:
    """Do one change: of an attribute, or without a name of what a container holds."""
    match owner:
        case CellVariable(source=LocalSource()):
            codegen.push(value)
            codegen.emit("STORE_DEREF", FreeVar(owner.local_name))
        case NamespaceVariable() if owner.namespace is codegen.tx.f_globals:
            codegen.push(value)
            codegen.emit("STORE_GLOBAL", name)
        case NamespaceVariable():
            codegen.do(operator.setitem, ConstantSource(owner.namespace), name, value)
        case SetVariable():
            newest: Any = codegen.newest(owner)
            newest.write_steps(codegen, value.variable)
        case BareDictVariable() if owner.holder is not None:
            codegen.do(put_contents, owner.holder, value)
        case ListVariable():
            codegen.do(put_contents, getattr(owner, "holder", None) or owner, value)
        case ListIteratorVariable():
            codegen.do(advanced, owner, value)
        case ConstDictVariable():
            newest = codegen.newest(owner)
            codegen.do(dict.update if newest.only_grew else follow_steps, owner, value)
        case PendingCallVariable():
            codegen.do(call_again, owner.holder, owner.names, value)
        case ContextVariable():
            raise owner.refuse("a change that lasts")
        case UserDefinedObjectVariable() if by := owner.stores_by(name):
            # Its own method has been interpreted: what is pending is what that stored.
            codegen.do(by, owner, name, value)
        case _:
            codegen.push(value)
            codegen(owner)
            codegen.emit("STORE_ATTR", name)


def write_own_cells(codegen: PyCodegen, names: Iterable[str]) -> None:
    """Put into the frame's own cells what they hold now."""
    written: list[str] = []
    for name in names:
        cell = codegen.tx.symbolic_locals.get(name)
        if not isinstance(cell, CellVariable) or cell.source is not None:
            continue
        contents = codegen.cell_contents(cell)
        if contents is not None and contents.source != LocalSource(name, free=True):
            codegen(contents)
            written.append(name)
    for name in reversed(written):
        codegen.emit("STORE_DEREF", CellVar(name))


def prepare(codegen: PyCodegen, roots: list[VariableTracker]) -> None:
    """Make ready to push the roots and to do what is pending."""
    for value in codegen.tx.output.side_effects.newest.values():
        if isinstance(value, LocalGeneratorObjectVariable) and value.would_run_when_closed:
            raise value.refuse("closing")
    changed = changed_values(codegen)
    codegen.count_uses([*roots, *changed])
    watcher = codegen.tx.output.translation.watcher
    if watcher.follows:
        watcher.needs(codegen, [*roots, *changed])
    if codegen.tx.output.side_effects.pending or codegen.tx.f_code.co_cellvars:
        keep_sources(codegen, [*roots, *changed])
    exits = codegen.tx.output.exits
    for leave, _ in reversed(exits):
        assert isinstance(leave, ExitVariable)
        leave.leave(codegen.tx)
    for _, exit_function in exits:
        codegen.do(left, exit_function)


def write_grad_mode(codegen: PyCodegen) -> None:
    """Have the gradient mode be what the frame has set: the graph has put it back."""
    output = codegen.tx.output
    if output.grad_enabled != output.state.grad_enabled:
        codegen.do(set_grad_enabled, output.grad_enabled)


def settle_cells(codegen: PyCodegen) -> None:
    """Put into all cells that the code has used what they hold; that can take further cells, and
    again those in which functions stand that call each other."""
    settled: set[str] = set()
    while codegen.cells or codegen.own_cells:
        codegen.fill_cells()
        names, codegen.own_cells = codegen.own_cells - settled, set()
        settled |= names
        write_own_cells(codegen, sorted(names))
