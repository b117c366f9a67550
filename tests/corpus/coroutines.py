"""A coroutine is left alone, and what it awaits and calls is compiled."""

import asyncio

import torch


@torch.compile(backend="eager")
def work(x):
    return x.sin() * 2


async def produce(x):
    await asyncio.sleep(0)
    return work(x)


async def main():
    return await asyncio.gather(produce(torch.ones(2)), produce(torch.zeros(2)))


print(asyncio.run(main()))
