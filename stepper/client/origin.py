"""Where a recording comes from: whether this user, on this machine, started what it says was run.

Anybody can write into a recording that user 1000 ran `python train.py`. So whoever starts a program
seals its command line with a key that only this user can read, and the seal is recorded. A seal
that fits shows that the very command was started by hand in that folder before. A recording without
one may be honest, of another machine for instance, but nothing in it shows that.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from stepper.client.paths import state_directory
from stepper.model.trace import Origin, SessionFacts
from stepper.support.system import user

_LENGTH = 32
"""Bytes of the key."""


def origin_of(argv: Sequence[str], *, folder: str, engine: str, program: str) -> Origin:
    """What a program that is about to be started from here is given to record.

    Args:
        argv: the whole command line.
        folder: the one that it is started in.
        engine: the name of the engine.
        program: path of the file that is run; empty: none was found.
    """
    facts = SessionFacts(
        argv=tuple(argv),
        cwd=folder,
        engine=engine,
        hash_seed=os.environ.get("PYTHONHASHSEED", ""),
    )
    origin = Origin(user(), socket.gethostname(), digest(program))
    key = _key(make=True)
    return msgspec.structs.replace(origin, seal=_seal(key, facts, origin) if key else "")


def foreign(facts: SessionFacts, path: str) -> str:
    """Why a recording is not taken for this user's own of this machine; empty: it is.

    Args:
        facts: those of the recording.
        path: of its file.
    """
    origin = facts.origin
    try:
        owner = os.stat(path).st_uid
    except OSError:
        return "its file is gone"
    if owner != user():
        return f"its file belongs to user {owner}"
    if origin is None:
        return "it does not say who made it"
    if origin.user != user():
        return f"it was made by user {origin.user} of {origin.host}"
    if origin.host != socket.gethostname():
        return f"it was made on another machine, {origin.host}"
    key = _key(make=False)
    if not key or not hmac.compare_digest(_seal(key, facts, origin).encode(), origin.seal.encode()):
        return "nothing shows that it was made by you on this machine"
    return ""


def digest(path: str) -> str:
    """SHA-256 of a file, in hexadecimal; empty when there is none that can be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _seal(key: bytes, facts: SessionFacts, origin: Origin) -> str:
    what = (
        facts.argv,
        facts.cwd,
        facts.engine,
        facts.hash_seed,
        origin.user,
        origin.host,
        origin.program,
    )
    return hmac.new(key, repr(what).encode(errors="backslashreplace"), hashlib.sha256).hexdigest()


def _key(*, make: bool) -> bytes:
    """This user's key; empty when there is none, or it could not be made."""
    path = state_directory() / "key"
    with contextlib.suppress(OSError):
        if make:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make_key(path)
        owner = path.stat()
        # A key that others can read or write shows nothing.
        if owner.st_uid == user() and not owner.st_mode & 0o077:
            key = path.read_bytes()
            return key if len(key) == _LENGTH else b""
    return b""


def _make_key(path: Path) -> None:
    """Make the key, unless there is one: whole or not at all."""
    if path.exists():
        return
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=".key.")
    try:
        with open(number, "wb") as file:
            file.write(secrets.token_bytes(_LENGTH))
        with contextlib.suppress(FileExistsError):  # somebody else was faster
            os.link(temporary, path)
    finally:
        os.unlink(temporary)
