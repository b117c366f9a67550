"""What a user chooses at a lookup that missed is what becomes of the native engine's call."""

from __future__ import annotations

import re
import weakref
from functools import partial
from pathlib import Path

from stepper.engines.common.lifelines import bond_to
from stepper.engines.native.choices import Choice
from tests.engines import choosing
from tests.engines.choosing import interventions, missed

PROGRAM = """
import torch
import stepper.native

captured = []

def backend(gm, inputs):
    captured.append(gm)
    return gm.forward

@stepper.native.optimize(backend, dynamic=False)
def scale(x, y):
    return x * 2 + y.sum() + x.shape[0]

for size in (4, 5, 6):
    print("size", size, scale(torch.ones(size), torch.zeros(2)).tolist(), len(captured))
"""
EAGER = {4: [6.0] * 4, 5: [7.0] * 5, 6: [8.0] * 6}


said = partial(choosing.said, engine="native")


def test_a_size_is_marked_dynamic_before_it_is_captured(tmp_path: Path, program: Path) -> None:
    text = said(tmp_path, program, "miss:scale", "mark-dynamic y 3", "mark-dynamic", "c")
    assert "L['y'] has 1 dimensions, and no size 3" in text
    assert "L['x'].shape[0] is marked dynamic" in text
    assert f"size 5 {EAGER[5]} 2" in text
    assert f"size 6 {EAGER[6]} 2" in text, "the new entry fits other sizes"
    (done,) = interventions(tmp_path)
    assert done.startswith("L['x'].shape[0] is marked dynamic")


def test_a_guard_is_relaxed_and_the_entry_serves(tmp_path: Path, program: Path) -> None:
    text = said(tmp_path, program, "miss:scale, once", "relax-guard", "c", "cache scale")
    assert "serves this call and later ones that it fits. Beware: TENSOR_MATCH" in text
    assert f"size 5 {[6.0] * 5} 1" in text, "the constant 4 of the entry that serves"
    (done,) = interventions(tmp_path)
    assert "serves this call" in done
    assert "; the user chose: entry 2, a copy of entry 1 " in missed(tmp_path)


def test_an_entry_that_other_guards_refuse_is_not_relaxed(tmp_path: Path, program: Path) -> None:
    two = PROGRAM.replace("torch.zeros(2))", "torch.zeros(2 if size == 4 else 3))")
    program.write_text(two, encoding="utf-8")
    text = said(tmp_path, program, "miss:scale, once", "relax-guard", "cache scale", "c")
    assert "TENSOR_MATCH L['y'] fails, too" in text
    again = re.search(r"relax-guard 1 drop \d+ \d+", text)
    assert again is not None
    assert "draft" not in text, "nothing is left of the attempt"
    text = said(tmp_path, program, "miss:scale, once", again[0], "c")
    assert f"size 5 {[6.0] * 5} 1" in text


def test_a_call_is_skipped_and_the_next_is_looked_up_again(tmp_path: Path, program: Path) -> None:
    text = said(
        tmp_path, program, "miss:scale", "relax-guard", "skip-call", "cache scale", "c", "c"
    )
    assert "draft" not in text, "the newest choice holds"
    assert f"size 5 {EAGER[5]} 1" in text
    assert f"size 6 {EAGER[6]} 2" in text


def test_a_first_call_can_be_marked_and_no_more(tmp_path: Path, program: Path) -> None:
    text = said(
        tmp_path, program, "lookup:scale, once", "relax-guard", "skip-call", "mark-dynamic x 0", "c"
    )
    assert "no entry has been tried yet" in text
    assert "a first translation cannot be skipped any more" in text
    assert f"size 6 {EAGER[6]} 1" in text


class Held:
    """An object on which an entry lives."""


def test_what_the_debugger_holds_at_a_stop_is_no_holder() -> None:
    held = Held()
    mine = {"other": held}
    at_stop = Choice(test_what_the_debugger_holds_at_a_stop_is_no_holder.__code__, {"x": held}, {},
                     first=True)  # fmt: skip
    bond = bond_to("L['x']", weakref.ref(held))
    assert bond is not None
    holders = bond.lifeline((), detail=True).holders
    assert [each for each in holders if each.endswith("other")]
    assert not [each for each in holders if "Choice" in each or each.endswith("x")], holders
    del mine, at_stop
