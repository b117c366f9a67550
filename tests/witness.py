"""Run a program and write down everything that the compiler made of it.

    python tests/witness.py OUT.json program.py [args…]
    python tests/witness.py --batch OUT_FOLDER program.py program.py …

Two runs of a program, one watched by stepper and one not, must give equal files. So what follows
the process and not the program is normalized away: addresses, ids, random names, times, folders.
What is kept: graphs with the shapes and stacks of their nodes, guards, original and generated
bytecode, cache entries in their final order, counters, compile ids, attempts, log messages and
warnings.

A batch runs several programs in one process, to pay for the import of torch once. Each starts
from a fresh compiler, and its output from a line ``=== name``.
"""

from __future__ import annotations

import dis
import gc
import json
import logging
import re
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch._dynamo import config, convert_frame, output_graph, utils
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch._logging._internal import log_registry, set_logs

ROOT = Path(__file__).resolve().parent.parent
TORCH = Path(torch.__file__).resolve().parent

REPLACEMENTS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(re.escape(str(TORCH))), "<torch>"),
    (re.compile(re.escape(str(ROOT))), "<root>"),
    (re.compile(r"(__compiled_fn_\d+)_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}"), r"\1_<uuid>"),
    (re.compile(r"(___unnamed_scope)_\d+"), r"\1_<id>"),
    (re.compile(r"(___check_(?:obj|type)_id\(.*?, )\d+\)"), r"\1<id>)"),
    (re.compile(r"(___dict_version\(.*?\) == )\d+"), r"\1<version>"),
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "<address>"),
    (re.compile(r"<eval_with_key>\.\d+"), "<eval_with_key>"),
    # Ids stand inside names and guards; nothing else in a small program has so many digits.
    (re.compile(r"(?<![\d.])\d{9,}(?!\d)"), "<id>"),
]
# Sets of classes and functions are in the order of their addresses.
SET_OF_OBJECTS = re.compile(r"\{([^{}:]*<(?:class|function|built-in)[^{}:]*)\}")

# Of the compiler's own account of each frame, what does not depend on the clock.
METRICS = (
    "compile_id",
    "co_name",
    "co_filename",
    "co_firstlineno",
    "cache_size",
    "accumulated_cache_size",
    "guard_count",
    "shape_env_guard_count",
    "graph_op_count",
    "graph_node_count",
    "graph_input_count",
    "fail_type",
    "fail_reason",
    "fail_user_frame_filename",
    "fail_user_frame_lineno",
    "restart_reasons",
    "has_guarded_code",
    "recompile_reason",
    "num_graph_breaks",
    "graph_node_shapes",
    "non_compliant_ops",
    "is_forward",
)


