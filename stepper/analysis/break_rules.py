"""Which change is advised on a graph break: the first rule that knows one.

Dynamo's name for the kind of break decides in most cases (`break_changes`). A rule here looks at
more that was recorded: the function that is called, the statement, what the program does when the
condition does not hold, and whether the line is the program's or a library's, which nobody edits.
Those about what comes from the data of a tensor are in `data_rules`.
The bench (`tests/answers`) has a program for each rule, and one for which it would be wrong.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable

from stepper.analysis import data_rules
from stepper.analysis.break_changes import BACKWARD, CHANGES, FROM_OUTSIDE, ROUNDS, Remedy
from stepper.analysis.broken import Broken
from stepper.support import break_kinds

_BUILTIN = re.compile(r"builtin operator `(\w+)` with argument types \[(.*)\] \(has_kwargs (\w+)\)")
_PRINTED = frozenset({"str", "int", "float", "bool", "NoneType", "Tensor", "Parameter", "dtype"})
"""Types of arguments of which Dynamo can print the value after the graph."""
_THAT_WAIT = frozenset(
    {"ConstantVariable", "LazyConstantVariable", "StringFormatVariable", "TensorVariable"}
)
"""The trackers of such arguments."""
_OF_TENSORS = "StringFormatVariable"
"""The tracker of a text with what is known only when the graph has run."""
_ENTERING = ".enter_context("
_FUNCTIONAL = re.compile(r"\.autograd\.functional\.(hessian|jacobian)\Z")
_OF_FUNC = {"jacobian": "jacrev"}
"""What the same is called in torch.func, where that is another name."""
_OF_TORCH = re.compile(r"filename: `[^`]*[/\\]site-packages[/\\]torch[/\\]")
_LOGGER = re.compile(r"method: <Logger ([\w.]+) \(\w+\)>\.(\w+), args: ")
_ASKING = frozenset({"isEnabledFor", "getEffectiveLevel", "hasHandlers"})
"""Methods of a logger with which nothing is logged."""
_OF_BACKEND = re.compile(r"Backend: (inductor|aot_eager\w*)\s+Exception:(aten\.[\w.]+)\s")
"""How Dynamo's words on a backend begin that has AOTAutograd in it, and lacks an operator."""
_WAITS = (
    "ASYNC_GEN_WRAP ",
    "BEFORE_ASYNC_WITH ",
    "GET_AITER ",
    "GET_ANEXT ",
    "GET_AWAITABLE ",
)
"""How what Dynamo says of an instruction that it does not know begins, where that is of a
coroutine."""
_NO_QUANTIZED = "quantized nyi in meta tensors"
_QUANTIZATION = re.compile(r"\bmodule: torch\.ao\.quantization\b|/torch/ao/quantization/")
_METHOD = re.compile(r"^call_method \S+ (\w+)(?: |\Z)")
_FILES = r"(?:TextIOWrapper|Buffered\w+|FileIO)"
_OF_A_FILE = re.compile(rf"^call_method \w+\({_FILES}\) ")
_WRITING = re.compile(rf"{_OF_A_FILE.pattern}(?:write|writelines|flush)(?: |\Z)")
_OPENED = re.compile(rf" enter a `{_FILES}` context manager")
_OF_A_GENERATOR = re.compile(r"call_method \w+\(Generator\) (\w+)(?: |\Z)")
_DRAWING = frozenset(
    {
        "beta", "binomial", "choice", "exponential", "gamma", "integers", "normal", "permutation",
        "poisson", "random", "shuffle", "standard_normal", "uniform",
    }
)  # fmt: skip
"""Methods of numpy's random generators; those of torch's have other names."""
_CACHED = "cached_property.__get__"
_NAMING = "_get_name"
"""The function with which torch.vmap asks for a name, for what it may have to say."""
_APPLY = "AutogradFunctionVariable(), apply"
_NAMESPACE = "<class 'types.SimpleNamespace'>"
_OPERATIONS = frozenset(
    {
        "Cannot trace user-defined __len__",
        "Missing tp_iternext",
        "Untraceable C tp_richcompare",
        "missing sq_contains",
        "missing tp_iter",
        "missing_mp_ass_subscript",
        "missing_mp_subscript",
        "untraceable user-defined __repr__",
        "vectorcall_maybe on C method descriptor",
    }
)
"""Kinds where what is done with an object is in C, or missing."""
_OPERATORS = ("HOP", "torch.cond:", "torch.while_loop:", "strict_mode:")
"""How the names of kinds begin that are about the functions which a higher-order operator is given:
there the line is torch's, and the program's own is what to change."""
_DISABLED_ONE = re.compile(r"<function (\S+) at 0x")
"""How Dynamo names what is disabled."""
_DISABLED = frozenset(
    {
        "Skip calling `torch.compiler.disable()`d function",
        "Skip inlining `torch.compiler.disable()`d function",
    }
)


