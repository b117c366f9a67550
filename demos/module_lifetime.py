"""How long a cache entry lives: as long as the objects its guards know by identity.

What to look for in stepper:

* ``Model.forward`` is one code object for every instance. Torch of today checks a module's
  contents and not its identity, so the second instance is served by the first one's entry: there
  is one translation of it.
* ``make_scaler`` makes a new class each time, and the compiled code reads a class attribute. Its
  guards know the class by identity and hold it weakly: when the class dies, so does the entry,
  and the next call translates again. `frames` gives the reason: the entry was invalidated.
* A dead entry stays in the list, and its guards never pass; the program prints the list.
"""

import gc
from collections.abc import Callable

import torch
from torch import nn

import stepper.cache


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(128, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + 1


def make_scaler() -> type:
    class Scaler:
        factor = 2.0

    return Scaler


def apply(x: torch.Tensor, scaler: type) -> torch.Tensor:
    return x * scaler.factor  # type: ignore[attr-defined]  # a class that is made anew


def entries(function: Callable[..., torch.Tensor]) -> list[str]:
    return [entry.facts.reason or "alive" for entry in stepper.cache.list(function)]


def main() -> None:
    torch.manual_seed(0)
    data = torch.randn(64, 128)

    for name in ("first", "second"):
        model = torch.compile(Model(), backend="eager")
        model(data)
        del model
        gc.collect()
        print(f"{name} model is gone; entries of forward: {entries(Model.forward)}")

    compiled = torch.compile(apply, backend="eager")
    for name in ("first", "second", "third"):
        scaler = make_scaler()
        compiled(data, scaler)
        print(f"{name} class; entries of apply: {entries(apply)}")
        del scaler
        gc.collect()
        print(f"{name} class is gone; entries of apply: {entries(apply)}")


if __name__ == "__main__":
    main()
