"""Every program of the comparison gives what eager gives, and its page tells what is captured."""

from __future__ import annotations

from functools import partial
from zlib import crc32

import pytest

from tests.engines.native import against_dynamo, models
from tests.engines.native.against_dynamo import Account, Program
from tests.engines.native.harness import same

pytestmark = pytest.mark.evaluator_out

PROGRAMS = against_dynamo.all_programs()


@pytest.fixture(scope="module")
def accounts() -> dict[str, Account]:
    """What the native engine captured of the programs that the tests have run."""
    return {}


@pytest.mark.parametrize("program", PROGRAMS, ids=[f"{p.group} {p.name}" for p in PROGRAMS])
def test_a_program_gives_what_eager_gives(program: Program, accounts: dict[str, Account]) -> None:
    expected = program.run(against_dynamo.eager)
    got, accounts[program.name] = against_dynamo.account_of("native", program)
    assert same(expected, got), f"{expected!r} became {got!r}"


SOME = [p for p in PROGRAMS if p.group != "models" and crc32(p.name.encode()) % 4 == 0]


@pytest.mark.parametrize("program", SOME, ids=[p.name for p in SOME])
def test_so_it_does_with_sizes_and_numbers_that_are_symbols(program: Program) -> None:
    expected = program.run(against_dynamo.eager)
    with against_dynamo.native_account() as (compiler, _):
        got = program.run(partial(compiler, dynamic=True))
    assert same(expected, got), f"{expected!r} became {got!r}"


def test_there_are_enough_of_them() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names)) >= 150


def test_the_page_is_up_to_date(accounts: dict[str, Account]) -> None:
    page = against_dynamo.PAGE.read_text(encoding="utf-8")
    if models.versions() not in page:
        pytest.skip(f"the page is not made with {models.versions()}")
    if len(accounts) < len(PROGRAMS):
        pytest.skip("not all programs were run")
    expected = against_dynamo.page(against_dynamo.written(page), accounts)
    assert page == expected, f"run: python -m {against_dynamo.__name__}"
