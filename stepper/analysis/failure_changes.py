"""What to change so that a compilation does not fail, where that is known.

Most failures while tracing are graph breaks that are an error here, and what avoids the break
avoids the failure. Of the rest little is known beyond torch's own words, which are told whole.
"""

from __future__ import annotations

import builtins
import itertools
import os
import re
from collections.abc import Callable

from stepper.analysis.break_changes import CHANGES, Remedy
from stepper.analysis.break_facts import facts_of, only_marked
from stepper.analysis.break_rules import advised
from stepper.analysis.broken import Broken
from stepper.analysis.conditions import of_range
from stepper.analysis.expanded import change_of_expanded
from stepper.analysis.failures import Failed, device_of, fixed_sizes, operands, said_inside
from stepper.analysis.faked import change_of_fake
from stepper.analysis.handed_on import spelled_inside
from stepper.analysis.recompile_advice import REFUSED, advice_against
from stepper.analysis.recompiles import apart, changes_of, failed_checks
from stepper.analysis.shapes import Size
from stepper.analysis.sites import program_line, site_at
from stepper.analysis.sources import path_of
from stepper.client.text import place_text, source_line
from stepper.model.break_words import kinds_of
from stepper.model.failure import FailedStage
from stepper.model.program import Code, Instruction
from stepper.model.shapes import ShapeStepKind, Why
from stepper.model.trace import GraphBreak, headline
from stepper.recording.reader import Recording
from stepper.support import break_kinds
from stepper.support.pythons_own import is_installed

_UNSUPPORTED = "Unsupported"
_NO_MORE = "stance is 'fail_on_recompile'"
_NO_SYMBOL = re.compile(r"\b(?:got|not|NYI) Sym(?:Int|Float|Bool)\b")
"""How torch words that it was given no number, or does nothing with one."""
_NO_GRADIENT = "returned an invalid gradient at index"
_APPLIED = "autograd_function_apply"
_VIOLATED = "Constraints violated"
_SUGGESTED = re.compile(r"^ *Suggested fixes:\n((?: +\S.*(?:\n|\Z))+)", re.MULTILINE)
_SHORT = 120
"""Characters up to which torch's words are told in a sentence of ours."""
_SPECIALIZED = "specialized it to be a constant"
_ALWAYS_NUMBERS = ("0", "1")
_ANOTHER_SIZE = (
    "export it with an example input of which this size is 2 or more: one of 0 or 1 is taken for a "
    "number, whatever dynamic_shapes says"
)
_NOT_WITHIN = " not in range ["
_PENDING = "PendingUnbackedSymbolNotFound"
_DEPENDS_ON_DATA = "data-dependent expression"
_NOT_FAKE = "Please convert all Tensors to FakeTensors first"
_DEVICES = re.compile(r"found (?:two different|at least two) devices")
_MODULE = "NNModuleVariable"
_SCANNING = os.path.join("torch", "_higher_order_ops", "associative_scan.py")
_OF_NUMPY = "NumpyNdarrayVariable"

Rule = Callable[[Recording, Failed], Remedy | None]
"""Says what avoids a failure, if it knows it."""


def change_of(recording: Recording, failed: Failed) -> Remedy | None:
    """The nearest change with which it does not fail; None where none is known."""
    rules = (*RULES.values(), *WHEN_RUN.values())
    return next(filter(None, (rule(recording, failed) for rule in rules)), None)


def _broken(recording: Recording, failed: Failed) -> Remedy | None:
    """A graph break that is an error here."""
    found = _break_of(recording, failed)
    return None if found is None else advised(facts_of(recording, found))


def _break_of(recording: Recording, failed: Failed) -> GraphBreak | None:
    """The graph break that is the error; None: it is none."""
    if failed.translation is None or failed.failure.stage is not FailedStage.TRACING:
        return None
    attempts = {attempt.id for attempt in recording.attempts(failed.translation.id)}
    of_it = [each for each in recording.graph_breaks() if each.attempt in attempts]
    return of_it[-1] if of_it and not of_it[-1].resumes else None


