"""How each subcommand is often used: its help ends with these lines.

A program is `train.py`, a recording `run.stepper`, the recordings of several processes are in the
folder `session`.
"""

from __future__ import annotations

from stepper.analysis.questions import QUESTIONS

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "stepper run train.py --epochs 1",
        "stepper run --break graph-break train.py",
        "stepper run --break model.py:42 -m package.train",
        "stepper run --python .venv/bin/python train.py",
        "stepper run --post-mortem train.py",
    ),
    "record": (
        "stepper record -o run.stepper train.py --epochs 1",
        "stepper record --lookups --execute -o run.stepper train.py",
        "stepper record --children -o session -m torch.distributed.run train.py",
        "stepper record --engine native train.py",
    ),
    "list": ("stepper list", "stepper list --older 30 --delete"),
    "open": (
        "stepper open",
        "stepper open run.stepper",
        "stepper open session --rank 1 --at 140",
    ),
    "console": (
        "stepper console train.py",
        "stepper console run.stepper",
        'stepper console -x "break graph-break" -x continue -x where -x quit train.py',
    ),
    "post-mortem": ("stepper post-mortem run.stepper",),
    "query": (
        "stepper query run.stepper",
        'stepper query run.stepper "select function, count(*) from frames group by 1"',
        'stepper query --format csv session "select rank, reason from recompilations"',
    ),
    **{
        name: tuple(f"stepper {name} run.stepper {each}".rstrip() for each in question.examples)
        for name, question in QUESTIONS.items()
    },
    "why-guard": (
        "stepper why-guard run.stepper TENSOR_MATCH:x",
        "stepper why-guard run.stepper TENSOR_MATCH:x 0/1 --experiment",
    ),
    "diff": (
        "stepper diff before.stepper after.stepper",
        "stepper diff run.stepper@140 @152",
        "stepper diff run.stepper --of 0/0 0/1",
        "stepper diff session --ranks 0 1",
    ),
    "ranks": ("stepper ranks session",),
    "report": (
        "stepper report -o report.html run.stepper",
        "stepper report --redact --format markdown run.stepper",
    ),
    "export": (
        "stepper export --parquet views session",
        "stepper export --format perfetto -o run.perfetto.json run.stepper",
    ),
    "doctor": ("stepper doctor", "stepper doctor --python .venv/bin/python"),
    "completion": (
        'eval "$(stepper completion bash)"',
        "stepper completion fish > ~/.config/fish/completions/stepper.fish",
    ),
}
