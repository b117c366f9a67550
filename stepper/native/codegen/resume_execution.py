"""What happens at a graph break: the instruction itself, and the function that goes on after it.

    torch_dynamo_resume_in_<function>_at_<line>(stack values, live variables):
        put the values back on the stack
        jump to where it goes on after the break, which was on <line>
        the code of the program, from its first instruction

It is an ordinary function, with the program's name, lines and handlers, and so its frame is
captured like any other: that is how the rest of the program gets its graph. It is not called by the
code that wants it, but by the hook, once that code's frame has ended
(`csrc/evalframe/resume_call.c`). So there is one frame for the program's function at any time, and
it has what the program's own would have: all variables whose values anybody else could know, also
those that are not needed any more, for the program would not have let go of them yet. Cells are not
arguments: the resume function is a closure over them, so that whoever else has them sees the same
variable. A NULL on the stack is put back by an instruction.

Two breaks that go on at the same place, with the same variables, share one resume function. So a
loop in which the graph breaks goes round through the same few of them, whose entries are found
again: the loop's own instruction, which asks an iterator that was there before, is done in the
program's stead, and what it gives is an argument of the function that goes on with the loop's body.
Where nothing is computed in the resume functions of a loop, that would be a detour: its second time
round runs as it is.

In a `with` or `try` block the instruction that broke the graph has the program's handler, which
stands behind, in its own code: what it finds on the stack is there. The resume function is a copy
with all of the handlers, and goes on inside of the block. A mode that was set stays set.

What broke the graph may have been `pdb.set_trace()`. Then the frame that a trace function is told
of must be the one that goes on, and in the program's own code, which stands behind (`frame_code`):
it is entered where the resume function would have gone on.
"""

from __future__ import annotations

import dis
import re
import weakref
from collections.abc import Iterable
from types import CodeType
from typing import TYPE_CHECKING, Any

from stepper import _C
from stepper.native.bytecode import opcodes
from stepper.native.bytecode.bytecode_analysis import live_locals
from stepper.native.bytecode.bytecode_transformation import (
    Program,
    copy_facts,
    name_variables,
    rank_of,
    write_code,
)
from stepper.native.bytecode.opcodes import Instruction, handler_of
from stepper.native.codegen.frame_code import finish
from stepper.native.codegen.frame_state import needed_locals, restore
from stepper.native.codegen.pycodegen import PyCodegen
from stepper.native.codegen.resume_info import ResumeInfo, info_of, note_info, written_as
from stepper.native.exc import SkipFrame, unimplemented
from stepper.native.variables.base import NullVariable
from stepper.native.variables.functions import CellVariable
from stepper.support.bytecode_package import (
    Bytecode,
    CellVar,
    FreeVar,
    Instr,
    Label,
    TryBegin,
    TryEnd,
)

if TYPE_CHECKING:
    from stepper.native.tracing.symbolic_convert import InstructionTranslator


_ENTERED = frozenset(
    {"RAISE_VARARGS", "RERAISE", "LOAD_SUPER_ATTR", "LOAD_ASSERTION_ERROR",
     "LOAD_COMMON_CONSTANT", "SEND", "END_FOR", "LOAD_FAST_AND_CLEAR", *opcodes.PAIRS}
)  # fmt: skip
"""Instructions that are done in the program's own code: what they leave cannot be passed on."""


def write_break(tx: InstructionTranslator, inst: Instruction) -> None:
    """Write the frame's code up to the instruction, that instruction, and what comes after.

    Raises:
        SkipFrame: nothing has been captured, and nothing would be.
        Unsupported: a value cannot be made.
    """
    codegen = PyCodegen(tx)
    codegen.line = inst.starts_line or codegen.line
    next_index = inst.index + 1
    keeps = inst.opname.endswith("_OR_POP")  # the value that it has jumped by
    conditional = keeps or (inst.opname.startswith("POP_JUMP") and "NONE" not in inst.opname)
    loops = inst.opname == "FOR_ITER"
    resumes = _can_resume(tx, inst) and (conditional or loops or inst.target is None)
    nothing = tx.output.is_empty and not tx.output.side_effects.pending
    if not resumes and nothing:
        raise SkipFrame("nothing can be captured before a break that ends the capture")
    tx.output.resumes = resumes
    called = not info_of(tx.f_code).function
    names = needed_locals(codegen, live_locals(tx.f_code, inst.index), called)
    base = _base(tx, inst) if resumes else 0
    restore(codegen, names, _handled_depth(tx, inst), base)
    if not resumes:
        label = Label()
        codegen.emit("JUMP_FORWARD", label)
        index = inst.index
        while tx.instructions[index - 1].opname in ("KW_NAMES", "PRECALL"):
            index -= 1  # these belong to the call
        codegen.entered.append((label, rank_of(tx.f_code, index)))
        finish(codegen)
        return
    if conditional:
        _write_branches(codegen, inst, names, keeps)
    elif loops:
        _write_iteration(codegen, inst, names, base)
    elif _enters(tx, inst):
        begin = len(codegen.output)
        next_index, kinds, done = _write_entering(codegen, inst)
        _have_handled(codegen, inst, begin, done)
        _write_resume(codegen, inst, next_index, names, kinds)
    else:
        begin = len(codegen.output)
        kinds, done = _write_instruction(codegen, inst, base)
        _have_handled(codegen, inst, begin, done)
        _write_resume(codegen, inst, next_index, names, kinds)
    finish(codegen)