def _leaf_returned(recording: Recording, failed: Failed) -> Remedy | None:
    """What comes of a tensor of which requires_grad_ was called is returned: Dynamo breaks at the
    return, and the call is in the graph."""
    found = _break_of(recording, failed)
    if found is None or kinds_of(found)[0] != break_kinds.LEAF_RETURNED:
        return None
    for node in recording.nodes(None, attempt=found.attempt):
        site = site_at(recording, node.moment) if node.target == "requires_grad_" else None
        if site is not None:
            where = place_text(site.line.place, recording.facts.cwd)
            return Remedy.telling(
                f"{where} calls requires_grad_ of what is computed, and what comes of that is "
                "returned: call it before the compiled function, or return what is detached"
            )
    return None


def _fixed(recording: Recording, failed: Failed) -> Remedy | None:
    """A size that is to be one that changes, and became a number, or may be some numbers only."""
    if failed.failure.stage is not FailedStage.GUARDS or failed.translation is None:
        return None
    found = fixed_sizes(recording, failed.translation)
    if not found:
        return None
    number = bool(found[0].value)
    if found[0].why is Why.EXPORT:
        dim = "None or Dim.AUTO in its place" if number else f"{_suggested(failed)}, or Dim.AUTO"
        without = f"in dynamic_shapes {dim}"
    else:
        without = "do without mark_dynamic for it, or use torch._dynamo.maybe_mark_dynamic"
    if found[0].why is Why.EXPORT and found[0].value in _ALWAYS_NUMBERS:
        return Remedy(_ANOTHER_SIZE)
    needs = "needs this size as a number" if number else "does not do for each of these sizes"
    words = f"the program {needs}: {without}; or change the line, so that any size will do"
    if bounds := _bounds(recording, found):
        words = f"the program does for some of these sizes only: {bounds}; or {without}"
    others = _met_as_number(recording, failed, found) if number else []
    if others:
        mark = f"mark {' and '.join(others)} as well, which has this size as a number there"
        words = f"{mark}; or {without}; or change the line, so that any size will do"
    return Remedy(words)


def _suggested(failed: Failed) -> str:
    """What torch's message suggests of the dimensions, in its words, where they are few."""
    found = _SUGGESTED.search(failed.failure.message)
    lines = found[1].split("\n") if found else []
    words = ", ".join(filter(None, map(str.strip, lines)))
    named = f" ({words})" if 0 < len(words) < _SHORT else ""
    return f"what torch suggests{named}"


def _bounds(recording: Recording, found: list[Size]) -> str:
    """How a size would have to be marked of which the program asks for nothing but a range; empty:
    it asks for more, or of more sizes."""
    size, symbol = found[0], found[0].symbol
    name = spelled_inside(recording, size.translation, size.source)
    tensor, _, dim = name.removesuffix("]").rpartition(".shape[")
    if len(found) > 1 or symbol is None or size.why is not Why.MARKED or not tensor:
        return ""
    if not all(map(of_range, symbol.conditions)) or not symbol.low.isdecimal():
        return ""
    most = f", max={symbol.high}" if symbol.high.isdecimal() else ""
    return f"torch._dynamo.mark_dynamic({tensor}, {dim}, min={symbol.low}{most})"


def _exported(recording: Recording, failed: Failed) -> Remedy | None:
    """A dimension that is to change, of a program that torch.export has run: which line has made it
    a number is not recorded."""
    if failed.failure.stage is not FailedStage.EXPORT or _VIOLATED not in failed.failure.message:
        return None
    number = _SPECIALIZED in failed.failure.message
    if any(f"{_SPECIALIZED} ({each})" in failed.failure.message for each in _ALWAYS_NUMBERS):
        return Remedy(_ANOTHER_SIZE)
    dim = "None or Dim.AUTO in its place" if number else f"{_suggested(failed)}, or Dim.AUTO"
    return Remedy(
        f"in dynamic_shapes {dim}; or change the program, so that any size will do: with "
        "strict=True the line that asks is recorded"
    )


