"""Runs every check; with --fast the quick tests too, with --all every test. Ends with one exit status for all.

Checks and vitest run side by side, one per core. Each prints one line when it ends, and all its output if it failed.
pytest follows, with one process per core. Nothing stops at a failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bootstrap import FRONTEND, PYTHON, ROOT, node_environment

NUM_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
NUM_PROCESSES = min(NUM_CORES, 4)
"""Of pytest. Each holds up to 2 GB."""


@dataclass(frozen=True)
class Check:
    name: str
    command: list[str | Path]
    folder: Path = ROOT


# The longest first, so that they end at about the same time.
CHECKS = [
    Check("mypy", [PYTHON, "-m", "mypy"]),
    Check("eslint, prettier", ["npm", "run", "lint", "--silent"], FRONTEND),
    Check("svelte-check", ["npm", "run", "check", "--silent"], FRONTEND),
    Check("ruff check", [PYTHON, "-m", "ruff", "check", "."]),
    Check("ruff format", [PYTHON, "-m", "ruff", "format", "--check", "."]),
]
VITEST = Check("vitest", ["npm", "run", "test", "--silent"], FRONTEND)
PYTEST = Check("pytest", [PYTHON, "-m", "pytest", "-n", str(NUM_PROCESSES)])
FAST = Check("pytest", [*PYTEST.command, "-m", "not slow"])


def main() -> int:
    environment = node_environment()
    tests = {"--all": PYTEST, "--fast": FAST}.get("".join(sys.argv[1:]))
    start = time.monotonic()
    failed = side_by_side([VITEST, *CHECKS] if tests else CHECKS, environment)
    if tests and not run(tests, environment):
        failed.append(tests.name)
    minutes = f"{(time.monotonic() - start) / 60:.1f} minutes"
    print(f"sightglass: failed: {', '.join(failed)} ({minutes})" if failed else f"sightglass: all passed in {minutes}")
    return 1 if failed else 0


def side_by_side(checks: list[Check], environment: dict[str, str]) -> list[str]:
    """The names of those that failed."""
    with ThreadPoolExecutor(NUM_CORES) as pool:
        passed = list(pool.map(lambda check: run(check, environment, is_quiet=True), checks))
    return [check.name for check, is_passed in zip(checks, passed, strict=True) if not is_passed]


def run(check: Check, environment: dict[str, str], is_quiet: bool = False) -> bool:
    start = time.monotonic()
    out, err = (subprocess.PIPE, subprocess.STDOUT) if is_quiet else (None, None)
    done = subprocess.run(
        check.command, cwd=check.folder, env=environment, check=False, text=True, stdout=out, stderr=err
    )
    if done.returncode and is_quiet:
        print(done.stdout)
    end = "passed" if done.returncode == 0 else "FAILED"
    print(f"sightglass: {check.name} {end} in {time.monotonic() - start:.0f} s", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
