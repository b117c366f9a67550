"""What breaks graphs on a GPU: a value that is read, a copy to the CPU, numpy, synchronizing."""

import torch


@torch.compile(backend="eager")
def clip(grads, limit):
    norm = torch.stack([grad.norm() for grad in grads]).norm()
    if norm.item() > limit:
        grads = [grad * (limit / norm) for grad in grads]
    return grads


@torch.compile(backend="eager")
def timed(x):
    y = x @ x
    torch.cuda.synchronize()
    return y.sum()


@torch.compile(backend="eager")
def logged(x):
    y = x * 2
    print("mean", float(y.mean().cpu()))
    return y + 1


print([round(each.sum().item(), 3) for each in clip([torch.ones(4, device="cuda")] * 3, 1.0)])
print(timed(torch.eye(8, device="cuda")).item())
print(logged(torch.ones(4, device="cuda")).sum().item())
