"""Programs that decide about sizes, in as many ways as torch's documents and its users know."""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo
import torch.nn.functional as F
from torch import Tensor, nn

from tests.shapes.cases import marked, ones, program


@program((ones(5),), (ones(6),))
def format_string(x: Tensor) -> Tensor:
    n = x.shape[0]
    name = f"bucket{n}"
    return x * len(name) + n


@program((ones(5),), (ones(12),))
def branch(x: Tensor) -> Tensor:
    if x.shape[0] > 10:
        return x + 1
    return x * 2


@program((ones(4, 4),), (ones(4, 5),))
def duck(x: Tensor) -> Tensor:
    return x * x.shape[0] + x.shape[1]


@program((ones(1, 3),), (ones(0, 3),), (ones(4, 3),))
def zero_one(x: Tensor) -> Tensor:
    return x * x.shape[0]


@program((ones(4),), (ones(6),), (ones(8),), dynamic=None)
def automatic(x: Tensor) -> Tensor:
    return x.reshape(2, -1)


@program((ones(6), 3), (ones(8), 4), (ones(10), 5), dynamic=None)
def int_argument(x: Tensor, k: int) -> Tensor:
    return x.view(-1, k) * k


@program((ones(6), 1.5), (ones(6), 2.5), (ones(6), 3.5), dynamic=None)
def float_argument(x: Tensor, s: float) -> Tensor:
    return x * s


@program((ones(3, 4), ones(4, 5)), (ones(2, 6), ones(6, 7)))
def matmul(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


@program((ones(3, 4), ones(3, 4)), (ones(6, 4), ones(6, 4)))
def add_two(x: Tensor, y: Tensor) -> Tensor:
    return x + y


@program(
    (ones(3, 4), ones(5, 4)),
)
def concatenate(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y]).reshape(-1)


@program((ones(4, 6),), (ones(4, 9),))
def divisible(x: Tensor) -> Tensor:
    assert x.shape[1] % 3 == 0
    return x.view(x.shape[0], 3, x.shape[1] // 3).sum(1)


@program((ones(5),), (ones(7),))
def loop(x: Tensor) -> Tensor:
    for _ in range(x.shape[0]):
        x = x + 1
    return x


def inner(y: Tensor) -> Tensor:
    return y + 1 if y.shape[0] > 4 else y


@program((ones(3), ones(2)), (ones(9), ones(9)))
def inlined(x: Tensor, y: Tensor) -> Tensor:
    return inner(x)[: y.shape[0]] + y.sum()


@program((ones(6),), (ones(9),))
def slices(x: Tensor) -> Tensor:
    return x[1:-1] + x[: x.shape[0] - 2]


@program((ones(2, 3),), (ones(4, 3),))
def expand(x: Tensor) -> Tensor:
    return x.unsqueeze(1).expand(-1, 5, -1).reshape(x.shape[0] * 5, -1)


@program((ones(1, 2, 8, 8),), (ones(1, 2, 10, 10),))
def convolution(x: Tensor) -> Tensor:
    return F.max_pool2d(F.conv2d(x, ones(3, 2, 3, 3), padding=1), 2)


@program((ones(2, 5, 8),), (ones(2, 7, 8),))
def attention(x: Tensor) -> Tensor:
    mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


@program((marked(ones(5), 0),), (marked(ones(7), 0),), dynamic=None)
def mark(x: Tensor) -> Tensor:
    return x * 2


@program((marked(ones(5), 0, min=3, max=20),), dynamic=None)
def mark_range(x: Tensor) -> Tensor:
    return x[:3] * 2


@program((marked(ones(5), 0),), dynamic=None)
def marked_and_fixed(x: Tensor) -> Tensor:
    return x + ones(5)


@program((marked(ones(5), 0, torch._dynamo.maybe_mark_dynamic),), dynamic=None)
def maybe_marked_and_fixed(x: Tensor) -> Tensor:
    return x + ones(5)


@program((marked(ones(5), 0, torch._dynamo.decorators.mark_unbacked),), dynamic=None)
def mark_unbacked(x: Tensor) -> Tensor:
    return x * 2


@program((torch.arange(4),), dynamic=None, fullgraph=True)
def item_branch(x: Tensor) -> Tensor:
    n = x.sum().item()
    return x if n > 3 else x + 1


@program((torch.arange(4),), dynamic=None, fullgraph=True)
def item_checked(x: Tensor) -> Tensor:
    n = x.sum().item()
    torch._check(n >= 0)
    torch._check(n < 100)
    return torch.zeros(n) + torch.ones(n)


@program((torch.tensor([0, 1, 1]),), dynamic=None, fullgraph=True)
def nonzero(x: Tensor) -> Tensor:
    found = x.nonzero()
    return found * 2


@program((torch.tensor([2, 3]), ones(5, 2)), dynamic=None, fullgraph=True)
def split_by_data(sizes: Tensor, x: Tensor) -> Any:
    return x.split(sizes.tolist())


@program((ones(4), True), (ones(5), False))
def break_between(x: Tensor, flag: bool) -> Tensor:
    y = x * 2
    torch._dynamo.graph_break()
    return y.reshape(-1, 1) if flag else y


@program(([ones(3), ones(4)],), ([ones(5), ones(6)],))
def a_list(xs: list[Tensor]) -> Tensor:
    return torch.cat(xs).sum()


@program((ones(4, 4),), (ones(6, 6),))
def square(x: Tensor) -> Tensor:
    if x.shape[0] == x.shape[1]:
        return x.diagonal()
    return x


@program((ones(8),), (ones(10),))
def as_a_key(x: Tensor) -> Tensor:
    table = {8: 1.0, 10: 2.0}
    return x * table[x.shape[0]]


@program((ones(8),), (ones(10),))
def as_a_tuple(x: Tensor) -> Tensor:
    return x.new_zeros(tuple(x.shape)) + min(x.shape[0], 9)


@program((ones(3, 5),), (ones(4, 6),))
def pad(x: Tensor) -> Tensor:
    return F.pad(x, (0, -x.shape[1] % 4))


@program((ones(2, 3, 4),), (ones(5, 3, 4),))
def flatten(x: Tensor) -> Tensor:
    return x.flatten(0, 1).view(x.shape[0], 3, 4).transpose(0, 1).contiguous()


class Net(nn.Module):
    """Positions as long as the input."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(16, 4)
        self.normal = nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[1])
        return self.normal(x + self.embedding(positions))


@program((ones(2, 5, 4),), (ones(2, 7, 4),))
def module(x: Tensor) -> Tensor:
    return NET(x)


NET = Net().eval()


@program((ones(2, 3), ones(1, 3)), (ones(4, 3), ones(4, 3)))
def broadcast(x: Tensor, y: Tensor) -> Tensor:
    return x * y + y


@program((ones(6), ones(6)), (ones(6), ones(8)))
def unify(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y]).view(2, -1)


@program((ones(3),), (ones(5),))
def shape_as_number(x: Tensor) -> Tensor:
    return x / x.shape[0] ** 0.5 + float(x.shape[0])


@program((ones(4),), (ones(6),))
def isinstance_and_bool(x: Tensor) -> Tensor:
    n = x.shape[0]
    return x + 1 if isinstance(n, int) and bool(n) else x
