"""Which change is advised where a graph breaks because something depends on data.

A tensor becomes a number, its size is known by its data only, or the program decides by what it
holds. Dynamo has settings that make symbols of such numbers and sizes: a rule here says where no
symbol would do, and what to write instead. They are asked among those of `break_rules`, once it is
known that the line is the program's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from stepper.analysis.break_changes import (
    ASSERTED,
    CHANGES,
    IN_ORDER,
    INDEX,
    NO_META,
    ROUNDS,
    Remedy,
)
from stepper.analysis.broken import NUMBER, SUBSCRIBES, Broken
from stepper.support import break_kinds

_JUMP_ON_CONSTANT = "attempted to jump with ConstantVariable("
_RAISE = "RAISE_VARARGS"
_JUMP_ON_SYMBOL = "attempted to jump with SymNodeVariable()"
_UNBIND = re.compile(r"\.unbind\Z")
_RANGE = "range()"
"""How Python takes a number for which a loop goes round so often."""
_NO_TYPE = "Unsupported python_type() call"
_ITEM = "aten._local_scalar_dense.default"
"""The only operator of that kind whose number can be a symbol."""
_WITHOUT_META = frozenset(
    {"aten.linalg_lstsq.default", "aten._ctc_loss.default", "aten._ctc_loss.Tensor"}
)
"""Operators of that kind that break with its setting, too."""
_NO_NUMBER = "Could not extract specialized integer from data-dependent"
DECIDING = frozenset({"gaussian_nll_loss"})
"""Functions of torch.nn.functional that decide by what is in their arguments."""
_TENSORS = frozenset({"TensorVariable", "LazyVariableTracker"})
_MATH = re.compile(r"G\['(?:__import_\w+'\]\.)?(?:__import_)?math(?:'\])?\.")
_OF_TENSORS = "unimplemented builtin op on tensor arguments"


def _does_not_hold(broken: Broken) -> Remedy | None:
    """An assertion of a condition that is known while tracing, and false."""
    jumps = broken.kind == break_kinds.BRANCHES and broken.context.startswith(_JUMP_ON_CONSTANT)
    raises = broken.opname == _RAISE and broken.first_word == "assert"
    if not jumps and not raises:
        return None
    return ASSERTED


def _mapped(broken: Broken) -> Remedy | None:
    """A tensor becomes a number where torch.vmap has one tensor for all of its calls."""
    if not broken.mapped or broken.kind not in NUMBER:
        return None
    return Remedy(
        "torch.vmap has no number for one of its calls, without torch.compile neither: keep the "
        "value a tensor; of a tensor that it does not map, take .item() before the compiled "
        "function"
    )


def _differentiated(broken: Broken) -> Remedy | None:
    """A tensor becomes a number in a torch.autograd.Function, whose graph hands on no symbol: the
    setting that makes one is an error there."""
    if not broken.differentiated or broken.kind not in NUMBER:
        return None
    return Remedy(
        "keep the value a tensor: within a torch.autograd.Function no setting makes it a symbol"
    )


def _check(broken: Broken) -> Remedy | None:
    """A condition on data, or a number, that only decides whether to raise."""
    if broken.kind not in {break_kinds.BRANCHES, *NUMBER} or not broken.checks:
        return None
    return Remedy(
        "put the check into the graph: torch._assert_async(condition, message), where the "
        "condition is a tensor that has to be true (torch.logical_not in place of `not`), and the "
        "message a constant"
    )


def _random_number(broken: Broken) -> Remedy | None:
    """A number drawn by numpy, or one that Python has drawn, by which the program decides."""
    module, name = broken.function
    of_numpy = broken.kind == break_kinds.OPERATOR and ".random." in broken.called
    of_numpy = of_numpy or module.startswith("numpy.random")
    of_python = module == "<unknown module>" and name.startswith("Random.")
    decides = broken.decides or broken.ends_a_loop or broken.asks
    if decides and (of_numpy or of_python):
        return Remedy(
            "draw it before the compiled function, and hand over what is decided by it: each side "
            "gets an entry"
        )
    words = "draw it with torch.rand and its like, or before the compiled function"
    return Remedy(words) if of_numpy else None


def _loop(broken: Broken) -> Remedy | None:
    """A loop, `while` or `for`, that goes on or ends by data."""
    ends = broken.ends_a_loop or broken.asks == "while"
    if not ends or broken.kind not in {break_kinds.BRANCHES, *NUMBER}:
        return None
    return Remedy(
        "how often the loop runs depends on data: compile one round of it, with the loop around "
        "that; or run it a fixed number of times, with torch.where for those that are too many"
    )


def _one_round(broken: Broken) -> Remedy | None:
    """Data decides within a `while` loop, which likely goes on by what comes of it."""
    if broken.around != "while" or broken.kind not in {break_kinds.SHAPED, *NUMBER}:
        return None
    return Remedy(
        "a break in a loop leaves the whole function uncompiled, and the next round may break "
        "elsewhere: compile one round of it, with the loop around that"
    )


def _rounds(broken: Broken) -> Remedy | None:
    """`for` over a range whose length comes from data."""
    # What stands beside a range, as in zip(), or in the loop's body on its line, is another number.
    if broken.first_word != "for" or broken.kind not in NUMBER or broken.taken != _RANGE:
        return None
    return ROUNDS


def _range_of_symbols(broken: Broken) -> Remedy | None:
    """A range that is handed over: once an end of it has changed, it is made of symbols."""
    if broken.kind != _NO_TYPE or broken.opname != "GET_ITER" or "range" not in broken.types:
        return None
    return Remedy(
        "of a range that is another one in the second call Dynamo makes symbols, and cannot go "
        "through it: hand over a list of it, or the number, with range() inside"
    )


def _of_an_input(broken: Broken) -> Remedy | None:
    """Python itself takes a number that is all that an input holds: with the setting, it is a
    symbol with the value of the call."""
    needed = broken.decides or broken.indexes or broken.taken
    if broken.kind not in NUMBER or not broken.of_input or not needed:
        return None
    words = (
        "the number is all that an input of the function holds: hand it over as a number of "
        "Python, with .item() before the call, which gets an entry for each value that is needed"
    )
    if not broken.can.dynamo_config:  # the setting makes it a symbol without a value there
        return Remedy(words)
    setting = CHANGES[broken.kind].setting
    return Remedy(f"{words}; or {{setting}}, with which it gets those, too", setting)


def _decision(broken: Broken) -> Remedy | None:
    """A tensor becomes a number, and the program decides by it: as a symbol, it would break there,
    too."""
    if broken.kind not in NUMBER:
        return None
    if broken.asks in ("if", "elif"):
        what = "the statement decides on data"
    elif broken.decides:
        what = "the program decides by what comes of this, which is data"
    else:
        return IN_ORDER if broken.orders else INDEX if broken.indexes else None
    return Remedy(
        f"{what}: without the number, decide on tensors with torch.where (both sides computed), or "
        "torch.cond for two functions"
    )


def _taken(broken: Broken) -> Remedy | None:
    """A tensor becomes a number, which Python itself takes: a symbol would not do there."""
    if broken.kind not in NUMBER or not broken.taken:
        return None
    return Remedy.telling(
        f"Python itself takes the number, which is data ({broken.taken}), and no setting helps: "
        "use a function of torch's on the tensor, where there is one; or return the tensor, and do "
        "that with its number outside of the compiled function"
    )


def _python_value(broken: Broken) -> Remedy | None:
    """An operator that returns a Python value, and not by way of a tensor."""
    if broken.kind != break_kinds.OPERATOR or broken.context in {"", _ITEM}:
        return None
    return Remedy(
        "no setting makes a symbol of what this operator returns: use tensors, for torch.equal "
        "(a == b).all(), for torch.allclose torch.isclose(a, b).all()"
    )


def _negation(broken: Broken) -> Remedy | None:
    """`not` of a tensor: Python's own, which returns no tensor. As a symbol, the number would break
    there, too."""
    if broken.opname != "UNARY_NOT" or broken.kind not in {
        break_kinds.BRANCHES,
        break_kinds.OPERATOR,
        break_kinds.NO_TENSOR,
    }:
        return None
    return Remedy("torch.logical_not of the tensor, instead of `not`")


def _without_meta(broken: Broken) -> Remedy | None:
    """An operator whose result has no fixed size, and of which torch knows no more."""
    if broken.kind != break_kinds.SHAPED or broken.context not in _WITHOUT_META:
        return None
    return Remedy(NO_META)


def _size_decides(broken: Broken) -> Remedy | None:
    """The program decides by how many elements an operator leaves: as a symbol, the size would
    break there."""
    if broken.kind != break_kinds.SHAPED or not broken.decides:
        return None
    return Remedy(
        "the program decides by how many elements come out, which is data: with its setting it "
        "breaks or fails at that line; count with tensors (mask.sum()), and decide with "
        "torch.where (both sides computed), or torch.cond for two functions"
    )


def _size_taken(broken: Broken) -> Remedy | None:
    """Python itself takes how many elements an operator leaves, where no symbol would do."""
    if broken.kind != break_kinds.SHAPED or not (broken.indexes or broken.taken):
        return None
    how = "to find an element by it" if broken.indexes else broken.taken
    return Remedy.telling(
        f"Python itself takes how many elements come out, which is data ({how}): its setting moves "
        "the break there; count with tensors (mask.sum()), and use functions of torch's on that, "
        "or do it outside of the compiled function"
    )


def _size_counts(broken: Broken) -> Remedy | None:
    """A loop over the elements that an operator leaves: as a symbol, their number would break
    there."""
    if broken.kind != break_kinds.SHAPED or not broken.counts:
        return None
    return Remedy(
        "a loop has as many rounds as elements come out, which is data: its setting moves the "
        "break to that loop; do it with tensors as a whole (torch.where in place of what picks "
        "some), or have the loop outside of the compiled function"
    )


def _next_break(broken: Broken) -> Remedy | None:
    """What goes on after the break breaks before it computes anything: one graph less needs both
    to go."""
    if not broken.next_break or broken.opname in SUBSCRIBES:
        return None  # what can stand in the place of an index needs no setting
    return Remedy.telling(
        f"torch._dynamo.config.{CHANGES[broken.kind].setting} = True alone only moves the break to "
        f"{broken.next_break}, where the graph breaks next, before anything is computed: change "
        "that, too; or do both outside of the compiled function, with what it returns"
    )


def _bound(broken: Broken) -> Remedy | None:
    """A slice is taken that a tensor bounds: Python's own number, or a symbol."""
    if broken.kind not in NUMBER or not broken.opname.endswith("_SLICE"):
        return None
    return Remedy(
        "a slice takes its bounds as numbers: pick by a mask, which keeps the size (torch.where, "
        "with torch.arange(…) < it); of an input, hand over its .item(); or, where the program "
        "decides nothing by the size, {setting}, which makes it a symbol",
        CHANGES[broken.kind].setting,
    )


