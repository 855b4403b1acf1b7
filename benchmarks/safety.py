"""How often the safety check is right: precision and recall per category, on prompts seen and unseen while tuning.

Checks every text of tests/inference/safety/development.json (by which exemplars and limits were chosen) and of
held_out.json (which nothing was chosen by) as a user's message. The figures of the present classifier replace those of
its version in results/safety.json; those of earlier versions stay. The tables go into docs/safety.md.

    python -m benchmarks.safety
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.safety_layers import table
from inference.safety import load_guard
from inference.safety.guard import Check, Guard

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).with_name("results") / "safety.json"
DOCUMENT = ROOT / "docs" / "safety.md"
BEGIN, END = "<!-- begin: python -m benchmarks.safety -->", "<!-- end -->"
SETS = {"development": "seen while tuning", "held_out": "unseen"}
HARMLESS = ("ordinary", "benign_hard")
NAMES = {"ordinary": "harmless, ordinary", "benign_hard": "harmless, near a harmful topic"}


@dataclass(frozen=True)
class Row:
    """The texts of one kind, and what the check said of them."""

    version: str
    prompts: str
    """The set: development or held_out."""
    kind: str
    """A harmful category, or a kind of harmless text."""
    num: int
    num_noticed: int
    """Flagged or blocked, as whatever category."""
    num_blocked: int
    num_named: int
    """Texts of the whole set that were flagged or blocked as this category."""
    num_rightly_named: int
    """Those among them that are harmful."""


def main() -> None:
    guard = load_guard()
    rows = [row for name in SETS for row in measured(guard, name)]
    kept = [row for row in earlier() if row.version != rows[0].version]
    RESULTS.write_text(json.dumps([asdict(row) for row in [*kept, *rows]], indent=1) + "\n")
    write_tables([*kept, *rows], table(guard))


def earlier() -> list[Row]:
    return [Row(**row) for row in json.loads(RESULTS.read_text("utf-8"))] if RESULTS.exists() else []


def measured(guard: Guard, name: str) -> list[Row]:
    """A row for each kind of text in one set."""
    prompts = json.loads((ROOT / "tests/inference/safety" / f"{name}.json").read_text("utf-8"))
    texts: dict[str, list[str]] = prompts["harmful"] | {kind: prompts[kind] for kind in HARMLESS}
    checks = {kind: [guard.check(text, "input") for text in found] for kind, found in texts.items()}
    return [_row(name, kind, checks) for kind in texts]


def _row(name: str, kind: str, checks: dict[str, list[Check]]) -> Row:
    of_kind = checks[kind]
    named = {each: [check for check in found if check.category == kind] for each, found in checks.items()}
    return Row(
        version=of_kind[0].version,
        prompts=name,
        kind=kind,
        num=len(of_kind),
        num_noticed=sum(check.verdict != "allow" for check in of_kind),
        num_blocked=sum(check.verdict == "block" for check in of_kind),
        num_named=sum(len(found) for found in named.values()),
        num_rightly_named=sum(len(found) for each, found in named.items() if each not in HARMLESS),
    )


def write_tables(rows: list[Row], layers: str) -> None:
    """A table for each set, and that of the further layers, into the document, between its two marks."""
    tables = [_table(title, [row for row in rows if row.prompts == name]) for name, title in SETS.items()]
    before, _, rest = DOCUMENT.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(
        f"{before}{BEGIN}\n\n" + "\n\n".join([*tables, "Further layers:", layers]) + f"\n\n{END}{after}"
    )


def _table(title: str, rows: list[Row]) -> str:
    lines = [
        f"Prompts {title}:",
        "",
        "| classifier | kind | texts | noticed | of these blocked | precision |",
        "|---|---|---|---|---|---|",
    ]
    for version, found in groupby(rows, key=lambda row: row.version):
        own = list(found)
        rows_and_totals: list[Row | dict[str, Any]] = [*own, _total(own, False), _total(own, True)]
        lines += [_line(version, row) for row in rows_and_totals]
    return "\n".join(lines)


def _total(rows: list[Row], is_harmless: bool) -> dict[str, Any]:
    chosen = [row for row in rows if (row.kind in HARMLESS) == is_harmless]
    fields = ("num", "num_noticed", "num_blocked", "num_named", "num_rightly_named")
    return {"kind": "**all harmless**" if is_harmless else "**all harmful**"} | {
        field: sum(getattr(row, field) for row in chosen) for field in fields
    }


def _line(version: str, row: Row | dict[str, Any]) -> str:
    values = asdict(row) if isinstance(row, Row) else row
    num, noticed, named = values["num"], values["num_noticed"], values["num_named"]
    kind = NAMES.get(values["kind"], values["kind"].replace("_", " "))
    precision = f"{values['num_rightly_named'] / named:.0%} of {named}" if named else ""
    return f"| {version} | {kind} | {num} | {noticed} ({noticed / num:.0%}) | {values['num_blocked']} | {precision} |"


if __name__ == "__main__":
    main()
