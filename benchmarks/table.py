"""Writes the README's table from benchmarks/results/: `python -m benchmarks.table`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- benchmarks -->", "<!-- /benchmarks -->"
ORDER = (
    "decode",
    "prefill",
    "forms",
    "second_turn",
    "tracing",
    "lease",
    "mixed_load",
    "memory",
    "start_up",
    "front_door",
    "relay",
    "first_token",
    "glass",
    "streaming",
    "input_safety",
    "output_safety",
    "memories",
    "tool_round",
    "attachments",
)


def build_table() -> str:
    files = [ROOT / "benchmarks/results" / f"{name}.json" for name in ORDER]
    rows = [row for path in files if path.exists() for row in json.loads(path.read_text("utf-8"))]
    heads = ["| work | ours | peer | ratio (quartiles) | aim |", "|---|---|---|---|---|"]
    return "\n".join([*heads, *map(_line, rows)])


def _line(row: dict[str, Any]) -> str:
    name = f"{row['name']} ({row['note']})" if row.get("note") else row["name"]
    ours = f"{row['ours']} {row['unit']}"
    if row["ratio"] is None:
        return f"| {name} | {ours} ({row['spread']}) | | | {row['target']} |"
    peer = f"{row['peer']} {row['unit']} ({row['peer_name']})"
    return f"| {name} | {ours} | {peer} | {row['ratio']:.2f}x ({row['spread']}) | {row['target']} |"


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    readme.write_text(f"{before}{START}\n{build_table()}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
