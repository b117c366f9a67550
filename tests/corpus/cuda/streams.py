"""Streams and events beside compiled code, and inside of it."""

import torch

side = torch.cuda.Stream()


@torch.compile(backend="eager")
def on_a_stream(x):
    with torch.cuda.stream(side):
        y = x * 2
    torch.cuda.current_stream().wait_stream(side)
    return y + 1


@torch.compile(backend="eager")
def with_an_event(x):
    event = torch.cuda.Event()
    event.record()
    y = x + 1
    event.wait()
    return y


x = torch.ones(1024, device="cuda")
for function in (on_a_stream, with_an_event):
    for _ in range(2):
        try:
            print(function(x).sum().item())
        except Exception as error:
            print(type(error).__name__)
