"""The house keeps its shape: who imports whom, how long a file may be, what a start costs."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.import_graph import circles, imports
from tests.sources import Nodes, parsed

ROOT = Path(__file__).resolve().parent.parent
TOP_LEVEL = {
    ".ci", ".clang-format", ".github", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
    "MANIFEST.in", "Makefile", "README.md", "constraints.txt", "csrc", "demos", "docs",
    "mkdocs.yml", "pyproject.toml", "setup.py", "stepper", "tests",
}  # fmt: skip
"""Folders and files in which all that belongs to the project lies."""
LONGEST = 800
ENGINES = ("dynamo", "native")
TWINS = 100
"""Lines that may stand in both engines, by chance."""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    yield from parsed()


def test_import_contracts_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    outcome = subprocess.run(
        [command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_native_engine_takes_nothing_of_dynamos_tracer(nodes: Nodes) -> None:
    """Only the registry of backends. (Import contracts know torch as a whole, not its parts.)"""
    allowed = {"torch._dynamo.backends.registry"}
    taken = {
        f"{path.relative_to(ROOT)}: {name}"
        for room in ("native", "engines/native", "engines/common")
        for path in (ROOT / "stepper" / room).rglob("*.py")
        for node in nodes(path)
        for name in _imported(node)
        if name.startswith("torch._dynamo") and name not in allowed
    }
    assert not taken


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module == "torch":
        return [f"torch.{alias.name}" for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


OF_AN_ENGINE = re.compile(r"stepper\.engines\.(dynamo|native)\b")
NAMERS = {"debuggee/registry.py", "debuggee/nothing_seen.py", "uncompiled.py"}
"""Where our engines are registered, and what is asked of TorchDynamo's before any is chosen: why
nothing was seen, and to be left alone."""


def test_nobody_goes_by_the_name_of_an_engine(nodes: Nodes) -> None:
    """Whoever wants to know what an engine can asks its capabilities, or what it has registered; so
    another one is an addition and nothing else."""
    found = set()
    for path in (ROOT / "stepper").rglob("*.py"):
        place = path.relative_to(ROOT / "stepper")
        if place.parts[0] in ("engines", "__init__.py"):  # there it is `stepper.native`
            continue
        for node in nodes(path):
            compared: list[ast.AST] = []
            if isinstance(node, ast.Compare):
                compared = [node.left, *node.comparators]
            compared += [node.pattern] if isinstance(node, ast.match_case) else []
            literals = [each for part in compared for each in ast.walk(part)]
            if any(isinstance(c, ast.Constant) and c.value in ENGINES for c in literals) or (
                place.as_posix() not in NAMERS
                and any(OF_AN_ENGINE.match(name) for name in _mentioned(node))
            ):
                found.add(f"{place}:{getattr(node, 'lineno', 0)}")
    assert not found


def _mentioned(node: ast.AST) -> list[str]:
    """The modules that a node imports, and what may be the name of one."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    names = (
        [f"{node.module}.{a.name}" for a in node.names] if isinstance(node, ast.ImportFrom) else []
    )
    return [text, *names, *_imported(node)]


ALONE = """
import sys
import stepper.native
assert "torch" not in sys.modules
import torch

graphs = []

def backend(gm, example_inputs):
    graphs.append(gm)
    return gm.forward

@stepper.native.optimize(backend)
def f(x, scale):
    return (x + 1) * scale

assert f(torch.ones(2), 3).tolist() == f(torch.ones(2), 3).tolist() == [6, 6]
assert len(graphs) == 1 and stepper.native.export_guards(f) and stepper.native.explain(f)(
    torch.ones(3), 3).graph_count == 1
print(*(name for name in sys.modules if name.startswith("stepper.")))
"""