def advised(broken: Broken) -> Remedy | None:
    """The nearest change that avoids a break, of what the compiler heeds; None where none is
    known."""
    rule = rule_of(broken)
    found = RULES[rule](broken) if rule else None
    heeded = None if found is None else found.heeded_by(broken.can)
    if heeded is None and broken.hint:
        return Remedy.telling(broken.hint)
    return heeded


def rule_of(broken: Broken) -> str:
    """The name of the rule that advises; empty: none does."""
    of_torch = broken.around_module or _quantized(broken)
    if broken.unreached and not (of_torch or _about_what_is_called(broken.kind)):
        # There is nothing of the program's to change but what torch is set to.
        return _UNREACHED if RULES[_UNREACHED](broken) is not None else ""
    return next((name for name, rule in RULES.items() if rule(broken) is not None), "")


def _about_what_is_called(kind: str) -> bool:
    """Whether the words on a kind hold where the line is a library's, too."""
    return kind in FROM_OUTSIDE or kind in _DISABLED or kind.startswith(_OPERATORS)


def _made_anew(broken: Broken) -> Remedy | None:
    """What is needed after another break cannot be made for the rest of the function."""
    if not broken.comes_of_another:
        return None
    return Remedy(
        "avoid the break that it comes of; or use up what cannot be made before that line, or make "
        "it after"
    )


def _builtin_called(broken: Broken) -> re.Match[str] | None:
    """Which of Python's builtin functions is called; with which arguments."""
    return _BUILTIN.search(broken.explanation) or _BUILTIN.search(broken.context)


def _printing(broken: Broken) -> Remedy | None:
    """A call of print."""
    said = _builtin_called(broken)
    if said is None or said[1] != "print":
        return None
    types = set(re.findall(r"'([^']+)'", said[2]))
    # Of keywords Dynamo does not say which: `file` is one that it cannot leave for later.
    if said[3] == "True" or not types <= _PRINTED:
        return Remedy("print outside of the compiled function")
    tensors = "Tensor" in types or _OF_TENSORS in broken.operands
    return Remedy(
        "print outside of the compiled function; or {reordering}, which prints after the graph"
        + ", and of a tensor what it holds then" * tensors,
        reordered="print",
    )


_BUILTINS = {
    "range": ROUNDS,  # it takes nothing but whole numbers, so a tensor here
    "breakpoint": Remedy("stepper.breakpoint() stops without a break"),
    "input": Remedy("ask before the compiled function"),
    "open": Remedy("read or write files outside of the compiled function"),
    "exec": Remedy("write the code out, or run it outside of the compiled function"),
}


def _builtin(broken: Broken) -> Remedy | None:
    """A call of one of Python's builtin functions."""
    said = _builtin_called(broken)
    if said is None or not hasattr(builtins, said[1]):
        return None
    return _BUILTINS.get(said[1]) or Remedy(f"call {said[1]} outside of the compiled function")


