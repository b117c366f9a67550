"""What is to be one graph is one, or an error that says why."""

from __future__ import annotations

import array
import builtins
import contextlib
import functools
import gc
import io
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch

from stepper import native
from stepper.native import config, skip_reasons
from stepper.native.explanation import Explanation
from stepper.native.skip_reasons import REASONS, Call, why_skip
from stepper.native.tracing.symbolic_convert import InstructionTranslatorBase
from stepper.native.watching import WATCHING
from tests.engines.native.harness import run_graph
from tests.engines.native.replaced.running import swapped

pytestmark = pytest.mark.evaluator_out

X = torch.ones(3)


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


def one_graph(function: Callable[..., Any]) -> Any:
    return native.optimize(run_graph, nopython=True)(function)


def test_named_tuples_with_tensors_are_looked_into() -> None:
    def adds(pair: Any) -> torch.Tensor:
        return pair.a + pair.b

    pair = Pair(torch.ones(2), torch.ones(2))
    captured = one_graph(adds)
    assert torch.equal(captured(pair), torch.full((2,), 2.0))
    assert len(native.export_guards(captured)) == 1


def test_what_is_in_a_container_that_is_not_known_is_an_error_with_the_reason() -> None:
    with pytest.raises(native.Unsupported, match="array"):
        one_graph(lambda x, items: x + items[0])(torch.ones(2), array.array("d", [1.0]))


def reads_locals(x: torch.Tensor) -> Any:
    return x + len(locals()) + len(locals())


def reads_its_frame(x: torch.Tensor) -> Any:
    return x + len(sys._getframe().f_locals)


def test_code_that_reads_its_frame_is_an_error() -> None:
    with pytest.raises(native.Unsupported, match=r"one graph.*may read its own frame"):
        one_graph(reads_its_frame)(torch.ones(2))


def doubles(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def counts(x: torch.Tensor) -> Any:
    return x * 2 if len(gc.get_objects()) else x


def halves(x: torch.Tensor) -> Any:
    yield x * 2


Run = Callable[[Callable[[], Any]], Any]


def within(context: Callable[[], Any]) -> Run:
    """Calls in a `with` block."""

    def run(call: Callable[[], Any]) -> Any:
        with context():
            return call()

    return run


def in_a_handler(call: Callable[[], Any]) -> Any:
    try:
        raise LookupError
    except LookupError:
        return call()


@contextlib.contextmanager
def traced() -> Iterator[None]:
    sys.settrace(lambda frame, event, argument: None)
    try:
        yield
    finally:
        sys.settrace(None)


@contextlib.contextmanager
def under_vmap() -> Iterator[None]:
    from torch._C import _functorch

    _functorch._vmap_increment_nesting(2, "error")
    try:
        yield
    finally:
        _functorch._vmap_decrement_nesting()


class Globals(dict[str, Any]):
    """What no module has for its globals."""


def hooks_of_saved_tensors() -> Any:
    return torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)


Program = Callable[[torch.Tensor], Any]
as_it_is = within(contextlib.nullcontext)
_strange: Any = types.FunctionType(doubles.__code__.replace(), Globals(vars()))
SKIPPED: dict[str, tuple[Program, Run]] = {
    "builtins": (doubles, within(lambda: swapped(builtins, "chr", lambda value: 1))),
    "own frame": (reads_locals, as_it_is),
    "objects": (counts, as_it_is),
    "generator": (halves, as_it_is),
    "globals": (_strange, as_it_is),
    "exception": (doubles, in_a_handler),
    "traced": (doubles, within(traced)),
    "jit": (doubles, within(lambda: swapped(skip_reasons, "is_tracing", lambda: True))),
    "torch": (doubles, within(lambda: swapped(torch, "SymInt", object))),
    "function mode": (doubles, within(torch.overrides.BaseTorchFunctionMode)),
    "tensors": (doubles, within(lambda: swapped(torch.Tensor, "dim", lambda self: 1))),
    "transform": (doubles, within(under_vmap)),
    "saved tensors": (doubles, within(hooks_of_saved_tensors)),
}
"""For each reason not to look at a frame, a call that has it."""


def test_every_reason_not_to_look_at_a_frame_is_known_here() -> None:
    reasons = {each.name for each in REASONS if not each.innocent}
    assert set(SKIPPED) == reasons


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("name", SKIPPED)
def test_a_frame_that_is_not_looked_at_is_an_error(name: str, before: bool) -> None:
    function, run = SKIPPED[name]
    x = torch.ones(2)
    if before:  # where it need not be one graph, it runs as it is
        plain = native.optimize(run_graph)(function)
        run(lambda: plain(x))
    call = Call(function.__code__, function, {"x": x})
    found = run(lambda: why_skip(call))
    assert found is not None
    words, reason = found
    assert reason.name == name
    captured = one_graph(function)
    for _ in range(2):
        with pytest.raises(native.Unsupported) as caught:
            run(lambda: captured(x))
        assert "was to be one graph" in str(caught.value)
        assert words in str(caught.value)
    with pytest.raises(native.Unsupported, match="was to be one graph"):
        run(lambda: in_a_block(function, x))


def in_a_block(function: Program, x: torch.Tensor) -> None:
    with native.optimize(run_graph, nopython=True):
        function(x)


def test_what_is_innocent_is_no_error() -> None:
    innocent = {each.name for each in REASONS if each.innocent}
    assert innocent == {"compiler", "disabled", "disabled alone", "library", "no tensor"}
    with native.optimize(run_graph, nopython=True):
        assert textwrap.dedent("  a") == "a"
        assert (lambda n: n + 1)(3) == 4


def prints(n: int) -> torch.Tensor:
    print(n)
    return filled(n)


def filled(n: int) -> torch.Tensor:
    return torch.ones(n)


