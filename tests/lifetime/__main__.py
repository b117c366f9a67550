"""`python -m tests.lifetime [ROUNDS]`: what each way of being watched leaves alive, and how much
memory it takes. 200 programs, twelve kinds of them, take about twenty minutes."""

from __future__ import annotations

import sys

from tests.lifetime.child import WAYS
from tests.lifetime.comparing import ENGINES, growth, held, taken


def main(rounds: int = 200) -> int:
    """Print a line for each way, and what it holds; the exit status is 0 if that is nothing."""
    bad = 0
    for engine in ENGINES:
        alone = taken(f"{engine}:plain", rounds)
        _line(f"{engine}:plain", alone, rounds)
        for how in WAYS:
            _line(f"{engine}:{how}", taken(f"{engine}:{how}", rounds), rounds)
            found = held(engine, how, rounds)
            bad += len(found)
            for each in found:
                print(f"    {each}")
    return 1 if bad else 0


def _line(name: str, run: dict[str, dict[str, dict[str, int]]], rounds: int) -> None:
    memory = growth(run, "memory", "resident") / (rounds // 2)
    blocks = growth(run, "memory", "blocks") / (rounds // 2)
    print(f"{name:20} {memory / 1024:8.1f} KB and {blocks:6.0f} blocks a program", flush=True)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
