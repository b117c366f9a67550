"""Keys and the environment are not written, wherever they would stand, unless somebody asks."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stepper._C import Sieve
from stepper.model import trace
from stepper.model.cache import Verdict
from stepper.model.capabilities import Capabilities
from stepper.model.collective import CollectiveReading
from stepper.model.datum import Many, Octets
from stepper.model.failure import Failure
from stepper.model.lookup import Check, CheckedGuard, Difference, TriedEntry
from stepper.model.program import Code, PythonFrame
from stepper.model.shapes import Late, ShapeStep
from stepper.model.timing import Timing
from stepper.model.trace import WITHHELD
from stepper.model.value import Value
from stepper.recording.database import expected_columns
from stepper.recording.output import OutputLog
from stepper.recording.packing import pack
from stepper.recording.reader import Recording
from stepper.recording.schema import Delta, FrameKey, GuardsMade, Keyframe, Moments
from stepper.recording.secret_patterns import ANYTHING, RANDOM, VALUE
from stepper.recording.secrets import Secrets
from stepper.recording.unfinished import Pieces
from stepper.recording.writer import Writer
from tests import ready
from tests.conftest import clean_environment
from tests.planting import planted
from tests.stored import inflated

KEY = "ghp_Zq7PlantedMarker0123456789"
VARIABLE = "zq7-planted-variable"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable whose value must not be written."""
    monkeypatch.setenv("A_SETTING", VARIABLE)


@pytest.mark.parametrize("secret", [KEY, VARIABLE])
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.usefixtures("environment")
def test_no_column_of_any_table_holds_one(secret: str, asked: bool, tmp_path: Path) -> None:
    path = str(tmp_path / "planted.stepper")
    texts = {}

    def plant(place: str) -> str:
        texts[place] = secret
        return f"a {secret} b"

    facts = planted(trace.SessionFacts, plant)
    writer = Writer(path, msgspec.structs.replace(facts, secrets=asked))
    delta = msgspec.msgpack.encode(Delta(blocks=[f"{secret}"], speculation=f"{secret}"))
    moments = [(1, 1, pack(Moments([1], [0], [delta])))]
    writer.moments = lambda: moments.pop() if moments else None
    writer.keyframe(1, pack(Keyframe((FrameKey(1, 0, (), {}, [secret], secret),), {})))
    writer.value(-1, pack(planted(Value, plant)))
    described = [(1, 1, pack((pack(planted(Value, plant)),)))]
    writer.descriptions = lambda: described.pop() if described else None
    writer.code(planted(Code, plant))
    writer.attempt(planted(trace.Attempt, plant))
    writer.frame(1, 1, None, 0, 1, 1, None)
    writer.guards(
        1, 1, (1,), (secret,), (secret,), (secret,), (PythonFrame("train.py", 1, secret),)
    )
    writer.guard_codes(1, {1: (f"x == {secret!r}",)})
    writer.guard_withdrawn(1, 1)
    writer.node(planted(trace.Node, plant))
    writer.node_erased(1, 1)
    writer.side_effect(planted(trace.SideEffect, plant))
    for late in (Late.NO, Late.BACKWARD):
        writer.shape_step(msgspec.structs.replace(planted(ShapeStep, plant), late=late))
    writer.graph_break(planted(trace.GraphBreak, plant))
    writer.failure(planted(Failure, plant))
    writer.timing(planted(Timing, plant))
    writer.guards_made(1, GuardsMade(0, 1, 1, secret, [secret], [0], [1], [0, 1], [0]))
    writer.run_took((9, secret, 1, 1, 1, 0, 1, secret, 0))
    writer.collectives(1, 1, planted(CollectiveReading, plant))
    writer.entry_end(1, 1, PythonFrame("train.py", 1, secret))
    writer.skipped_frame(planted(trace.SkippedFrame, plant))
    differs = Difference("value", secret, Octets(secret.encode()))
    program = [msgspec.structs.replace(planted(CheckedGuard, plant), expected=secret)]
    writer.guard_program(1, program)
    failed = Check(0, Verdict.FAIL, 1, differences=(differs,), actual=Many("tuple", (secret,)))
    writer.tried(TriedEntry(1, 1, "0/0", 1, False, (failed,)))
    writer.repeated_lookup((2, 2, 2, 2, 1, 5))
    writer.event(1, trace.EventKind.NOTE, f"a {secret} b")
    writer.translation(planted(trace.Translation, plant))
    output = OutputLog(path, secrets=asked)
    output.append(1, f"a {secret} b")
    output.close()
    writer.close(f"could not write to {secret}")

    holding, counts = set(), {}
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table in expected_columns():
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            counts[table] = len(rows)
            for row in rows:
                texts_here = [v.encode() if isinstance(v, str) else v for v in row]
                texts_here = [inflated(v) if isinstance(v, bytes) else v for v in texts_here]
                if any(isinstance(v, bytes) and secret.encode() in v for v in texts_here):
                    holding.add(table)
    assert all(counts.values()), "the test plants nothing in a table"
    numbers = {"frame", "guard_withdrawn", "node_erased", "repeated_lookups"}
    assert holding == (counts.keys() - numbers if asked else set())


