"""A cache entry that lives as long as a class, and what its death does to the next call.

What to look for in stepper (`stepper run --break entry:describe demos/entry_lifetime.py`):

* It stops when the second function has been compiled. The cache holds an entry for each; that of
  ``apply`` depends on the class ``Scaler``, which its guards know by identity.
* ``k`` shows the cache: the entry of ``apply`` lives on the class. ``del scaler; gc.collect()`` in
  the console (``e``) lets it die, and the entry is invalid at once, with class, guard and place.
* Then ``apply`` is called with a new class, and translated again. Without the deletion the program
  deletes the class itself.
"""

import gc

import torch


def make_scaler() -> type:
    class Scaler:
        factor = 2.0

    return Scaler


@torch.compile(backend="eager")
def apply(x: torch.Tensor, scaler: type) -> torch.Tensor:
    return x * scaler.factor  # type: ignore[attr-defined]  # a class that is made anew


@torch.compile(backend="eager")
def describe(x: torch.Tensor) -> torch.Tensor:
    return x.mean()


data = torch.ones(4)
scaler = make_scaler()
print("first class:", apply(data, scaler).tolist())
print("mean:", describe(data).item())
if "scaler" in globals():
    del scaler
    gc.collect()
scaler = make_scaler()
print("second class:", apply(data, scaler).tolist())
