"""The example that TorchDynamo's own documents explain: one branch on data, three pieces of code.

What to look for in stepper:

* Step to ``if b.sum() < 0``. The condition on the symbolic stack is a TensorVariable: it has no
  value yet, so Dynamo cannot choose a branch. `break graph-break` stops exactly there.
* After the break, Dynamo translates again and ends its graph at that branch. The generated
  bytecode calls the compiled graph, then one of two resume functions: one for each side of the
  ``if``.
* Each resume function is a frame of its own, with its own lookup, guards and graph. They are
  translated only when a call gets there for the first time, so wait for both signs of ``b``.
"""

import torch


@torch.compile(backend="eager")
def toy_example(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def main() -> None:
    torch.manual_seed(0)
    total = 0.0
    for _ in range(100):
        total += toy_example(torch.randn(10), torch.randn(10)).sum().item()
    print(f"100 calls, total {total:.3f}")


if __name__ == "__main__":
    main()
