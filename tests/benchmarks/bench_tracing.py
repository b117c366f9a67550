"""What watching costs: `python -m tests.benchmarks.bench_tracing [MODEL…] [--processes N]`.

Compiles small T5, GPT-2 and LLaMA with random weights, over and over: without stepper, with
breakpoints armed that are not hit (detail `stops`), and with everything recorded. The figures are
ratios of CPU time, of each way's shortest compile to the shortest plain one of the same process:
whatever else the machine does makes a compile longer and none shorter, by 30 % here and there, and
so hardly touches the shortest of several. The order turns from round to round, and so does what one
compile leaves to the next. Several processes take part, because a process has its luck with where
its memory lies: the figures of two differ by some percent, whatever is measured; theirs is the
median. The garbage collector runs as usual: what a watcher leaves for it is part of the cost.

While a program is watched, the last chunk of CPython's stack of frames is kept
(`csrc/support/stack_chunk.c`), which spares a compile what some of its calls pay for the system's
memory. So what the watching itself costs is told, too: beside a plain compile with the chunk kept.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import transformers

from stepper._C import keep_stack_chunk, release_stack_chunk
from stepper.debuggee.start import try_begin
from stepper.model.breakpoint import parse_breakpoint
from stepper.model.launch import DebuggeeConfig

Call = Callable[[], object]
BOUNDS = {"armed": 1.02, "recorded": 1.10}
ARMED = ("graph-break", "restart", "recompile", "exception")


def t5() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Four layers each way: about 71,000 instructions."""
    config = transformers.T5Config(
        d_model=64, d_kv=16, d_ff=128, num_layers=4, num_heads=4, vocab_size=100
    )
    tokens = torch.randint(0, 100, (2, 8))
    model = transformers.T5ForConditionalGeneration(config)
    return model, {"input_ids": tokens, "decoder_input_ids": tokens}


def gpt2() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Twelve layers: about 39,500 instructions."""
    config = transformers.GPT2Config(
        n_layer=12, n_embd=64, n_head=4, vocab_size=100, bos_token_id=1, eos_token_id=2
    )
    return transformers.GPT2LMHeadModel(config), {"input_ids": torch.randint(0, 100, (2, 8))}


def llama() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Four layers: about 17,300 instructions."""
    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=100,
    )
    return transformers.LlamaForCausalLM(config), {"input_ids": torch.randint(0, 100, (2, 8))}


MODELS = {"t5": t5, "gpt2": gpt2, "llama": llama}


@contextmanager
def watched(mode: str, directory: str) -> Iterator[str]:
    """A session of this process, as `stepper run` would begin it; yields the recording's path."""
    path = os.path.join(directory, f"{mode}.stepper")
    config = DebuggeeConfig(
        recording=path,
        detail="stops" if mode == "armed" else "all",
        breakpoints=tuple(map(parse_breakpoint, ARMED)),
    )
    session, problem = try_begin(config)
    if session is None:
        raise SystemExit(problem)
    try:
        yield path
    finally:
        session.close()


def compile_time(model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> float:
    """Seconds of CPU time of one compilation, from the call to the result."""
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager")
    gc.collect()
    before = time.process_time()
    compiled(**inputs)
    return time.process_time() - before


def hot_call(model: torch.nn.Module, inputs: dict[str, torch.Tensor], calls: int = 30) -> float:
    """Seconds of CPU time of a call that hits the cache."""
    compiled = torch.compile(model, backend="eager")
    compiled(**inputs)
    before = time.process_time()
    for _ in range(calls):
        compiled(**inputs)
    return (time.process_time() - before) / calls


def measure(name: str, rounds: int) -> dict[str, float]:
    """What a process gives: ratios of each mode and of the `hot` call, and the `size` in bytes."""
    torch.set_num_threads(1)  # what a thread spends on waiting for another is counted
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model.eval()
    order = ["plain", "kept", *BOUNDS]
    compiles: dict[str, list[float]] = {mode: [] for mode in order}
    calls: dict[str, list[float]] = {mode: [] for mode in order}
    size = 0
    with tempfile.TemporaryDirectory() as directory, torch.no_grad():
        compile_time(model, inputs)  # imports, caches
        for round in range(rounds):
            for place in range(len(order)):
                mode = order[(round + place) % len(order)]
                if mode in {"plain", "kept"}:
                    if mode == "kept":
                        keep_stack_chunk()
                    compiles[mode].append(compile_time(model, inputs))
                    calls[mode].append(hot_call(model, inputs))
                    release_stack_chunk()
                    continue
                with watched(mode, directory) as path:
                    compiles[mode].append(compile_time(model, inputs))
                    calls[mode].append(hot_call(model, inputs))
                if mode == "recorded":
                    size = os.path.getsize(path)
                os.unlink(path)
    shortest = {mode: min(each) for mode, each in compiles.items()}
    found = {mode: shortest[mode] / shortest["plain"] for mode in BOUNDS}
    found |= {f"{mode} beside kept": shortest[mode] / shortest["kept"] for mode in BOUNDS}
    return {**found, "hot": min(calls["recorded"]) / min(calls["plain"]), "size": size}


def bench(name: str, processes: int, rounds: int) -> None:
    """Measure one model and print a line for each way to watch it."""
    found: dict[str, list[float]] = {}
    command = [sys.executable, "-m", __spec__.name, name, "--rounds", str(rounds), "--one"]
    for _ in range(processes):
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        for what, value in json.loads(run.stdout).items():
            found.setdefault(what, []).append(value)
    for mode, bound in BOUNDS.items():
        each = ", ".join(f"{value:.3f}" for value in sorted(found[mode]))
        print(
            f"{name:6} {mode:9} {statistics.median(found[mode]):6.3f} of plain compile time "
            f"(bound {bound:.2f}; the processes: {each}), "
            f"{statistics.median(found[f'{mode} beside kept']):.3f} with the chunk kept"
        )
    print(f"{name:6} hot call  {statistics.median(found['hot']):6.3f} of the plain one")
    print(f"{name:6} recording {statistics.median(found['size']) / 1e6:6.2f} MB", flush=True)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; all when none is named")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=15, help="in each process")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.models or MODELS:
        if options.one:
            print(json.dumps(measure(name, options.rounds)))
        else:
            bench(name, options.processes, options.rounds)


if __name__ == "__main__":
    main()