NODE = "L_self_modules_d_modules_{}_parameters_weight_"
"""How Dynamo calls a parameter of a module that is called so."""
LEFT = [
    (NODE.format(KEY), NODE.format(WITHHELD)),
    (NODE.format(KEY).lower(), NODE.format(WITHHELD).lower()),
    (NODE.format("AKIAJ7Q2M5X8R3T6W9Z4"), NODE.format(WITHHELD)),
    (NODE.format("akiaj7q2m5x8r3t6w9z4").lower(), NODE.format(WITHHELD).lower()),
    (NODE.format("sk_proj_Ab3De5Gh7Jk9Mn1Pq3Rs5Tu"), NODE.format(WITHHELD)),
    (NODE.format("sk_proj"), NODE.format("sk_proj")),
    (NODE.format("sk_learnt_representation"), NODE.format("sk_learnt_representation")),
    (NODE.format("asiapacificregion"), NODE.format("asiapacificregion")),
    ("key sk-proj-abcdefghijkl0123456789", f"key {WITHHELD}"),
    ("ghp_0123456789abcdefABCDEF", WITHHELD),
    ("id AKIAIOSFODNN7EXAMPLE.", f"id {WITHHELD}."),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123", WITHHELD),
    ("postgres://ann:hunter2@db/x", f"postgres://{WITHHELD}@db/x"),
    ("Authorization: Bearer abc.def.ghi", f"Authorization: Bearer {WITHHELD}"),
    ("-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n…", WITHHELD),
    ("L['cfg']['token'] == 'x'", f"L['cfg']['token'] == '{WITHHELD}'"),
    ("L['self'].db_password == b'x y'", f"L['self'].db_password == b'{WITHHELD}'"),
    ("EQUALS_MATCH L['token']: value 'a' ≠ 'b'",
     f"EQUALS_MATCH L['token']: value '{WITHHELD}' ≠ '{WITHHELD}'"),
    ("{'api_key': 'x', 'n': 'y'}", f"{{'api_key': '{WITHHELD}', 'n': 'y'}}"),
    ("def f(password: str = \"x\"):", f"def f(password: str = \"{WITHHELD}\"):"),
    ("run --api-key=x1y2 --steps 3", f"run --api-key={WITHHELD} --steps 3"),
    ("G['os'].environ._data[b'MODE'] == b'q'",
     f"G['os'].environ._data[b'MODE'] == b'{WITHHELD}'"),
    ("password  'x1y2'", f"password  '{WITHHELD}'"),
    ("token of 0/1: value 'x1y2'", f"token of 0/1: value '{WITHHELD}'"),
    ("password\n\t= 'x1y2'", f"password\n\t= '{WITHHELD}'"),
    ("password = ('x1y2')", f"password = ('{WITHHELD}')"),
    ("Bearer ab.c…", f"Bearer {WITHHELD}…"),
    ("postgres://ann:hun…", f"postgres://{WITHHELD}…"),
    ("'password' : 'x1y2'", f"'password' : '{WITHHELD}'"),
    # What is no secret, though it looks a little like one.
    ("L['eos_token'] == '</s>'", "L['eos_token'] == '</s>'"),
    ("L['self'].embed_tokens.weight", "L['self'].embed_tokens.weight"),
    ("token = tokenizer('a')", "token = tokenizer('a')"),
    ("https://docs.example/a@b", "https://docs.example/a@b"),
    ("task-0123456789abcdefghij", "task-0123456789abcdefghij"),
    ("hf_model_with_layers_0", "hf_model_with_layers_0"),
    ("password is not None", "password is not None"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "written"), LEFT)
def test_what_is_left_of_a_text(text: str, written: str) -> None:
    assert Secrets({}).text(text) == written


