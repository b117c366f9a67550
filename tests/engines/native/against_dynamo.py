"""What both engines capture of the same functions, side by side.

`python -m tests.engines.native.against_dynamo` writes the table into
docs/native-against-dynamo.md. Each engine has a process of its own, for the frame evaluator can
only be one's; programs of tests/corpus run as they are, with `torch.compile` of the engine.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import io
import json
import operator
import random
import re
import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from tests.engines.native import (
    models,
    programs,
    sample_classes,
    sample_errors,
    sample_everyday,
    sample_functions,
    sample_kept,
    sample_language,
    sample_library,
    sample_modes,
    sample_modules,
    sample_objects,
    sample_operations,
    sample_original,
    sample_protocols,
    sample_python,
    sample_subclasses,
    sample_torch,
)
from tests.engines.native.harness import same
from tests.engines.native.samples import samples_of
from tests.watching import FORKS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "native-against-dynamo.md"
CORPUS = ROOT / "tests" / "corpus"

NOT_EAGER = frozenset(
    {
        "cache_limit",
        "disabled",
        "dynamic_true",
        "fullgraph_error",
        "hostile_notices",
        "lazy_arguments",
        "skipped_frames",
        "swapped_parameters",
    }
)
"""Programs of the corpus whose output depends on the compiler: they print whether they are
compiled, or what Dynamo counts or raises, or what a compiler looks at or refers to, or compile a
class."""


Compiler = Callable[..., Any]
"""Takes what `torch.compile` takes."""


@dataclass
class Account:
    """What one engine captured of one program.

    graphs: how many operations each has.
    breaks: lines before which a graph was broken, each once.
    reasons: why, each once; where no graph was broken, why frames were left alone.
    wrong: whether the program did something else than in eager.
    """

    graphs: list[int] = field(default_factory=list)
    breaks: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    wrong: bool = False

    def note_graph(self, graph: Any) -> None:
        """One more graph."""
        self.graphs.append(sum(map(computes, graph.nodes)))

    def note_break(self, line: int) -> None:
        """A graph was broken here."""
        if str(line) not in self.breaks:
            self.breaks.append(str(line))

    def note_reason(self, reason: str) -> None:
        """Why."""
        if reason not in self.reasons:
            self.reasons.append(reason)

    def cells(self) -> tuple[str, str, str]:
        """Graphs, operations of each, and places, as the table writes them."""
        sizes = " + ".join(map(str, self.graphs)) or "–"
        count = f"{len(self.graphs)} ≠" if self.wrong else str(len(self.graphs))
        return count, sizes, ", ".join(self.breaks) or "–"


def computes(node: torch.fx.Node) -> bool:
    """Whether a node is an operation: neither what takes one of several results, or the rows of a
    tensor that is gone through, which the engines do in two ways, nor a size or another fact of a
    tensor, nor what enters or leaves a mode, or counts how torch is used."""
    value = node.meta.get("example_value")
    return (
        node.op in ("call_function", "call_method", "call_module")
        and not (node.target is operator.getitem and type(node.args[1]) is int)
        and node.target not in ("unbind", torch.broadcast_shapes)
        and not isinstance(value, (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool))
        and getattr(node.target, "__name__", "").strip("_") not in FURNITURE
    )


FURNITURE = frozenset(
    {
        "set_grad_enabled", "enter_autocast", "exit_autocast", "enter_inference_mode",
        "exit_inference_mode", "enter_record_function", "leave_mode", "log_api_usage_once",
        "enter_vmap", "enter_grad", "enter_without_hooks", "lazy_load_decompositions",
        "vmap_increment_nesting", "vmap_decrement_nesting", "grad_increment_nesting",
        "grad_decrement_nesting", "saved_tensors_hooks_disable", "saved_tensors_hooks_enable",
        "set_inplace_requires_grad_allowed", "jvp_increment_nesting", "jvp_decrement_nesting",
        "enter_dual_level", "exit_dual_level", "set_fwd_grad_enabled", "maybe_load_decompositions",
        "enter_jvp", "enter_sdpa_kernel", "enter_device", "sdpa_kernel", "backend_from_string",
        "lower_version_count_by_1",
    }
)  # fmt: skip
"""What nodes call that compute nothing, in the graphs of both."""


@dataclass(frozen=True)
class Program:
    """One that both engines run.

    run: given a compiler, does it all; what it returns and prints must not depend on the compiler.
    """

    group: str
    name: str
    run: Callable[[Compiler], Any]


def all_programs() -> list[Program]:
    """The whole corpus, in the order of the table."""
    found = []
    for group, functions in (
        ("small programs", programs.PROGRAMS),
        ("functions", samples_of(sample_functions)),
        ("objects", samples_of(sample_objects)),
        ("protocols", samples_of(sample_protocols)),
        ("everyday code", samples_of(sample_everyday, sample_modes)),
        ("python around tensors", samples_of(sample_python, sample_classes, sample_library)),
        ("parts of torch", samples_of(sample_torch, sample_subclasses)),
        ("as in the first tests", samples_of(sample_original)),
        (
            "in more ways",
            samples_of(sample_language, sample_modules, sample_operations, sample_kept),
        ),
        ("where something goes wrong", samples_of(sample_errors)),
    ):
        for function, args in functions:
            name = function.__name__.rstrip("_")
            found.append(Program(group, name, functools.partial(_call, function, args)))
    scripts = [path for path in sorted(CORPUS.glob("*.py")) if path.stem not in NOT_EAGER | FORKS]
    found += [Program("tests/corpus", p.name, functools.partial(_script, p)) for p in scripts]
    found += [Program("models", name, functools.partial(_model, name)) for name in models.MODELS]
    return found


def _call(function: Any, args: Any, compiler: Compiler) -> Any:
    from tests.engines.native.harness import outcome

    torch.manual_seed(0)
    copied = copy.deepcopy(args)
    return outcome(compiler(function), copied, function.__globals__)


def _model(name: str, compiler: Compiler) -> Any:
    model, arguments = models.make(name)
    with torch.no_grad():
        output = compiler(model)(**arguments)
    return dict(output) if isinstance(output, dict) else output


def _script(path: Path, compiler: Compiler) -> str:
    printed = io.StringIO()
    before = torch.compile
    torch.manual_seed(0)
    random.seed(0)
    torch.compile = compiler
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(path), run_name="__main__")
    except Exception as error:
        printed.write(f"{type(error).__name__}: {error}")
    finally:
        torch.compile = before
    return printed.getvalue()


def eager(model: Any = None, **options: Any) -> Any:
    """The compiler that leaves everything as it is."""
    return model if model is not None else (lambda fn: fn)


@contextlib.contextmanager
def native_account() -> Iterator[tuple[Compiler, Account]]:
    """The native engine's compiler, and what it captures meanwhile."""
    from stepper import native
    from stepper.native.explanation import Explanation
    from stepper.native.library import is_library
    from stepper.native.watching import WATCHING
    from tests.engines.native.harness import untagged_modules

    def compiler(model: Any = None, **options: Any) -> Any:
        kept = {key: value for key, value in options.items() if key in ("fullgraph", "dynamic")}
        if is_library(sys._getframe(1).f_code.co_filename):
            kept.pop("fullgraph", None)  # torch.cond asks Dynamo for one graph of its own code
        return native.compile(model, backend=lambda gm, inputs: gm.forward, **kept)

    account = Account()
    before, WATCHING.explanation = WATCHING.explanation, Explanation()
    try:
        with untagged_modules():
            yield compiler, account
        for _, gm in WATCHING.explanation.graphs:
            account.note_graph(gm.graph)
        for _, line, why in WATCHING.explanation.breaks:
            if line is not None:
                account.note_break(line)
            account.note_reason(plain(why))
        for name, why in WATCHING.explanation.skips:
            if not WATCHING.explanation.breaks:
                account.note_reason(plain(f"{name}: {why}"))
    finally:
        WATCHING.explanation = before
        native.reset()