def _out_of_range(recording: Recording, failed: Failed) -> Remedy | None:
    """A size that is not within the range which the program has given it."""
    if _NOT_WITHIN not in failed.failure.message:
        return None
    if failed.failure.stage is not FailedStage.EXPORT:
        return Remedy(
            "the size is outside of the range that it is marked with: give mark_dynamic another "
            "min and max, or mark only sizes that are within it"
        )
    return Remedy(
        "a size of the example inputs is outside of its Dim's range: hand over one within it, "
        "or give the Dim another min and max"
    )


def _met_as_number(recording: Recording, failed: Failed, found: list[Size]) -> list[str]:
    """The other inputs that the instruction takes which fixed a size, and that have it as a
    number, or from which what it takes has it, as x.float() has that of x."""
    marked = {path.root for size in found if (path := path_of(size.source)) is not None}
    taken = operands(recording, failed)
    if not taken:
        return []
    state = recording.state(failed.moment)
    nodes = {node.name: node for node in recording.nodes(None, attempt=state.attempt)}
    values = (state.values.get(each.value) for each in taken)
    waiting = [nodes.get(value.node) for value in values if value is not None and value.node]
    waiting += [each.input for each in taken]
    names: dict[str, None] = {}
    while waiting:
        node = waiting.pop()
        if node is None or node.meta is None:
            continue
        if found[0].value not in map(str, node.meta.shape or ()):
            continue
        path = path_of(node.source)
        if path is not None and not path.steps and path.root not in marked:
            names[path.root] = None
        waiting += [nodes.pop(name, None) for name in node.inputs]
    return [*names]


def _not_begun(recording: Recording, failed: Failed) -> Remedy | None:
    """Dynamo does not begin with a frame of this kind, a generator's for one."""
    if failed.failure.stage is not FailedStage.LOOKUP or failed.failure.exception != _UNSUPPORTED:
        return None
    return CHANGES.get(headline(failed.failure.message))


def _refused(recording: Recording, failed: Failed) -> Remedy | None:
    """One recompilation too many, or any, where that is an error: what avoids it."""
    item = failed.translation
    if item is None or failed.failure.exception not in REFUSED:
        return None
    advice = advice_against(recording, item)
    return Remedy.telling(advice[0].text) if advice else None


def _stance(recording: Recording, failed: Failed) -> Remedy | None:
    """A call that no entry serves, where nothing is to be compiled any more."""
    if failed.lookup is None or _NO_MORE not in failed.failure.message:
        return None
    words = "call it with such inputs before the stance is set, so that there is an entry for them"
    tried = [*failed_checks(recording, failed.lookup)]
    nearest = min(tried, key=lambda each: apart(changes_of(each)), default=None)
    if nearest is None or nearest.translation is None:
        return Remedy(words)
    entry, changes = recording.translation(nearest.translation), changes_of(nearest)
    sizes = [
        (spelled_inside(recording, entry, source), by)
        for source, by, _ in changes
        if by.what == "size" and by.actual not in (0, 1) and by.expected not in (0, 1)
    ]
    if len(sizes) == len(changes):
        marks = " and ".join(f"torch._dynamo.mark_dynamic({name}, {by.at})" for name, by in sizes)
        words += f"; with {marks} before that one serves every such size"
    return Remedy.telling(words)


def _number(recording: Recording, failed: Failed) -> Remedy | None:
    """A function that takes a number is given a tensor of one, and torch makes a symbol of it
    within the call, which nothing in the graph holds."""
    if failed.failure.exception != _PENDING:
        return None
    state = recording.state(failed.moment)
    values = [state.values.get(each.value) for each in operands(recording, failed)]
    inner = [state.values.get(item.value) for value in values if value for item in value.items]
    metas = [value.tensor for value in (*values, *inner) if value is not None]
    if not any(meta is not None and meta.shape == () for meta in metas):
        return None
    return Remedy("a tensor stands where the function takes a number: pass its .item()")


