"""A text that comes in pieces, and is written as if it had come at once.

A secret that is cut into two is none any more: neither piece looks like one. So what could be the
beginning of one waits until it is seen how it goes on, or that it does not.

What waits is a whole line that is not at its end, where something in it begins as a secret does:
nearly all secrets stand in one line. What may run over several, a private key or what stands in
quotes after the name of a secret, waits from the line where it begins. What never ends is no
secret: `_MOST` characters are waited for. What of an unfinished line was written is looked at again
when the rest comes, since what stands before something says what it is: `eos_` before `token`.
"""

from __future__ import annotations

import re

from stepper.recording.secret_patterns import FROM_ENVIRONMENT, KEY_PATTERNS, NAME_PATTERN, NAMES
from stepper.recording.secrets import Secrets

_MOST = 32_768

_BEGINNINGS = frozenset(
    (
        *NAMES, *(text.decode().lower() for text, _ in KEY_PATTERNS), "bearer ", "basic ",
        "-----begin ", "._data[", "environ[", "environb[",
    )
)  # fmt: skip
_OPEN = re.compile(
    rf"""(?isx)
    (?: (?: {NAME_PATTERN} ['"]? \]? | {FROM_ENVIRONMENT} )
        \s*+ (?: (?: :[^=\n'"]{{0,40}} )? =* | ! | != | i | is | in | (?<=\s) of \s \S* )
        \s*+ (?: : \s*+ (?:value\s)? )? \s*+ (?: \( \s*+ )? [bruf]{{0,2}}
        (?: (?P<open>\'\'\'|\"\"\"|['"]) (?: \\. | (?!(?P=open)). ){{0,8192}} \\?
            (?: (?P=open) [^\n]* )? )?
      | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----
        (?: (?!-----END\ [A-Z\ ]*PRIVATE\ KEY-----). )*
    ) \Z
    """
)


class Pieces:
    """Pieces of one text on their way, each with the moment at which it came."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._waiting: list[tuple[int, str]] = []
        self._written = ""
        """What was written of the line that is not at its end."""

    def add(self, moment: int, text: str) -> list[tuple[int, str]]:
        """What can be written now that another piece has come."""
        self._waiting.append((moment, text))
        whole = self._written + "".join(text for _, text in self._waiting)
        end = self._settled(whole)
        if len(whole) - end > _MOST:
            end = len(whole)
        return self._taken(whole[:end])

    def rest(self) -> list[tuple[int, str]]:
        """What waits, since nothing more comes."""
        return self._taken(self._written + "".join(text for _, text in self._waiting))

    def _taken(self, whole: str) -> list[tuple[int, str]]:
        """Take what waits up to the end of `whole`, which begins with what was written."""
        left = len(whole) - len(self._written)
        if left <= 0:
            return []
        cleaned = self._secrets.text(whole)
        if cleaned.startswith(self._written):
            cleaned = cleaned[len(self._written) :]
        else:  # what was written so far is over: it was too much to wait for
            cleaned = self._secrets.text(whole[len(self._written) :])
        self._written = _last_line(whole)[-_MOST:]
        taken = []
        while left > 0:
            moment, text = self._waiting.pop(0)
            if len(text) > left:
                self._waiting.insert(0, (moment, text[left:]))
                text = text[:left]
            left -= len(text)
            # What was withheld has no place in a piece: it came when its end did.
            if left and cleaned.startswith(text):
                taken.append((moment, text))
                cleaned = cleaned[len(text) :]
        taken.append((moment, cleaned))
        return taken

    def _settled(self, text: str) -> int:
        """How much of a text that goes on is as it is, whatever comes."""
        end = len(text)
        if self._may_begin(_last_line(text)):
            end -= len(_last_line(text))
        if self._secrets.may_hold(text):
            found = _OPEN.search(text)
            if found is not None:
                end = min(end, found.start() - len(_last_line(text[: found.start()])))
        if end < len(text):
            self._secrets.text(text)  # what is learned late in it is known early in its parts
            cleaned = self._secrets.text(text)
            # Not in the midst of one that is whole: it may run over lines, and hold a name.
            while (
                end and self._secrets.text(text[:end]) + self._secrets.text(text[end:]) != cleaned
            ):
                end -= max(1, len(_last_line(text[: end - 1])))
        return end

    def _may_begin(self, line: str) -> bool:
        """Whether something in a line that is not at its end begins as a secret does."""
        if not line:
            return False
        line = line.lower()
        beginnings = _BEGINNINGS | {head.lower() for head in self._secrets.heads()}
        ends = {line[-length:] for length in range(1, max(map(len, beginnings)))}
        return any(
            beginning in line or any(beginning[:at] in ends for at in range(1, len(beginning)))
            for beginning in beginnings
        )


def _last_line(text: str) -> str:
    """What stands after the last end of a line."""
    return text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]
