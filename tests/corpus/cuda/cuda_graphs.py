"""CUDA graphs: what is recorded, replayed and skipped depends on who keeps an output alive."""

import torch
from torch._dynamo.utils import counters
from torch._inductor.cudagraph_trees import get_manager


@torch.compile(mode="reduce-overhead")
def block(x, w):
    return torch.relu(x @ w).sum(1)


@torch.compile(mode="reduce-overhead")
def changes_its_argument(x):
    x.add_(1)
    return x * 2


w = torch.randn(32, 32, device="cuda")
kept = []
for turn in range(6):
    torch.compiler.cudagraph_mark_step_begin()
    out = block(torch.ones(8, 32, device="cuda"), w)
    if turn % 2:
        kept.append(out.clone())
    print(turn, bool(torch.isfinite(out).all()))
for _ in range(3):
    changes_its_argument(torch.ones(8, device="cuda"))
print({key: value for key, value in counters["inductor"].items() if "cudagraph" in key})
manager = get_manager(0, create_if_none_exists=False)
print("recorded", manager.new_graph_id().id if manager else None)
print(torch.cuda.memory_allocated())
