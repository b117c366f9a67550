"""What can be done about a function that is compiled again, as a table: what in the recording makes
a remedy apply, and how it is applied.

A remedy is applied in the program's text where its place is found there: at the calls of the
function, where it is compiled, or behind the imports. What has a form outside of the program, too,
is made there where the text has no such place. None is advised before it was tried: the table only
says what is worth a run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from stepper.analysis.advice import Changing, Entries
from stepper.analysis.call_sites import CallSites, is_compile
from stepper.analysis.dtypes import shared_dtype
from stepper.analysis.places import File, Files
from stepper.analysis.recompile_series import TOLD, History, Series
from stepper.analysis.replays import Way, together
from stepper.analysis.size_rules import from_numpy, settings_of
from stepper.analysis.sources import Path, path_of, spelled
from stepper.client.scratch import Edit
from stepper.model.change import Dynamic, MarkSize, Setting
from stepper.model.datum import Complex, text_of
from stepper.model.lookup import Aspect
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_SPECIAL = (0, 1)
_LIKEWISE = 7
"""Things of which the same changes that a remedy is applied to besides the first."""
_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Dict, ast.List)
"""Expressions that a method can be asked of as they stand."""
_KEY = re.compile(r"\[(['\"])(\w+)\1\]\Z")
_STEP = re.compile(r"\.[^\W\d]\w*|\[(?:\d+|'\w*')\]")
"""A step that may be written into the program: it comes from a recording, which anybody can have
made, and leads to a value and does nothing else."""
_KEY_OF = re.compile(r"list\(dict\.keys\((\w+)\)\)\[\d+\]")
"""A key of a dict, by its place: what changes is their order, or which there are."""
_DEVICE = re.compile(r"(?:cpu|cuda|mps|xpu)(?::\d+)?")


class Case(NamedTuple):
    """What a remedy is looked for."""

    recording: Recording
    files: Files
    history: History
    sites: CallSites
    series: Series
    path: Path
    """Where what changes is found, from a variable of the function on."""

    @property
    def what(self) -> str:
        """What of it changes."""
        return self.series.aspect.what

    @property
    def argument(self) -> bool:
        """Whether it comes with the call."""
        return self.sites.parameters.takes(self.path)

    @property
    def numbers(self) -> bool:
        """Whether its values are numbers."""
        values = [each for each in self.series.values if each is not None]
        return bool(values) and all(type(each) in (int, float, Complex) for each in values)


class Remedy(NamedTuple):
    """A row of the table."""

    applies: Callable[[Case], object]
    """Whether the recording shows what this is about."""
    ways: Callable[[Case], Iterator[Way]]
    """How it is applied here; none: it has no place in this program."""


def ways_for(recording: Recording, files: Files, history: History) -> list[list[Way]]:
    """What is worth a run, by what it is about, what changes most often first."""
    sites = CallSites(recording, files, (history.name, history.filename, history.line))
    found: list[list[Way]] = []
    known: set[tuple[object, ...]] = set()
    for series in (*history.series[:TOLD], *_in_words(history)):
        path = path_of(series.source) or Path("")
        case = Case(recording, files, history, sites, series, path)
        ways = []
        for remedy in TABLE:
            for way in _ways(remedy, case):
                key = (way.edits, way.changes)
                if key not in known and any(key):
                    known.add(key)
                    ways.append(way)
        if ways:
            found.append(ways)
    return found


def _ways(remedy: Remedy, case: Case) -> list[Way]:
    """How a remedy is applied: where the same changes of other things, to all of them at once."""
    series = case.series
    found: list[list[Way]] = []
    for source in (series.source, *series.likewise[:_LIKEWISE]):
        one = msgspec.structs.replace(series, source=source, likewise=())
        each = case._replace(series=one, path=path_of(source) or Path(""))
        about = ((source, series.aspect),)
        found.append(
            [
                msgspec.structs.replace(way, about=about)
                for way in (remedy.ways(each) if remedy.applies(each) else ())
            ]
        )
    if len({len(ways) for ways in found}) > 1:
        return found[0]
    return [together(list(ways)) if len(ways) > 1 else ways[0] for ways in zip(*found, strict=True)]


def _in_words(history: History) -> Iterator[Series]:
    """What failed of which the compiler only says that it did, each kind once."""
    kinds = [
        failure.kind
        for each in history.recompilations
        for tried in each.tried[:1]
        for failure in tried.failures
        if not failure.differences
    ]
    for kind in dict.fromkeys(kinds):
        if kind not in {series.kind for series in history.series}:
            yield Series("", Aspect(""), kind, (), kinds.count(kind))


# How a remedy is applied --------------------------------------------------------------------------


def _converted(case: Case, before: str, after: str, words: str = "") -> Iterator[Way]:
    """What the calls hand over, made into something else there: `.clone()`, `torch.tensor(…)`."""
    edits: list[Edit] = []
    for call, value, steps in case.sites.handed(case.path):
        file = call.file
        part = _part(value, steps, file)
        if part is None or (re.search(r"\btorch\b", before + after) and not file.torch):
            return
        # A method is asked of all of it.
        opened, closed = (
            ("(", ")") if after[:1] == "." and not isinstance(part, _PLAIN) else ("", "")
        )
        edits += file.around(part, file.torched(before) + opened, closed + file.torched(after))
    if edits:
        name = spelled(case.series.source)
        yield Way(words or f"{before}{name}{after} at the calls", tuple(edits))


def _part(value: ast.expr, steps: tuple[str, ...], file: File) -> ast.expr | None:
    """The part of an expression from which an element of its value comes, where it is written out:
    of `{"k": 3}` that of the key; None: it comes from elsewhere."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(value, ast.Dict):
        for key, each in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and step == f"[{key.value!r}]":
                return _part(each, rest, file)
    elif isinstance(value, (ast.List, ast.Tuple)):
        for at, each in enumerate(value.elts):
            if step == f"[{at}]":
                return _part(each, rest, file)
    elif isinstance(value, ast.Call) and step.startswith("."):
        for keyword in value.keywords:
            if keyword.arg == step[1:]:
                return _part(keyword.value, rest, file)
        fields = _fields(file, value.func)
        if step[1:] in fields and fields.index(step[1:]) < len(value.args):
            return _part(value.args[fields.index(step[1:])], rest, file)
    return None


