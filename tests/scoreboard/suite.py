"""Proves rows by tests of the suite, each in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.scoreboard.row import Measured, Setting, Verdict, judged, unproven
from tests.scoreboard.rows import PROOFS

ROOT = Path(__file__).parents[2]
_LIMIT_S = 600
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|error)")


def run(setting: Setting) -> list[Measured]:
    return [_proved(key) if setting.has_time() else unproven(key, "", "the time was over") for key in PROOFS]


def _proved(key: str) -> Measured:
    found = [_told(tests) for tests in PROOFS[key]]
    num_passed = sum(each.get("passed", 0) for each in found)
    bad = [f"{num} {word} in {tests}" for tests, told in zip(PROOFS[key], found, strict=True)
           for word, num in told.items() if word in ("failed", "error")]  # fmt: skip
    measured = judged(key, f"{num_passed} passed", bad)
    if measured.verdict is Verdict.KEPT and not all(each.get("passed") for each in found):
        return unproven(key, measured.figure, "its tests are skipped on this machine")
    return measured


def _told(tests: str) -> dict[str, int]:
    """Run the tests, and return how many passed, failed or were skipped."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests.split()]
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"failed": 1}
    counts = {word: int(num) for num, word in _COUNT.findall(ended.stdout.rstrip().rpartition("\n")[2])}
    return counts if counts or ended.returncode == 0 else {"error": 1}
