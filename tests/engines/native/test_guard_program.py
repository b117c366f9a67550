"""What C checks is what the text of a check says."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers

from stepper import _C, native
from stepper.native.guards.guard_program import check_of
from stepper.native.guards.scope import SCOPE


class Plain:
    """Has attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Counting(dict[str, Any]):
    """Counts lookups."""

    count = 0

    def __getitem__(self, key: str) -> Any:
        self.count += 1
        return super().__getitem__(key)


class Interrupts:
    """Is interrupted when it is looked at."""

    def __getattr__(self, name: str) -> Any:
        raise KeyboardInterrupt


KNOWN = Plain(number=3, items=[1, 2], f=Plain.__init__)
VALUES: dict[str, Any] = {
    "known": KNOWN,
    "like it": Plain(number=3, items=[1, 2], f=None),
    "another number": Plain(number=4, items=[1], f=Plain.__init__),
    "a true number": Plain(number=True, items=(), f=Plain.__init__),
    "nothing": Plain(),
    "a dictionary": {"number": 3, "items": [1, 2], 0: "zero", "a]b": 1, "it's": 2},
    "no dictionary": {"a": None},
    "a list": [3, 4],
    "a float": 0.0,
    "a negative zero": -0.0,
    "NaN": struct.unpack("<d", b"\x01\x00\x00\x00\x00\x00\xf8\x7f")[0],
    "None": None,
    "a word": "number",
}
CONDITIONS = [
    f"___check_obj_id(L['x'], {id(KNOWN)})",
    f"___check_obj_id(L['x'].f, {id(Plain.__init__)})",
    f"___check_type_id(L['x'], {id(Plain)})",
    f"___check_type_id(type(L['x']), {id(type)})",
    "L['x'].number == 3",
    "L['x'] == 'number'",
    "L['x']['a]b'] == 1",
    "L['x'][\"it's\"] == 2",
    "L['x'][0] == 'zero'",
    "L['x'][-1] == 4",
    "L['x'][1] == 4",
    "L['x'][2] == 4",
    "L['x'][99999999999999999999] == 4",
    "L['x'].items[1] == 2",
    "L['x'].items[0] == 1",
    "L['x'] is None",
    "L['x'] is G['known']",
    "L['x'].f is type(L['x']).__init__",
    "len(L['x'].items) == 2",
    "len(L['x']) == 2",
    "'number' in ___instance_dict(L['x'])",
    "'number' not in ___instance_dict(L['x'])",
    "'known' not in G",
    "('a' in L['x']) == False",
    "('a' in L['x']) == True",
    "hasattr(L['x'], 'number') == False",
    "not hasattr(type(L['x']), 'number') and 'number' not in L['x'].__dict__",
    "L['x'].number == 3 and L['x'].items == ___value_1",
    "L['x'] == ___value_1",
    "L['x'].number == 3 or L['x'].number == 4",
    "L['x'].number == 3 or L['x'].number == 4 or L['x'] is None",
    "L['x'] is None or ___known_words()",
    "L['absent'] is None or ___known_words()",
    "___known_words() or L['absent'] is None",
    "'this or that' not in L['x']",
    "___known_words() == ___items(L['x'])",
    "___items(L['x']) == ___items(L['x'])",
    "(L['x'].number == 4 if hasattr(L['x'], 'number') else True)",
    "[type(key) for key in L['x']] == [str]",
    "list(L['x']) == ['a']",
    "list(L['x']) == ['number', 'items', 0, 'a]b', \"it's\"]",
    "list(L['x']) == ['number', 'items', 0, 'a]b']",
    "list(L['x']) == ['items', 'number']",
    "list(L['x']) == []",
    "list(L['x']) == [3, 4]",
    "list(___items(L['x'], 0)) == ['zero']",
    "___float_bits(L['x']) == b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'",
    "___float_bits(L['x']) == b'\\x01\\x00\\x00\\x00\\x00\\x00\\xf8\\x7f'",
    "___no_aliasing(L['x'], G['known'])",
    "___known_words()",
    "L['absent'] == 3",
    "L['x'].number.real == 3",
    "L['x in y'] == 3",
    "___missing(L['x'])",
    "___items(L['x'], 'a]b', \"it's\") == [1, 2]",
    "___items(L['x'], ___key)[0] == 'zero'",
    "___items(L['x'].items, 0, 1)[-1] == 2",
    "L['x'][___key] == 'zero'",
    "L['x'][G['known'].items[0]] == 4",
    "L['x'][___items(L['x'], 0)[0]] == 'zero'",
    "___known_words() == True",
    "___no_aliasing(G['words, and (more)'], ___items(L['x'], 'items')[0])",
    "list(L['x'])[0] == 'number'",
    "list(L['x'])[1:] == ['items', 0, 'a]b', \"it's\"]",
    "(L['x'])[(0)] == 'zero'",
    "___items(L['x'])(L['x'])",
    "___items(L['x'], *[0]) == ['zero']",
]