def _output_size(broken: Broken) -> Remedy | None:
    """An operator whose result has the size that it is told, if it is told one."""
    if broken.kind != break_kinds.SHAPED or broken.context != "aten.repeat_interleave.Tensor":
        return None
    return Remedy(
        "pass output_size, the number of elements that come out, where that is known; or {setting}",
        CHANGES[break_kinds.SHAPED].setting,
    )


def _marked(broken: Broken) -> Remedy | None:
    """A condition on a size that has no value because the program has marked it so."""
    if not broken.marked:
        return None
    return Remedy(
        "the program decides by a size that is marked by mark_unbacked: with mark_dynamic instead, "
        "each side of the condition gets an entry; of what always holds, torch._check"
    )


def _torch_decides(broken: Broken) -> Remedy | None:
    """A function of torch's decides by data before it computes, in Python that Dynamo does not
    trace."""
    function = broken.called.rpartition(".")[2]
    if function not in DECIDING:
        return None
    return Remedy(
        f"torch's own {function} decides by data whether to raise, and no setting helps: write out "
        "what it computes, without that check; or call it outside of the compiled function"
    )


def _undecided(broken: Broken) -> Remedy | None:
    """A condition on a symbol that comes from data."""
    jumps = broken.kind == break_kinds.BRANCHES and broken.context == _JUMP_ON_SYMBOL
    if not jumps and "Could not guard on data-dependent expression" not in broken.explanation:
        return None
    return Remedy(
        "the program decides by a number that comes from data: decide on tensors with torch.where "
        "or torch.cond; of what always holds, torch._check"
    )


