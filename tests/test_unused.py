"""What is defined is used: by us, by the C part, by a test, or by those who call it by its name."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.sources import parsed

ROOT = Path(__file__).resolve().parent.parent

Trees = dict[Path, list[ast.AST]]
"""The nodes of each module's syntax tree."""

CALLED_BY_NAME = re.compile(
    r"__\w+__|(_?on|action|watch|visit|pytest)_\w+"  # Python, Textual, ast, pytest
    r"|_(on|do)_\w+"  # ours, where the rest of the name is that of what is meant
    r"|compose|key_\w+"
    r"|_*[A-Z0-9_]+"  # opcodes, and what Textual reads of a class
)
OVERRIDES = {
    "_arg": "bytecode.Instr",
    "allow_vertical_scroll": "textual.widget.Widget",
    "_name_template": "torch._guards.Source",
    "_print_message": "argparse.ArgumentParser",
    "get_completions": "prompt_toolkit.completion.Completer",
    "get_suggestion": "textual.suggester.Suggester",
    "_should_skip_dynamo": "torch.utils._python_dispatch.TorchDispatchMode",
    "check_action": "textual.dom.DOMNode",
    "cursor_position": "textual.widgets.Input",
    "enable_bracketed_paste": "prompt_toolkit.output.Output",
    "stdin_reader": "prompt_toolkit.input.vt100.Vt100Input",
    "diff_guard_root": "torch._dynamo.guards.GuardManagerWrapper",
    "get_default_screen": "textual.app.App",
}
"""What others define, and read."""
FORMATS = {"stepper/report/contents.py"}
"""Whose fields are those of a documented format."""


@pytest.fixture(scope="module")
def trees() -> Iterator[Trees]:
    for nodes in parsed():
        yield {path: nodes(path) for path in _python()}


def test_whatever_is_defined_is_mentioned_elsewhere(trees: Trees) -> None:
    used = {name for tree in trees.values() for name in _used(tree)}
    for path in (ROOT / "csrc").rglob("*.[ch]"):
        used.update(re.findall(r"\w+", path.read_text()))
    unused = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, tree in trees.items()
        if path.is_relative_to(ROOT / "stepper")
        and path.relative_to(ROOT).as_posix() not in FORMATS
        for name, line in _defined(tree)
        if name not in used and name not in OVERRIDES and not CALLED_BY_NAME.fullmatch(name)
    ]
    assert not unused


def test_whatever_a_module_of_tests_defines_is_used(trees: Trees) -> None:
    """Else it is a program or a case that somebody wrote, and that no test runs."""
    used = {name for tree in trees.values() for name in _used(tree)}
    unused = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path, tree in trees.items()
        # The corpus is programs as users write them.
        if path.is_relative_to(ROOT / "tests") and "corpus" not in path.parts
        for node in _body(tree)
        for name in _bound(node)
        if name not in used and not re.match(r"(?i)_*(py)?test", name)
    ]
    assert not unused