def _fields(file: File, func: ast.expr) -> list[str]:
    """The fields of a class of the file, as a dataclass takes them."""
    for node in file.tree.body:
        if isinstance(node, ast.ClassDef) and isinstance(func, ast.Name) and node.name == func.id:
            return [
                each.target.id
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            ]
    return []


def _marked(case: Case, how: str) -> Iterator[Way]:
    """A size marked at each call, in a line in front of it; else from outside."""
    dim = case.series.aspect.at
    size = re.fullmatch(r"size\((\d+)\)", case.path.steps[-1]) if case.path.steps else None
    steps = case.path.steps
    if dim is None and size is not None:
        dim, steps = int(size[1]), steps[:-1]
    if dim is None or from_numpy(case.series):
        return
    module = "torch._dynamo.decorators" if how == "mark_unbacked" else "torch._dynamo"
    edits = _marked_at_calls(case, f"{module}.{how}", steps, dim)
    rest = "".join(steps)
    words = f"{module}.{how}({case.path.root}{rest}, {dim})"
    history = case.history
    place = (history.name, history.filename, history.line)
    mark = MarkSize(*place, f"{case.path.root}{rest}", dim, how)  # type: ignore[arg-type]  # one of three
    if edits:
        yield Way(f"{words} before the calls", edits, does=(mark,))
    elif not history.resume_of and history.capabilities.symbols:
        yield Way(words, changes=(mark,))


