"""Graph breaks of several kinds, one function each.

What to look for in stepper:

* `break graph-break` and `continue` from one to the next. Each stops at the instruction that
  caused it; the report gives Dynamo's reason, its hints, and the user's stack.
* ``in_a_helper`` breaks inside an inlined call: the call stack shows the helper's frame on top,
  and Dynamo gives up on inlining the whole call, not only on the one instruction.
* ``in_a_loop`` breaks where no resume function can be made: the frame is given up, and the loop
  runs in plain Python. Set `break skip` to see that moment.
* ``asked_for`` breaks because the program says so; ``to_number`` because a number leaves the
  tensor.
"""

import torch


@torch.compile(backend="eager")
def with_print(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    print("the shape is", tuple(y.shape))
    return y.cos()


@torch.compile(backend="eager")
def on_data(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x + 1
    return x - 1


@torch.compile(backend="eager")
def to_number(x: torch.Tensor) -> torch.Tensor:
    scale = x.max().item()
    return x / scale


@torch.compile(backend="eager")
def asked_for(x: torch.Tensor) -> torch.Tensor:
    x = x * 2
    torch._dynamo.graph_break()
    return x + 3


def helper(x: torch.Tensor) -> torch.Tensor:
    y = x.exp()
    print("in the helper")
    return y.log()


@torch.compile(backend="eager")
def in_a_helper(x: torch.Tensor) -> torch.Tensor:
    return helper(x + 1) * 2


@torch.compile(backend="eager")
def in_a_loop(x: torch.Tensor) -> torch.Tensor:
    for step in range(3):
        x = x + step
        print("step", step)
    return x


def main() -> None:
    torch.manual_seed(0)
    x = torch.rand(4) + 1
    for function in (with_print, on_data, to_number, asked_for, in_a_helper, in_a_loop):
        print(f"{function.__name__}: {function(x).sum().item():.3f}")


if __name__ == "__main__":
    main()