def _can_resume(tx: InstructionTranslator, inst: Instruction) -> bool:
    code = tx.f_code
    if inst.opname in _ENTERED or not _reaches_its_handler(tx, inst):
        return False
    if inst.opname.startswith("LOAD_FAST") and str(inst.argval).startswith("___stack"):
        return False  # a resume function puts its stack together
    if "__class__" in code.co_freevars or "super" in code.co_names:
        return False  # `super()` looks for the first argument
    info = info_of(code)
    written = written_as(code)
    if written is None:
        return False
    if written is not info and _is_detour(tx, inst, written):
        return False
    instructions = opcodes.listing(code).instructions
    own = instructions[opcodes.resume_index(code) :]
    if any(each.opname in ("MAKE_CELL", "DELETE_DEREF") for each in own):
        return False
    # A resume function's cells are free variables: read while empty, they raise another error.
    empty = {
        name
        for name in (*code.co_cellvars, *info.own_cells)
        if isinstance(cell := tx.symbolic_locals.get(name), CellVariable) and cell.is_empty(tx)
    }
    return not any(each.opname == "LOAD_DEREF" and each.argval in empty for each in instructions)


def _reaches_its_handler(tx: InstructionTranslator, inst: Instruction) -> bool:
    """Whether what the instruction raises can go to the program's handler: what that finds on the
    stack is there, and nothing is being handled meanwhile."""
    if handler_of(tx.f_code, inst.index) is None:
        return True
    below = tx.stack[: _handled_depth(tx, inst)]
    plain = opcodes.NULL_IS_POPPED or not any(isinstance(value, NullVariable) for value in below)
    return plain and inst.opname != "FOR_ITER" and not tx.handled


def _handled_depth(tx: InstructionTranslator, inst: Instruction) -> int:
    """How much of the stack the program's handler finds, if there is one."""
    entry = handler_of(tx.f_code, inst.index)
    return 0 if entry is None else entry.depth


def _is_detour(tx: InstructionTranslator, inst: Instruction, written: ResumeInfo) -> bool:
    """Whether a resume function's break is the second at its place in a loop in which nothing is
    computed."""
    code = tx.f_code
    offset = info_of(code).offsets[rank_of(code, inst.index)]
    written.computes |= not tx.output.is_empty
    again = offset in written.broken
    written.broken.add(offset)
    return again and not written.computes and _is_in_loop(code, inst.index)


def _is_in_loop(code: CodeType, index: int) -> bool:
    """Whether a jump leads from behind the instruction to it, or to before it."""
    jumps = opcodes.listing(code).instructions[index:]
    return any(each.target is not None and each.target <= index for each in jumps)


def _base(tx: InstructionTranslator, inst: Instruction) -> int:
    """How much of the stack lies below what the instruction takes, as far as a NULL does."""
    depth = len(tx.stack)
    match inst.opname:
        case "CALL":
            return depth - int(inst.argval) - 2
        case "CALL_KW":
            return depth - int(inst.argval) - 3
        case "CALL_FUNCTION_EX":
            return depth - 3 - (opcodes.ALWAYS_A_KEYWORD_SLOT or int(inst.argval) & 1)
        case "FOR_ITER":
            return depth - 1
    nulls = [i for i, value in enumerate(tx.stack) if isinstance(value, NullVariable)]
    return nulls[-1] + 1 if nulls else 0


