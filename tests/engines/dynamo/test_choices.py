"""What a user chooses at a lookup that missed is what becomes of the call."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from tests.engines import choosing
from tests.engines.choosing import interventions

PROGRAM = """
import torch
from torch._dynamo.testing import CompileCounter

counter = CompileCounter()

def inner(x):
    torch._dynamo.graph_break()
    return x + 1

@torch.compile(backend=counter, dynamic=False)
def scale(x, y):
    return x * 2 + y.sum() + x.shape[0]

@torch.compile(backend=counter)
def outer(x, mode):
    return inner(x) * (2 if mode else 3)

for size in (4, 5, 6):
    print("size", size, scale(torch.ones(size), torch.zeros(2)).tolist(), counter.frame_count)
for mode in (True, False, False):
    print("mode", mode, outer(torch.ones(2), mode).tolist(), counter.frame_count)
"""


said = partial(choosing.said, engine="dynamo")


def test_a_size_is_marked_dynamic_before_it_is_compiled(tmp_path: Path, program: Path) -> None:
    text = said(tmp_path, program, "miss:scale", "mark-dynamic", "c", "why-recompile scale")
    assert "scale: 0/0: TENSOR_MATCH L['x']: shape[0] 4 ≠ 5" in text
    assert "L['x'].shape[0] is marked dynamic" in text
    assert "size 5 [7.0, 7.0, 7.0, 7.0, 7.0] 2" in text
    assert "size 6 [8.0, 8.0, 8.0, 8.0, 8.0, 8.0] 2" in text, "the new entry fits other sizes"
    (done,) = interventions(tmp_path)
    assert done.startswith("L['x'].shape[0] is marked dynamic")
    assert f"the user intervened: {done}" in text


def test_a_size_is_marked_by_name_and_a_wrong_one_is_refused(tmp_path: Path, program: Path) -> None:
    text = said(
        tmp_path, program, "miss:scale, once", "mark-dynamic x 7", "mark-dynamic z 0",
        "mark-dynamic x 0 strict", "c",
    )  # fmt: skip
    assert "L['x'] has 1 dimensions, and no size 7" in text
    assert "G['z'] cannot be reached" in text
    assert "it fails where that size must be a number" in text
    assert "size 6 [8.0, 8.0, 8.0, 8.0, 8.0, 8.0] 2" in text
    assert len(interventions(tmp_path)) == 1, "what is refused changes nothing"


def test_a_guard_is_relaxed_and_the_entry_serves(tmp_path: Path, program: Path) -> None:
    text = said(
        tmp_path, program, "guard-fail:TENSOR_MATCH, once", "relax-guard", "break hit:scale", "c",
        "cache scale", "remove 2", "clear all", "c",
    )  # fmt: skip
    assert "serves this call as 0/1 and later ones that it fits. Beware: TENSOR_MATCH" in text
    assert "compiled kernels may read beyond" in text
    assert "size 5 [6.0, 6.0, 6.0, 6.0, 6.0] 1" in text, "the constant 4 of the entry that serves"
    relaxed = re.search(r"✓  2  copy of 0/0  valid  made .*CompileCounter", text)
    assert relaxed is not None, "it is of the call's backend"
    assert "(0/0): switched off; it stays in the list" in text
    size_6 = re.search(r"size 6 .* (\d)$", text, re.M)
    assert size_6 is not None
    assert size_6[1] == "1", "the call had found it before it was switched off"
    first, second = interventions(tmp_path)
    assert "serves this call" in first
    assert "switched off" in second


def test_an_entry_that_other_guards_refuse_is_not_relaxed(tmp_path: Path) -> None:
    program = tmp_path / "two.py"
    program.write_text(
        PROGRAM.replace("torch.zeros(2))", "torch.zeros(2 if size == 4 else 3))"), encoding="utf-8"
    )
    text = said(tmp_path, program, "miss:scale, once", "relax-guard", "cache scale", "c")
    assert "TENSOR_MATCH L['y'] fails, too" in text
    again = re.search(r"relax-guard 1 drop \d+ \d+", text)
    assert again is not None
    assert "draft" not in text, "nothing is left of the attempt"
    text = said(tmp_path, program, "miss:scale, once", again[0], "c")
    assert "size 5 [6.0, 6.0, 6.0, 6.0, 6.0] 1" in text


def test_the_guards_of_a_relaxed_entry_say_what_they_are(tmp_path: Path) -> None:
    program = tmp_path / "two.py"
    program.write_text(
        "import torch\n"
        "@torch.compile(backend='eager', dynamic=False)\n"
        "def norm(x, eps):\n"
        "    return x / (x.norm() + eps)\n"
        "for size, eps in ((4, 1e-5), (5, 1e-5), (6, 1e-3)):\n"
        "    norm(torch.ones(size), eps)\n",
        encoding="utf-8",
    )
    text = said(tmp_path, program, "guard-fail", "why", "relax-guard", "c", "why")
    assert "a guard of 0/0 fails: x.shape[0]: expected 4, actual 5" in text, "it stands there"
    assert "two.py:4 in norm\n    return x / (x.norm() + eps)" in text
    assert "EQUALS_MATCH L['eps'] of 0/1: value 1e-05 ≠ 0.001" in text


def test_a_call_is_skipped_with_all_that_it_calls(tmp_path: Path, program: Path) -> None:
    text = said(tmp_path, program, "miss", *["skip-call", "c"] * 4, "c")
    assert text.count("this call runs uncompiled") == 4
    assert "size 5 [7.0, 7.0, 7.0, 7.0, 7.0] 1" in text
    assert "size 6 [8.0, 8.0, 8.0, 8.0, 8.0, 8.0] 1" in text
    modes = [int(count) for count in re.findall(r"mode .* (\d+)$", text, re.M)]
    assert modes[0] == modes[1] == modes[2], "the next call is looked up again, and skipped again"


def test_the_newest_choice_holds(tmp_path: Path, program: Path) -> None:
    text = said(
        tmp_path, program, "miss:scale, once", "relax-guard", "skip-call", "cache scale", "c"
    )
    assert "draft" not in text
    assert "size 5 [7.0, 7.0, 7.0, 7.0, 7.0] 1" in text


def test_elsewhere_there_is_nothing_to_choose(tmp_path: Path, program: Path) -> None:
    text = said(
        tmp_path, program, "function:scale, once", "skip-call", "mark-dynamic", "relax-guard"
    )
    assert text.count("the program does not stand before a compilation: break miss") == 3


def test_a_first_compilation_can_be_marked_or_skipped(tmp_path: Path, program: Path) -> None:
    text = said(tmp_path, program, "lookup:scale, once", "relax-guard", "mark-dynamic x 0", "c")
    assert "no entry has been tried yet" in text
    assert "size 6 [8.0, 8.0, 8.0, 8.0, 8.0, 8.0] 1" in text
