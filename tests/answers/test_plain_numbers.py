"""Which of torch's functions need a number of Python's is what torch does with a symbol there."""

from __future__ import annotations

import ast
import inspect
import logging
import re
import warnings
from collections.abc import Iterator

import pytest

from stepper.analysis import data_rules, taken

pytestmark = pytest.mark.slow

PLAIN = (
    "x.all(n)", "functional.alpha_dropout(x, p)", "x.amax(n)", "x.amin(n)", "x.any(n)",
    "x.argmax(n)", "x.argmin(n)", "x.argsort(n)", "functional.avg_pool1d(x[None], n)",
    "functional.batch_norm(x, None, None, training=True, momentum=p)", "torch.bernoulli(x, p)",
    "torch.cat([x, x], dim=n)", "x.chunk(n)", "x.count_nonzero(n)",
    "functional.cross_entropy(x, i[0], label_smoothing=p)", "x.cummax(n)", "x.cumprod(n)",
    "x.cumsum(n)", "x.diagonal(n)", "x.diff(n)", "functional.dropout(x, p)",
    "functional.embedding(i, x, n)", "x.flatten(n)", "x.flip(n)", "x.gather(n, i)",
    "functional.glu(x, n)", "functional.group_norm(x, n)", "x.index_select(n, i[0])",
    "functional.layer_norm(x, (2,), eps=p)", "torch.linspace(0, 1, n)", "x.log_softmax(n)",
    "x.logcumsumexp(n)", "torch.logspace(0, 1, n)", "x.logsumexp(n)", "x.max(n)",
    "functional.max_pool1d(x[None], n)", "x.mean(n)", "x.median(n)", "x.min(n)", "x.mode(n)",
    "x.movedim(0, n)", "torch.manual_seed(n)", "x.nansum(n)", "x.narrow(n, 0, 1)",
    "torch.norm(x, n)", "x.normal_(0, p)", "functional.normalize(x, dim=n)",
    "functional.one_hot(i, n)", "x.permute(n, 0)", "functional.pixel_shuffle(x[None, None], n)",
    "x.prod(n)", "torch.quantile(x, p)", "x.repeat_interleave(2, n)",
    "functional.rms_norm(x, (2,), eps=p)", "x.roll(1, n)", "x.rot90(n)",
    "torch.round(x, decimals=n)",
    "functional.scaled_dot_product_attention(x, x, x, scale=p)", "x.select(n, 0)",
    "functional.smooth_l1_loss(x, x, beta=p)", "x.softmax(n)", "x.sort(n)", "x.split(n)",
    "x.squeeze(n)", "torch.stack([x, x], n)", "x.std(n)", "x.sum(n)", "x.swapaxes(0, n)",
    "x.tensor_split(n)", "x.topk(1, n)", "x.transpose(0, n)", "x.unbind(n)", "x.unfold(0, n, 1)",
    "x.uniform_(0, p)", "x.unsqueeze(n)", "torch.vander(x[0], n)", "x.var(n)",
)  # fmt: skip
SYMBOLIC = (
    "torch.linspace(0, n, 5)", "x.narrow(0, n, 1)", "x.repeat_interleave(n)", "x.roll(n, 0)",
    "x.select(0, n)", "x.topk(n)", "torch.arange(n)", "torch.full_like(x, p)", "x.tril(n)",
    "torch.lerp(x, x, p)", "x.clamp(min=p)", "x.view(-1, n)", "functional.pad(x, (n, 0))",
)  # fmt: skip


def breaks(expression: str) -> bool:
    """Whether the graph breaks, or the compilation fails, where a symbol stands there."""
    import torch
    from torch.nn import functional

    number = "p = u.sum().item()" if re.search(r"\bp\b", expression) else "n = t.sum().item()"
    names: dict[str, object] = {"torch": torch, "functional": functional}
    exec(f"def f(x, i, t, u):\n    {number}\n    return {expression}, x + 1\n", names)
    graphs = []

    def backend(graph: torch.fx.GraphModule, _: object) -> object:
        graphs.append(graph)
        return graph

    ones = torch.ones(1, dtype=torch.int64)
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(names["f"], backend=backend)  # type: ignore[call-overload]  # made above
        compiled(torch.rand(2, 2), torch.zeros(2, 2, dtype=torch.int64), ones, ones / 2)
    return len(graphs) != 1


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("expression", PLAIN)
def test_a_symbol_does_not_do(expression: str) -> None:
    assert breaks(expression)


@pytest.mark.parametrize("expression", SYMBOLIC)
def test_a_symbol_does(expression: str) -> None:
    assert not breaks(expression)


def test_each_function_was_run() -> None:
    assert {re.findall(r"\.(\w+)\(", each)[0] for each in PLAIN} == taken.WITH_PLAIN


def test_each_that_decides_by_data_is_known() -> None:
    """Of Python's functions in torch.nn.functional."""
    from torch.nn import functional

    asking = {
        function.name
        for function in ast.parse(inspect.getsource(functional)).body
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, (ast.If, ast.While, ast.IfExp))
        for each in ast.walk(node.test)
        if isinstance(each, ast.Call) and ast.unparse(each.func) in ("torch.any", "torch.all")
    }
    assert asking == data_rules.DECIDING
