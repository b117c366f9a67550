"""Programs whose sizes depend on data, and programs of several graphs."""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo
from torch import Tensor

from tests.shapes.cases import marked, ones, program

numbers = torch.arange


@program((numbers(6),), dynamic=None, fullgraph=True)
def masked(x: Tensor) -> Tensor:
    return x[x > 2] + 1


@program((numbers(6),), dynamic=None, fullgraph=True)
def masked_and_counted(x: Tensor) -> Tensor:
    found = x[x > 2]
    return found.view(-1, 1) * found.shape[0]


@program((numbers(6),), dynamic=None, fullgraph=True)
def count_asked(x: Tensor) -> Tensor:
    found = x[x > 2]
    if found.shape[0] == 0:
        return x
    return found


@program((torch.tensor([3, 1, 3]),), dynamic=None, fullgraph=True)
def distinct(x: Tensor) -> Tensor:
    return torch.unique(x) * 2


@program((ones(3), torch.tensor([1, 2, 0])), dynamic=None, fullgraph=True)
def repeated(x: Tensor, counts: Tensor) -> Tensor:
    return x.repeat_interleave(counts)


@program((torch.tensor([4, 2]),), dynamic=None, fullgraph=True)
def made_with_two(sizes: Tensor) -> Tensor:
    rows, columns = sizes.tolist()
    torch._check(rows > 0)
    torch._check(columns > 0)
    return torch.ones(rows, columns).sum(0)


@program((torch.tensor([4, 4]),), dynamic=None, fullgraph=True)
def made_equal(sizes: Tensor) -> Tensor:
    rows, columns = sizes.tolist()
    torch._check(rows == columns)
    return torch.ones(rows) + torch.ones(columns)


@program((ones(8), torch.tensor(3)), (ones(9), torch.tensor(2)))
def cut_by_data(x: Tensor, end: Tensor) -> Tensor:
    n = end.item()
    torch._check(n >= 0)
    torch._check(n <= x.shape[0])
    return x[:n] + 1


@program((ones(6), torch.tensor(3)))
def reshaped_by_data(x: Tensor, columns: Tensor) -> Tensor:
    n = columns.item()
    torch._check(n > 0)
    torch._check(x.shape[0] % n == 0)
    return x.view(-1, n)


@program((ones(4),), (ones(6),))
def chosen_by_cond(x: Tensor) -> Tensor:
    return torch.cond(
        x.sum() > 2, lambda x: x * x.shape[0], lambda x: x + 1, (x,)
    )  # fmt: skip


@program((ones(4),), (ones(12),))
def chosen_by_size(x: Tensor) -> Tensor:
    return torch.cond(x.shape[0] > 10, lambda x: x.sin(), lambda x: x.cos(), (x,))


@program((marked(ones(5, 3), 0), ones(3)), dynamic=None)
def mapped(x: Tensor, y: Tensor) -> Any:
    from functorch.experimental.control_flow import map as map_over

    return map_over(lambda row, y: row * y, x, y)


@program(
    (marked(ones(5), 0, torch._dynamo.decorators.mark_unbacked),), dynamic=None, fullgraph=True
)
def unbacked_asked(x: Tensor) -> Tensor:
    if x.shape[0] > 3:
        return x + 1
    return x


@program(
    (
        marked(ones(5), 0, torch._dynamo.decorators.mark_unbacked),
        marked(ones(5), 0, torch._dynamo.decorators.mark_unbacked),
    ),
    dynamic=None, fullgraph=True,
)  # fmt: skip
def unbacked_added(x: Tensor, y: Tensor) -> Tensor:
    return x + y


@program(([ones(2, 3), ones(5, 3)],), ([ones(4, 3), ones(6, 3)],))
def ragged(rows: list[Tensor]) -> Tensor:
    longest = max(each.shape[0] for each in rows)
    return torch.stack(
        [torch.nn.functional.pad(each, (0, 0, 0, longest - each.shape[0])) for each in rows]
    )


@program(([ones(2), ones(5)],), ([ones(4), ones(6)],), dynamic=None)
def ragged_sums(rows: list[Tensor]) -> Tensor:
    return torch.stack([each.sum() for each in rows])


@program((ones(7, 2), torch.tensor([0, 2, 7])), (ones(9, 2), torch.tensor([0, 4, 9])))
def by_offsets(values: Tensor, offsets: Tensor) -> Tensor:
    lengths = offsets.diff()
    places = torch.arange(lengths.shape[0]).repeat_interleave(lengths)
    return torch.zeros(lengths.shape[0], 2).index_add(0, places, values)


@program(({"a": ones(3), "b": ones(4)},), ({"a": ones(5), "b": ones(5)},))
def of_a_dict(x: dict[str, Tensor]) -> Tensor:
    total = sum(each.shape[0] for each in x.values())
    return torch.ones(total) * len(x)


@program((ones(4), 4), (ones(8), 8), (ones(8), 6))
def size_and_int(x: Tensor, n: int) -> Tensor:
    if x.shape[0] == n:
        return x + n
    return x - n


@program((ones(10),), (ones(14),))
def asserted(x: Tensor) -> Tensor:
    torch._check(x.shape[0] >= 2)
    assert x.shape[0] < 100, "too long"
    return x.view(2, -1)


@program((ones(10, 3),), (ones(14, 3),))
def halves(x: Tensor) -> Tensor:
    first, second = x.chunk(2)
    return first @ second.T


@program((ones(2, 3), ones(4, 3)), (ones(3, 3), ones(4, 3)), dynamic=None)
def automatic_of_two(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y]).sum(0)


@program((ones(3, 1), ones(1, 4)), (ones(2, 5), ones(2, 5)))
def broadcast_both(x: Tensor, y: Tensor) -> Tensor:
    return x * y


@program((ones(3, 5),), (ones(5, 3),))
def transposed(x: Tensor) -> Tensor:
    return x.t().contiguous().view(-1)
