"""Runs every check; with `--lane all`, `fast` or `changed` the tests of that lane too. Ends with one exit status.

Checks and vitest run side by side, one per core. Each prints one line when it ends, and all its output if it failed.
pytest follows, with one process per core; in the fast lane it begins at once. Nothing stops at a failure. The results
of a lane are added to pytest's record, `.test-runs/last.json`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from scripts.bootstrap import FRONTEND, PYTHON, ROOT, node_environment
from scripts.changed import Choice, base_of, changed_since, choose, read_tables
from tests import last_run

NUM_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
NUM_PROCESSES = min(NUM_CORES, 4)
"""Of pytest. Each holds up to 2 GB."""


@dataclass(frozen=True)
class Check:
    name: str
    command: list[str | Path]
    folder: Path = ROOT


@dataclass(frozen=True)
class Result:
    """A check that has ended."""

    name: str
    seconds: float
    is_passed: bool


# The longest first, so that they end at about the same time.
MYPY = Check("mypy", [PYTHON, "-m", "mypy"])
PAGE = [
    Check("eslint, prettier", ["npm", "run", "lint", "--silent"], FRONTEND),
    Check("svelte-check", ["npm", "run", "check", "--silent"], FRONTEND),
]
RUFF = [
    Check("ruff check", [PYTHON, "-m", "ruff", "check", "."]),
    Check("ruff format", [PYTHON, "-m", "ruff", "format", "--check", "."]),
]
CHECKS = [MYPY, *PAGE, *RUFF]
VITEST = Check("vitest", ["npm", "run", "test", "--silent"], FRONTEND)
PYTEST = Check("pytest", [PYTHON, "-m", "pytest", "-n", str(NUM_PROCESSES)])


def main() -> int:
    options = read_options()
    start = time.monotonic()
    results = run_lane(options, node_environment())
    seconds = time.monotonic() - start
    if options.lane:
        record(options.lane, results, seconds)
    failed = [result.name for result in results if not result.is_passed]
    minutes = f"{seconds / 60:.1f} minutes"
    print(f"sightglass: failed: {', '.join(failed)} ({minutes})" if failed else f"sightglass: all passed in {minutes}")
    return 1 if failed else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lane", choices=last_run.LANES, default="")
    parser.add_argument("--base", default="", help="compare with the merge base of this ref; else of main")
    parser.add_argument("--suites", default="", help="changed: names of folders of tests that run in any case")
    return parser.parse_args()


def run_lane(options: argparse.Namespace, environment: dict[str, str]) -> list[Result]:
    if not options.lane:
        return side_by_side(CHECKS, environment)
    last_run.forget()
    if options.lane == "all":
        return [*side_by_side([VITEST, *CHECKS], environment), run(pytest_of("all"), environment)]
    base = base_of(options.base)
    suites = [f"tests/{name}" for name in options.suites.split()]
    choice = choose(changed_since(base), read_tables(), suites)
    checks = [*page_checks(choice, base), MYPY, *RUFF]
    if options.lane == "fast":
        return beside(checks, pytest_of("fast"), environment)
    results = side_by_side(checks, environment)
    print(f"sightglass: files of tests downstream of what changed since {base[:12]}:\n{told(choice)}", flush=True)
    if choice.everything or choice.tests:
        results.append(run(pytest_of("changed", files_of(choice)), environment))
    return results


def page_checks(choice: Choice, base: str) -> list[Check]:
    """Nothing where the page is as it was. vitest itself finds the tests that import a changed module."""
    if not choice.has_page and not choice.everything:
        return []
    only = [] if choice.is_whole_page or choice.everything else ["--", "--changed", base, "--passWithNoTests"]
    return [replace(VITEST, command=[*VITEST.command, *only]), *PAGE]


def pytest_of(lane: str, files: list[str] | None = None) -> Check:
    return replace(PYTEST, command=[*PYTEST.command, "--lane", lane, *(files or [])])


def files_of(choice: Choice) -> list[str]:
    """None stands for all."""
    return [] if choice.everything else sorted(choice.tests)


def told(choice: Choice) -> str:
    """How many files run in each folder, with the first reason."""
    if choice.everything:
        return f"  every test: {choice.everything} reaches all"
    folders: dict[str, list[str]] = {}
    for file, reason in sorted(choice.tests.items()):
        folders.setdefault(last_run.folder_of(file), []).append(reason)
    lines = [f"{len(reasons):4}  {folder}: {reasons[0]}" for folder, reasons in folders.items()]
    return "\n".join(lines) or "  none, because nothing changed"


def side_by_side(checks: list[Check], environment: dict[str, str]) -> list[Result]:
    with ThreadPoolExecutor(NUM_CORES) as pool:
        return list(pool.map(lambda check: run(check, environment, is_quiet=True), checks))


def beside(checks: list[Check], tests: Check, environment: dict[str, str]) -> list[Result]:
    """Run checks while the tests run. A first mypy would leave the other cores idle, and no fast test is timed."""
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(side_by_side, checks, environment)
        result = run(tests, environment)
        return [*pending.result(), result]


def run(check: Check, environment: dict[str, str], is_quiet: bool = False) -> Result:
    start = time.monotonic()
    out, err = (subprocess.PIPE, subprocess.STDOUT) if is_quiet else (None, None)
    done = subprocess.run(
        check.command, cwd=check.folder, env=environment, check=False, text=True, stdout=out, stderr=err
    )
    result = Result(check.name, time.monotonic() - start, is_passed=done.returncode == 0)
    if is_quiet and not result.is_passed:
        print(done.stdout)
    end = "passed" if result.is_passed else "FAILED"
    print(f"sightglass: {check.name} {end} in {result.seconds:.0f} s", flush=True)
    return result


def record(lane: str, results: list[Result], seconds: float, folder: Path = last_run.RUNS) -> None:
    """Complete pytest's record, or write one where pytest has not come so far."""
    kept = last_run.read("last", folder) or last_run.begin(lane)
    kept.seconds = round(seconds, 1)
    kept.checks = {result.name: round(result.seconds, 1) for result in results}
    for result in results:
        is_told = result.name == PYTEST.name and kept.failed
        if not result.is_passed and not is_told:
            kept.fail(result.name)
    last_run.write(kept, folder)


if __name__ == "__main__":
    sys.exit(main())
