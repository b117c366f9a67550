"""CPython's tests come out the same when all that they call is captured."""

from __future__ import annotations

import pytest

from tests.cpython.table import MODULES, PAGE, QUICK, compare


@pytest.mark.slow
@pytest.mark.parametrize("module", QUICK)
def test_no_test_of_a_module_changes_its_outcome(module: str) -> None:
    found = compare(module, timeout=600)
    assert found.captured is not None
    assert found.captured.entries > 0
    assert found.changes == []


def test_the_page_tells_of_every_module() -> None:
    written = PAGE.read_text()
    assert [module for module in MODULES if f"`{module}`" not in written] == []
