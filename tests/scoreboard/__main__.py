"""The command: run the trials, print the table, and write it into docs/reliability.md.

python -m tests.scoreboard                       all trials, in an hour at most
python -m tests.scoreboard --only kills held     these alone; the other rows stay as the page has them
python -m tests.scoreboard --seed 17             the same kills again
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from tests.scoreboard import (
    deploys,
    full_disk,
    hangs,
    kills,
    load,
    neighbours,
    open_streams,
    out_of_memory,
    page,
    part_kills,
    postgres_stops,
    redis_restarts,
    seeds,
    suite,
    watching,
)
from tests.scoreboard.row import Measured, Setting, Trial, Verdict, judged, unproven
from tests.scoreboard.rows import PROOFS

TRIALS = (
    Trial("kills", ("take-over", "same answer", "soon", "one bill", "clients"), 25, kills.run),
    Trial("held", ("held",), 6, kills.held),
    Trial("load", ("goodput", "refusals"), 4, load.run),
    Trial("neighbours", ("noisy", "sign-in"), 3, neighbours.run),
    Trial("streams", ("streams",), 2, open_streams.run),
    Trial("watching", ("watching",), 3, watching.run),
    Trial("seeds", ("safe", "live", "clocks"), 12, seeds.run),
    Trial("parts", ("any process",), 9, part_kills.run),
    Trial("redis", ("redis",), 6, redis_restarts.run),
    Trial("postgres", ("postgres",), 6, postgres_stops.run),
    Trial("hang", ("hang",), 6, hangs.run),
    Trial("deploy", ("deploy",), 5, deploys.run),
    Trial("memory", ("memory",), 4, out_of_memory.run),
    Trial("disk", ("disk",), 4, full_disk.run),
    Trial("suite", tuple(PROOFS), 15, suite.run),
)
_MINUTES = 60
"""For all trials. On a slow machine those at the end do not run."""


def main() -> int:
    options = _options()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    print(f"seed {options.seed}", flush=True)
    measured: dict[str, page.Told] = {}
    end = time.monotonic() + 60 * _MINUTES
    with tempfile.TemporaryDirectory() as folder:
        for trial in TRIALS:
            if not options.only or trial.name in options.only:
                for each in _run(trial, options.seed, Path(folder) / trial.name, end):
                    measured[each.row] = page.Told.of(each, options.seed)
                    print(f"{each.row}: {each.verdict}. {each.figure}. {each.why}".rstrip(), flush=True)
    page.write(page.read() | measured)
    return int(any(each.verdict is Verdict.NOT_KEPT for each in measured.values()))


def _run(trial: Trial, seed: int, folder: Path, end: float) -> list[Measured]:
    if time.monotonic() > end:
        return [unproven(row, "", "the hour was over") for row in trial.rows]
    folder.mkdir()
    try:
        return trial.run(Setting(seed, folder, min(end, time.monotonic() + 60 * trial.minutes)))
    except Exception as error:  # the other trials go on
        return [judged(row, "", [f"{type(error).__name__}: {error}"]) for row in trial.rows]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.scoreboard", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="decides kills and delays")
    parser.add_argument("--only", nargs="+", choices=[trial.name for trial in TRIALS], help="trials to run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
