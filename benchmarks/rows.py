"""Turn-about measuring, and the rows of the README's table. Knows nothing of what is measured.

In every round each side is measured once, neighbours in time, so that the machine's moods hit all of them. A ratio is
ours to the peer's of the same round; the row has its median and quartiles. Of the peer's builds the one that is
better in the median is the peer.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NUM_ROUNDS = 3
_REST_S = 0.5
"""Before each measurement: threads of the side before spin for a tenth of a second until they sleep."""
RESULTS = Path(__file__).parent / "results"

Measure = Callable[[], float]


@dataclass(frozen=True)
class Question:
    """What a row asks."""

    name: str
    target: float
    unit: str
    is_more_better: bool = True
    target_unit: str = "x"
    digits: int = 1

    @property
    def target_text(self) -> str:
        return f"{'>=' if self.is_more_better else '<='} {self.target:g}{self.target_unit}"


def take_turns(
    sides: dict[str, Measure], num_rounds: int = NUM_ROUNDS, num_warm_ups: int = 1
) -> dict[str, list[float]]:
    """Every side's measurements by round, after some that do not count."""
    for measure in [*sides.values()] * num_warm_ups:
        measure()
    rounds = [{name: _rested(measure) for name, measure in sides.items()} for _ in range(num_rounds)]
    return {name: [each[name] for each in rounds] for name in sides}


def _rested(measure: Measure) -> float:
    time.sleep(_REST_S)
    return measure()


def compared(question: Question, samples: dict[str, list[float]], note: str = "") -> dict[str, Any]:
    """The row of a comparison; `samples` has "ours" and one or more peers, by name."""
    ours = samples["ours"]
    better = max if question.is_more_better else min
    peer = better((name for name in samples if name != "ours"), key=lambda name: statistics.median(samples[name]))
    ratios = [mine / theirs for mine, theirs in zip(ours, samples[peer], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return {
        "name": question.name,
        "ours": round(statistics.median(ours), question.digits),
        "peer": round(statistics.median(samples[peer]), question.digits),
        "peer_name": peer,
        "ratio": round(middle, 3),
        "spread": f"{low:.2f}x to {high:.2f}x",
        "target": question.target_text,
        "unit": question.unit,
        "note": note,
        "samples": {name: [round(value, 4) for value in values] for name, values in samples.items()},
    }


def without_peer(question: Question, samples: list[float], note: str = "") -> dict[str, Any]:
    """The row of a figure that has an aim and no peer: the median, with the quartiles."""
    low, middle, high = statistics.quantiles(samples, n=4) if len(samples) > 1 else samples * 3
    digits = question.digits
    return {
        "name": question.name,
        "ours": round(middle, digits),
        "peer": None,
        "ratio": None,
        "target": question.target_text,
        "unit": question.unit,
        "spread": f"{low:.{digits}f} to {high:.{digits}f}",
        "note": note,
    }


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """Keep the rows in results/<name>.json and print them."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    for row in rows:
        print(json.dumps(row))