PRINTED = [
    *(text for text, _ in LEFT),
    f"a {VARIABLE} b",
    "'training' training",
    "loss 1.5\r\nkey sk-proj-abcdefghijkl0123456789\r\n0%\r10%\rdone\r\n",
    "-----BEGIN RSA PRIVATE KEY-----\r\nMIIE\r\nQ==\r\n-----END RSA PRIVATE KEY-----\r\nx",
    "a\npassword = '''x1\ntoken = ''' y\nb",
    "password =\n  'x y'\nb 'z'",
    "password = (\n  'x y')\nb 'z'",
    "a: value\n'b' \u2260 'c'\nd_token: value\n'x1y2' \u2260 'x3y4'\ne",
    "used x1y2\npassword = 'x1y2'\nused x1y2",
]
"""What a program may print, which is told of in pieces."""


@pytest.mark.parametrize("text", PRINTED)
def test_a_text_that_comes_in_pieces_is_cut_nowhere(text: str) -> None:
    variables = {"A_SETTING": VARIABLE, "MODE": "training"}
    secrets = Secrets(variables)
    secrets.text(text)
    cuts = [(at, last) for at in range(len(text)) for last in (at, *range(at, len(text), 7))]
    for at, last in cuts:
        pieces = Pieces(secrets)
        told = []
        for moment, piece in enumerate((text[:at], text[at:last], text[last:])):
            told += pieces.add(moment, piece)
        told += pieces.rest()
        assert "".join(data for _, data in told) == secrets.text(text), (at, last)
        assert [moment for moment, _ in told] == sorted(moment for moment, _ in told)
    # One by one, and to somebody who has seen none of it.
    pieces = Pieces(Secrets(variables))
    one_by_one = [each for letter in text for each in pieces.add(1, letter)] + pieces.rest()
    assert "".join(data for _, data in one_by_one) == Secrets(variables).text(text)


def test_only_what_may_begin_a_secret_waits() -> None:
    pieces = Pieces(Secrets({"A_SETTING": VARIABLE}))
    assert pieces.add(1, "epoch 1 ") == [(1, "epoch 1 ")]
    assert pieces.add(2, "done\nname? ") == [(2, "done\nname? ")]
    assert pieces.add(3, "ann\nkey zq7-") == [(3, "ann\n")]
    assert pieces.add(4, "nothing\n") == [(3, "key zq7-"), (4, "nothing\n")]
    assert pieces.add(5, "-----BEGIN PRIVATE KEY-----\n") == []
    # What never ends is waited for no longer than so.
    text = "".join(data for _, data in pieces.add(6, "MIIE\n" * 10_000))
    assert text == f"{WITHHELD}\n"


@pytest.mark.usefixtures("environment")
def test_no_piece_of_a_secret_is_written_where_the_output_is_cut(tmp_path: Path) -> None:
    path = str(tmp_path / "r.stepper")
    writer = Writer(path, trace.SessionFacts())
    log = OutputLog(path)
    for number, secret in enumerate((KEY, VARIABLE)):
        for at in range(1, len(secret)):
            log.append(number, f"a {secret[:at]}")
            log.append(number, f"{secret[at:]} b\n")
    log.append(3, "the last word: g")
    log.close()
    writer.close()
    with contextlib.closing(Recording.open(path)) as recording:
        pieces = [piece.data for piece in recording.output()]
    lines = len(KEY) + len(VARIABLE) - 2
    assert "".join(pieces) == f"a {WITHHELD} b\n" * lines + "the last word: g"


def test_a_private_key_that_runs_over_lines_of_source(tmp_path: Path) -> None:
    source = (
        'k = """-----BEGIN PRIVATE KEY-----',
        "MIIEvQIBADANBg",
        "-----END PRIVATE KEY-----",
        "x",
    )
    rows = {"code": [1, pack(Code(1, "f", "f", "a.py", 1, (), 1, source))]}
    Secrets({}).clean(rows, codes="code", values="values", data=())
    body = rows["code"][1]
    assert isinstance(body, bytes)
    assert b"MIIE" not in body
    assert msgspec.msgpack.decode(body, type=Code).source[3] == "x"


def test_what_a_secret_name_was_given_is_known_from_then_on() -> None:
    secrets = Secrets({})
    assert secrets.text("password = 'hunter2!'") == f"password = '{WITHHELD}'"
    assert secrets.text("open(hunter2!)") == f"open({WITHHELD})"
    assert secrets.text("token = 'plain'") == f"token = '{WITHHELD}'"
    # A word is a secret in quotes, and a name elsewhere.
    assert secrets.text("f('plain'), L['plain'], plain") == f"f('{WITHHELD}'), L['plain'], plain"


