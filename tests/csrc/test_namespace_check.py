"""The check that names mean what they meant, and functions are what they were."""

from __future__ import annotations

from types import FunctionType
from typing import Any, cast

import pytest

from stepper import _C


def test_names_are_looked_up_again_when_something_was_put_into_a_namespace() -> None:
    one, other = object(), object()
    names: dict[str, Any] = {"a": one}
    check = _C.NamespaceCheck([(names, {"a": one, "b": _C.NamespaceCheck})], [])
    assert check()
    names["c"] = other
    assert check()
    names["a"] = other
    assert not check()
    names["a"] = one
    assert check()
    names["b"] = other
    assert not check()
    del names["b"]
    assert check()
    names.clear()
    assert not check()


def test_what_is_equal_is_not_the_same() -> None:
    names: dict[str, Any] = {"a": 1}
    check = _C.NamespaceCheck([(names, {"a": 1})], [])
    assert check()
    for value in (True, 1.0):
        names["a"] = value
        assert not check()


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("__code__", (lambda a, b=1, *, c=2: a).__code__),
        ("__defaults__", (1, 2)),
        ("__defaults__", None),
        ("__kwdefaults__", {"c": 2}),
        ("__kwdefaults__", None),
    ],
)
def test_parts_of_functions_are_known_by_their_identity(part: str, value: Any) -> None:
    def function(a: Any, b: Any = 1, *, c: Any = 2) -> Any:
        return a, b, c

    check = _C.NamespaceCheck([], [cast(FunctionType, function)])
    before = getattr(function, part)
    assert check()
    setattr(function, part, value)
    assert not check()
    setattr(function, part, before)
    assert check()


def test_what_it_cannot_know_is_refused() -> None:
    broken: Any
    for broken in ([3], [({}, 3)], [({},)]):
        with pytest.raises(TypeError):
            _C.NamespaceCheck(broken, [])
    with pytest.raises(TypeError, match="functions of Python only"):
        _C.NamespaceCheck([], [len])  # type: ignore[list-item]  # refused
    with pytest.raises(TypeError, match="takes no arguments"):
        _C.NamespaceCheck([], [])(3)  # type: ignore[call-arg]  # refused
