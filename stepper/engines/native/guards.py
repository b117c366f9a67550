"""Guards, and the check that they become.

A `Guard` says of what (a source's name) and how (a method of `GuardBuilder`) something is to be
checked before captured code may run. They are made while values are wrapped, travel on the trackers
that depend on them, and are all installed: what travels says which of them a value needs.

`CheckFunctionManager` turns them into Python source, one condition per line and in the order in
which the guards came, so that a type is checked before an attribute of it is read; tensors are
checked last and together. (In a long check arguments come first: see `guard_order`.) The same
conditions, one function each, go into the cache entry: from these the cache says which guard
failed, and why.

A guard that raises has failed; that is no error, since a value of another type may have no such
attribute. So the check catches what its conditions raise.
"""

from __future__ import annotations

import contextlib
import functools
import types
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import torch
import torch.utils._device
from torch._C._dynamo.guards import GlobalStateGuard, TensorGuards

from stepper._C import check_nn_module, check_obj_id, check_type_id, no_aliasing
from stepper.engines.common.tensors import fake_tensor_meta
from stepper.engines.common.words import class_name, object_text
from stepper.engines.native.guard_order import in_order
from stepper.engines.native.guard_program import Check, check_of
from stepper.engines.native.source import GuardSource, Source
from stepper.model.value import TensorMeta

if TYPE_CHECKING:
    from stepper.engines.native.guard_builder import GuardBuilder
    from stepper.engines.native.symbolic_shapes import Dims


class Guard(msgspec.Struct, frozen=True, eq=False):
    """One thing to check; `OutputGraph.install_guard` makes equal ones one.

    name: the expression that is checked; empty for those that are about no value.
    source: what kind of source that is.
    create_fn: the method of `GuardBuilder` that writes the check.
    """

    name: str
    source: GuardSource
    create_fn: Callable[[GuardBuilder, Guard], None]
    origin: Source | None = None
    value: Any = None
    """What was there; not kept longer than the translation."""
    code_list: list[str] = []
    """The conditions, once they are written."""

    def __repr__(self) -> str:
        return f"<Guard {self.kind} {self.name}>"  # never the value's own

    @property
    def kind(self) -> str:
        """The name of the method: `TENSOR_MATCH`, …"""
        function = self.create_fn
        while isinstance(function, functools.partial):
            function = function.func
        return function.__name__

    def create(self, builder: GuardBuilder) -> None:
        """Write the check."""
        self.create_fn(builder, self)


class GuardPart(msgspec.Struct, frozen=True):
    """A guard as a cache entry keeps it: in words only.

    expected: what the value must be, where the code does not say it.
    tensor, tensor_class: the same of a tensor, in parts.
    reachable: whether `name` is the expression of one value.
    """

    kind: str
    name: str
    source: str
    code: tuple[str, ...]
    expected: str = ""
    tensor: TensorMeta | None = None
    tensor_class: str = ""
    reachable: bool = False

    def __str__(self) -> str:
        return " and ".join(self.code) or f"{self.kind} {self.name}"


ADDED = "ADDED"
"""The kind of a guard that somebody has written by hand."""


class GlobalState:
    """The state of torch that code can depend on, as it is when this is made."""

    def __init__(self) -> None:
        self.guard = GlobalStateGuard()
        self.default_device = torch.utils._device.CURRENT_DEVICE
        self.grad_enabled = torch.is_grad_enabled()


def function_modes() -> int:
    """How many torch function modes and dispatch modes are active: what they do to an operator is
    nobody's to know."""
    return int(torch._C._len_torch_function_stack()) + int(torch._C._len_torch_dispatch_stack())


_HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
)  # fmt: skip


def has_hooks(module: Any) -> bool:
    """Whether calling a module does more than calling its `forward`."""
    fields = module.__dict__
    return any(fields.get(name) for name in _HOOKS) or "forward" in fields


SCOPE: dict[str, Any] = {
    "___check_obj_id": check_obj_id,
    "___check_type_id": check_type_id,
    "___check_nn_module": check_nn_module,
    "___no_aliasing": no_aliasing,
    "___function_modes": function_modes,
    "___Tensor": torch.Tensor,
    "utils_device": torch.utils._device,
}
"""What conditions can call."""