def _marked_at_calls(
    case: Case, function: str, steps: tuple[str, ...], dim: int
) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    taken: set[str] = set()
    for call, value, rest in case.sites.handed(Path(case.path.root, steps)):
        file = call.file
        if not (call.movable and file.torch) or not all(map(_STEP.fullmatch, rest)):
            return ()
        name = file.text(value)
        if not isinstance(value, (ast.Name, ast.Attribute)):
            wanted = case.path.root if rest == steps else "argument"
            name = file.free_name(wanted, call.statement)
            while name in taken:
                name = f"{wanted}_{len(taken) + 1}"
            taken.add(name)
            given = file.text(value)
            given = f"({given})" if "\n" in given else given
            line = file.line_before(call.statement, f"{name} = {given}")
            if line is None:
                return ()
            edits += [line, file.replaced(value, name)]
        mark = f"{file.torched(function)}({name}{''.join(rest)}, {dim})"
        line = file.line_before(call.statement, mark)
        if line is None:
            return ()
        edits.append(line)
    return tuple(edits)


def setting_ways(files: Files, setting: Setting) -> Iterator[Way]:
    """A setting behind the imports of the program; else from outside."""
    file = files.main
    edit = None if file is None else file.setting(str(setting))
    if edit is not None:
        yield Way(str(setting), (edit,), does=(setting,))
    else:
        yield Way(str(setting), changes=(setting,))


def _dynamic(case: Case) -> Iterator[Way]:
    """`dynamic=True` where it is compiled; else from outside."""
    change = Dynamic(case.history.capabilities.compile)
    if edits := case.sites.with_option("dynamic", "True"):
        yield Way(str(change), edits, does=(change,))
    else:
        yield Way(str(change), changes=(change,))


def _of_parameters(case: Case) -> Iterator[Way]:
    """The settings with which the sizes of parameters are symbols, all that it takes at once."""
    it = Changing(Entries(case.recording, case.history), case.series)
    ways = [way for each in settings_of(it) for way in setting_ways(case.files, each)]
    if ways:
        yield together(ways)


def _in_a_tensor(case: Case) -> Iterator[Way]:
    """A number made into a tensor where it comes from."""
    name = spelled(case.series.source)
    if case.argument:
        found = list(_converted(case, "torch.tensor(", ")", f"torch.tensor({name}) at the calls"))
        if found:
            yield from found
            return
    edits: list[Edit] = []
    for file in case.files.every():
        if not is_installed(file.path) and file.torch:
            for value in _origins(case, file):
                edits += file.around(value, f"{file.torch}.tensor(", ")")
    if not edits and not case.path.steps and not case.argument:
        edits = list(_closed_over(case))
    if edits:
        yield Way(f"{name} in a tensor where it is set", tuple(edits))


def _origins(case: Case, file: File) -> Iterator[ast.expr]:
    """Expressions from which a value comes that is an attribute, an element or a global."""
    if not case.path.steps:
        if case.path.globally:
            yield from _set_globally(file, case.path.root)
        return
    last = case.path.steps[-1]
    key = _KEY.fullmatch(last)
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if (isinstance(target, ast.Attribute) and last == f".{target.attr}") or (
                    key
                    and isinstance(target, ast.Subscript)
                    and isinstance(target.slice, ast.Constant)
                    and target.slice.value == key[2]
                ):
                    yield node.value
        elif key and isinstance(node, ast.keyword) and node.arg == key[2]:
            yield node.value


def _set_globally(file: File, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Assign):
            inside = next(file.enclosing(node), None)
            declared = inside is None or any(
                isinstance(each, ast.Global) and name in each.names for each in ast.walk(inside)
            )
            targets = [each.id for each in node.targets if isinstance(each, ast.Name)]
            if declared and name in targets:
                yield node.value


