"""Models and a training step, compiled, and what torch says that it timed meanwhile."""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch._inductor.config
from torch import nn
from torch._dynamo.utils import compilation_time_metrics, get_compilation_metrics
from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

from stepper._C import Steps

Function = tuple[str, str, int, int]


def profile(functions: list[Function]) -> None:
    """Have torch's own profiler of tracing tell what each function took, in `functions`."""
    from torch._dynamo.dynamo_profiler import DynamoProfilerState

    def keep(state, *_):
        # It is asked for twice.
        functions.extend(
            (each.func_name, each.filename, each.firstlineno, each.cumtime_ns)
            for each in state.timings
            if id(each) not in known
        )
        known.update({id(each): each for each in state.timings})

    known: dict[int, object] = {}
    DynamoProfilerState.dump_stats = keep  # type: ignore[method-assign]  # it would print
    torch._dynamo.config.dynamo_profiler = True
    # The recording's clock leaves out what noting takes, a commit for instance, which is long on a
    # busy machine; the wall's has it in whichever function is under way. So both read one clock.
    (steps,) = (each for each in gc.get_objects() if type(each) is Steps)
    clock = ModuleType("time")
    vars(clock).update(vars(time), time_ns=steps.clock)
    for reader in (torch._dynamo.symbolic_convert, torch._dynamo.output_graph):
        vars(reader)["time"] = clock


def models() -> None:
    """T5 and GPT-2, two layers each."""
    tokens = torch.arange(6).unsqueeze(0)
    config = T5Config(num_layers=2, num_heads=2, d_model=16, d_ff=32, d_kv=8, vocab_size=32)
    config.decoder_start_token_id = 0
    t5 = T5ForConditionalGeneration(config)
    gpt2 = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=16, n_head=2, vocab_size=32))
    with torch.no_grad():
        torch.compile(t5.eval(), backend="eager")(input_ids=tokens, labels=tokens)
        torch.compile(gpt2.eval(), backend="eager")(input_ids=tokens)


def train() -> None:
    """A forward and a backward with Inductor. What it has written in C++ may have been compiled by
    an earlier run; all else is done again."""
    torch._inductor.config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False
    weight = torch.ones(4, 4, requires_grad=True)

    @torch.compile
    def loss(x):
        return (nn.functional.gelu(x @ weight) * 2).sum()

    loss(torch.ones(8, 4)).backward()


if __name__ == "__main__":
    functions: list[Function] = []
    if not torch.__version__.startswith("2.11."):  # where it fails at each graph break
        profile(functions)
    models()
    if functions:
        torch._dynamo.config.dynamo_profiler = False
    train()
    metrics: list[dict[str, Any]] = [
        {name: value for name, value in vars(each).items() if name.endswith("_us")}
        for each in get_compilation_metrics()
    ]
    times = {name: times for name, times in compilation_time_metrics.items() if times}
    kernels = torch._inductor.metrics.generated_kernel_count
    told = {"times": times, "metrics": metrics, "functions": functions, "kernels": kernels}
    Path(sys.argv[1]).write_text(json.dumps(told))
