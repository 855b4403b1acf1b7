"""Runs seeds of the simulation until it has made ten million steps."""

from __future__ import annotations

import re
import subprocess
import sys
import time

from tests.scoreboard.row import Measured, Setting, judged, unproven
from tests.scoreboard.suite import ROOT

_STEPS = 10_000_000
_TOLD = re.compile(r"([\d,]+) seeds, ([\d,]+) steps in ([\d.]+) s of one core")


def run(setting: Setting) -> list[Measured]:
    first = setting.draws.randrange(10**9)
    command = [sys.executable, "-m", "tests.simulation", "--steps", str(_STEPS), "--first", str(first)]
    left_s = max(1.0, setting.deadline - time.monotonic())
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=left_s)
    except subprocess.TimeoutExpired:
        return [unproven(row, "", "the time was over") for row in ("safe", "live", "clocks")]
    told = _TOLD.search(ended.stdout)
    figure = f"{told[2]} steps in {told[1]} seeds from {first:,}, {float(told[3]):.0f} s of one core" if told else ""
    problems = [] if told and ended.returncode == 0 else [ended.stdout.strip().splitlines()[0] or "no result"]
    return [judged(row, figure, problems) for row in ("safe", "live", "clocks")]