def _closed_over(case: Case) -> Iterator[Edit]:
    """A variable of the function around: made into a tensor where that one begins, or where it is
    set."""
    file = case.files.at(case.history.filename)
    function = None if file is None else file.function(case.history.line, case.history.name)
    if file is None or function is None or not file.torch:
        return
    name = case.path.root
    for outer in file.enclosing(function):
        arguments = outer.args
        if name in {
            each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        }:
            edit = file.line_before(outer.body[0], f"{name} = {file.torch}.tensor({name})")
            if edit is not None:
                yield edit
            return
        for node in ast.walk(outer):
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == name for target in node.targets
            ):
                yield from file.around(node.value, f"{file.torch}.tensor(", ")")


def _under(case: Case, context: str) -> Iterator[Way]:
    """All calls in one state of torch's."""
    edits: list[Edit] = []
    done: set[tuple[str, int]] = set()
    for call in case.sites.calls:
        place = (call.file.path, call.statement.lineno)
        if place in done:
            continue
        done.add(place)
        if not (found := call.file.indented(call.statement, call.file.torched(f"with {context}:"))):
            return
        edits += found
    if edits:
        yield Way(f"all calls under {context}", tuple(edits))


def _first(case: Case) -> str:
    """What was expected at first, in words."""
    return text_of(case.series.values[0]) if case.series.values else ""


def _to_dtype(case: Case) -> str:
    """What is asked of a tensor, or of an array, for the dtype that it is to have in each call."""
    shared = shared_dtype(case.series.values)
    return f".astype({shared!r})" if from_numpy(case.series) else f".to(torch.{shared})"


def _same_type(case: Case) -> Iterator[Way]:
    seen = {text_of(each) for each in case.series.values}
    for kind in ("list", "tuple"):
        if any(kind in each for each in seen):
            yield from _converted(case, f"{kind}(", ")")


def _keyed(case: Case) -> str:
    """The parameter whose keys change; empty: it is none."""
    found = _KEY_OF.fullmatch(case.series.source)
    if found is not None:
        return found[1]
    changed = case.what == "dictionary" or case.series.kind in ("DICT_CONTAINS", "DICT_LENGTH")
    return case.path.root if changed and not case.path.steps else ""


def _sorted_keys(case: Case) -> Iterator[Way]:
    """A dict with its keys always in the same order."""
    name = _keyed(case)
    words = f"dict(sorted({name}.items())) at the calls"
    alone = case._replace(path=Path(name))
    yield from _converted(alone, "dict(sorted(", ".items()))", words)


def _second_of_a_pair(case: Case) -> Iterator[Way]:
    """Copy each of two inputs that are one tensor."""
    names = [
        name
        for name in case.sites.parameters.names
        if re.search(rf"\b{re.escape(name)}\b", _words(case)) and case.sites.handed(Path(name))
    ]
    for name in names[::-1]:
        yield from _converted(
            case._replace(path=Path(name)), "", ".clone()", f"{name}.clone() at the calls"
        )


def _words(case: Case) -> str:
    """All that is said of what failed."""
    texts = [
        f"{failure.text} {failure.source}"
        for each in case.history.recompilations
        for tried in each.tried[:1]
        for failure in tried.failures
    ]
    return " ".join([case.series.source, *texts])


def _whole_batches(case: Case) -> Iterator[Way]:
    """The last batch of a DataLoader, which can be smaller, left out."""
    edits: list[Edit] = []
    for file in case.files.every():
        for call in () if is_installed(file.path) else file.calls:
            func = call.node.func
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            known = {keyword.arg for keyword in call.node.keywords}
            if name == "DataLoader" and call.node.args and not known & {"drop_last", None}:
                values = [*call.node.args, *(each.value for each in call.node.keywords)]
                last = max(values, key=lambda each: (each.end_lineno, each.end_col_offset))
                edits += file.around(last, "", ", drop_last=True")[1:]
    if edits:
        yield Way("drop_last=True of the DataLoader", tuple(edits))