@pytest.mark.parametrize("first", ["def next_of(self) -> Token:", "class ApiKey:"])
def test_a_docstring_is_no_secret_of_the_type_before_it(first: str) -> None:
    source = (first, '    """What is expected next.', "        ", '    """', "        x")
    rows = {"code": [1, pack(Code(1, "f", "f", "a.py", 1, (), 1, source))]}
    Secrets({}).clean(rows, codes="code", values="values", data=())
    body = rows["code"][1]
    assert isinstance(body, bytes)
    assert msgspec.msgpack.decode(body, type=Code).source == source
    assert Secrets({}).text("\n".join(source)) == "\n".join(source)


def test_a_line_without_a_word_is_no_secret() -> None:
    key = '{\n        "id": "zq7-of-the-key"\n        }\n        \n        ---'
    secrets = Secrets({"SERVICE_KEY": key})
    lines = ["        }", "        return x", "        ---", '        "id": "zq7-of-the-key"']
    assert secrets.text(lines[0]) == lines[0]
    assert secrets.text(lines[1]) == lines[1]
    assert secrets.text(lines[2]) == lines[2]
    assert WITHHELD in secrets.text(lines[3])


def test_variables_of_the_environment() -> None:
    variables = {
        b"LICENSE": b"zq7-planted-1", b"DB_PASSWORD": b"q9x!", b"MODE": b"training",
        b"PATH": b"/zq7/planted/bin", b"HERE": os.fsencode(__file__), b"PORT": b"29500123",
        b"STATE": os.fsencode(f"{__file__[:-3]}/a-folder/to-be-made-some-day"),
        b"LINES_OF": b"first line 1\nsecond line 2", b"CLASS": b"ResNet50Model",
    }  # fmt: skip
    secrets = Secrets(variables)
    text = f"zq7-planted-1 'q9x!' 'training' training /zq7/planted/bin {__file__} 29500123"
    assert secrets.text(text) == (
        f"{WITHHELD} '{WITHHELD}' '{WITHHELD}' training /zq7/planted/bin {__file__} 29500123"
    )
    # What only begins like a value is not that value.
    assert secrets.text(f"{__file__[:-3]}/a-folder/else") == f"{__file__[:-3]}/a-folder/else"
    # A part of a path or of a word is a name; a cut value is a value.
    assert secrets.text("/home/zq7-planted-1/x.py") == "/home/zq7-planted-1/x.py"
    assert secrets.text("'zq7-planted…") == f"'{WITHHELD}…"
    assert secrets.text("a first line 1\r\nsecond line 2") == f"a {WITHHELD}\r\n{WITHHELD}"
    assert secrets.text("class ResNet50Model") == "class ResNet50Model"
    # A text that only ends as a value begins is no value that was cut.
    variables[b"CURRENT"] = b"zq7/some/test_x.py::test_y (call)"
    assert secrets.text("/here/zq7/some/test_x.py") == "/here/zq7/some/test_x.py"
    # Variables that are set later are withheld from then on.
    variables[b"LATER"] = b"zq7-planted-later"
    assert secrets.text("a zq7-planted-later") == f"a {WITHHELD}"


def test_the_command_line() -> None:
    argv = ("python", "t.py", "--token", "x1y2z3", "--secret=q", "KEY=1", "x1y2z3")
    facts = Secrets({}).facts(trace.SessionFacts(argv=argv, cwd="/x", rank=3))
    assert facts.argv == (
        "python",
        "t.py",
        "--token",
        WITHHELD,
        f"--secret={WITHHELD}",
        "KEY=1",
        WITHHELD,
    )
    assert (facts.cwd, facts.rank) == ("/x", 3)


def test_a_sieve_keeps_what_holds_a_pattern_and_only_that() -> None:
    sieve = Sieve([(b"Planted", ANYTHING, 1), (b"sk-", RANDOM, 2), (b"token", VALUE, 4)])
    texts = [
        "nothing", "a Planted b", "a planted b", b"Planted", 7, None, "sk-abcdefghijkl",
        "sk-abc", "TOKEN='x'", "tokens", "token", b"\xa5token\xa4", "Plante", "", "token = 1",
        "token of x", "token and", "\ud800",
    ]  # fmt: skip
    # What is no text that can be written stays in the sieve.
    assert sieve.kept(texts) == [1, 3, 6, 8, 10, 11, 14, 15, 17]
    with pytest.raises(ValueError, match="three"):
        Sieve([(b"ab", ANYTHING, 1)])