def _have_handled(codegen: PyCodegen, inst: Instruction, begin: int, end: int) -> None:
    """Have the program's handler, if there is one, handle what these instructions raise."""
    code = codegen.tx.f_code
    entry = handler_of(code, inst.index)
    if entry is None:
        return
    handler = Label()
    codegen.entered.append((handler, rank_of(code, entry.target)))
    covered = TryBegin(handler, push_lasti=entry.lasti, stack_depth=entry.depth)
    codegen.output.insert(end, TryEnd(covered))
    codegen.output.insert(begin, covered)


def _write_instruction(codegen: PyCodegen, inst: Instruction, base: int) -> tuple[list[bool], int]:
    """Do the instruction that broke the graph, and store what it leaves.

    Returns, for each place of the stack then, whether it holds a value, and not NULL; and where
    the instruction has been done.
    """
    tx = codegen.tx
    begin = len(codegen.output)
    program = tx.program.instruction(rank_of(tx.f_code, inst.index))
    kinds = [not isinstance(value, NullVariable) for value in tx.stack[:base]]
    upper = [not isinstance(value, NullVariable) for value in tx.stack[base:]]
    if opcodes.METHOD_FLAG_IN_LOAD_ATTR:
        loads_method = inst.opname == "LOAD_ATTR" and bool((inst.arg or 0) & 1)
    else:
        loads_method = inst.opname == "LOAD_METHOD"
    if loads_method or (inst.opname == "LOAD_GLOBAL" and (inst.arg or 0) & 1):
        if loads_method:
            codegen.load_attr(inst.argval)
        else:
            codegen.load_global(inst.argval)
        left = upper[:-1] if loads_method else upper
        pair = [True, False] if opcodes.CALLABLE_BELOW_NULL else [False, True]
        after = [*left, *pair]
    else:
        if inst.opname == "CALL":
            if tx.kw_names:
                codegen.emit("KW_NAMES", tx.kw_names)
            codegen.call(inst.argval)
            count = 1
        else:
            merges = inst.opname == "DICT_MERGE" and opcodes.CALLABLE_BELOW_NULL
            if merges:  # its error names what is called, and it looks below the NULL for that
                codegen.load_const(None)
                for depth in (4, 3, 2):
                    codegen.emit("SWAP", depth)
            codegen.output.append(program)
            if merges:
                codegen.emit("SWAP", 3)
                codegen.pop_top()
                codegen.emit("SWAP", 2)
            if inst.opname in ("CALL_KW", "CALL_FUNCTION_EX"):
                count = 1
            else:
                count = len(upper) + dis.stack_effect(inst.opcode, inst.arg, jump=False)
        after = [True] * count
    for each in codegen.output[begin:]:  # a traceback marks the same columns
        each.location = program.location
    kinds += after
    done = len(codegen.output)
    _store_stack(codegen, inst, kinds)
    return kinds, done


def _enters(tx: InstructionTranslator, inst: Instruction) -> bool:
    """Whether a context manager is entered by the instructions from this one on, of which the
    first are a COPY and a LOAD_SPECIAL."""
    following = tx.instructions[inst.index + 1].opname if inst.opname == "COPY" else inst.opname
    return following == "LOAD_SPECIAL"


def _write_entering(codegen: PyCodegen, inst: Instruction) -> tuple[int, list[bool], int]:
    """Enter a context manager, up to the call of its `__enter__`, and store what that leaves.

    The exit function is bound, so that it is known to have NULL for a self. Returns the index of
    the next instruction, and what `_write_instruction` returns.
    """
    code = codegen.tx.f_code
    begin, index = len(codegen.output), inst.index
    below = [not isinstance(value, NullVariable) for value in codegen.tx.stack[:-1]]
    if inst.opname == "COPY":
        codegen.dup()
        index += 1
    else:
        below.pop()
    codegen.load_callable(_C.load_special)
    codegen.emit("SWAP", 2)
    codegen.emit("SWAP", 3)
    codegen.load_const("__exit__")
    codegen.call(2)
    codegen.emit("SWAP", 2)
    # Behind two more SWAPs the program loads `__enter__` and calls it.
    entering = [codegen.tx.program.instruction(rank_of(code, index + place)) for place in (3, 4)]
    codegen.output += entering
    for each in codegen.output[begin:]:
        each.location = entering[0].location
    after = [*below, True, False, True]
    done = len(codegen.output)
    _store_stack(codegen, inst, after)
    return index + 5, after, done


