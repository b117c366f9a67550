"""A whole engine: it watches the compiler that counts. Asked for as `toy_engine:ENGINE`."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from stepper._C import Facts
from stepper.debuggee.engine import Describer, Engine, EngineType, Recorder
from stepper.model.capabilities import Capabilities
from stepper.model.program import Code, Instruction, PythonFrame
from stepper.model.trace import Node, Outcome
from stepper.model.value import Value
from stepper.recording.packing import pack


class CountDescriber(Describer):
    def __init__(self, base: type) -> None:
        self.facts = Facts(self, base)

    def special(self, tracker: Any, fields: object, number: object) -> int:
        text = f"{tracker.times} × {tracker.opname}"
        return self.facts.id_of(pack(Value(cls="Count", type="int", text=text)), ())


class ToyEngine(Engine):
    def __init__(self) -> None:
        self.compiler: Any = sys.modules["toy_compiler"]
        self.codes: dict[object, Code] = {}

    def make_describer(self) -> CountDescriber:
        return CountDescriber(self.compiler.Count)

    def install(self, recorder: Recorder) -> None:
        super().install(recorder)
        self.catch_up()

    def catch_up(self) -> None:
        step = self.recorder.step if self.recorder.everything else self.recorder.note_position
        begins, ends = self.safely(self.begins), self.safely(self.ends)
        self.compiler.listener = SimpleNamespace(step=step, begins=begins, ends=ends)

    def uninstall(self) -> None:
        self.compiler.listener = None

    def namespace(self, frame: int | None) -> dict[str, object]:
        top = self.recorder.steps.top
        return {} if top is None else {"tx": top.key, "stack": list(top.key.stack)}

    def guard_code(self, guard: Any) -> tuple[str]:
        return (f"type({guard[0]}).__name__ == {guard[1]!r}",)

    def begins(self, translator: Any, types: tuple[str, ...]) -> None:
        code, caller = self.code(translator), sys._getframe(2)
        before = sum(known is translator.code for known, _ in self.compiler.compiled)
        at = PythonFrame(caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_qualname)
        self.translation = self.recorder.begin_translation(
            compile_id=f"{code.id}/{before}", code=code, cache_size=before, python_stack=(at,)
        )
        if before:
            self.recorder.recompiled(self.translation, f"the types are new: {', '.join(types)}")
        self.attempt = self.recorder.begin_attempt(self.translation)
        self.recorder.steps.top = self.recorder.enter(self.attempt, translator, self.code, None)
        for guard in zip(translator.code.co_varnames, types, strict=False):
            self.recorder.guard_now(self.attempt, guard, "COUNTED", f"L[{guard[0]!r}]", "local")

    def ends(self, count: int) -> None:
        steps, number = self.recorder.steps, next(self.recorder.node_ids)
        assert steps.top is not None
        made = Node(number, self.attempt.id, steps.moment, "", 1.0, "count", "call_function", "len")
        self.recorder.node(self.attempt, made, known=False)
        self.recorder.flush_pending()
        self.recorder.leave(steps.top)
        steps.top = None
        self.recorder.end_translation(self.translation, Outcome.COMPILED)

    def code(self, translator: Any) -> Code:
        code = translator.code
        if code not in self.codes:
            rows = [
                Instruction(at, row.opname, row.arg, row.argrepr, row.offset, row.positions.lineno)
                for at, row in enumerate(translator.instructions)
            ]
            place = code.co_name, code.co_qualname, code.co_filename, code.co_firstlineno
            self.codes[code] = Code(len(self.codes) + 1, *place, tuple(rows))
            self.recorder.store_code(self.codes[code])
        return self.codes[code]


ENGINE = EngineType("toy_compiler", Capabilities(compile="toy_compiler.compile"), ToyEngine)
