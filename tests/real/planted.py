"""Ranks of which some do something else, each a kind of that: what `tests.real.ranks` records.

    planted.py RANKS [KIND ...]

starts so many ranks, forked from this process, which has imported torch; under `torchrun` it is one
of the ranks. The first kind is planted in rank 1, the next in rank 2, ….

    planted.py rounds KIND,KIND,... ...

is a rank under `torchrun`, too: it records round after round, each into a folder of its name. The
first kind of a round is planted in rank 1, the next in rank 2, ….

    planted.py alone KIND ...

records in this process, for each kind, four ranks one after the other, into a folder of its name.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

import torch
import torch._dynamo.convert_frame
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore

IN_GRAPHS = ("traced", "graph")
"""With these, the compiled function has a collective in all ranks; with the second, another one in
the rank where it is planted."""


def work(kinds: Sequence[str], mine: str, connected: bool = True) -> None:
    """What a rank does.

    Args:
        kinds: all that are planted in some rank.
        mine: the one that is planted in this one; empty: none is.
        connected: whether there are other ranks.
    """
    os.environ["FAST"] = "1" if mine == "environment" else "0"
    traced = bool(set(IN_GRAPHS) & set(kinds))

    def helper(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    @torch.compile(backend="eager")
    def step(
        x: torch.Tensor,
        scale: int = 2,
        odd: bool = False,
        breaks: bool = False,
        gathers: bool = False,
    ) -> torch.Tensor:
        y = helper(x) * scale
        if odd:
            y = y - 1  # only on one rank
        if os.environ.get("FAST") == "1":
            y = y.relu()
        if breaks:
            torch._dynamo.graph_break()
        if traced:
            dist.all_reduce(y)  # in the graph
            dist.all_gather_into_tensor(y, y) if gathers else dist.all_reduce(y)
        return y + x

    if mine == "cache":
        step(torch.ones(7), 3)  # before all others
    for number, size in enumerate((4, 4, 5)):
        if number == 2 and mine == "skip":
            continue
        if number == 2 and mine == "hang":
            signal.pause()
        step(
            torch.ones(8 if mine == "shape" else size),
            odd=mine == "branch",
            breaks=mine == "break",
            gathers=mine == "graph",
        )
        if not connected:
            continue
        if mine == "collective" and number == 1:
            dist.broadcast(torch.ones(2), 0, async_op=True)  # the wrong one
        else:
            dist.all_reduce(torch.ones(2), async_op="collective" in kinds)  # the usual one


def be_a_rank(kinds: Sequence[str], store: str | None = None) -> None:
    """One of several, by its environment.

    Args:
        kinds: all that are planted.
        store: where they find each other; None: as torchrun has it.
    """
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    method = None if store is None else f"file://{os.path.abspath(store)}"
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=ranks)
    try:
        work(kinds, (["", *kinds] + [""] * ranks)[rank])
    except RuntimeError as error:  # of those that wait for a rank which has gone
        print(f"rank {rank}: {error}")
    finally:
        sys.stdout.flush()
        os._exit(0)  # also when there is a collective under way in which nobody else takes part


def fork_ranks(ranks: int, kinds: Sequence[str]) -> None:
    """Start ranks that are forks of this process, which has imported torch."""
    children = []
    for rank in range(ranks):
        child = os.fork()
        if not child:
            os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(ranks)}
            be_a_rank(kinds, f"store-{os.getppid()}")
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def take_turns(rounds: Sequence[str]) -> None:
    """One of several ranks as torchrun has them, which records each round by itself."""
    import stepper

    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    for name in rounds:
        kinds = name.split(",")
        mine = (["", *kinds] + [""] * ranks)[rank]
        os.makedirs(name, exist_ok=True)
        torch._dynamo.reset()
        with stepper.record(f"{name}/rank{rank}.stepper"):
            work(kinds, mine)
        if mine == "skip":
            dist.all_reduce(torch.ones(2))  # for which the others wait
    dist.destroy_process_group()


def be_all_ranks(kinds: Sequence[str]) -> None:
    """Four ranks, one after the other, with the kind in the second."""
    import stepper

    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    for kind in kinds:
        os.makedirs(kind, exist_ok=True)
        for rank in range(4):
            os.environ["RANK"] = str(rank)
            torch._dynamo.reset()
            with stepper.record(f"{kind}/rank{rank}.stepper"):
                work([kind], kind if rank == 1 else "", connected=False)


def main(first: str, *kinds: str) -> None:
    if first == "alone":
        be_all_ranks(kinds)
    elif first == "rounds":
        take_turns(kinds)
    elif "RANK" in os.environ:
        be_a_rank(kinds)
    else:
        fork_ranks(int(first), kinds)


if __name__ == "__main__":
    main(*sys.argv[1:])