def _store_stack(codegen: PyCodegen, inst: Instruction, kinds: list[bool]) -> None:
    """Put what is on the stack into variables: not before the instruction has been done, or what it
    calls could see them.

    kinds: for each place, whether it holds a value. For others there is nothing on the stack, but
    a NULL where the instruction's handler would find it.
    """
    handled = _handled_depth(codegen.tx, inst)
    for place in range(len(kinds) - 1, -1, -1):
        if kinds[place]:
            codegen.store(codegen.on_stack(place))
        elif place < handled:
            codegen.pop_top()


def _write_branches(codegen: PyCodegen, inst: Instruction, names: list[str], keeps: bool) -> None:
    """A jump that depends on data: two resume functions. `keeps`: where it jumps to, the value is
    still there."""
    assert inst.target is not None
    tx = codegen.tx
    other, begin = Label(), len(codegen.output)
    if opcodes.JUMPS_WANT_BOOLS:
        codegen.emit("TO_BOOL")
    if keeps:
        codegen.dup()
        name = opcodes.JUMP_IF_TRUE if "TRUE" in inst.opname else opcodes.JUMP_IF_FALSE
    else:
        name = inst.opname.replace("_BACKWARD", "_FORWARD")
    codegen.emit(name, other)
    _have_handled(codegen, inst, begin, len(codegen.output))
    kinds = [not isinstance(value, NullVariable) for value in tx.stack[:-1]]

    def go_on(index: int, kinds: list[bool]) -> None:
        _store_stack(codegen, inst, kinds)
        _write_resume(codegen, inst, index, names, kinds)

    if keeps:
        codegen.pop_top()
    go_on(inst.index + 1, kinds)
    codegen.output.append(other)
    go_on(inst.target, [*kinds, True] if keeps else kinds)


def _write_iteration(codegen: PyCodegen, inst: Instruction, names: list[str], base: int) -> None:
    """A loop's own instruction: a resume function for its body, and one for what comes after it.

    base: where on the stack the iterator is.
    """
    assert inst.target is not None
    kinds = [not isinstance(value, NullVariable) for value in codegen.tx.stack]
    ended = Label()
    codegen.emit("FOR_ITER", ended)
    _store_stack(codegen, inst, [*kinds, True])  # with the item
    _write_resume(codegen, inst, inst.index + 1, names, [*kinds, True])
    codegen.output.append(ended)
    after = ["END_FOR"] * opcodes.END_FOR + [opcodes.POP_ITERATOR] * opcodes.ITERATOR_STAYS
    for name in after:
        codegen.emit(name)
    _store_stack(codegen, inst, kinds[:base])
    _write_resume(codegen, inst, inst.target + len(after), names, kinds[:base])


def _write_resume(
    codegen: PyCodegen, inst: Instruction, index: int, names: list[str], kinds: list[bool]
) -> None:
    """Have the function called that goes on at an instruction, and its result returned; where the
    program has begun to trace, go on in its own code."""
    tx = codegen.tx
    code = tx.f_code
    line, traced = codegen.line, Label()
    codegen.load_callable(_C.traced)
    codegen.call(0)
    codegen.emit(opcodes.JUMP_IF_TRUE, traced)
    passed = list(names)
    if inst.opname == "STORE_FAST" and inst.argval not in names:
        passed.append(inst.argval)  # the instruction itself has set it
    if inst.opname == "DELETE_FAST":
        passed.remove(inst.argval)
    resume = resume_code(tx.program, inst, index, tuple(passed), tuple(kinds))
    codegen.line = opcodes.listing(code).instructions[index].starts_line or codegen.line
    codegen.load_callable(_C.resume)
    cells: list[tuple[Any, str]] = [(CellVar, name) for name in code.co_cellvars]
    cells += [(FreeVar, name) for name in code.co_freevars]
    for kind, name in cells:
        codegen.emit(opcodes.LOAD_CLOSURE, kind(name))
    if cells:
        codegen.build("BUILD_TUPLE", len(cells))
    codegen.load_const(resume)
    if opcodes.FUNCTION_ATTRIBUTES_APART:
        codegen.emit("MAKE_FUNCTION")
        if cells:
            codegen.emit("SET_FUNCTION_ATTRIBUTE", 8)
    else:
        codegen.emit("MAKE_FUNCTION", 8 if cells else 0)
    given = [codegen.on_stack(place) for place, value in enumerate(kinds) if value]
    for name in [*given, *passed]:
        codegen.emit("LOAD_FAST", name)
        codegen.emit("DELETE_FAST", name)  # whoever has a frame object of this frame keeps nothing
    codegen.call(1 + sum(kinds) + len(passed))
    codegen.emit("RETURN_VALUE")
    codegen.line = line
    codegen.output.append(traced)
    codegen.output += _loaded_stack(info_of(code).prefix, kinds, line)
    label = Label()
    codegen.emit("JUMP_FORWARD", label)
    codegen.entered.append((label, rank_of(code, index)))


