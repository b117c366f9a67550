"""A hook goes in front of a function's body and leaves the body as it was."""

from __future__ import annotations

import argparse
import asyncio.base_events
import collections
import configparser
import dataclasses
import difflib
import dis
import email.message
import functools
import inspect
import itertools
import json.decoder
import json.encoder
import logging
import random
import shutil
import string
import sys
import tempfile
import textwrap
import traceback
import types
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import cast

import pytest

from stepper.engines.common.probes import Probe, ProbeError, insert_call

MODULES = (
    argparse, asyncio.base_events, collections, configparser, dataclasses, difflib, dis,
    email.message, functools, inspect, json.decoder, json.encoder, logging, random, shutil,
    string, tempfile, textwrap, traceback, types,
)  # fmt: skip


def _no_operation() -> None:
    pass


def _functions_of(module: ModuleType) -> Iterator[FunctionType]:
    for owner in (module, *(each for each in vars(module).values() if isinstance(each, type))):
        for member in vars(owner).values():
            if isinstance(member, FunctionType) and member.__module__ == module.__name__:
                yield member


FUNCTIONS = [function for module in MODULES for function in _functions_of(module)]


def _is_plain(code: CodeType) -> bool:
    return not code.co_flags & (
        inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    )


def _probed(code: CodeType) -> CodeType | None:
    """The code with a hook; None when it cannot have one."""
    if not _is_plain(code):
        return None
    try:
        return insert_call(code, _no_operation, ())
    except ProbeError:  # written on one line, from Python 3.12 on
        return None


def _body(code: CodeType) -> int:
    """The offset behind RESUME."""
    return next(each.offset + 2 for each in dis.get_instructions(code) if each.opname == "RESUME")


def _exception_entries(code: CodeType) -> list[tuple[int, int, int, int, bool]]:
    return [tuple(entry) for entry in dis._parse_exception_table(code)]  # type: ignore[attr-defined]  # no stub has it


