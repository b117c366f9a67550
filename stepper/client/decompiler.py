"""Turns bytecode into Python: a program of its own, started by `stepper.client.decompiling`.

It reads marshalled code from its input and writes source to its output. depyf imports torch when it
can and needs it only for what is not asked of it here; so it cannot.
"""

from __future__ import annotations

import contextlib
import marshal
import re
import signal
import sys

NOT_INSTALLED = 3
"""Exit status where there is no depyf."""

_MEMORY = 2 << 30
"""Bytes that it may use."""
_OBJECT = re.compile(r"""(['"])⟨([^⟨⟩]*)⟩\1""")


def main() -> int:
    """Decompile standard input. Whoever started it may be gone, so it ends by itself, too."""
    # Windows has neither of these: there it ends when it is done.
    with contextlib.suppress(AttributeError):
        signal.alarm(int(float(sys.argv[1])) + 1)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.modules["torch"] = None  # type: ignore[assignment]  # so an import of it fails
    try:
        import depyf
    except ImportError:
        return NOT_INSTALLED
    text = depyf.decompile(marshal.loads(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(_OBJECT.sub(r"⟨\2⟩", text).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
