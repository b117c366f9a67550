"""Arguments for a cached code: the locals that guards see, copies of them, and a comparison of what
came out.

Guards look at the locals of a frame that has not begun: parameters, and the variables of the
enclosing functions. Binding is done here, by the code's own numbers and names: `inspect.signature`
would believe what a function says of itself.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import random
import types
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import torch

from stepper.debuggee.evaluator import describe_exception
from stepper.engines.common.attributes import functions_with_names
from stepper.engines.common.words import object_text
from stepper.model.cache import CacheError, Comparison
from stepper.support.words import one_of

_VARARGS, _VARKEYWORDS = 0x04, 0x08
_TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}
"""Backends may compute in another order than eager."""


def parameters(code: CodeType) -> tuple[str, ...]:
    """The names of a code's parameters, in the order of its slots."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKEYWORDS)
    return code.co_varnames[:count]


def bind(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The locals of a call's frame.

    Raises:
        CacheError: the arguments do not fit the function.
    """
    code = function.__code__
    names = parameters(code)
    positional = names[: code.co_argcount]
    only = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    bound = dict(zip(positional, args, strict=False))
    extra = dict(kwargs)
    for name in (*positional[code.co_posonlyargcount :], *only):
        if name in extra:
            if name in bound:
                raise CacheError(f"{code.co_name}() got {name} twice")
            bound[name] = extra.pop(name)
    defaults = function.__defaults__ or ()
    for name, value in zip(positional[len(positional) - len(defaults) :], defaults, strict=True):
        bound.setdefault(name, value)
    for name, value in (function.__kwdefaults__ or {}).items():
        bound.setdefault(name, value)
    missing = [name for name in (*positional, *only) if name not in bound]
    if missing:
        takes = ", ".join((*positional, *only))
        raise CacheError(f"{code.co_name}({takes}) misses {', '.join(missing)}")
    at = len(positional) + len(only)
    if code.co_flags & _VARARGS:
        bound[names[at]] = args[len(positional) :]
        at += 1
    elif len(args) > len(positional):
        raise CacheError(f"{code.co_name}() takes {len(positional)} positional arguments")
    if code.co_flags & _VARKEYWORDS:
        bound[names[at]] = extra
    elif extra:
        raise CacheError(f"{code.co_name}() takes no argument {', '.join(extra)}")
    bound = {name: bound[name] for name in names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # empty
            bound[name] = cell.cell_contents
    return bound


def bound(code: CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The locals of a call of a code; `f_locals=` alone gives them as they are.

    Raises:
        CacheError: the arguments do not fit, or there is no function to take defaults and
            enclosing variables from.
    """
    if args or set(kwargs) != {"f_locals"}:
        return bind(function_of(code), args, kwargs)
    given = kwargs["f_locals"]
    if type(given) is not dict:
        raise CacheError("f_locals is to be a dict of the call's variables by name")
    missing = [name for name in parameters(code) if name not in given]
    if missing:
        raise CacheError(f"f_locals lacks {', '.join(missing)}")
    return given


def functions_of(code: CodeType) -> list[FunctionType]:
    """The functions that there are of a code; where the program has called `gc.freeze()`, of those
    that were there before only such as a module or a class has."""
    found = [
        each
        for each in gc.get_referrers(code)
        if type(each) is FunctionType and each.__code__ is code
    ]
    return found or (functions_with_names(code) if gc.get_freeze_count() else [])


def no_function_left(code: CodeType) -> CacheError:
    """To be raised where a code's function is not found."""
    if not gc.get_freeze_count():
        return CacheError(f"no function {code.co_qualname} is left to call")
    return CacheError(
        f"no function {code.co_qualname} is found: the program has called gc.freeze(), and what "
        "was there before can be looked through after gc.unfreeze() only"
    )


def function_of(code: CodeType) -> FunctionType:
    """The function of a code.

    Raises:
        CacheError: there is none any more, or there are several with closures of their own.
    """
    found = functions_of(code)
    if not found:
        raise no_function_left(code)
    if len({tuple(map(id, each.__closure__ or ())) for each in found}) > 1:
        raise CacheError(
            f"there are {len(found)} functions {code.co_qualname}, each with variables of its own: "
            "give f_locals=…, with these variables in it"
        )
    return found[0]


def call(
    code: CodeType, f_globals: dict[str, Any], f_locals: dict[str, Any], original: CodeType
) -> Any:
    """Run a code, transformed or not, with these locals of the original's frame."""
    closure = tuple(
        types.CellType(f_locals[name]) if name in f_locals else types.CellType()
        for name in code.co_freevars
    )
    function = FunctionType(code, f_globals, code.co_name, None, closure)
    args, kwargs = _arguments(original, f_locals)
    result = function(*args, **kwargs)
    return _awaited(result) if type(result) is types.CoroutineType else result


def _awaited(coroutine: types.CoroutineType[Any, Any, Any]) -> Any:
    """What a coroutine returns that waits for nobody.

    Raises:
        CacheError: it waits for something.
    """
    try:
        while (waits_for := coroutine.send(None)) is None:
            pass  # it only lets others have their turn
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise CacheError(
        f"it waits for {object_text(waits_for)}, and the program's event loop does not run now"
    )


def _arguments(code: CodeType, f_locals: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    names = parameters(code)
    args = [f_locals[name] for name in names[: code.co_argcount]]
    at = code.co_argcount + code.co_kwonlyargcount
    kwargs = {name: f_locals[name] for name in names[code.co_argcount : at]}
    if code.co_flags & _VARARGS:
        args += f_locals[names[at]]
        at += 1
    if code.co_flags & _VARKEYWORDS:
        kwargs |= f_locals[names[at]]
    return args, kwargs


# -- comparing ---------------------------------------------------------------------------------


def compare(
    run: Callable[[dict[str, Any]], Any],
    eager: Callable[[dict[str, Any]], Any],
    f_locals: dict[str, Any],
) -> tuple[Comparison, Any, BaseException | None]:
    """Run both on copies of the locals, with the same random numbers. Returns what the first gave
    besides."""
    (first, shared), (second, _) = copies(f_locals), copies(f_locals)
    with same_random_numbers():
        result, error = _attempt(run, first)
    with same_random_numbers():
        expected, failure = _attempt(eager, second)
    found: list[str] = []
    if (error is None) != (failure is None) or type(error) is not type(failure):
        found.append("only one of them raised" if error is None or failure is None else "errors")
    elif error is None:
        found += differences(result, expected, "result")
    for name in f_locals:
        found += differences(first[name], second[name], f"{name} afterwards")
    comparison = Comparison(
        same=not found,
        entry=_outcome_text(result, error),
        eager=_outcome_text(expected, failure),
        differences=tuple(found[:20]),
        shared=shared,
    )
    return comparison, result, error


class Copies(NamedTuple):
    """A call's locals, copied."""

    f_locals: dict[str, Any]
    shared: tuple[str, ...]
    """Names of those in which there is something that cannot be copied: it is the program's own."""

    @property
    def beware(self) -> str:
        """What that means for whoever runs with them; empty: nothing."""
        names = ", ".join(self.shared)
        return f"beware: {names} could not be copied, and is used" if names else ""


def copies(f_locals: dict[str, Any]) -> Copies:
    """Copies of the locals, aliases kept: of tensors, containers, and objects as `copy.deepcopy`
    makes them."""
    memo: dict[int, Any] = {}
    made: dict[str, Any] = {}
    shared = []
    for name, value in f_locals.items():
        failures: list[object] = []
        made[name] = _copy(value, memo, failures)
        if failures:
            shared.append(name)
    return Copies(made, tuple(shared))


def _copy(value: Any, memo: dict[int, Any], failures: list[object]) -> Any:
    known = memo.get(id(value))
    if known is not None:
        return known
    kind = type(value)
    made: Any = value
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        made = value.detach().clone()
        made = kind(made, value.requires_grad) if kind is torch.nn.Parameter else made
        if kind is torch.Tensor and value.requires_grad:
            made.requires_grad_()
            made = made if value.is_leaf else made * 1
        for name, fact in value.__dict__.items():  # such as dimensions that are marked dynamic
            made.__dict__.setdefault(name, fact)
    elif kind is list:
        made = memo[id(value)] = []
        made += [_copy(item, memo, failures) for item in value]
    elif kind is dict:
        made = memo[id(value)] = {}
        made.update((key, _copy(item, memo, failures)) for key, item in value.items())
    elif kind is tuple:
        made = tuple(_copy(item, memo, failures) for item in value)
    elif one_of(kind, (set, bytearray)):
        made = copy.copy(value)
    elif kind is not object:  # those are there to be themselves
        before = dict(memo)
        try:
            made = copy.deepcopy(value, memo)
        except Exception as error:  # of the object's own making
            made = value
            memo.clear()
            memo.update(before)
            failures.append(error)
    memo[id(value)] = made
    return made


def differences(first: Any, second: Any, where: str) -> list[str]:
    """What differs between two results, without asking objects of the program."""
    if first is second:
        return []
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return _tensor_differences(first, second, where)
    kind = type(first)
    if kind is not type(second):
        return [f"{where}: {object_text(first)} ≠ {object_text(second)}"]
    if one_of(kind, (list, tuple)):
        if len(first) != len(second):
            return [f"{where}: {len(first)} items ≠ {len(second)}"]
        pairs = [
            (f"{where}[{i}]", a, b) for i, (a, b) in enumerate(zip(first, second, strict=True))
        ]
        return [found for label, a, b in pairs for found in differences(a, b, label)]
    if kind is dict:
        if list(first) != list(second):
            return [f"{where}: other keys"]
        return [
            found
            for key in first
            for found in differences(first[key], second[key], f"{where}[{key!r}]")
        ]
    if one_of(kind, (int, float, complex, str, bytes, bool)) and first != second:
        both_nan = kind is float and first != first and second != second
        return [] if both_nan else [f"{where}: {object_text(first)} ≠ {object_text(second)}"]
    return []  # objects: not ours to compare


def _tensor_differences(first: torch.Tensor, second: torch.Tensor, where: str) -> list[str]:
    if (first.dtype, first.shape, first.device) != (second.dtype, second.shape, second.device):
        return [f"{where}: {object_text(first)} ≠ {object_text(second)}"]
    if first.requires_grad != second.requires_grad:
        return [f"{where}: requires_grad {first.requires_grad} ≠ {second.requires_grad}"]
    with torch.no_grad():
        if torch.allclose(first, second, equal_nan=True, **_TOLERANCE):
            return []
        worst = float((first.to(torch.float64) - second.to(torch.float64)).abs().max())
    return [f"{where}: values differ by up to {worst:.3g}"]


def _attempt(
    run: Callable[[dict[str, Any]], Any], f_locals: dict[str, Any]
) -> tuple[Any, BaseException | None]:
    try:
        return run(f_locals), None
    except Exception as error:
        return None, error


def _outcome_text(result: Any, error: BaseException | None) -> str:
    return object_text(result) if error is None else f"raised {describe_exception(error)}"


@contextlib.contextmanager
def same_random_numbers() -> Iterator[None]:
    """The generators of random numbers are afterwards as they were before."""
    state = random.getstate()
    try:
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(state)
