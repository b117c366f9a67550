"""Processes that a program starts, under `stepper record --children`."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from stepper.model.trace import EventKind
from stepper.recording.reader import Recording
from stepper.recording.session_folder import Process, SessionFolder, read
from tests.ready import executable
from tests.real.running import Outcome, environment, run

pytestmark = pytest.mark.slow

FAMILY = """
import atexit, concurrent.futures, multiprocessing, os, subprocess, sys

def seen():
    # What a process sees of who watches it.
    names = sorted(name for name in os.environ if "STEPPER" in name)
    return names, os.environ.get("PYTHONPATH", ""), "sitecustomize" in sys.modules, sys.path

LOOK = "import os, sys; print(sorted(os.environ), sys.argv[1:]); sys.exit(3)"

def work(n):
    import torch

    @torch.compile(backend="eager")
    def compiled(x):
        return x * n + 1

    return n, compiled(torch.ones(2)).tolist(), seen()

def killed():
    work(6)
    os.kill(os.getpid(), 9)

def main():
    print(seen())
    own = {"PATH": os.environ["PATH"], "MINE": "1"}
    names = sorted({*own, "LC_CTYPE"})
    shell = f"exec {sys.executable} -c 'import sys; sys.exit(5)'"
    for command in ([sys.executable, "-c", LOOK, *names], ["sh", "-c", shell]):
        print(subprocess.run(command, env=own, capture_output=True, text=True))
    print(os.system(shell))
    leaving = [sys.executable, "-c", "import os; os._exit(4)"]
    print(os.waitpid(os.posix_spawn(sys.executable, leaving, own), 0)[1])
    with concurrent.futures.ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        print(list(pool.map(work, [2, 3])))
    import torch
    forked = multiprocessing.get_context("fork")
    for target in (lambda: print(work(5)), killed, lambda: sys.exit(7), lambda: None):
        child = forked.Process(target=target)
        child.start()
        child.join()
        print(child.exitcode)
    server = multiprocessing.get_context("forkserver").Process(target=print, args=("served",))
    server.start()
    server.join()
    child = os.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", "print('another program')"])
    print(os.waitpid(child, 0)[1])

if __name__ == "__main__":
    main()
"""


class Family:
    """The program run by itself, and watched."""

    def __init__(self, folder: Path) -> None:
        (folder / "family.py").write_text(FAMILY)
        self.plain = run(["family.py"], folder)
        command = ["-m", "stepper", "record", "--children", "-o", "session", "family.py"]
        self.watched: Outcome = run(command, folder)
        self.folder = folder / "session"
        self.session: SessionFolder = read(str(self.folder))

    def one(self, **wanted: object) -> Process:
        (found,) = [
            each
            for each in self.session.processes
            if all(getattr(each, name) == value for name, value in wanted.items())
        ]
        return found


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Family:
    return Family(tmp_path_factory.mktemp("family"))


def functions(process: Process) -> list[str]:
    recording = Recording.open(process.recording)
    names = [item.name for item in recording.translations()]
    recording.close()
    return names


def test_a_program_and_its_children_do_what_they_do_without(family: Family) -> None:
    assert (family.watched.out, family.watched.status) == (family.plain.out, family.plain.status)
    *others, last = family.watched.err.splitlines()
    assert (others, family.plain.err) == ([], "")
    assert last.endswith(f"recordings, 1 killed or gone → {family.folder}")


def test_each_child_has_a_recording_of_its_own(family: Family) -> None:
    assert functions(family.one(name="SpawnProcess-1")) == ["work.<locals>.compiled"] * 2
    forked = [each for each in family.session.recorded if each.how == "fork"]
    assert [functions(each) for each in forked] == [["work.<locals>.compiled"]] * 2
    first = family.one(how="first")
    assert functions(first) == []
    assert {each.parent for each in forked} == {first.pid}


def test_the_index_says_how_each_ended(family: Family) -> None:
    assert (family.one(how="first").state, family.one(how="first").exit) == ("exited", 0)
    assert family.one(name="SpawnProcess-1").exit == 0
    ends = [(each.how, each.state, each.exit) for each in family.session.processes]
    assert ("start", "exited", 3) in ends  # a subprocess with an environment of its own
    assert ("start", "exited", 5) in ends  # behind a shell
    assert ("start", "exited", 4) in ends  # posix_spawn, and os._exit
    assert ("fork", "exited", 7) in ends
    assert ("fork", "killed", signal.SIGKILL) in ends
    assert {each.state for each in family.session.processes} <= {"exited", "killed"}


def test_the_recording_of_a_killed_child_can_be_read(family: Family) -> None:
    killed = family.one(state="killed")
    assert functions(killed) == ["work.<locals>.compiled"]


def test_what_compiles_nothing_makes_no_recording(family: Family) -> None:
    recorded = {each.pid for each in family.session.recorded}
    silent = [each for each in family.session.processes if each.pid not in recorded]
    assert len(silent) > 5
    files = [name for name in os.listdir(family.folder) if name.endswith(".stepper")]
    assert len(files) == len(recorded) == 4


def test_a_session_is_nobody_elses(family: Family) -> None:
    assert family.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in family.folder.iterdir()} == {0o600}


def test_a_command_has_no_words_of_the_program_in_the_index(family: Family) -> None:
    looked = family.one(exit=3)
    assert looked.command[1:] == ("-c", "import os, sys; print")


def test_a_question_takes_the_process_that_is_named(family: Family) -> None:
    spawned = family.one(name="SpawnProcess-1")
    asked = ["-m", "stepper", "why-recompile", family.folder]
    unsaid = run(asked, family.folder)
    assert unsaid.status == 2
    assert f"  {spawned.pid} " in unsaid.out
    assert "choose one with --process N or --rank N" in unsaid.err
    said = run([*asked, "--process", spawned.pid], family.folder)
    assert said.status == 0
    assert "compiled" in said.out
    none = run([*asked, "--rank", 9], family.folder)
    assert (none.status, "no recording for --rank 9" in none.err) == (2, True)


def test_a_query_sees_all_processes(family: Family) -> None:
    sql = (
        "SELECT process, rank, count(*) FROM instructions WHERE opname = 'RETURN_VALUE' "
        "GROUP BY process ORDER BY process"
    )
    asked = run(["-m", "stepper", "query", family.folder, sql, "--format", "csv"], family.folder)
    pids = sorted(each.pid for each in family.session.recorded if each.how != "first")
    rows = [line.split(",") for line in asked.out.splitlines()[1:]]
    assert [int(row[0]) for row in rows] == pids, asked.err
    states = run(
        ["-m", "stepper", "query", family.folder, "SELECT state FROM processes", "--format=csv"],
        family.folder,
    )
    assert states.out.count("killed") == 1


def test_a_query_says_which_recording_it_could_not_read(family: Family, tmp_path: Path) -> None:
    shutil.copytree(family.folder, tmp_path / "copy")
    spoiled, *others = (each for each in family.session.recorded if each.how != "first")
    (tmp_path / "copy" / Path(spoiled.recording).name).write_bytes(b"something else" * 999)
    sql = "SELECT DISTINCT process FROM frames ORDER BY 1"
    asked = run(["-m", "stepper", "query", tmp_path / "copy", sql, "--format", "csv"], tmp_path)
    assert [int(row) for row in asked.out.split()[1:]] == sorted(each.pid for each in others)
    assert asked.err.startswith(f"stepper: process {spoiled.pid} is left out: ")


def test_two_processes_are_compared(family: Family) -> None:
    one, other = (each.pid for each in family.session.recorded if each.how == "fork")
    command = ["-m", "stepper", "diff", family.folder, "--processes", one, other]
    assert "L['n']" in run(command, family.folder).out


IN_THE_BACKEND = """
import os, torch