@contextlib.contextmanager
def dynamo_account() -> Iterator[tuple[Compiler, Account]]:
    """The same of Dynamo's."""
    from torch._dynamo.output_graph import OutputGraph

    account = Account()
    compile_subgraph = OutputGraph.compile_subgraph
    compile = torch.compile

    def backend(gm: Any, inputs: Any) -> Any:
        account.note_graph(gm.graph)
        return gm.forward

    def compiler(model: Any = None, **options: Any) -> Any:
        kept = {key: value for key, value in options.items() if key in ("fullgraph", "dynamic")}
        if model is None:
            return functools.partial(compiler, **options)
        return compile(model, backend=backend, **kept)

    def noting(self: Any, tx: Any, reason: Any, *args: Any, **kwargs: Any) -> Any:
        if reason.graph_break:
            account.note_break(tx.lineno)
        return compile_subgraph(self, tx, reason, *args, **kwargs)

    graph_class: Any = OutputGraph
    graph_class.compile_subgraph = noting
    try:
        yield compiler, account
    finally:
        graph_class.compile_subgraph = compile_subgraph
        torch._dynamo.reset()


ACCOUNTS = {"native": native_account, "dynamo": dynamo_account}


def account_of(engine: str, program: Program) -> tuple[Any, Account]:
    """What a program gives under an engine, and what the engine captured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ACCOUNTS[engine]() as (compiler, account):
            result = program.run(compiler)
    return result, account


def compared(engine: str, program: Program) -> Account:
    """What an engine captured of a program, and whether it did what it does in eager."""
    expected = program.run(eager)  # first, as in the tests: what a program keeps is there then
    result, account = account_of(engine, program)
    account.wrong = not same(expected, result)
    return account


def plain(reason: str) -> str:
    """A reason without addresses and folders, in one line of a table."""
    reason = re.sub(r"0x[0-9a-f]+", "0x…", reason.partition("\n")[0])
    reason = reason.replace(str(ROOT) + "/", "").replace("|", "\\|").replace("<", "\\<")
    return re.sub(r"(_fn|_guard)_\d+", r"\1", reason)


def shortened(reasons: list[str]) -> str:
    """The first few, in one cell."""
    more = [f"and {len(reasons) - MOST_REASONS} more"] if len(reasons) > MOST_REASONS else []
    return "; ".join([*reasons[:MOST_REASONS], *more]) or "captured anew"


MOST_REASONS = 4


def captures_less(native: Account, dynamo: Account) -> bool:
    """Whether the native engine leaves more to Python, or captures something once more."""
    if captures_more(native, dynamo) or native.graphs == dynamo.graphs:
        return False
    fewer = sum(native.graphs) < sum(dynamo.graphs)
    return len(native.graphs) > len(dynamo.graphs) or (bool(native.breaks) and fewer)


def captures_more(native: Account, dynamo: Account) -> bool:
    """Whether Dynamo leaves more to Python: it makes no graph, or gives a frame up where the native
    engine breaks, or breaks where the native engine does not."""
    ours, theirs = native.graphs, dynamo.graphs
    if len(ours) > len(theirs):
        given_up = len(native.breaks) > len(dynamo.breaks) and sum(ours) > sum(theirs)
        return not theirs or given_up
    if len(ours) < len(theirs):
        return bool(ours) and not native.breaks
    return len(native.breaks) < len(dynamo.breaks) and sum(ours) > sum(theirs)


INTRODUCTION = """# The native engine against Dynamo