_BY_PERCENT = "unsupported operand type(s) for %: 'str' and "
_LACKING = {
    "DataPtrVariable": (
        "the address of a tensor is no number while it is translated: decide by it before the "
        "compiled function, and pass what follows from it"
    ),
    "StringFormatVariable": (
        "a text with a tensor or another object in it is none while it is translated: make it "
        "outside of the compiled function"
    ),
}
"""Values of which Dynamo has no more than where they come from, by their trackers: it raises what
Python raises for an object that cannot do that, and the program would not."""


def _lacking(broken: Broken) -> Remedy | None:
    """An exception that only Dynamo raises, since it does not know a value."""
    if broken.kind != break_kinds.RAISED:
        return None
    if "SymNodeVariable" in broken.operands and _BY_PERCENT in broken.context:
        return Remedy(
            "Dynamo writes no number into a text by % that is a symbol: use an f-string, for which "
            "it takes the number of this call, or make the text outside of the compiled function"
        )
    lacking = [each for each in _LACKING if each in broken.operands]
    return Remedy(_LACKING[lacking[0]]) if lacking else None


def _made_without(broken: Broken) -> Remedy | None:
    """What an object lacks may be set by the `__call__` of its metaclass."""
    if not broken.metaclass:
        return None
    return Remedy.telling(
        f"Dynamo makes an object without the __call__ of its class's class, {broken.metaclass}: if "
        "that is what sets the attribute, make the object before the compiled function"
    )


def _packed(broken: Broken) -> Remedy | None:
    """A recurrent module is called where there is a packed sequence: with its setting, the graph
    breaks within it all the same."""
    if broken.kind != break_kinds.RECURRENT or "PackedSequence" not in broken.types:
        return None
    return Remedy(
        "Dynamo takes no packed sequence apart, with allow_rnn neither: keep the module, and what "
        "packs for it, outside; or hand it the padded tensor"
    )


def _warning(broken: Broken) -> Remedy | None:
    """A call of warnings.warn."""
    if broken.function not in {("_warnings", "warn"), ("warnings", "warn")}:
        return None
    # Nothing but tensors and constants can wait: no category, which is a class.
    if not broken.operands <= _THAT_WAIT:
        return Remedy("warn outside of the compiled function")
    return Remedy(
        "warn outside of the compiled function; or {reordering}, which warns after the graph",
        reordered="warnings.warn",
    )


def _logging(broken: Broken) -> Remedy | None:
    """A logger's method is called."""
    said = _LOGGER.match(broken.context)
    if said is None or (said[2] in _ASKING and broken.library):
        return None
    if said[2] in _ASKING:
        return Remedy("ask the logger before the compiled function, and hand over what it says")
    ignored = (
        "torch._dynamo.config.ignore_logging_functions.add("
        f"logging.getLogger({said[1]!r}).{said[2]}), and nothing is logged from compiled code"
    )
    return Remedy.telling(
        ignored if broken.library else f"log outside of the compiled function; or {ignored}"
    )


def _clock(broken: Broken) -> Remedy | None:
    """A function of the module time."""
    module, name = broken.function
    if module != "time":
        return None
    if name == "sleep":
        return Remedy("wait outside of the compiled function")
    if broken.asks:
        return Remedy(
            "the statement decides by the clock, which no graph has: decide outside of the "
            "compiled function, or by a number of rounds"
        )
    return Remedy("measure around the call of the compiled function")


def _disabled_by_torch(broken: Broken) -> Remedy | None:
    """What is disabled is torch's own."""
    if not broken.of_torch or broken.kind not in _DISABLED:
        return None
    return Remedy("torch itself disables it: call it before or after the compiled function")


def _handed_over(broken: Broken) -> Remedy | None:
    """A library calls a function that is disabled: a hook, a method of the program's class."""
    if not broken.library or broken.kind not in _DISABLED:
        return None
    named = _DISABLED_ONE.match(broken.context)
    which = named[1] if named else "the function"
    return Remedy(
        f"remove torch.compiler.disable from {which}, if it is the program's; if it is a "
        "library's, take {source} out of the compiled function",
        source=broken.leads_there,
    )