def _number_inside(recording: Recording, failed: Failed) -> Remedy | None:
    """A function that is one operator of the graph, as a torch.autograd.Function is, takes a number
    out of a tensor, which nothing that it returns has."""
    item, at = failed.translation, failed.place
    if failed.failure.exception != _PENDING or item is None or at is None:
        return None
    for attempt in recording.attempts(item.id)[-1:]:
        for step in recording.shape_steps(None, attempt=attempt.id):
            calls = {(frame.filename, frame.line) for frame in step.user_stack[:-1]}
            inside = (at.filename, at.line) in calls and step.why is Why.OPERATOR
            line = program_line(recording, step.moment) if inside else None
            if line is not None and step.kind is ShapeStepKind.UNBACKED:
                return Remedy(
                    f"{place_text(line.place, recording.facts.cwd)} takes a number out of a "
                    "tensor, within what is one operator of the graph: keep it a tensor there"
                )
    return None


def _rounded(recording: Recording, failed: Failed) -> Remedy | None:
    """Python's round() of what a function of numpy returns: a number, and an array without
    dimensions where it is traced."""
    if "has no attribute '__round__'" not in failed.failure.message:
        return None
    values = recording.state(failed.moment).values if failed.certain else {}
    taken = [values.get(each.value) for each in operands(recording, failed)]
    if not any(
        value is not None and value.cls == _OF_NUMPY and value.tensor and not value.tensor.shape
        for value in taken
    ):
        return None
    return Remedy(
        "what numpy makes of a number is an array where it is traced, and of that round() takes "
        "none: take the function of math (math.floor for numpy.floor), or int() of the array"
    )


def _gradient(recording: Recording, failed: Failed) -> Remedy | None:
    """The backward of a torch.autograd.Function returns what is no gradient of an argument."""
    if failed.translation is None or _NO_GRADIENT not in failed.failure.message:
        return None
    lines = [
        program_line(recording, node.moment)
        for attempt in recording.attempts(failed.translation.id)[-1:]
        for node in recording.nodes(None, attempt=attempt.id)
        if _APPLIED in node.name
    ]
    places = [place_text(line.place, recording.facts.cwd) for line in lines if line is not None]
    if not places:
        return None
    return Remedy.telling(
        f"the backward of a torch.autograd.Function ({' or '.join(dict.fromkeys(places))}) returns "
        "a gradient of another shape than the argument has: return one for each argument of "
        "forward, in its shape"
    )


def _devices(recording: Recording, failed: Failed) -> Remedy | None:
    """An operator takes tensors of two devices."""
    item = failed.translation
    if item is None or not failed.certain or not _DEVICES.search(failed.failure.message):
        return None
    values = recording.state(failed.moment).values
    modules = {value.source for value in values.values() if value.cls.endswith(_MODULE)}
    names: dict[str, list[str]] = {}
    kept = []
    for each in operands(recording, failed):
        value = values.get(each.value)
        if value is None or not (device := device_of(value, each)):
            continue
        name = spelled_inside(recording, item, value.source) if value.source else ""
        names.setdefault(device, []).append(name)
        owner, _, attribute = value.source.rpartition(".")
        if owner in modules and attribute.isidentifier():
            kept.append(name)
    if len(names) != 2:
        return None
    words = ", ".join(
        f"{' and '.join(filter(None, named)) or 'what it meets'} is on {device}"
        for device, named in sorted(names.items(), key=lambda each: not any(each[1]))
    )
    words += ": move one of them before"
    if kept:
        words += (
            f"; a module takes {kept[0]} with it (.to, .cuda) only as a buffer: register_buffer"
        )
    if "meta" in names:
        words += "; what is on meta has no data to move: make it anew elsewhere, with to_empty"
    return Remedy.telling(words)


