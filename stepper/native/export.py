"""One call as one graph, to be kept: `export`.

The function is captured as for any call that is to be one graph. What runs in its frame's place
reads the graph's inputs out of the arguments, calls the graph, and makes the result of what that
gives. So that code is run once more, with stand-ins where the arguments have tensors, and in the
place of the graph something that copies it behind what there is: this gives a graph from the
arguments' tensors to the result's, whatever they were in. Tensors that come from anywhere else, a
module's parameters for one, become attributes of the graph's module.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from typing import NamedTuple, cast

import torch
import torch.fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import Argument
from torch.fx.proxy import GraphAppendingTracer

from stepper.native import config
from stepper.native.exc import Unsupported
from stepper.native.guards.guard import GuardPart
from stepper.native.runtime.cache_entry import GuardedCode
from stepper.native.runtime.convert_frame import Settings, convert_frame
from stepper.native.runtime.eval_frame import TorchDynamoContext
from stepper.native.versions import OpOverload, PyTreeCodeGen, PyTreeInfo, pytree
from stepper.uncompiled import keep_out


class ExportResult(NamedTuple):
    """What `export` gives.

    graph_module: computes what the function does, and takes what it takes.
    guards: what must hold for that.
    """

    graph_module: torch.fx.GraphModule
    guards: list[GuardPart]


def export(
    f: Callable[..., object],
    *args: object,
    aten_graph: bool = False,
    decomposition_table: dict[OpOverload, Callable[..., object]] | None = None,
    **kwargs: object,
) -> ExportResult:
    """The one graph that a call of a function or module is, with what must hold for it; the
    function is called.

    Args:
        aten_graph: made of torch's basic operators, and not of those that the program names.
        decomposition_table: what stands for some of them, with `aten_graph`.

    Raises:
        AssertionError: a table without `aten_graph`.
        Unsupported: the call is not one graph, or it changes what it has not made.
    """
    assert aten_graph or decomposition_table is None, "decomposition_table needs aten_graph=True"
    found = _Export(aten_graph, decomposition_table)
    context = TorchDynamoContext(found.convert, found.compile, nopython=True)
    context(f)(*args, **kwargs)
    called = f.forward if isinstance(f, torch.nn.Module) else f
    return found.result(inspect.signature(called), args, kwargs)


_Held = torch.Tensor | torch.nn.Module
"""What a graph has as an attribute: tensors, and the bodies of its conditions and loops."""


class _Export:
    """One function that is being exported."""

    def __init__(
        self, aten: bool, decompositions: dict[OpOverload, Callable[..., object]] | None
    ) -> None:
        self._aten = aten
        self._decompositions = decompositions
        self._frame: tuple[types.FunctionType, dict[str, object]] | None = None
        self._entry: GuardedCode | None = None
        self._graph: torch.fx.GraphModule | None = None
        self._into: torch.fx.Graph | None = None
        """What is being made; None: calls of the graph are to compute."""
        self._attributes: dict[str, _Held] = {}

    def convert(
        self, code: types.CodeType, function: types.FunctionType, f_locals: dict[str, object]
    ) -> GuardedCode | None:
        """The frame callback."""
        settings = Settings(False, config.cache_size_limit)
        entry = convert_frame(code, function, f_locals, self.compile, True, settings)
        if entry is not None:
            self._frame, self._entry = (function, dict(f_locals)), entry
        return entry

    def compile(self, gm: torch.fx.GraphModule, inputs: list[object]) -> Callable[..., object]:
        """The backend."""
        table = self._decompositions
        self._graph = make_fx(gm, table, tracing_mode="fake")(*inputs) if self._aten else gm
        return self._call

    def _call(self, *args: object) -> object:
        assert self._graph is not None
        if self._into is None:
            return self._graph.forward(*args)
        known = dict(zip(self._graph.graph.find_nodes(op="placeholder"), args, strict=True))
        nodes = {node: self._copied(value, node.name) for node, value in known.items()}
        for node in self._graph.graph.find_nodes(op="get_attr"):
            nodes[node] = self._copied(getattr(self._graph, node.target), node.target)
        given = cast("Iterable[torch.fx.Node]", self._into.graph_copy(self._graph.graph, nodes))
        tracer = GraphAppendingTracer(self._into)
        return tuple(torch.fx.Proxy(node, tracer) for node in given)

    def _copied(self, value: Argument | _Held, name: str) -> torch.fx.Node:
        return cast("torch.fx.Node", self._node(value, name))  # a number stands for itself

    def _node(self, value: Argument | _Held, name: str) -> Argument:
        """What stands for a value in the graph."""
        if isinstance(value, torch.fx.Proxy):
            return value.node
        if not isinstance(value, _Held):
            return value
        assert self._into is not None
        name = next((k for k, known in self._attributes.items() if known is value), name)
        self._attributes[name] = value
        return self._into.get_attr(name)

    def result(
        self, signature: inspect.Signature, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> ExportResult:
        """Put it together, after the call, which had these arguments."""
        entry, frame = self._entry, self._frame
        if entry is None or frame is None:
            raise Unsupported("nothing was captured: the function computes nothing on tensors")
        entry.invalidate("exported")
        if entry.has_effects:
            raise Unsupported("it changes what it has not made, which no graph does")
        flat, taken = pytree.tree_flatten((args, kwargs))
        graph = self._into = torch.fx.Graph()
        tracer = GraphAppendingTracer(graph)
        inputs: dict[int, torch.fx.Proxy] = {}
        for number, leaf in enumerate(flat):
            proxy = torch.fx.Proxy(graph.placeholder(f"arg{number}"), tracer)
            if isinstance(leaf, torch.Tensor):
                inputs.setdefault(id(leaf), proxy)
        given, tree = pytree.tree_flatten(_run(*frame, entry, inputs))
        graph.output([self._node(leaf, f"value{number}") for number, leaf in enumerate(given)])
        names = [*signature.bind(*args, **kwargs).arguments]
        graph.set_codegen(PyTreeCodeGen(PyTreeInfo(_names(args, kwargs, names), taken, tree)))
        made = torch.fx.GraphModule(self._attributes, graph)
        parts = [part for part, _ in entry.manager.parts if part.kind != "BACKEND_MATCH"]
        return ExportResult(made, parts)


def _names(args: tuple[object, ...], kwargs: dict[str, object], known: list[str]) -> list[str]:
    rest = [f"arg_{number}" for number in range(len(known), len(args))]
    return [*[*known, *rest][: len(args)], *kwargs]


def _run(
    function: types.FunctionType,
    f_locals: dict[str, object],
    entry: GuardedCode,
    inputs: dict[int, torch.fx.Proxy],
) -> object:
    """What the captured code returns for a frame's variables, with stand-ins for its tensors."""
    made = types.FunctionType(
        entry.code, function.__globals__, function.__name__, None, function.__closure__
    )
    f_locals = pytree.tree_map(lambda leaf: inputs.get(id(leaf), leaf), f_locals)
    code = function.__code__
    positional, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    arguments = [f_locals[name] for name in code.co_varnames[:positional]]
    keywords = {name: f_locals[name] for name in code.co_varnames[positional:named]}
    if code.co_flags & inspect.CO_VARARGS:
        arguments += cast("tuple[object, ...]", f_locals[code.co_varnames[named]])
        named += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        keywords |= cast("dict[str, object]", f_locals[code.co_varnames[named]])
    return made(*arguments, **keywords)


keep_out()