def test_a_function_that_is_called_without_tensors_becomes_one_graph_or_an_error() -> None:
    with pytest.raises(native.Unsupported, match="builtin print"):
        one_graph(prints)(3)
    captured = one_graph(lambda n: filled(n) + 1)
    explanation = explained(captured, 3)
    assert explanation.graph_count == 1


def test_a_call_that_computes_nothing_is_no_error_however_often() -> None:
    captured = one_graph(lambda *texts: texts)
    for number in range(20):
        assert captured(f"text {number}") == (f"text {number}",)
    for number in range(20):
        with contextlib.suppress(native.Unsupported):  # the limit of the cache
            assert captured(torch.ones(1), number)[1] == number


def explained(call: Callable[..., Any], *args: Any) -> Explanation:
    before = WATCHING.explanation
    explanation = WATCHING.explanation = Explanation()
    try:
        call(*args)
    finally:
        WATCHING.explanation = before
    return explanation


class Callable_:
    """An object to be called."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def triples(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@torch.no_grad()
def decorated(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@pytest.mark.parametrize(
    "function",
    [
        Callable_(), decorated, functools.partial(torch.mul, other=2), torch.nn.Identity(),
        torch.nn.functional.relu, torch.abs, native.optimize(run_graph)(triples),
    ],
    ids=["object", "decorated", "partial", "module", "function of torch", "builtin", "captured"],
)  # fmt: skip
def test_whatever_can_be_called_becomes_one_graph(function: Any) -> None:
    captured = one_graph(function)
    explanation = explained(captured, X)
    assert explanation.graph_count == (not isinstance(function, torch.nn.Identity))
    assert torch.equal(captured(X), function(X))


def test_a_module_with_hooks_is_one_graph_as_long_as_they_are_the_same() -> None:
    module = torch.nn.Linear(2, 2)
    captured = one_graph(module)
    x = torch.ones(2)
    expected = captured(x)
    handle = module.register_forward_hook(lambda module, args, result: result + 1)
    assert torch.equal(captured(x), expected + 1)
    other = module.register_forward_hook(lambda module, args, result: result * 2)
    assert torch.equal(captured(x), (expected + 1) * 2)
    other.remove()
    assert torch.equal(captured(x), expected + 1)
    handle.remove()
    assert torch.equal(captured(x), expected)


def test_what_a_captured_call_lets_go_of_need_not_be_one_graph() -> None:
    class Held:
        """Says when it goes."""

        def __del__(self) -> None:
            print("gone", float(X.sum()))

    def uses(x: torch.Tensor, held: Any) -> torch.Tensor:
        return x + 1

    captured = one_graph(uses)
    printed = io.StringIO()
    for _ in range(2):
        with contextlib.redirect_stdout(printed):
            captured(X, Held())
    assert printed.getvalue() == "gone 3.0\n" * 2


def test_a_defect_of_the_engine_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Any, inst: Any) -> None:
        raise AssertionError("a defect")

    def fresh(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    monkeypatch.setattr(config, "raise_internal_errors", False)
    monkeypatch.setattr(InstructionTranslatorBase, "BINARY_OP", fails)
    with pytest.raises(native.Unsupported, match="failed: AssertionError: a defect"):
        one_graph(fresh)(X)
    assert torch.equal(native.optimize(run_graph)(fresh)(X), X * 2)


def test_an_inference_tensor_is_an_error_and_no_defect() -> None:
    def doubles(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    with torch.inference_mode():
        made = torch.ones(2)
    with pytest.raises(native.Unsupported, match="was made in inference mode"):
        one_graph(doubles)(made)
    assert torch.equal(native.optimize(run_graph)(doubles)(made), torch.full((2,), 2.0))


def test_the_limit_of_the_cache_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cache_size_limit", 2)

    def adds(x: torch.Tensor, by: int) -> torch.Tensor:
        return x + by

    captured = native.optimize(run_graph, nopython=True, dynamic=False)(adds)
    for by in (1, 2):
        captured(torch.ones(2), by)
    with pytest.raises(native.Unsupported, match=r"captured 2 times.*cache_size_limit"):
        captured(torch.ones(2), 3)
    assert torch.equal(captured(torch.ones(2), 1), torch.full((2,), 2.0))


def test_an_entry_with_a_break_does_not_serve_a_call_that_is_to_be_one_graph() -> None:
    def breaks(x: torch.Tensor) -> Any:
        return x.sum().numpy().tolist()

    assert native.optimize(run_graph)(breaks)(torch.ones(2)) == 2.0
    with pytest.raises(native.Unsupported):
        one_graph(breaks)(torch.ones(2))


def test_calls_without_a_tensor_and_of_what_is_disabled_are_no_error() -> None:
    assert one_graph(lambda n: n + 1)(3) == 4
    assert torch.equal(one_graph(native.disable(lambda x: x + 1))(torch.zeros(2)), torch.ones(2))


def test_torch_jit_traces_captured_code_as_it_is() -> None:
    class Adds(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if torch.jit.is_tracing() else x * 3  # type: ignore[attr-defined]  # public

    module = Adds()
    captured = native.optimize(run_graph)(module)
    assert torch.equal(captured(torch.ones(2)), torch.full((2,), 3.0))
    traced = torch.jit.trace(lambda x: captured(x) + 1, torch.ones(2), check_trace=False)
    assert torch.equal(traced(torch.ones(2)), torch.full((2,), 3.0))
    assert torch.equal(captured(torch.ones(2)), torch.full((2,), 3.0))
    inside = native.optimize(run_graph)(
        lambda x: torch.jit.trace(module, x, check_trace=False)(x) + x
    )
    assert torch.equal(inside(torch.ones(2)), torch.full((2,), 3.0))