def _around_a_module(broken: Broken) -> Remedy | None:
    """What breaks is torch's, around a module of the program's."""
    what = broken.around_module
    if not (what and broken.library):
        return None
    inner = " (of several, one in another, the innermost)" if what == _OF_EACH_PART else ""
    return Remedy(
        f"what breaks is of {what}: compile the module that it is given, before{inner}: "
        f"{what}(torch.compile(module))"
    )


def _quantized(broken: Broken) -> Remedy | None:
    """torch's quantization in eager mode: Dynamo skips what observes, and has no fake tensor of
    what is quantized."""
    said = _NO_QUANTIZED in broken.context or _QUANTIZATION.search(broken.context)
    if not (said or (broken.library and broken.quantizes and broken.can.dynamo_config)):
        return None
    return Remedy(
        "Dynamo makes no graph of torch's quantization in eager mode (torch.ao), and no setting "
        "changes that: compile what lies between its modules"
    )


def _method_called(broken: Broken) -> str:
    """The method that is called of an object which Dynamo has no model of; empty: there is none."""
    said = _METHOD.search(broken.context) if broken.kind == break_kinds.METHOD else None
    return "" if said is None else said[1]


def _manager(broken: Broken) -> Remedy | None:
    """A function or a class of torch's that makes a context manager, where that is entered; or a
    method that is called by entering an object."""
    enters = _method_called(broken) in ("__enter__", "__exit__") and not _calls_a_file(broken)
    there = broken.first_word == "with" and (broken.kind == break_kinds.NO_TENSOR or enters)
    leads_there = broken.of_compiler and broken.leads_there.lstrip().startswith("with ")
    made = broken.kind == break_kinds.INLINED and _OF_TORCH.search(broken.context)
    return CHANGES[break_kinds.MANAGER] if there or (leads_there and made) else None


def _entered(broken: Broken) -> Remedy | None:
    """A context manager of torch's that the program has a contextlib.ExitStack enter."""
    if not (broken.library and broken.of_torch and _ENTERING in broken.leads_there):
        return None
    return Remedy(
        "enter it by a with statement, which is followed: an ExitStack calls its __enter__ as "
        "any other function"
    )


def _asked_by_a_library(broken: Broken) -> Remedy | None:
    """A library asks for the break itself, as torch's optimizers do."""
    if not broken.library or broken.kind != break_kinds.ASKED:
        return None
    return Remedy(
        "leave it: the library asks for this break itself, as torch's optimizers do, and compiles "
        "what lies behind it in a graph of its own"
    )


def _awaited(broken: Broken) -> Remedy | None:
    """A coroutine waits, here or in a library: Dynamo has no model of any way to do that."""
    if broken.kind != break_kinds.INSTRUCTION or not broken.context.startswith(_WAITS):
        return None
    return Remedy(
        "no compiler follows await, async for or async with: wait outside of the compiled "
        "function, and compile a plain function that is called between the waits"
    )


def _inside_library(broken: Broken) -> Remedy | None:
    """The line is a library's: what the program can change is its own call."""
    copies = broken.kind in _COPYING and "copy" not in broken.leads_there  # asdict, say
    if broken.of_compiler and broken.kind in _OF_A_BUILTIN:
        return None
    if not broken.library or (_about_what_is_called(broken.kind) and not copies):
        return None
    setting = "" if broken.decides else _setting(broken)
    whose = "" if broken.of_compiler else "the line is a library's: "
    words = f"{whose}take {{source}} out of the compiled function, or do without"
    if broken.within == _CACHED:
        words = (
            "a cached property takes a lock when it is first read of an object: read it once "
            "before the compiled function, or take {source} out of that"
        )
    # What the library does next is not known where Dynamo has not gone on with it.
    unless = _ONLY_COMPUTED.get(setting, "")
    return Remedy(
        f"{words}; or{unless} {{setting}}" if setting else words, setting, source=broken.leads_there
    )


