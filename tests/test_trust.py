"""What stands in the code itself of a recording's reach: to a terminal, a process, an import, a
file. Each place that can be one is named here with the reason why it is none; a new one fails."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
READERS = ("model", "recording", "client", "analysis", "console", "tui", "report", "cli")
"""The rooms that read recordings."""

STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


@pytest.fixture(scope="module", autouse=True)
def _let_go() -> Iterator[None]:
    """The collector would walk through what is parsed here each time."""
    yield
    calls_in.cache_clear()
    nodes.cache_clear()


Call = tuple[str, str, ast.Call]
"""The file, what is called as it is written, and the call."""


def calls(*rooms: str) -> Iterator[Call]:
    """Every call."""
    return chain.from_iterable(map(calls_in, rooms))


@cache
def calls_in(room: str) -> list[Call]:
    return [
        (name, ast.unparse(node.func), node)
        for name, node in nodes(room)
        if isinstance(node, ast.Call)
    ]


@cache
def nodes(room: str) -> list[tuple[str, ast.AST]]:
    """Every node of a room's syntax trees, with its file."""
    return [
        (str(path.relative_to(ROOT / "stepper")), node)
        for path in sorted((ROOT / "stepper" / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]


# To a terminal ------------------------------------------------------------------------------------

PRINTS = {
    ("client/decompiler.py", "sys.stdout.buffer.write"): "a pipe to the process that started it",
    ("model/printing.py", "out.write"): "the one way",
}


def prints(function: str, call: ast.Call) -> bool:
    """Whether a call can write to a terminal."""
    *_, name = function.split(".")
    if function in ("print", "input", "pprint", "os.system", "warnings.warn") or "logg" in name:
        return True
    if name in ("print_exc", "print_exception", "print_stack", "displayhook", "print_help"):
        return True
    if name in ("write", "writelines"):
        before = function.rpartition(".")[0]
        return before in ("out", "stream", "sys", "file") or bool(STREAMS & set(before.split(".")))
    return name == "Console" or (name == "fdopen" and ast.unparse(call).startswith("os.fdopen("))


def test_everything_that_is_printed_goes_one_way() -> None:
    rooms = (*READERS, "debuggee", "testing")
    found = {(path, name) for path, name, call in calls(*rooms) if prints(name, call)}
    found -= {
        # Files that the user has named, and a file of random bytes.
        ("console/caching.py", "file.write"),
        ("report/writing.py", "file.write"),
        ("client/origin.py", "file.write"),
        # Stands in for an output that is closed.
        ("cli/__init__.py", "os.fdopen"),
        # Stands in for a stream; what it is given goes on as what the program printed.
        ("debuggee/evaluator.py", "stream.write"),
    }
    assert found == set(PRINTS)


def test_no_stream_is_handed_out_but_to_those_that_say() -> None:
    """`f(sys.stdout)` could print as well."""
    # prompt_toolkit writes what is typed, and candidates that can be printed.
    takers = {"say", "give", "pass_on", "Screen", "codecs.lookup", "_Output"}
    handed = {
        (path, name)
        for path, name, call in calls(*READERS, "debuggee", "testing")
        for word in (*call.args, *(keyword.value for keyword in call.keywords))
        if isinstance(word, ast.Attribute)
        and word.attr in STREAMS
        and ast.unparse(word).startswith("sys.")
    }
    assert not {each for each in handed if each[1] not in takers}


def test_nothing_of_a_recording_is_markup_on_the_screen() -> None:
    """Textual reads `[…]` in a text as markup, which can bind an action to a click."""
    loose = []
    for path, name, call in calls("tui"):
        keywords = {each.arg: each.value for each in call.keywords}
        constant = all(isinstance(each, ast.Constant) for each in call.args)
        if name in ("Label", "Static", "OptionList"):
            quiet = isinstance(markup := keywords.get("markup"), ast.Constant) and not markup.value
            if not quiet:
                loose.append((path, ast.unparse(call)))
        elif name.endswith(("notify", "Toast", "from_markup", "render_markup")) and not constant:
            loose.append((path, ast.unparse(call)))
    assert not loose
    titles = [
        (path, ast.unparse(node))
        for path, node in nodes("tui")
        if isinstance(node, ast.Assign)
        and isinstance(target := node.targets[0], ast.Attribute)
        and target.attr in ("border_title", "border_subtitle", "tooltip")
        and not isinstance(node.value, ast.Constant)
        and not ast.unparse(node.value).startswith("escape(")
    ]
    assert not titles


# To a process, an import, a file ------------------------------------------------------------------

REACHES = {
    "cli/__init__.py: os.open": "the null device",
    "cli/console.py: open": "the path that the user gave",
    "cli/doctor.py: subprocess.run": "the interpreter that the user gave, or that of the folder",
    "cli/ending.py: os.kill": "this process",
    "analysis/answering.py: open": "/proc/self/statm",
    "analysis/answering.py: os.fork": "a child of ours that answers a question",
    "analysis/answering.py: os.kill": "that child",
    "analysis/export.py: os.makedirs": "the path that the user gave",
    "analysis/query.py: sqlite3.connect": "in memory",
    "client/decompiler.py: marshal.loads": "code of a living program, in a process of its own",
    "client/decompiling.py: subprocess.run": "the interpreter of a living program",
    "client/interpreter.py: find_spec": "torch",
    "client/interpreter.py: made.read_text": "what an environment was made from",
    "client/launch.py: Process.spawn": "what the user or a plan that was agreed to names",
    "client/launch.py: socket.socket": "the program's own channel",
    "client/origin.py: open": "the program's file, and the key",
    "client/origin.py: os.link": "the key",
    "client/origin.py: os.unlink": "the key",
    "client/processes.py: os.unlink": "our own socket in the folder that the user gave",
    "client/processes.py: socket.socket": "where what the program starts connects, for this user",
    "client/origin.py: path.parent.mkdir": "the key",
    "client/origin.py: path.read_bytes": "the key",
    "client/paths.py: directory.mkdir": "the state directory",
    "client/placing.py: compile": "a file of this folder that the user typed, which is not run",
    "client/placing.py: open": "the path that the user typed",
    "client/process.py: os.kill": "a child",
    "client/script_file.py: open": "the program that is run next, to see whether it is Python's",
    "client/terminal.py: os.open": "the terminal that was made for the program",
    "client/process.py: os.killpg": "a child",
    "client/process.py: os.posix_spawn": "see launch",
    "client/program.py: PathFinder.find_spec": "looks a file up, and imports nothing",
    "client/program.py: importlib.util.find_spec": "a name without a dot: nothing is imported",
    "client/replay.py: contextlib.chdir": "the folder of a plan that was agreed to",
    "client/scratch.py: open": "files of a plan that was agreed to; a file of ours for the run",
    "client/waiting.py: open": "/proc/PID/syscall of a program of ours",
    "console/caching.py: open": "the path that the user gave",
    "console/line_input.py: os.open": "the history in the state directory",
    "console/line_input.py: path.parent.mkdir": "the state directory",
    "console/scripting.py: open": "the path that the user gave, and the file in the user's home",
    "console/shell.py: compile": "what the user typed, to see whether it is Python",
    "console/stopping.py: compile": "the condition that the user typed, which is not run",
    "model/breakpoint.py: compile": "the condition that the user typed, which is not run",
    "recording/files.py: open": "the recording and its log, to read",
    "model/local_socket.py: os.open": "the folder of a socket, to name it in short",
    "recording/files.py: os.open": "the recording, to ask who has it open",
    "recording/files.py: os.unlink": "our own copy, and what SQLite left beside a new recording",
    "recording/occupied.py: open": "the recording, and /proc/N/stat",
    "recording/occupied.py: os.kill": "signal 0, whether a process lives",
    "recording/occupied.py: os.unlink": "the path that the user gave",
    "recording/process_entry.py: open": "our own entry, and files of /proc",
    "recording/process_entry.py: os.open": "our own entry in the folder that the user gave",
    "recording/process_entry.py: os.replace": "our own entry",
    "recording/process_entry.py: os.unlink": "our own draft of it",
    "recording/session_folder.py: open": "an entry in the folder that the user gave, and /proc",
    "recording/session_folder.py: os.mkdir": "the path that the user gave",
    "recording/session_folder.py: os.open": "an entry in the folder that the user gave, no link",
    "recording/session_folder.py: shutil.rmtree": "an old one of ours, with nothing else in it",
    "report/page.py: files": "a file of ours",
    "report/page.py: files(__package__).joinpath('style.css').read_text": "a file of ours",
    "report/vocabulary.py: breaks.read_text": "a file of torch",
    "report/vocabulary.py: find_spec": "torch",
    "report/vocabulary.py: path.read_text": "files of ours and of torch",
    "report/writing.py: open": "the path that the user gave",
    "report/writing.py: os.replace": "the path that the user gave",
    "report/writing.py: os.unlink": "the path that the user gave",
    "tui/kept_screen.py: path.parent.mkdir": "the state directory",
    "tui/kept_screen.py: path.read_bytes": "our own file in it",
    "tui/kept_screen.py: written.write_bytes": "our own file in it",
    "tui/lines.py: self.app.copy_to_clipboard": "what the user selected, without controls",
}
"""Each call of a reader that can reach something, and why it is nothing that a recording names."""

_NAMES = {
    "open", "eval", "exec", "compile", "__import__", "loads", "load", "import_module", "find_spec",
    "run_path", "run_module", "Popen", "check_call", "check_output", "system", "popen", "chdir",
    "fchdir", "posix_spawn", "posix_spawnp", "spawn", "execv", "execve", "execvp", "fork", "kill",
    "killpg", "unlink", "remove", "rmdir", "rmtree", "rename", "replace", "link", "symlink",
    "mkdir", "makedirs", "write_text", "write_bytes", "read_text", "read_bytes", "copyfile", "copy",
    "move",
    "putenv", "getline", "getlines", "getsource", "getsourcelines", "open_url", "socket", "urlopen",
    "connect", "copy_to_clipboard", "files", "startfile", "deliver_text", "run",
}  # fmt: skip
_MODULES = {"os", "shutil", "subprocess", "importlib", "webbrowser", "linecache", "runpy", "pickle"}


OURS = {
    ("cli/list.py", "remove"), ("client/launch.py", "check_output"), ("client/paths.py", "remove"),
    ("tui/app.py", "fork"), ("tui/snapshot.py", "move"),
}  # fmt: skip
"""Functions of ours with such a name."""


def reaches(function: str) -> bool:
    """Whether a call can reach out of this process, or run a text."""
    before, _, name = function.rpartition(".")
    if name not in _NAMES:
        return False
    if name in ("open", "run", "spawn"):
        return before in ("", "io", "os", "subprocess", "Process", "webbrowser", "path")
    if name in (
        "replace", "rename", "compile", "copy", "move", "load", "loads", "files", "link", "remove",
        "kill", "fork", "check_output",
    ):  # fmt: skip
        return before in ("", *_MODULES, "marshal")
    return True


def test_what_can_reach_out_is_known_by_name() -> None:
    found = {
        f"{path}: {name}"
        for path, name, _ in calls(*READERS)
        if reaches(name)
        # Documents are written by a developer; the file of a recording has a module of its own.
        and not path.endswith("document.py")
        and path not in ("recording/database.py", "cli/config.py")
        and (path, name) not in OURS
    }
    assert found - set(REACHES) == set(), "may a recording decide what it does?"
    assert set(REACHES) - found == set(), "they are gone"


def test_only_what_asks_makes_a_plan() -> None:
    made = {path for path, name, _ in calls(*READERS) if name in ("plan_of", "Plan")}
    assert made == {
        "cli/replaying.py", "client/plan.py", "console/replaying.py", "tui/why_screen.py",
    }  # fmt: skip
