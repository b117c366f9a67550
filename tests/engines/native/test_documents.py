"""The examples of the documents, done by this engine."""

from __future__ import annotations

import re
import types
from typing import Any

import pytest
import torch

from stepper import _C, native
from stepper.native.runtime.cache_entry import GuardedCode

pytestmark = pytest.mark.evaluator_out

graphs: list[Any] = []


def my_compiler(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
    graphs.append((gm, example_inputs))
    return gm.forward


def make_toy_example() -> Any:
    @native.optimize(my_compiler)
    def toy_example(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        x = a / (torch.abs(a) + 1)
        if b.sum() < 0:
            b = b * -1
        return x * b

    return toy_example


def original(function: Any) -> types.CodeType:
    code: types.CodeType = function._torchdynamo_orig_callable.__code__
    return code


def resume_functions(code: types.CodeType) -> list[types.CodeType]:
    return [
        constant
        for constant in code.co_consts
        if isinstance(constant, types.CodeType)
        and "torch_dynamo_resume_in_" in constant.co_qualname
    ]


def test_toy_example_gives_three_graphs_and_two_resume_functions() -> None:
    graphs.clear()
    toy_example = make_toy_example()
    torch.manual_seed(0)
    for _ in range(100):
        a, b = torch.randn(10), torch.randn(10)
        x = a / (torch.abs(a) + 1)
        assert torch.equal(toy_example(a, b), x * (b * -1 if b.sum() < 0 else b))
    first = graphs[0][0].graph
    assert [(node.op, node.name) for node in first.nodes] == [
        ("placeholder", "a"),
        ("placeholder", "b"),
        ("call_function", "abs_1"),
        ("call_function", "add"),
        ("call_function", "truediv"),
        ("call_method", "sum_1"),
        ("call_function", "lt"),
        ("output", "output"),
    ]
    assert (
        str(list(first.nodes)[-1].args) == "((truediv, lt),)"
        or str(list(first.nodes)[-1].args) == "((lt, truediv),)"
    )
    assert len(graphs) == 3
    (entry,) = _C.code_cache(original(toy_example)).entries
    assert len(resume_functions(entry.code)) == 2
    lines = {line for _, _, line in original(toy_example).co_lines()}
    for resume in resume_functions(entry.code):
        assert int(resume.co_qualname.rpartition("_")[2]) in lines
        assert set(resume.co_varnames[:2]) == {"b", "x"}
        assert len(_C.code_cache(resume).entries) == 1


def test_toy_example_has_the_guards_of_the_documents() -> None:
    toy_example = make_toy_example()
    toy_example(torch.ones(10), torch.ones(10))
    (entry,) = _C.code_cache(original(toy_example)).entries
    assert isinstance(entry, GuardedCode)
    kinds = {(part.source, part.name, part.kind) for part, _ in entry.manager.parts}
    assert {
        ("local", "L['a']", "TENSOR_MATCH"),
        ("local", "L['b']", "TENSOR_MATCH"),
        ("global", "G['torch']", "PYMODULE_MATCH"),
    } <= kinds


def test_f_of_x_plus_one_has_the_conditions_of_the_forum_thread() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    native.optimize(my_compiler)(f)(torch.ones(3))
    (source,) = native.export_guards(f)
    conditions = [line.strip() for line in source.splitlines() if line.startswith("            ")]
    # Names that a guard needs end with their number in its scope, which says nothing here.
    conditions = [re.sub(r"(___\w*?_)\d+\b", r"\1N", condition) for condition in conditions]
    assert [c.split("_backend(")[0].split("(0")[0] for c in conditions] == [
        "(___guarded_code.valid)",
        "and (___check_global_state())",
        "and (___function_modes() == 0)",
        "and (utils_device.CURRENT_DEVICE == None)",
        "and (___skip_backend_check() or ___current",
        "and (___has_what_Tensor_had_N())",  # `+` is still that of tensors
        "and (hasattr(L['x'], '_dynamo_dynamic_indices') == False)",
        "and (___check_tensors(L['x']))",
    ]


def test_a_bytecode_hook_sees_both_codes_and_can_give_another() -> None:
    seen: list[tuple[types.CodeType, types.CodeType]] = []

    def hook(old: types.CodeType, new: types.CodeType) -> types.CodeType:
        seen.append((old, new))
        return new.replace(co_name="renamed")

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    remove = native.register_bytecode_hook(hook)
    try:
        native.optimize(my_compiler)(f)(torch.ones(3))
    finally:
        remove()
    assert [old for old, _ in seen] == [f.__code__]
    (entry,) = _C.code_cache(f.__code__).entries
    assert entry.code.co_name == "renamed"