_STORED = (ast.Store, ast.Del)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _compiled_once(case: Case) -> Iterator[Way]:
    """`torch.compile` taken out of the loops and functions in which it is called again."""
    for file, node in case.sites.compiles():
        if not (isinstance(node, ast.Call) and is_compile(node)):
            continue
        whole: ast.expr = node
        parent = file.parent(node)
        if not node.args and isinstance(parent, ast.Call) and parent.func is node:
            whole = parent
        edits = hoisted(file, whole)
        if edits:
            yield Way(f"{file.torch or 'torch'}.compile once, outside", edits)


def hoisted(
    file: File, whole: ast.expr, name: str = "compiled", *, beyond: bool = True
) -> tuple[Edit, ...]:
    """An expression computed once in front of the outermost loop or function that does not set what
    it needs; empty: there is none.

    Args:
        file: where it stands.
        whole: the expression.
        name: what its value is to be called.
        beyond: also in front of functions; else only of loops, in its own function.
    """
    own = {each.arg for each in ast.walk(whole) if isinstance(each, ast.arg)}
    needs = {each.id for each in ast.walk(whole) if isinstance(each, ast.Name)} - own
    statement, _ = file.statement_of(whole)
    best: ast.stmt | None = None
    outer: ast.AST | None = statement
    while (outer := file.parent(outer) if outer is not None else None) is not None:
        if isinstance(outer, ast.ClassDef) or (isinstance(outer, _FUNCTIONS) and not beyond):
            break
        if not isinstance(outer, (ast.For, ast.While, ast.FunctionDef)):
            continue
        sets = {
            each.id
            for each in ast.walk(outer)
            if isinstance(each, ast.Name) and isinstance(each.ctx, _STORED)
        }
        sets |= {each.arg for each in ast.walk(outer) if isinstance(each, ast.arg)}
        sets |= {
            each.name
            for each in ast.walk(outer)
            if isinstance(each, (ast.FunctionDef, ast.ClassDef)) and each is not outer
        }
        if isinstance(statement, ast.Assign):
            sets -= {each.id for each in statement.targets if isinstance(each, ast.Name)} - needs
        if needs & sets:
            break
        best = outer
    if best is None or statement is None:
        return ()
    name = file.free_name(name, best)
    text = file.text(whole)
    line = file.line_before(best, f"{name} = {text}")
    return () if line is None or "\n" in text else (line, file.replaced(whole, name))


def _without_guards(case: Case) -> Iterator[Way]:
    """Guards left out that the program is to answer for itself."""
    path = case.path
    names = ["skip_guard_on_all_nn_modules_unsafe"] if path.steps else []
    names += ["skip_guard_on_globals_unsafe"] if path.globally else []
    yield from filtered(case.sites, names)


def filtered(sites: CallSites, filters: list[str]) -> Iterator[Way]:
    """Guards left out by each of these filters of `torch.compiler`."""
    for _, node in sites.compiles():
        known = {each.arg for each in node.keywords} if isinstance(node, ast.Call) else set()
        if known & {"options", "mode"}:
            return
    for name in filters:
        value = f'{{"guard_filter_fn": torch.compiler.{name}}}'
        words = f"torch.compile(options={value}), which checks less than the code relies on"
        if edits := sites.with_option("options", value):
            yield Way(words, edits, unsafe=True)


# What makes a remedy apply ------------------------------------------------------------------------


def _is(*whats: str) -> Callable[[Case], bool]:
    return lambda case: case.what in whats


def _of(*kinds: str) -> Callable[[Case], bool]:
    return lambda case: case.series.kind in kinds


def _a_size(case: Case) -> bool:
    return case.what == "size" and case.history.capabilities.symbols


def _a_condition(case: Case) -> bool:
    return not case.what and ".size()" in case.series.source


def _special(case: Case) -> bool:
    return _a_condition(case) or (
        _a_size(case) and any(each in _SPECIAL for each in case.series.values)
    )