def _tensor_guards(tensors: list[torch.Tensor], dims: list[Dims | None]) -> Any:
    make: Any = TensorGuards
    if not any(dims):
        return make(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
    pairs = list(zip(tensors, dims, strict=True))
    return make(
        *tensors,
        dynamic_dims_sizes=[list(d.sizes if d else t.size()) for t, d in pairs],
        dynamic_dims_strides=[list(d.strides if d else t.stride()) for t, d in pairs],
    )


def _tensors_checked(builder: GuardBuilder, name: str) -> list[str]:
    """The condition about all tensors of which guards have been written, under this name."""
    names = builder.tensor_names
    if not names:
        return []
    dims = [builder.dims.get(each) for each in names]
    builder.scope[name] = _tensor_guards(builder.tensors, dims).check
    return [f"{name}({', '.join(names)})"]


class PartCheck:
    """The check of one guard, compiled when it is first asked: most never are."""

    __slots__ = ("_check", "_scope", "_text")

    def __init__(self, text: str, scope: dict[str, Any]) -> None:
        self._text = text
        self._scope = scope
        self._check: Check | None = None

    def __str__(self) -> str:
        return self._text

    def __call__(self, f_locals: dict[str, Any], f_globals: dict[str, Any]) -> object:
        if self._check is None:
            self._check = eval(f"lambda L, G: {self._text}", self._scope)
        return self._check(f_locals, f_globals)


class CheckFunctionManager:
    """Makes the check of a set of guards.

    guards: in the order in which they are to be checked.
    state: as it was when the frame was entered.
    name: of the function that is made.
    dims: what is asked of the sizes of tensors of which some are symbols, by name.

    check_fn: `check_fn(L, G)`, whether all hold.
    source: its Python source.
    parts: for each guard that checks something, what it is in words and a check of its own.
    weak: objects that are known by their identity, each with the name of its guard: with any of
        them, the entry must die.
    lifelines: weak references to these, each with the name.
    """

    def __init__(
        self,
        guards: Iterable[Guard],
        state: GlobalState,
        name: str,
        dims: Mapping[str, Dims],
    ) -> None:
        from stepper.engines.native.guard_builder import GuardBuilder

        builder = GuardBuilder(state, dims)
        order = in_order(guards)
        conditions = self._write(builder, order.first)
        if order.rest:
            conditions += _tensors_checked(builder, "___check_argument_tensors")
            conditions += self._write(builder, order.rest)
        # All together once more: no two of them may be the same.
        conditions += _tensors_checked(builder, "___check_tensors")
        conditions += builder.shapes
        self.weak: list[tuple[Any, str]] = builder.weak
        self.lifelines: list[tuple[weakref.ref[Any], str]] = []
        for value, guarded in builder.weak:
            with contextlib.suppress(TypeError):  # then there is going to be no entry
                self.lifelines.append((weakref.ref(value), guarded))
        self.parts: list[tuple[GuardPart, Check]] = []
        conditions = list(dict.fromkeys(conditions)) or ["True"]
        self.source = _function(name, conditions)
        self._scope = builder.scope
        self.check_fn: Check = check_of(["___guarded_code.valid", *conditions], self._scope)
        self._write_parts([*order.first, *order.rest], builder)

    @staticmethod
    def _write(builder: GuardBuilder, guards: list[Guard]) -> list[str]:
        """Write the conditions of guards, but for those that are checked last."""
        written = len(builder.code)
        for guard in guards:
            if guard.origin is not None:
                builder.scope.update(guard.origin.scope())
            del guard.code_list[:]
            builder.guard = guard
            guard.create(builder)
        later = set(builder.shapes)
        return [text for _, text in builder.code[written:] if text not in later]

    def _write_parts(self, guards: list[Guard], builder: GuardBuilder) -> None:
        written: dict[str, Check] = {}
        conditions: dict[int, list[str]] = {}
        for each, condition in builder.code:
            conditions.setdefault(id(each), []).append(condition)
        examples = {id(each): tensor for each, tensor in builder.examples}
        for guard in guards:
            own = conditions.get(id(guard), [])
            example = examples.get(id(guard))
            if example is not None:
                alone = _tensor_guards([example], [builder.dims.get(guard.name)])
                key = f"___check_tensor_{len(written)}"
                self._scope[key] = alone.check
                shown = f"___check_tensors({guard.name})"
                guard.code_list.append(shown)
                own.append(f"{key}({guard.name})")
                shown_code = (*own[:-1], shown)
            else:
                shown_code = tuple(own)
            if not own:
                continue
            text = " and ".join(f"({condition})" for condition in own)
            if text not in written:
                written[text] = PartCheck(text, self._scope)
            dims = builder.dims.get(guard.name)
            part = GuardPart(
                guard.kind,
                guard.name,
                guard.source.value,
                shown_code,
                expected=_expected(guard, example, dims),
                tensor=None if example is None else _wanted_tensor(example, dims),
                tensor_class="" if example is None else type(example).__name__,
                reachable=guard.origin is not None and guard.kind != "EXPRESSION",
            )
            self.parts.append((part, written[text]))

    def reach(self, name: str, f_locals: dict[str, Any], f_globals: dict[str, Any]) -> Any:
        """The value that guards of this name look at; raises what reaching it raises."""
        return eval(name, self._scope, {"L": f_locals, "G": f_globals})

    def bind(self, entry: Any) -> None:
        """Tell the check whose it is, for `___guarded_code.valid`."""
        self._scope["___guarded_code"] = weakref.proxy(entry)


class CopiedGuards(CheckFunctionManager):
    """The check of a copy: some guards of another check, and conditions besides."""

    def __init__(
        self, of: CheckFunctionManager, kept: Iterable[int], added: Iterable[str], name: str
    ) -> None:
        """
        Args:
            of: the other check.
            kept: which of its parts are checked here, too.
            added: expressions over `L` and `G` that must be true besides.
            name: of the function that is made.
        """
        self._scope = dict(of._scope)
        self.parts = [of.parts[index] for index in kept]
        for text in added:
            part = GuardPart(ADDED, "", "", (text,), expected="True")
            self.parts.append((part, PartCheck(f"({text})", self._scope)))
        self.weak = []
        self.lifelines = [
            (reference, guarded)
            for reference, guarded in of.lifelines
            if any(
                f"_id({guarded}, {id(reference())})" in code
                for part, _ in self.parts
                for code in part.code
            )
        ]
        texts = [str(check) for _, check in self.parts] or ["True"]
        self.source = _function(name, texts)
        self.check_fn = check_of(["___guarded_code.valid", *texts], self._scope)


def _function(name: str, conditions: list[str]) -> str:
    return (
        f"def {name}(L, G):\n"
        "    try:\n"
        "        return (\n"
        "            (___guarded_code.valid)\n"
        + "".join(f"            and ({condition})\n" for condition in conditions)
        + "        )\n"
        "    except Exception:\n"
        "        return False\n"
    )


def _expected(guard: Guard, example: torch.Tensor | None, dims: Dims | None) -> str:
    if example is not None:
        text = object_text(example)
        sizes = ", ".join(map(str, example.shape))
        return text.replace(f"[{sizes}]", f"[{dims}]") if dims is not None else text
    match guard.kind:
        case "TYPE_MATCH":
            return class_name(type(guard.value))
        case "LIST_LENGTH":
            return f"length {len(guard.value)}"
        case "DICT_KEYS":
            return object_text(list(guard.value))
        case "HASATTR" | "NO_ALIASING" | "DUPLICATE_INPUT":
            return ""
    return object_text(guard.value) if guard.origin is not None else ""


def _wanted_tensor(example: torch.Tensor, dims: Dims | None) -> TensorMeta | None:
    meta = fake_tensor_meta(example)
    if meta is None or dims is None:
        return meta
    shape, stride = (
        tuple("?" if each is None else str(each) for each in sizes)
        for sizes in (dims.sizes, dims.strides)
    )
    return msgspec.structs.replace(meta, shape=shape, stride=stride)


def is_immortal(value: object) -> bool:
    """Whether an object may be held for as long as the program runs: nothing hangs on it."""
    kind = type(value)
    return kind in (
        types.BuiltinFunctionType,
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
    ) or (kind is type and not value.__flags__ & (1 << 9))  # type: ignore[attr-defined]
