"""The check that guards become: `check_fn`.

`CheckFunctionManager` turns guards into Python source, one condition per line and in the order in
which the guards came, so that a type is checked before an attribute of it is read; tensors are
checked last and together. (In a long check arguments come first: see `guard_order`.) The same
conditions, one function each, go into the cache entry: from these the cache says which guard
failed, and why.

A guard that raises has failed; that is no error, since a value of another type may have no such
attribute. So the check catches what its conditions raise.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from stepper.native.guards.guard import ADDED, Constant, Dims, ExpectedTensor, Guard, GuardPart
from stepper.native.guards.guard_builder import GuardBuilder, member_text
from stepper.native.guards.guard_order import in_order
from stepper.native.guards.guard_program import Check, check_of
from stepper.native.guards.scope import GlobalState
from stepper.native.versions import TensorGuards, without_overrides
from stepper.support.words import class_name, in_words


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

    def __init__(self, text: str, scope: dict[str, object]) -> None:
        self._text = text
        self._scope = scope
        self._check: Check | None = None

    def __str__(self) -> str:
        return self._text

    def __call__(self, f_locals: dict[str, object], f_globals: dict[str, object]) -> object:
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
        builder = GuardBuilder(state, dims)
        order = in_order(guards)
        conditions = self._write(builder, order.first)
        if order.rest:
            conditions += _tensors_checked(builder, "___check_argument_tensors")
            conditions += self._write(builder, order.rest)
        # All together once more: no two of them may be the same.
        conditions += _tensors_checked(builder, "___check_tensors")
        conditions += builder.shapes
        self.weak: list[tuple[object, str]] = builder.weak
        self.lifelines: list[tuple[weakref.ref[object], str]] = []
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
                expected=_expected(guard) if example is None else _of_tensor(example, dims),
                reachable=guard.origin is not None and guard.kind != "EXPRESSION",
            )
            self.parts.append((part, written[text]))

    def reach(self, name: str, f_locals: dict[str, object], f_globals: dict[str, object]) -> Any:
        """The value that guards of this name look at; raises what reaching it raises."""
        return eval(name, self._scope, {"L": f_locals, "G": f_globals})

    def bind(self, entry: object) -> None:
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


def _expected(guard: Guard) -> str | Constant:
    match guard.kind:
        case "TYPE_MATCH" | "NN_MODULE":
            return class_name(type(guard.value))
        case "LIST_LENGTH":
            return Constant(len(guard.value))
        case "DICT_KEYS":
            return Constant(list(guard.value))
        case "CONSTANT_MATCH" | "EQUALS_MATCH" if guard.origin is not None:
            return Constant(guard.value)
        case "CONSTANT_SUBCLASS_MATCH":
            return member_text(guard.value)
        case "CLASS_ATTRIBUTES":
            return f"{guard.name}, as they were"
        case "ORIGINAL_FUNCTION":
            return f"{guard.name}, as it was"
        case "HASATTR" | "NO_ALIASING" | "DUPLICATE_INPUT":
            return ""
    return in_words(guard.value) if guard.origin is not None else ""


def _of_tensor(example: torch.Tensor, dims: Dims | None) -> ExpectedTensor:
    with without_overrides():
        return ExpectedTensor(
            type(example).__name__,
            example.dtype,
            tuple(example.shape) if dims is None else dims.sizes,
            example.stride() if dims is None else dims.strides,
            example.device,
            example.requires_grad,
            example.layout,
            not (example.is_inference() or torch.is_inference_mode_enabled()),
        )
