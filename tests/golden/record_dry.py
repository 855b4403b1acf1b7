"""Writes dry.json, by which the page's DRY is tested: `python -m tests.golden.record_dry`.

What the engine's stage takes from each token, for answers of few tokens in which much comes again.
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np

from inference.protocol.request import SamplingParams
from inference.sampling.dry import Dry

PATH = Path(__file__).with_name("dry.json")
_PIECES = [b"a", b"b", b" c", b"line\n", b"x:y", "é".encode(), "é".encode()[:1]]


def document() -> dict[str, Any]:
    """What the file holds."""
    generator = np.random.default_rng(5)
    cases = [_case(generator) for _ in range(120)]
    return {"pieces": [b64encode(piece).decode() for piece in _PIECES], "cases": cases}


def _case(generator: np.random.Generator) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "dry_multiplier": float(generator.choice([0.5, 0.8, 3.0])),
        "dry_base": float(generator.choice([1.0, 1.75, 10.0])),
        "dry_allowed_length": int(generator.choice([1, 2, 4])),
        "dry_penalty_last_n": int(generator.choice([-1, 1, 7, 30])),
        "dry_sequence_breakers": [["\n", ":"], [], ["é"]][generator.integers(3)],
    }
    tokens = generator.permutation(len(_PIECES))[: generator.integers(1, len(_PIECES) + 1)]
    output = generator.choice(tokens, generator.integers(0, 60)).tolist()
    logits = np.zeros(len(_PIECES), np.float32)
    params = settings | {"dry_sequence_breakers": tuple(settings["dry_sequence_breakers"])}
    Dry(SamplingParams(**params), _PIECES.__getitem__).process(logits, output)
    return {"settings": settings, "output": output, "penalties": [round(-float(each), 4) for each in logits]}


if __name__ == "__main__":
    PATH.write_text(json.dumps(document()) + "\n", "utf-8")