def backend(graph, inputs):
    child = os.fork()
    if child == 0:
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
        os._exit(3)
    print(os.waitpid(child, 0)[1])
    return graph.forward

print(torch.compile(lambda x: x.sin(), backend=backend)(torch.ones(2)).tolist())
"""


def test_a_child_that_is_forked_while_a_graph_is_compiled_records_too(tmp_path: Path) -> None:
    command = ["-m", "stepper", "record", "--children", "-o", "session", "-c", IN_THE_BACKEND]
    watched = run(command, tmp_path, forked=True)
    assert watched.out == run(["-c", IN_THE_BACKEND], tmp_path, forked=True).out
    first, child = read(str(tmp_path / "session")).processes
    assert (first.exit, child.exit) == (0, 3)
    assert functions(child) == ["<lambda>", "backend.<locals>.<lambda>"]


LEFT = """
import os, time, torch

if os.fork():
    while not os.path.exists("compiled"):
        time.sleep(0.01)
else:
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    for number in (1, 2):
        os.close(number)
    open("compiled", "w").close()
    while os.path.exists("compiled"):
        time.sleep(0.01)
    os._exit(0)
"""


def test_a_child_that_outlives_the_program_is_told(tmp_path: Path) -> None:
    command = ["-m", "stepper", "record", "--children", "-o", "session", "-c", LEFT]
    try:
        said = run(command, tmp_path, forked=True).err
    finally:
        (tmp_path / "compiled").unlink(missing_ok=True)
    last = said.splitlines()[-1]
    assert last.startswith("stepper: 2 processes, 2 recordings, 1 still recording → ")


DOORS = """
import os, subprocess, sys
if sys.argv[1:] != ["child"]:
    subprocess.run([sys.executable, __file__, "child"], check=True)
    sys.exit()

import torch

class Sine(torch.nn.Module):
    def forward(self, x):
        return x.sin() + 1

def double(x):
    return (x + 1) * 2

def asked():
    # torch 2.11 has to be asked for it.
    return {"enable_aot_compile": True} if torch.__version__.startswith("2.11.") else {}

def export():
    torch.export.export(Sine(), (torch.ones(3),), strict=False)

def nothing():
    torch.jit.script(double)
    torch.fx.symbolic_trace(Sine())
    assert not torch.compiler.is_compiling()
    assert "stepper.engines.dynamo.engine" not in sys.modules

def stance():
    torch.compiler.set_stance("force_eager")

