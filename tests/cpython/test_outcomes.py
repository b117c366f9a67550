"""CPython's tests come out the same when all that they call is captured."""

from __future__ import annotations

import importlib.util
import platform

import pytest

from tests.cpython.outcomes import Report
from tests.cpython.table import MODULES, PAGE, QUICK, Comparison, compare, page


@pytest.mark.slow
@pytest.mark.parametrize("module", QUICK)
def test_no_test_of_a_module_changes_its_outcome(module: str) -> None:
    if importlib.util.find_spec(f"test.{module}") is None:
        pytest.skip("this Python came without CPython's own tests")
    found = compare(module, timeout=600)
    assert found.captured is not None
    assert found.captured.entries > 0
    assert found.changes == []


def test_the_page_tells_of_every_module() -> None:
    written = PAGE.read_text()
    assert [module for module in MODULES if f"`{module}`" not in written] == []


def _found(module: str, after: str = "passed") -> Comparison:
    test = f"test.{module}.T.test_it"
    return Comparison(module, Report({test: "passed"}, 0, 1.0), Report({test: after}, 7, 2.0))


def test_each_python_has_its_table_and_a_run_writes_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run_of(python: str, *found: Comparison, written: str) -> str:
        monkeypatch.setattr(platform, "python_version", lambda: python)
        return page(found, written)

    new = run_of("3.14.10", _found("test_set", "failed"), _found("test_dict"), written="")
    both = run_of("3.11.7", _found("test_set"), written=new)
    assert both.index("## Python 3.11.7") < both.index("## Python 3.14.10")
    assert both.partition("## Python 3.14.10")[2] == new.partition("## Python 3.14.10")[2]
    assert new.count("`test.test_set.T.test_it`: passed became failed") == 1
    # Another patch release of it runs one module: the other's row stays, under the new name.
    mended = run_of("3.14.11", _found("test_set"), written=both)
    assert "3.14.10" not in mended
    assert "What changed" not in mended
    assert mended.count("| `test_dict` |") == 1
    assert run_of("3.11.7", written=PAGE.read_text()) == PAGE.read_text()
