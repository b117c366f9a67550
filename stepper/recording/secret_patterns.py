"""What secrets look like, and what they are called: the patterns of `stepper.recording.secrets`."""

from __future__ import annotations

import re

from stepper._C import FOLLOWS_ANYTHING, FOLLOWS_RANDOM, FOLLOWS_VALUE

ANYTHING, RANDOM, VALUE = FOLLOWS_ANYTHING, FOLLOWS_RANDOM, FOLLOWS_VALUE
"""What must follow a pattern of the sieve: anything, letters and digits that look random, or what
ends a name."""

NAMES = (
    "password", "passwords", "passwd", "passphrase", "secret", "secrets", "token", "credential",
    "credentials", "authorization", "apikey", "api_key", "api-key", "accesskey", "access_key",
    "access-key", "secretkey", "secret_key", "secret-key", "privatekey", "private_key",
    "private-key",
)  # fmt: skip
NOT_SECRET = frozenset(
    {
        "added", "additional", "audio", "begin", "bos", "cls", "current", "doc", "end", "eos",
        "eot",
        "first", "image", "img", "input", "last", "mask", "new", "next", "output", "pad", "padding",
        "prev", "previous", "prompt", "sep", "special", "start", "stop", "text", "unk", "video",
        "vision", "word",
    }
)  # fmt: skip
"""What a token of a text is called by: `eos_token`."""
VARIABLE_NAMES = re.compile(r"(?i)(key|pass|pwd|auth|cred|dsn|cookie)$")
"""How variables of the environment that hold a secret end, besides."""
SETTINGS = re.compile(
    r"(LANG|LANGUAGE|TERM|COLORTERM|SHELL|PATH|PWD|OLDPWD|HOME|USER|LOGNAME|SHLVL|TZ|EDITOR|PAGER|_"
    r"|(LC|PYTHON|TORCH|CUDA|NCCL|OMP|MKL|KMP)\w*)$"
)
"""Variables whose values are words that a recording is full of."""

NAME_PATTERN = "|".join(sorted(map(re.escape, NAMES), key=len, reverse=True))
FROM_ENVIRONMENT = (
    r"(?:\._data|\benvironb?)\[b?(?P<key>['\"])(?P<variable>(?:\\.|(?!(?P=key)).)*)(?P=key)\]"
    r"(?:\.decode(?:\([^()]*\))?)?"
)
ENVIRONMENT = re.compile(FROM_ENVIRONMENT)
_LITERAL = r"(?:\\.|(?!(?P={0})|['\"]…).)"
_FIRST = "".join(sorted({letter for name in NAMES for letter in (name[0], name[0].upper())}))
_REST = "|".join(sorted({re.escape(name[1:]) for name in NAMES}, key=len, reverse=True))
# Only a pattern that begins with a set of characters is looked for quickly, and that of ignored
# case is none. What has another first letter is no name, as is asked for each that is found.
_GIVEN = rf"""(?isx:
    (?: \s* (?: (?::[^=\n'"]{{0,40}})? ={{1,2}} | != | \bis\b | \bin\b ) \s*
      | (?:\s of \s \S+?)? \s* : \s* (?:value\s)? | \s{{2}} )
    (?: \( \s* )? [bruf]{{0,2}} (?P<quote>\'\'\'|\"\"\"|['"])
    (?P<value> {_LITERAL.format("quote")}{{1,8192}} )
    (?: (?P=quote) \s≠\s
        [bruf]{{0,2}} (?P<other>['"]) (?P<differs> {_LITERAL.format("other")}{{1,8192}} ) )? )"""
NAMED = re.compile(rf"(?P<name>[{_FIRST}](?i:{_REST}))['\"]?\]?{_GIVEN}")
READ = re.compile(rf"{FROM_ENVIRONMENT}{_GIVEN}")
"""What is given under the name of a secret, and what under that of a variable."""
CUT = r"['\"]?(?:…|\.\.\.)"
"""How a text says that there was more of it."""
OPTION = re.compile(rf"(?i)((?<![\w-])\w*-[\w-]*(?:{NAME_PATTERN})[= ])([^\s'\"]+)")
KEYS = re.compile(
    r"\b(?:sk|rk|pk)[-_](?:(?:live|test|proj|ant|or|svcacct)[-_])*[A-Za-z0-9_-]{16,}"
    # Dynamo makes names of what a value is reached through, joined by underscores, and those of
    # nodes in small letters.
    r"|(?<=_)(?:sk|rk|pk)[-_](?:(?:live|test|proj|ant|or|svcacct)[-_])*"
    r"(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}"
    r"|(?<![^\W_])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|hf_[A-Za-z0-9]{16,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|(?:akia|asia)(?=[a-z]*\d)[a-z0-9]{12,}"
    r"|xox[a-z]-[\w-]{10,}|AIza[\w-]{20,}"
    rf"|npm_[A-Za-z0-9]{{16,}}|pypi-[\w-]{{16,}}|eyJ[\w-]{{8,}}(?:(?:\.[\w-]*)+|(?={CUT})))"
    rf"|(?<=[Bb]earer )(?:[\w.~+/=-]{{8,}}|[\w.~+/=-]+?(?={CUT}))"
    rf"|(?<=[Bb]asic )(?:[\w+/=-]{{8,}}|[\w+/=-]+?(?={CUT}))"
    rf"|(?<=://)(?:[^\s/@'\"]{{1,256}}(?=@)|[^\s/@'\":]+:[^\s/@'\"]{{0,256}}?(?={CUT}))"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    re.DOTALL,
)
KEY_PATTERNS = (
    (b"sk-", RANDOM), (b"sk_", RANDOM), (b"rk_", RANDOM), (b"pk_", RANDOM),
    (b"sk-proj-", ANYTHING), (b"sk-ant-", ANYTHING), (b"sk-or-", ANYTHING),
    (b"sk-svcacct-", ANYTHING), (b"_live_", RANDOM), (b"_test_", RANDOM), (b"ghp_", RANDOM),
    (b"gho_", RANDOM), (b"ghu_", RANDOM), (b"ghs_", RANDOM), (b"ghr_", RANDOM),
    (b"github_pat_", ANYTHING), (b"glpat-", ANYTHING), (b"hf_", RANDOM), (b"AKIA", RANDOM),
    (b"ASIA", RANDOM), (b"akia", RANDOM), (b"asia", RANDOM), (b"xox", ANYTHING),
    (b"AIza", ANYTHING), (b"npm_", RANDOM), (b"_proj_", RANDOM), (b"_ant_", RANDOM),
    (b"_svcacct_", RANDOM), (b"pypi-", ANYTHING), (b"eyJ", ANYTHING),
    (b"earer ", ANYTHING), (b"asic ", ANYTHING), (b"://", ANYTHING),
    (b"PRIVATE KEY-----", ANYTHING),
)  # fmt: skip
BEGINS, ENDS = "-----BEGIN ", "-----END "
