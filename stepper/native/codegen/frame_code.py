"""The code that runs in the frame's place.

It is the program's own code with a part put in at its beginning:

    run the graph                  (an exception goes on at "the program's code")
    make the values that are needed, and do what is pending
    return, or: do the instruction that broke the graph, and call the resume function
    the program's code, from its first instruction

So what the graph raises is raised by the program itself: nothing has been changed yet when the
graph runs, and so the frame can be run as it is, and finds its own exception, at its own line,
under its own handlers; a graph that draws random numbers puts the generators back. Only a graph
that changes its inputs cannot be run again like that.

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
from stepper.native.codegen.pycodegen import PyCodegen
from stepper.native.exc import unimplemented
from stepper.native.guards.guard_builder import GuardBuilder
from stepper.native.guards.scope import are_apart
from stepper.native.tracing.random_draws import write_putting_back, write_saving
from stepper.native.variables.tensor import storage_of
from stepper.support.bytecode_package import Label, TryBegin, TryEnd

if TYPE_CHECKING:
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
    compiled = None
    own, recovery = PyCodegen(tx), PyCodegen(tx)
    output.remove_unused(nodes)
    if not output.is_empty:
        compiled = output.translation.compile_graph(nodes)
        arguments = [arg.source for arg in output.graphargs.values()]
        own.load_callable(compiled)
        own.load_arguments(arguments)
        own.call(len(arguments))
        own.store(own.own_name("graph_out"))
        if output.mutates_inputs:
            # What such a graph raises cannot be raised again by the program itself.
            fails = output.overlaps or not cannot_fail(output.graph)
            beside = output.handled or output.side_effects.pending
            if beside and (fails or not _guard_memory(output)):
                how = "under a handler" if output.handled else "beside other changes"
                raise unimplemented(f"an operator that changes an input, {how}")
            graph_code = own.output
        else:
            if output.fake_mode.draws:
                write_saving(recovery)
                graph_code, recovery.output = recovery.output, []
                write_putting_back(recovery)
            begin = TryBegin(again, push_lasti=False, stack_depth=0)
            graph_code += [begin, *own.output, TryEnd(begin)]
    whole = compiled is not None and not output.mutates_inputs
    body = [*graph_code, *codegen.output]
    handler = (again, recovery.output) if whole else None
    code = assemble(tx.f_code, body, handler, codegen.entered)
    output.translation.finished(tx, code)


def _guard_memory(output: OutputGraph) -> bool:
    """Have it checked that no input that the graph writes to shares its memory with another one:
    operators refuse to write where that is so in part. False: it is so now."""
    written: dict[str, torch.Tensor] = {}
    others: dict[str, torch.Tensor] = {}
    for node, arg in output.graphargs.items():
        if isinstance(arg.example, torch.Tensor):
            is_written = storage_of(node.meta["example_value"]) in output.written
            (written if is_written else others)[arg.source.name()] = arg.example
    if not are_apart([*written.values()], [*others.values()]):
        return False
    condition = f"___are_apart([{', '.join(written)}], [{', '.join(others)}])"
    output.install_guard(None, GuardBuilder.EXPRESSION, name=condition)
    return True
