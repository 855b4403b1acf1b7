"""Reads and writes the table of docs/reliability.md. Knows nothing of how a figure is measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from tests.scoreboard.row import Measured, Row, Verdict
from tests.scoreboard.rows import ROWS, TITLES
from tests.scoreboard.suite import ROOT

PAGE = ROOT / "docs" / "reliability.md"
RESULTS = ROOT / "tests" / "scoreboard" / "results.json"
_NO_TRIAL = "not measured"
_HEAD = "\n\n".join(
    (
        "# Reliability",
        "Each row is a promise, its proof, the figure to reach, and the figure of its last run. "
        "`make scoreboard` runs the trials and writes this page. A row without a trial is not proven.",
        "A run takes an hour at most and prints its seed. "
        "`python -m tests.scoreboard --only kills --seed 17` draws the kills from that seed.",
    )
)


@dataclass(frozen=True)
class Told:
    """A measured row, with its day and the seed of its run."""

    figure: str
    verdict: Verdict
    why: str
    seed: int
    day: str

    @classmethod
    def of(cls, measured: Measured, seed: int) -> Told:
        day = datetime.now(UTC).date().isoformat()
        return cls(measured.figure, measured.verdict, measured.why, seed, day)


def read() -> dict[str, Told]:
    """Return the kept results by row."""
    if not RESULTS.exists():
        return {}
    return {row: Told(**{**kept, "verdict": Verdict(kept["verdict"])})
            for row, kept in json.loads(RESULTS.read_text("utf-8")).items()}  # fmt: skip


def write(told: dict[str, Told]) -> None:
    """Keep the results, and write the page."""
    RESULTS.write_text(json.dumps({row: asdict(each) for row, each in told.items()}, indent=1) + "\n", "utf-8")
    PAGE.write_text(text_of(told), "utf-8")


def text_of(told: dict[str, Told]) -> str:
    """Return the page's text."""
    parts = [_HEAD]
    for part, title in TITLES.items():
        lines = [_line(row, told.get(row.key)) for row in ROWS if row.part == part]
        parts.append(
            "\n".join([f"## {title}", "| promise | proof | aim | measured | |", "|---|---|---|---|---|", *lines])
        )
    return "\n\n".join(parts) + "\n"


def _line(row: Row, told: Told | None) -> str:
    measured, verdict = _cells(told)
    if verdict is Verdict.NOT_KEPT and row.reason:
        measured += f". {row.reason}"
    return f"| {row.promise} | {row.proof} | {row.aim} | {measured} | {verdict} |"


def _cells(told: Told | None) -> tuple[str, str]:
    if told is None:
        return _NO_TRIAL, Verdict.NOT_PROVEN
    why = f" {told.why}." if told.why else ""
    return f"{told.figure}.{why} Seed {told.seed}, {told.day}".replace("|", "\\|"), told.verdict