<!-- Generated by `python -m tests.engines.native.against_dynamo`; edit that instead. -->

What both engines capture of the same programs: how many graphs, how many operations are in each,
and on which lines graphs are broken. What takes one of several results or a row, a size or another
fact of a tensor, or enters a mode is no operation here. Where the [native engine](guides/native.md)
captures less, its own reasons say why. What a program does under it is what it does in eager; where
that is not so under Dynamo, or what it raises says something else, the number of graphs has a ≠.
"""


HEAD = (
    "| program | Dynamo: graphs | operations | breaks "
    "| native: graphs | operations | breaks | why less |"
)


def page(dynamo: dict[str, Account], native: dict[str, Account]) -> str:
    """The whole page; accounts by name of program."""
    less = [name for name in native if captures_less(native[name], dynamo[name])]
    same = sum(native[name].graphs == dynamo[name].graphs for name in native)
    more = [name for name in native if captures_more(native[name], dynamo[name])]
    left = sum(not dynamo[name].graphs for name in more)
    others = len(native) - same - len(more) - len(less)
    share = (len(native) - len(less)) / len(native)
    wrong = sum(each.wrong for each in dynamo.values())
    lines = [
        INTRODUCTION,
        f"Made with {models.versions()}. Of {len(native)} programs, {same} give the same graphs",
        f"with the same number of operations, and {others} as many graphs with other operations:",
        "one engine computes at once what the other leaves to the graph.",
        f"Of {len(more)} the native engine captures more: of {left} Dynamo captures nothing,",
        "others it breaks where the native engine does not, or gives up where that breaks.",
        f"Of {len(less)} the native engine captures less; so of {share:.1%} it captures what",
        f"Dynamo captures, or more. {wrong} do something else than in eager under Dynamo.",
    ]
    group = ""
    for program in all_programs():
        if program.group != group:
            group = program.group
            lines += ["", f"## {group[0].upper()}{group[1:]}", "", HEAD, "| --- " * 8 + "|"]
        one, other = dynamo[program.name], native[program.name]
        why = shortened(other.reasons) if program.name in less else ""
        cells = [f"`{program.name}`", *one.cells(), *other.cells(), why or "–"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def written(text: str) -> dict[str, Account]:
    """Dynamo's accounts, as a page has them."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `"):
            sizes = [] if cells[2] == "–" else [int(size) for size in cells[2].split(" + ")]
            places = [] if cells[3] == "–" else cells[3].split(", ")
            wrong = cells[1].endswith("≠")
            found[cells[0].strip("`")] = Account(sizes, places, wrong=wrong)
    return found


def in_a_process(engine: str) -> dict[str, Account]:
    """An engine's accounts of everything."""
    command = [sys.executable, "-m", __spec__.name, "--engine", engine]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    accounts = json.loads(done.stdout.splitlines()[-1])
    return {name: Account(**account) for name, account in accounts.items()}


def main() -> None:
    """Write the page; with `--engine`, one engine's accounts as JSON to the output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=ACCOUNTS, help="only this one's accounts, as JSON")
    parser.add_argument("--keep-dynamo", action="store_true", help="run the native engine only")
    options = parser.parse_args()
    if engine := options.engine:
        accounts = {each.name: compared(engine, each) for each in all_programs()}
        print(json.dumps({name: asdict(account) for name, account in accounts.items()}))
    else:
        kept = options.keep_dynamo
        dynamo = written(PAGE.read_text(encoding="utf-8")) if kept else in_a_process("dynamo")
        PAGE.write_text(page(dynamo, in_a_process("native")), encoding="utf-8")


if __name__ == "__main__":
    main()
