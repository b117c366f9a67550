"""Asking guards again for the record, without running anybody's code.

A lookup has run its guards already, in C. To show it, each value is looked at once more and each
leaf asked once more, and that must change nothing: a property of the user's would run twice, a
guard that compares several values keeps state from call to call, and a guard that is checked as
Dynamo checks it counts its failures and moves ahead in the order.

So a value is reached by reading its source expression here, step by step, as `L['self'].x[0]` says:
dictionaries, sequences and slots by what their builtin types do, attributes without properties and
`__getattr__` (nn.Module's own is known). And a leaf is asked alone where it reads C data only. All
else is `UNKNOWN`, which is no loss in most lookups: what failed is then known by elimination, and
in a lookup that hit all guards have passed.
"""

from __future__ import annotations

import ast
import collections
import functools
import operator
import os
import types
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple

import msgspec
import torch

from stepper.engines.common.shape_conditions import IN_CPP, same_object_as, values_in
from stepper.engines.common.versions import without_torch_function
from stepper.engines.dynamo import guard_tree
from stepper.engines.dynamo.guard_times import ask_leaf, tree_time
from stepper.engines.dynamo.guard_tree import Check, dict_passes
from stepper.model.cache import GuardRow, Verdict
from stepper.model.lookup import NO_BASE, SMALLER_BASE, Difference
from stepper.support.guarded_values import compared_with_constant, membership_of
from stepper.support.words import classes_of, is_plain, one_of, plain_text

MAX_KEYS = 1000
"""A dictionary with more keys is not searched for a key whose comparison could run code."""

_class_dict: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__
_is_subclass = type.__subclasscheck__

_C_DESCRIPTORS = (
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    type(collections.namedtuple("_Fields", "field").field),  # type: ignore[attr-defined]  # a class
)
_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
_NUMBERS = frozenset({int, float, bool})
_OF_TENSORS: dict[str, Callable[[Any], Any]] = {
    "size": torch.Tensor.size,
    "stride": torch.Tensor.stride,
    "storage_offset": torch.Tensor.storage_offset,
    "item": torch.Tensor.item,
}
"""What conditions on sizes ask of tensors."""
_PLAIN_GETTERS = frozenset(
    kind.__dict__["__getattribute__"]
    for kind in (
        object, types.SimpleNamespace, functools.partial, BaseException, dict, list, tuple, set,
        frozenset, str, bytes, int, float, complex, collections.OrderedDict,
        collections.defaultdict, collections.deque, types.FunctionType, types.BuiltinFunctionType,
        types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
        types.CodeType, range, slice,
    )
    if "__getattribute__" in kind.__dict__
)  # fmt: skip
"""What gets an attribute as `object` does: builtin types have a wrapper of their own around it."""
_MODULE_PARTS = ("_parameters", "_buffers", "_modules")

_READS_C_DATA = frozenset(
    {
        "TYPE_MATCH", "ID_MATCH", "NONE_MATCH", "NOT_NONE", "TRUE_MATCH", "FALSE_MATCH",
        "GLOBAL_STATE", "TORCH_FUNCTION_MODE_STACK", "DEFAULT_DEVICE", "DUAL_LEVEL_MATCH",
        "DICT_VERSION", "DICT_LENGTH", "FLOAT_IS_NAN", "COMPLEX_IS_NAN", "TUPLE_ITERATOR_LEN",
        "RANGE_ITERATOR_MATCH", "FAKE_SCRIPT_TYPE_MATCH",
    }
)  # fmt: skip
"""Leaves that look at nothing that could be the program's code."""
_ABOUT_CONTAINERS = frozenset({"LENGTH_CHECK", "DICT_CONTAINS", "SET_CONTAINS"})
_ABOUT_TENSORS = frozenset(
    {
        "TENSOR_MATCH", "DISPATCH_KEY_SET_MATCH", "DYNAMIC_INDICES",
        "DIMENSION_DYNAMIC_MARKING_GUARD",
    }
)  # fmt: skip
_CONTAINERS = frozenset(
    {list, tuple, dict, set, frozenset, collections.OrderedDict, collections.defaultdict,
     collections.deque, str, bytes, range}
)  # fmt: skip


_NOT_AGAIN = "asking it again could run code of the program"
OF_A_DICT = "the compiler does not tell of which dictionary it is, or how many keys it wants"
OF_THE_COMPILER = "a function of the compiler decides it"
OF_SEVERAL = "it compares several values"


