"""An event loop whose tasks compile, call and await in turns, also in an executor's thread."""

import asyncio

import torch


@torch.compile(backend="eager")
def infer(x, scale):
    return (x * scale).relu() + x.shape[0]


async def serve(queue, answers):
    loop = asyncio.get_running_loop()
    while (item := await queue.get()) is not None:
        number, x = item
        if number % 2:
            answers[number] = await loop.run_in_executor(None, infer, x, float(number))
        else:
            answers[number] = infer(x, float(number))
        await asyncio.sleep(0)


async def main():
    queue, answers = asyncio.Queue(), {}
    for number in range(4):
        await queue.put((number, torch.ones(number + 1)))
    await queue.put(None)
    await serve(queue, answers)
    print([answers[number].sum().item() for number in sorted(answers)])


asyncio.run(main())
