"""The program's own names, for what is evaluated at a stop.

Expressions speak first of what the debugger shows (`stack`, `locals`, …), then of the names that
the program has where it stands: the locals of its innermost frame, what was assigned at stops, the
frame's globals and, since that may be in a library, those of its main module. They are looked up
when they are used, so nothing of the program's is held, and deleting a global deletes it in the
program: `del scaler; gc.collect()` lets the object die, and what depends on it. A local of the
frame that is traced has no value: its name alone means nothing, and not the program's variable that
is called the same.

An assignment does what it does in pdb: in the frame of a module it assigns the program's variable,
in a function it makes a name that further stops know, and with `global` it assigns the program's.
What pdb would change and nobody can from here, a local of a function that runs or is traced, is
refused before anything of it is done.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType

from stepper._C import frame_locals
from stepper.support.disassembly import disassemble


def program_frame(is_program: Callable[[str], bool]) -> FrameType | None:
    """The innermost frame of the program in this thread, without ours and the compiler's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        # Generated code has no file of its own, but lives in a module; torch makes some without.
        name = frame.f_globals.get("__name__", "")
        filename = frame.f_code.co_filename
        other = type(name) is str and name.partition(".")[0] in ("stepper", "torch")
        other = other or (filename == "<string>" and name == "")
        if not other and is_program(filename):
            return frame
        frame = frame.f_back
    return None


def locals_of(frame: FrameType) -> dict[str, object]:
    """A frame's variables as they are now; those of a module are its globals."""
    if _has_slots(frame):
        return frame_locals(frame)
    return frame.f_locals


def _has_slots(frame: FrameType) -> bool:
    """Whether its variables are in slots: a function's."""
    return bool(frame.f_code.co_flags & 0x01)  # CO_OPTIMIZED


def _main_globals() -> dict[str, object]:
    main = sys.modules.get("__main__")
    return {} if main is None else main.__dict__


class ProgramNames(dict[str, object]):
    """A namespace in front of a frame's."""

    def __init__(
        self,
        names: dict[str, object],
        frame: FrameType | None,
        kept: dict[str, object] | None = None,
    ) -> None:
        """
        Args:
            names: what the debugger shows, by its names.
            frame: the program's innermost one.
            kept: what was assigned at stops.
        """
        super().__init__(names)
        self._names = names
        self._frame = frame
        self._globals = {} if frame is None else frame.f_globals
        self._kept = {} if kept is None else kept
        self._declared: frozenset[str] = frozenset()
        """Names that the source declares to be the program's own."""

    def __missing__(self, name: str) -> object:
        if name in self._traced:
            if "tx" not in self:
                return self._traced[name]
            # The program's own variable of that name would be another one.
            raise NameError(
                f"{name!r} is a local of the frame that is traced, and has no value there: "
                f"locals[{name!r}] is its tracker"
            )
        own = {} if self._frame is None else locals_of(self._frame)
        for names in (own, self._kept, self._globals, _main_globals()):
            if name in names:
                return names[name]
        raise KeyError(name)

    def __delitem__(self, name: str) -> None:
        frame = self._frame
        if name in self:
            super().__delitem__(name)
        elif frame is not None and _has_slots(frame) and name in frame_locals(frame):
            raise NameError(
                f"{name!r} is a local variable of {frame.f_code.co_qualname}(), which cannot be "
                "deleted from outside"
            )
        elif name in self._kept:
            del self._kept[name]
        elif name in self._globals:
            del self._globals[name]
        else:
            del _main_globals()[name]

    @property
    def _traced(self) -> dict[str, object]:
        known = self.get("locals")
        return known if type(known) is dict else {}

    def why_not(self, source: str) -> str:
        """Why a source is not to be run: it assigns what cannot be assigned from here; empty: it
        may be.

        Raises:
            SyntaxError: it is none.
        """
        code = compile(source, "<evaluate>", "exec")
        self._declared = _declared_global(source)
        frame = self._frame
        running = None if frame is None or not _has_slots(frame) else frame.f_code
        for name in dict.fromkeys(_assigned(code)):
            if name in self._traced:
                return self._local(name)
            if name in self._names:
                return (
                    f"{name!r} is a name of the debugger's, and stays what it is: nothing was done"
                )
            if name in self._declared or running is None:
                continue
            if name in running.co_varnames + running.co_cellvars + running.co_freevars:
                return (
                    f"{name!r} is a local variable of {running.co_qualname}(), which cannot be "
                    "assigned from outside: nothing was done"
                )
        return ""

    def _local(self, name: str) -> str:
        if "tx" not in self:
            return (
                f"{name!r} is a local of the frame that runs, which cannot be assigned from "
                "outside: nothing was done"
            )
        return (
            f"{name!r} is a local of the frame that is traced, which has a tracker and no value to "
            f"assign: nothing was done. With --engine native, `fork set {name} = …` goes on with "
            "another value"
        )

    def keep(self) -> tuple[bool, str]:
        """See to it that what was assigned lasts.

        Returns:
            Whether that was the program's own, and what is to be said.
        """
        new = {
            name: value
            for name, value in self.items()
            if name != "__builtins__"
            and (name not in self._names or self._names[name] is not value)
        }
        module = self._frame is not None and not _has_slots(self._frame)
        said = []
        ours = False
        for name, value in new.items():
            if self._frame is not None and (module or name in self._declared):
                self._globals[name] = value
                self._kept.pop(name, None)
                ours = True
                continue
            if name in self._globals and name not in self._kept:
                said.append(
                    f"{name} is new here, as a local would be: the program's global stays as it "
                    f"is; `global {name}; …` assigns that"
                )
            self._kept[name] = value
        # What was defined holds this namespace, and no frame has to live for that.
        self._frame, self._names = None, {}
        self.clear()
        return ours, "\n".join(said)


def _assigned(code: CodeType, *, inside: bool = False) -> Iterator[str]:
    """The names that a text assigns, imports or defines, but those of its functions."""
    for instruction in disassemble(code):
        if instruction.opname == "STORE_GLOBAL" or (
            instruction.opname == "STORE_NAME" and not inside
        ):
            yield str(instruction.argval)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _assigned(const, inside=True)


def _declared_global(source: str) -> frozenset[str]:
    nodes = ast.walk(ast.parse(source))
    return frozenset(name for node in nodes if isinstance(node, ast.Global) for name in node.names)
