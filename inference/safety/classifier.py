"""Scores by nearest neighbours among exemplars. Knows nothing of thresholds.

A category's score for a sentence compares the mean similarity of its 3 nearest exemplars with that of the 3 nearest
benign ones; a text's score is that of its worst sentence.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.safety.minilm import MiniLM

EXEMPLARS = Path(__file__).with_name("exemplars.toml")
BENIGN = "benign"
NUM_NEIGHBOURS = 3
SHARPNESS = 12.0
"""Slope of the logistic that turns a similarity margin into a score."""
MIN_SIMILARITY = 0.35
"""Below this mean similarity a sentence resembles nothing we know, and the score shrinks accordingly."""
MAX_SENTENCES = 24
"""Sentences looked at: the first and last of a longer text, so that the cost stays bounded."""
_MAX_SENTENCE_CHARS = 600

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


class ExemplarClassifier:
    """Immutable and safe between threads."""

    name = "MiniLM exemplars (kNN-3 margin)"
    version = "1"

    def __init__(self, model: MiniLM, path: Path = EXEMPLARS) -> None:
        self._model = model
        texts: dict[str, list[str]] = tomllib.loads(path.read_text("utf-8"))
        self._exemplars = {category: model.embed(lines) for category, lines in texts.items()}
        self.categories = tuple(category for category in texts if category != BENIGN)

    def score(self, text: str) -> dict[str, float]:
        """Score per category, 0 to 1; at most MAX_SENTENCES sentences are looked at."""
        sentences = split_sentences(text)
        if not sentences:
            return dict.fromkeys(self.categories, 0.0)
        vectors = self._model.embed(sentences)
        benign = self._nearness(vectors, BENIGN)
        return {category: self._score(vectors, category, benign) for category in self.categories}

    def _score(self, vectors: NDArray[np.float32], category: str, benign: NDArray[np.float32]) -> float:
        near = self._nearness(vectors, category)
        margin = near - benign - np.maximum(0, MIN_SIMILARITY - near)
        return float((1 / (1 + np.exp(-SHARPNESS * margin))).max())

    def _nearness(self, vectors: NDArray[np.float32], category: str) -> NDArray[np.float32]:
        """Mean cosine similarity of the nearest exemplars, [num_sentences]."""
        similarities = vectors @ self._exemplars[category].T
        nearest: NDArray[np.float32] = np.sort(similarities, axis=1)[:, -NUM_NEIGHBOURS:].mean(axis=1)
        return nearest


def split_sentences(text: str) -> Sequence[str]:
    """The sentences to look at, in order."""
    found = [s.strip()[:_MAX_SENTENCE_CHARS] for s in _SENTENCE.findall(text) if any(c.isalnum() for c in s)]
    if len(found) > MAX_SENTENCES:
        half = MAX_SENTENCES // 2
        found = found[:half] + found[-half:]
    return found
