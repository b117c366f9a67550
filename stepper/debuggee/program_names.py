"""The program's own names, for what is evaluated at a stop.

Expressions speak first of what the debugger shows (`stack`, `locals`, …), then of the names that
the program has where it stands: the locals and globals of its innermost frame, and, since that may
be in a library, the globals of its main module. They are looked up when they are used, so nothing
of the program's is held, and deleting a global deletes it in the program: `del scaler;
gc.collect()` lets the object die, and what depends on it. A local of the frame that is traced has
no value: its name alone means nothing, and not the program's variable that is called the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from stepper._C import frame_locals


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
    if frame.f_code.co_flags & 0x01:  # CO_OPTIMIZED: variables are in slots
        return frame_locals(frame)
    return frame.f_locals


def _main_globals() -> dict[str, object]:
    main = sys.modules.get("__main__")
    return {} if main is None else main.__dict__


class ProgramNames(dict[str, object]):
    """A namespace in front of a frame's."""

    def __init__(self, names: dict[str, object], frame: FrameType | None) -> None:
        super().__init__(names)
        self._frame = frame

    def __missing__(self, name: str) -> object:
        known = self.get("locals")
        if type(known) is dict and name in known:
            if "tx" not in self:
                return known[name]
            # The program's own variable of that name would be another one.
            raise NameError(
                f"{name!r} is a local of the frame that is traced, and has no value there: "
                f"locals[{name!r}] is its tracker"
            )
        frame = self._frame
        if frame is not None:
            for names in (locals_of(frame), frame.f_globals, _main_globals()):
                if name in names:
                    return names[name]
        raise KeyError(name)

    def __delitem__(self, name: str) -> None:
        frame = self._frame
        if name in self or frame is None:
            super().__delitem__(name)
        elif frame.f_code.co_flags & 0x01 and name in frame_locals(frame):
            raise NameError(
                f"{name!r} is a local variable of {frame.f_code.co_qualname}(), which cannot be "
                "deleted from outside"
            )
        elif name in frame.f_globals:
            del frame.f_globals[name]
        else:
            del _main_globals()[name]
