"""Long names in few columns, for lists: in full they stand in details, in copies, in recordings.

Dynamo names what it finds by the way that leads there, so the names of a real model's parameters
are a hundred characters long and differ only in the middle. Two things make them short: the steps
that say nothing (`._modules[…]`, `.__dict__[…]`) are left out, and what is still too long loses
its middle, more of its beginning than of its end.
"""

from __future__ import annotations

import ast
import os
import re
from functools import lru_cache

import msgspec

from stepper.client.text import ELLIPSIS, short_name, short_path
from stepper.model.breakpoint import Breakpoint, BreakpointKind
from stepper.model.method_names import local_name
from stepper.model.trace import SessionFacts
from stepper.support.system import here

_MEMBER = re.compile(
    r"\.(?:__dict__\['_(?:modules|parameters|buffers)'\]|_modules|_parameters|_buffers)\['(\w+)'\]"
)
_ATTRIBUTE = re.compile(r"\.__dict__\['(\w+)'\]")
_IMPORTED = re.compile(r"\bG\['__import_(\w+)'\]|\b__import__\('(\w+)'\)")
_BUILTIN = re.compile(r"(?:\bG\['__builtins_dict___\d+'\]|(?<![\w'])__builtins_dict__)\['(\w+)'\]")
_OF_MODULE = re.compile(r"(?<![\w'])__import_(\w+)\['(\w+)'\]")
"""A variable of a module that is imported for guards, as the native compiler writes it."""
_MODULES = "sys_dot_modules"
_SIZE = re.compile(r"\.size\(\)\[(\d+)\]")
_VARIABLE = re.compile(r"(\benviron(?:'\])?)\._data\[b('\w+'|\"\w+\")\]")
"""A variable of the environment, of which `os.environ` keeps the name as bytes."""
_CALLS = (".__getitem__(", "___bare(", "___call(", "___viewed(", "___entry(")
"""What stands in sources that a compiler reads past a class's own methods."""
_STEPS = re.compile(r"_(?:dict_)?(?:modules|parameters|buffers)_(?=[a-zA-Z0-9])")

_WITH_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})
"""Options of the interpreter whose value is an argument of its own."""

_PATH = 48
"""Most columns for a breakpoint's file."""


@lru_cache(maxsize=4096)
def brief_source(source: str) -> str:
    """A source as the user would write it: `L['self']._modules['h']._modules['0']` is
    `L['self'].h[0]`, `G['__import_torch_dot_fx'].Proxy` is `torch.fx.Proxy`,
    `L['x'].size()[0]` is `L['x'].shape[0]`.
    """
    text = _MEMBER.sub(_member, short_name(source))
    text = _ATTRIBUTE.sub(r".\1", text)
    text = _SIZE.sub(r".shape[\1]", text)
    if any(call in text for call in _CALLS):
        text = _plain(text)
    text = _VARIABLE.sub(r"\1[\2]", text)
    text = _BUILTIN.sub(r"builtins.\1", text)
    text = _OF_MODULE.sub(_variable, text)
    return _IMPORTED.sub(lambda match: match[2] or match[1].replace("_dot_", "."), text)


def _variable(match: re.Match[str]) -> str:
    module = match[1].replace("_dot_", ".")
    return match[2] if match[1] == _MODULES else f"{module}.{match[2]}"


class _Plain(ast.NodeTransformer):
    """With brackets for elements that are got by `dict.__getitem__(…)`, as Dynamo writes it of
    subclasses, and without the calls by which the native compiler reads past a class's methods."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """The element, or the container, where it is one."""
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="dict" | "list"), attr="__getitem__"),
                args=[of, key],
            ):
                return ast.copy_location(ast.Subscript(of, key, ast.Load()), node)
            case ast.Call(func=ast.Name(id="___bare" | "___viewed"), args=[of, *_]):
                return of
            case ast.Call(func=ast.Name(id="___call"), args=[of]):
                return ast.copy_location(ast.Call(of, [], []), node)
            case ast.Call(
                func=ast.Name(id="___entry"), args=[of, ast.Constant(str(view)), ast.Constant(at)]
            ):
                place = ast.parse(f"list(dict.keys({ast.unparse(of)}))[{at!r}]", mode="eval").body
                return place if view == "keys" else ast.Subscript(of, place, ast.Load())
        return node


def _plain(text: str) -> str:
    try:
        return ast.unparse(_Plain().visit(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # some sources are words


def _member(match: re.Match[str]) -> str:
    return f"[{match[1]}]" if match[1].isdecimal() else f".{match[1]}"


@lru_cache(maxsize=4096)
def brief_node(name: str, width: int = 32) -> str:
    """An FX node's name in at most `width` columns: `l_self_modules_h_modules_0_parameters_bias_`
    is `l_self_h_0_bias_`. Short ones are left alone.
    """
    if len(name) <= width:
        return name
    return clip_middle(_STEPS.sub("_", name), width)


def brief_target(target: str, width: int = 32) -> str:
    """What a node calls: `torch._VariableFunctionsClass.addmm` is `torch.addmm`."""
    return clip_middle(short_name(target).replace("_VariableFunctionsClass.", ""), width)


def brief_function(name: str) -> str:
    """A qualified name without the functions around it: `wrap.<locals>.inner` is `inner`,
    `wrap.<locals>.<listcomp>` is `<listcomp> of wrap`; the rest of a function that was broken is
    `f, resumed at 12`.
    """
    return local_name(short_name(name))


def program_name(facts: SessionFacts | None) -> str:
    """The program's name: its script without the folders, or `-m` and the module, or `-c`."""
    argv = list(facts.argv) if facts else []
    if not argv:
        return "stepper"
    if argv[0].endswith(".py"):
        return os.path.basename(argv[0])
    rest = iter(argv[1:])
    for argument in rest:
        if argument == "-m":
            return f"-m {next(rest, '')}".strip()
        if argument == "-c":
            return "-c"
        if argument in _WITH_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            return os.path.basename(argument)
    return os.path.basename(argv[0])


def program_file(facts: SessionFacts | None) -> str:
    """The name of the file that was run, as a script or as a module, without the folders."""
    name = program_name(facts)
    return f"{name.rpartition('.')[2]}.py" if name.startswith("-m ") else name


def brief_breakpoint(breakpoint: Breakpoint) -> str:
    """A breakpoint as it is written, but for its file: `…/modeling_gpt2.py:274, once`."""
    if breakpoint.kind is not BreakpointKind.LINE:
        return str(breakpoint)
    path = short_path(breakpoint.pattern, here())
    return str(msgspec.structs.replace(breakpoint, pattern=clip_middle(path, _PATH)))


def clip_middle(text: str, width: int) -> str:
    """At most `width` characters, with `…` for what was left out of the middle."""
    if len(text) <= width:
        return text
    kept = max(0, width - 1)
    tail = kept - kept // 3
    return text[: kept - tail] + (ELLIPSIS if width > 0 else "") + text[len(text) - tail :]
