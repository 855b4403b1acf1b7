"""The command: run seeds until one fails, or until there were enough of them.

python -m tests.simulation --seeds 2000
python -m tests.simulation --steps 10000000
python -m tests.simulation --seed 17            replays one, with its trace
"""

from __future__ import annotations

import tests.environment  # isort: skip  # the data folder, before Django reads the environment

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from tests.simulation.database import Database
from tests.simulation.planted import PLANTED
from tests.simulation.simulation import Bench


def main(arguments: Sequence[str] | None = None, bench: Bench | None = None) -> int:
    """arguments: None: the process's own. bench: None: a new one."""
    options = _options(arguments)
    bench = bench or Bench(Database(Path(tests.environment.DATA) / "simulation.sqlite3"))
    plant = PLANTED[options.plant] if options.plant else None
    if options.seed is not None:
        outcome = bench.run(options.seed, plant, traced=True)
        print("\n".join(outcome.trace))
        print(f"seed {outcome.seed}: {outcome.violation or 'nothing failed'}; {outcome.statuses}")
        return int(outcome.violation is not None)
    statuses, num_seeds, num_steps, began = Counter[str](), 0, 0, time.process_time()
    while num_steps < options.steps and num_seeds < options.seeds:
        outcome = bench.run(options.first + num_seeds, plant)
        num_seeds, num_steps = num_seeds + 1, num_steps + outcome.num_steps
        statuses.update(outcome.statuses)
        if outcome.violation is not None:
            print(outcome.told(options.plant))
            if not options.all:
                return 1
    took_s = time.process_time() - began
    print(f"{num_seeds:,} seeds, {num_steps:,} steps in {took_s:.1f} s of one core")
    print(f"how requests ended: {dict(statuses.most_common())}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=sys.maxsize, help="most seeds")
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps after which no other seed begins")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one seed, with its trace")
    parser.add_argument("--all", action="store_true", help="go on after a failing seed")
    parser.add_argument("--plant", choices=sorted(PLANTED), help="break this first")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