def _mapped_method(broken: Broken) -> Remedy | None:
    """torch.vmap of the apply of a torch.autograd.Function, of which it asks for the name."""
    if not (broken.library and broken.within == _NAMING and _APPLY in broken.context):
        return None
    return Remedy(
        "torch.vmap asks for the name of what it is given, which the compiler does not know of the "
        "apply of a torch.autograd.Function: give it a function that calls that, e.g. a lambda"
    )


def _unreached(broken: Broken) -> Remedy | None:
    """The line is a library's, and so is the function that is compiled: torch can be set."""
    setting = _setting(broken) if broken.unreached and not broken.decides else ""
    if not setting:
        return None
    words = "nothing in the program but a setting, as the function that is compiled is a library's"
    return Remedy(f"{words}, too{_ONLY_COMPUTED.get(setting, ':')} {{setting}}", setting)


def _of_each(broken: Broken) -> Remedy | None:
    """any() or all() of tensors, for which Dynamo has a loop of its own."""
    called = _OF_EACH.search(broken.leads_there) if broken.kind == break_kinds.BRANCHES else None
    if not broken.library or called is None or broken.statement.strip() not in _EACH:
        return None
    return Remedy(
        f"{called[1]}() decides by each of its tensors: have them in one, with torch.stack, and "
        f"take .{called[1]}() of that; then decide on tensors with torch.where"
    )


def _of_torch_without_fake(broken: Broken) -> Remedy | None:
    """An operator of torch's own that takes no fake tensors: no program is to say what it gives."""
    if broken.kind != _WITHOUT_FAKE or "unsupported operator: aten." not in broken.context:
        return None
    dense = ", or compute the same of tensors that are not sparse"
    return Remedy(
        "torch itself does not know what this operator of its own gives for these tensors: call it "
        f"outside of the compiled function{dense if '_sparse_' in broken.context else ''}"
    )


def _untraced_by_autograd(broken: Broken) -> Remedy | None:
    """An operator that AOTAutograd comes to, and that takes no fake tensors: one that only the
    gradient needs, mostly. Each backend that begins with AOTAutograd fails there."""
    said = _OF_BACKEND.match(broken.context)
    if broken.kind != break_kinds.BACKEND or said is None:
        return None
    return Remedy(
        f"AOTAutograd, which {said[1]} begins with, cannot trace {said[2]}: call what needs that "
        "outside of the compiled function, or compile with a backend without AOTAutograd "
        '(backend="eager")'
    )


def _drawn_by_numpy(broken: Broken) -> Remedy | None:
    """A random number of numpy's."""
    of_a_state = broken.kind == _OF_NUMPY and " of RandomState(" in broken.explanation
    said = _OF_A_GENERATOR.match(broken.context) if broken.kind == break_kinds.METHOD else None
    of_module = broken.function[0].startswith("numpy.random")
    if not of_a_state and not of_module and (said is None or said[1] not in _DRAWING):
        return None
    return Remedy(
        "draw it before the compiled function, and hand it over as a tensor; or draw it with torch "
        "(torch.rand, torch.randn)"
    )


def _opaque_function(broken: Broken) -> Remedy | None:
    """A function that Dynamo does not look into: what is told of it says whose it is."""
    module, _ = broken.function
    of_torch = broken.kind == break_kinds.INLINED and _OF_TORCH.search(broken.context)
    if not module and not of_torch:
        return None
    package = module.partition(".")[0]
    known = (
        of_torch or package in {"torch", "<unknown module>"} or package in sys.stdlib_module_names
    )
    if not known and "should not be traced" not in broken.explanation:
        return None  # code in C or CUDA, of the program's or of a package
    if broken.opname == "GET_ITER":
        return Remedy("loop outside of the compiled function, and compile what is done in a round")
    return Remedy("call it before or after the compiled function")


