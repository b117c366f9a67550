"""What lookups found: the entries that they tried, and what each check said.

A tried entry is one row, found by the moment before it was tried; the guards that its checks speak
of are a row of their own, shared by all lookups that tried that entry.
"""

from __future__ import annotations

import msgspec

from stepper.model.lookup import CheckedGuard, TriedEntry
from stepper.model.trace import Attempt
from stepper.recording.database import Database, damaged
from stepper.recording.packing import all_unpacked, unpacked

_LARGEST = 2**63 - 1


class Lookups:
    """Reads tried entries, and remembers guard programs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._programs: dict[int, tuple[CheckedGuard, ...]] = {}
        self._program_decoder = msgspec.msgpack.Decoder(tuple[CheckedGuard, ...])
        self._tried_decoder = msgspec.msgpack.Decoder(TriedEntry)

    def again(self, attempt: Attempt, original: Attempt, later: int) -> list[TriedEntry]:
        """What `tried` says of a lookup that repeats another one, whose moments are `later`."""
        return [_later(each, attempt.id, later) for each in self.tried(original)]

    def tried(self, attempt: Attempt) -> list[TriedEntry]:
        """The entries that a lookup tried, in order; `attempt`: its only one.

        Raises:
            RecordingError: the recording is damaged.
        """
        last = _LARGEST if attempt.last_moment is None else attempt.last_moment
        rows = self._database.query(
            tuple[bytes],
            "SELECT body FROM tried WHERE moment BETWEEN ? AND ? ORDER BY moment",
            (attempt.first_moment, last),
        )
        found = all_unpacked(self._database, self._tried_decoder, (body for (body,) in rows))
        mine = [each for each in found if each.attempt == attempt.id]
        for each in mine:
            places = len(self.program(each.code))
            if any(not 0 <= check.place < places for check in (*each.checks, *each.behind)):
                raise damaged(self._database.path, f"moment {each.moment} checks no guard")
        return mine

    def program(self, code: int) -> tuple[CheckedGuard, ...]:
        """The guards that the instructions of a code stand for; empty: it is no entry's.

        Raises:
            RecordingError: the recording is damaged.
        """
        if code not in self._programs:
            row = self._database.one(
                tuple[bytes], "SELECT body FROM guard_program WHERE code = ?", (code,)
            )
            self._programs[code] = (
                () if row is None else unpacked(self._database, self._program_decoder, row[0])
            )
        return self._programs[code]


def _later(entry: TriedEntry, attempt: int, moments: int) -> TriedEntry:
    checks = tuple(check.at(check.moment + moments) for check in entry.checks)
    return msgspec.structs.replace(
        entry, moment=entry.moment + moments, attempt=attempt, checks=checks
    )
