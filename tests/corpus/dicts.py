"""A dict is read, extended, iterated over and returned; insertion order is kept."""

import torch


@torch.compile(backend="eager")
def f(inputs):
    inputs["sum"] = inputs["a"] + inputs["b"]
    out = {key: value * 2 for key, value in inputs.items()}
    out.update(c=out.pop("a"))
    return out, inputs.get("missing", 1)


torch.manual_seed(0)
inputs = {"b": torch.randn(2), "a": torch.randn(2)}
out, default = f(inputs)
print(list(out), list(inputs), default)
print({key: value.tolist() for key, value in out.items()})
