"""Whatever has Dynamo translate a frame, and whatever keeps it from it, is in the recording."""

from __future__ import annotations

import contextlib
import gc
import io
import pickletools
import re
import subprocess
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo import convert_frame
from torch._dynamo.comptime import comptime
from torch._dynamo.package import CompilePackage, InMemoryDynamoStore
from torch._dynamo.utils import get_metrics_context
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map as map_over
from torch.export import Dim
from torch.nn.attention.flex_attention import flex_attention

import stepper
from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.failures import failures
from stepper.engines.dynamo import versions
from stepper.model.failure import FailedStage
from stepper.model.trace import EventKind, Outcome, Phase
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import clean_environment
from tests.engines.dynamo.watch import skips


class Sine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1


class Broken(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x.sin() + 1


def double(x: torch.Tensor) -> torch.Tensor:
    return (x + 1) * 2


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def recorded(path: Path) -> Recording:
    return Recording.open(str(path))


THREE = torch.ones(3)


def plus(x: torch.Tensor, *_: Any) -> torch.Tensor:
    return x + 1


class Doors:
    """Each brings one function to Dynamo: `called`, `method`, `forward` or an operator's."""

    def function(self) -> None:
        torch.compile(double, backend="eager")(THREE)

    def method(self) -> None:
        module = Sine()
        module.forward = torch.compile(module.forward, backend="eager")  # type: ignore[method-assign]  # as programs do
        module(THREE)

    def module_compile(self) -> None:
        module = Sine()
        module.compile(backend="eager")
        module(THREE)

    def nested(self) -> None:
        torch.compile(lambda x: torch.compile(double, backend="eager")(x), backend="eager")(THREE)

    def region(self) -> None:
        inner = torch.compiler.nested_compile_region(double)
        torch.compile(lambda x: inner(inner(x)), backend="eager")(THREE)

    def dynamo_export(self) -> None:
        torch._dynamo.export(double)(THREE)

    def capture(self) -> None:
        with get_metrics_context():
            convert_frame.fullgraph_capture(double, (THREE,))

    def cond(self) -> None:
        torch.cond(THREE.sum() > 0, lambda x: x + 1, lambda x: x - 1, (THREE,))

    def while_loop(self) -> None:
        start = (torch.tensor(0), THREE)
        while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + 1), start)

    def scan(self) -> None:
        scan(lambda carry, x: (carry + x, carry * x), torch.zeros(()), THREE)

    def map(self) -> None:
        map_over(plus, THREE)

    def flex_attention(self) -> None:
        q = torch.ones(1, 1, 16, 16)
        call: Any = torch.compile(flex_attention, backend="eager")
        call(q, q, q, score_mod=lambda score, b, h, i, j: score + i)

    def transform(self) -> None:
        grad = torch.func.grad(lambda y: y.sin().sum())
        torch.compile(lambda x: torch.func.vmap(torch.sin)(grad(x)), backend="eager")(THREE)

    def backward(self) -> None:
        weight = torch.ones(3, requires_grad=True)
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            (weight * 2).sum().backward()


DOORS = [name for name in vars(Doors) if not name.startswith("_")]


@pytest.mark.parametrize("door", DOORS)
def test_what_comes_to_dynamo_is_recorded_by_whatever_door(tmp_path: Path, door: str) -> None:
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        getattr(Doors(), door)()
    recording = recorded(path)
    translated = recording.translations()
    assert {each.outcome for each in translated} == {Outcome.COMPILED}
    assert all(each.instructions for each in translated)
    recording.close()


def test_what_dynamo_does_not_interpret_is_told_as_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        for _ in range(2):
            torch.export.export(Sine(), (THREE,), strict=False)
    recording = recorded(path)
    assert recording.translations() == []
    (said,) = skips(recording)  # once
    assert said.startswith("Sine: captured by torch.export without strict=True")
    assert "not recorded" in said
    assert f"at {__file__}:" in said
    recording.close()


