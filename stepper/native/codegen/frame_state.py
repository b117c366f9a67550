"""Where the graph breaks, makes the frame what the program's would be: its variables, its stack."""

from __future__ import annotations

import torch

from stepper.native.bytecode.bytecode_analysis import argument_count
from stepper.native.codegen.pending_changes import (
    changed_values,
    prepare,
    write_changes,
    write_grad_mode,
    write_own_cells,
)
from stepper.native.codegen.pycodegen import PyCodegen
from stepper.native.source import LocalSource
from stepper.native.variables.base import (
    LazyVariableTracker,
    NullVariable,
    VariableTracker,
)
from stepper.native.variables.constant import ConstantVariable
from stepper.native.variables.functions import CellVariable
from stepper.native.variables.tensor import TensorVariable
from stepper.native.variables.weak_references import WeakReferenceVariable


def needed_locals(codegen: PyCodegen, live: set[str], called: bool) -> list[str]:
    """The variables to go on with: those that are read later, those that keep something alive of
    which the program, or somebody else, might know, and what a traceback may show: constants, and
    the arguments of the program's function but for tensors, of which Dynamo passes on, too, only
    those that are read. (What that was called with its caller keeps alive.)

    live: those that are read later.
    called: whether the frame is one of the program's function, and not of a resume function.
    """
    tx = codegen.tx
    variables = tx.symbolic_locals
    if "__class__" in tx.f_code.co_freevars:
        live = live.union(tx.f_code.co_varnames[:1])  # `super()` reads it
    plain = [
        name
        for name in tx.f_code.co_varnames
        if name in variables and name not in tx.f_code.co_cellvars
    ]
    known = codegen.uses(
        [*tx.stack, *changed_values(codegen), *(variables[name] for name in plain if name in live)]
    )

    def keeps(name: str) -> bool:
        value = variables[name]
        own = called and value.source == LocalSource(name) and _is_tensor(value)
        held = value.source is not None and not own
        written = isinstance(value, ConstantVariable) and not value.guards
        counted = isinstance(value, WeakReferenceVariable)
        return held or written or counted or not known.keys().isdisjoint(codegen.uses([value]))

    return [name for name in plain if name in live or keeps(name)]


def _is_tensor(value: VariableTracker) -> bool:
    if isinstance(value, LazyVariableTracker):
        return issubclass(type(value.value), torch.Tensor)
    return isinstance(value, TensorVariable)


def _dead_cycles(codegen: PyCodegen, needed: list[VariableTracker]) -> list[VariableTracker]:
    """Objects that the frame made and only they themselves hold, but that hold some of what is
    needed: until Python collects cycles, they keep that alive."""
    effects = codegen.tx.output.side_effects
    held = [each for stored in effects.attributes.values() for each in stored.values()]
    held += [part for newest in effects.newest.values() for part in newest.parts()]
    made = {each.identity: each for each in held if each.source is None and each.mutation_type}
    known = codegen.uses([*needed, *changed_values(codegen)]) if made else {}
    inside = {key: codegen.uses([each]) for key, each in made.items() if key not in known}
    return [made[key] for key, parts in inside.items() if parts[key] > 1 and parts.keys() & known]


def restore(codegen: PyCodegen, names: list[str], handled: int, base: int) -> None:
    """Do what is pending; give the variables and the stack their values.

    From `handled` to `base` a NULL is left out: not every Python takes one from the stack again.
    What is below `handled` the program's handler finds.
    """
    tx = codegen.tx
    stack = list(enumerate(tx.stack))
    changed = [
        name
        for name in names
        if tx.symbolic_locals[name].source != LocalSource(name)
        or tx.symbolic_locals[name].mutation_type in tx.output.side_effects.newest
    ]
    # What stays as it came needs none of what is known of it.
    values = [value for _, value in stack] + [tx.symbolic_locals[name] for name in changed]
    cells = [
        cell
        for name in tx.f_code.co_cellvars
        if isinstance(cell := tx.symbolic_locals.get(name), CellVariable)
    ]
    dead = _dead_cycles(codegen, [*values, *cells])
    prepare(codegen, [*values, *cells, *dead])
    for value in dead:
        codegen(value)
        codegen.pop_top()
    places: list[str] = []
    for index, value in stack:
        if not isinstance(value, NullVariable):
            codegen(value)
            places.append(codegen.on_stack(index))
    for name in changed:
        codegen(tx.symbolic_locals[name])
        places.append(name)
    write_changes(codegen)
    write_own_cells(codegen, tx.f_code.co_cellvars)
    codegen.fill_cells()
    for name in reversed(places):
        codegen.store(name)
    for name in tx.f_code.co_varnames[: argument_count(tx.f_code)]:
        if name not in (*names, *places, *tx.f_code.co_cellvars):
            codegen.emit("DELETE_FAST", name)
    codegen.drop_temporaries()
    write_grad_mode(codegen)
    for index, value in stack:
        if isinstance(value, NullVariable):
            if index < handled or index >= base:
                codegen.push_null()
        else:
            codegen.emit("LOAD_FAST", codegen.on_stack(index))
            codegen.emit("DELETE_FAST", codegen.on_stack(index))
