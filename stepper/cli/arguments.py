"""What the subcommands' arguments have in common."""

from __future__ import annotations

import argparse
import codecs
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from stepper.cli.config import Config, ConfigError, load_config
from stepper.cli.examples import EXAMPLES
from stepper.model.breakpoint import Breakpoint, BreakpointError, parse_breakpoint
from stepper.model.printing import say
from stepper.support.system import here

if TYPE_CHECKING:
    from stepper.client.launch import LaunchSpec

PROGRAM_FORMS = "script.py [args …] | -m module [args …] | -c code [args …]"


class UsageError(Exception):
    """The command cannot be carried out as it was given; the message says what to do instead."""


class Parser(argparse.ArgumentParser):
    """One line and the way to help, instead of the whole usage, for a wrong command."""

    examples: tuple[str, ...] = ()
    """Lines with which its help ends."""

    def format_help(self) -> str:
        """The help, with examples as they stand."""
        lines = [f"  {line}\n" for line in self.examples]
        return super().format_help() + "".join(["\nexamples:\n", *lines] if lines else [])

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit with code 2."""
        self.exit(2, f"{self.prog}: {message}. See '{self.prog} --help'\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            say(message, file, end="")


def build_parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser of the whole command line, and those of the subcommands by name."""
    from stepper.cli import (
        completion,
        console,
        diff,
        doctor,
        export,
        list,
        open,
        post_mortem,
        query,
        ranks,
        record,
        report,
        run,
        why,
        why_guard,
    )

    parser = Parser(
        prog="stepper",
        description="Step TorchDynamo's symbolic interpreter, forwards and backwards.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version)
    subparsers = parser.add_subparsers(dest="subcommand", metavar="COMMAND", required=True)
    for module in (
        run, record, list, open, console, post_mortem,
        query, why, why_guard, diff, ranks,
        report, export, doctor, completion,
    ):  # fmt: skip
        module.add_to(subparsers)
    for name, subparser in subparsers.choices.items():
        subparser.examples = EXAMPLES[name]
    return parser, subparsers.choices


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version and exit")

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        import platform

        own = _version_of("torch-stepper") or "(not installed)"
        torch = _version_of("torch")
        say(
            f"stepper {own} (Python {platform.python_version()}, "
            f"{f'torch {torch}' if torch else 'no torch'}, textual {_version_of('textual')})"
        )
        parser.exit(0)


def _version_of(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read a command line.

    Where the program begins, stepper's own arguments end, whatever comes after; argparse would
    still look for options and `--` there. So the line is cut in two first.
    """
    parser, subparsers = build_parser()
    own, kind = list(argv), "script"
    program: list[str] = []
    subparser = subparsers.get(own[0]) if own else None
    takes_program = subparser is not None and subparser.get_default("takes_program")
    if subparser is not None and takes_program:
        start, kind, program = _find_program(subparser, own)
        own = own[:start]
    options = parser.parse_args(own)
    if takes_program:
        options.kind, options.program = kind, program
    return options


def _find_program(parser: argparse.ArgumentParser, argv: list[str]) -> tuple[int, str, list[str]]:
    """Where the program begins in a subcommand's line, what kind it is, and its own words."""
    with_value = {
        name
        for action in parser._actions
        if action.option_strings and action.nargs is None
        for name in action.option_strings
    }
    index = 1
    while index < len(argv):
        word = argv[index]
        if word == "--":
            return index, "script", argv[index + 1 :]
        if not word.startswith("-") or word == "-":
            return index, "script", argv[index:]
        if word.startswith(("-m", "-c")):
            kind = "module" if word[1] == "m" else "code"
            glued = [word[2:]] if len(word) > 2 else []
            return index, kind, [*glued, *argv[index + 1 :]]
        index += 2 if word in with_value else 1
    return len(argv), "script", []


def add_recording(parser: argparse.ArgumentParser, *, otherwise: str = "") -> None:
    """Add the recording that is asked, and which process is meant in a session folder.

    Args:
        parser: what it is added to.
        otherwise: what is done when none is named; empty: one has to be.
    """
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?" if otherwise else None,
        help="; ".join(filter(None, ("the recording, or a session folder", otherwise))),
    )
    add_choice(parser)


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a process of a session folder."""
    group = parser.add_argument_group("in a session folder (record --children)")
    group.add_argument("--process", type=int, metavar="N", help="the process with this number")
    group.add_argument("--rank", type=int, metavar="N", help="the process of this rank")


def add_program(parser: argparse.ArgumentParser, *, what: str = "the program to run") -> None:
    """Add the options that say which program to run, and how to record it."""
    program = parser.add_argument_group("program")
    program.add_argument(
        "program",
        nargs="*",
        metavar="script.py [args …]",
        help=f"{what}; everything after it is its own",
    )
    # These two are for the help text: `parse` takes them away before argparse sees them.
    program.add_argument("-m", metavar="MODULE", help="run a module, as python -m")
    program.add_argument("-c", metavar="CODE", help="run code, as python -c")
    parser.set_defaults(kind="script", program=[], takes_program=True)
    program.add_argument(
        "--python",
        default="",
        metavar="PYTHON",
        help="the interpreter (default: this one; if it has no torch, that of the environment "
        "that is active, or of a .venv in the program's folder or above)",
    )
    program.add_argument(
        "--python-option",
        dest="python_options",
        action="append",
        default=[],
        metavar="OPTION",
        help="an option for the interpreter, e.g. --python-option=-O; repeatable",
    )
    recording = parser.add_argument_group("recording")
    recording.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to record; {pid} and {rank} are filled in "
        "(default: a file in ~/.local/state/stepper/recordings)",
    )
    recording.add_argument(
        "--children",
        action="store_true",
        help="record the processes that the program starts, too, each by itself, in one folder: "
        "-o names it",
    )
    recording.add_argument(
        "--detail",
        choices=("all", "stops"),
        help="record every instruction (all, the default) or only from the first stop on (stops)",
    )
    recording.add_argument(
        "--lookups",
        action="store_true",
        default=None,
        help="record each lookup in the cache too, guard by guard",
    )
    recording.add_argument(
        "--execute",
        action="store_true",
        default=None,
        help="record the transformed bytecode too, as it runs on real values",
    )
    recording.add_argument(
        "--secrets",
        action="store_true",
        default=None,
        help="record values of environment variables and what looks like a key, too; "
        "without it they are withheld",
    )
    recording.add_argument(
        "--engine",
        metavar="NAME",
        help="the compiler to watch: dynamo, native, another that is installed, or module:NAME",
    )


def add_breakpoints(parser: argparse.ArgumentParser) -> None:
    """Add `--break`."""
    parser.add_argument(
        "-b",
        "--break",
        dest="breakpoints",
        action="append",
        metavar="SPEC",
        help="stop there: graph-break, FILE:LINE, function:GLOB, node:GLOB, guard:KIND:SOURCE, "
        "recompile …, with ', rank N', ', process PID', ', if CONDITION', ', ignore N', ', once'; "
        "repeatable",
    )


def config_here() -> Config:
    """The configuration of the current directory.

    Raises:
        UsageError: it cannot be understood.
    """
    try:
        return load_config(Path(here()))
    except ConfigError as error:
        raise UsageError(str(error)) from None


def launch_spec(options: argparse.Namespace, config: Config) -> LaunchSpec:
    """The program that the command line names, with defaults from the configuration.

    Raises:
        UsageError: it names none, a breakpoint is not understood, or nothing can be watched here.
    """
    from stepper.client.launch import LaunchError, LaunchSpec, need_c_part

    try:
        need_c_part()
    except LaunchError as error:
        raise UsageError(str(error)) from None
    kind: Literal["script", "module", "code"] = options.kind
    given: list[str] = options.program
    needs = {
        "module": "-m needs the name of a module",
        "code": "-c needs code to run",
        "script": f"which program? Give {PROGRAM_FORMS}",
    }
    if not given:
        raise UsageError(needs[kind])
    breakpoints = breakpoints_of(options, config)
    return LaunchSpec(
        kind=kind,
        target=given[0],
        args=tuple(given[1:]),
        python=options.python or _python_of(kind, given[0]),
        python_options=tuple(options.python_options),
        breakpoints=breakpoints,
        recording=options.output or (None if options.children else config.output) or None,
        children=options.children,
        engine=options.engine or config.engine,
        detail=options.detail or config.detail,
        lookups=config.lookups if options.lookups is None else options.lookups,
        execute=config.execute if options.execute is None else options.execute,
        secrets=config.secrets if options.secrets is None else options.secrets,
    )


def _python_of(kind: str, target: str) -> str:
    """The interpreter of the program's own environment, where stepper's has no torch."""
    from stepper.client.interpreter import python_of
    from stepper.client.program import program_file

    python = python_of(os.path.dirname(program_file(kind, target, os.curdir)))
    if python:
        say(f"stepper: runs with {python}; --python names another", sys.stderr)
    return python


def breakpoints_of(options: argparse.Namespace, config: Config) -> tuple[Breakpoint, ...]:
    """The breakpoints of the command line, else those of the configuration.

    Raises:
        UsageError: one of them is not understood.
    """
    texts = getattr(options, "breakpoints", None)
    where = "--break"
    if texts is None:
        texts, where = config.breakpoints, "[tool.stepper] break"
    found = []
    for text in texts:
        try:
            found.append(parse_breakpoint(text))
        except BreakpointError as error:
            raise UsageError(f"{where}: {error}") from None
    return tuple(found)


def theme_of(config: Config) -> str:
    """The name of the theme that is configured; empty for the usual one.

    Raises:
        UsageError: there is no such theme.
    """
    if config.theme:
        from textual.theme import BUILTIN_THEMES

        if config.theme not in BUILTIN_THEMES:
            known = ", ".join(sorted(BUILTIN_THEMES))
            raise UsageError(
                f"[tool.stepper]: there is no theme {config.theme!r}. It can be: {known}"
            )
    return config.theme


def need_terminal(instead: str) -> None:
    """See that there is a terminal for the full-screen interface.

    Raises:
        UsageError: there is none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"there is no terminal to draw on; use {instead}")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError(f"this terminal (TERM=dumb) cannot be drawn on; use {instead}")
    encoding = codecs.lookup(sys.stdout.encoding).name
    if encoding != "utf-8":
        raise UsageError(
            f"this terminal's encoding ({encoding}) has no signs to draw with; "
            f"set LANG=C.UTF-8 or PYTHONUTF8=1, or use {instead}"
        )
