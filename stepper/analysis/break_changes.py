"""What to change so that a graph break of a kind goes away, where that is known.

Dynamo's hints are for every case of a kind; a change here is the nearest one for most programs. The
table is kept by Dynamo's own names for its kinds of breaks; a test compares them with the registry
of the installed torch. Whoever adds a kind says what to write instead of what. What else decides
than the kind is in `break_rules` and `data_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from stepper.client.text import clip
from stepper.model.capabilities import Capabilities

_LINE = 60
"""Characters of a line that is told."""
_OR = re.compile(r"; (?=or\b)")
"""Between the ways that a remedy names."""


class Remedy(msgspec.Struct, frozen=True):
    """A change that avoids a break."""

    words: str
    """With `{setting}`, `{reordering}` or `{source}` where that is named."""
    setting: str = ""
    """A setting of `torch._dynamo.config` that avoids it when it is true."""
    reordered: str = ""
    """A function that may be called after the graph instead."""

    source: str = ""
    """The text of a line of the program that is named; empty: it is not known."""

    @classmethod
    def telling(cls, words: str) -> Remedy:
        """One in words with names and lines of the program, which are told as they are."""
        return cls(words.replace("{", "{{").replace("}", "}}"))

    def __str__(self) -> str:
        return self.naming(self.source)

    def without(self, in_vain: Iterable[str]) -> Remedy | None:
        """What is left of it where some of what it names was tried; None: nothing."""
        tried = [each.replace("builtins.", "") for each in in_vain]
        return self._without(
            name for name, way in self._names.items() if any(each.startswith(way) for each in tried)
        )

    def heeded_by(self, can: Capabilities) -> Remedy | None:
        """What is left of it where a compiler does not have all that it names; None: nothing."""
        if can.dynamo_config:
            return self
        unheeded = ["reordering"] if can.heeds(self.setting) else ["reordering", "setting"]
        return self._without(unheeded)

    def _without(self, names: Iterable[str]) -> Remedy | None:
        gone = [f"{{{name}}}" for name in names]
        ways = _OR.split(self.words)
        left = [each for each in ways if not any(name in each for name in gone)]
        words = "; ".join(left).removeprefix("or ")
        return msgspec.structs.replace(self, words=words) if left else None

    @property
    def _names(self) -> dict[str, str]:
        config = "torch._dynamo.config"
        return {
            "setting": f"{config}.{self.setting} = True",
            "reordering": f"{config}.reorderable_logging_functions.add({self.reordered})",
        }

    def naming(self, line: str) -> str:
        """In words, where `line` stands for the program's own."""
        source = f"what `{clip(line, _LINE)}` calls" if line else "what leads there"
        return self.words.format(**self._names, source=source)


