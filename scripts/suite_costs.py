"""Writes the table of costs into docs/testing.md: `python -m scripts.suite_costs`.

The figures are those of the last whole run, `make test`. Its record is `.test-runs/all.json`. Knows nothing of how the
record is made.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests import last_run
from tests.last_run import Run

PAGE = Path(__file__).resolve().parents[1] / "docs" / "testing.md"
BEGIN, END = "<!-- costs: written by `python -m scripts.suite_costs` -->", "<!-- /costs -->"
LEAST_S = 10
"""Folders below this are summed."""


def table(run: Run) -> str:
    """The costs as Markdown, the dearest folder first."""
    dear = {folder: seconds for folder, seconds in run.folders.items() if seconds >= LEAST_S}
    rest = {folder: seconds for folder, seconds in run.folders.items() if folder not in dear}
    rows = [f"| `{folder}` | {seconds:.0f} |" for folder, seconds in dear.items()]
    rows.append(f"| {len(rest)} more folders | {sum(rest.values()):.0f} |")
    rows += [f"| {name} | {seconds:.0f} |" for name, seconds in run.checks.items() if name != "pytest"]
    return "\n".join([_sentence(run), "", "| suite | seconds of one process |", "|---|---|", *rows])


def _sentence(run: Run) -> str:
    counts = f"{run.passed:,} passed, {run.skipped:,} skipped, {run.failed:,} failed"
    return f"`make test` took {run.seconds / 60:.1f} minutes at commit {run.commit[:8]}: {counts}."


def page(text: str, run: Run) -> str:
    """The page with fresh figures. Raises ValueError when it lacks the marks of the table."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n{table(run)}\n{END}{after}"


def main() -> int:
    run = last_run.read("all")
    if run is None:
        print("There is no record of a whole run: run make test first.")
        return 1
    PAGE.write_text(page(PAGE.read_text("utf-8"), run), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