def compile():
    torch.compile(double, backend="eager")(torch.ones(3))

def ahead():
    with torch._dynamo.config.patch(asked()):
        compiled = torch.compile(double, fullgraph=True, backend="eager")
        compiled.aot_compile(((torch.ones(3),), {})).save_compiled_function("double.aot")

def load():
    with open("double.aot", "rb") as file:
        torch.compiler.load_compiled_function(file)(torch.ones(3))

def block():
    import stepper
    with stepper.record("own.stepper"):
        compile()

def phase():
    from torch._dynamo.utils import dynamo_timed
    with dynamo_timed("by_itself"):
        pass

def run_only():
    torch._dynamo.run(double)(torch.ones(3))

def traced():
    try:
        torch.fx.symbolic_trace(torch.compile(double, backend="eager"))
    except RuntimeError:
        return
    raise AssertionError("it was not refused")

def scripted():
    torch.jit.script(torch.compile(double, backend="eager"))

def fork(number, act):
    child = os.fork()
    if child == 0:
        act()
        os._exit(number)
    assert os.waitpid(child, 0)[1] == number << 8

fork(1, export)  # which imports Dynamo
import torch._dynamo
acts = (nothing, stance, compile, ahead, load, block, phase, run_only, traced, scripted)
for number, act in enumerate(acts, 2):
    fork(number, act)
"""


class Doors:
    """What was recorded of a child that has come to Dynamo by one door, by its exit code."""

    def __init__(self, folder: Path) -> None:
        (folder / "doors.py").write_text(DOORS)
        command = ["-m", "stepper", "record", "--children", "-o", "session", "doors.py"]
        self.outcome = run(command, folder)
        self.folder = folder
        found = read(str(folder / "session")).processes
        self.recordings = {each.exit: each.recording for each in found if each.how == "fork"}

    def skips(self, code: int) -> list[str]:
        recording = Recording.open(self.recordings[code])
        texts = [event.text for event in recording.events(kinds=(EventKind.SKIP,))]
        recording.close()
        return texts

    def functions(self, code: int) -> list[str]:
        recording = Recording.open(self.recordings[code])
        names = [item.name for item in recording.translations()]
        recording.close()
        return names


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Doors:
    return Doors(tmp_path_factory.mktemp("doors"))


def test_a_child_that_imports_dynamo_and_compiles_nothing_loads_no_engine(doors: Doors) -> None:
    assert (doors.outcome.status, doors.outcome.out) == (0, "")
    assert set(doors.recordings) == set(range(1, 12))
    assert doors.recordings[2] == ""


def test_what_comes_first_to_dynamo_is_recorded_in_a_child(doors: Doors) -> None:
    assert doors.skips(1)[0].startswith("Sine: captured by torch.export without strict=True")
    assert doors.skips(3)[0].startswith("stance 'force_eager' set at ")
    assert doors.functions(4) == doors.functions(5) == ["double"]
    assert "loaded as it was compiled ahead of time" in doors.skips(6)[0]
    assert doors.functions(7) == ["double"]
    assert not (doors.folder / "own.stepper").exists()  # the session was there already
    recording = Recording.open(doors.recordings[8])
    assert [each.name for each in recording.timings() or ()] == ["by_itself"]
    recording.close()
    assert doors.skips(9)[0].startswith("torch._dynamo.run asked for at ")
    assert doors.skips(10)[0].startswith("double: torch refuses it while FX traces what calls it")
    assert doors.skips(11)[0].startswith("double: torch.jit.script makes TorchScript of it")


POOLS = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

def work(number):
    import torch
    @torch.compile(backend="eager")
    def compiled(x):
        return x * number
    return compiled(torch.ones(2)).tolist()

class Items:
    def __len__(self):
        return 2
    def __getitem__(self, number):
        return work(number)[0]

def main():
    for how in ("spawn", "forkserver"):
        context = multiprocessing.get_context(how)
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            print(how, list(pool.map(work, [2, 3])))
    import torch
    from torch.utils.data import DataLoader
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print("fork", pool.map(work, [2, 3]))
        pool.close()
        pool.join()
    print("loader", [batch.tolist() for batch in DataLoader(Items(), num_workers=1)])

if __name__ == "__main__":
    main()
"""


def test_what_workers_of_pools_and_loaders_compile_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "pools.py").write_text(POOLS)
    command = ["-m", "stepper", "record", "--children", "-o", "session", "pools.py"]
    env = environment(tmp_path, PYTHON_EXEC=executable(tmp_path))
    outcome = run(command, tmp_path, forked=True, env=env)
    each = "[[2.0, 2.0], [3.0, 3.0]]"
    said = [f"spawn {each}", f"forkserver {each}", f"fork {each}", "loader [[0.0], [1.0]]"]
    assert (outcome.status, outcome.out.splitlines()) == (0, said), outcome.err
    workers = [each for each in read(str(tmp_path / "session")).recorded if each.how != "first"]
    assert len(workers) == 4
    for worker in workers:
        assert functions(worker) == ["work.<locals>.compiled"] * 2
        assert worker.state == "exited"
