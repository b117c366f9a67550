"""Why the same function is compiled again, and again, until Dynamo stops trying.

What to look for in stepper:

* `break recompile` stops at each new translation of a function that has cache entries. The reason
  names the entry that was tried, the guard that failed in it, and what was expected.
* Shapes: the second size makes that dimension dynamic (``s0`` in the graph); the third reuses the
  entry.
* Dtype and rank are never dynamic: each one costs an entry.
* Constants: an int argument becomes symbolic on its second value; a string is compiled for each
  value.
* Types: a list and a tuple of the same tensors need an entry each.
* The cache limit (here 4): `break cache-limit` stops where Dynamo gives the function up for good.
"""

import torch
from torch._dynamo import config


@torch.compile(backend="eager")
def by_tensor(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + x.shape[0]


@torch.compile(backend="eager")
def by_int(x: torch.Tensor, times: int) -> torch.Tensor:
    return x * times


@torch.compile(backend="eager")
def by_mode(x: torch.Tensor, mode: str) -> torch.Tensor:
    return x + len(mode)


@torch.compile(backend="eager")
def by_type(xs: list[torch.Tensor] | tuple[torch.Tensor, ...]) -> torch.Tensor:
    return xs[0] + xs[1]


def main() -> None:
    torch.manual_seed(0)
    config.recompile_limit = 4

    for size in (4, 5, 6):
        print("size", size, by_tensor(torch.ones(size)).sum().item())
    for dtype in (torch.float64, torch.int32):
        print(dtype, by_tensor(torch.ones(4, dtype=dtype)).sum().item())
    for times in (1, 2, 3):
        print("times", times, by_int(torch.ones(4), times).sum().item())
    pair = [torch.ones(2), torch.ones(2)]
    print("list", by_type(pair).sum().item(), "tuple", by_type(tuple(pair)).sum().item())
    for mode in ("a", "bb", "ccc", "dddd", "eeeee", "ffffff"):
        print("mode", mode, by_mode(torch.ones(4), mode).sum().item())


if __name__ == "__main__":
    main()
