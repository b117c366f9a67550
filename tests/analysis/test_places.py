"""Places are found in a file's syntax, and only where an edit means what it is to mean."""

from __future__ import annotations

import ast

import pytest

from stepper.analysis.places import File
from stepper.client.scratch import Edit, applied


def edited(text: str, *edits: Edit | None) -> str:
    return applied(text.encode(), [each for each in edits if each is not None]).decode()


def test_a_line_goes_before_a_statement_that_begins_one() -> None:
    text = "if x:\n\tf(\n\t  a)\nfor y in z: f(y)\nf(1); f(2)\n@d\ndef g(): pass\n"
    file = File("p", text.encode())
    nested, inline, first, second, *_ = [call.statement for call in file.calls]
    assert edited(text, file.line_before(nested, "m()")).startswith("if x:\n\tm()\n\tf(")
    assert file.line_before(inline, "m()") is None
    assert "\nm()\nf(1); f(2)" in edited(text, file.line_before(first, "m()"))
    assert file.line_before(second, "m()") is None
    assert "m()\n@d\ndef g" in edited(text, file.line_before(file.tree.body[-1], "m()"))


@pytest.mark.parametrize(
    ("text", "movable"),
    [
        ("x = f(a)", True),
        ("print(f(a).sum())", True),
        ("[f(a) for a in b]", False),
        ("y = lambda: f(a)", False),
        ("y = f(a) if c else 0", False),
        ("c and f(a)", False),
        ("while f(a): pass", False),
    ],
)
def test_what_is_handed_over_is_computed_before_only_where_it_always_is(
    text: str, movable: bool
) -> None:
    calls = File("p", text.encode()).calls
    (call,) = [each for each in calls if each.file.text(each.node) == "f(a)"]
    assert call.movable is movable


def test_what_stands_in_an_f_string_has_no_place() -> None:
    file = File("p", b"print(f'{f(a)}', g(b))\n")
    assert [file.text(call.node) for call in file.calls] == ["print(f'{f(a)}', g(b))", "g(b)"]


def test_a_setting_stands_behind_the_imports() -> None:
    text = "'''Words.'''\nimport torch as th\nfrom a import (\n  b,\n)\nc = 1\nimport d\n"
    file = File("p", text.encode())
    assert "\n)\nth.x.y = True\nc = 1\n" in edited(text, file.setting("torch.x.y = True"))
    assert File("p", b"import torchvision\n").setting("torch.x = 1") is None
    assert File("p", b"import torch; f()\n").setting("torch.x = 1") is None


def test_a_line_that_is_alone_in_its_block_leaves_pass() -> None:
    text = "if a:\n  f()\nelse:\n  f()\n  g()\n"
    file = File("p", text.encode())
    alone, first, _ = [call.statement for call in file.calls]
    assert edited(text, *file.line_removed(alone)) == text.replace("  f()\nelse", "  pass\nelse")
    assert edited(text, *file.line_removed(first)) == text.replace("  f()\n  g", "  g")


def test_a_name_is_free_where_it_is_to_stand() -> None:
    text = "def f(x):\n    y = 1\ndef g():\n    return z\nf(1)\n"
    file = File("p", text.encode())
    call = file.calls[-1].statement
    assert file.free_name("x", call) == "x"
    assert file.free_name("f", call) == "f_2"
    assert file.free_name("z", call) == "z_2"
    function = file.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert file.free_name("x", function.body[0]) == "x_2"
