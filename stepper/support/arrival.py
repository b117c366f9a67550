"""Acting when the program imports a module, without importing it ourselves.

The engine can only be installed once the compiler has been imported, and importing torch is the
program's business: a second or more, and in an order of its own. So a finder waits in
`sys.meta_path` for one module name, lets the import take its course, and acts when it is done.
After that nothing of it is left.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # a tenth of what the start of a session costs
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec


_finders: dict[str, _Finder] = {}


def when_imported(name: str, act: Callable[[], None]) -> Callable[[], None]:
    """Call `act` when module `name` has been imported; at once if it is.

    Returns a function that stops waiting. `act` must not raise: it would fail the import.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        act()
        return lambda: None
    # One finder for all who wait: two would ask each other for ever.
    finder = _finders.get(name)
    if finder is None:
        finder = _finders[name] = _Finder(name)
        sys.meta_path.insert(0, finder)
    return finder.wait(act)


class _Finder:
    def __init__(self, name: str) -> None:
        self._name = name
        self._acts: list[Callable[[], None]] = []

    def wait(self, act: Callable[[], None]) -> Callable[[], None]:
        self._acts.append(act)

        def stop() -> None:
            if act in self._acts:
                self._acts.remove(act)
            if not self._acts:
                self._go()

        return stop

    def _go(self) -> None:
        # An interrupt in the midst leaves no finder that nobody asks.
        if _finders.get(self._name) is self:
            del _finders[self._name]
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = cast("Loader", _Loader(spec, spec.loader, self))
                return spec
        return None

    def done(self) -> None:
        self._go()
        for act in tuple(self._acts):
            act()


class _Loader:
    """Loads as the module's own loader does, which it then puts back in its place."""

    def __init__(self, spec: ModuleSpec, loader: Loader, finder: _Finder) -> None:
        self._spec = spec
        self._loader = loader
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._spec.loader = self._loader
        module.__loader__ = self._loader
        # A failing import leaves us waiting: the program may try again.
        self._loader.exec_module(module)
        self._finder.done()
