"""One wording for every record."""

from __future__ import annotations

import pytest

from stepper.client.text import (
    clip,
    expression_text,
    graph_code,
    graph_table,
    guard_line,
    instruction_text,
    node_code,
    plural,
    short_name,
    short_path,
    split_arguments,
    value_facts,
    value_line,
)
from stepper.model.program import Code, Instruction
from stepper.model.trace import Guard, Node
from stepper.model.value import TensorMeta, Value

META = TensorMeta("float32", ("2", "s0"), ("3", "1"))


def node(name: str, op: str, target: str, args: str = "", **facts: object) -> Node:
    return Node(1, 1, 1, "", 1.0, name, op, target, args, **facts)  # type: ignore[arg-type]  # any options of its own


@pytest.mark.parametrize(
    ("made", "written"),
    [
        (node("add", "call_function", "operator.add", "x, 1"), "add = operator.add(x, 1)"),
        (node("relu", "call_method", "relu", "x"), "relu = x.relu()"),
        (node("v", "call_method", "view", "f(a, b)[0], -1, 2"), "v = f(a, b)[0].view(-1, 2)"),
        (node("l", "call_module", "L__self___fc", "x"), "l = self.L__self___fc(x)"),
        (node("w", "get_attr", "p_0"), "w = self.p_0"),
        (node("x", "placeholder", "L_x_", source="L['x']"), "x = input  # L['x']"),
        (node("output", "output", "output", "((add,),)"), "return ((add,),)"),
    ],
)
def test_nodes_are_statements(made: Node, written: str) -> None:
    assert node_code(made) == written


def test_a_graph_is_a_function_that_is_still_open_without_an_output() -> None:
    nodes = [
        node("x", "placeholder", "L_x_", source="L['x']", meta=META),
        node("add", "call_function", "operator.add", "x, 1", meta=META),
    ]
    assert graph_code(nodes) == [
        "def forward(self, x):",
        "    # x: L['x']  f32[2, s0]",
        "    add = operator.add(x, 1)  # f32[2, s0]",
        "    …",
    ]
    last = node("output", "output", "output", "((add,),)")
    assert graph_code([*nodes, last])[-1] == "    return ((add,),)"
    assert graph_table(nodes)[2] == "call_function  add   operator.add  x, 1  f32[2, s0]"


def test_values_in_one_line_and_whole() -> None:
    value = Value("TensorVariable", "Tensor", "f32[2, s0]", "L['x']", tensor=META, node="x")
    assert value_line(value) == "f32[2, s0]  TensorVariable  L['x']  = x"
    facts = dict(value_facts(value))
    assert (facts["shape"], facts["stride"], facts["device"]) == ("(2, s0)", "(3, 1)", "cpu")
    assert value_line(Value("NullVariable")) == "NullVariable"
    assert value_line(Value("LazyVariableTracker", text="Tensor", lazy=True)).endswith("(lazy)")
    assert value_line(None) == "(not recorded)"


def test_small_things() -> None:
    uuid = "01234567_89ab_cdef_0123_456789abcdef"
    assert short_name(f"__compiled_fn_3_{uuid}(x)") == "__compiled_fn_3(x)"
    assert split_arguments("f('a, b'), [1, 2]") == ("f('a, b')", "[1, 2]")
    assert clip("abcdef", 4) == "abc…"
    assert plural(1, "entry") == "1 entry"
    assert plural(2345, "entry") == "2,345 entries"
    assert short_path("/x/lib/site-packages/torch/nn/a.py") == "torch/nn/a.py"
    assert short_path("/home/p/a.py", "/home/p") == "a.py"
    assert instruction_text(Instruction(0, "LOAD_FAST", 0, "x")) == "LOAD_FAST x"
    assert instruction_text(Instruction(0, "RESUME", 0)) == "RESUME 0"


@pytest.mark.parametrize(
    ("kind", "source", "written"),
    [
        ("TENSOR_MATCH", "L['x']", "TENSOR_MATCH L['x']"),
        ("SHAPE_ENV", "", "SHAPE_ENV (sizes)"),
        ("GRAD_MODE", "", "GRAD_MODE (global state)"),
    ],
)
def test_a_guard_says_what_it_is_about(kind: str, source: str, written: str) -> None:
    assert guard_line(Guard(1, 1, 1, kind, source)) == written


def test_an_expression_over_several_lines_has_no_comments_and_no_blanks_within_brackets() -> None:
    source = ("def f(x):", "    y = g(  # twice", '        x, "a  b",', "    )[0]", "    return y")
    call = Instruction(0, "CALL", line=2, end_line=4, col=8, end_col=5)
    code = Code(1, "f", "f", "a.py", 1, (call,), 1, source)
    assert expression_text(code, call) == "g(x, 'a  b')"
