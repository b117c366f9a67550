"""match, while, for-else, walrus, chained comparison, conditional expression, assert."""

import torch


@torch.compile(backend="eager")
def f(x, config):
    match config:
        case {"kind": "pair", "of": [a, b]}:
            x = x * a + b
        case {"kind": str() as kind} if len(kind) > 3:
            x = x + len(kind)
        case _:
            x = -x
    n = 0
    while (n := n + 1) < 4:
        if n == 3:
            continue
        x = x + n
    for i in range(2):
        if i > 5:
            break
    else:
        x = x * 10
    assert 1 < n <= 4, "always"
    return x if x.ndim == 1 else x.sum()


for config in ({"kind": "pair", "of": [2, 3]}, {"kind": "single"}, {}):
    print(f(torch.ones(2), config))
