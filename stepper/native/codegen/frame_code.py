"""The code that runs in the frame's place.

It is the program's own code with a part put in at its beginning:

    run the graph                  (an exception goes on at "the program's code")
    make the values that are needed, and do what is pending
    return, or: do the instruction that broke the graph, and call the resume function
    the program's code, from its first instruction

So what the graph raises is raised by the program itself: nothing has been changed yet when the
graph runs, and so the frame can be run as it is, and finds its own exception, at its own line,
under its own handlers; what the graph has drawn or written is put back. Only a graph that changes
its inputs, or calls what the program has defined, and stands alone is not run again like that: its
exception goes on as it is. An operator of the program's that does what its schema does not say, a
print perhaps, is seen to do so twice if its graph raises where something is pending or handled.

Where no resume function is possible (while an exception is handled), or none is worth it (in a loop
in which nothing is computed), the program's code is entered at the instruction that broke the graph
instead; behind that instruction, where it has had the program traced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from stepper.native.bytecode.bytecode_transformation import assemble
from stepper.native.codegen.cannot_fail import cannot_fail
from stepper.native.codegen.pending_changes import (
    prepare,
    settle_cells,
    write_changes,
    write_grad_mode,
)
from stepper.native.codegen.putting_back import (
    write_letting_go,
    write_putting_back,
    write_saving,
)
from stepper.native.codegen.pycodegen import PyCodegen
from stepper.native.exc import unimplemented
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.scope import are_apart
from stepper.native.tracing.random_draws import DRAWN, drawn_numbers
from stepper.native.variables.tensor import storage_of
from stepper.support.bytecode_package import Label, TryBegin, TryEnd

if TYPE_CHECKING:
    from stepper.native.source import Source
    from stepper.native.tracing.output_graph import OutputGraph
    from stepper.native.tracing.symbolic_convert import InstructionTranslator


def compile_return(tx: InstructionTranslator) -> None:
    """The frame returns: write its code."""
    assert tx.result is not None
    codegen = PyCodegen(tx)
    roots = [tx.result]
    prepare(codegen, roots)
    codegen(tx.result)
    kept = codegen.own_name("result")
    simple = not tx.output.side_effects.pending
    if not simple:
        codegen.store(kept)
        write_changes(codegen)
        codegen.emit("LOAD_FAST", kept)
    settle_cells(codegen)
    write_grad_mode(codegen)
    codegen.line = tx.current_instruction.starts_line or codegen.line
    codegen.emit("RETURN_VALUE")
    finish(codegen)


def finish(codegen: PyCodegen) -> None:
    """Put the code together, call the backend, and give all of it to the translation."""
    tx = codegen.tx
    output = tx.output
    nodes = list(codegen.graph_outputs)
    graph_code: list[object] = []
    again = Label()
    whole = False
    own, recovery, drawing = PyCodegen(tx), PyCodegen(tx), PyCodegen(tx)
    output.remove_unused(nodes)
    if output.drawn:
        drawing.make(drawn_numbers, output.drawn)
        drawing.store(drawing.own_name(DRAWN))
    if not output.is_empty:
        compiled = output.translation.compile_graph(nodes)
        arguments = [arg.source for arg in output.graphargs.values()]
        own.load_callable(compiled)
        own.load_arguments(arguments)
        own.call(len(arguments))
        own.store(own.own_name("graph_out"))
        written: list[Source] = []
        if output.mutates_inputs and output.beside and (output.overlaps or _may_fail(output)):
            written = _written(output)
        alone = not output.beside and output.calls_program
        whole = bool(written) or not (output.mutates_inputs or alone)
        saves = whole and bool(output.fake_mode.draws or output.drawn or written)
        if saves:
            saving = PyCodegen(tx)
            generators = list({id(each[0]): each[0] for each in output.drawn}.values())
            write_saving(saving, bool(output.fake_mode.draws), generators, written)
            write_letting_go(own)
            write_putting_back(recovery)
            graph_code = saving.output
        if output.drawn:
            recovery.emit("DELETE_FAST", recovery.own_name(DRAWN))
        begin = TryBegin(again, push_lasti=False, stack_depth=0)
        graph_code += drawing.output
        graph_code += [begin, *own.output, TryEnd(begin)] if whole else own.output
    else:
        graph_code += drawing.output
    handler = (again, recovery.output) if whole else None
    body = [*graph_code, *codegen.output]
    code = assemble(tx.program, body, handler, codegen.entered)
    output.translation.finished(tx, code)


def _written(output: OutputGraph) -> list[Source]:
    """The inputs that the graph writes to.

    Raises:
        Unsupported: one of them cannot be given what it held.
    """
    found = []
    if output.given_data:
        raise unimplemented("an input that is given other data, beside other changes")
    for node, arg in output.graphargs.items():
        fake, example = node.meta["example_value"], arg.example
        if isinstance(example, torch.Tensor) and storage_of(fake) in output.written:
            leaf = example.is_leaf and example.requires_grad
            if (fake.requires_grad and not leaf) or 0 in example.stride():
                raise unimplemented("an operator that changes an input, beside other changes")
            found.append(arg.source)
    return found


def _may_fail(output: OutputGraph) -> bool:
    """Whether the graph may raise. If that hangs on no input that it writes to sharing its memory
    with another one, where operators refuse to write, have that checked."""
    if not cannot_fail(output.graph):
        return True
    written: dict[str, torch.Tensor] = {}
    others: dict[str, torch.Tensor] = {}
    for node, arg in output.graphargs.items():
        if isinstance(arg.example, torch.Tensor):
            is_written = storage_of(node.meta["example_value"]) in output.written
            (written if is_written else others)[arg.source.name()] = arg.example
    if not are_apart([*written.values()], [*others.values()]):
        return True
    condition = f"___are_apart([{', '.join(written)}], [{', '.join(others)}])"
    output.install_guard(None, GuardBuilder.EXPRESSION, name=condition)
    return False