def _symbol(recording: Recording, failed: Failed) -> Remedy | None:
    """An operator takes numbers, and one of them is a symbol."""
    if failed.failure.stage is not FailedStage.TRACING or failed.translation is None:
        return None
    if not _NO_SYMBOL.search(failed.failure.message):
        return None
    state = recording.state(failed.moment)
    values = [state.values.get(each.value) for each in operands(recording, failed)]
    of = [value for value in values if value is not None and value.cls == "SymNodeVariable"]
    if not of:
        return None
    name = spelled_inside(recording, failed.translation, of[0].source) or "the number"
    return Remedy.telling(
        f"the operator takes no symbol: hand {name} over as a tensor, or have each value of it be "
        "compiled by itself, as a number (torch.compile(dynamic=False))"
    )


def _caught(recording: Recording, failed: Failed) -> Remedy | None:
    """An error of an operator, for which the program has an `except` clause."""
    if failed.failure.stage is not FailedStage.TRACING:
        return None
    said = said_inside(failed.failure.message)
    raised = vars(builtins).get(failed.failure.exception if said is None else said[0])
    if not isinstance(raised, type):
        return None
    for site in failed.sites:
        code = recording.code(recording.frame(recording.moment(site.moment).frame).code)
        clause = None if is_installed(code.filename) else _clause(code, site.instruction, raised)
        if clause is not None:
            text = source_line(code, clause.line)
            return Remedy.telling(
                f"what an operator raises while it is traced does not get to `{text}` on line "
                f"{clause.line}: ask before whether it can be done, or leave the function "
                "uncompiled (torch.compiler.disable)"
            )
    return None


def _clause(code: Code, instruction: Instruction, raised: type) -> Instruction | None:
    """Where the `except` clause begins that handles an exception of this instruction; None: no
    clause does, or one does that is not told from what it loads."""
    if instruction.handler is None:
        return None
    rows = code.instructions[instruction.handler :]
    if rows[0].opname != "PUSH_EXC_INFO":
        return None
    rows = rows[1:]
    while rows and rows[0].opname.startswith("LOAD_"):
        loads = [*itertools.takewhile(lambda row: row.opname.startswith("LOAD_"), rows)]
        rest = [row for row in rows[len(loads) :] if row.opname != "BUILD_TUPLE"]
        if len(rest) < 2 or rest[0].opname != "CHECK_EXC_MATCH":
            return None
        for load in loads:
            caught = vars(builtins).get(load.argrepr)
            if isinstance(caught, type) and issubclass(raised, caught):
                return load
        if rest[1].target is None:
            return None
        rows = code.instructions[rest[1].target :]
    return None


def _faked(recording: Recording, failed: Failed) -> Remedy | None:
    """A function of the program's asks for a number that depends on data, and is not traced: one
    that says what an operator makes of fake tensors."""
    failure = failed.failure
    if _DEPENDS_ON_DATA not in failure.message or failure.stage is not FailedStage.TRACING:
        return None
    traced = {(place.filename, place.line) for place in failure.user_stack}
    for place in reversed(failure.raised):
        if not is_installed(place.filename) and (place.filename, place.line) not in traced:
            return Remedy(
                f"{place_text(place)} asks for the number, which runs while the operator is "
                "traced: if that is the operator's fake, take "
                "torch.library.get_ctx().new_dynamic_size() for it"
            )
    return None


def _combined(recording: Recording, failed: Failed) -> Remedy | None:
    """torch's associative_scan fails on what its function returns, or within it."""
    inside = failed.inside
    if inside is None or not inside.line.place.filename.endswith(_SCANNING):
        return None
    return Remedy(
        "associative_scan calls its function with the halves of each tensor and joins what that "
        "returns: let it return as many tensors, each with the shape and the dtype of what it is "
        "given, whatever the length along dim"
    )


