"""Dynamo's names for its kinds of graph breaks, of those that are told apart.

Both compilers break graphs for the same things, and what is to be done about them is the same; so a
reason of the native one carries the name that Dynamo has for its kind, where it has one, and
what is advised goes by these names.
"""

BRANCHES = "Data-dependent branching"
ITEM = "Unsupported Tensor.item() call with capture_scalar_outputs=False"
OPERATOR = "Data dependent operator"
SHAPED = "Dynamic shape operator"
ONE_HOT = "Attempted to use `torch.nn.functional.one_hot` with data-dependent output shape"
BACKEND = "Backend compiler exception"
RAISED = "Observed exception"
SKIPPED = "Attempted to call function marked as skipped"
WITH_THESE_VALUES = "invalid call to builtin op handler"
SORTING = "sort with non-constant keys"
TEXT = "BUILD_STRING type error"
BUILTIN = "Failed to trace builtin operator"
METHOD = "Unsupported method call"
CALL = "Unsupported function call"
OF_GENERATOR = "torch.Generator method"
MANAGER = "Unsupported context manager"
TO_PROXY = "Failed to convert args/kwargs to proxy"
INSTRUCTION = "Missing bytecode handler"
IMPORT = "Import failure"
CLASS = "Invalid call to __build_class__"
OUT = "Shape mismatch with out= tensor variant"
ASKED = "Call to `torch._dynamo.graph_break()`"
SKIP_ASKED = "Call to `torch._dynamo.skip_frame()`"
DISABLING = "Call to `torch.compiler.disable()`"
DISABLED = "Skip calling `torch.compiler.disable()`d function"
WITH_GRADIENT = "Attempted to use tensor creation function with requires_grad=True"
PARAMETER = "Attempted to use `torch.nn.Parameter()` constructor with Dynamo"
CHANGES_MORE = "HOP: Unsafe side effect"
NO_TENSOR = "torch.* op returned non-Tensor"
INLINED = "Attempted to inline function marked as skipped"
ALIASING = "Encountered aliasing during higher order op tracing"
RECURRENT = "Attempted to wrap RNN, GRU, or LSTM"
OF_ARRAY = "Unsupported ndarray method call"
OPAQUE = "An opaque object was created in the middle of the program."

LEAF_RETURNED = "returning intermediate with requires_grad_()"
NOT_RETURNED = "autograd.Function.apply: mark_dirty input not returned"
OF_TENSORS = {
    **dict.fromkeys(("item", "tolist", "__int__", "__float__", "__index__", "__complex__"), ITEM),
    "__bool__": BRANCHES,
    "is_nonzero": BRANCHES,
    "equal": OPERATOR,
    "allclose": OPERATOR,
    "backward": "Unsupported Tensor.backward() call",
    "requires_grad_": "Unsupported Tensor.requires_grad_() call",
    "retain_grad": "Tensor.retain_grad() with AOTDispatcher",
    "__deepcopy__": "Attempted to copy.deepcopy a tensor",
}
"""By the method of a tensor that is called."""
OF_ATTRIBUTES = {
    "requires_grad": "setattr() on Tensor.requires_grad",
    "data": "Failed to mutate tensor data attribute",
}
"""By the attribute of a tensor that is set."""