def scope() -> dict[str, Any]:
    return {
        **SCOPE,
        "___instance_dict": _C.instance_dict,
        "___float_bits": struct.Struct("<d").pack,
        "___value_1": [1, 2],
        "___known_words": lambda: True,
        "___items": lambda value, *keys: [value[key] for key in keys],
        "___key": 0,
    }


def evaluated(conditions: list[str], f_locals: dict[str, Any], f_globals: dict[str, Any]) -> bool:
    """What the text says, in Python's words."""
    text = " and ".join(f"({each})" for each in conditions)
    try:
        return bool(eval(f"lambda L, G: {text}", scope())(f_locals, f_globals))
    except Exception:
        return False


@pytest.mark.parametrize("condition", CONDITIONS, ids=range(len(CONDITIONS)))
def test_a_condition_means_what_it_says(condition: str) -> None:
    f_globals: dict[str, object] = {"known": KNOWN, "words, and (more)": [3]}
    check = check_of([condition], scope())
    for name, value in VALUES.items():
        expected = evaluated([condition], {"x": value}, f_globals)
        assert check({"x": value}, f_globals) is expected, name


def test_some_condition_holds_and_some_does_not_for_each_value() -> None:
    f_globals: dict[str, object] = {"known": KNOWN}
    for value in VALUES.values():
        answers = {check_of([each], scope())({"x": value}, f_globals) for each in CONDITIONS}
        assert answers == {True, False}


def test_two_conditions_hold_together_where_both_do() -> None:
    for pair in itertools.permutations(CONDITIONS, 2):
        check = check_of(pair, scope())
        for value in (KNOWN, VALUES["a dictionary"]):
            expected = evaluated(list(pair), {"x": value}, {"known": KNOWN})
            assert check({"x": value}, {"known": KNOWN}) is expected, pair


def test_what_several_conditions_look_at_is_looked_up_once() -> None:
    counting = Counting(a=Plain(b=1, c=2))
    f_locals: dict[str, object] = {"x": counting}
    assert check_of(["L['x']['a'].b == 1", "L['x']['a'].c == 2"], scope())(f_locals, {})
    assert counting.count == 1


def test_what_is_called_for_several_conditions_is_called_once() -> None:
    calls: list[object] = []

    def copied(value: object) -> list[object]:
        calls.append(value)
        return [value, 2]

    names = {**SCOPE, "___copied": copied}
    conditions = ["___copied(L['x'])[0] == 1", "___copied(L['x'])[1] == 2"]
    assert check_of(conditions, names)({"x": 1}, {})
    assert calls == [1]


def test_nothing_is_read_behind_a_condition_that_fails() -> None:
    counting = Counting(a=1)
    f_locals: dict[str, object] = {"x": counting}
    conditions = [f"___check_type_id(L['x'], {id(dict)})", "L['x']['a'] == 1"]
    assert not check_of(conditions, scope())(f_locals, {})
    assert counting.count == 0


def test_it_is_looked_up_anew_at_each_check() -> None:
    thing: Any = Plain(number=3)
    check = check_of(["L['x'].number == 3", "G['flag'] is ___flag"], {"___flag": KNOWN})
    assert check({"x": thing}, {"flag": KNOWN})
    assert not check({"x": thing}, {"flag": None})
    thing.number = 4
    assert not check({"x": thing}, {"flag": KNOWN})


def test_a_name_can_be_given_later() -> None:
    names: dict[str, Any] = {}
    check = check_of(["___entry.valid"], names)
    assert not check({}, {})
    names["___entry"] = Plain(valid=True)
    assert check({}, {})
    names["___entry"].valid = False
    assert not check({}, {})


def test_who_interrupts_a_check_is_heard() -> None:
    with pytest.raises(KeyboardInterrupt):
        check_of(["L['x'].number == 3"], {})({"x": Interrupts()}, {})


def layers() -> tuple[torch.nn.Module, torch.Tensor]:
    model = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(8)), torch.nn.ReLU())
    return model, torch.ones(2, 4)


def gpt2() -> tuple[torch.nn.Module, torch.Tensor]:
    config = transformers.GPT2Config(
        n_layer=2, n_head=2, n_embd=32, vocab_size=64, n_positions=32, use_cache=False,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return transformers.GPT2Model(config).eval(), torch.arange(8)[None]


@pytest.mark.parametrize("make", [layers, gpt2])
def test_no_condition_of_a_model_is_asked_for_in_python(
    make: Callable[[], tuple[torch.nn.Module, torch.Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long one (fifty tensors are not one another) takes longer than all others together."""
    model, x = make()
    compiled = native.optimize("eager")(model)
    kinds: list[int] = []
    made = _C.GuardProgram

    def noting(values: Any, conditions: Any, scope: Any) -> Any:
        kinds.extend(test for test, _, _ in conditions)
        return made(values, conditions, scope)

    monkeypatch.setattr(_C, "GuardProgram", noting)
    compiled(x)
    assert len(kinds) > 50
    assert _C.TEST_PYTHON not in kinds