def _nested(broken: Broken) -> Remedy | None:
    """A nested tensor is taken apart."""
    nested = broken.kind == break_kinds.OPERATOR or "(NestedTensor)" in broken.context
    apart = _UNBIND.search(broken.called) or _UNBIND.search(broken.calls)
    if not nested or not apart:
        return None
    return Remedy(
        "how long the parts of a nested tensor are is data: take it apart before the compiled "
        "function, and hand over the parts; or work on it as a whole"
    )


def _index(broken: Broken) -> Remedy | None:
    """A tensor of no dimensions as an index of a tensor: torch reads it as a number."""
    symbol = _NO_NUMBER in broken.explanation
    if (not symbol and broken.kind != break_kinds.OPERATOR) or broken.opname not in SUBSCRIBES:
        return None
    if not broken.operands or not broken.operands <= _TENSORS:
        return None
    return Remedy(  # with the setting, the symbol that it would be breaks the graph there
        "an index that is a tensor without dimensions is read as a number: take index_select(0, "
        "index), or keep a dimension in the index, [:1] in place of [0]"
    )


def _as_number(broken: Broken) -> Remedy | None:
    """A symbol that comes from data stands where Python needs a number."""
    if _NO_NUMBER not in broken.explanation:
        return None
    return Remedy(
        "Python needs a number here that comes from data (how often a loop runs, how many elements "
        "there are): do it with tensors as a whole, or outside of the compiled function"
    )