def _positions(
    code: CodeType, first: int
) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())[first // 2 :]


def test_the_body_of_any_function_stays_what_it_was() -> None:
    tried = with_handlers = 0
    for function in FUNCTIONS:
        code = function.__code__
        probed = _probed(code)
        if probed is None:
            continue
        start, by = _body(code), len(probed.co_code) - len(code.co_code)
        assert by > 0
        assert probed.co_code[:start] == code.co_code[:start], code.co_qualname
        assert probed.co_code[start + by :] == code.co_code[start:], code.co_qualname
        assert _positions(probed, start + by) == _positions(code, start), code.co_qualname
        expected = [
            (begin + by if begin >= start else begin, end + by, target + by, depth, lasti)
            for begin, end, target, depth, lasti in _exception_entries(code)
        ]
        assert _exception_entries(probed) == expected, code.co_qualname
        tried += 1
        with_handlers += bool(expected)
    assert tried > 500
    assert with_handlers > 50


def test_nothing_else_of_a_code_changes() -> None:
    for function in FUNCTIONS[:300]:
        code = function.__code__
        probed = _probed(code)
        if probed is not None:
            for name in (
                "co_name", "co_qualname", "co_filename", "co_firstlineno", "co_flags", "co_names",
                "co_varnames", "co_cellvars", "co_freevars", "co_argcount", "co_kwonlyargcount",
                "co_posonlyargcount",
            ):  # fmt: skip
                assert getattr(probed, name) == getattr(code, name)
            assert probed.co_consts[: len(code.co_consts)] == code.co_consts


def test_generators_are_refused_and_stay_as_they_were() -> None:
    def generator() -> Iterator[int]:
        yield 1

    async def coroutine() -> None: ...

    for function in (generator, coroutine):
        before = function.__code__
        with pytest.raises(ProbeError, match=function.__name__):
            Probe(function, (), _no_operation)
        assert function.__code__ is before


def test_what_is_no_python_function_is_refused() -> None:
    with pytest.raises(ProbeError, match="not a Python function"):
        Probe(len, (), _no_operation)


def test_a_parameter_that_is_not_there_is_refused_by_name() -> None:
    def function(a: int) -> int:
        b = a + 1
        return b * b

    for missing in ("b", "c"):
        with pytest.raises(ProbeError, match=f"'{missing}'"):
            Probe(function, (missing,), _no_operation)


def test_the_hook_gets_parameters_of_every_kind() -> None:
    seen: list[tuple[object, ...]] = []
    free = "free"

    def function(a, /, b, c="c", *rest, d, e="e", **more):
        inner = lambda: (a, d, free)
        return inner(), b, c, rest, e, more

    probe = Probe(function, ("a", "b", "c", "d", "e"), lambda *values: seen.append(values))
    for _ in range(20):  # often enough for the interpreter to specialize it
        assert function(1, 2, 3, 4, d=5, f=6) == ((1, 5, "free"), 2, 3, (4,), "e", {"f": 6})
    assert function(1, 2, d=3) == ((1, 3, "free"), 2, "c", (), "e", {})
    assert seen == [(1, 2, 3, 5, "e")] * 20 + [(1, 2, "c", 3, "e")]
    probe.remove()
    function(1, 2, d=3)
    assert len(seen) == 21


def _handlers(log: list[str], fail: str) -> str:
    with suppress(LookupError):
        try:
            try:
                if fail == "inner":
                    raise ValueError(fail)
                if fail == "outer":
                    raise KeyError(fail)
            except ValueError:
                log.append("caught")
                return "returned"
            finally:
                log.append("finally")
                for each in range(3):
                    if each:
                        break
        except ZeroDivisionError:
            log.append("never")
        if fail == "late":
            raise TypeError(fail)
        return "through"
    return "suppressed"


def test_handlers_still_catch_what_is_theirs() -> None:
    def outcomes() -> list[object]:
        found: list[object] = []
        for fail in ("", "inner", "outer", "late"):
            log: list[str] = []
            try:
                found.append((_handlers(log, fail), log))
            except TypeError as error:
                found.append((error.args, error.__traceback__.tb_next.tb_lineno, log))  # type: ignore[union-attr]  # it is not None
        return found

    before = outcomes()
    calls: list[str] = []
    probe = Probe(_handlers, ("fail",), calls.append)
    assert outcomes() == before
    assert calls == ["", "inner", "outer", "late"]
    probe.remove()


def test_tracebacks_and_frames_show_nothing_of_the_hook() -> None:
    def failing() -> None:
        raise ValueError(sys._getframe(1).f_code.co_name)

    def report() -> str:
        try:
            failing()
        except ValueError as error:
            return traceback.format_exc() + str(error)
        return ""

    before = report()
    probe = Probe(failing, (), _no_operation)
    assert report() == before
    probe.remove()


def test_an_exception_of_the_hook_leaves_the_function() -> None:
    def function() -> str:
        try:
            return "body"
        except KeyboardInterrupt:
            return "caught"

    def stop() -> None:
        raise KeyboardInterrupt

    probe = Probe(function, (), stop)
    with pytest.raises(KeyboardInterrupt):
        function()
    probe.remove()
    assert function() == "body"


def test_recursion_is_as_deep_as_without_but_for_the_last_hook() -> None:
    def depth(n: int) -> int:
        try:
            return depth(n + 1)
        except RecursionError:
            return n

    before = depth(0)
    probe = Probe(depth, ("n",), lambda n: None)
    assert depth(0) == before - 1  # one frame for all the calls, not one for each
    probe.remove()


def test_removal_restores_the_code_itself() -> None:
    before = {function: function.__code__ for function in FUNCTIONS if _is_plain(function.__code__)}
    probes = []
    for function in before:
        with suppress(ProbeError):
            probes.append(Probe(function, (), _no_operation))
    for probe in probes:
        probe.remove()
    assert len(probes) > 500
    # What is wrapped is watched where it is written.
    changed = [function for function, code in before.items() if function.__code__ is not code]
    assert not changed


@pytest.mark.parametrize("order", itertools.permutations(range(3)))
def test_probes_of_one_function_are_removed_in_any_order(order: tuple[int, ...]) -> None:
    def add(a: int) -> int:
        return a + 1

    seen: list[int] = []
    code = add.__code__
    probes = [Probe(add, (), functools.partial(seen.append, each)) for each in range(3)]
    left = {0, 1, 2}
    for each in order:
        probes[each].remove()
        left.remove(each)
        assert add(1) == 2
        assert seen == sorted(left, reverse=True)
        seen.clear()
    assert add.__code__ is code


def test_removal_leaves_what_somebody_else_has_put_there() -> None:
    def function() -> int:
        return 1

    def other() -> int:
        return 2

    probe = Probe(function, (), _no_operation)
    function.__code__ = other.__code__
    probe.remove()
    assert function() == 2


def test_watched_library_functions_work() -> None:
    calls: list[object] = []
    watched = [
        textwrap.dedent, textwrap.wrap, difflib.unified_diff, json.decoder.JSONDecoder.decode,
        string.Template.substitute, collections.Counter.update, dataclasses.make_dataclass,
        inspect.signature, argparse.ArgumentParser.parse_args,
    ]  # fmt: skip

    def results() -> list[object]:
        parser = argparse.ArgumentParser()
        parser.add_argument("--n", type=int)
        return [
            textwrap.wrap(textwrap.dedent("   " + "word " * 40)),
            json.loads('{"a": [1, 2.5, null]}'),
            string.Template("$a b").substitute(a=1),
            collections.Counter("hello"),
            str(inspect.signature(dataclasses.make_dataclass("D", ["x"]))),
            parser.parse_args(["--n", "3"]).n,
        ]

    before = results()
    probes = [
        Probe(cast(FunctionType, function), (), lambda: calls.append(1))
        for function in watched
        if _is_plain(function.__code__)
    ]
    assert results() == before
    assert len(calls) >= 6
    for probe in probes:
        probe.remove()


def test_an_answer_is_returned_in_place_of_the_body() -> None:
    ran: list[int] = []

    def watched(value: int, *, more: int = 1) -> int:
        captured = [value for _ in range(more)]
        ran.append(value)
        return len(captured)

    answers: list[object] = ["instead", None, False]
    heard: list[int] = []
    probe = Probe(watched, ("value",), heard.append, lambda: answers.pop(0))
    try:
        assert watched(5) == "instead"
        assert watched(6, more=3) == 3
        assert watched(7) is False
    finally:
        probe.remove()
    assert heard == [5, 6, 7]
    assert ran == [6]
    assert watched(8) == 1
