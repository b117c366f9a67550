"""Two ranks of a process group, with collectives in the graph, between graphs and in backward.

Each prints what it computed, which collectives torch itself has noted, and what Dynamo counted.
"""

import json
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace_json
from torch._dynamo.utils import counters


def work(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    first = len(noted())
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))

    @torch.compile(backend="eager")
    def step(x):
        y = model(x)
        dist.all_reduce(y)
        if rank:  # each rank has code of its own
            y = y * 2
        print("rank", rank, "breaks")
        return y.sum()

    for size in (3, 3, 5):
        loss = step(torch.ones(size, 4) * (rank + 1))
        loss.backward()
        dist.barrier()
    total = sum(parameter.grad.sum().item() for parameter in model.parameters())
    print(f"rank {rank}: {loss.item():.4f} {total:.4f}")
    for each in noted()[first:]:
        print(f"rank {rank}:", each["profiling_name"], each["input_sizes"], each["output_sizes"])
    print(f"rank {rank}:", sorted(counters["stats"].items()), sorted(counters["frames"].items()))
    time.sleep(0.2)  # a thread of gloo's lets go of the last barrier, and needs the GIL for it
    dist.destroy_process_group()
    sys.excepthook = sys.__excepthook__  # torch leaves its own behind


def noted():
    return json.loads(_dump_fr_trace_json(True, False)).get("entries", [])


with tempfile.TemporaryDirectory() as folder:
    reads, writes = os.pipe()
    other = os.fork()
    if not other:
        os.dup2(writes, 1)
        work(1, f"{folder}/store")
        print(end="", flush=True)
        os._exit(0)
    os.close(writes)
    work(0, f"{folder}/store")
    os.waitpid(other, 0)
    with os.fdopen(reads) as said:
        print(said.read())