class WouldRunUserCode(Exception):
    """Going on could run code of the program."""


class MissingValue(Exception):
    """Raised where a value is missing, so that the guard fails; the message says which."""


class Answer(NamedTuple):
    """What came of asking a guard again."""

    verdict: Verdict
    value: object = None
    reached: bool = False
    """Whether `value` is the value that it looks at."""
    why: str = ""
    """Why it could not be asked, or reached."""
    nanoseconds: int | None = None
    saw: dict[str, Any] | None = None
    """What a condition on sizes compares, by expression."""
    differences: tuple[Difference, ...] = ()
    """In what one of these is not as it wants it, so that it cannot be read."""


class SafeReader:
    """The values of one call, and what guards say of them. Holds them; to be dropped after use."""

    def __init__(
        self, f_locals: dict[str, Any], f_globals: dict[str, Any], *, timed: bool = True
    ) -> None:
        """`timed`: measure how long guards take."""
        self.timed = timed
        self._roots: dict[str, Any] = {"L": f_locals, "G": f_globals}
        self._locals = f_locals
        self._reached: dict[str, Any] = dict(self._roots)

    def time_of(self, root: Any) -> int | None:
        """Nanoseconds of all guards of an entry that matches; None: they do not pass."""
        return tree_time(root, self._locals)

    def reach(self, source: str) -> Any:
        """The value of a guard's source expression.

        Raises:
            MissingValue: there is none.
            WouldRunUserCode: only the program's own code could tell.
        """
        found = self._reached.get(source, _NONE)
        if found is _NONE:
            with without_torch_function():
                return self._reach(source)
        return found

    def _reach(self, source: str) -> Any:
        found = self._reached.get(source, _NONE)
        if found is _NONE:
            step = _step(source)
            argument = self._reach(step.key) if step.key else step.argument
            found = self._reached[source] = step.read(self._reach(step.inner), argument)
        return found

    def ask(self, check: Check, scope: dict[str, Any]) -> Answer:
        """Ask one guard. `scope`: the names that its words can speak of besides L and G."""
        row = check.row
        if check.condition:
            return self._ask_condition(row, scope)
        value: Any = self._locals
        reached = False
        if row.source:
            try:
                value, reached = self.reach(row.source), True
            except MissingValue as error:
                return Answer(Verdict.FAIL, why=str(error))
            except WouldRunUserCode as error:
                return Answer(Verdict.UNKNOWN, why=str(error))
        try:
            if row.relational or row.kind in ("LAMBDA_GUARD", "OBJECT_ALIASING"):
                return self._ask_words(check, scope, value, reached)
            if check.leaf is None:
                passes = dict_passes(check, value)
                if passes is None:
                    return Answer(Verdict.UNKNOWN, value, reached, OF_A_DICT)
                return Answer(_verdict(passes), value, reached)
            if not _harmless(row.kind, row.code, value):
                return Answer(Verdict.UNKNOWN, value, reached, _NOT_AGAIN)
            if row.depth == 0:
                return self._call(check.leaf, value, reached)
            with without_torch_function():  # as Dynamo does below the root
                return self._call(check.leaf, value, reached)
        except Exception as error:  # torch's own, in a leaf: Dynamo would take it for a miss
            return Answer(
                Verdict.UNKNOWN, value, reached, f"asking it again: {type(error).__name__}"
            )

    def look(self, check: Check) -> Answer:
        """What `ask` would find at a guard that has passed, without asking it."""
        row = check.row
        if check.condition:
            return self._look_at_condition(row)
        if not row.source:
            return Answer(Verdict.PASS)
        try:
            value = self.reach(row.source)
        except (MissingValue, WouldRunUserCode) as error:
            return Answer(Verdict.UNKNOWN, why=str(error))
        several = row.relational or row.kind == "OBJECT_ALIASING"
        askable = several or check.wanted_dict or _harmless(row.kind, row.code, value)
        return Answer(Verdict.PASS, value, True, "" if askable else _NOT_AGAIN)

    def _call(self, leaf: Any, value: Any, reached: bool) -> Answer:
        if not self.timed:
            return Answer(_verdict(bool(leaf(value))), value, reached)
        passed, spent = ask_leaf(leaf, value)
        return Answer(_verdict(passed), value, reached, "", spent)

    def _ask_condition(self, row: GuardRow, scope: dict[str, Any]) -> Answer:
        """One condition of a shape guard. Its values are read first: to compare what is no plain
        number could run code of the program, and a guard before it has failed then."""
        [condition] = row.code
        looked = self._look_at_condition(row)
        saw = looked.saw
        if saw is None:
            return looked
        try:
            code, names = _compiled(condition), {**scope, **self._roots}
            with without_torch_function():
                began = perf_counter_ns()
                passed = bool(eval(code, names))
                spent = perf_counter_ns() - began
        except Exception as error:  # torch's own functions
            return Answer(Verdict.UNKNOWN, why=f"asking it again: {type(error).__name__}", saw=saw)
        # In C++ all conditions are one function: none has a time of its own.
        time = None if row.kind == IN_CPP or not self.timed else spent
        why = "" if passed else condition
        return Answer(_verdict(passed), None, False, why, time, saw)

    def _look_at_condition(self, row: GuardRow) -> Answer:
        """What a condition compares, or why that cannot be said."""
        saw: dict[str, Any] = {}
        for source in values_in(row.code[0]) or ():
            try:
                saw[source] = self.reach(source)
            except MissingValue as error:
                why, other_base = f"{source}: {error}", self._other_base(source)
                return Answer(Verdict.FAIL, why=why, differences=other_base)
            except WouldRunUserCode as error:
                return Answer(Verdict.UNKNOWN, why=str(error))
            if not one_of(type(saw[source]), _NUMBERS):
                return Answer(Verdict.UNKNOWN, why=f"{source} is no plain number")
        return Answer(Verdict.PASS, saw=saw)

    def _other_base(self, source: str) -> tuple[Difference, ...]:
        """In what the tensor that another one is a view of is not as it was when the entry was
        made, where a size of it cannot be read: no guard before asks for it, or for its rank."""
        sizes = _step(source)
        sizes = _step(sizes.inner) if sizes.read is element else sizes
        base = _step(sizes.inner)
        if sizes.read is not _of_tensor or (base.read, base.argument) != (attribute, "_base"):
            return ()
        try:
            missing = self.reach(sizes.inner) is None
        except (MissingValue, WouldRunUserCode):
            return ()
        difference = NO_BASE if missing else SMALLER_BASE
        return (msgspec.structs.replace(difference, source=base.inner),)

    def _ask_words(self, check: Check, scope: dict[str, Any], value: Any, reached: bool) -> Answer:
        """A guard over several values, or a function of Dynamo's."""
        row = check.row
        if row.kind == "NO_TENSOR_ALIASING":
            seen: dict[int, str] = {}
            for source in _aliasing_sources(row.code):
                try:
                    found = self.reach(source)
                except (MissingValue, WouldRunUserCode):
                    continue
                if (other := seen.setdefault(id(found), source)) is not source:
                    why = guard_tree.same_object_text(source, other, found)
                    return Answer(Verdict.FAIL, value, reached, why)
            return Answer(Verdict.PASS, value, reached)
        if row.kind == "LAMBDA_GUARD" and row.depth == 0:
            return self._call(check.leaf, value, reached)  # hooks and the like: torch's own state
        if (pairs := _same_objects(row.code)) is not None:
            try:
                differ = [part for part, *two in pairs if len({id(self.reach(s)) for s in two}) > 1]
            except (MissingValue, WouldRunUserCode) as error:
                return Answer(Verdict.UNKNOWN, value, reached, str(error))
            return Answer(_verdict(not differ), value, reached, "; ".join(differ))
        if row.kind == "OBJECT_ALIASING":
            return Answer(Verdict.UNKNOWN, value, reached, OF_SEVERAL)
        # Memory, in words that Dynamo itself evaluates to say why it compiles again.
        if row.source or any(values_in(part) is None for part in row.code):
            return Answer(Verdict.UNKNOWN, value, reached, OF_THE_COMPILER)
        names = {**scope, **self._roots}
        failing = []
        with without_torch_function():
            for part in row.code:
                began = perf_counter_ns()
                if not eval(_compiled(part), names):
                    failing.append(part)
                    break
        spent = perf_counter_ns() - began if row.code and self.timed else None
        return Answer(_verdict(not failing), None, False, "; ".join(failing), spent)