def test_whatever_the_c_part_offers_is_called(trees: Trees) -> None:
    """By Python or, if it says so, by a test; what Python overrides is called by C."""
    ours = [tree for path, tree in trees.items() if path.is_relative_to(ROOT / "stepper")]
    used = {name for tree in ours for name in _used(tree)}
    for path in (ROOT / "csrc").rglob("*.c"):
        used.update(re.findall(r"\bID\((\w+)\)", path.read_text()))
    declared = ast.parse((ROOT / "stepper/_C.pyi").read_text())
    unused = [
        each.name
        for node in ast.walk(declared)
        if isinstance(node, ast.Module | ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("__")
        if each.name not in used and "or tests" not in (ast.get_docstring(each) or "")
    ]
    assert not unused


def test_whatever_a_header_declares_is_used_by_another_file() -> None:
    """Else it is `static`, where the compiler notices that nobody calls it."""
    texts = {path: path.read_text() for path in (ROOT / "csrc").rglob("*.[ch]")}
    alone = []
    for header, text in texts.items():
        if header.suffix == ".c" or header.name in ("api.h", "compat.h"):  # CPython's own names
            continue
        users = [each for path, each in texts.items() if path.suffix == ".c"]
        for name in re.findall(r"^\w[\w \*]*?\b(\w+)\([^;{]*\);", text, re.MULTILINE):
            called = re.compile(rf"\b{name}\b")
            inline = len(called.findall(text)) > 1
            if not inline and sum(1 for each in users if called.search(each)) < 2:
                alone.append(name)
    assert not alone


def test_whatever_a_function_may_be_given_somebody_gives(trees: Trees) -> None:
    """Else its default is a constant. Of functions that are called by a name of their own, and
    handed on to nobody."""
    functions: dict[str, list[tuple[Path, ast.FunctionDef]]] = {}
    calls: dict[str, list[ast.Call]] = {}
    mentions: Counter[str] = Counter()
    for path, tree in trees.items():
        for node in tree:
            if isinstance(node, ast.FunctionDef):
                functions.setdefault(node.name, []).append((path, node))
            elif isinstance(node, ast.Call):
                calls.setdefault(_last(node.func), []).append(node)
            elif isinstance(node, ast.Name | ast.Attribute):
                mentions[_last(node)] += 1
    never = [
        f"{path.relative_to(ROOT)}:{function.lineno}: {name}({parameter})"
        for name, [(path, function), *others] in functions.items()
        if not others and path.is_relative_to(ROOT / "stepper")
        if len(found := calls.get(name, [])) == mentions[name] > 0
        for parameter, place in _with_defaults(function)
        if not any(_gives(call, parameter, place) for call in found)
    ]
    assert not never


def _with_defaults(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """The parameters that need not be given, and after how many arguments of a call they come; as
    many as can be: by name only."""
    listed = [*function.args.posonlyargs, *function.args.args]
    bound = bool(listed) and listed[0].arg in ("self", "cls")
    first = len(listed) - len(function.args.defaults)
    yield from ((each.arg, at - bound) for at, each in enumerate(listed) if at >= first)
    for each, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            yield each.arg, sys.maxsize


def _last(node: ast.expr) -> str:
    return str(getattr(node, "attr", "") or getattr(node, "id", ""))


def _gives(call: ast.Call, parameter: str, place: int) -> bool:
    """Whether a call gives a parameter, or may do so."""
    return (
        len(call.args) > place
        or any(isinstance(each, ast.Starred) for each in call.args)
        or any(each.arg in (parameter, None) for each in call.keywords)
    )


def _python() -> list[Path]:
    found = [path for room in ("stepper", "tests", "demos") for path in (ROOT / room).rglob("*.py")]
    return [path for path in found if path != Path(__file__)]


def _body(tree: Sequence[ast.AST]) -> list[ast.stmt]:
    module = tree[0]
    assert isinstance(module, ast.Module)
    return module.body


def _defined(tree: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    """Functions, classes, attributes and fields. Who decorates a function may have kept it."""
    for node in tree:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            plain = {"property", "cached_property", "staticmethod", "classmethod", "dataclass"}
            if all(_name(each) in plain for each in node.decorator_list):
                yield node.name, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.lineno


def _bound(node: ast.stmt) -> Iterator[str]:
    """What a statement gives a name, but for functions that a decorator may have kept."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            if not node.decorator_list:
                yield node.name
        case ast.Assign(targets=targets):
            yield from (each.id for each in targets if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _used(tree: Sequence[ast.AST]) -> Iterator[str]:
    for node in tree:
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()) | ast.Name(id=name, ctx=ast.Load()):
                yield name
            case ast.alias(name=name):
                yield name
            case ast.Global(names=names):
                yield from names
            case ast.MatchClass(kwd_attrs=names):
                yield from names
            case ast.Constant(value=str(text)):  # also the names of what is asked for by name
                yield from re.findall(r"\w+", text) if len(text) < 100 else ()


def _name(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(node).rpartition(".")[2]


def test_no_module_gives_one_name_to_two_things(trees: Trees) -> None:
    """The second takes the first one's place, and what was to use that uses the other."""
    twice = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees.items()
        if not {"corpus", "demos"} & {*path.parts}  # programs do so on purpose
        for name, count in Counter(_assigned(_body(tree))).items()
        if count > 1 and name != "_"
    ]
    assert not twice, twice


def _assigned(body: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        yield from (each.id for each in targets if isinstance(each, ast.Name))
