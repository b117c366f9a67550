"""The leaf checks of guards: what they tell apart, and that they run no code of the program."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from stepper import _C


class Hooked:
    """What a check of a module looks at."""

    def __init__(self, **fields: Any) -> None:
        hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
        self.__dict__.update({name: {} for name in hooks}, training=False, **fields)

    def __getattribute__(self, name: str) -> Any:
        if name == "__dict__":
            return object.__getattribute__(self, name)
        raise AssertionError("code of the program ran")


def test_objects_and_classes_are_known_by_their_id() -> None:
    one, other = Hooked(), Hooked()
    assert _C.check_obj_id(one, id(one))
    assert not _C.check_obj_id(one, id(other))
    assert _C.check_type_id(one, id(Hooked))
    assert not _C.check_type_id(True, id(int))
    with pytest.raises(TypeError):
        _C.check_obj_id(one, "id")  # type: ignore[arg-type]  # refused
    with pytest.raises(TypeError):
        _C.check_type_id(one)  # type: ignore[call-arg]  # refused


def test_a_module_is_called_by_its_forward_in_one_mode() -> None:
    assert _C.check_nn_module(Hooked(), False)
    assert not _C.check_nn_module(Hooked(), True)
    assert not _C.check_nn_module(Hooked(forward=None), False)
    hooked = Hooked()
    _C.instance_dict(hooked)["_forward_hooks"][0] = print
    assert not _C.check_nn_module(hooked, False)
    del _C.instance_dict(hooked)["training"]
    assert not _C.check_nn_module(hooked, False)
    with pytest.raises(AttributeError):
        _C.check_nn_module(1, False)


def test_an_objects_own_attributes_are_its_own() -> None:
    found = _C.instance_dict(Hooked(x=1))
    assert found["x"] == 1
    with pytest.raises(AttributeError):
        _C.instance_dict(object())


def test_no_references_are_lost_or_kept() -> None:
    module = Hooked()
    before = sys.getrefcount(module), sys.getrefcount(_C.instance_dict(module))
    for _ in range(100):
        _C.check_nn_module(module, False)
        _C.check_obj_id(module, id(module))
    assert (sys.getrefcount(module), sys.getrefcount(_C.instance_dict(module))) == before
