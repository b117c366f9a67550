"""Sources and expressions: how Dynamo names what it guards, and how a person writes it.

Dynamo names a value by the way that leads there: `L['self']._modules['fc']._parameters['weight']`
is what a person calls `self.fc.weight`. Both are taken to the same *path*: the root (a local, a
global, an import) and the steps from it, members of modules as attributes. Whatever cannot be
taken apart so (a call, `type(…)`) keeps its own words as a step, and compares by them.
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import lru_cache
from itertools import zip_longest

import msgspec

from stepper.client.names import brief_source

_ROOT = re.compile(r"\b[LG]\['(\w+)'\]")
_BY_PLACE = re.compile(r"\[list\(dict\.keys\(")
_PLACE = re.compile(r"\)\)\[(\d+)\]\]")
"""How Dynamo writes a dictionary's value whose key is no constant: by the place of the key."""
_KEY = re.compile(r"\blist\(dict\.keys\(((?:[^()]|\([^()]*\))+)\)\)\[(\d+)\]")
"""How Dynamo writes a key by its place."""
BY_PLACE = "key"
"""How a step begins that is a dictionary's key by its place: `key 0`; its value is `[key 0]`."""
_LONGEST = 2_000
"""Characters of a source in which such values are looked for."""
_OF_TORCH = "__"
"""How the names of globals begin that torch has made up: another call is anybody's guess."""
_OF_DYNAMO = "___"
"""How the names of functions begin by which Dynamo gets at what no variable has."""
_CLASS = ("type()", ".__class__")
_NUMPY = re.compile(r"\b___from_numpy\(((?:[^()]|\([^()]*\))*)\)")
"""How Dynamo writes an array of numpy: as the tensor that it takes it for."""
PARAMETER = re.compile(r"\._(?:parameters|buffers)\['[^']*'\]\Z")
"""How a source ends that is a parameter or a buffer of a module."""
CODE = ".__code__"
"""By what a function is guarded."""
FROM_NUMPY = "___from_numpy("
"""How such a source begins."""
MADE_OF = ".__tensor_flatten__()[0]"
"""How a source ends that is the names of the tensors that a tensor subclass is made of."""
_OF_CLASS = re.compile(r"\bdict\(type\(([\w.]+)\)(?:\.__mro__\[\d+\])?\.__dict__\)\['(\w+)'\]")
"""How Dynamo writes an attribute of a value's class: to a person it is one of the value."""
FUNCTION_MODE = re.compile(r"___get_torch_function_mode_stack_at\(\d+\)")
"""How Dynamo comes to one of the torch function modes that are active, the innermost mostly."""
_STRIPPED = re.compile(r"L\[\s*['\"]([^'\"]*)['\"]\s*\]")


class Path(msgspec.Struct, frozen=True):
    """A root and the steps from it."""

    root: str
    steps: tuple[str, ...] = ()
    """`.name` for attributes, `.name()` for calls without arguments, `[key]` for elements,
    `size(0)`, `stride(0)`, `type()` and `len()`."""
    globally: bool | None = None
    """Whether the root is a global; None: the expression does not say."""

    def __str__(self) -> str:
        return self.root + "".join(self.steps)

    def leads_to(self, other: Path) -> bool:
        """Whether the other is this value or a part of it."""
        return self.same_root(other) and other.steps[: len(self.steps)] == self.steps

    @property
    def before(self) -> Path:
        """What its last step is taken from."""
        return Path(self.root, self.steps[:-1], self.globally)

    @property
    def of_instance(self) -> Path:
        """This path with attributes of a class as those of its instance: `type(x).k` as `x.k`."""
        kept = [
            step
            for step, following in zip_longest(self.steps, self.steps[1:], fillvalue="")
            if step not in _CLASS or not following.startswith(".")
        ]
        return Path(self.root, tuple(kept), self.globally)

    def same_root(self, other: Path) -> bool:
        """Whether both begin at the same name."""
        unlike = None not in (self.globally, other.globally) and self.globally != other.globally
        return self.root == other.root and not unlike


def spelled(source: str) -> str:
    """A source as its user would write it: `L['self']._modules['fc']` is `self.fc`."""
    text = _OF_CLASS.sub(r"\1.\2", _ROOT.sub(r"\1", brief_source(_NUMPY.sub(r"\1", source))))
    text = FUNCTION_MODE.sub("the torch function mode", text)
    while len(text) < _LONGEST and (shorter := _with_values(text)) != text:
        text = shorter
    while len(text) < _LONGEST and (shorter := _KEY.sub(r"list(\1)[\2]", text)) != text:
        text = shorter
    return text


def _with_values(text: str) -> str:
    """A source with one dictionary's value that stands there by the place of its key as one of the
    dictionary's values."""
    for begins in _BY_PLACE.finditer(text):
        ends = _PLACE.search(text, begins.end())
        if ends is None:
            break
        dictionary = text[begins.end() : ends.start()]
        before = text[: begins.start()]
        if dictionary and before.endswith(dictionary):
            before = before.removesuffix(dictionary)
            return f"{before}list({dictionary}.values())[{ends[1]}]{text[ends.end() :]}"
    return text