class Asks(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else x + 1  # data


class Outer(torch.nn.Module):
    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + 1


class Raises(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error  # raised


class Smaller(torch.nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x)  # shapes


def line(part: str) -> int:
    """Number of a line of this file."""
    lines = Path(__file__).read_text().splitlines()
    (found,) = [at for at, text in enumerate(lines, 1) if text.endswith(f"  # {part}")]
    return found


@pytest.fixture
def left_open() -> Iterator[None]:
    """A file that torch leaves open is closed here, and not in whichever test comes next."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


# A draft that fails leaves a file of torch's open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("left_open")
@pytest.mark.parametrize("export", [torch.export.export, torch.export.draft_export])
@pytest.mark.parametrize(
    ("module", "exception", "at"),
    [
        (Outer(Asks()), "GuardOnDataDependentSymNode", "data"),
        (Raises(), "ValueError", "raised"),
        (Smaller(4, 4), "RuntimeError", "shapes"),
    ],
    ids=["data", "raises", "shapes"],
)
def test_an_export_that_fails_where_it_runs_the_program_is_a_failure(
    tmp_path: Path, export: Any, module: torch.nn.Module, exception: str, at: str
) -> None:
    path = tmp_path / "a.stepper"
    said: list[Exception] = []
    with stepper.record(path):
        try:
            export(module, (THREE,))
        except Exception as error:
            said.append(error)
    recording = recorded(path)
    if not said:
        assert (export, at) == (torch.export.draft_export, "data")  # made in spite of that
        assert recording.failures() == []
        recording.close()
        return
    (failed,) = failures(recording)
    assert (failed.name, failed.failure.exception) == (type(module).__qualname__, exception)
    assert type(said[0]).__name__ == exception
    assert failed.failure.message.startswith(str(said[0]).partition("\n")[0])
    assert failed.place is not None
    assert (failed.place.filename, failed.place.line) == (__file__, line(at))
    assert failed.text.endswith(f"  # {at}")
    callers = [frame.function for frame in failed.callers]
    assert ("Outer.forward" in callers) is isinstance(module, Outer)
    recording.close()


def test_an_export_that_fails_before_it_runs_the_program(tmp_path: Path) -> None:
    path = tmp_path / "a.stepper"
    with stepper.record(path), pytest.raises(TypeError):
        torch.export.export(Sine(), (THREE, THREE))
    recording = recorded(path)
    (failed,) = failures(recording)
    assert failed.place is None
    assert "no line of the program was running" in "\n".join(
        line.text for line in failed_lines(recording)
    )
    recording.close()


@pytest.mark.usefixtures("left_open")
@pytest.mark.parametrize("strict", [False, True])
def test_a_draft_that_is_made_with_other_sizes_has_not_failed(
    tmp_path: Path, *, strict: bool
) -> None:
    sizes = {"x": {0: Dim("one")}, "y": {0: Dim("another")}}

    class Sum(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + y if x.size(0) == 3 else x

    path = tmp_path / "a.stepper"
    with stepper.record(path):
        torch.export.draft_export(Sum(), (THREE, THREE), dynamic_shapes=sizes, strict=strict)
    recording = recorded(path)
    assert recording.failures() == []
    captured = recording.translations()
    ends = [Outcome.SKIPPED, Outcome.COMPILED] if strict else []
    assert [each.outcome for each in captured] == ends
    assert all(each.reason.startswith("draft_export exports once more") for each in captured[:1])
    recording.close()


@pytest.mark.parametrize("door", ["strict", "capture"])
def test_a_capture_whose_operator_fails_is_blamed_on_its_instruction(
    tmp_path: Path, door: str
) -> None:
    def strict() -> None:
        torch.export.export(Smaller(4, 4), (THREE,), strict=True)

    def capture() -> None:
        with get_metrics_context():
            convert_frame.fullgraph_capture(Smaller(4, 4), (THREE,))

    path = tmp_path / "a.stepper"
    with stepper.record(path), pytest.raises(torch._dynamo.exc.TorchRuntimeError):
        (strict if door == "strict" else capture)()
    recording = recorded(path)
    (failed,) = failures(recording)
    assert failed.failure.stage is FailedStage.TRACING
    assert failed.place is not None
    assert (failed.place.filename, failed.place.line) == (__file__, line("shapes"))
    recording.close()


def no_kernel(graph: Any, inputs: Any) -> Any:
    raise NotImplementedError("no such kernel")


def not_to_be_saved(graph: Any, inputs: Any) -> Any:
    return graph.forward


@pytest.mark.parametrize("backend", [no_kernel, not_to_be_saved])
def test_a_backend_that_fails_ahead_of_time_is_a_failure(tmp_path: Path, backend: Any) -> None:
    path = tmp_path / "a.stepper"
    # torch 2.11 has to be asked for it.
    asked = {"enable_aot_compile": True} if torch.__version__.startswith("2.11.") else {}
    with stepper.record(path), torch._dynamo.config.patch(asked):
        ahead_of_time()
        compiled: Any = torch.compile(double, fullgraph=True, backend=backend)
        with pytest.raises((NotImplementedError, RuntimeError)) as raised:
            compiled.aot_compile(((THREE,), {}))
    recording = recorded(path)
    made, failed = recording.translations()
    assert (made.outcome, failed.outcome) == (Outcome.COMPILED, Outcome.FAILED)
    (failure,) = recording.failures()
    assert (failure.translation, failure.message) == (failed.id, str(raised.value))
    in_it = backend is no_kernel
    assert failure.stage is (FailedStage.BACKEND if in_it else FailedStage.OTHER)
    recording.close()


def test_a_capture_that_an_exception_leaves_has_failed(tmp_path: Path) -> None:
    path = tmp_path / "a.stepper"
    with stepper.record(path), pytest.raises(RuntimeError):
        convert_frame.fullgraph_capture(double, (THREE,))  # outside of a MetricsContext
    recording = recorded(path)
    (left,) = recording.translations()
    assert left.outcome is Outcome.FAILED
    assert left.reason.startswith("RuntimeError: Cannot increment ir_count outside of")
    recording.close()


@torch.compiler.disable(recursive=False)
def left_alone(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@pytest.mark.skipif(torch.__version__.startswith("2.11."), reason="this torch does not say why")
def test_a_frame_that_is_skipped_is_told_once_with_the_rule(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    file = str(Path(torch.__file__).parents[1] / "numpy" / "made_up.py")
    exec(compile("def listed(x):\n    return x + 1\n", file, "exec"), names)

    def calls(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        names["listed"](x)
        return left_alone(left_alone(x))

    path = tmp_path / "a.stepper"
    with stepper.record(path):
        torch.compile(calls, backend="eager")(THREE)
    recording = recorded(path)
    of_rules, of_mark = skips(recording)
    assert of_rules.startswith(f"listed ({file}:1): ")
    assert "numpy" in of_rules.split("): ", 1)[1]
    assert of_mark.startswith("left_alone (")
    recording.close()


class NeverLookedAt:
    """Each calls what `torch.compile` made, of which Dynamo looks at nothing."""

    def Linear_forward(self, patch: pytest.MonkeyPatch) -> str:
        module = torch.nn.Linear(3, 3)
        module.compile(backend="eager")
        module(THREE)
        return "frame is in the Dynamo skipfiles list: "

    def Sequential_forward(self, patch: pytest.MonkeyPatch) -> str:
        module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        module.compile(backend="eager")
        for _ in range(2):
            module(THREE)
        return "frame is in the Dynamo skipfiles list: "

    def double(self, patch: pytest.MonkeyPatch) -> str:
        torch.compile(double, backend="eager", disable=True)(THREE)
        return "torch.compile leaves it as it is, since it was asked for disable=True; at "

    def Sine(self, patch: pytest.MonkeyPatch) -> str:
        patch.setenv("TORCHDYNAMO_DISABLE", "1")
        torch.compile(Sine(), backend="eager")(THREE)
        return "torch.compile leaves it as it is, since TORCHDYNAMO_DISABLE is 1; at "

    def plus(self, patch: pytest.MonkeyPatch) -> str:
        with torch._dynamo.config.patch(disable=True):
            torch.compile(plus, backend="eager")(THREE)
        return "Dynamo tracing is disabled"


@pytest.mark.skipif(torch.__version__.startswith("2.11."), reason="this torch does not say why")
@pytest.mark.parametrize("name", [name for name in vars(NeverLookedAt) if name[0] != "_"])
def test_a_compiled_call_of_which_nothing_is_looked_at_is_told_once_with_the_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        why = getattr(NeverLookedAt(), name)(monkeypatch)
    recording = recorded(path)
    if name.endswith("_forward") and versions.points.torch_version() >= (2, 15):
        # Module.compile has a wrapper compiled, and what it inlines is looked at.
        assert skips(recording) == []
        assert [each.outcome for each in recording.translations()] == [Outcome.COMPILED]
        recording.close()
        return
    (said,) = skips(recording)
    assert said.startswith((f"{name.replace('_', '.')} (", f"{name}: "))
    assert why in said
    recording.close()


def test_what_calls_a_compiled_module_is_no_skipped_frame(tmp_path: Path) -> None:
    wrapped = torch.fx.symbolic_trace(Sine())
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        for module in (Sine(), wrapped):
            torch.compile(module, backend="eager")(THREE)
            module.compile(backend="eager")
            module(THREE)
    recording = recorded(path)
    assert {each.outcome for each in recording.translations()} == {Outcome.COMPILED}
    assert skips(recording) == []
    recording.close()


def test_a_stance_that_was_there_before_the_session_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.stepper"
    with torch.compiler.set_stance("force_eager"), stepper.record(path):
        torch.compile(double, backend="eager")(THREE)
    recording = recorded(path)
    (said,) = skips(recording)
    assert said.startswith("stance 'force_eager' set before this session. A call of a compiled")
    recording.close()


def test_exported_modules_are_recorded(tmp_path: Path) -> None:
    x = torch.ones(3)
    plain = torch.export.export(Sine(), (x,), strict=True).graph_module.code
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        assert torch.export.export(Sine(), (x,), strict=True).graph_module.code == plain
        with pytest.raises(torch._dynamo.exc.Unsupported):
            torch.export.export(Broken(), (x,), strict=True)
        torch.export.export(Sine(), (torch.ones(4),), strict=True)
    recording = recorded(path)
    outcomes = [each.outcome for each in recording.translations()]
    assert outcomes == [Outcome.COMPILED, Outcome.FAILED, Outcome.COMPILED]
    assert len(recording.graph_breaks()) == 1
    inlined = {
        recording.code(frame.code).qualname
        for each in recording.translations()
        for attempt in recording.attempts(each.id)
        for frame in recording.frames(attempt.id)
    }
    assert {"Sine.forward", "Broken.forward"} <= inlined
    recording.close()


def test_compilation_ahead_of_time_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.stepper"
    # torch 2.11 has to be asked for it.
    asked = {"enable_aot_compile": True} if torch.__version__.startswith("2.11.") else {}
    with stepper.record(path, lookups=True, execute=True), torch._dynamo.config.patch(asked):
        compiled: Any = torch.compile(double, fullgraph=True, backend="eager")
        made = compiled.aot_compile(((torch.ones(3),), {}))
        assert made(torch.ones(3)).tolist() == [4.0, 4.0, 4.0]
        assert torch.compile(double, backend="eager")(torch.ones(3)).tolist() == [4.0, 4.0, 4.0]
    recording = recorded(path)
    translated = [each for each in recording.translations() if each.phase is Phase.TRANSLATE]
    assert [(each.name, each.outcome) for each in translated] == [("double", Outcome.COMPILED)] * 2
    recording.close()


def ahead_of_time() -> Any:
    # torch 2.11 has to be asked for it.
    asked = {"enable_aot_compile": True} if torch.__version__.startswith("2.11.") else {}
    with torch._dynamo.config.patch(asked):
        compiled: Any = torch.compile(double, fullgraph=True, backend="eager")
        return compiled.aot_compile(((THREE,), {}))


@pytest.mark.evaluator_out
@pytest.mark.parametrize("lookups", [False, True])
def test_a_function_that_was_compiled_ahead_of_time(tmp_path: Path, *, lookups: bool) -> None:
    saved = tmp_path / "double.aot"
    ahead_of_time().save_compiled_function(str(saved))
    path = tmp_path / "a.stepper"
    with stepper.record(path, lookups=lookups):
        with saved.open("rb") as file:
            loaded = torch.compiler.load_compiled_function(file)
        assert loaded(THREE).tolist() == [4.0, 4.0, 4.0]
        with pytest.raises(RuntimeError, match="GuardManager check failed"):
            loaded(torch.ones(5))
    recording = recorded(path)
    assert skips(recording)[0].startswith(f"double: ({__file__}:")
    assert "loaded as it was compiled ahead of time" in skips(recording)[0]
    (failure,) = recording.failures()
    assert failure.name == "double"
    assert failure.message.endswith("TENSOR_MATCH L['x']: shape[0] 3 ≠ 5")
    walks = [(each.phase, each.name, each.outcome) for each in recording.translations()]
    ends = [Outcome.HIT, Outcome.SKIPPED] if lookups else [Outcome.SKIPPED]  # an error is told
    assert bool(recording.lookups()) is lookups
    assert walks == [(Phase.LOOKUP, "double", end) for end in ends]
    if lookups:
        hit = recording.events(kinds=(EventKind.HIT,))
        assert [event.moment for event in hit] == [recording.translations()[0].last_moment]
    recording.close()


@pytest.mark.evaluator_out
def test_a_call_that_a_package_of_precompiled_code_serves(tmp_path: Path) -> None:
    store = InMemoryDynamoStore()
    made: Any = CompilePackage(double)
    torch._dynamo.optimize("eager", package=made)(double)(THREE)
    for backend_id, backend in made.cached_backends.items():
        store.record_eager_backend(backend_id, backend)
    store.save_package(made, "double")
    torch._dynamo.reset()
    path = tmp_path / "a.stepper"
    with stepper.record(path, lookups=True):
        loaded, backends = store.load_package(double, "double")
        compiled = torch._dynamo.optimize("eager", package=loaded)(double)
        loaded.install(backends)
        assert compiled(THREE).tolist() == [4.0, 4.0, 4.0]
        compiled(THREE)
        (entry,) = stepper.cache.list(double)
        assert entry.facts.loaded.startswith(f"loaded at {__file__}:")
    loaded.uninstall()
    recording = recorded(path)
    assert "loaded from a package of precompiled code" in skips(recording)[0]
    walks = [(each.phase, each.name, each.outcome) for each in recording.translations()]
    assert walks == [(Phase.LOOKUP, "double", Outcome.HIT)] * 2
    recording.close()


REFUSED = """
import contextlib
import torch
from torch._dynamo.package import CompilePackage, InMemoryDynamoStore

def double(x):
    return x * 2

store, made = InMemoryDynamoStore(), CompilePackage(double)
torch._dynamo.optimize("eager", package=made)(double)(torch.ones(3))
for backend_id, backend in made.cached_backends.items():
    store.record_eager_backend(backend_id, backend)
store.save_package(made, "double")
torch._dynamo.reset()
loaded, backends = store.load_package(double, "double")
compiled = torch._dynamo.optimize("eager", package=loaded)(double)
loaded.install(backends)
with torch.compiler.set_stance("fail_on_recompile"), contextlib.suppress(RuntimeError):
    compiled(torch.ones(5))
"""


@pytest.mark.slow
def test_a_call_that_a_package_does_not_serve(tmp_path: Path) -> None:
    """In a program of its own: torch does not take its evaluator out again after this error."""
    path, script = tmp_path / "a.stepper", tmp_path / "program.py"
    script.write_text(REFUSED)
    subprocess.run(
        ready.stepper("record", "--lookups", "-o", path, script),
        cwd=tmp_path, env=clean_environment(), capture_output=True, check=True, timeout=600,
    )  # fmt: skip
    recording = recorded(path)
    (failed,) = failures(recording)
    assert failed.lookup is not None
    assert failed.lookup.reason.endswith("precompiled: TENSOR_MATCH L['x']: shape[0] 3 ≠ 5")
    recording.close()


_NUMBERED = re.compile(r"__compiled_fn_\d+_[0-9a-f_]+|__builtins_dict___\d+|\d{12,}")


def without_numbers(value: Any) -> Any:
    """What was saved, without what differs from one run to the next: addresses, hashes, counters
    and random names."""
    if type(value) is int:
        return abs(value) > 2**32 or value
    if type(value) is not bytes:
        return _NUMBERED.sub("", value) if type(value) is str else value
    value = value.removeprefix(b"PT2AOT\x01")  # torch 2.15 writes what it is before the pickle
    if not value.startswith((b"\x80\x04", b"\x80\x05")):
        return _NUMBERED.sub("", value.decode("latin-1"))
    found = pickletools.genops(value)  # some of it are sets, whose order differs, too
    return sorted(f"{op.name} {without_numbers(arg)}" for op, arg, _ in found if op.name != "FRAME")


def saved_ahead_of_time() -> Any:
    compiled = ahead_of_time()
    return without_numbers(type(compiled).serialize(compiled).serialized_data)


def saved_export(*, strict: bool) -> Any:
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(Sine(), (THREE,), strict=strict), buffer)
    with zipfile.ZipFile(buffer) as archive:
        return {each: without_numbers(archive.read(each)) for each in archive.namelist()}


SAVED: dict[str, Callable[[], Any]] = {
    "aot": saved_ahead_of_time,
    "strict": lambda: saved_export(strict=True),
    "not strict": lambda: saved_export(strict=False),
}


@pytest.mark.parametrize("save", SAVED.values(), ids=list(SAVED))
def test_what_is_saved_is_the_same_when_it_is_watched(
    tmp_path: Path, save: Callable[[], Any]
) -> None:
    save()  # the first time, torch adds to this module's globals what the next time it saves
    found = []
    for watched in (False, True, False):
        torch._dynamo.reset()
        with contextlib.ExitStack() as stack:
            if watched:
                path = tmp_path / "a.stepper"
                stack.enter_context(stepper.record(path, lookups=True, execute=True))
            found.append(save())
    alone, with_us, again = found
    assert alone == with_us == again


sessions: list[Any] = []


def begin_session(context: object) -> None:
    sessions[-1].__enter__()


class Begins(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        comptime(begin_session)
        return x.sin() + 1


def test_a_session_that_begins_in_an_export_joins_it(tmp_path: Path) -> None:
    path = tmp_path / "a.stepper"
    sessions.append(stepper.record(path))
    torch.export.export(Begins(), (torch.ones(3),), strict=True)
    sessions.pop().__exit__()
    recording = recorded(path)
    assert [each.outcome for each in recording.translations()] == [Outcome.COMPILED]
    recording.close()


STANCES = ["fail_on_recompile", "eager_on_recompile", "force_eager"]


@pytest.mark.parametrize("stance", STANCES)
def test_a_stance_and_what_comes_of_it(tmp_path: Path, stance: str) -> None:
    compiled = torch.compile(double, backend="eager")
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        compiled(torch.ones(3))
        with torch.compiler.set_stance(stance):
            compiled(torch.ones(3))
            if stance == "fail_on_recompile":
                with pytest.raises(RuntimeError, match="fail_on_recompile"):
                    compiled(torch.ones(3, dtype=torch.float64))
            else:
                compiled(torch.ones(3, dtype=torch.float64))
    recording = recorded(path)
    said = [event.text for event in recording.events(kinds=(EventKind.SKIP,))]
    assert len([text for text in said if text.startswith(f"stance {stance!r} set at ")]) == 1
    refused = [text for text in said if text.startswith("double: ")]
    assert len(refused) == (stance == "fail_on_recompile")
    recording.close()


def test_a_function_that_may_only_run_what_is_there(tmp_path: Path) -> None:
    compiled = torch.compile(double, backend="eager")
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        compiled(torch.ones(3))
        for _ in range(2):
            torch._dynamo.run(compiled)(torch.ones(3, dtype=torch.float64))
    recording = recorded(path)
    (said,) = skips(recording)  # once
    assert said.startswith(f"torch._dynamo.run asked for at {__file__}:")
    recording.close()


@pytest.mark.parametrize("limit", ["recompile_limit", "accumulated_recompile_limit"])
def test_a_frame_whose_limit_is_reached_is_told_with_the_limit(tmp_path: Path, limit: str) -> None:
    compiled = torch.compile(double, backend="eager", dynamic=False)
    path = tmp_path / "a.stepper"
    with stepper.record(path), torch._dynamo.config.patch({limit: 1}):
        for size in (3, 4, 5, 6):
            compiled(torch.ones(size))
    recording = recorded(path)
    (said,) = skips(recording)
    assert said.endswith(f": {limit}")
    assert [each.outcome for each in recording.translations()] == [
        Outcome.COMPILED,
        Outcome.SKIPPED,
    ]
    assert limit in recording.translations()[-1].reason
    recording.close()


def test_a_lookup_that_may_not_compile_leaves_the_guard_that_failed(tmp_path: Path) -> None:
    compiled = torch.compile(double, backend="eager")
    path = tmp_path / "a.stepper"
    with stepper.record(path, lookups=True):
        compiled(torch.ones(3))
        with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError):
            compiled(torch.ones(3, dtype=torch.float64))
    recording = recorded(path)
    lookup = [each for each in recording.translations() if each.phase is Phase.LOOKUP][-1]
    assert lookup.outcome is Outcome.SKIPPED
    events = recording.events(kinds=(EventKind.GUARD_FAIL, EventKind.SKIP))
    failed, why = [event.text for event in events if event.moment >= lookup.first_moment]
    assert "dtype float32 ≠ float64" in failed
    assert why.startswith("double: torch.compiler's stance is 'fail_on_recompile'")
    recording.close()
