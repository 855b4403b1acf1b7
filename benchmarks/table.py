"""Writes the README's table from benchmarks/results/*.json: `python -m benchmarks.table`."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- benchmarks -->", "<!-- /benchmarks -->"


def build_table() -> str:
    rows = [
        row for path in sorted((ROOT / "benchmarks/results").glob("*.json")) for row in json.loads(path.read_text())
    ]
    lines = ["| work | ours | peer | ratio | aim |", "|---|---|---|---|---|"]
    for row in rows:
        ours = f"{row['ours']} {row['unit']} ({row['spread']})"
        peer = "" if row["peer"] is None else f"{row['peer']} {row['unit']}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}x"
        lines.append(f"| {row['name']} | {ours} | {peer} | {ratio} | {row['target']} |")
    return "\n".join(lines)


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    readme.write_text(f"{before}{START}\n{build_table()}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