def _same_objects(code: Sequence[str]) -> list[tuple[str, str, str]] | None:
    """The pairs of expressions of which a guard's words say that they are one object, behind the
    words for each pair; None: they say something else."""
    sides = [(part, *part.split(" is ")) for part in code]
    found = [each for each in sides if len(each) == 3 and all(_is_source(s) for s in each[1:])]
    return found if code and len(found) == len(code) else None


def _is_source(text: str) -> bool:
    return text.startswith(("L[", "G[", "type(", "dict(", "dict.", "list("))


class _Step(NamedTuple):
    """The last step of a source expression: how to get from what is before it to the value."""

    inner: str
    """The expression of what is before it."""
    read: Callable[[Any, Any], Any]
    argument: Any = None
    key: str = ""
    """The expression of the argument, where that is a value of the call, too."""


@functools.lru_cache(maxsize=4_000)
def _step(source: str) -> _Step:
    """An expression taken apart, once: the same ones are read at each lookup."""
    try:
        node: ast.expr = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):  # some sources are words for people
        node = ast.Constant(None)
    match node:
        case ast.Attribute(value=inner, attr=name):
            return _Step(ast.unparse(inner), attribute, name)
        case ast.Subscript(value=inner, slice=index):
            return _at(inner, index, element)
        case ast.Call(func=ast.Name(id="type"), args=[inner], keywords=[]):
            return _Step(ast.unparse(inner), _type_of)
        case ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[]):
            return _Step(ast.unparse(inner), _listed)
        case ast.Call(func=ast.Name(id="dict"), args=[ast.Attribute(attr="__dict__") as inner]):
            return _Step(ast.unparse(inner), _of_class)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="dict"), attr="keys"), args=[inner]):
            return _Step(ast.unparse(inner), _keys)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="dict" | "list" as base), attr="__getitem__"),
            args=[inner, index],
        ):
            return _at(inner, index, _dict_item if base == "dict" else _list_item)
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=[], keywords=[]) if (
            method in _OF_TENSORS
        ):
            return _Step(ast.unparse(inner), _of_tensor, _OF_TENSORS[method])
    return _Step("L", _refuse)