def _functional(broken: Broken) -> Remedy | None:
    """A derivative by torch.autograd.functional, which takes a function, as no graph can; Dynamo
    has one for that of torch.func."""
    found = _FUNCTIONAL.search(broken.called) if broken.kind == break_kinds.TO_PROXY else None
    if found is None:
        return None
    instead = f"torch.func.{_OF_FUNC.get(found[1], found[1])}"
    return Remedy(f"take it by {instead}, which is traced: {instead}(function)(…)")


def _class_in_c(broken: Broken) -> Remedy | None:
    """An object of a class that is written in C."""
    said = f"{broken.explanation} {broken.context}"
    if broken.kind != break_kinds.CALL or "<class '" not in said:
        return None
    if _NAMESPACE in broken.explanation:
        return Remedy("take an object of a plain class, a dataclass or a dict in its place")
    return Remedy("make the object before the compiled function, and pass it in")


def _written(broken: Broken) -> Remedy | None:
    """Something is written to a file or a stream, as a progress bar does, or a file is opened."""
    if broken.kind == break_kinds.METHOD and _WRITING.match(broken.context):
        return Remedy("write to files and streams outside of the compiled function")
    entered = broken.kind == break_kinds.MANAGER and _OPENED.search(broken.explanation)
    if not entered and not _calls_a_file(broken):
        return None
    return Remedy("read or write files outside of the compiled function")


def _calls_a_file(broken: Broken) -> bool:
    return broken.kind == break_kinds.METHOD and _OF_A_FILE.match(broken.context) is not None


def _attributes_in_c(broken: Broken) -> Remedy | None:
    """An attribute is set of an object whose class has code in C for that."""
    if _method_called(broken) not in ("__setattr__", "__delattr__"):
        return None
    return Remedy(
        "have it be an object of a plain class, whose attributes are followed; or set them "
        "outside of the compiled function"
    )


def _operation_in_c(broken: Broken) -> Remedy | None:
    """An operator, a loop or a builtin function asks something of an object, and Dynamo has no
    model of that."""
    if not _method_called(broken).startswith("__") and broken.kind not in _OPERATIONS:
        return None
    return Remedy(
        "the compiler has no model of what the line does with the object: do it before the "
        "compiled function, and hand over what comes of it"
    )


def _generator(broken: Broken) -> Remedy | None:
    """A generator of random numbers is made, or handed over: no graph could have it."""
    made = broken.kind in (break_kinds.OPAQUE, break_kinds.CALL) and ".Generator'" in broken.context
    handed_over = broken.kind == break_kinds.TO_PROXY and "(Generator)" in broken.context
    if not made and not handed_over:
        return None
    return Remedy(
        "draw without a generator of its own (torch.manual_seed before the call), or outside of "
        "the compiled function"
    )


def _shared(broken: Broken) -> Remedy | None:
    """A function that an operator has whole takes two tensors that are one memory: none is
    returned."""
    if broken.kind != break_kinds.ALIASING or not broken.context.startswith("Input-to-input "):
        return None
    return Remedy(
        "two of the tensors that the function takes are one memory, as x and x.T are: hand one of "
        "them over as its clone(), made before; or make the view inside, by a method (x.t())"
    )


def _backward(broken: Broken) -> Remedy | None:
    """backward() in a compiled function, where torch has a setting that takes it into the graph."""
    if broken.kind != _BACKWARD or BACKWARD.setting not in broken.explanation:
        return None
    return BACKWARD


