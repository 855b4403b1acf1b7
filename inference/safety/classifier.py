"""Scores by nearest neighbours among exemplars. Knows nothing of thresholds.

A category's score for a sentence compares the mean similarity of its 3 nearest exemplars with that of the 3 nearest
benign ones.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.safety.minilm import MiniLM
from inference.safety.recent import RecentVectors
from inference.safety.sentences import split_sentences

EXEMPLARS = Path(__file__).with_name("exemplars.toml")
BENIGN = "benign"
NUM_NEIGHBOURS = 3
SHARPNESS = 12.0
"""Slope of the logistic that turns a similarity margin into a score."""
MIN_SIMILARITY = 0.45
"""Below this mean similarity a sentence resembles nothing we know, and the score shrinks accordingly."""
MAX_SENTENCES = 24
"""Sentences embedded: of a longer text those whose words are the most suspicious, so that the cost stays bounded."""


class ExemplarClassifier:
    """Safe between threads."""

    name = "MiniLM exemplars (kNN-3 margin)"
    version = "4"

    def __init__(self, model: MiniLM, path: Path = EXEMPLARS) -> None:
        self._model = model
        self._recent = RecentVectors(model)
        texts: dict[str, list[str]] = tomllib.loads(path.read_text("utf-8"))
        self._exemplars = {category: model.embed(lines) for category, lines in texts.items()}
        self._sketches = {category: model.sketch(lines) for category, lines in texts.items()}
        self.categories = tuple(category for category in texts if category != BENIGN)

    def score(self, text: str, tenant: str | None = None) -> list[dict[str, float]]:
        """Score per category, 0 to 1, of each sentence that is looked at. A text without words counts as one, of 0.

        The embedding costs at most MAX_SENTENCES, all else grows with the length.
        tenant: whose text it is, so that a sentence of theirs that was seen lately need not be embedded again.
        """
        sentences = self._suspicious(split_sentences(text))
        if not sentences:
            return [dict.fromkeys(self.categories, 0.0)]
        vectors = self._model.embed(sentences) if tenant is None else self._recent.embed(sentences, tenant)
        benign = self._nearness(vectors, BENIGN)
        columns = [self._scores(vectors, category, benign) for category in self.categories]
        return [dict(zip(self.categories, row, strict=True)) for row in zip(*columns, strict=True)]

    def _suspicious(self, sentences: list[str]) -> list[str]:
        """At most MAX_SENTENCES, in order: those whose words stand nearest to harmful and farthest from benign ones."""
        if len(sentences) <= MAX_SENTENCES:
            return sentences
        sketches = self._model.sketch(sentences)
        nearest = {category: (sketches @ known.T).max(axis=1) for category, known in self._sketches.items()}
        margin = np.max([nearest[category] for category in self.categories], axis=0) - nearest[BENIGN]
        return [sentences[index] for index in sorted(np.argsort(-margin)[:MAX_SENTENCES].tolist())]

    def _scores(self, vectors: NDArray[np.float32], category: str, benign: NDArray[np.float32]) -> list[float]:
        """One per sentence."""
        near = self._nearness(vectors, category)
        margin = near - benign - np.maximum(0, MIN_SIMILARITY - near)
        scores: list[float] = (1 / (1 + np.exp(-SHARPNESS * margin))).tolist()
        return scores

    def _nearness(self, vectors: NDArray[np.float32], category: str) -> NDArray[np.float32]:
        """Mean cosine similarity of the nearest exemplars, [num_sentences]."""
        similarities = vectors @ self._exemplars[category].T
        nearest: NDArray[np.float32] = np.sort(similarities, axis=1)[:, -NUM_NEIGHBOURS:].mean(axis=1)
        return nearest
