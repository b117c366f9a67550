"""A call looks for a cache entry: guards pass, guards fail, and what that leads to.

What to look for in stepper, with `--lookups`:

* The first call finds nothing: its lookup is a single row.
* The second call has another shape. `break guard-fail` stops at the guard that fails, with what was
  expected, what is there, and what differs; stepping on leads into the recompilation.
* The third call is a hit of the older entry: the newer one is tried first. After it the older one
  stands first, as the fourth call shows.
* `n` goes from entry to entry, `s` from guard to guard.
"""

import torch


@torch.compile(backend="eager", dynamic=False)
def scale(x: torch.Tensor, by: float) -> torch.Tensor:
    return x * by


def main() -> None:
    for size in (2, 3, 2, 2):
        print("size", size, scale(torch.ones(size), 1.5).sum().item())


if __name__ == "__main__":
    main()