@pytest.mark.parametrize("before", ["", "x", "xx", "é", "x" * 31])
@pytest.mark.parametrize("after", ["", "y", "yy", "é"])
def test_a_sieve_misses_no_place(before: str, after: str) -> None:
    patterns = ["abc", "abcd", "://", "eyJ"]
    for pattern in patterns:
        sieve = Sieve([(pattern.encode(), ANYTHING, 2), (b"nothing", ANYTHING, 1)])
        text = before + pattern + after
        assert sieve.kinds(text) == 2
        assert sieve.kinds(before + pattern[:-1] + "?" + after) == 0
        held = [before, text.encode(), [0, {"k": (text,)}], {text: 0}, [[before]], {"k": after}]
        assert sieve.kept(held) == [1, 2, 3]
    kinds = Sieve([(each.encode(), ANYTHING, 1 << at) for at, each in enumerate(patterns)])
    assert kinds.kinds(before.join(patterns) + after) == 0b1111


def test_a_variable_that_code_reads_makes_no_secret_of_a_folder() -> None:
    """The values of all variables are described then, those of `PWD` and `HOME` among them."""
    rows: dict[str, list[Any]] = {
        "values": [pack((pack(Value("", "bytes", f"b{__file__!r}", source)),)) for source in (
            "G['os'].environ._data[b'PWD']", "G['os'].environ._data[b'HERE']",
        )],
        "codes": [pack({1: (f"G['os'].environ._data[b'HOME'] == b{__file__!r}",)})],
        "files": [__file__, f"{__file__}/x"],
    }  # fmt: skip
    Secrets({}).clean(rows, codes="", values="values", data=())
    assert rows["files"] == [__file__, f"{__file__}/x"]
    assert not any(__file__.encode() in each for each in (*rows["values"], *rows["codes"]))


def test_what_was_withheld_is_no_secret_itself() -> None:
    secrets = Secrets({})
    for _ in range(2):
        secrets.text(f"environ['X'] == '{WITHHELD}', password = '{WITHHELD}'")
        body: list[object] = [pack((pack(Value("", "str", WITHHELD, "L['token']")),))]
        secrets.clean({"values": body}, codes="", values="values", data=())
    assert secrets.text(f"{WITHHELD} 'withheld'") == f"{WITHHELD} 'withheld'"


PROGRAM = """
import os, sys, torch
os.environ["ADDED"] = "zq7-planted-added"

@torch.compile(backend="eager")
def f(x, cfg, token="zq7planteddefault"):
    password = "zq7-planted-literal"
    if os.environ.get("MODE") == "zq7planted" + "mode" or os.environb.get(b"NO"):
        x = x + 1
    if cfg["token"] == "zq7plantedkey":
        x = x + 2
    y = dict(os.environ._data)
    print("zq7-planted-output-" + os.environ["API_KEY"])
    return x + len(password) + len(token)

f(torch.ones(3), {"token": "zq7plantedkey", "k": "sk-zq7planted0123456789"})
f(torch.ones(3), {"token": "zq7plantedother", "k": "sk-zq7planted0123456789"})
raise RuntimeError("zq7-planted-unread")
"""


@pytest.mark.slow
@pytest.mark.parametrize("asked", [False, True])
def test_a_program_that_reads_one_variable_gives_away_none(asked: bool, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PROGRAM)
    variables = {
        "MODE": "zq7plantedmode", "API_KEY": "zq7-planted-api", "OTHER": "zq7-planted-unread",
        "WORD": "zqseven planted words",
    }  # fmt: skip
    options = ["--secrets"] if asked else []
    done = subprocess.run(
        ready.stepper("record", *options, "--lookups", "--execute",
                      "-o", "r.stepper", "p.py", "--password", "zq7-planted-argument"),
        cwd=tmp_path, env=clean_environment() | variables, capture_output=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stdout.count(b"zq7-planted-output-zq7-planted-api") == 2
    written = (tmp_path / "r.stepper").read_bytes()
    told = [
        secret
        for secret in (
            b"zq7plantedmode", b"zq7-planted-api", b"zq7-planted-unread", b"zqseven planted",
            b"zq7planteddefault", b"zq7-planted-literal", b"zq7plantedother",
            b"sk-zq7planted0123456789", b"zq7-planted-argument", b"zq7-planted-added",
        )
        if secret in written
    ]  # fmt: skip
    assert bool(told) is asked, told


def test_what_an_engine_says_of_itself_is_no_secret() -> None:
    """Whatever variables have the same value: else it could not be read."""
    facts = trace.SessionFacts(capabilities=Capabilities(compile="zq7.planted"))
    assert Secrets({b"COMPILER": b"zq7.planted"}).facts(facts) == facts