def _equal_sizes(case: Case) -> bool:
    """Whether sizes were taken for one because they were the same."""
    return re.search(r"\.size\(\)\[\d+\] == \S*\.size\(\)\[\d+\]", _words(case)) is not None


def _a_number(case: Case) -> bool:
    return case.what == "value" and case.numbers


def _an_int(case: Case) -> bool:
    return _a_number(case) and any(type(each) is int for each in case.series.values)


def _converts(what: str, before: str, after: str) -> Remedy:
    return Remedy(
        lambda case: case.what == what and case.argument,
        lambda case: _converted(case, before, after),
    )


def _state(what: str, *contexts: str) -> Remedy:
    return Remedy(
        lambda case: case.what == what and not case.series.source,
        lambda case: (way for context in contexts for way in _under(case, context)),
    )


TABLE: tuple[Remedy, ...] = (
    Remedy(
        lambda case: _a_size(case) and not _special(case),
        lambda case: _marked(case, "mark_dynamic"),
    ),
    Remedy(
        lambda case: _special(case) and not _a_condition(case),
        lambda case: _marked(case, "maybe_mark_dynamic"),
    ),
    Remedy(
        lambda case: _special(case) and case.history.capabilities.unbacked,
        lambda case: _marked(case, "mark_unbacked"),
    ),
    Remedy(
        lambda case: case.history.capabilities.symbols and (_a_size(case) or _an_int(case)),
        _dynamic,
    ),
    Remedy(lambda case: _a_size(case) and case.series.aspect.at == 0, _whole_batches),
    Remedy(
        _equal_sizes,
        lambda case: setting_ways(
            case.files, Setting("use_duck_shape", False, "torch.fx.experimental._config")
        ),
    ),
    Remedy(_a_number, _in_a_tensor),
    Remedy(
        lambda case: _an_int(case)
        and case.path.steps != ()
        and case.path.steps[-1].startswith(".")
        and case.history.capabilities.dynamo_config,
        lambda case: setting_ways(case.files, Setting("allow_unspec_int_on_nn_module", True)),
    ),
    Remedy(
        lambda case: _a_size(case) and case.history.capabilities.dynamo_config, _of_parameters
    ),
    Remedy(
        lambda case: _an_int(case) and case.history.recompilations[-1].translation.specialize_int,
        lambda case: setting_ways(case.files, Setting("specialize_int", False)),
    ),
    Remedy(
        lambda case: case.what == "dtype" and case.argument and shared_dtype(case.series.values),
        lambda case: _converted(case, "", _to_dtype(case)),
    ),
    Remedy(
        lambda case: case.what == "device" and case.argument and _DEVICE.fullmatch(_first(case)),
        lambda case: _converted(case, "", f'.to("{_first(case)}")'),
    ),
    Remedy(
        lambda case: case.what == "requires_grad" and case.argument
        and case.history.computed(case.series) is False,
        lambda case: _converted(case, "", ".detach()"),
    ),
    _converts("stride", "", ".contiguous()"),
    _converts("stride", "", ".clone(memory_format=torch.contiguous_format)"),
    _converts("base", "", ".clone()"),
    _converts("inference", "", ".clone()"),
    _converts("inference tensor", "", ".clone()"),
    Remedy(lambda case: case.what == "type" and case.argument, _same_type),
    Remedy(lambda case: bool(_keyed(case)), lambda case: _sorted_keys(case)),
    Remedy(_of("NO_TENSOR_ALIASING", "OBJECT_ALIASING"), _second_of_a_pair),
    _state("grad_mode", "torch.no_grad()", "torch.enable_grad()"),
    _state("inference_mode", "torch.inference_mode()"),
    Remedy(lambda case: _is("backend", "object")(case) or _of("INVALID")(case), _compiled_once),
    Remedy(
        lambda case: case.what in ("value", "object") and (bool(case.path.steps)
        or case.path.globally is True),
        _without_guards,
    ),
)  # fmt: skip
"""Every remedy, the nearest first."""
