"""Compilations that fail, each in another way. Prints, as JSON, what torch says of each: its name,
the exception's class and message. Run alone or recorded, it is the same. With a name, it dies of
that one.

The line to blame is marked `# blame NAME`.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd

torch._dynamo.config.capture_scalar_outputs = True
whole = torch.compile(backend="eager", fullgraph=True)
log = logging.getLogger(__name__)


def unsupported(x: Tensor) -> Tensor:
    return _logged(x.sin())


def _logged(y: Tensor) -> Tensor:
    log.warning("hello")  # blame unsupported
    return y + 1


def fake(x: Tensor) -> Tensor:
    return _product(x.relu(), x) + 1


def _product(a: Tensor, b: Tensor) -> Tensor:
    c = a * 2
    return c @ b  # blame fake


def branch(x: Tensor) -> Tensor:
    if x.sum() > 0:  # blame branch
        return x + 1
    return x - 1


def data(x: Tensor) -> Tensor:
    n = x.sum().int().item()
    return _picked(x.sin(), n)


def _picked(y: Tensor, n: int) -> Tensor:
    if n > 3:  # blame data
        return y + 1
    return y - 1


def differing(x: Tensor) -> Tensor:
    y = x + 1
    return torch.cond(x.sum() > 0, _sine, _integer, (y,))  # blame differing


def _sine(y: Tensor) -> Tensor:
    return y.sin()


def _integer(y: Tensor) -> Tensor:
    return y.int()


def inside(x: Tensor) -> Tensor:
    return torch.cond(x.sum() > 0, _sine, _printing, (x,))


def _printing(y: Tensor) -> Tensor:
    print("here")  # blame inside
    return y.cos()


def marked(x: Tensor) -> Tensor:
    if x.shape[0] == 3:  # blame marked
        return x.sin()
    return x.cos()


def added(x: Tensor) -> Tensor:
    y = x * 2
    z = y + torch.ones(3, 4)  # blame added
    return z.sin()


def raising(x: Tensor) -> Tensor:
    raise ValueError("not today")  # blame raising


def backend(x: Tensor) -> Tensor:
    return x.sin() + 1


def _no_backend(graph: Any, inputs: Any) -> Any:
    raise ValueError("the backend is out of order")


def dispatched(x: Tensor) -> Tensor:
    y = x.sin()
    z = _twice(y)  # blame dispatched
    return z + 1


@torch.library.custom_op("stepper_failures::twice", mutates_args=())
def _twice(x: Tensor) -> Tensor:
    return x * 2


_runs = 0


@_twice.register_fake
def _(x: Tensor) -> Tensor:
    global _runs
    _runs += 1
    if _runs > 1:
        raise RuntimeError("once is enough")
    return torch.empty_like(x)


def lowered(x: Tensor) -> Tensor:
    y = x * 2
    z = y.sin()  # blame lowered
    return z + 1


class _NoSine(torch.fx.Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if "sin" in str(target):
            raise ValueError("no sine here")
        return super().call_function(target, args, kwargs)


def _lowering(graph: Any, inputs: Any) -> Any:
    _NoSine(graph).run(*inputs)
    return graph


def backwards(x: Tensor) -> Tensor:
    y = x.cos()  # blame backwards
    return y * 2


def again(x: Tensor, n: int) -> Tensor:
    return x + n


def refused(x: Tensor, n: int) -> Tensor:
    return x - n


def limited(x: Tensor, n: int) -> Tensor:
    return x * n


def _call(name: str, function: Callable[..., Any], *args: Any) -> None:
    if sys.argv[1:] == [name]:
        function(*args)
    try:
        function(*args)
    except Exception as error:
        said = {"name": name, "exception": type(error).__name__, "message": str(error)}
        print(json.dumps(said))
    else:
        raise AssertionError(f"{name} was compiled")


def _backward(x: Tensor) -> None:
    x = x.clone().requires_grad_()
    compiled = aot_autograd(fw_compiler=lambda graph, _: graph, bw_compiler=_lowering)
    torch.compile(backwards, backend=compiled)(x).sum().backward()


def main() -> None:
    x = torch.ones(3, 4)
    for function in (unsupported, fake, branch, data, differing, inside, raising):
        _call(function.__name__, whole(function), x)
    for function in (marked, added):
        dynamic = torch.ones(3, 4)
        torch._dynamo.mark_dynamic(dynamic, 0)
        _call(function.__name__, whole(function), dynamic)
    _call("backend", torch.compile(backend, backend=_no_backend), x)
    _call("dispatched", torch.compile(dispatched, backend="aot_eager"), x)
    _call("lowered", torch.compile(lowered, backend=aot_autograd(fw_compiler=_lowering)), x)
    _call("backwards", _backward, x)
    compiled = torch.compile(again, backend="eager", dynamic=False)
    compiled(x, 1)
    with torch._dynamo.config.patch(error_on_recompile=True):
        _call("again", compiled, x, 2)
    compiled = torch.compile(refused, backend="eager", dynamic=False)
    compiled(x, 1)
    with torch.compiler.set_stance("fail_on_recompile"):
        _call("refused", compiled, x, 2)
    compiled = torch.compile(limited, backend="eager", dynamic=False, fullgraph=True)
    with torch._dynamo.config.patch(recompile_limit=1):
        compiled(x, 1)
        _call("limited", compiled, x, 2)


if __name__ == "__main__":
    main()