def taken_for_tensor(source: str) -> str:
    """What is behind the source of a tensor that Dynamo makes of an array, or of a number of
    numpy's; of any other value its source."""
    found = _NUMPY.fullmatch(source)
    return found[1] if found else source


@lru_cache(maxsize=16_384)
def unscoped(text: str) -> str:
    """A text of Dynamo's as its reasons have it, without `L[…]` around the names of locals."""
    return _STRIPPED.sub(r"\1", text)


class _Folded(ast.NodeTransformer):
    """With `-1` as one constant, as it counts from the end."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """One number, where it is one."""
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(int(number))):
                return ast.copy_location(ast.Constant(-number), node)
        return node


_folded = _Folded()


@lru_cache(maxsize=4096)
def path_of(expression: str) -> Path | None:
    """The path of a source or of a person's expression; None when it is neither."""
    text = brief_source(_NUMPY.sub(r"\1", expression.strip()))
    if text.startswith("builtins."):
        return Path(text.removeprefix("builtins.").partition(".")[0], (), True)
    try:
        node = _folded.visit(ast.parse(text, mode="eval")).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    steps: list[str] = []
    while True:
        match node:
            case ast.Subscript(
                value=ast.Name(id="L" | "G" as scope), slice=ast.Constant(str(name))
            ):
                return Path(name, tuple(reversed(steps)), scope == "G")
            case ast.Name(id=name):
                known = True if hasattr(builtins, name) else None
                return Path(name, tuple(reversed(steps)), known)
            case ast.Attribute(value=inner, attr=name):
                steps.append(f".{name}")
                node = inner
            case (
                ast.Subscript(
                    value=ast.Call(
                        func=ast.Attribute(value=inner, attr="size" | "stride" as what), args=[]
                    ),
                    slice=ast.Constant(int(at)),
                )
                | ast.Call(
                    func=ast.Attribute(value=inner, attr="size" | "stride" as what),
                    args=[ast.Constant(int(at))],
                )
                | ast.Subscript(
                    value=ast.Attribute(value=inner, attr="shape" as what),
                    slice=ast.Constant(int(at)),
                )
            ):
                steps.append(f"{'size' if what == 'shape' else what}({at})")
                node = inner
            case ast.Subscript(
                value=inner,
                slice=ast.Subscript(
                    value=ast.Call(
                        func=ast.Name(id="list"),
                        args=[ast.Call(func=ast.Attribute(value=ast.Name(id="dict"), attr="keys"))],
                    ),
                    slice=ast.Constant(int(at)),
                ),
            ):
                steps.append(f"[{BY_PLACE} {at}]")
                node = inner
            case ast.Subscript(
                value=ast.Call(
                    func=ast.Name(id="list"),
                    args=[
                        ast.Call(
                            func=ast.Attribute(value=ast.Name(id="dict"), attr="keys"), args=[inner]
                        )
                        | ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[])
                    ],
                ),
                slice=ast.Constant(int(at)),
            ):
                steps.append(f"{BY_PLACE} {at}")
                node = inner
            case ast.Subscript(
                value=ast.Call(
                    func=ast.Name(id="dict"), args=[ast.Attribute(value=inner, attr="__dict__")]
                ),
                slice=ast.Constant(str(name)),
            ):  # a class's attribute, as Dynamo writes it; of a base with `.__mro__[1]` before
                steps.append(f".{name}")
                match inner:
                    case ast.Subscript(value=ast.Attribute(value=derived, attr="__mro__")):
                        inner = derived
                node = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[], keywords=[]):
                steps.append(f".{name}()")
                node = inner
            case ast.Call(
                func=(ast.Name(id=name) | ast.Subscript(slice=ast.Constant(str(name)))) as inner,
                args=[],
                keywords=[],
            ) if name.startswith(_OF_TORCH):  # what a weak reference leads to
                steps.append("()")
                node = inner
            case ast.Call(
                func=ast.Subscript(value=ast.Call(func=ast.Name(id="list"))) as inner,
                args=[],
                keywords=[],
            ):  # what the key of a weak dictionary leads to, by its place
                steps.append("()")
                node = inner
            case ast.Call(func=ast.Name(id=function), args=[ast.Constant(int(at))]) if (
                function.startswith(_OF_DYNAMO)
            ):
                return Path(f"{function}({at})", tuple(reversed(steps)))
            case ast.Subscript(value=inner, slice=index):
                steps.append(f"[{unscoped(ast.unparse(index))}]")
                node = inner
            case ast.Call(func=ast.Name(id=function), args=[inner], keywords=[]):
                steps.append(f"{function}()")
                node = inner
            case _:
                return None


@lru_cache(maxsize=16_384)
def meant(source: str) -> tuple[Path, ...]:
    """What a source leads to; of a class's attribute that was found by way of an instance also
    that instance's."""
    path = path_of(source)
    return () if path is None else tuple(dict.fromkeys((path, path.of_instance)))


def is_key(path: Path) -> bool:
    """Whether it is a key of a dictionary, by its place."""
    return bool(path.steps) and path.steps[-1].startswith(f"{BY_PLACE} ")