def _at(inner: ast.expr, index: ast.expr, read: Callable[[Any, Any], Any]) -> _Step:
    """An element by a constant, or by another value of the call: a key by its place, say."""
    of = ast.unparse(inner)
    try:
        return _Step(of, read, ast.literal_eval(index))
    except (ValueError, TypeError, SyntaxError):
        key = ast.unparse(index)
        return _Step(of, read, key=key) if _is_source(key) else _Step(of, _refuse)


def _refuse(value: Any, argument: Any) -> Any:
    raise WouldRunUserCode("reading it could run code of the program")


def _type_of(value: Any, argument: Any) -> Any:
    return type(value)


def _of_class(value: Any, argument: Any) -> Any:
    return value if type(value) is types.MappingProxyType else _refuse(value, argument)


def _listed(value: Any, argument: Any) -> Any:
    return list(value) if one_of(type(value), _CONTAINERS) else _refuse(value, argument)


def _of_tensor(value: Any, method: Callable[[Any], Any]) -> Any:
    if value is None:
        raise MissingValue("None has no sizes")
    return method(value) if one_of(type(value), _TENSORS) else _refuse(value, method)


def _keys(value: Any, argument: Any) -> Any:
    return list(dict.keys(value)) if _iterates_as_dict(value) else _refuse(value, argument)


def _dict_item(value: Any, key: Any) -> Any:
    return _stored(dict, value, key) if _iterates_as_dict(value) else _refuse(value, key)


def _list_item(value: Any, key: Any) -> Any:
    return _stored(list, value, key) if isinstance(value, list) else _refuse(value, key)


