"""What is said of sizes and numbers, of steps that are made here."""

from __future__ import annotations

import pytest

from stepper.analysis.conditions import decided_by
from stepper.analysis.shape_lines import decision_text
from stepper.analysis.shapes import Size, put_together
from stepper.model.shapes import ShapeStep, ShapeStepKind
from stepper.model.trace import Translation


@pytest.mark.parametrize(
    ("torch_writes", "people_write"),
    [
        ("Eq(zf7, 0.300000000000000)", "Eq(zf7, 0.3)"),
        ("zf7 <= 1.00000000000000e-5", "zf7 <= 1e-05"),
        ("s77 < 2.0*s1", "s77 < 2.0*s1"),
        ("Eq(s77, 300)", "Eq(s77, 300)"),
        ("-oo", "-oo"),
    ],
)
def test_floats_are_told_as_people_write_them(torch_writes: str, people_write: str) -> None:
    step = ShapeStep(1, 1, 1, ShapeStepKind.GUARD, expression=torch_writes)
    assert decision_text(step) == f"requires {people_write}"


@pytest.mark.parametrize(
    ("condition", "decision"),
    [
        ("((8 + (-1)*(L['x'].size()[0] % 8)) % 8) == 0", "Eq(Mod(8 - (Mod(s0, 8)), 8), 0)"),
        ("not (L['x'].size()[0] == 3 and L['x'].size()[0] == 2)", "~(Eq(s0, 3) & Eq(s0, 2))"),
        ("L['x'].size()[0] != 5", "Ne(s0, 5)"),
        ("(L['x'].size()[0] // 8) != L['x'].size()[0]", "Ne((s0//8), s0)"),
    ],
)
def test_a_condition_is_known_by_what_it_says(condition: str, decision: str) -> None:
    """Of several on the same size: each is written otherwise in a guard than where it was made."""
    said = ["Eq(Mod(s0, 8), 3)", "Ne(s0, 6)", decision, "s0*s0 > 9"]
    born = ShapeStep(1, 1, 1, ShapeStepKind.SYMBOL, "s0", source="L['x'].size()[0]", low="2")
    steps = [
        ShapeStep(number, 1, number, ShapeStepKind.GUARD, expression=text, symbols=("s0",))
        for number, text in enumerate(said, 2)
    ]
    symbol = put_together([born, *steps])["s0"]
    item = Translation(1, "0/0", 1, "f", "f.py", 1, 1)
    known = [Size(item, "L['x'].size()[0]", symbol)]
    assert [step.expression for step in decided_by(known, condition)] == [decision]