_OF_EACH_PART = "fully_shard"
"""What torch has around modules that are parts of one another."""
_UNREACHED = "unreached"
_BACKWARD = "Unsupported Tensor.backward() call"
_OF_A_BUILTIN = frozenset({"invalid call to builtin op handler", "sort with non-constant keys"})
"""Kinds whose words are about a function of Python's own that is called."""
_ONLY_COMPUTED = {
    "capture_scalar_outputs": ", where the library only computes with the number,",
    "capture_dynamic_output_shape_ops": ", where the library decides nothing by the size,",
}
"""On what condition a setting avoids a break in a library."""
_DELAYED = "Unsupported function call (delayed)"
_IN_PLACE = "inplace view on a graph input"
_OF_EACH = re.compile(r"\b(any|all)\(")
_EACH = ("if elem:", "if not elem:", "if each:", "if not each:")
"""How Dynamo's loop, or the native engine's, decides."""
_WITHOUT_FAKE = "Operator does not support running with fake tensors"
_WRONG_TYPE = "TypeError when making fake tensor call"
_SCHEDULER = re.compile(r"[/\\]torch[/\\]optim[/\\]lr_scheduler\.py\)")
_COPYING = frozenset({"copy.deepcopy()", "Attempted to copy.deepcopy a tensor"})
_OF_NUMPY = "attempted to trace numpy function unsupported by PyTorch"
_RESIZED = re.compile(r"\.(?:resize|resize_as|set)_`")


def _in_place(broken: Broken) -> Remedy | None:
    """A method that changes the shape of one of the function's own arguments."""
    if broken.kind != _DELAYED or _IN_PLACE not in broken.explanation:
        return None
    instead = "use the method without its underscore, which returns another tensor"
    if _RESIZED.search(broken.explanation):  # of this there is no other method
        instead = "make a new tensor of that size, with torch.empty say"
    return Remedy(
        f"the shape of an argument is changed in place: {instead}, or do it before the call"
    )


def _array_by_symbol(broken: Broken) -> Remedy | None:
    """An array of numpy is indexed by a number that is a symbol."""
    if broken.kind != _WRONG_TYPE or "must be Tensor, not ndarray" not in broken.context:
        return None
    return Remedy(
        "Dynamo has no element of a numpy array for an index that is a symbol: make the array a "
        "tensor before the compiled function (torch.from_numpy), and keep the element one"
    )


def _scheduled(broken: Broken) -> Remedy | None:
    """The step of an optimizer that a scheduler of learning rates has wrapped."""
    if broken.kind != break_kinds.SKIPPED or not _SCHEDULER.search(broken.context):
        return None
    return Remedy(
        "a scheduler of torch's has wrapped the optimizer's step, into which Dynamo does not look; "
        "what it wraps is compiled by itself: compile the optimizer's step before the scheduler is "
        "made, and call that outside of the compiled function"
    )


def _by_kind(broken: Broken) -> Remedy | None:
    """What is known of the kind."""
    return CHANGES.get(broken.kind)


def _setting(broken: Broken) -> str:
    """The setting that avoids a break; empty: there is none."""
    known = CHANGES.get(broken.kind)
    if known is None or data_rules.is_in_vain(broken) or _packed(broken):
        return ""
    return known.setting


RULES: dict[str, Callable[[Broken], Remedy | None]] = {
    "quantized": _quantized,
    "made anew": _made_anew,
    "print": _printing,
    "builtin": _builtin,
    "warnings.warn": _warning,
    "logging": _logging,
    "time": _clock,
    "disabled by torch": _disabled_by_torch,
    "disabled": _handed_over,
    "around a module": _around_a_module,
    "any, all": _of_each,
    "manager": _manager,
    "entered by a stack": _entered,
    "awaited": _awaited,
    "asked by a library": _asked_by_a_library,
    "mapped method": _mapped_method,
    "library": _inside_library,
    _UNREACHED: _unreached,
    "lacking": _lacking,
    "metaclass": _made_without,
    **data_rules.RULES,
    "no fake of torch's": _of_torch_without_fake,
    "untraced by AOTAutograd": _untraced_by_autograd,
    "drawn by numpy": _drawn_by_numpy,
    "packed": _packed,
    "scheduler": _scheduled,
    "functional": _functional,
    "opaque function": _opaque_function,
    "written": _written,
    "attributes in C": _attributes_in_c,
    "operation in C": _operation_in_c,
    "generator": _generator,
    "class in C": _class_in_c,
    "shared": _shared,
    "in place": _in_place,
    "array by a symbol": _array_by_symbol,
    "backward": _backward,
    "kind": _by_kind,
}
"""In the order in which they are asked."""
