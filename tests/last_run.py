"""Records each run of pytest in `.test-runs/last.json`, and prints where its time went.

A run of a whole lane is kept as `.test-runs/LANE.json` too, until that lane runs again. Knows nothing of the checks
beside pytest: scripts/check.py adds those.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

LANES = ("all", "fast", "changed")
_STOPPED = ", not to its end"
RUNS = Path(__file__).parents[1] / ".test-runs"
SLOW_S = 1.0
"""A part of a test is listed by name above this."""
_NUM_SHOWN = 20
_DEPTH = 3
"""Levels of a folder's name, as in tests/webapp/lifecycle."""


@dataclass(frozen=True)
class SlowPart:
    """A set-up, call or teardown above SLOW_S."""

    test: str
    part: str
    seconds: float


@dataclass
class Run:
    """What a record holds. The seconds of the folders are those of all processes together."""

    lane: str
    """all, fast, changed, or else the arguments of pytest. Ends with _STOPPED where tests were left."""
    commit: str = ""
    is_clean: bool = False
    """True: the working tree was the commit's when the run began."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    names_of_failed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    folders: dict[str, float] = field(default_factory=dict)
    slow: list[SlowPart] = field(default_factory=list)
    checks: dict[str, float] = field(default_factory=dict)
    """The seconds of each check that scripts/check.py ran beside pytest."""

    def fail(self, name: str) -> None:
        if name not in self.names_of_failed:
            self.names_of_failed.append(name)
        self.failed = len(self.names_of_failed)


class Recorder:
    """The plugin of one run. It sees the reports of every process, because it lives in the one that hears them."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run = run
        self.folder = folder
        self.start = time.monotonic()
        self.parts = list[SlowPart]()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.run.fail(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.parts.append(SlowPart(report.nodeid, report.when or "", report.duration))
        if report.failed:
            self.run.fail(report.nodeid)
        elif report.skipped:
            self.run.skipped += 1
        elif report.when == "call":
            self.run.passed += 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if not ended or session.shouldstop or session.shouldfail:
            self.run.lane += _STOPPED
        self.run.seconds = round(time.monotonic() - self.start, 1)
        self.run.folders = seconds_by_folder(self.parts)
        slow = sorted((part for part in self.parts if part.seconds >= SLOW_S), key=lambda part: -part.seconds)
        self.run.slow = [SlowPart(part.test, part.part, round(part.seconds, 2)) for part in slow]
        write(self.run, self.folder)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print nothing of a run whose every part is quick."""
        if not self.run.slow:
            return
        terminalreporter.section("where the seconds went")
        for folder, seconds in self.run.folders.items():
            if seconds >= SLOW_S:
                terminalreporter.write_line(f"{seconds:8.1f}  {folder}")
        terminalreporter.section(f"the slowest of {len(self.run.slow)} parts above a second")
        for part in self.run.slow[:_NUM_SHOWN]:
            terminalreporter.write_line(f"{part.seconds:8.1f}  {part.part:8}  {part.test}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lane", choices=LANES, help="how `make` calls this run; tests/fast.py selects those of `fast`")


def pytest_configure(config: pytest.Config) -> None:
    is_nested = "PYTEST_CURRENT_TEST" in os.environ
    if is_nested or hasattr(config, "workerinput") or config.option.collectonly:
        return
    folder = Path(os.environ.get("SIGHTGLASS_TEST_RUNS", RUNS))
    config.pluginmanager.register(Recorder(begin(lane_of(config)), folder))


def lane_of(config: pytest.Config) -> str:
    return config.option.lane or " ".join(map(str, config.invocation_params.args)) or "pytest"


def begin(lane: str) -> Run:
    return Run(lane, commit=_git("rev-parse", "HEAD"), is_clean=not _git("status", "--porcelain"))


def seconds_by_folder(parts: list[SlowPart]) -> dict[str, float]:
    """The most expensive first."""
    sums: dict[str, float] = {}
    for part in parts:
        folder = folder_of(part.test)
        sums[folder] = sums.get(folder, 0.0) + part.seconds
    return {folder: round(sums[folder], 1) for folder in sorted(sums, key=lambda folder: -sums[folder])}


def folder_of(nodeid: str) -> str:
    folders = nodeid.partition("::")[0].split("/")[:-1]
    return "/".join(folders[:_DEPTH])


def write(run: Run, folder: Path = RUNS) -> None:
    folder.mkdir(exist_ok=True)
    text = json.dumps(asdict(run), indent=1)
    names = {"last", run.lane} if run.lane in LANES else {"last"}
    for name in names:
        (folder / f"{name}.json").write_text(text, "utf-8")


def read(name: str = "last", folder: Path = RUNS) -> Run | None:
    file = folder / f"{name}.json"
    if not file.exists():
        return None
    kept = json.loads(file.read_text("utf-8"))
    return Run(**kept | {"slow": [SlowPart(**part) for part in kept["slow"]]})


def forget(folder: Path = RUNS) -> None:
    """The next record is a new one, however its run ends."""
    (folder / "last.json").unlink(missing_ok=True)


def _git(*arguments: str) -> str:
    """Empty where there is no repository."""
    done = subprocess.run(["git", *arguments], cwd=RUNS.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()
