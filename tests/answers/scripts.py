"""A program of the bench as a script by itself, as its user would have written it: without the
remedy, and without what counts its graphs."""

from __future__ import annotations

import ast
import inspect
import sys

from stepper.analysis.places import File
from stepper.client.scratch import Edit, applied
from tests.answers.cases import Case

_CALLED = {"run.compile": ', backend="eager"', "run.whole": ', backend="eager", fullgraph=True'}
_WRITTEN = {
    "@run.compile\n": '@torch.compile(backend="eager")\n',
    "@run.whole\n": '@torch.compile(backend="eager", fullgraph=True)\n',
    "partial(run.compile, ": 'partial(torch.compile, backend="eager", ',
    "backend=run)": 'backend="eager")',
    "backend=run.traced_again)": 'backend="aot_eager")',
    "run.count_with_torch()": "pass",
    "run.failing()": "contextlib.suppress(Exception)",
    "exported(run, ": "exported(types.SimpleNamespace(graphs=0), ",
    "return run(graph, ": "return (lambda graph, inputs: graph.forward)(graph, ",
}
_SETTINGS = ("torch._dynamo.config.", "torch._dynamo.reset")


def script(case: Case) -> str:
    """Its text."""
    module = sys.modules[case.program.__module__]
    around = [*_around(inspect.getsource(module)), "import contextlib, types", ""]
    text = "\n".join([*around, _function(case.program), ""])
    for change in (_without_remedy, _without_settings, _compiled):
        text = change(text)
    return f"{text}\n{case.name}()\n"


def _around(text: str) -> list[str]:
    """What stands in the module beside the programs and what they are made with."""
    tree = ast.parse(text)
    lines = text.splitlines()
    found = []
    for node in tree.body:
        ours = isinstance(node, ast.ImportFrom) and str(node.module).startswith("tests")
        decorators = getattr(node, "decorator_list", [])
        program = any("case(" in ast.unparse(each) for each in decorators)
        if not (ours or program):
            first = min([node.lineno, *(each.lineno for each in decorators)])
            found += lines[first - 1 : node.end_lineno]
    return found


def _function(program: object) -> str:
    source = inspect.getsource(program)  # type: ignore[arg-type]
    return source[source.index("\ndef ") + 1 :].replace("(run: Run)", "()", 1)


def _without_remedy(text: str) -> str:
    text = _without_patches(text)
    while True:
        file = File("", text.encode())
        chosen = (
            node
            for node in ast.walk(file.tree)
            if isinstance(node, ast.IfExp) and "run.remedied" in ast.unparse(node.test)
        )
        node = next(chosen, None)
        if node is None:
            return text.replace("run.remedied", "False")
        kept = node.body if isinstance(node.test, ast.UnaryOp) else node.orelse
        text = applied(text.encode(), [file.replaced(node, file.text(kept))]).decode()


def _without_patches(text: str) -> str:
    """Without the settings that only the remedy makes, which would outweigh what is tried."""
    file = File("", text.encode())
    edits = [
        file.replaced(call.node, "contextlib.nullcontext()")
        for call in file.calls
        if ast.unparse(call.node.func).endswith("config.patch")
        and "run.remedied" in ast.unparse(call.node)
    ]
    return applied(text.encode(), edits).decode()


def _without_settings(text: str) -> str:
    file = File("", text.encode())
    edits = [
        edit
        for node in ast.walk(file.tree)
        if isinstance(node, (ast.Assign, ast.Expr)) and file.text(node).startswith(_SETTINGS)
        for edit in file.line_removed(node)
    ]
    return applied(text.encode(), edits).decode()


def _compiled(text: str) -> str:
    """With `torch.compile` instead of what counts."""
    for written, meant in _WRITTEN.items():
        text = text.replace(written, meant)
    file = File("", text.encode())
    edits: list[Edit] = []
    for call in file.calls:
        if ast.unparse(call.node.func) in _CALLED:
            edits.append(file.replaced(call.node.func, "torch.compile"))
            options = _CALLED[ast.unparse(call.node.func)]
            edits.append(file.around(call.node.args[0], "", options)[1])
    return applied(text.encode(), edits).decode()
