"""What a process waits for in vain: that it slept, or waited for something until time was up.

Not by the clock: a library that is loaded before the C library's own functions notes each such
call. So a wait is seen that is short here and long elsewhere, and one of ten seconds costs no test
that long where it is not there.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

/* Opened each time: the program may have closed all that is open. */
static void note(const char *what)
{
    const char *path = getenv("NOTED_WAITS");
    int saved = errno, file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (file >= 0) {
        dprintf(file, "%s\n", what);
        close(file);
    }
    errno = saved;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int nanosleep(const struct timespec *t, struct timespec *rest)
{
    REAL(nanosleep);
    if (t->tv_sec || t->tv_nsec) note("nanosleep");
    return real(t, rest);
}

int clock_nanosleep(clockid_t c, int flags, const struct timespec *t, struct timespec *rest)
{
    REAL(clock_nanosleep);
    if (t->tv_sec || t->tv_nsec) note("clock_nanosleep");
    return real(c, flags, t, rest);
}

int usleep(useconds_t t)
{
    REAL(usleep);
    if (t) note("usleep");
    return real(t);
}

int poll(struct pollfd *files, nfds_t count, int timeout)
{
    REAL(poll);
    int found = real(files, count, timeout);
    if (!found && timeout) note("poll");
    return found;
}

int select(int count, fd_set *r, fd_set *w, fd_set *x, struct timeval *timeout)
{
    REAL(select);
    int waits = timeout && (timeout->tv_sec || timeout->tv_usec);
    int found = real(count, r, w, x, timeout);
    if (!found && waits) note("select");
    return found;
}

int sem_timedwait(sem_t *s, const struct timespec *until)
{
    REAL(sem_timedwait);
    int done = real(s, until);
    if (done && errno == ETIMEDOUT) note("sem_timedwait");
    return done;
}

int sem_clockwait(sem_t *s, clockid_t c, const struct timespec *until)
{
    REAL(sem_clockwait);
    int done = real(s, c, until);
    if (done && errno == ETIMEDOUT) note("sem_clockwait");
    return done;
}
"""


class Waits:
    """Notes what the processes wait for in vain that are started with `env`."""

    def __init__(self, folder: Path) -> None:
        source, library = folder / "waits.c", folder / "waits.so"
        source.write_text(_SOURCE)
        command = ["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
        self._noted = folder / "waits.txt"
        self.env = {"LD_PRELOAD": str(library), "NOTED_WAITS": str(self._noted)}

    def take(self) -> list[str]:
        """The functions that were called since the last time."""
        if not self._noted.exists():
            return []
        noted = self._noted.read_text().split()
        self._noted.unlink()
        return noted
