"""A short session whose every character is written here, so that a screen of it is the same in
every Python: a function that a `print` breaks in two.
"""

from __future__ import annotations

from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.timing import Timing
from stepper.model.trace import Outcome
from stepper.model.value import TensorMeta, Value
from tests.tape import Tape

_SOURCE = (
    "@torch.compile",
    "def forward(self, x):",
    "    h = self.lin(x)",
    "    scaled = h * self.scale",
    '    print("the mean is", scaled.mean().item(), "and that cannot be in a graph")',
    "    return scaled.relu()",
)
_FIRST = 40
_WEIGHT = "L['self'].__dict__['_modules']['lin']._parameters['weight']"
_NODE = "l_self_dict_modules_lin_parameters_weight_"


def _code() -> Code:
    rows = [
        ("RESUME", "", 41, 0, 4),
        ("LOAD_FAST", "h", 43, 13, 14),
        ("LOAD_FAST", "self", 43, 17, 21),
        ("LOAD_ATTR", "scale", 43, 17, 27),
        ("BINARY_OP", "*", 43, 13, 27),
        ("STORE_FAST", "scaled", 43, 4, 10),
        ("LOAD_GLOBAL", "print", 44, 4, 9),
        ("LOAD_CONST", "'the mean is'", 44, 10, 23),
        ("LOAD_FAST", "scaled", 44, 25, 31),
        ("CALL", "2", 44, 4, 80),
        ("POP_TOP", "", 44, 4, 80),
        ("LOAD_FAST", "scaled", 45, 11, 17),
        ("RETURN_VALUE", "", 45, 4, 24),
    ]
    instructions = tuple(
        Instruction(i, name, None, word, 2 * i, line, line, start, end)
        for i, (name, word, line, start, end) in enumerate(rows)
    )
    name, file = "forward", "/home/ann/project/net.py"
    return Code(1, name, f"Net.{name}", file, _FIRST, instructions, _FIRST, _SOURCE)


def write_story(path: str) -> None:
    """Write the recording; at moment 6 `scaled` is new, at moment 10 the graph breaks."""
    tape = Tape(path)
    tape.begin(_code(), "0/0")
    tape.start_attempt()
    meta = TensorMeta("float32", ("2", "3"), ("3", "1"))
    parameter = TensorMeta("float32", ("3", "3"), ("3", "1"), requires_grad=True)
    me = tape.describe(Value("UnspecializedNNModuleVariable", "Net", "Net", "L['self']"))
    weight = tape.describe(
        Value("TensorVariable", "Parameter", "f32[3, 3]", _WEIGHT, tensor=parameter, node=_NODE)
    )
    h = tape.describe(Value("TensorVariable", "Tensor", "f32[2, 3]", tensor=meta, node="h"))
    names = {"self": me, "weight": weight, "h": h}
    tape.step(0, stack=(), locals=names)
    tape.guard("TENSOR_MATCH", _WEIGHT, user_line=PythonFrame("net.py", 42, "forward"))
    tape.node(_NODE, "placeholder", _NODE, meta=parameter, source=_WEIGHT)
    tape.node("h", "call_function", "torch.nn.functional.linear", args=f"x, {_NODE}", meta=meta)
    tape.step(1)
    tape.step(2, stack=(h,))
    tape.step(3, stack=(h, me))
    scale = tape.describe(
        Value("ConstantVariable", "float", "2.0", "L['self'].scale", constant="2.0")
    )
    tape.guard("EQUALS_MATCH", "L['self'].scale", code=("L['self'].scale == 2.0",))
    tape.step(4, stack=(h, scale))
    scaled = tape.describe(
        Value("TensorVariable", "Tensor", "f32[2, 3]", tensor=meta, node="scaled")
    )
    tape.node("scaled", "call_function", "operator.mul", args="h, 2.0", inputs=("h",), meta=meta)
    tape.step(5, stack=(scaled,))
    tape.step(6, stack=(), locals={**names, "scaled": scaled})
    printer = tape.describe(Value("BuiltinVariable", "builtin_function_or_method", "print"))
    tape.step(7, stack=(printer,))
    text = tape.describe(
        Value("ConstantVariable", "str", "'the mean is'", constant="'the mean is'")
    )
    tape.step(8, stack=(printer, text))
    tape.step(9, stack=(printer, text, scaled))
    tape.graph_break(
        "Failed to trace builtin operator print",
        gb_type="Failed to trace builtin operator",
        explanation="Dynamo does not know how to trace the builtin operator `print`.",
        hints=("Move the print out of the compiled function.",),
        user_stack=(PythonFrame("/home/ann/project/net.py", 44, "forward"),),
    )
    tape.end_attempt()
    tape.end(Outcome.COMPILED)
    tape.close()


def write_timed_story(path: str) -> None:
    """Write a recording with times: a loop that inlines `layer` twice, traced in 60 of the 100
    milliseconds that compiling it takes, of which 48 are the loop's line."""
    forward = _written(
        "forward",
        10,
        (
            "def forward(x, ws):",
            "    for w in ws:",
            "        x = layer(x, w)",
            "    return x.relu()",
        ),
        (("RESUME", 10), ("FOR_ITER", 11), ("CALL", 12), ("RETURN_VALUE", 13)),
    )
    layer = _written(
        "layer",
        20,
        ("def layer(x, w):", "    return gelu(x @ w)"),
        (("RESUME", 20), ("CALL", 21)),
    )
    tape = Tape(path)
    tape.begin(forward, "0/0")
    tape.start_attempt()
    for milliseconds, ip, calls in ((10, 0, ()), (11, 1, ()), (12, 2, (14, 16)), (36, 1, ()),
                                    (37, 2, (39, 41)), (61, 3, ())):  # fmt: skip
        tape.now = milliseconds * 1_000_000
        tape.step(ip)
        if calls:
            tape.enter(tape.code(layer))
            for at, when in enumerate(calls):
                tape.now = when * 1_000_000
                tape.step(at)
            tape.leave()
    last = tape.moment
    tape.end_attempt()
    tape.end(Outcome.COMPILED)
    for number, (name, began, took, moment, parent) in enumerate(
        (
            ("entire_frame_compile", 0, 100, 0, None),
            ("bytecode_tracing", 10, 60, 0, 1),
            ("backend_compile", 70, 25, last, 1),
        ),
        1,
    ):
        tape.writer.timing(
            Timing(number, name, began * 1_000_000, took * 1_000_000, moment, parent, 1)
        )
    tape.close()


def _written(
    name: str, first: int, source: tuple[str, ...], rows: tuple[tuple[str, int], ...]
) -> Code:
    instructions = tuple(
        Instruction(at, opname, None, "", 2 * at, line, line, 4, 8)
        for at, (opname, line) in enumerate(rows)
    )
    return Code(first, name, name, "/home/ann/project/net.py", first, instructions, first, source)
