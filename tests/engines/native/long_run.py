"""Many generated programs: `nice python -m tests.engines.native.long_run [--programs 10000]`.

Runs the test of generated programs in pieces, each in a process of its own and with a seed of its
own, and prints what fails. Each failure is to be kept as a test.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

TEST = Path(__file__).with_name("test_generated.py")


def run_piece(seed: int, programs: int) -> str:
    """Run so many programs; what the test printed if one of them failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "0"]
    command += ["--hypothesis-seed", str(seed), str(TEST)]
    env = {**os.environ, "STEPPER_GENERATED": str(programs)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main() -> None:
    """Run the pieces that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--piece", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="of the first piece")
    options = parser.parse_args()
    begin = time.monotonic()
    failed = 0
    for number in range(-(-options.programs // options.piece)):
        seed = options.seed + number
        output = run_piece(seed, options.piece)
        failed += bool(output)
        done = (number + 1) * options.piece
        print(f"{done} programs, {failed} pieces failed, {time.monotonic() - begin:.0f} s")
        if output:
            print(f"--- seed {seed}\n{output}")
        sys.stdout.flush()
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
