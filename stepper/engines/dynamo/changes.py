"""What is to be tried with a program, made where it runs; see `stepper.engines.common.changes`.

A setting is a setting, made when the program imports the compiler. `dynamic=` is no more than two
of them, which a compiled function makes when it is called and takes back when it returns: so they
are made where it is about to be compiled.
"""

from __future__ import annotations

import builtins
import re
import sys
from types import CodeType
from typing import Any

import torch

from stepper.engines.common.changes import Pending
from stepper.engines.dynamo import versions
from stepper.engines.dynamo.choices import Choice
from stepper.model.change import Admit, Setting

_ALIAS = re.compile(r"G\['(__builtins_dict___\d+|__import_\w+)'\]")


class PendingChanges(Pending):
    """The changes that wait for Dynamo's next call, of one session."""

    def before_compiling(
        self, code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any]
    ) -> str:
        if self.dynamic:
            versions.assume_dynamic()
        return super().before_compiling(code, f_locals, f_globals)

    def set(self, setting: Setting) -> None:
        config = versions.CONFIGS[setting.of]
        if not hasattr(config, setting.name):
            super().set(setting)
        setattr(config, setting.name, setting.value)

    def call(self, code: CodeType, f_locals: dict[str, Any], f_globals: dict[str, Any]) -> Choice:
        return Choice(code, f_locals, f_globals, None)

    def aliases(self, source: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in _ALIAS.findall(source):
            module = name.removeprefix("__import_").replace("_dot_", ".")
            found[name] = vars(builtins) if module == name else sys.modules.get(module)
        return found

    def admit(self, called: Any, change: Admit) -> None:
        if change.way == "reorder":
            versions.reorder_calls_of(called)
        else:
            self.allow_in_graph(called)

    def allow_in_graph(self, called: Any) -> Any:
        return versions.allow_in_graph(called)

    def disable(self, function: Any) -> Any:
        return torch.compiler.disable(function)  # type: ignore[no-untyped-call]  # torch leaves it untyped