def test_the_native_compiler_captures_without_the_debugger(
    run_python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    outcome = run_python("-c", ALONE)
    assert outcome.returncode == 0, outcome.stderr
    rooms = {name.split(".")[1] for name in outcome.stdout.split()}
    # What keeps Dynamo out of stepper's code is in engines.dynamo.versions, which needs no more
    # than what both engines know of torch.
    assert rooms <= {"_C", "native", "support", "uncompiled", "engines"}
    engines = {name for name in outcome.stdout.split() if name.startswith("stepper.engines.")}
    known = {"dynamo", "common", "common.probe_points", "common.versions"}
    others = {name.removeprefix("stepper.engines.") for name in engines} - known
    assert all(name.startswith("dynamo.versions") for name in others)


def test_the_native_compiler_goes_round_in_no_large_circle() -> None:
    """Counted with imports in functions and for type checkers. What trackers, the interpreter and
    the code generator ask of each other is declared in `stepper.native.protocols`."""
    graph = imports("stepper.native")
    faces = {"stepper.native", "stepper.native.api"}  # everything, for programs
    graph = {module: into - faces for module, into in graph.items() if module not in faces}
    assert [circle for circle in circles(graph) if len(circle) > 4] == []


def test_the_native_compiler_and_its_adapter_are_typed(nodes: Nodes) -> None:
    """`Any` is for what torch and the program hand over, and is counted."""
    untyped = sum(
        isinstance(node, ast.Name) and node.id == "Any"
        for room in ("native", "engines/native")
        for path in (ROOT / "stepper" / room).rglob("*.py")
        for node in nodes(path)
    )
    assert untyped < 200


def test_the_engines_say_nothing_twice() -> None:
    """What both engines do stands once, in `engines/common`; an adapter says what is its compiler's
    alone. Whichever files they are in, lines that do something are compared: heads of functions
    and classes (one contract has them all alike), imports, docstrings, comments and lines of
    less than three words are not."""
    dynamo, native = (
        sum(map(_working_lines, (ROOT / "stepper" / "engines" / name).rglob("*.py")), Counter())
        for name in ENGINES
    )
    twins = dynamo & native
    assert twins.total() < TWINS, f"{twins.total()} lines, such as {twins.most_common(20)}"


def _working_lines(path: Path) -> Counter[str]:
    text = path.read_text()
    left: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            left.update(range(node.lineno, node.body[0].lineno))
        elif isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            left.update(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = [line.partition("  # ")[0].strip() for line in text.splitlines()]
    return Counter(
        line
        for number, line in enumerate(lines, 1)
        if number not in left and line[:1] != "#" and len(re.findall(r"\w+", line)) > 2
    )


def test_no_file_is_too_long() -> None:
    too_long = [
        f"{path.relative_to(ROOT)} has {count} lines"
        for folder in ("stepper", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (count := len(path.read_text().splitlines())) > LONGEST
    ]
    assert not too_long


def test_nothing_that_a_run_leaves_is_kept() -> None:
    """What programs write where they were begun has been committed before."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kept = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    assert kept == TOP_LEVEL


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("stepper", {"torch", "textual", "sqlite3"}),
        ("stepper.model", {"torch", "textual", "sqlite3"}),
        ("stepper.recording", {"torch", "textual"}),
        ("stepper.client", {"torch", "textual"}),
        ("stepper.analysis", {"torch", "textual", "sqlite3"}),
        ("stepper.console", {"torch", "textual"}),
        ("stepper.cli", {"torch", "textual"}),
        ("stepper.tui", {"torch"}),
        ("stepper.debuggee", {"textual"}),
        ("stepper.engines.dynamo", {"textual"}),
    ],
)
def test_import_loads_nothing_heavy(
    module: str,
    unwanted: set[str],
    run_python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    outcome = run_python("-c", f"import sys, {module}; print(*(set(sys.modules) & {unwanted!r}))")
    assert outcome.returncode == 0, outcome.stderr
    assert not outcome.stdout.split()


EXCUSE = re.compile(r"#\s*(?:type:\s*ignore|noqa)(?:\[[\w\-, ]*\]|:[A-Z0-9, ]+)?")
SKIPS = {"skip": 0, "skipif": 1, "xfail": 1, "importorskip": 1}
"""What leaves a test out, and where its reason may stand without a name."""


def test_whatever_a_checker_is_told_to_leave_has_a_reason() -> None:
    """Behind it: `# type: ignore[attr-defined]  # no stub has it`. Mypy finds those that are not
    needed any more, in the tests as well."""
    without = []
    for path in _sources():
        text = path.read_text()
        if not EXCUSE.search(text):
            continue
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and EXCUSE.search(token.string):
                reason = EXCUSE.sub("", token.string).strip(" #-()")
                bare = re.search(r"type:\s*ignore(?!\[)|noqa(?!:)", token.string)
                if bare or len(reason) < 5:
                    without.append(f"{path.relative_to(ROOT)}:{token.start[0]}")
    assert not without


def test_whatever_is_skipped_has_a_reason(nodes: Nodes) -> None:
    without = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _sources()
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).startswith("pytest.")
        and (name := _last_name(node.func)) in SKIPS
        and not any(keyword.arg == "reason" for keyword in node.keywords)
        and len(node.args) <= SKIPS[name]
    ]
    assert not without


def _sources() -> list[Path]:
    """All but the programs of the bench of answers: those are as they were reported."""
    found = [path for room in ("stepper", "tests") for path in (ROOT / room).rglob("*.py")]
    return [path for path in found if path.parent.name != "answers"]


LOCKS = {"Lock", "RLock", "allocate_lock", "ReentrantLock"}


def test_no_exception_from_outside_leaves_a_lock_locked(nodes: Nodes) -> None:
    """A `with` is left by instructions of its own, before which a trace function of the program can
    raise: whoever wants the lock then waits for ever. So in the program's process locks are had by
    calls of C functions, `ReentrantLock.during` and `at_once`, and by no `with`."""
    rooms = [ROOT / "stepper" / room for room in ("debuggee", "engines", "recording", "native")]
    files = [path for room in rooms for path in room.rglob("*.py")]
    locks = {
        name
        for path in files
        for node in nodes(path)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if _last_name(node.value.func) in LOCKS
        for target in node.targets
        if (name := _last_name(target))
    }
    assert locks >= {"lock", "_sending", "compile_lock", "_mode"}
    found = [
        f"{path}:{node.lineno}"
        for path in files
        for node in nodes(path)
        if isinstance(node, ast.With)
        and any(_last_name(i.context_expr) in locks for i in node.items)
    ]
    assert not found


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def test_no_docstring_leans_on_what_stands_elsewhere(nodes: Nodes) -> None:
    """`The same …` and `Of …`, whatever the name before says, can be read by nobody alone."""
    leaning = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value.value[:50]}"
        for path in sorted((ROOT / "stepper").rglob("*.py*"))
        if path.suffix in (".py", ".pyi")
        for node in nodes(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str) and node.value.value.startswith(("The same", "Of "))
    ]
    assert not leaning


def test_a_method_does_not_say_where_its_class_says_it(nodes: Nodes) -> None:
    """What a class is derived from, or is said to be, tells of its methods, too."""
    pointing = [
        f"{path.relative_to(ROOT)}:{method.lineno}: {method.name}"
        for path in sorted((ROOT / "stepper").rglob("*.py"))
        for of in nodes(path)
        if isinstance(of, ast.ClassDef)
        for method in of.body
        if isinstance(method, ast.FunctionDef) and len(method.body) > 1
        for said in re.findall(r"^See `(?:\w+\.)*(\w+)\.\w+`\.$", ast.get_docstring(method) or "")
        if said in {*map(_last_name, of.bases), *(ast.get_docstring(of) or "").split("`")}
    ]
    assert not pointing


def test_a_text_stands_below_what_it_is_about(nodes: Nodes) -> None:
    """Where two texts follow each other, something was put between one of them and its name."""
    displaced = [
        f"{path.relative_to(ROOT)}:{below.lineno}"
        for path in sorted((ROOT / "stepper").rglob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for above, below in pairwise(node.body)
        if _is_text(above) and _is_text(below)
    ]
    assert not displaced


def _is_text(node: ast.AST) -> bool:
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant and isinstance(node.value.value, str)  # type: ignore[attr-defined]  # as asked
