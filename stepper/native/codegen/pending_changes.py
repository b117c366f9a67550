"""Writes instructions that do what is pending, as `side_effects` has it.

All values are read before the first change is done: what a later change would read may be what an
earlier one has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stepper.native.codegen.pycodegen import PyCodegen
from stepper.native.source import LocalSource
from stepper.native.variables.base import DELETED, VariableTracker
from stepper.native.variables.cached_function import PendingCallVariable, call_again
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.containers import put_contents
from stepper.native.variables.context_var import ContextVariable
from stepper.native.variables.ctx_manager import ExitVariable, left
from stepper.native.variables.dicts import ConstDictVariable, follow_steps, write_items
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
                source.reconstruct(codegen)
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
    planned: list[tuple[VariableTracker, str, str | None]] = []
    kept: str | None
    for key, owner in effects.changed.items():
        newest = effects.newest.get(key)
        if newest is not None:
            _plan_container(codegen, owner, newest, planned)
        for name, value in effects.attributes.get(key, {}).items():
            if value is DELETED:
                planned.append((owner, name, None))
                continue
            codegen(value)
            kept = codegen.temporary()
            codegen.store(kept)
            planned.append((owner, name, kept))
    codegen.fill_cells()
    for owner, name, kept in planned:
        if kept is None:
            codegen.load_callable(object.__delattr__)
            codegen(owner)
            codegen.load_const(name)
            codegen.call(2)
            codegen.pop_top()
        else:
            codegen.emit("LOAD_FAST", kept)
            _write_change(codegen, owner, name)


_CONTENTS = "[contents]"
"""What stands for all that an object of a container's subclass holds: no attribute's name."""


def _plan_container(codegen: PyCodegen, owner: Any, newest: Any, planned: list[Any]) -> None:
    if isinstance(newest, SetVariable):
        codegen(getattr(owner, "holder", owner))
        name = "steps"
    elif getattr(owner, "holder", None) is not None:
        if isinstance(newest, ListVariable):
            ListVariable.reconstruct(newest, codegen)
        else:
            write_items(codegen, newest.items)
        name = _CONTENTS
    elif isinstance(newest, ListVariable):
        newest.reconstruct(codegen)
        name = "[:]"
    elif isinstance(newest, ListIteratorVariable):
        codegen.load_const(newest.taken_since(codegen, owner))
        name = ""
    elif isinstance(newest, ConstDictVariable):
        if newest.only_grew:
            name = "update"
            changed = {k: v for k, v in newest.items.items() if owner.items.get(k) is not v}
            write_items(codegen, changed)
        else:
            name = "steps"
            newest.write_steps(codegen)
    else:
        raise newest.refuse("a change")
    kept = codegen.temporary()
    codegen.store(kept)
    planned.append((owner, name, kept))


def _write_change(codegen: PyCodegen, owner: Any, name: str) -> None:
    """Do one change; the value is on the stack."""
    if isinstance(owner, CellVariable):
        if isinstance(owner.source, LocalSource):
            codegen.emit("STORE_DEREF", FreeVar(owner.local_name))
        else:
            codegen.load_cell(owner)
            codegen.emit("STORE_ATTR", "cell_contents")
    elif isinstance(owner, NamespaceVariable):
        if owner.namespace is codegen.tx.f_globals:
            codegen.emit("STORE_GLOBAL", name)
        else:
            codegen.load_const(owner.namespace)
            codegen.load_const(name)
            codegen.emit("STORE_SUBSCR")
    elif isinstance(owner, SetVariable):
        newest: Any = codegen.newest(owner)
        kept = codegen.temporary()
        codegen.store(kept)
        newest.write_steps(codegen, kept)
    elif name == _CONTENTS:
        _call(codegen, put_contents, owner.holder)
    elif isinstance(owner, ListIteratorVariable):
        _call(codegen, advanced, owner)
    elif isinstance(owner, ListVariable):
        codegen(owner)
        codegen.load_const(None)
        codegen.load_const(None)
        codegen.build("BUILD_SLICE", 2)
        codegen.emit("STORE_SUBSCR")
    elif isinstance(owner, ConstDictVariable) and name == "steps":
        _call(codegen, follow_steps, owner)
    elif isinstance(owner, ConstDictVariable):
        _call(codegen, dict.update, owner)
    elif isinstance(owner, PendingCallVariable):
        _call(codegen, call_again, owner.holder)
    elif isinstance(owner, ContextVariable):
        raise owner.refuse("a change that lasts")
    elif isinstance(owner, UserDefinedObjectVariable) and (by := owner.stores_by(name)):
        # Its own method has been interpreted: what is pending is what that stored.
        kept = codegen.temporary()
        codegen.store(kept)
        codegen.load_callable(by)
        codegen(owner)
        codegen.load_const(name)
        codegen.emit("LOAD_FAST", kept)
        codegen.call(3)
        codegen.pop_top()
    else:
        codegen(owner)
        codegen.emit("STORE_ATTR", name)


def _call(codegen: PyCodegen, function: Callable[..., object], owner: VariableTracker) -> None:
    """Call a function with a value and what is on the stack; its result is let go."""
    kept = codegen.temporary()
    codegen.store(kept)
    codegen.load_callable(function)
    codegen(owner)
    codegen.emit("LOAD_FAST", kept)
    codegen.call(2)
    codegen.pop_top()


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
        codegen.load_callable(left)
        codegen(exit_function)
        codegen.call(1)
        codegen.pop_top()


def write_grad_mode(codegen: PyCodegen) -> None:
    """Have the gradient mode be what the frame has set: the graph has put it back."""
    output = codegen.tx.output
    if output.grad_enabled != output.state.grad_enabled:
        codegen.load_callable(set_grad_enabled)
        codegen.load_const(output.grad_enabled)
        codegen.call(1)
        codegen.pop_top()


def settle_cells(codegen: PyCodegen) -> None:
    """Put into all cells that the code has used what they hold; that can take further cells, and
    again those in which functions stand that call each other."""
    settled: set[str] = set()
    while codegen.cells or codegen.own_cells:
        codegen.fill_cells()
        names, codegen.own_cells = codegen.own_cells - settled, set()
        settled |= names
        write_own_cells(codegen, sorted(names))