def _mathematics(broken: Broken) -> Remedy | None:
    """A function of Python's module math takes a tensor."""
    if broken.kind != break_kinds.OPERATOR or not _MATH.match(broken.called):
        return None
    return Remedy("use the function of torch instead of that of math")


def _drawn(broken: Broken) -> Remedy | None:
    """A number that Python has drawn is a tensor in the graph, and the operator takes none, nor
    would it take a symbol of that."""
    of_tensors = broken.kind == _OF_TENSORS and "UnspecializedPythonVariable" in broken.context
    if not of_tensors and not (broken.drawn and broken.kind in NUMBER):
        return None
    return Remedy(
        "a number from the module random is a tensor for Dynamo, with which this cannot be done: "
        "draw it before the compiled function, and hand it over"
    )


_IN_VAIN = (_python_value, _without_meta, _negation, _differentiated)


def is_in_vain(broken: Broken) -> bool:
    """Whether the setting of a kind of break does not avoid this one."""
    return any(rule(broken) for rule in _IN_VAIN)


RULES: dict[str, Callable[[Broken], Remedy | None]] = {
    "does not hold": _does_not_hold,
    "torch decides": _torch_decides,
    "vmap": _mapped,
    "autograd.Function": _differentiated,
    "check": _check,
    "random number": _random_number,
    "drawn": _drawn,
    "loop": _loop,
    "round": _one_round,
    "range": _rounds,
    "range of symbols": _range_of_symbols,
    "number of an input": _of_an_input,
    "decision": _decision,
    "taken": _taken,
    "Python value": _python_value,
    "negation": _negation,
    "no meta": _without_meta,
    "size decides": _size_decides,
    "size counts": _size_counts,
    "size taken": _size_taken,
    "next break": _next_break,
    "bound": _bound,
    "output size": _output_size,
    "marked": _marked,
    "undecided": _undecided,
    "nested tensor": _nested,
    "index": _index,
    "as a number": _as_number,
    "math": _mathematics,
}
"""In the order in which they are asked."""
