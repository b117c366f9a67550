"""The plugin for pytest: `--stepper-record`, `--stepper-pm`, `--stepper-engine`, `stepper_limits`,
`stepper_ask`, `stepper_max_compile_seconds`.

The recording of a test begins when it is set up and ends when all of it is over, so that what its
fixtures compile is in it, and a failure in its teardown keeps it. Limits are about the test's own
body, or about a block of it: what others have compiled for it is not its fault.

Workers of pytest-xdist need nothing special: each test is recorded where it runs, to a file named
after the test.

What records and what reads is imported by the first test that wants it.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from stepper.analysis.limits import Limits
    from stepper.testing.limits import Limited
    from stepper.testing.recorded import RecordedTest

_MARK = "stepper_limits"
_SECONDS = "stepper_max_compile_seconds"
_ASKING = frozenset({_MARK, "stepper_ask"})
"""The fixtures that ask for a recording."""
_LONGEST_NAME = 120
_TEST = pytest.StashKey["RecordedTest"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command line's options."""
    group = parser.getgroup("stepper", "torch.compile under stepper")
    group.addoption(
        "--stepper-record",
        metavar="DIR",
        help="record what each test compiles, and keep the recordings of those that fail in DIR",
    )
    group.addoption(
        "--stepper-pm",
        action="store_true",
        help="open the debugger on the recording of each test that fails and compiled something",
    )
    group.addoption(
        "--stepper-engine",
        metavar="NAME",
        default="dynamo",
        help="the compiler to watch, as for stepper record --engine",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the directory and explain the mark.

    Raises:
        pytest.UsageError: the directory cannot be made, or workers have no terminal to ask on.
    """
    if config.option.stepper_pm and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--stepper-pm needs the terminal, which workers have not: use -n 0")
    config.addinivalue_line(
        "markers",
        f"{_MARK}(graphs=N, breaks=N, recompilations=N, seconds=N): the test fails, with a "
        "post-mortem, when it compiles more graphs, has more graph breaks, compiles functions "
        "again more often, or takes longer to compile",
    )
    config.addinivalue_line(
        "markers", f"{_SECONDS}(N): the test fails, and says why, when compiling takes longer"
    )
    if config.option.stepper_record is not None:
        folder = config.invocation_params.dir / config.option.stepper_record
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(f"--stepper-record {folder}: {error.strerror}") from None
        # Workers are given the options as they are now, and may run elsewhere.
        config.option.stepper_record = str(folder)


@pytest.fixture
def stepper_limits(request: pytest.FixtureRequest) -> Callable[..., Limited]:
    """Makes blocks that may compile so much and no more:

        with stepper_limits(graphs=1, breaks=0, recompilations=0):
            model(x)

    What is not named is not limited. The block fails with a post-mortem when it exceeds a limit.
    """
    from stepper.testing.limits import limits_for

    return limits_for(_recorded(request.node))


@pytest.fixture
def stepper_ask(request: pytest.FixtureRequest) -> Callable[..., list[str]]:
    """Asks about all that the test has compiled so far, as `stepper why-break` and the like do:

    assert stepper_ask("why-break") == ["no graph break and no skipped frame"]
    stepper_ask("is-guarded", "x.shape[0]", "forward")
    """
    return _recorded(request.node).ask


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End the recording when all of the test is over."""
    try:
        return (yield)
    finally:
        test = item.stash.get(_TEST, None)
        if test is not None:
            del item.stash[_TEST]
            test.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin the recording, before the fixtures."""
    limited = item.get_closest_marker(_MARK) is not None or _ASKING & {*_fixtures(item)}
    timed = item.get_closest_marker(_SECONDS) is not None
    options = item.config.option
    if limited or timed or options.stepper_record is not None or options.stepper_pm:
        _recorded(item, lookups=bool(limited))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Hold the test to its mark."""
    if not any(map(item.get_closest_marker, (_MARK, _SECONDS))):
        return (yield)
    from stepper.testing.limits import Limited

    limited = Limited(item.stash[_TEST], _limits(item))
    limited.begin()
    result = yield
    if text := limited.exceeded():
        pytest.fail(text, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say with a failure where its recording is."""
    report = yield
    test = item.stash.get(_TEST, None)
    if test is not None and report.failed:
        test.failed = True
        if test.own and item.config.option.stepper_record is not None and test.newest_walk():
            report.sections.append(("stepper", f"stepper open {shlex.quote(str(test.path))}"))
    return report


def pytest_exception_interact(
    node: pytest.Item | pytest.Collector, call: pytest.CallInfo[object]
) -> None:
    """Open the debugger, as `--pdb` does."""
    test = node.stash.get(_TEST, None)
    if test is None or not node.config.option.stepper_pm or not test.newest_walk():
        return
    from stepper.debuggee.post_mortem import show
    from stepper.model.trace import headline

    capture = node.config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
    why = headline(call.excinfo.exconly(tryshort=True)) if call.excinfo is not None else ""
    try:
        show(test.path, ": ".join(filter(None, (f"{node.nodeid} failed", why))))
    finally:
        if capture is not None:
            capture.resume_global_capture()


def _recorded(item: pytest.Item, *, lookups: bool = True) -> RecordedTest:
    """The test's recording, begun where there is none.

    Raises:
        stepper.SessionError: it cannot be recorded.
    """
    test = item.stash.get(_TEST, None)
    if test is None:
        from stepper.testing.recorded import RecordedTest

        folder = item.config.option.stepper_record
        path = Path(folder, _file_name(item.nodeid)) if folder is not None else None
        test = item.stash[_TEST] = RecordedTest(
            path, engine=item.config.option.stepper_engine, lookups=lookups
        )
    return test


def _fixtures(item: pytest.Item) -> list[str]:
    """The fixtures that a test names; doctests and other kinds of items name none."""
    return getattr(item, "fixturenames", [])


def _limits(item: pytest.Item) -> Limits:
    """What the marks of a test allow together, those of its class and its module, too; of what
    several limit, the nearest counts.
    """
    from stepper.analysis.limits import Limits

    given: dict[str, float] = {}
    for mark in reversed([*item.iter_markers()]):  # the nearest last
        if mark.name == _MARK:
            given |= _named(mark, Limits.__struct_fields__)
        elif mark.name == _SECONDS:
            if len(mark.args) != 1 or mark.kwargs:
                pytest.fail(f"the mark {_SECONDS} takes a number of seconds", pytrace=False)
            given["seconds"] = mark.args[0]
    try:
        return Limits(**given)  # type: ignore[arg-type]  # which are numbers of what is said there
    except ValueError as refused:
        pytest.fail(str(refused), pytrace=False)


def _named(mark: pytest.Mark, names: tuple[str, ...]) -> Mapping[str, float]:
    if mark.args or not mark.kwargs or not set(mark.kwargs) <= set(names):
        given = ", ".join([*map(repr, mark.args), *mark.kwargs]) or "nothing"
        pytest.fail(
            f"the mark {_MARK} takes at least one of {', '.join(names)}, by name; "
            f"it was given {given}",
            pytrace=False,
        )
    return mark.kwargs


def _file_name(test: str) -> str:
    """A file name that says which test it is, and that no other test has."""
    plain = re.sub(r"[^\w.-]+", "-", test).strip("-")[:_LONGEST_NAME]
    return f"{plain}-{hashlib.sha1(test.encode()).hexdigest()[:8]}.stepper"