def normalize(value: object) -> Any:
    """The value as JSON can hold it, without what differs between two processes."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {normalize(str(key)): normalize(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [normalize(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(normalize(str(item)) for item in value)
    text = str(value)
    for pattern, replacement in REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return SET_OF_OBJECTS.sub(_in_order, text)


def _in_order(items: re.Match[str]) -> str:
    return "{" + ", ".join(sorted(items[1].split(", "))) + "}"


def describe_code(code: types.CodeType) -> dict[str, Any]:
    nested = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return {
        "name": code.co_name,
        "file": code.co_filename,
        "flags": code.co_flags,
        "stack": code.co_stacksize,
        "variables": [code.co_varnames, code.co_cellvars, code.co_freevars],
        "exceptions": code.co_exceptiontable.hex(),
        "instructions": [
            f"{inst.offset} {inst.opname} {inst.arg} {inst.argrepr} {tuple(inst.positions or ())}"
            for inst in dis.get_instructions(code)
        ],
        "nested": [describe_code(const) for const in nested],
    }


def describe_meta(value: object) -> object:
    if isinstance(value, torch.Tensor):
        facts = (value.dtype, tuple(value.shape), value.device, value.requires_grad)
        stride = value.stride() if value.layout is torch.strided else None
        return [type(value).__name__, *map(str, facts), str(stride)]
    if isinstance(value, list | tuple):
        return [describe_meta(item) for item in value]
    return f"{type(value).__name__} {value}"


def describe_graph(gm: torch.fx.GraphModule) -> dict[str, Any]:
    return {
        "code": gm.print_readable(print_output=False, include_stride=True, include_device=True),
        "nodes": [
            {
                "node": node.format_node(),
                "meta": describe_meta(node.meta.get("example_value")),
                "stack_trace": node.stack_trace,
                "modules": list(node.meta.get("nn_module_stack", {}).values()),
                "functions": node.meta.get("source_fn_stack"),
            }
            for node in gm.graph.nodes
        ],
    }


def describe_guards(manager: Any) -> dict[str, Any]:
    reason = getattr(manager, "invalidation_reason", None)
    if reason is not None:
        return {"invalidated": reason}
    return {"parts": manager.code_parts, "tree": str(manager).splitlines()}


class _LogCollector(logging.Handler):
    def __init__(self, records: list[Any]) -> None:
        super().__init__()
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        # Only the type of an exception: its traceback runs through the tracer's own frames.
        failure = record.exc_info[0] if record.exc_info else None
        entry = (record.name, record.levelname, record.getMessage(), failure)
        self._records.append(normalize(entry))


class Witness:
    """Collects text about one program; keeps no graph, guard or generated code alive."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.translations: list[Any] = []
        self.logs: list[Any] = []
        self.warnings: list[Any] = []
        self._originals: list[types.CodeType] = []
        self._latest: types.CodeType | None = None

    def install(self) -> None:
        replaced: Any = convert_frame
        replaced.register_bytecode_hook(self._on_bytecode)
        replaced.GuardedCode = self._guarded_code(replaced.GuardedCode)
        graph_class: Any = output_graph.OutputGraph
        graph_class.call_user_compiler = self._compiler(graph_class.call_user_compiler)
        vars(warnings)["showwarning"] = self._on_warning
        set_logs(graph_breaks=True, recompiles=True)
        collector = _LogCollector(self.logs)
        for name in log_registry.get_log_qnames():
            logging.getLogger(name).handlers = [collector]
        # "Step 1: torchdynamo start tracing": one such message for each attempt.
        logging.getLogger("torch._dynamo.symbolic_convert").setLevel(logging.INFO)

    def start(self) -> None:
        torch._dynamo.reset()
        utils.counters.clear()
        utils.clear_compilation_metrics()
        utils.set_compilation_metrics_limit(10_000)
        for collected in (self.graphs, self.translations, self.logs, self.warnings):
            collected.clear()
        self._originals.clear()

    def report(self, outcome: str) -> dict[str, Any]:
        metrics = utils.get_compilation_metrics()
        entries = [
            {
                "function": code.co_qualname,
                "entries": [
                    [str(entry.compile_id), describe_guards(entry.guard_manager)]
                    for entry in _debug_get_cache_entry_list(code)
                ],
            }
            for code in self._originals
        ]
        compiles = convert_frame.FRAME_COMPILE_COUNTER.items()
        found = {
            "outcome": outcome,
            "frames": convert_frame.FRAME_COUNTER,
            "compiles": {str(frame): count for frame, count in compiles},
            "counters": dict(utils.counters),
            "metrics": [{name: getattr(row, name, None) for name in METRICS} for row in metrics],
            "graphs": self.graphs,
            "translations": self.translations,
            "cache": entries,
            "logs": self.logs,
            "warnings": self.warnings,
        }
        return {name: normalize(value) for name, value in found.items()}

    def _on_bytecode(self, original: types.CodeType, _generated: types.CodeType) -> None:
        self._latest = original
        if not any(code is original for code in self._originals):
            self._originals.append(original)

    def _guarded_code(self, make: Callable[..., Any]) -> Callable[..., Any]:
        def guarded_code(
            code: types.CodeType, guard_manager: object, compile_id: object, *rest: object
        ) -> Any:
            assert self._latest is not None
            self.translations.append(
                normalize(
                    {
                        "compile_id": str(compile_id),
                        "original": describe_code(self._latest),
                        "generated": describe_code(code),
                        "guards": describe_guards(guard_manager),
                    }
                )
            )
            return make(code, guard_manager, compile_id, *rest)

        return guarded_code

    def _compiler(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def call_user_compiler(
            graph: Any, gm: torch.fx.GraphModule, *args: Any, **options: Any
        ) -> Any:
            self.graphs.append(normalize(describe_graph(gm)))
            return call(graph, gm, *args, **options)

        return call_user_compiler

    def _on_warning(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        *_: object,
    ) -> None:
        self.warnings.append(normalize((category.__name__, message, filename, lineno)))


def run_program(path: Path, arguments: list[str]) -> None:
    """What `python path arguments` does, in this process."""
    main = types.ModuleType("__main__")
    main.__file__ = str(path)
    sys.modules["__main__"] = main
    sys.argv = [str(path), *arguments]
    sys.path[0] = str(path.parent)
    exec(compile(path.read_text(), str(path), "exec"), main.__dict__)


def write(report: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(report, indent=1, sort_keys=True))


def observe(witness: Witness, path: Path, arguments: list[str], out: Path) -> BaseException | None:
    settings = config.save_config()
    witness.start()
    # When the collector happens to run decides when objects, and so cache entries, die.
    gc.disable()
    failure: BaseException | None = None
    try:
        run_program(path, arguments)
    except BaseException as error:
        failure = error
    finally:
        write(witness.report(normalize(repr(failure))), out)
        config.load_config(settings)
        gc.enable()
    return failure


def main() -> None:
    witness = Witness()
    witness.install()
    if sys.argv[1] == "--batch":
        folder = Path(sys.argv[2])
        for path in [Path(name).resolve() for name in sys.argv[3:]]:
            print(f"=== {path.stem}", flush=True)
            observe(witness, path, [], folder / f"{path.stem}.json")
            gc.collect()
        return
    out, program, *arguments = sys.argv[1:]
    failure = observe(witness, Path(program).resolve(), arguments, Path(out))
    if failure is not None:
        raise failure


if __name__ == "__main__":
    main()