def _not_fake(recording: Recording, failed: Failed) -> Remedy | None:
    """A tensor with data is computed with where there are only fake ones."""
    if _NOT_FAKE not in failed.failure.message:
        return None
    for operator, place in failed.failure.fakes:
        if f" {operator.replace('::', '.')}." in failed.failure.message:
            return Remedy.telling(
                f"{place_text(place)}, which says what {operator} returns for fake tensors, "
                "computes with a tensor that has data: make an empty one there of the result's "
                "shape and dtype (new_empty), or hand that tensor to the operator, too"
            )
    return Remedy(
        "a tensor that has data is computed with where all others are fake, as the compiler has "
        "not seen where it comes from: hand it over as an argument"
    )


def _undecided(recording: Recording, failed: Failed) -> Remedy | None:
    """A number that comes from data, or a marked size, that the program needs the value of."""
    if _DEPENDS_ON_DATA not in failed.failure.message:
        return None
    if failed.failure.stage is FailedStage.EXPORT:
        if "Could not extract" in failed.failure.message and "int(" in failed.text:
            return Remedy(
                "int() asks for the number itself: .item() in its place makes it a symbol of the "
                "exported program; or keep it a tensor"
            )
        return advised(Broken(failed.failure.exception, failed.failure.message))
    if failed.translation is None:
        return None
    state = recording.state(failed.moment)
    taken = (state.values.get(each.value) for each in operands(recording, failed))
    return advised(
        Broken(
            kind=failed.failure.exception,
            explanation=failed.failure.message,
            marked=only_marked(recording, state.attempt, failed.moment),
            opname=failed.sites[0].instruction.opname if failed.sites else "",
            operands=frozenset(value.cls for value in taken if value is not None),
        )
    )


def _if_told(remedy: Remedy, *words: str) -> Rule:
    """For a failure of which torch's message has one of these words in it."""

    def rule(recording: Recording, failed: Failed) -> Remedy | None:
        return remedy if any(each in failed.failure.message for each in words) else None

    return rule


