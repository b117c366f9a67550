"""The pseudo-terminal that a program runs under: its screen, its keyboard and its size."""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import select
import struct
import threading

with contextlib.suppress(ImportError):  # Windows, where no program is started
    import fcntl
    import termios


class PseudoTerminal:
    """The master side. Reads and writes never block; whoever owns it waits with a selector.

    `write` may be called from any thread; everything else belongs to the reading thread.
    """

    def __init__(self, rows: int = 24, cols: int = 80, *, echo: bool = True) -> None:
        self.master, slave = os.openpty()
        try:
            self.name = os.ttyname(slave)
            if not echo:
                attributes = termios.tcgetattr(slave)
                attributes[3] &= ~termios.ECHO
                termios.tcsetattr(slave, termios.TCSANOW, attributes)
        except OSError:
            os.close(self.master)
            os.close(slave)
            raise
        self._slave: int | None = slave
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._outgoing = bytearray()
        self._writing = threading.Lock()
        os.set_blocking(self.master, False)
        self.resize(rows, cols)

    def release_slave(self) -> None:
        """Close our copy of the program's side, once the program has its own; until then the
        terminal would look hung up."""
        if self._slave is not None:
            os.close(self._slave)
            self._slave = None

    def resize(self, rows: int, cols: int) -> None:
        """Tell the program its window's size (SIGWINCH); nothing after `close`."""
        size = struct.pack("HHHH", max(rows, 1), max(cols, 1), 0, 0)
        with self._writing:
            if self.master >= 0:
                fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def read(self) -> str:
        """What the program has written by now; empty when there is nothing at the moment.

        Raises:
            EOFError: every process has closed the program's side.
        """
        try:
            data = os.read(self.master, 1 << 16)
        except BlockingIOError:
            return ""
        except OSError as error:
            # Linux says EIO where others say end of file.
            if error.errno not in (errno.EIO, errno.EBADF):
                raise
            data = b""
        if not data:
            raise EOFError
        return self._decoder.decode(data)

    def write(self, text: str) -> None:
        """Type text; what does not fit now is kept for `write_pending`."""
        with self._writing:
            self._outgoing += text.encode(errors="surrogateescape")
        self.write_pending()

    def write_pending(self) -> bool:
        """Hand over what the terminal takes; False when something is left."""
        with self._writing:
            while self._outgoing:
                try:
                    written = os.write(self.master, self._outgoing)
                except BlockingIOError:
                    return False
                except OSError:
                    # Nobody can read it any more.
                    self._outgoing.clear()
                    break
                del self._outgoing[:written]
            return True

    @property
    def pending(self) -> bool:
        """Whether typed text waits for the terminal to take it."""
        return bool(self._outgoing)

    @property
    def unread(self) -> int:
        """How many bytes of what was typed the program has not read; of a line that is not ended,
        none."""
        try:
            # Not ours to have as a controlling terminal, nor to wait for.
            slave = os.open(self.name, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return 0
        try:
            # What is written reaches the other side by a thread of the kernel, and is not counted
            # until then. To poll waits for that thread.
            poll = select.poll()
            poll.register(slave, select.POLLIN)
            poll.poll(0)
            (left,) = struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, bytes(4)))
        except OSError:
            return 0
        finally:
            os.close(slave)
        return int(left) + len(self._outgoing)

    @property
    def signals_on_interrupt(self) -> bool:
        """Whether Ctrl-C, typed, gives SIGINT: False while the program reads raw keys."""
        try:
            return bool(termios.tcgetattr(self.master)[3] & termios.ISIG)
        except (OSError, ValueError, termios.error):
            return False

    def close(self) -> None:
        """Hang up; a second time does nothing."""
        self.release_slave()
        with self._writing:
            master, self.master = self.master, -1
        if master >= 0:
            os.close(master)
