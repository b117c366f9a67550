"""Two threads, one after the other, compile and call the same function."""

import threading

import torch


@torch.compile(backend="eager")
def f(x):
    return x.sin() + x.shape[0]


results = []
for size in (2, 3):
    thread = threading.Thread(target=lambda size=size: results.append(f(torch.ones(size))))
    thread.start()
    thread.join()
print(results)