RULES: dict[str, Rule] = {
    "faked": _faked,
    "not fake": _not_fake,
    "leaf returned": _leaf_returned,
    "graph break": _broken,
    "caught": _caught,
    "fixed size": _fixed,
    "exported": _exported,
    # An operator of which nobody has said what it makes of a fake tensor.
    "no fake": _if_told(
        Remedy("register what it returns for a fake tensor: torch.library.register_fake"),
        "There was no fake impl registered",
    ),
    "no gradient": _if_told(
        Remedy("register its gradient: torch.library.register_autograd"),
        "no autograd formula was registered",
    ),
    "rounded": _rounded,
    "devices": _devices,
    "not begun": _not_begun,
    "recompilation refused": _refused,
    "stance": _stance,
    "number": _number,
    "number inside": _number_inside,
    "symbol": _symbol,
    "gradient": _gradient,
    # Two functions given to torch.cond whose results differ in dtype, in size or in kind.
    "branches": _if_told(
        CHANGES["torch.cond: differing branch outputs"],
        "When merging two branches' output in torch.cond",
        "Unmatched output spec from torch.cond branches",
        "expected both a and b to be FakeTensor",
    ),
    # One Dim for sizes of the example inputs that differ.
    "one Dim": _if_told(
        Remedy(
            "the sizes of the example inputs differ that have one Dim: a Dim for each, or example "
            "inputs of one size"
        ),
        " is not equal to L['",
    ),
    "range": _out_of_range,
    # A mask as an index, nonzero and the like within torch.vmap.
    "mapped": _if_told(
        Remedy(
            "how many elements come out is data, which torch.vmap does not do: torch.where on the "
            "whole tensor, in place of what picks some"
        ),
        "batching operators that can support dynamic shape",
    ),
    # A number of each tensor that torch.vmap goes through, which are one tensor there.
    "mapped number": _if_told(
        Remedy("under torch.vmap a tensor has no number: keep it a tensor, without .item()"),
        "vmap over calling .item()",
    ),
    # torch.while_loop, for one, has no rule for torch.vmap.
    "not mapped": _if_told(
        Remedy(
            "what is called there does not go with torch.vmap: call it for the whole batch "
            "instead; of a loop, until all are done, with torch.where for those that are"
        ),
        "Cannot access storage of BatchedTensorImpl",
    ),
    "undecided": _undecided,
    # What a function returns takes the place of what it was given, in torch.while_loop or scan.
    "carried": _if_told(
        Remedy(
            "let the function return what it is given: as many tensors, with the same shapes, "
            "dtypes and devices"
        ),
        " to have same metadata but found:",
        " to have same number of outputs but got ",
    ),
    "written": _if_told(
        Remedy(
            "the backward needs what is written into: make a new tensor (x = x * 2 in place of "
            "x.mul_(2)), or write into a clone()"
        ),
        "modified by an inplace operation",
    ),
    # A graph break there: what follows would have to be a function of its own.
    "not resumed": _if_told(
        Remedy(
            "after a graph break Dynamo cannot go on in a coroutine or a generator: compile a "
            "plain function that it calls instead, or avoid the break, which why-break tells of"
        ),
        "Cannot generate resume function for generator, coroutine",
    ),
    # A parameter is written into where gradients are recorded.
    "leaf": _if_told(
        Remedy(
            "write into a parameter under torch.no_grad(), or keep what is only written into as a "
            "buffer (register_buffer), which requires no gradient"
        ),
        "a leaf Variable that requires grad",
    ),
    "viewed": _if_told(
        Remedy(
            "the elements do not lie in memory as the view asks: reshape in place of view, or "
            "contiguous() before it"
        ),
        "Cannot view a tensor with shape",
    ),
    # Nested tensors of equal offsets, which are not the same tensor.
    "ragged": _if_told(
        Remedy(
            "nested tensors go together only if they have their offsets in common, not equal ones: "
            "torch.nested.nested_tensor_from_jagged(values, offsets=other.offsets())"
        ),
        "cannot call binary pointwise function",
    ),
    "nothing to run": _if_told(
        Remedy("let the backend return what runs the graph: gm.forward, or a function of its own"),
        "compiler_fn did not return callable",
    ),
    # mark_dynamic, for one.
    "forbidden": _if_told(
        Remedy("call it before the compiled function: it is not allowed inside"),
        "Attempt to trace forbidden callable",
    ),
    # The sizes of what torch's associative_scan cuts and joins by itself.
    "combined": _combined,
    "expanded": change_of_expanded,
    "fake behind": change_of_fake,
}
"""In the order in which they are asked."""

WHEN_RUN: dict[str, Rule] = {
    # create_graph=True, of what AOTAutograd has made the backward of.
    "twice": _if_told(
        Remedy(
            "AOTAutograd's backward has none of its own: take the first derivative inside of what "
            "is compiled (torch.func.grad), or compile it with a backend without AOTAutograd "
            '(backend="eager")'
        ),
        "does not currently support double backward",
    ),
    # retain_graph=True, where the backward was made to use the memory of what is kept for it.
    "donated": _if_told(
        Remedy(
            "torch._functorch.config.donated_buffer = False before the first call; or ask once for "
            "all gradients, without retain_graph and create_graph"
        ),
        "compiled with non-empty donated buffers",
    ),
    # The gradient of a result that is a tensor subclass comes as another class.
    "tangent": _if_told(
        Remedy(
            "a gradient came in of another class, or with other metadata, than what was returned: "
            "hand backward() one that is like it, or compute the loss from it; return what needs "
            "no gradient as .detach()"
        ),
        "metadata incorrectly",
    ),
    # A backward hook of a module in what is compiled, with torch's setting for those.
    "compiled autograd": _if_told(
        Remedy(
            "compiled autograd is at work where backward() is called in a compiled function: call "
            "it in one (the step of the training as a whole), or do without backward hooks"
        ),
        "BackwardState requires CompiledAutograd",
    ),
}
"""Rules for what compiled code raises when it runs."""