def _loaded_stack(prefix: str, kinds: Iterable[bool], line: int) -> list[Any]:
    """Instructions that put what `_store_stack` has stored on the stack again, and the NULLs."""
    made = []
    for place, value in enumerate(kinds):
        if value:
            made.append(Instr("LOAD_FAST", f"{prefix}stack{place}", lineno=line))
            made.append(Instr("DELETE_FAST", f"{prefix}stack{place}", lineno=line))
        else:
            made.append(Instr("PUSH_NULL", lineno=line))
    return made


def resumed_qualname(code: CodeType, line: int) -> str:
    """How Dynamo names the rest of a function that was broken at a line, qualified."""
    around = code.co_qualname.rpartition(".")[0]
    name = re.sub(r"\W", "_", code.co_name)
    return f"{around}{around and '.'}torch_dynamo_resume_in_{name}_at_{line}"


def resume_code(
    program: Program, inst: Instruction, index: int, names: tuple[str, ...], kinds: tuple[bool, ...]
) -> CodeType:
    """The code of a resume function.

    inst: what breaks; another break may have had the same code made, and named it by its line.
    index: of the instruction where it goes on.
    names: the variables that it is given.
    kinds: for each place of the stack, whether it is given a value; else a NULL is put there.
    """
    code, listed = program.code, program.facts
    info = info_of(code)
    shared = written_as(code)
    assert shared is not None
    rank = rank_of(code, index)
    offset = info.offsets[rank]
    key = (offset, names, kinds)
    known = shared.made.get(key)
    if known is not None:
        return known
    made = Bytecode()
    copy_facts(listed, made)
    made.qualname = resumed_qualname(code, inst.starts_line or code.co_firstlineno)
    stack = [f"{info.prefix}stack{place}" for place, value in enumerate(kinds) if value]
    made.argcount = len(stack) + len(names)
    others = [name for name in code.co_varnames if name not in code.co_cellvars]
    name_variables(made, [*stack, *names], others)
    made.posonlyargcount = made.kwonlyargcount = 0
    made.flags = listed.flags & ~0x0C  # no * and ** parameters
    made.cellvars = []
    made.freevars = [*listed.cellvars, *listed.freevars]
    line = opcodes.listing(code).instructions[index].starts_line or code.co_firstlineno
    if made.freevars:
        made.append(Instr("COPY_FREE_VARS", len(made.freevars), lineno=line))
    made.append(Instr("RESUME", 0, lineno=line))
    made.extend(_loaded_stack(info.prefix, kinds, line))
    label = Label()
    made.append(Instr("JUMP_FORWARD", label, lineno=line))
    at = program.places[rank]
    made.extend(program.rest[:at])
    made.append(label)
    made.extend(program.rest[at:])
    for place, item in enumerate(made):
        if isinstance(item, Instr) and (cell := _cell_of(item, listed.cellvars)) is not None:
            made[place] = Instr(item.name, FreeVar(cell), location=item.location)
    try:
        result = write_code(made, code.co_stacksize)
    except Exception as error:
        raise unimplemented(f"a resume function: {error}") from error
    # In the new code, what comes after RESUME begins with the values and the jump.
    offsets = [offset] * (len(kinds) + sum(kinds) + 1) + info.offsets
    written = weakref.ref(code) if info.written is None else info.written
    own_cells = info.own_cells | set(code.co_cellvars)
    known_as = info.function or code.co_name
    note_info(result, ResumeInfo(offsets, info.prefix, known_as, written, own_cells))
    shared.made[key] = result
    return result


def _cell_of(item: Instr, cells: list[str]) -> str | None:
    """The name of the function's own cell that an instruction takes."""
    argument: Any = item.arg
    if isinstance(argument, CellVar):
        return argument.name
    # The cell of a parameter is among the locals; from 3.13 on it is loaded like one of them.
    return argument if item.opcode in dis.haslocal and argument in cells else None