ASSERTED = Remedy(
    "the assertion does not hold for what this call was given, without torch.compile neither: call "
    "with what it allows, or assert before the compiled function"
)
NO_META = (
    "the size of the result depends on data, and the operator has nothing to say what it is of a "
    "fake tensor: call it outside of the compiled function, or wrap the call as a custom operator "
    "(torch.library.custom_op)"
)
"""Why: an operator is called that no setting takes into the graph."""
IN_ORDER = Remedy(
    "Python sorts, or leaves out, by the number, which is data, and no setting helps: have what it "
    "is about in one tensor, and sort that with torch.argsort, or weigh it with torch.where"
)
INDEX = Remedy(
    "Python finds an element by the number, which is data, and no setting helps: stack what is to "
    "be found, and take of that with the tensor, as by torch.index_select; or find it outside of "
    "the compiled function"
)
ROUNDS = Remedy(
    "how often the loop runs depends on data: take the number from a shape or from outside of the "
    "compiled function"
)
_DETACHED = (
    "as long as no tensor that it goes through is returned, or used behind another break, without "
    "detach()"
)
BACKWARD = Remedy(
    f"call backward outside of the compiled function; or {{setting}}, {_DETACHED}",
    "trace_autograd_ops",
)
"""Where torch has the setting."""
_OF_NUMPY = (
    "take it from the array outside of the compiled function, or use the torch function of the "
    "same purpose on a tensor"
)
_NOTHING_OUTSIDE = (
    "change nothing outside of the function that the operator is given: let it return the new "
    "value, or make the change before or after the call"
)
_RETURNED = "return tensors, whole numbers or bools only"
_WORDS = {
    "Data-dependent branching": (
        "decide on tensors with torch.where (both sides computed), or torch.cond for two functions"
    ),
    "Data-dependent branching with non-constant __bool__": (
        "decide on tensors with torch.where, or torch.cond"
    ),
    "Data-dependent assertion failed (cannot compile partial graph)": ASSERTED.words,
    "Unsupported Tensor.item() call with capture_scalar_outputs=False": (
        "keep the value a tensor; or, where the program decides nothing by it, {setting}, which "
        "makes it a symbol"
    ),
    "Tensor.tolist() with non-integer tensor": "keep the values a tensor, or convert outside",
    "Dynamic shape operator": (
        "an operator whose result has no fixed size (nonzero, unique, a mask as index): use "
        "torch.where on the whole tensor; or, where the program decides nothing by the size, "
        "{setting}"
    ),
    "Dynamic shape operator (no meta kernel)": NO_META,
    "Data dependent operator": (
        "keep the value a tensor; or, where the program decides nothing by it, {setting}, and pass "
        "the .item() of a tensor where a function takes a number"
    ),
    "Attempted to use `torch.nn.functional.one_hot` with data-dependent output shape": (
        "pass num_classes"
    ),
    "Failed to convert args/kwargs to proxy": (
        "one of the arguments is an object that no graph can hold: pass a tensor or a number "
        "instead, or make the call outside of the compiled function"
    ),
    "Encountered input mutation during higher order op tracing": (
        "change nothing that the function is given: return a new tensor instead"
    ),
    "Encountered aliasing during higher order op tracing": (
        "return what is new: where a function returns what it was given, a view of that, or one "
        "tensor twice, its clone()"
    ),
    "HOP: Non-nullified side effect": _NOTHING_OUTSIDE,
    "HOP: Unsafe side effect": _NOTHING_OUTSIDE,
    "HOP body output unsupported": _RETURNED,
    "HOP: non-callable variable": "hand over functions, not what they return: lambda: x + 1",
    "torch.cond: differing branch outputs": (
        "let both functions return the same: as many tensors, in one structure, of the same dtypes"
    ),
    "torch.cond: improper operands": "hand the operands over as a tuple: (x,) in place of x",
    "torch.cond: improper operands contents": (
        "hand over tensors only: a function takes what else it needs from around it"
    ),
    "torch.cond: improper predicate": "pass a bool, or a tensor of one bool",
    "torch.cond: unsupported branch return type (constant non-int)": _RETURNED,
    "torch.while_loop: unsupported cond_fn return type": "let it return a bool, or a tensor of one",
    "Unsupported functorch tracing attempt": (
        "compile what makes the transform, and not what it is made of: "
        "torch.compile(torch.vmap(f)) in place of torch.vmap(torch.compile(f))"
    ),
    "BUILD_STRING type error": "make the text outside of the compiled function",
    "Call to `torch._dynamo.graph_break()`": "remove the call; somebody asked for this break",
    "Call to `torch._dynamo.skip_frame()`": "remove the call; somebody asked for this",
    "Skip calling `torch.compiler.disable()`d function": (
        "remove torch.compiler.disable, or call it before or after the compiled function"
    ),
    "Skip inlining `torch.compiler.disable()`d function": (
        "remove torch.compiler.disable, or call it before or after the compiled function"
    ),
    "Call to `torch.compiler.disable()`": "decorate the function once, outside",
    "logging.Logger method not supported for non-export cases": (
        "log outside of the compiled function; or add the method to "
        "torch._dynamo.config.ignore_logging_functions, and nothing is logged from compiled code"
    ),
    "attempted to reorder a debugging function that can't actually be reordered": (
        "pass it tensors, constants and strings only, so that it can run after the graph"
    ),
    "Attempted to inline function marked as skipped": (
        "call it outside, or, when it is your own code in a library that is skipped, "
        "torch._dynamo.config.dont_skip_tracing"
    ),
    "Attempted to call function marked as skipped": (
        "call it before or after the compiled function; wrap your own C or CUDA code as a custom "
        "operator (torch.library.custom_op); if it has no effect on tensors, "
        "torch.compiler.allow_in_graph may do"
    ),
    "Unsupported function call": (
        "call a plain function instead of this object, or call it outside of the compiled function"
    ),
    "Unsupported method call": "call the method outside, or a function that is traced instead",
    "async_op=True for distributed collectives": (
        "call it without async_op and without wait(): the graph has them apart by itself"
    ),
    "Unsupported context manager": (
        "enter it around the call of the compiled function instead of inside"
    ),
    "Graph break under GenericContextWrappingVariable": (
        "remove the break inside the with block, or move the with block around the call"
    ),
    "graph break in loop": (
        "remove the break inside the loop, or take the loop's body out into a function of its own; "
        "the compiler cannot resume in a loop, so the whole frame runs uncompiled"
    ),
    "Call to a time function": "measure around the call of the compiled function",
    "Failed to mutate tensor data attribute to different dtype": (
        "make a new tensor instead of assigning .data"
    ),
    "copy.deepcopy()": "copy before the compiled function, or clone tensors",
    "Attempted to copy.deepcopy a tensor": (
        "copy before the compiled function; of a tensor, use clone()"
    ),
    "requires_grad_() intermediate leaked as output": (
        "call requires_grad_ before the compiled function, or return what is detached"
    ),
    "Invalid call to __build_class__": "define the class outside of the compiled function",
    "Unsupported Tensor.requires_grad_() call": "call requires_grad_ before the compiled function",
    "setattr() on Tensor.requires_grad": "set requires_grad before the compiled function",
    "Unsupported Tensor.backward() call": "call backward outside of the compiled function",
    "autograd.Function.apply: mark_dirty input not returned": (
        "return from forward what ctx.mark_dirty is given: torch asks for that without "
        "torch.compile, too"
    ),
    "Tensor.retain_grad() with AOTDispatcher": "call retain_grad outside of the compiled function",
    "Tensor.numpy() with trace_numpy=False": "{setting}",
    "call `torch.from_numpy` with `torch._dynamo.config.trace_numpy=False`": "{setting}",
    "attempted to trace numpy function unsupported by PyTorch": (
        "use the torch function of the same purpose, where there is one; or wrap the call as a "
        "custom operator (torch.library.custom_op)"
    ),
    "Unsupported ndarray method call": _OF_NUMPY,
    "Invalid input type for nonstrict_trace-ed function": (
        "hand the function tensors, numbers and containers of them; or register the class, so that "
        "it is taken apart (torch.utils._pytree.register_dataclass, register_pytree_node)"
    ),
    "Module-level backwards hooks require compiled autograd.": (
        "do without backward hooks on the modules that are called there; or {setting}, where "
        "backward() is called in a compiled function, too: else AOTAutograd's code raises there"
    ),
    "Attempted to wrap RNN, GRU, or LSTM": ("{setting}, or keep the module outside"),
    "Tensor.random_ op": "use torch.randint",
    "Tensor.uniform_ op called with `from` keyword": "pass the bounds by position",
    "Missing bytecode handler": (
        "write the statement differently; the compiler does not know this instruction"
    ),
    "Import failure": "import at the top of the file",
    "Observed exception": (
        "handle what raises before the compiled function, or avoid the raise; where the program "
        "does not raise it without torch.compile, the compiler lacks what the line does: take it "
        "out of the compiled function"
    ),
    "Attempt to trace generator": (
        "compile the function that calls it: there a generator is traced; or return a list"
    ),
    "Backend compiler exception": (
        "the backend failed, and not the program: try backend='aot_eager' to see which part"
    ),
    "Dynamo recompile limit exceeded": "stepper why-recompile says what changes from call to call",
    "Encountered tensor.is_inference() during tracing": "ask outside of the compiled function",
    "non-const argument in nn.Module method": "pass constants, or loop over the modules themselves",
    "unsupported Tensor comparison op": "compare tensors with torch functions",
    "Operator does not support running with fake tensors": (
        "register what it returns for a fake tensor: torch.library.register_fake"
    ),
    "invalid call to builtin op handler": (
        "write out in a loop what the builtin does, or use torch functions"
    ),
    "Reconstruction failure": (
        "return what it is made from, and make it in the caller; likewise where it is kept as an "
        "attribute of an object"
    ),
    "sort with non-constant keys": "torch.sort or torch.argsort on one tensor of the keys",
    "Attempted to use `torch.nn.Parameter()` constructor with Dynamo": (
        "make parameters and modules before the compiled function, and convert or move them there"
    ),
    "User-defined object with non-function __getattr__": (
        "define __getattr__ in Python: `def __getattr__(self, name): return self[name]`, say, "
        "instead of a function that is written in C"
    ),
    "Attempted to use tensor creation function with requires_grad=True": (
        "make the tensor before the compiled function, and pass it in"
    ),
    "setattr() on unsupported type": "set the attribute outside of the compiled function",
    "Attempted to represent unregistered RemovableHandle": (
        "register and remove hooks outside of the compiled function"
    ),
    "An opaque object was created in the middle of the program.": (
        "make the object before the compiled function, and pass it in"
    ),
    "torch.Generator method": "seed the generator before the compiled function",
    "Shape mismatch with out= tensor variant": (
        "hand over for out= a tensor that has the shape of the result already; or call it without "
        "out=, and keep what it returns"
    ),
    "torch.* op returned non-Tensor": ("ask before the compiled function, and pass what it says"),
    "Attempted to wrap sparse Tensor": "keep sparse tensors outside of the compiled function",
    "Attempted to wrap sparse Tensor with VariableTracker": (
        "keep sparse tensors outside of the compiled function"
    ),
    "using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`": (
        f"{{setting}}, {_DETACHED}; or call it outside of the compiled function"
    ),
    "Failed to mutate tensor data attribute": "make a new tensor instead of assigning .data",
}
_SETTINGS = {
    "Unsupported Tensor.item() call with capture_scalar_outputs=False": "capture_scalar_outputs",
    "Dynamic shape operator": "capture_dynamic_output_shape_ops",
    "Data dependent operator": "capture_scalar_outputs",
    "Tensor.numpy() with trace_numpy=False": "trace_numpy",
    "call `torch.from_numpy` with `torch._dynamo.config.trace_numpy=False`": "trace_numpy",
    "Attempted to wrap RNN, GRU, or LSTM": "allow_rnn",
    "Module-level backwards hooks require compiled autograd.": "compiled_autograd",
    "using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`": (
        "trace_autograd_ops"
    ),
}
SETTINGS = tuple(dict.fromkeys((*_SETTINGS.values(), BACKWARD.setting, "enable_trace_contextlib")))
"""All that may avoid a break or a failure when they are true, each once: no other is made because
torch's words name it."""
CHANGES = {kind: Remedy(words, _SETTINGS.get(kind, "")) for kind, words in _WORDS.items()}
"""By Dynamo's name for the kind of break."""

FROM_OUTSIDE = frozenset(
    {
        "copy.deepcopy()",
        "Attempted to copy.deepcopy a tensor",
        "Attempted to use `torch.nn.Parameter()` constructor with Dynamo",
        "Attempted to wrap RNN, GRU, or LSTM",
        "Backend compiler exception",
        "Dynamo recompile limit exceeded",
        "Encountered aliasing during higher order op tracing",
        "Encountered input mutation during higher order op tracing",
        "HOP: Non-nullified side effect",
        "HOP: Unsafe side effect",
        "HOP body output unsupported",
        "HOP: non-callable variable",
        "Module-level backwards hooks require compiled autograd.",
        "torch.cond: differing branch outputs",
        "torch.cond: improper operands",
        "torch.cond: improper operands contents",
        "torch.cond: improper predicate",
        "torch.cond: unsupported branch return type (constant non-int)",
        "torch.while_loop: unsupported cond_fn return type",
        "logging.Logger method not supported for non-export cases",
    }
)
"""Kinds whose words are about what is called, and hold where the line is a library's, too."""
