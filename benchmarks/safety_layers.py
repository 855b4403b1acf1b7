"""How often each further layer of the safety check is right, and the time that it adds, on texts seen and unseen.

Reads tests/inference/safety/layers_development.json and layers_held_out.json: injections in tools' results, Unicode
tricks, personal data, secrets, the model's own refusals, and harmless stories. Called by benchmarks.safety.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from inference.safety import refusals
from inference.safety.findings import find
from inference.safety.guard import Guard

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "inference" / "safety"
SETS = {"layers_development": "seen", "layers_held_out": "unseen"}


@dataclass(frozen=True)
class Measured:
    """One set: how many of its texts were noticed as what they are."""

    name: str
    layer: str
    num: int
    num_noticed: int
    num_honest: int
    num_wrong: int
    """Honest texts that were noticed all the same."""
    added_us: float
    """Median time of this layer for one text."""

    @property
    def recall(self) -> str:
        return f"{self.num_noticed} of {self.num} ({self.num_noticed / self.num:.0%})" if self.num else "–"

    @property
    def precision(self) -> str:
        named = self.num_noticed + self.num_wrong
        return f"{self.num_noticed / named:.0%} of {named}" if self.num and named else "–"


def table(guard: Guard) -> str:
    """The table of all sets, for the document."""
    lines = [
        "| texts | layer | set | noticed (recall) | precision | honest texts noticed | added time, median |",
        "|---|---|---|---|---|---|---|",
    ]
    for file, title in SETS.items():
        sets: dict[str, Any] = json.loads((FOLDER / f"{file}.json").read_text("utf-8"))
        lines += [_line(title, measured(guard, name, each)) for name, each in sets.items()]
    return "\n".join(lines)


def measured(guard: Guard, name: str, texts: Mapping[str, Any]) -> Measured:
    notice = _noticing(guard, texts)
    positive = [text for text, plain in _pairs(texts) if plain is None or notice(plain)]
    checked = [notice(text) for text in positive]
    wrong = [notice(text) for text in texts["negative"]]
    added = median(_added_us(guard, name, text) for text in [*positive, *texts["negative"]])
    return Measured(name, texts["layer"], len(checked), sum(checked), len(wrong), sum(wrong), added)


def _pairs(texts: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Each text with its undisguised form, if it has one: what is missed undisguised says nothing of the disguise."""
    plain = texts.get("plain") or [None] * len(texts["positive"])
    return list(zip(texts["positive"], plain, strict=True))


def _noticing(guard: Guard, texts: Mapping[str, Any]) -> Callable[[str], bool]:
    names = set(texts["names"])
    if texts["layer"] == "refusal":
        return lambda text: refusals.opening(text) is not None

    def notice(text: str) -> bool:
        scores = guard.check(text, texts["layer"]).scores
        return any(score.verdict != "allow" and (not names or score.category in names) for score in scores)

    return notice


def _added_us(guard: Guard, name: str, text: str) -> float:
    """The time of what this layer does, without the classifier where it only finds forms."""
    start = time.perf_counter_ns()
    if name in ("personal data", "secrets"):
        find(text)
    elif name == "refusals":
        refusals.opening(text)
    elif name == "unicode tricks":
        guard.fold(text)
    else:
        guard.check(text, "input")
    return (time.perf_counter_ns() - start) / 1000


def _line(title: str, row: Measured) -> str:
    time_ms = f"{row.added_us / 1000:.2f} ms"
    wrong = f"{row.num_wrong} of {row.num_honest}"
    return f"| {row.name} | {row.layer} | {title} | {row.recall} | {row.precision} | {wrong} | {time_ms} |"