def _iterates_as_dict(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return _inherits(value, dict, "__iter__") or _ordered_as_dict(value)


def _ordered_as_dict(value: dict[Any, Any]) -> bool:
    """Whether it is an OrderedDict, as a module's hooks are, of which no key was moved."""
    ordered = collections.OrderedDict
    if type(value) is not ordered or not _plainly_keyed(value):
        return False
    return all(map(operator.is_, ordered.__iter__(value), dict.keys(value)))


def attribute(value: Any, name: str) -> Any:
    """An attribute, where getting it is a matter of C data.

    Raises:
        MissingValue: there is none.
        WouldRunUserCode: a property, a `__getattr__` or another descriptor would decide.
    """
    kind = type(value)
    if kind is types.ModuleType:
        names = object.__getattribute__(value, "__dict__")
        if name in names:
            return names[name]
        if "__getattr__" in names:
            raise WouldRunUserCode(f"module {plain_text(value)} decides for itself what .{name} is")
        raise MissingValue(f"{plain_text(value)} has no attribute {name!r}")
    if _is_subclass(type, kind):
        return _class_attribute(value, name)
    found = _in_classes(kind, name)
    if found is not _NONE and one_of(type(found), _C_DESCRIPTORS):
        try:
            return found.__get__(value, kind)
        except (AttributeError, IndexError):
            raise MissingValue(f"it has no attribute {name!r}") from None
    if _in_classes(kind, "__getattribute__") not in _PLAIN_GETTERS:
        raise WouldRunUserCode(f"{plain_text(kind)} decides for itself what its attributes are")
    if found is not _NONE and _in_classes(type(found), "__set__") is not _NONE:
        raise WouldRunUserCode(f".{name} is a {plain_text(type(found))}")
    own = _instance_dict(value, kind)
    if own is not None and name in own:
        return own[name]
    if found is not _NONE:
        if type(found) is types.FunctionType:
            return types.MethodType(found, value)
        if _in_classes(type(found), "__get__") is not _NONE:
            raise WouldRunUserCode(f".{name} is a {plain_text(type(found))}")
        return found
    getter = _in_classes(kind, "__getattr__")
    if getter is _NONE:
        raise MissingValue(f"{plain_text(kind)} has no attribute {name!r}")
    if getter is torch.nn.Module.__getattr__ and own is not None:
        for part in _MODULE_PARTS:
            names = own.get(part)
            if type(names) is dict and name in names:
                return names[name]
        raise MissingValue(f"{plain_text(kind)} has no attribute {name!r}")
    raise WouldRunUserCode(f"{plain_text(kind)} decides for itself what .{name} is")


def element(value: Any, key: Any) -> Any:
    """An element by index or key, where getting it is a matter of C data; raises as `attribute`."""
    kind = type(value)
    for base in (dict, list, tuple, types.MappingProxyType, collections.deque, torch.Size):
        if kind is base or (_is_subclass(base, kind) and _inherits(value, base, "__getitem__")):
            break
    else:
        raise WouldRunUserCode(f"{plain_text(kind)} decides for itself what its elements are")
    return _stored(base, value, key)


def _stored(base: Any, value: Any, key: Any) -> Any:
    """What a container of C data has at a place, whatever its own class says of that."""
    if base is dict and not _plainly_keyed(value):
        raise WouldRunUserCode("its keys are compared by code of the program")
    try:
        if base is dict and not dict.__contains__(value, key):
            raise KeyError  # `__missing__` would be asked
        return base.__getitem__(value, key)
    except (KeyError, IndexError, TypeError):
        what = "key" if base in (dict, types.MappingProxyType) else "element"
        raise MissingValue(f"it has no {what} {plain_text(key)}") from None


def words(value: object) -> str:
    """A value in words; a member of an enumeration by its name, also of one in C++, which its class
    has as an attribute; code by that of its function."""
    own = None
    kind = type(value)
    if isinstance(value, types.CodeType):
        place = f"{os.path.basename(value.co_filename)}:{value.co_firstlineno}"
        return f"{value.co_qualname} at {place}"
    if not is_plain(kind):
        try:
            own = _instance_dict(value, kind)
        except WouldRunUserCode:
            own = None
    name = own.get("_name_") if type(own) is dict else None
    if type(name) is str and own is not None and "_value_" in own:
        return f"{plain_text(kind)}.{name}"
    if own is None and not is_plain(kind):
        for name, found in [*_class_dict(kind).items()]:
            if found is value:
                return f"{plain_text(kind)}.{name}"
    return plain_text(value)


_NONE = object()


def _in_classes(kind: type, name: str) -> Any:
    for base in classes_of(kind):
        found = _class_dict(base).get(name, _NONE)
        if found is not _NONE:
            return found
    return _NONE


def _inherits(value: Any, base: type, name: str) -> bool:
    """Whether the value's class leaves a method as its builtin base has it."""
    return _in_classes(type(value), name) is _class_dict(base).get(name, _NONE)


def _instance_dict(value: Any, kind: type) -> dict[str, Any] | None:
    descriptor = _in_classes(kind, "__dict__")
    if descriptor is _NONE:
        return None
    if not one_of(type(descriptor), (types.GetSetDescriptorType, types.MemberDescriptorType)):
        raise WouldRunUserCode(f"{plain_text(kind)} decides for itself what its attributes are")
    found = descriptor.__get__(value, kind)
    return found if type(found) is dict else None


def _class_attribute(value: type, name: str) -> Any:
    if name in ("__mro__", "__dict__", "__name__", "__qualname__", "__bases__"):
        return type.__dict__[name].__get__(value)
    if _in_classes(type(value), name) is not _NONE and type(value) is not type:
        raise WouldRunUserCode(f".{name} may be its metaclass's")
    found = _in_classes(value, name)
    if found is _NONE:
        raise MissingValue(f"class {plain_text(value)} has no attribute {name!r}")
    if type(found) is staticmethod:
        return found.__func__
    if not one_of(type(found), (types.FunctionType, property)) and (
        _in_classes(type(found), "__get__") is not _NONE
    ):
        raise WouldRunUserCode(f".{name} is a {plain_text(type(found))}")
    return found


def _plainly_keyed(value: dict[Any, Any]) -> bool:
    return len(value) <= MAX_KEYS and all(
        type(key) is str or is_plain(type(key)) for key in dict.keys(value)
    )


@functools.lru_cache(maxsize=4_000)
def _compiled(expression: str) -> types.CodeType:
    return compile(expression, "<guard>", "eval")


def forget() -> None:
    """Nobody asks about guards any more: let go of what was read in their words."""
    for cached in (_step, _compiled, values_in, same_object_as, _aliasing_sources):
        cached.cache_clear()
    guard_tree.forget()


@functools.lru_cache(maxsize=1000)
def _aliasing_sources(code: tuple[str, ...]) -> tuple[str, ...]:
    """The expressions of `check_no_aliasing(a, b)`."""
    try:
        call = ast.parse(code[0], mode="eval").body if code else None
    except SyntaxError:
        return ()
    return tuple(map(ast.unparse, call.args)) if isinstance(call, ast.Call) else ()


def _verdict(passed: bool) -> Verdict:
    return Verdict.PASS if passed else Verdict.FAIL


def _harmless(kind: str, code: tuple[str, ...], value: object) -> bool:
    """Whether a leaf can be asked about a value without running code of the program."""
    if kind in _READS_C_DATA:
        return True
    if kind in _ABOUT_CONTAINERS:
        return one_of(type(value), _CONTAINERS) and (
            type(value) is not dict or _plainly_keyed(value)
        )
    if kind == "TENSOR_MATCH" and not _is_subclass(torch.Tensor, type(value)):
        return True  # their types are compared first, and they differ
    if kind in _ABOUT_TENSORS:
        return one_of(type(value), _TENSORS | _CONTAINERS) or is_plain(type(value))
    if kind == "NO_HASATTR":
        return all(_has_plainly(part, value) for part in code)
    if kind == "EQUALS_MATCH":
        return _plain_throughout(value) or _is_of_another_type(code, value)
    return False


def _is_of_another_type(code: tuple[str, ...], value: object) -> bool:
    """Whether a value is to equal a constant that is not of its type: types are compared first."""
    constants = all(compared_with_constant(part) is not None for part in code)
    return constants and not one_of(type(value), _CONTAINERS)


def _has_plainly(condition: str, value: object) -> bool:
    """Whether a value has the attribute that a condition asks for, or has it not, by C data."""
    asked = membership_of(condition)
    if asked is None or asked.name is None:
        return False
    try:
        attribute(value, asked.name)
    except MissingValue:
        return True
    except WouldRunUserCode:
        return False
    return True


def _plain_throughout(value: object, depth: int = 3) -> bool:
    kind = type(value)
    if is_plain(kind) or _is_subclass(type, kind) or kind is types.FunctionType:
        return True
    if one_of(kind, (tuple, list, frozenset, set)) and depth:
        return all(_plain_throughout(item, depth - 1) for item in value)  # type: ignore[attr-defined]  # its exact type was asked for
    return False
